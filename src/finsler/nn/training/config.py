"""The settings of a training run: one flat record, read from TOML and from `key=value`."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

from finsler.errors import InputError

_CHOICES = {
    "schedule": ("constant", "cosine", "onecycle", "steps"),
    "precision": ("float32", "tf32", "bf16"),
    "train_on": ("named", "every"),
    "device": ("auto", "cpu", "cuda"),
}
_AT_LEAST_ONE = (
    *("order", "hidden", "epochs", "batch"),
    *("evaluate_every", "checkpoint_every"),
)
_NOT_NEGATIVE = (
    *(
        "channels",
        "layers",
        "warm_up",
        "weight_decay",
        "feature_noise",
        "rotation",
        "max_shapes",
        "memory",
        "seed",
    ),
    *("dropout", "label_smoothing", "validation"),
)
_BELOW_ONE = ("dropout", "label_smoothing", "validation")
# Larger networks are no use, and a file that was received may ask for any.
_AT_MOST = {"channels": 2**16, "layers": 1000, "order": 2**12, "hidden": 2**20}
_LONGEST_FILE, _LONGEST_TEXT = 2**20, 100
# Where and how a run is computed, not what: a run may be continued with other values.
_FREE = ("device", "memory", "checkpoint_every", "cuda_graphs")


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides a training run, apart from the store it learns from.

    Attributes
    ----------
    model : str
        A name in [`MODELS`][finsler.nn.training.models.MODELS].
    channels, layers, order, hidden, dropout
        Of the network; 0 channels or layers for its own number. The angles are those of the store.
    epochs : int
    learning_rate : float
        The largest one; `schedule` says how it changes over the steps.
    schedule : {"constant", "cosine", "onecycle", "steps"}
        "onecycle" rises for 30% of the steps from 1/25 of the rate and then falls to nearly 0;
        "steps" multiplies the rate by `step_factor` after each of the `step_epochs`.
    warm_up : float
        Epochs over which the rate rises linearly from 0; not with "onecycle", which has its own.
    weight_decay : float
        Decoupled, as in AdamW.
    batch : int
        Shapes a step, side by side.
    label_smoothing : float
    feature_noise : float
        Standard deviation of Gaussian noise added to the features in training.
    rotation : float
        Coordinates as features are turned in training, about each axis by at most so many degrees.
    precision : {"float32", "tf32", "bf16"}
        Of matrix products in training; "bf16" is automatic mixed precision.
    train_on : {"named", "every"}
        Vertices whose loss counts: those with ground truth, or all.
    validation : float
        Share of the training shapes that is held out, to choose the best epoch.
    max_shapes : int
        Use only that many of the training shapes, the first ones; 0 for all.
    evaluate_every, checkpoint_every : int
        In epochs; both also happen after the last one.
    seed : int
    device : {"auto", "cpu", "cuda"}
    memory : float
        GiB of shapes kept on the device; those beyond are read again at each step.
    cuda_graphs : bool
        Record each shape's step once and replay it, where that is possible: on cuda, with batch = 1
        and one process.
    """

    model: str = "chebyshev"
    channels: int = 0
    layers: int = 0
    order: int = 16
    hidden: int = 256
    dropout: float = 0.5
    epochs: int = 100
    learning_rate: float = 1e-3
    schedule: str = "constant"
    step_epochs: tuple[int, ...] = ()
    step_factor: float = 0.1
    warm_up: float = 0.0
    weight_decay: float = 0.0
    batch: int = 1
    label_smoothing: float = 0.0
    feature_noise: float = 0.0
    rotation: float = 0.0
    precision: str = "float32"
    train_on: str = "named"
    validation: float = 0.0
    max_shapes: int = 0
    evaluate_every: int = 1
    checkpoint_every: int = 1
    seed: int = 0
    device: str = "auto"
    memory: float = 8.0
    cuda_graphs: bool = True

    def __post_init__(self) -> None:
        for name, wanted in _TYPES.items():
            object.__setattr__(self, name, _typed(name, getattr(self, name), wanted))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                listed = ", ".join(f'"{choice}"' for choice in choices)
                raise InputError(f"{name} is {getattr(self, name)!r}; it must be one of {listed}")
        for name in _AT_LEAST_ONE:
            self._require(name, getattr(self, name) >= 1, "at least 1")
        for name in _NOT_NEGATIVE:
            self._require(name, getattr(self, name) >= 0, "at least 0")
        for name in _BELOW_ONE:
            self._require(name, getattr(self, name) < 1, "below 1")
        for name, most in _AT_MOST.items():
            self._require(name, getattr(self, name) <= most, f"at most {most}")
        for name in ("learning_rate", "step_factor"):
            self._require(name, getattr(self, name) > 0, "above 0")
        if self.schedule == "onecycle" and self.warm_up > 0:
            raise InputError('the schedule "onecycle" has a warm-up of its own; leave warm_up at 0')
        if self.schedule == "steps" and not self.step_epochs:
            raise InputError('the schedule "steps" needs step_epochs, e.g. step_epochs = [50, 80]')

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise InputError(f"{name} is {getattr(self, name)}; it must be {what}")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TrainConfig:
        """Read a TOML file; what it does not name has its default.

        Raises
        ------
        InputError
            There is no such file, or it is no TOML, or a setting is unknown or out of range.
        """
        if not Path(path).is_file():
            raise InputError(f"{path}: there is no such file; check the path")
        if Path(path).stat().st_size > _LONGEST_FILE:
            raise InputError(f"{path}: the file is too long for a configuration; check the path")
        try:
            found = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise InputError(f"{path}: this is not a TOML file ({str(error)[:100]})") from error
        except RecursionError as error:
            raise InputError(f"{path}: the TOML is nested too deeply") from error
        try:
            return cls.of(found)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> TrainConfig:
        """A configuration of named values; the others have their defaults."""
        return cls(**{_known(name): value for name, value in values.items()})

    def override(self, settings: Sequence[str]) -> TrainConfig:
        """With settings such as `epochs=3`, `schedule=cosine`, `step_epochs=50,80`.

        Examples
        --------
        >>> TrainConfig().override(["epochs=3", "learning_rate=3e-3"]).epochs
        3
        """
        changed = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals:
                raise InputError(f"{_shown(setting)} is no setting; write key=value, as epochs=20")
            name = _known(name.strip())
            changed[name] = _parsed(name, text.strip(), _TYPES[name])
        return dataclasses.replace(self, **changed)

    def to_toml(self) -> str:
        """As a TOML text that `load` reads to the same configuration."""
        return "".join(f"{name} = {_toml(getattr(self, name))}\n" for name in _TYPES)

    def differences(self, other: TrainConfig) -> list[str]:
        """Names of the values that differ and would change what is learned."""
        return [
            name
            for name in _TYPES
            if name not in _FREE and getattr(self, name) != getattr(other, name)
        ]


