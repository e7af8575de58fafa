"""Arguments that many functions take, checked in one place: each fault gets one sentence."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from finsler.errors import InputError
from finsler.typing import FloatArray, IntArray

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Raise one sentence where an argument is not of the type that its annotation names.

    Where a `TriMesh` is wanted, whatever [`as_mesh`][finsler.as_mesh] takes becomes one. What the
    type does not say (a range, a shape, a finite value) is left to the function.
    """
    return _checked(function, lambda annotation: isinstance(annotation, str))  # `self` has none.


def takes_meshes(function: Callable[P, R]) -> Callable[P, R]:
    """`checked` for the meshes among the arguments; the others are left to the function."""
    return _checked(function, lambda annotation: bool(_MESHES & {*_alternatives(str(annotation))}))


def _checked(function: Callable[P, R], concerns: Callable[[object], bool]) -> Callable[P, R]:
    taken = signature(function)
    annotations = {
        name: parameter.annotation
        for name, parameter in taken.parameters.items()
        if concerns(parameter.annotation)
    }

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = taken.bind(*args, **kwargs)
        except TypeError:  # Too few or too many: Python says which.
            return function(*args, **kwargs)
        for name, value in given.arguments.items():
            if name in annotations:
                given.arguments[name] = require_type(value, annotations[name], name)
        return function(*given.args, **given.kwargs)

    return call


