"""Describe a surface once and match it many times; descriptions are kept in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from finsler.analysis.spectrum import Spectrum
from finsler.compute.batch import ensure_result
from finsler.descriptors.learned import FeatureModels, feature_models
from finsler.errors import InputError
from finsler.matching.summaries import Histograms, Signatures
from finsler.matching.surfaces import (
    DescribedSurface,
    Describing,
    basis_size,
    describe_unit,
    describing_on,
)
from finsler.mesh.arguments import checked
from finsler.mesh.io import load_mesh
from finsler.mesh.trimesh import TriMesh
from finsler.mesh.unit import UnitSurface
from finsler.operator import Laplacian, lbo
from finsler.storage.files import location, make_folder
from finsler.storage.hashing import content_key
from finsler.storage.npz import read_npz, write_npz
from finsler.storage.schema import require_arrays

__all__ = ["DescribedSurface", "describe", "read_described", "write_described"]

# Changes whenever descriptions do: kept ones of another version are not used.
_VERSION = 3
_SCHEMA = {
    "vertices": ("f", ("n", 3)),
    "faces": ("iu", ("faces", 3)),
    "areas": ("f", (2,)),
    "vertex_map": ("iu", ("given",)),
    "vertex_source": ("iu", ("n",)),
    "eigenvalues": ("f", ("k",)),
    "eigenvectors": ("f", ("n", "k")),
    "residuals": ("f", ("k",)),
    "iterative": ("b", ()),
    "mass": ("f", ("n",)),
    "radius": ("f", ()),
    "middle": ("f", (704,)),
    "axes": ("f", (704, "directions")),
    "scores": ("f", ("n", "directions")),
    "histograms": ("f", ("c", 704)),
    "signatures": ("f", ("c", 120)),
    "squares": ("f", (3,)),
    "span": ("iu", ()),
    "features": ("f", ("n", "learned")),
    "model": ("U", ()),
}


@checked
def describe(
    mesh: TriMesh | str | os.PathLike[str],
    *,
    k: int = 200,
    operator: Callable[[TriMesh], Laplacian] = lbo,
    model: str | os.PathLike[str] = "box",
    cache: str | os.PathLike[str] | None = None,
    device: str = "cpu",
) -> DescribedSurface:
    """Compute what [`match`][finsler.match] needs to know of one surface, to match it many times.

    The mesh is repaired, its holes are filled, and it is divided by √area; basis and descriptors
    are computed on the result.

    Parameters
    ----------
    mesh : TriMesh or path
    k : int
        Functions in the basis; at most a third of the vertices is used.
    operator : callable
        Gives the Laplacian of a mesh whose eigenfunctions are the basis.
    model : str or path
        "box" for the model that comes with the package, "none", or the .npz file of another one
        that `make model` has built.
    cache : path, optional
        Folder in which descriptions are kept, each under a key of the mesh, k and the operator.
        One that is there is read instead of computed; a damaged one is computed again.
    device : str
        "cpu", or "cuda" to compute the basis, histograms and features there, equal up to rounding.

    Raises
    ------
    InputError
        A mesh without area or with too few vertices, k below 10, or no such device.

    Examples
    --------
    >>> from finsler import match, primitives
    >>> surface = describe(primitives.bumpy_sphere(8), k=60)
    >>> match(surface, surface).functional.shape
    (60, 60)
    """
    given = mesh if isinstance(mesh, TriMesh) else load_mesh(mesh)
    unit = UnitSurface.of(given, fill=True)
    models, place = feature_models(model), describing_on(device)
    return described(unit, k=k, operator=operator, model=models, cache=cache, place=place)


def described(
    unit: UnitSurface,
    *,
    k: int,
    operator: Callable[[TriMesh], Laplacian],
    model: FeatureModels | None,
    cache: str | os.PathLike[str] | None,
    place: Describing,
) -> DescribedSurface:
    """The description of a surface in its unit, read from the cache where it is there."""
    size = basis_size(k, unit.mesh)
    laplacian = operator(unit.mesh)
    if cache is None:
        return describe_unit(unit, laplacian, size, model, place)
    mesh, stiffness = unit.mesh, laplacian.stiffness
    version = "none" if model is None else model.key
    areas = [unit.area, unit.unit_area]
    about = {"described": _VERSION, "k": size, "areas": areas, "model": version}
    operands = (stiffness.data, stiffness.indices, laplacian.mass)
    key = content_key(about, (mesh.vertices, mesh.faces, unit.vertex_map, *operands))
    path = make_folder(cache) / f"{key}.npz"
    arrays, _ = ensure_result(
        path,
        key,
        about,
        (*_SCHEMA,),
        lambda: (_arrays(describe_unit(unit, laplacian, size, model, place)), []),
    )
    try:
        return _surface(arrays)
    except InputError:
        # Written under this key by someone else, or damaged with a valid archive around it.
        surface = describe_unit(unit, laplacian, size, model, place)
        write_npz(path, _arrays(surface), {**about, "key": key, "warnings": []})
        return surface


@checked
def write_described(path: str | os.PathLike[str], surface: DescribedSurface) -> None:
    """Write a described surface as an .npz file, which `read_described` and `match` read.

    Raises
    ------
    InputError
        The ending is another one: it tells a description from a mesh.
    """
    if location(path).suffix.lower() != ".npz":
        raise InputError(f"{path}: a described surface is written as .npz; rename the file")
    write_npz(path, _arrays(surface), {"described": _VERSION})


@checked
def read_described(path: str | os.PathLike[str]) -> DescribedSurface:
    """Read a described surface.

    Raises
    ------
    InputError
        The file is missing or damaged, or its arrays do not fit together.
    """
    try:
        return _surface(read_npz(path, (*_SCHEMA,)))
    except InputError as error:
        sentence = str(error).removeprefix(f"{path}: ")
        raise InputError(f"{path}: no described surface can be read: {sentence}") from error


def _arrays(surface: DescribedSurface) -> dict[str, Any]:
    """What is written of a described surface."""
    unit, pairs, histograms = surface.unit, surface.spectrum, surface.histograms
    return {
        "vertices": unit.mesh.vertices,
        "faces": unit.mesh.faces,
        "areas": np.array([unit.area, unit.unit_area]),
        "vertex_map": unit.vertex_map,
        "vertex_source": unit.vertex_source,
        "eigenvalues": pairs.eigenvalues,
        "eigenvectors": pairs.eigenvectors,
        "residuals": pairs.residuals,
        "iterative": np.array(pairs.solver == "iterative"),
        "mass": surface.mass,
        "radius": np.array(histograms.radius),
        "middle": histograms.middle,
        "axes": histograms.axes,
        "scores": histograms.scores,
        "histograms": histograms.coefficients,
        "signatures": surface.signatures.coefficients,
        "squares": np.array([*histograms.squares, surface.signatures.square]),
        "span": np.array(surface.signatures.span),
        "features": surface.features,
        "model": np.array(surface.model),
    }


def _surface(arrays: Mapping[str, Any]) -> DescribedSurface:
    """A described surface from arrays that were read, checked."""
    sizes = require_arrays(arrays, _SCHEMA)
    for name, (kind, _) in _SCHEMA.items():
        if kind == "f" and not np.isfinite(arrays[name]).all():
            raise InputError(f"{name} holds values that are not finite")
    for name, limit in (("vertex_map", "n"), ("vertex_source", "given")):
        if ((arrays[name] < 0) | (arrays[name] >= sizes[limit])).any():
            raise InputError(f"{name} names a vertex outside 0..{sizes[limit] - 1}")
    for name in ("areas", "mass", "radius"):
        if not (arrays[name] > 0.0).all():
            raise InputError(f"{name} must be above 0")
    area, unit_area = arrays["areas"].tolist()
    maps = (arrays[name].astype(np.int64) for name in ("vertex_map", "vertex_source"))
    mesh = TriMesh(arrays["vertices"], arrays["faces"])
    names = ("eigenvalues", "eigenvectors", "mass", "residuals")
    pairs = Spectrum(*(arrays[name] for name in names))
    return DescribedSurface(
        unit=UnitSurface(mesh, area, unit_area, *maps),
        spectrum=replace(pairs, solver="iterative" if arrays["iterative"] else "direct"),
        histograms=Histograms(
            float(arrays["radius"]),
            arrays["middle"],
            arrays["axes"],
            arrays["scores"],
            arrays["histograms"],
            arrays["squares"][:2],
        ),
        signatures=Signatures(
            arrays["signatures"], float(arrays["squares"][2]), int(arrays["span"])
        ),
        features=arrays["features"].astype(np.float32),
        model=str(arrays["model"]),
    )
