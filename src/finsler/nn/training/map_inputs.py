"""What a network that learns maps reads at a vertex, and where it starts."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from torch import nn

from finsler.data.store import PrepareConfig, PreparedShape
from finsler.descriptors.directed import FUNCTIONS, INTRINSIC, intrinsic_inputs
from finsler.descriptors.learned import shipped_model
from finsler.descriptors.wks import wks
from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.nn.maps.directed_shapes import BoxFeatures, stored_spectrum
from finsler.nn.training.config import TrainConfig

# What the network of the model in the box decides itself.
_OWN = ("channels", "layers", "maps_features", "maps_wave")


def prepared_for_maps(config: TrainConfig) -> PrepareConfig:
    """How meshes are prepared for a run that learns maps, where nothing else is asked for."""
    if config.model != "directed":
        return PrepareConfig(kind="mixed", eigenpairs=config.maps_basis)
    # The directed network reads no operators besides the eigenpairs.
    if config.maps_start != "box":
        return PrepareConfig(kind="lbo", angles=1, eigenpairs=config.maps_basis)
    pairs = max(config.maps_basis, FUNCTIONS)
    return PrepareConfig(kind="lbo", angles=1, descriptor="shot_two", eigenpairs=pairs)


def input_channels(config: TrainConfig, prepared: PrepareConfig) -> int:
    """Numbers at a vertex of `input_features`."""
    return prepared.channels + (INTRINSIC if config.maps_start == "box" else config.maps_wave)


def output_channels(config: TrainConfig) -> int:
    """Features at a vertex that the network finds."""
    return shipped_model().size if config.maps_start == "box" else config.maps_features


def input_features(shape: PreparedShape, config: TrainConfig) -> NDArray[np.float32]:
    """The descriptor with rows of length √c where it is SHOT, beside 2 ln((1 + WKS) / 2).

    On a surface of area 1 wave signatures are about 1, and many times larger at its ends. With
    `maps_start = "box"` it is what the model in the box reads: intrinsic numbers, then histograms.
    """
    channels = shape.features.shape[1]
    given = shape.features * np.sqrt(channels if channels > 3 else 1)
    if config.maps_start == "box":
        mesh = TriMesh(shape.vertices, shape.faces)
        own = intrinsic_inputs(mesh, stored_spectrum(shape))
        return np.concatenate([own, given], axis=1, dtype=np.float32)
    if not config.maps_wave:
        return np.ascontiguousarray(given, dtype=np.float32)
    waved = 2.0 * np.log((1.0 + wks(stored_spectrum(shape), count=config.maps_wave)) / 2.0)
    return np.concatenate([given, waved], axis=1, dtype=np.float32)


def require_start(config: TrainConfig, prepared: PrepareConfig) -> None:
    """Raise where a run cannot start from the model in the box, and is asked to.

    Raises
    ------
    InputError
        Another network, other sizes, or shapes that were prepared without what that model reads.
    """
    if config.maps_start != "box":
        return
    if config.model != "directed":
        raise InputError(
            f"model is {config.model!r}, and the model in the box is a directed one; set"
            " model=directed, or leave maps_start out"
        )
    usual = {field.name: field.default for field in dataclasses.fields(config)}
    for name in _OWN:
        if getattr(config, name) != usual[name]:
            raise InputError(
                f"{name} is {getattr(config, name)}, but the model in the box has its own sizes and"
                f" inputs; leave {name} or maps_start out"
            )
    if prepared.descriptor != "shot_two" or prepared.eigenpairs < FUNCTIONS:
        raise InputError(
            f"the shapes were prepared with {prepared.eigenpairs} eigenpairs and the descriptor"
            f" {prepared.descriptor}; the model in the box needs {FUNCTIONS} and shot_two, so"
            f" prepare with --descriptor shot_two --eigenpairs {FUNCTIONS}"
        )


def start_network(network: nn.Module) -> nn.Module:
    """The network with the weights that a run starts from."""
    if isinstance(network, BoxFeatures):
        network.start_from(shipped_model())
    return network
