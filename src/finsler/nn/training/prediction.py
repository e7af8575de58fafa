"""What a network predicts for shapes, and how often it is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from finsler.data.store import Store
from finsler.errors import InputError
from finsler.nn.training.checkpoint import About
from finsler.nn.training.models import model_named
from finsler.nn.training.samples import Sample


@torch.no_grad()
def predicted_vertices(network: nn.Module, sample: Sample) -> Tensor:
    """The reference vertex of each vertex (n,), in evaluation mode and single precision.

    Raises
    ------
    InputError
        The network's answer is not finite, so that it names no vertex.
    """
    network.eval()
    logits: Tensor = network(sample.features, sample.domain)
    if not logits.isfinite().all():
        raise InputError(
            f"the network's answer for shape {', '.join(sample.names)} is not finite; check the"
            " features of the shape, and prepare it again"
        )
    return logits.argmax(dim=1)


def count_exact(
    network: nn.Module, samples: Callable[[Sequence[str]], Sample], names: Sequence[str]
) -> Tensor:
    """Counts over shapes (4,): right and all among the named vertices, right and all among all."""
    counts = torch.zeros(4, dtype=torch.int64, device=_device_of(network))
    for name in names:
        sample = samples((name,))
        right = predicted_vertices(network, sample) == sample.labels
        every = torch.ones_like(right)
        counts += torch.stack([right & sample.named, sample.named, right, every]).sum(dim=1)
    return counts


def predict(
    network: nn.Module, store: Store, names: Sequence[str], *, about: About
) -> dict[str, NDArray[np.int32]]:
    """The reference vertex that a trained network names for each vertex of each shape.

    Parameters
    ----------
    network, about
        From `load_model` or `train`; the shapes go to the network's device.
    store : Store
        Prepared with the configuration the network was trained with.
    names : sequence of str
        Shapes of the store.
    """
    check_fit(about, store)
    domain, device = model_named(about.config.model).domain, _device_of(network)
    predicted = {}
    for name in names:
        sample = Sample.of(store[name], domain, device=device)
        predicted[name] = predicted_vertices(network, sample).cpu().numpy().astype(np.int32)
    return predicted


def _device_of(network: nn.Module) -> torch.device:
    return next(network.parameters()).device


def check_fit(about: About, store: Store) -> None:
    """Raise where a store was prepared in another way than that of training."""
    for field in dataclasses.fields(store.config):
        name = field.name
        ours, theirs = getattr(store.config, name), getattr(about.prepare, name)
        if ours != theirs:
            raise InputError(
                f"{store.folder}: the store was prepared with {name} = {ours}, the network was"
                f" trained with {theirs}; prepare the shapes in the same way"
            )
