"""Results that print as one line: shapes and ranges instead of pages of numbers."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

T = TypeVar("T", bound=type)

# Arrays up to this size, and texts up to this length, are shown as they are.
_FEW = 4
_LONG = 60


def one_line(*names: str) -> Callable[[T], T]:
    """Give a dataclass a repr of one line: its fields, or the attributes and methods named.

    Examples
    --------
    >>> @one_line()
    ... @dataclasses.dataclass
    ... class Heat:
    ...     time: float
    ...     values: object
    >>> Heat(0.5, np.arange(12.0).reshape(4, 3))
    Heat(time 0.5, values (4, 3) in [0, 11])
    """

    def decorate(cls: T) -> T:
        def line(self: Any) -> str:
            shown = names or [field.name for field in dataclasses.fields(self) if field.repr]
            parts = ", ".join(f"{name} {_value(getattr(self, name))}" for name in shown)
            return f"{type(self).__name__}({parts})"

        cls.__repr__ = line  # type: ignore[method-assign, assignment]
        return cls

    return decorate


def _value(value: Any) -> str:
    """One value in a few words."""
    if inspect.ismethod(value):
        value = value()
    if sparse.issparse(value):
        return f"{value.shape[0]} × {value.shape[1]} with {value.nnz} entries"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        return _array(value)
    text = str(value) if isinstance(value, np.generic) else repr(value)
    if dataclasses.is_dataclass(value) or (len(text) <= _LONG and "\n" not in text):
        return text
    if isinstance(value, Mapping | Sequence | Set) and not isinstance(value, str):
        return f"({len(value)} items)"
    return text[:_LONG].partition("\n")[0] + "…" if isinstance(value, str) else type(value).__name__


def _array(array: Any) -> str:
    values = np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)
    if values.ndim == 0:
        return f"{values:.4g}"
    if values.size <= _FEW and values.ndim == 1 and values.dtype.kind in "iuf":
        return "[" + ", ".join(f"{value:.4g}" for value in values) + "]"
    shape = str(values.shape)
    if values.size == 0 or values.dtype.kind not in "biuf":
        return shape
    if values.dtype.kind == "b":
        return f"{shape}, {np.count_nonzero(values)} true"
    finite = values[np.isfinite(values)]
    holes = f", {values.size - finite.size} not finite" if finite.size < values.size else ""
    if finite.size == 0:
        return shape + holes
    return f"{shape} in [{finite.min():.4g}, {finite.max():.4g}]{holes}"
