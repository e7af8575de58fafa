"""Checkpoints: weights, optimiser and everything needed to go on, in one safetensors file."""

from __future__ import annotations

import dataclasses
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from finsler.data.store import PrepareConfig
from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.nn.training.config import TrainConfig
from finsler.nn.training.map_inputs import input_channels, require_start
from finsler.nn.training.models import build_for_maps, model_named, outline
from finsler.storage.files import write_bytes
from finsler.storage.json import parse_json
from finsler.storage.schema import from_record

# Raise it when the meaning of a file changes.
FORMAT = 1
_NETWORK, _OPTIMISER = "network.", "optimiser."


@one_line("data", "in_channels", "classes", "angles", "history")
@dataclass(frozen=True)
class About:
    """What a checkpoint says of itself.

    Attributes
    ----------
    config : TrainConfig
    in_channels, classes, angles : int
        Sizes that the store decided; for the objective "maps", `classes` is the number of features.
    prepare : PrepareConfig
        How the shapes of the store were prepared.
    data : str
        A hash of the store's shapes and splits.
    history : tuple of dict
        The metrics of each epoch so far.
    """

    config: TrainConfig
    in_channels: int
    classes: int
    angles: int
    prepare: PrepareConfig
    data: str
    history: tuple[dict[str, Any], ...] = ()

    @property
    def epoch(self) -> int:
        """Epochs that are done."""
        return len(self.history)

    def build(self) -> nn.Module:
        """The network with fresh weights."""
        sizes = self.in_channels, self.classes, self.angles
        if self.config.objective == "maps":
            return build_for_maps(self.config, *sizes)
        return model_named(self.config.model).build(self.config, *sizes)


def save_checkpoint(
    path: str | os.PathLike[str],
    about: About,
    network: nn.Module,
    optimiser: torch.optim.Optimizer | None = None,
) -> None:
    """Write a checkpoint, whole or not at all; without an optimiser it holds weights only."""
    from safetensors.torch import save

    tensors = {_NETWORK + name: tensor for name, tensor in network.state_dict().items()}
    if optimiser is not None:
        for name, parameter in network.named_parameters():
            for key, value in optimiser.state[parameter].items():
                tensors[f"{_OPTIMISER}{name}.{key}"] = value
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    listed = {**dataclasses.asdict(about), "config": about.config.record()}
    text = json.dumps({"format": FORMAT, **listed})
    metadata = {"finsler": text, "crc32": str(_checksum(text, tensors))}
    write_bytes(path, save(tensors, metadata))


@one_line("path", "tensors")
@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint that was read and is whole."""

    path: str
    about: About
    tensors: dict[str, Tensor]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Read and check a checkpoint.

        Raises
        ------
        InputError
            There is no such file, or it is damaged, or not a checkpoint of this program.
        """
        metadata, tensors = _read(path)
        if "finsler" not in metadata or "crc32" not in metadata:
            raise InputError(f"{path}: this safetensors file is not a checkpoint of finsler")
        text = metadata["finsler"]
        if metadata["crc32"] != str(_checksum(text, tensors)):
            raise InputError(f"{path}: the checkpoint is damaged (its checksum does not fit)")
        checkpoint = cls(str(path), _about(path, text), tensors)
        checkpoint._require_sizes()
        checkpoint._require_finite()
        return checkpoint

    def load(self, network: nn.Module, optimiser: torch.optim.Optimizer | None = None) -> None:
        """Put the weights into a network, and the state into its optimiser.

        Raises
        ------
        InputError
            The tensors are not those of such a network.
        """
        try:
            network.load_state_dict(self._part(_NETWORK))
        except RuntimeError as error:
            raise self._misfit() from error
        if optimiser is None:
            return
        state = self._part(_OPTIMISER)
        if not state:
            raise InputError(f"{self.path}: the checkpoint holds only weights; it cannot go on")
        for name, parameter in network.named_parameters():
            # A parameter that had no gradient has no state.
            optimiser.state[parameter] = {
                key.rpartition(".")[2]: value.to(parameter.device, copy=True)
                for key, value in state.items()
                if key.rpartition(".")[0] == name
            }

    def _require_sizes(self) -> None:
        """Raise where the description is not that of the weights, before memory is taken for it."""
        try:
            wanted = outline(self.about.build, "checkpoint").state_dict()
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from error
        there = {name: tensor.shape for name, tensor in self._part(_NETWORK).items()}
        if there != {name: tensor.shape for name, tensor in wanted.items()}:
            raise self._misfit()

    def _require_finite(self) -> None:
        """Raise where a number is none: such a network names some vertex for every vertex."""
        bad = [name for name, tensor in self.tensors.items() if not tensor.isfinite().all()]
        if bad:
            raise InputError(
                f"{self.path}: {bad[0].partition('.')[2]} of the network holds numbers that are not"
                " finite; train anew, with a lower learning_rate"
            )

    def _misfit(self) -> InputError:
        return InputError(
            f"{self.path}: the weights do not fit the network {self.about.config.model!r}"
        )

    def _part(self, prefix: str) -> dict[str, Tensor]:
        return {
            name.removeprefix(prefix): tensor
            for name, tensor in self.tensors.items()
            if name.startswith(prefix)
        }


