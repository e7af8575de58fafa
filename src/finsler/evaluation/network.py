"""What trained networks predict for the shapes of a store. Needs torch."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Container, Sequence

import numpy as np

from finsler.data import PreparedShape, Store
from finsler.errors import InputError
from finsler.evaluation.predictions import Predictions
from finsler.nn.training import load_model, predict_together
from finsler.storage.record import record


def predict_network(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    store: Store,
    *,
    skip: Container[str] = (),
) -> Predictions:
    """The predictions of a trained network, or of several together, for the test shapes of a store.

    Parameters
    ----------
    paths : path or sequence of path
        Checkpoints of `finsler train`, .safetensors. The scores of several are added.
    store : Store
        Prepared with the configuration that the networks were trained with.
    skip : container of str
        Shapes to leave out.

    Raises
    ------
    InputError
        A checkpoint or an entry of the store cannot be used, or holds numbers that are not
        finite; or they do not fit together.
    """
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    networks = [load_model(path) for path in listed]
    names = tuple(name for name in store.test if name not in skip)
    for name in names:
        _check_finite(store, store[name])
    about = networks[0][1]
    config = {
        "store": store.name,
        "networks": len(networks),
        "epoch": about.epoch,
        "train": dataclasses.asdict(about.config),
        "prepare": dataclasses.asdict(about.prepare),
    }
    vertices = predict_together(networks, store, names)
    return Predictions(
        {name: values.astype(np.int64) for name, values in vertices.items()},
        json.loads(record(config)),
    )


def _check_finite(store: Store, shape: PreparedShape) -> None:
    """Raise where a network would turn numbers that are not finite into vertices all the same."""
    for field in dataclasses.fields(shape):
        array = getattr(shape, field.name)
        real = isinstance(array, np.ndarray) and array.dtype.kind == "f"
        if real and not np.isfinite(array).all():
            raise InputError(
                f"{store.folder}: the {field.name} of shape {shape.name!r} are not all finite;"
                " delete its entry and prepare it again"
            )
