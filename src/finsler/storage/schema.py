"""What was read is checked before it is used: records against a dataclass, arrays against sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from numpy.typing import NDArray

from finsler.errors import InputError

T = TypeVar("T")
# Kind letters of numpy, and a shape of sizes and of names of sizes.
ArraySchema = Mapping[str, tuple[str, tuple[int | str, ...]]]
_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list",
    dict: "a table of names",
}
_KINDS = {"f": "floats", "i": "integers", "iu": "integers", "b": "truth values", "U": "text"}


def from_record(cls: type[T], record: object, what: str) -> T:
    """Make a dataclass of a record that was read: known names, each with a value of its type.

    A whole number serves as a float, a list as a tuple; what is not named has its default. Ranges
    are for the class itself to check.

    Raises
    ------
    InputError
        An unknown or missing name, or a value of another type.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     names: tuple[str, ...] = ()
    >>> from_record(Point, {"x": 1, "names": ["a"]}, "a point")
    Point(x=1.0, names=('a',))
    >>> from_record(Point, {"x": "1"}, "a point")
    Traceback (most recent call last):
    ...
    finsler.errors.InputError: x is '1'; it must be a number
    """
    if not isinstance(record, Mapping):
        raise InputError(f"{what} must be a table of names and values")
    kinds = get_type_hints(cls)
    for name in record:
        if name not in kinds:
            raise InputError(f"there is no setting {str(name)[:40]!r} of {what}")
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        absent = field.default is field.default_factory is dataclasses.MISSING
        if absent and field.name not in record:
            raise InputError(f"{what} has no {field.name}")
    return cls(**{name: _checked(value, kinds[name], name) for name, value in record.items()})


def _checked(value: object, kind: Any, name: str) -> Any:
    family, inside = get_origin(kind) or kind, get_args(kind)
    if family is Any:
        return value
    if family is float and type(value) is int and abs(value) < 2**53:
        return float(value)
    if family is tuple and isinstance(value, list | tuple):
        return tuple(_checked(part, inside[0], name) for part in value)
    if family is dict and isinstance(value, dict):
        return {key: _checked(part, inside[1], f"{name} of {key}") for key, part in value.items()}
    if type(value) is not family:
        raise InputError(f"{name[:80]} is {repr(value)[:60]}; it must be {_WORDS[family]}")
    return value


def require_arrays(arrays: Mapping[str, NDArray[Any]], schema: ArraySchema) -> dict[str, int]:
    """Check kinds and shapes of arrays that were read; equal names stand for equal sizes.

    Returns the size of each name.

    Raises
    ------
    InputError
        An array of another kind or shape; a sentence without the path.

    Examples
    --------
    >>> import numpy as np
    >>> schema = {"vertices": ("f", ("n", 3)), "labels": ("i", ("n",))}
    >>> require_arrays({"vertices": np.zeros((5, 3)), "labels": np.arange(5)}, schema)
    {'n': 5}
    """
    sizes: dict[str, int] = {}
    for name, (kinds, shape) in schema.items():
        array = arrays[name]
        fits = array.dtype.kind in kinds and array.ndim == len(shape)
        for size, wanted in zip(array.shape, shape, strict=False):
            fits &= size == (sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted)
        if not fits:
            text = ", ".join(str(sizes.get(str(size), size)) for size in shape)
            raise InputError(
                f"the arrays do not fit together: {name} is {array.shape} of {array.dtype}, and"
                f" must be ({text}) of {_KINDS[kinds]}"
            )
    return sizes