_TYPES: dict[str, Any] = get_type_hints(TrainConfig)
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a short text"}


def _known(name: str) -> str:
    if name in _TYPES:
        return name
    near = get_close_matches(name[:_LONGEST_TEXT], _TYPES, n=1, cutoff=0.0)
    raise InputError(f"there is no setting {_shown(name)}; did you mean {near[0]!r}?")


def _typed(name: str, value: Any, wanted: Any) -> Any:
    """The value, or for a float its whole number as one; anything else is refused."""
    if wanted not in _WORDS:
        if isinstance(value, (list, tuple)) and all(map(_is_whole, value)):
            return tuple(value)
        raise InputError(f"{name} is {_shown(value)}; it must be a list of whole numbers")
    if wanted is float and (_is_whole(value) or (type(value) is float and math.isfinite(value))):
        return float(value)
    if wanted is int and _is_whole(value):
        return value
    if wanted is bool and type(value) is bool:
        return value
    if wanted is str and type(value) is str and len(value) <= _LONGEST_TEXT:
        return value
    raise InputError(f"{name} is {_shown(value)}; it must be {_WORDS[wanted]}")


def _is_whole(value: object) -> bool:
    return type(value) is int and abs(value) < 2**63


def _shown(value: object) -> str:
    """A value in an error: of any length in the file, short in the sentence."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write very long whole numbers
        return "too long to show"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _parsed(name: str, text: str, wanted: Any) -> Any:
    try:
        if wanted is bool:
            return {"true": True, "false": False}[text.lower()]
        if wanted in (int, float, str):
            return wanted(text)
        return tuple(int(item) for item in text.strip("[]").split(",") if item.strip())
    except (ValueError, KeyError) as error:
        words = _WORDS.get(wanted, "a list of whole numbers, e.g. 50,80")
        raise InputError(f"{name} is {_shown(text)}; it must be {words}") from error


def _toml(value: Any) -> str:
    # JSON writes these types as TOML does, but for the exponents of floats, which TOML reads too.
    return json.dumps(list(value) if isinstance(value, tuple) else value)