def load_model(
    path: str | os.PathLike[str], *, device: torch.device | str = "cpu"
) -> tuple[nn.Module, About]:
    """The network of a checkpoint, ready to predict, and what is known of it.

    Raises
    ------
    InputError
        There is no such file, or it is damaged, or not a checkpoint of this program.
    """
    checkpoint = Checkpoint.read(path)
    network = checkpoint.about.build()
    checkpoint.load(network)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return network.to(device).eval(), checkpoint.about


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such file; check the path")
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return file.metadata() or {}, tensors
    except SafetensorError as error:
        raise InputError(f"{path}: this is no whole safetensors file; copy it again") from error


_FIELDS = {field.name for field in dataclasses.fields(About)}
_DAMAGED = "the checkpoint's description is damaged; copy it again"


def _about(path: str | os.PathLike[str], text: str) -> About:
    try:
        values = parse_json(text)
        if values.pop("format", None) != FORMAT:
            raise InputError(f"the checkpoint has another format than {FORMAT}; train anew")
        if values.keys() != _FIELDS or not isinstance(values["history"], list):
            raise InputError(_DAMAGED)
        values["config"] = TrainConfig.of(_object(values["config"]))
        values["prepare"] = from_record(PrepareConfig, _object(values["prepare"]), "preparing")
        values["history"] = tuple(map(_object, values["history"]))
        about = About(**values)
        _require_consistent(about)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return about


def _require_consistent(about: About) -> None:
    """Raise where the sizes of the network are no sizes, or not those of what was prepared."""
    sizes = (about.in_channels, about.classes, about.angles)
    if not all(type(size) is int and 0 <= size < 2**31 for size in sizes):
        raise InputError("the sizes of the network in the checkpoint are no whole numbers")
    prepare = about.prepare
    channels = prepare.channels
    if about.config.objective == "maps":
        require_start(about.config, prepare)
        channels = input_channels(about.config, prepare)
    if about.in_channels != channels:
        raise InputError(
            f"the network takes {about.in_channels} features a vertex, but the descriptor"
            f" {prepare.descriptor!r} of its checkpoint has {channels}; train anew"
        )
    if about.angles != prepare.angles:
        raise InputError(
            f"the network has weights for {about.angles} angles, but its checkpoint says that"
            f" shapes are prepared with {prepare.angles}; train anew"
        )


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(_DAMAGED)
    return value


def _checksum(text: str, tensors: Mapping[str, Tensor]) -> int:
    checksum = zlib.crc32(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        checksum = zlib.crc32(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode(), checksum)
        checksum = zlib.crc32(tensor.flatten().view(torch.uint8).numpy().data, checksum)
    return checksum
