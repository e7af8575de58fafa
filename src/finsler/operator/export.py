"""Operators on disk: npz, Matrix Market, MATLAB."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.operator.angles import AngleStack
from finsler.storage.files import write_bytes
from finsler.storage.npz import read_npz, write_npz
from finsler.storage.outputs import mark
from finsler.storage.record import record

_FIELDS = ("theta", "indptr", "indices", "values", "mass", "diagonal", "reference_diagonal")


@checked
def save_operators(
    path: str | os.PathLike[str], stack: AngleStack, config: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write the operators of a stack, by the ending of the name; returns the files written.

    - `.npz`: the arrays of [`AngleStack`][finsler.AngleStack] by their names; read back with
      [`load_operators`][finsler.load_operators].
    - `.mat`: `stiffness`, a cell array with one sparse matrix an angle, `mass`, a sparse diagonal
      matrix, and `theta` (MATLAB 5).
    - `.mtx`: one Matrix Market file an angle, `NAME_theta0.mtx`, …, and `NAME_mass.mtx`.

    Stiffness is positive semidefinite in all of them. Drifts are the array or cells `drift`; in
    Matrix Market files they are added to the stiffness, which then is not symmetric. `config` is
    kept with the result, together with versions and hardware.
    """
    target, settings = Path(path), dict(config or {})
    ending = target.suffix.lower()
    if ending == ".npz":
        arrays = {name: getattr(stack, name) for name in _FIELDS}
        drift = {} if stack.drift is None else {"drift": stack.drift}
        return [write_npz(target, arrays | drift, settings)]
    if ending == ".mat":
        return [write_bytes(target, _matlab(stack, settings))]
    if ending == ".mtx":
        return _matrix_market(target, stack, settings)
    raise InputError(f"{target}: the ending {ending!r} is not one of .npz, .mat, .mtx")


def operator_files(path: str | os.PathLike[str], count: int) -> list[Path]:
    """The files that `save_operators` writes for a number of angles."""
    target = Path(path)
    if target.suffix.lower() != ".mtx":
        return [target]
    names = [*(f"theta{angle}" for angle in range(count)), "mass"]
    return [target.with_name(f"{target.stem}_{name}.mtx") for name in names]


@checked
def load_operators(path: str | os.PathLike[str]) -> AngleStack:
    """Read the operators that [`save_operators`][finsler.save_operators] wrote to an npz file."""
    data = read_npz(path, _FIELDS, optional=("drift",))
    if any(array.ndim == 0 for array in data.values()):
        raise InputError(f"{path}: the arrays do not fit together; was it written by finsler?")
    stack = AngleStack(**data)
    n, nnz = len(stack.mass), len(stack.indices)
    fits = (
        stack.indptr.shape == (n + 1,)
        and stack.values.shape == (len(stack.theta), nnz)
        and (stack.drift is None or stack.drift.shape == stack.values.shape)
        and stack.diagonal.shape == (n,)
        and stack.reference_diagonal.shape == (len(stack.theta), n)
        and all(a.dtype == np.int32 for a in (stack.indptr, stack.indices, stack.diagonal))
        and bool(stack.indptr[0] == 0 and stack.indptr[-1] == nnz)
        and bool((np.diff(stack.indptr) >= 0).all())
        and bool(nnz > 0 and stack.indices.min() >= 0 and stack.indices.max() < n)
        and bool(stack.diagonal.min() >= 0 and stack.diagonal.max() < nnz)
    )
    if not fits:
        raise InputError(f"{path}: the arrays do not fit together; was it written by finsler?")
    return stack


def _matlab(stack: AngleStack, config: dict[str, Any]) -> bytes:
    cells = np.empty((1, len(stack)), dtype=object)
    for angle, laplacian in enumerate(stack):
        cells[0, angle] = sparse.csc_matrix(laplacian.stiffness)
    drifts = np.empty((1, len(stack)), dtype=object)
    for angle in range(len(stack)):
        drifts[0, angle] = sparse.csc_matrix(stack.drift_matrix(angle))
    content = {
        **({} if stack.drift is None else {"drift": drifts}),
        "stiffness": cells,
        "mass": sparse.csc_matrix(sparse.diags_array(stack.mass)),
        "theta": stack.theta,
        "config": record(config),
    }
    buffer = io.BytesIO()
    scipy_io.savemat(buffer, content, do_compression=True)
    # The first 116 bytes are free text.
    header = f"MATLAB 5.0 MAT-file {mark()}".encode().ljust(116)
    return header + buffer.getvalue()[116:]


def _matrix_market(target: Path, stack: AngleStack, config: dict[str, Any]) -> list[Path]:
    named = {
        f"theta{angle}": laplacian.stiffness + stack.drift_matrix(angle)
        if stack.drift is not None
        else laplacian.stiffness
        for angle, laplacian in enumerate(stack)
    }
    named["mass"] = sparse.diags_array(stack.mass)
    written = []
    for path, (name, matrix) in zip(operator_files(target, len(stack)), named.items(), strict=True):
        buffer = io.BytesIO()
        scipy_io.mmwrite(
            buffer,
            sparse.coo_array(matrix),
            comment=f" {record({**config, 'matrix': name})}",
            symmetry="symmetric" if stack.drift is None or name == "mass" else "general",
            precision=17,
        )
        written.append(write_bytes(path, buffer.getvalue()))
    return written
