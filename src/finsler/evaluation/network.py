"""What a trained network predicts for the shapes of a store. Needs torch."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Container

import numpy as np

from finsler.data import PreparedShape, Store
from finsler.errors import InputError
from finsler.evaluation.predictions import Predictions
from finsler.nn.training import load_model, predict
from finsler.storage.record import record


def predict_network(
    path: str | os.PathLike[str], store: Store, *, skip: Container[str] = ()
) -> Predictions:
    """The predictions of a trained network for the test shapes of a store.

    Parameters
    ----------
    path : path
        Checkpoint of `finsler train`, .safetensors.
    store : Store
        Prepared with the configuration that the network was trained with.
    skip : container of str
        Shapes to leave out.

    Raises
    ------
    InputError
        The checkpoint or an entry of the store cannot be used, or holds numbers that are not
        finite; or the two do not fit together.
    """
    network, about = load_model(path)
    names = tuple(name for name in store.test if name not in skip)
    for name in names:
        _check_finite(store, store[name])
    config = {
        "store": store.name,
        "epoch": about.epoch,
        "train": dataclasses.asdict(about.config),
        "prepare": dataclasses.asdict(about.prepare),
    }
    vertices = predict(network, store, names, about=about)
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
