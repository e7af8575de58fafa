"""Which shapes are learned from, in which order, with which random numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finsler.errors import InputError
from finsler.nn.training.config import TrainConfig


def split(names: Sequence[str], config: TrainConfig) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the shapes to train on, and of those held out for validation."""
    used = tuple(names[: config.max_shapes] if config.max_shapes else names)
    count = max(1, round(config.validation * len(used))) if config.validation else 0
    if len(used) <= count:
        raise InputError(
            f"there are {len(used)} training shapes and {count} of them are held out, so that none"
            " is left to learn from"
        )
    order = np.random.default_rng(config.seed).permutation(len(used))
    held_out = set(order[:count].tolist())
    kept = tuple(name for i, name in enumerate(used) if i not in held_out)
    return kept, tuple(used[i] for i in sorted(held_out))


def epoch_batches(names: Sequence[str], config: TrainConfig, epoch: int) -> list[tuple[str, ...]]:
    """The shapes of an epoch's steps, in an order that follows from seed and epoch."""
    order = np.random.default_rng([config.seed, epoch]).permutation(len(names))
    shuffled = [names[i] for i in order]
    return [
        tuple(shuffled[start : start + config.batch])
        for start in range(0, len(shuffled), config.batch)
    ]


def torch_seed(config: TrainConfig, epoch: int, rank: int) -> int:
    """A seed for torch; epoch 0 is the start, where the weights are drawn."""
    return int(np.random.SeedSequence([config.seed, epoch, rank]).generate_state(1, np.uint64)[0])