def without_mesh(function: Callable[P, R]) -> Callable[P, R]:
    """`checked`, and one sentence that shows the call where a mesh is passed beside the metric.

    A metric carries its mesh: two of them could not both be meant.
    """
    inner = checked(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if "mesh" in kwargs or any(_is_a(value, "TriMesh") for value in args):
            taken = signature(function).parameters.values()
            names = [p.name for p in taken if p.name != "self" and p.kind is not p.KEYWORD_ONLY]
            called = function.__qualname__.removesuffix(".__init__")
            raise InputError(
                f"{called} takes no mesh: the metric carries its own; write"
                f" {called}({', '.join(names)})"
            )
        return inner(*args, **kwargs)

    return call


def require_type(value: Any, annotation: str, name: str) -> Any:
    """Raise unless the value is of one of the types of an annotation, written `A | B[C]`.

    Returns it, turned into a mesh where the annotation has a `TriMesh` and it is none yet, and into
    an array where it has one and the value is a tensor.
    """
    kinds = _alternatives(annotation.replace("str | os.PathLike[str]", "Path"))
    if any(kind.partition("[")[0] in _ARRAYS for kind in kinds):
        value = in_memory(value)
    if any(_fits(value, kind) for kind in kinds):
        return value
    if "TriMesh" in kinds:
        from finsler.mesh.conversion import convert

        if (mesh := convert(value, name)) is not None:
            return mesh
    elif _MESHES & {*kinds} and isinstance(value, list | tuple):
        return tuple(require_type(item, "TriMesh", f"{name}[{i}]") for i, item in enumerate(value))
    wanted = " or ".join(dict.fromkeys(map(_in_words, kinds)))
    plain = {*_WORDS, *_ARRAYS} - {"TriMesh"}
    own_classes = not any(kind.partition("[")[0] in plain for kind in kinds)
    given = f"a {type(value).__name__}" if own_classes else _described(value)
    raise InputError(f"{name} is {given}; it must be {wanted}")


def in_memory(values: Any) -> Any:
    """A tensor as an array: without its gradient and from whatever device it is on."""
    if isinstance(values, np.ndarray):
        return values
    for step in ("detach", "cpu", "numpy"):
        values = getattr(values, step)() if callable(getattr(values, step, None)) else values
    return values


def require_field_types(record: Any) -> None:
    """Raise unless each field of a dataclass is of the type that its annotation names."""
    for field in dataclasses.fields(record):
        require_type(getattr(record, field.name), str(field.type), field.name)


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


def require_positive(value: float, name: str) -> None:
    """Raise unless the value is a number above 0, and finite."""
    if not 0.0 < one_number(value, name) < np.inf:
        raise InputError(f"{name} is {value}; it must be positive and finite")


def require_one_of(value: object, names: tuple[str, ...], argument: str) -> None:
    """Raise unless the value is one of the names."""
    if not isinstance(value, str) or value not in names:
        listed = ", ".join(f'"{name}"' for name in names[:-1])
        raise InputError(f'{argument} must be {listed} or "{names[-1]}", not {_described(value)}')


def require_whole(value: object, least: int, most: int, argument: str) -> None:
    """Raise unless the value is a whole number in a range."""
    if not _fits(value, "int"):
        raise InputError(f"{argument} is {_described(value)}; it must be a whole number")
    if not least <= value <= most:  # type: ignore[operator]
        raise InputError(f"{argument} is {value}; it must lie between {least} and {most}")


def require_seed(seed: int) -> None:
    """Raise unless a number can start numpy's generator."""
    require_whole(seed, 0, 2**63, "seed")


def per_face(
    value: ArrayLike,
    n_faces: int,
    shapes: tuple[tuple[int, ...], ...],
    name: str,
    *,
    finite: bool = True,
) -> FloatArray:
    """One entry of an allowed shape a face, (m, …); a single entry stands for all faces."""
    array = real_array(value, name, finite=finite)
    if array.shape in shapes:
        return np.broadcast_to(array, (n_faces, *array.shape))
    if array.shape[1:] not in shapes or len(array) != n_faces:
        allowed = " or ".join(str((n_faces, *shape)) for shape in shapes)
        raise InputError(
            f"{name} must have shape {allowed}, one a face, or be a single one for all faces, not"
            f" {array.shape}"
        )
    return array


def vertex_functions(values: ArrayLike, n: int, name: str = "functions") -> FloatArray:
    """A function (n,) or functions (n, c) on the vertices, checked."""
    f = real_array(values, name, finite=False)
    if f.ndim not in (1, 2) or len(f) != n:
        raise InputError(
            f"{name}: a function must have one value for each of the {n} vertices, shape ({n},) or"
            f" ({n}, c), not {f.shape}"
        )
    if not np.isfinite(f).all():
        raise InputError(
            f"{name}: {int((~np.isfinite(f)).sum())} values of the function are not finite, the"
            f" first at vertex {int(np.argwhere(~np.isfinite(f))[0, 0])}; replace them"
        )
    return f


def vertex_indices(vertices: ArrayLike, n: int, name: str = "vertices") -> IntArray:
    """A vertex, shape (), or several, (s,), checked."""
    try:
        points = np.asarray(vertices)
    except (TypeError, ValueError):
        points = np.asarray(None)
    if points.size == 0:
        raise InputError(f"{name}: no vertex is given; name at least one vertex")
    if not np.issubdtype(points.dtype, np.integer) or points.ndim > 1:
        raise InputError(
            f"{name}: a vertex index, or a list of them, is needed: whole numbers from 0"
        )
    if ((points < 0) | (points >= n)).any():
        raise InputError(f"{name}: vertex indices must lie in 0..{n - 1}, not {points.tolist()}")
    return points.astype(np.int64)


def vertex_set(vertices: ArrayLike, n: int, name: str = "sources") -> IntArray:
    """One or several vertices as a vector (s,), checked."""
    return np.atleast_1d(vertex_indices(vertices, n, name))


def checked_map(values: ArrayLike, n_from: int, n_into: int, name: str = "the map") -> IntArray:
    """A vertex map (n_from,) into so many vertices, checked."""
    given = real_array(values, name, finite=False)
    if given.shape != (n_from,) or np.asarray(values).dtype.kind not in "iu":
        raise InputError(
            f"{name} has shape {given.shape} and type {np.asarray(values).dtype}; it must name a"
            f" vertex for each vertex (whole numbers), one vertex for each of the {n_from} vertices"
        )
    if given.min() < 0 or given.max() >= n_into:
        raise InputError(f"{name} names a vertex outside 0..{n_into - 1}, those of the target")
    return np.asarray(values, dtype=np.int64)


_ARRAYS = ("ArrayLike", "FloatArray", "IntArray", "NDArray")
_MESHES = {"TriMesh", "Sequence[TriMesh]", "tuple[TriMesh, TriMesh]"}
_WORDS = {
    "None": "None",
    "bool": "True or False",
    "int": "a whole number",
    "float": "one number",
    "str": "a text",
    "Path": "the path of a file",
    "DTypeLike": "a type of numpy",
    "Callable": "a function",
    "Filter": "a function",
    "Mapping": "a mapping",
    "dict": "a dictionary",
    "sparse.csr_array": "a sparse matrix of scipy",
    "TriMesh": "a TriMesh, a pair (vertices, faces), the path of a mesh file, or a mesh of trimesh,"
    " PyVista, Open3D or torch_geometric (with pos and face)",
}


@cache
def _alternatives(annotation: str) -> list[str]:
    """The types of a union, split where no bracket is open."""
    kinds, depth = [""], 0
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            kinds.append("")
        else:
            kinds[-1] += letter
    return [kind.strip() for kind in kinds]


def _fits(value: object, kind: str) -> bool:
    head, _, inner = kind.removesuffix("]").partition("[")
    if head in ("Sequence", "list", "tuple"):
        if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
            return False
        items = inner.split(", ")
        if head == "tuple" and len(value) != len(items):
            return False
        return all(_fits(item, items[0]) for item in value)
    if head in _ARRAYS:
        return _is_real(value)
    if head == "DTypeLike":
        return _is_dtype(value)
    tests: dict[str, Callable[[], object]] = {
        "None": lambda: value is None,
        "bool": lambda: isinstance(value, bool | np.bool_),
        "int": lambda: isinstance(value, int | np.integer) and not isinstance(value, bool),
        "float": lambda: _is_real(value) and np.ndim(value) == 0,  # type: ignore[arg-type]
        "str": lambda: isinstance(value, str),
        "Path": lambda: isinstance(value, str | os.PathLike),
        "Callable": lambda: callable(value),
        "Filter": lambda: callable(value),
        "Mapping": lambda: isinstance(value, Mapping),
        "sparse.csr_array": lambda: sparse.issparse(value),
        "Any": lambda: True,
    }
    return bool(tests[head]()) if head in tests else _is_a(value, head)


def _is_real(value: object) -> bool:
    try:
        real_array(value, "value", finite=False)  # type: ignore[arg-type]
    except InputError:
        return False
    return True


def _is_dtype(value: object) -> bool:
    try:
        return value is not None and np.dtype(value).kind in "iuf"  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return False


def _is_a(value: object, name: str) -> bool:
    """Whether the value is of a class by its name: no layer above this one is imported."""
    own = name.rpartition(".")[2]
    return any(kind.__name__ == own for kind in type(value).__mro__)


def _in_words(kind: str) -> str:
    head, _, inner = kind.removesuffix("]").partition("[")
    if head in _ARRAYS:
        return "an array of real numbers"
    if head in ("Sequence", "list", "tuple"):
        return f"a list, each {_in_words(inner.split(', ')[0])}"
    return _WORDS.get(head, f"{'an' if head[0] in 'AEIOU' else 'a'} {head}")


def _described(value: object) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape} and type {value.dtype}"
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
