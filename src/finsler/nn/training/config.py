"""The settings of a training run: one flat record, read from TOML and from `key=value`.

Each field says in its metadata what it is for and what it may be; checks, the table in
docs/training.md and `finsler train --settings` are made of that.
"""

from __future__ import annotations

import dataclasses
import operator
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

from finsler.errors import InputError
from finsler.nn.training.settings import NOT_NEGATIVE as _NOT_NEGATIVE
from finsler.nn.training.settings import POSITIVE as _POSITIVE
from finsler.nn.training.settings import SHARE as _SHARE
from finsler.nn.training.settings import MapSettings
from finsler.nn.training.settings import setting as _setting
from finsler.nn.training.values import LONGEST_TEXT, parsed, shown, toml, typed

_LONGEST_FILE = 2**20
_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "at least": operator.ge,
    "above": operator.gt,
    "at most": operator.le,
    "below": operator.lt,
}


@dataclass(frozen=True)
class TrainConfig(MapSettings):
    """Everything that decides a training run, apart from the store it learns from.

    The fields with their meaning, default and range are listed by `settings_table` and in
    docs/training.md.

    Raises
    ------
    InputError
        A value of another type or out of its range, or one that the others leave without effect.
    """

    model: str = _setting(
        "chebyshev",
        "network: chebyshev (the paper's), learned (the same with a learned drift), small,"
        " fieldconv, diffusionnet or, for maps, directed",
    )
    # Larger networks are of no use, and a file that was received may ask for any.
    channels: int = _setting(
        0, "width of the network; 0 for its own", _NOT_NEGATIVE, ("at most", 2**16)
    )
    layers: int = _setting(
        0, "convolutions of the network; 0 for its own", _NOT_NEGATIVE, ("at most", 1000)
    )
    order: int = _setting(
        16, "Chebyshev polynomials of a convolution", _POSITIVE, ("at most", 2**12)
    )
    hidden: int = _setting(
        256, "width of the layer before the classes", _POSITIVE, ("at most", 2**20)
    )
    dropout: float = _setting(0.5, "share of that layer left out in training", *_SHARE)
    epochs: int = _setting(100, "passes over the training shapes", _POSITIVE)
    learning_rate: float = _setting(
        1e-3, "the largest one, of Adam", ("above", 0), ("at most", 1000)
    )
    schedule: str = _setting(
        "constant",
        "how the rate changes: onecycle rises for 30% of the steps from 1/25 and falls to nearly 0",
        choices=("constant", "cosine", "onecycle", "steps"),
    )
    step_epochs: tuple[int, ...] = _setting(
        (),
        "epochs after each of which the rate is multiplied by step_factor",
        _POSITIVE,
        only_with=("schedule", "steps"),
    )
    step_factor: float = _setting(
        0.1, "see step_epochs", ("above", 0), only_with=("schedule", "steps")
    )
    warm_up: float = _setting(
        0.0, "epochs over which the rate rises from 0; onecycle has its own", _NOT_NEGATIVE
    )
    weight_decay: float = _setting(0.0, "decoupled, as in AdamW", _NOT_NEGATIVE, ("at most", 1000))
    batch: int = _setting(1, "shapes a step, side by side; each counts the same", _POSITIVE)
    label_smoothing: float = _setting(0.0, "share of a target spread over all classes", *_SHARE)
    softmax: str = _setting(
        "classes",
        "over the classes of each vertex; or both over these and over the vertices of each class",
        choices=("classes", "both"),
    )
    classes: str = _setting(
        "vertices",
        "what vertices are named by: vertices of the reference, or the points that the ground truth"
        " lists, where labels follow from these",
        choices=("vertices", "points"),
    )
    point_neighbors: int = _setting(
        128,
        "others from whose places that of a point is corrected when predictions are read; 0 for"
        " none",
        _NOT_NEGATIVE,
        ("at most", 1024),
        only_with=("classes", "points"),
    )
    feature_dropout: float = _setting(0.0, "share of the features left out in training", *_SHARE)
    feature_noise: float = _setting(
        0.0, "standard deviation of noise added to the features in training", _NOT_NEGATIVE
    )
    rotation: float = _setting(
        0.0,
        "degrees by which coordinates as features are turned about each axis, at most",
        _NOT_NEGATIVE,
    )
    precision: str = _setting(
        "auto",
        "of matrix products; bf16, where the device multiplies it, is automatic mixed precision;"
        " auto is bf16 where networks of operators learn labels on cuda, and float32 elsewhere",
        choices=("auto", "float32", "tf32", "bf16"),
    )
    train_on: str = _setting(
        "named", "vertices whose loss counts: with ground truth, or all", choices=("named", "every")
    )
    validation: float = _setting(
        0.0, "share of the training shapes held out to choose the best epoch", *_SHARE
    )
    max_shapes: int = _setting(
        0, "use only the first training shapes, this many; 0 for all", _NOT_NEGATIVE
    )
    evaluate_every: int = _setting(1, "in epochs; also after the last", _POSITIVE)
    checkpoint_every: int = _setting(1, "in epochs; also after the last", _POSITIVE, resumable=True)
    seed: int = _setting(0, "of all random numbers", _NOT_NEGATIVE)
    device: str = _setting(
        "auto", "auto is cuda where there is one", choices=("auto", "cpu", "cuda"), resumable=True
    )
    memory: float = _setting(
        8.0,
        "GiB of shapes kept on the device; the others are read at each step",
        _NOT_NEGATIVE,
        resumable=True,
    )
    cuda_graphs: bool = _setting(
        True,
        "record each shape's step and replay it: on cuda, with batch = 1 and one process",
        resumable=True,
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = typed(field.name, getattr(self, field.name), _TYPES[field.name])
            _require_in_range(field, value)
            object.__setattr__(self, field.name, value)
        for field in dataclasses.fields(self):
            self._require_used(field)
        if self.schedule == "onecycle" and self.warm_up > 0:
            raise InputError('the schedule "onecycle" has a warm-up of its own; leave warm_up at 0')
        if self.schedule == "steps" and not self.step_epochs:
            raise InputError('the schedule "steps" needs step_epochs, e.g. step_epochs = [50, 80]')

    def _require_used(self, field: dataclasses.Field[Any]) -> None:
        """Raise where another setting leaves this one without effect."""
        value, needed = getattr(self, field.name), field.metadata["only_with"]
        if needed and value != field.default and getattr(self, needed[0]) != needed[1]:
            given = list(value) if isinstance(value, tuple) else value
            raise InputError(
                f"{field.name} is {shown(given)}, which has no effect unless {needed[0]} is"
                f' "{needed[1]}"; set {needed[0]}={needed[1]}, or leave {field.name} out'
            )

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
            values = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise InputError(f"{path}: this is not a TOML file ({str(error)[:100]})") from error
        except RecursionError as error:
            raise InputError(f"{path}: the TOML is nested too deeply") from error
        try:
            return cls.of(values)
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
                raise InputError(f"{shown(setting)} is no setting; write key=value, as epochs=20")
            name = _known(name.strip())
            changed[name] = parsed(name, text.strip(), _TYPES[name])
        return dataclasses.replace(self, **changed)

    def record(self) -> dict[str, Any]:
        """The settings that have an effect, as a file of the run keeps them.

        The others have their defaults, which another version may change.
        """
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if not (needed := field.metadata["only_with"]) or getattr(self, needed[0]) == needed[1]
        }

    def on_device(self, kind: str) -> TrainConfig:
        """With the precision that "auto" means on a kind of device, "cpu" or "cuda".

        Examples
        --------
        >>> TrainConfig().on_device("cuda").precision, TrainConfig().on_device("cpu").precision
        ('bf16', 'float32')
        """
        if self.precision != "auto":
            return self
        measured = self.objective == "labels" and self.model != "fieldconv"
        precision = "bf16" if kind == "cuda" and measured else "float32"
        return dataclasses.replace(self, precision=precision)

    def to_toml(self) -> str:
        """As a TOML text that `load` reads to the same configuration."""
        return "".join(f"{name} = {toml(value)}\n" for name, value in self.record().items())

    def differences(self, other: TrainConfig) -> list[str]:
        """Names of the values that differ and would change what is learned.

        The precision "auto" differs from none.
        """
        auto = ["precision"] if "auto" in (self.precision, other.precision) else []
        return [
            field.name
            for field in dataclasses.fields(self)
            if not field.metadata["resumable"]
            and field.name not in auto
            and getattr(self, field.name) != getattr(other, field.name)
        ]


