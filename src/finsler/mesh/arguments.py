"""Arguments that many functions take, checked in one place: each fault gets one sentence."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.typing import FloatArray


def real_array(value: ArrayLike, name: str, *, finite: bool = True) -> FloatArray:
    """The value as an array of float64 numbers of any shape, finite unless said otherwise."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold real numbers, not {_described(value)}") from error
    if finite and not np.isfinite(array).all():
        if array.ndim == 0:
            raise InputError(f"{name} is {array}; it must be a finite number")
        raise InputError(f"{name} holds values that are not finite; replace them")
    return array


def one_number(value: object, name: str) -> float:
    """The value as one finite number."""
    array = real_array(value, name)  # type: ignore[arg-type]
    if array.ndim != 0:
        raise InputError(f"{name} must be one number, not an array of shape {array.shape}")
    return float(array)


def per_face(
    value: ArrayLike, n_faces: int, shapes: tuple[tuple[int, ...], ...], name: str
) -> FloatArray:
    """One entry of an allowed shape a face, (m, …); a single entry stands for all faces."""
    array = real_array(value, name)
    if array.shape in shapes:
        return np.broadcast_to(array, (n_faces, *array.shape))
    if array.shape[1:] not in shapes or len(array) != n_faces:
        allowed = " or ".join(str((n_faces, *shape)) for shape in shapes)
        raise InputError(
            f"{name} must have shape {allowed}, or be one such entry for all faces, not"
            f" {array.shape}"
        )
    return array


def _described(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
