"""Which shapes are learned from, in which order, with which random numbers and learning rate.

All of it follows from the settings, the epoch and the step, so that nothing need be stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from finsler.data.augment import original
from finsler.errors import InputError
from finsler.nn.training.config import TrainConfig

# Of the one-cycle schedule: the rising share, and the first and the last rate as shares of the
# largest; the values of `torch.optim.lr_scheduler.OneCycleLR`.
_RISING, _FIRST, _LAST = 0.3, 1 / 25, 1 / 25e4


def split(names: Sequence[str], config: TrainConfig) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the shapes to train on, and of those held out for validation.

    Copies stay with the shape that they were made of: none is held out, and none is learned from
    where its original is held out.
    """
    given = [name for name in names if original(name) == name]
    used = tuple(given[: config.max_shapes] if config.max_shapes else given)
    count = max(1, round(config.validation * len(used))) if config.validation else 0
    if len(used) <= count:
        raise InputError(
            f"there are {len(used)} training shapes and {count} of them are held out, so that none"
            " is left to learn from"
        )
    order = np.random.default_rng(config.seed).permutation(len(used))
    held_out = tuple(used[i] for i in sorted(order[:count].tolist()))
    learned = set(used) - set(held_out)
    return tuple(name for name in names if original(name) in learned), held_out


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


def learning_rate(config: TrainConfig, step: int, steps_per_epoch: int) -> float:
    """The rate of a step, counted from 0 over the whole run.

    Examples
    --------
    >>> config = TrainConfig(schedule="steps", step_epochs=(2,), learning_rate=0.5)
    >>> [learning_rate(config, step, 10) for step in (0, 19, 20)]
    [0.5, 0.5, 0.05]
    """
    return config.learning_rate * _share(config, step, steps_per_epoch)


def _share(config: TrainConfig, step: int, steps_per_epoch: int) -> float:
    total = config.epochs * steps_per_epoch
    if config.schedule == "onecycle":
        return _one_cycle(step, total)
    rising = config.warm_up * steps_per_epoch
    if step + 1 < rising:
        return (step + 1) / rising
    if config.schedule == "cosine":
        return _cosine(1.0, 0.0, max(0.0, step - rising) / max(1.0, total - rising))
    if config.schedule == "steps":
        passed = sum(step >= epoch * steps_per_epoch for epoch in config.step_epochs)
        return float(config.step_factor**passed)
    return 1.0


def _one_cycle(step: int, total: int) -> float:
    top, end = _RISING * total - 1, total - 1
    if step <= top:
        return _cosine(_FIRST, 1.0, step / top if top > 0 else 1.0)
    return _cosine(1.0, _LAST, (step - top) / (end - top))


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2