_TYPES: dict[str, Any] = get_type_hints(TrainConfig)


def settings_table() -> list[tuple[str, str, str, str]]:
    """Name, default, range and meaning of every setting, as texts.

    Examples
    --------
    >>> settings_table()[5]
    ('dropout', '0.5', 'at least 0, below 1', 'share of that layer left out in training')
    """
    inherited = {field.name for field in dataclasses.fields(MapSettings)}
    listed = sorted(dataclasses.fields(TrainConfig), key=lambda field: field.name in inherited)
    return [
        (field.name, toml(field.default), _range_text(field), field.metadata["help"])
        for field in listed
    ]


def _range_text(field: dataclasses.Field[Any]) -> str:
    choices, needed = field.metadata["choices"], field.metadata["only_with"]
    parts = [f"{words} {limit}" for words, limit in field.metadata["bounds"]]
    parts += [" or ".join(choices)] if choices else []
    parts += [f"with {needed[0]} = {needed[1]}"] if needed else []
    return ", ".join(parts)


def _require_in_range(field: dataclasses.Field[Any], value: Any) -> None:
    choices = field.metadata["choices"]
    if choices and value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        raise InputError(f"{field.name} is {value!r}; it must be one of {listed}")
    for item in value if isinstance(value, tuple) else (value,):
        for words, limit in field.metadata["bounds"]:
            if not _BOUNDS[words](item, limit):
                raise InputError(f"{field.name} is {item}; it must be {words} {limit}")


def _known(name: str) -> str:
    if name in _TYPES:
        return name
    near = get_close_matches(name[:LONGEST_TEXT], _TYPES, n=1, cutoff=0.0)
    raise InputError(f"there is no setting {shown(name)}; did you mean {near[0]!r}?")
