"""What a network predicts for shapes, and how often it is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from finsler.data.store import PreparedShape, Store
from finsler.errors import InputError
from finsler.nn.loss import two_way
from finsler.nn.training.checkpoint import About
from finsler.nn.training.models import model_named
from finsler.nn.training.naming import Points
from finsler.nn.training.samples import Sample


@torch.no_grad()
def class_scores(
    network: nn.Module, sample: Sample, *, softmax: str = "classes", points: bool = False
) -> Tensor:
    """Scores (n, c) of the classes, in evaluation mode.

    They are logarithms of probabilities, so that those of several networks may be averaged.
    `softmax` as in training: with "both", a vertex and its class are each the other's best
    compromise ([`two_way`][finsler.nn.loss.two_way]). With `points` classes are points of one
    shape, and each looks for its vertex.

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
    if points:
        return logits.log_softmax(0)
    return two_way(logits, sample.domain.sizes) if softmax == "both" else logits.log_softmax(1)


def predicted_vertices(
    network: nn.Module,
    sample: Sample,
    *,
    softmax: str = "classes",
    points: Points | None = None,
) -> Tensor:
    """The reference vertex of each vertex (n,); `points` where these are the classes."""
    scores = class_scores(network, sample, softmax=softmax, points=points is not None)
    return scores.argmax(dim=1) if points is None else points.named_by(scores, sample.positions)


def count_exact(
    network: nn.Module,
    samples: Callable[[Sequence[str]], Sample],
    names: Sequence[str],
    *,
    softmax: str = "classes",
    points: Points | None = None,
) -> Tensor:
    """Counts over shapes (4,): right and all among the named vertices, right and all among all."""
    counts = torch.zeros(4, dtype=torch.int64, device=_device_of(network))
    for name in names:
        sample = samples((name,))
        found = predicted_vertices(network, sample, softmax=softmax, points=points)
        right = found == sample.labels
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
    return predict_together([(network, about)], store, names)


def predict_together(
    networks: Sequence[tuple[nn.Module, About]], store: Store, names: Sequence[str]
) -> dict[str, NDArray[np.int32]]:
    """What several networks name together: the mean of their scores counts.

    Arguments and result are those of `predict`, for pairs of a network and what it knows of itself.

    Raises
    ------
    InputError
        They do not know equally many reference vertices, or do not fit the store.
    """
    for _, about in networks:
        check_fit(about, store)
    classes = sorted({about.classes for _, about in networks})
    if len(classes) > 1:
        raise InputError(
            f"the networks name vertices of references with {classes[0]} and {classes[-1]}"
            " vertices; take networks that were trained on the same reference"
        )
    device = _device_of(networks[0][0])
    points = Points.of(store, networks[0][1].config, device)
    known = len(store[store.reference].vertices if points is None else points.vertices)
    if known != classes[0]:
        raise InputError(
            f"the networks know {classes[0]} classes, the reference of {store.folder} has {known};"
            " take the store of training"
        )
    predicted = {}
    for name in names:
        scores = [
            _scores(network, about, store[name], points is not None) for network, about in networks
        ]
        mean = torch.stack([part.to(device) for part in scores]).mean(0)
        if points is None:
            vertices = mean.argmax(dim=1)
        else:
            positions = torch.as_tensor(store[name].vertices, device=device)
            vertices = points.named_by(mean, positions)
        predicted[name] = vertices.cpu().numpy().astype(np.int32)
    return predicted


def _scores(network: nn.Module, about: About, shape: PreparedShape, points: bool) -> Tensor:
    domain, device = model_named(about.config.model).domain, _device_of(network)
    sample = Sample.of(shape, domain, device=device)
    return class_scores(network, sample, softmax=about.config.softmax, points=points)


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
