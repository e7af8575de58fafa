"""Operators as torch tensors, for your own pipelines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.operator.laplacian import Laplacian


@one_line()
@dataclass(frozen=True, eq=False)
class TorchLaplacian:
    """A Laplacian in torch; the operator is S⁻¹W, W positive semidefinite.

    Attributes
    ----------
    stiffness : (n, n) sparse COO tensor, coalesced
    mass : (n,) tensor
    """

    stiffness: torch.Tensor
    mass: torch.Tensor

    def apply(self, functions: torch.Tensor) -> torch.Tensor:
        """S⁻¹W f of functions (n, c)."""
        product: torch.Tensor = torch.sparse.mm(self.stiffness, functions)
        return product / self.mass[:, None]


def laplacian_to_torch(
    laplacian: Laplacian,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> TorchLaplacian:
    """Stiffness and mass of a Laplacian as tensors.

    Examples
    --------
    >>> from finsler import lbo, primitives
    >>> laplacian = laplacian_to_torch(lbo(primitives.sphere(4)))
    >>> tuple(laplacian.stiffness.shape), laplacian.mass.dtype
    ((162, 162), torch.float32)
    """
    mass = torch.as_tensor(laplacian.mass, dtype=dtype, device=device)
    return TorchLaplacian(matrix_to_torch(laplacian.stiffness, dtype=dtype, device=device), mass)


def matrix_to_torch(
    matrix: sparse.csr_array,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> torch.Tensor:
    """A scipy sparse matrix, e.g. `chebyshev_operators(stack)[angle]`, as a coalesced COO tensor.

    Entries keep their order, rows first, so that values of another angle on the same pattern can be
    put into the same indices.
    """
    if not sparse.issparse(matrix):
        raise InputError(f"a scipy sparse matrix is needed, not {type(matrix).__name__}")
    csr = sparse.csr_array(matrix)
    csr.sum_duplicates()
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    indices = torch.as_tensor(np.stack([rows, csr.indices]).astype(np.int64))
    values = torch.as_tensor(csr.data, dtype=dtype)
    return sorted_coo(indices, values, csr.shape).to(device)


def sorted_coo(indices: torch.Tensor, values: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """A sparse tensor of entries (2, nnz) that are sorted by row, then by column, none twice."""
    # Said through the context, which some releases ask for with a warning.
    with torch.sparse.check_sparse_tensor_invariants(True):  # type: ignore[no-untyped-call]
        return torch.sparse_coo_tensor(indices, values, shape, is_coalesced=True)
