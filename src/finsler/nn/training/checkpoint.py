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
from torch.overrides import TorchFunctionMode

from finsler.errors import InputError
from finsler.nn.training.config import TrainConfig
from finsler.nn.training.models import model_named
from finsler.storage.files import write_bytes
from finsler.storage.json import parse_json

# Raise it when the meaning of a file changes.
FORMAT = 1
_NETWORK, _OPTIMISER = "network.", "optimiser."


@dataclass(frozen=True)
class About:
    """What a checkpoint says of itself.

    Attributes
    ----------
    config : TrainConfig
    in_channels, classes, angles : int
        Sizes that the store decided.
    prepare : dict
        The configuration the store was prepared with.
    data : str
        A hash of the store's shapes and splits.
    history : tuple of dict
        The metrics of each epoch so far.
    """

    config: TrainConfig
    in_channels: int
    classes: int
    angles: int
    prepare: dict[str, Any]
    data: str
    history: tuple[dict[str, Any], ...] = ()

    @property
    def epoch(self) -> int:
        """Epochs that are done."""
        return len(self.history)

    def build(self) -> nn.Module:
        """The network with fresh weights."""
        model = model_named(self.config.model)
        return model.build(self.config, self.in_channels, self.classes, self.angles)


def save_checkpoint(
    path: str | os.PathLike[str],
    about: About,
    network: nn.Module,
    optimiser: torch.optim.Optimizer | None = None,
) -> None:
    """Write a checkpoint, whole or not at all; without an optimiser it holds the weights alone."""
    from safetensors.torch import save

    tensors = {_NETWORK + name: tensor for name, tensor in network.state_dict().items()}
    if optimiser is not None:
        for name, parameter in network.named_parameters():
            for key, value in optimiser.state[parameter].items():
                tensors[f"{_OPTIMISER}{name}.{key}"] = value
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps({"format": FORMAT, **dataclasses.asdict(about)})
    metadata = {"finsler": text, "crc32": str(_checksum(text, tensors))}
    write_bytes(path, save(tensors, metadata))


class _Shapes(TorchFunctionMode):
    """While this lasts, the parameters that are made have a shape and take no memory."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        options = dict(kwargs or {})
        if function in (torch.empty, torch.zeros, torch.ones):
            options["device"] = "meta"
        return function(*args, **options)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint that was read and found whole."""

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
        found = cls(str(path), _about(path, text), tensors)
        found._require_sizes()
        return found

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
            raise InputError(f"{self.path}: the checkpoint holds weights alone; it cannot go on")
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
            with _Shapes():
                wanted = self.about.build().state_dict()
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from error
        # A network of absurd sizes fails in torch in many ways.
        except (RuntimeError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{self.path}: no network has the sizes of this checkpoint") from error
        there = {name: tensor.shape for name, tensor in self._part(_NETWORK).items()}
        if there != {name: tensor.shape for name, tensor in wanted.items()}:
            raise self._misfit()

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


def _about(path: str | os.PathLike[str], text: str) -> About:
    try:
        found = parse_json(text)
        if found.pop("format", None) != FORMAT:
            raise InputError(f"the checkpoint has another format than {FORMAT}; train anew")
        if found.keys() != _FIELDS or not isinstance(found["history"], list):
            raise InputError("the checkpoint's description is damaged; copy it again")
        found["config"] = TrainConfig.of(_object(found["config"]))
        found["prepare"] = _object(found["prepare"])
        found["history"] = tuple(map(_object, found["history"]))
        about = About(**found)
        sizes = (about.in_channels, about.classes, about.angles)
        if not all(type(size) is int and 0 <= size < 2**31 for size in sizes):
            raise InputError("the sizes of the network in the checkpoint are no whole numbers")
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return about


def _object(found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InputError("the checkpoint's description is damaged; copy it again")
    return found


def _checksum(text: str, tensors: Mapping[str, Tensor]) -> int:
    found = zlib.crc32(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        found = zlib.crc32(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode(), found)
        found = zlib.crc32(tensor.flatten().view(torch.uint8).numpy().data, found)
    return found
