"""The methods that an experiment compares, by name, and the settings that change them."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from finsler.data import PrepareConfig
from finsler.errors import InputError
from finsler.operator.rescale import NORMALIZATIONS

# Settings of a preparation that are not the method's own.
_PREPARE_SETTINGS = (
    *("smoothing", "peak", "descriptor", "radius", "bins"),
    *("support", "support_apart", "copies"),
)
_SAME_INPUT = (
    "a constant τ multiplies the operator by a constant, which every rescaling removes: the input"
    " is that of albo, and differences from albo are run-to-run noise"
)


@dataclass(frozen=True)
class Method:
    """A row of a table: how shapes are prepared, and what its training sets beside the defaults.

    Attributes
    ----------
    name : str
    prepare : PrepareConfig
    settings : tuple of str
        As for `TrainConfig.override`: "epochs=60".
    note : str
        A line of explanation below the table.
    """

    name: str
    prepare: PrepareConfig
    settings: tuple[str, ...] = ()
    note: str = ""

    @property
    def folder(self) -> str:
        """The name as that of a folder."""
        return self.name.replace(":", "-")


def read_tables() -> dict[str, Any]:
    """The data of this package: published figures, and the methods that have names."""
    text = files("finsler.experiments").joinpath("tables.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _named_methods(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Method]:
    return {
        name: Method(
            name, PrepareConfig(**row["prepare"]), tuple(row.get("settings", ())), row["note"]
        )
        for name, row in table.items()
    }


METHODS = _named_methods(read_tables()["methods"])


def recipe_settings(name: str) -> tuple[str, ...]:
    """The settings of a way to train, "paper" or "regularised".

    Raises
    ------
    InputError
        There is no such recipe.
    """
    recipes = read_tables()["recipes"]
    if name not in recipes:
        raise InputError(f"there is no recipe {name!r}; it must be one of {', '.join(recipes)}")
    return tuple(recipes[name]["settings"])


def parse_method(text: str) -> Method:
    """The method of a name: one of `METHODS` or flbo:TAU, then + and a rescaling if wanted.

    Raises
    ------
    InputError
        There is no such method or rescaling.

    Examples
    --------
    >>> parse_method("flbo:0.10+plain").name
    'flbo:0.1+plain'
    """
    base, plus, rescaling = text.partition("+")
    method = METHODS.get(base) or _constant_tau(base)
    if method is None:
        known = ", ".join([*METHODS, "flbo:TAU"])
        raise InputError(f"there is no method {base!r}; it must be one of {known}")
    if plus and rescaling not in NORMALIZATIONS:
        raise InputError(
            f"{text}: there is no rescaling {rescaling!r}; it must be one of"
            f" {', '.join(NORMALIZATIONS)}"
        )
    if rescaling in ("", method.prepare.normalization):
        return method
    prepare = dataclasses.replace(method.prepare, normalization=rescaling)
    return dataclasses.replace(method, name=f"{method.name}+{rescaling}", prepare=prepare)


def _constant_tau(base: str) -> Method | None:
    kind, _, text = base.partition(":")
    try:
        tau = float(text)
    except ValueError:
        return None
    if kind != "flbo":
        return None
    if not 0.0 <= tau < 1.0:
        raise InputError(f"the tau of {base} must lie between 0 and 1, e.g. flbo:0.1")
    return Method(f"flbo:{tau:g}", PrepareConfig(tau=tau), note=_SAME_INPUT)


def parse_methods(text: str) -> tuple[Method, ...]:
    """The methods of a list with commas, each once.

    Raises
    ------
    InputError
        One is unknown, or given twice.
    """
    methods = tuple(parse_method(word.strip()) for word in text.split(","))
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the method {name} is given twice")
    return methods


def apply_settings(
    methods: Sequence[Method], settings: Sequence[str]
) -> tuple[tuple[Method, ...], list[str]]:
    """The methods with what KEY=VALUE settings say about preparing, and those about training.

    Raises
    ------
    InputError
        A setting that is none of the user's here, or that has no such value.
    """
    training, preparing = [], {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name in ("seed", "device"):
            raise InputError(f"{setting}: use --{name}{'s' * (name == 'seed')}, not --set")
        if name in _PREPARE_SETTINGS:
            preparing[name] = _parse_value(name, text)
        elif name in {field.name for field in dataclasses.fields(PrepareConfig)}:
            raise InputError(f"{setting}: {name} follows from the method; choose another method")
        else:
            training.append(setting)
    changed = (
        dataclasses.replace(m, prepare=dataclasses.replace(m.prepare, **preparing)) for m in methods
    )
    return tuple(changed), training


def _parse_value(name: str, text: str) -> Any:
    kind = type(getattr(PrepareConfig(), name))
    if kind is bool:
        if text not in ("true", "false"):
            raise InputError(f"{name} is {text!r}; it must be true or false")
        return text == "true"
    try:
        return kind(text)
    except ValueError as error:
        raise InputError(f"{name} is {text!r}; it must be a number") from error
