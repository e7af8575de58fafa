"""What takes a metric takes no mesh beside it: a metric carries its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh

P = ParamSpec("P")
R = TypeVar("R")


def without_mesh(function: Callable[P, R]) -> Callable[P, R]:
    """Raise one sentence that shows the call where a mesh is passed beside the metric.

    Two meshes, that of the metric and another, could not both be meant.
    """

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if "mesh" in kwargs or any(isinstance(value, TriMesh) for value in args):
            taken = signature(function).parameters.values()
            names = [p.name for p in taken if p.name != "self" and p.kind is not p.KEYWORD_ONLY]
            called = function.__qualname__.removesuffix(".__init__")
            raise InputError(
                f"{called} takes no mesh: the metric carries its own; write"
                f" {called}({', '.join(names)})"
            )
        return function(*args, **kwargs)

    return checked
