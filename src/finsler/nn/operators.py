"""Rescaled operators of one or several shapes as tensors, all angles on one pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from finsler.data.store import PreparedShape
from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.operator.rescale import ChebyshevOperators


@one_line("values", "sizes")
@dataclass(frozen=True, eq=False)
class OperatorStack:
    """Operators L̂_θ, rescaled for Chebyshev polynomials; several shapes side by side.

    The values need not be symmetric in any sense: gradients go through the transposed values.

    Attributes
    ----------
    indptr, indices : (n + 1,), (nnz,) int32
        The pattern of compressed rows, the same for all angles; symmetric.
    values : (a, nnz)
        May require gradients, e.g. come from a metric that is learned.
    transpose : (nnz,) int64
        Where the entry (j, i) is for each entry (i, j).
    sizes : tuple of int
        Number of vertices of each shape.
    """

    indptr: Tensor
    indices: Tensor
    values: Tensor
    transpose: Tensor
    sizes: tuple[int, ...]

    @classmethod
    def of(
        cls, shape: PreparedShape | ChebyshevOperators, *, dtype: torch.dtype = torch.float32
    ) -> OperatorStack:
        """Of a prepared shape, or of `chebyshev_operators(angle_stack(mesh))`.

        Examples
        --------
        >>> from finsler import angle_stack, chebyshev_operators, primitives
        >>> mesh = primitives.torus(12, 8)
        >>> stack = OperatorStack.of(chebyshev_operators(angle_stack(mesh, angles=4)))
        >>> stack.n, stack.angles
        (96, 4)
        """
        values = torch.as_tensor(shape.values, dtype=dtype)
        return cls.from_pattern(shape.indptr, shape.indices, values)

    @classmethod
    def from_pattern(cls, indptr: np.ndarray, indices: np.ndarray, values: Tensor) -> OperatorStack:
        """Of one shape: compressed rows with sorted columns, and values (a, nnz)."""
        n = len(indptr) - 1
        if values.ndim != 2 or values.shape[1] != len(indices):
            raise InputError(
                f"values must be (angles, {len(indices)}) for this pattern,"
                f" not {tuple(values.shape)}"
            )
        rows = np.repeat(np.arange(n), np.diff(indptr))
        transpose = np.argsort(indices, kind="stable")
        same = np.array_equal(indices[transpose], rows)
        if not (same and np.array_equal(rows[transpose], indices)):
            raise InputError("the pattern of the operators is not symmetric, or not sorted by rows")
        return cls(
            torch.as_tensor(np.asarray(indptr, dtype=np.int32)),
            torch.as_tensor(np.asarray(indices, dtype=np.int32)),
            values,
            torch.as_tensor(transpose).to(values.device),
            (n,),
        ).to(values.device)

    @classmethod
    def batch(cls, stacks: Sequence[OperatorStack]) -> OperatorStack:
        """Several shapes side by side; they do not see each other."""
        if len(stacks) == 1:
            return stacks[0]
        if len({stack.angles for stack in stacks}) != 1:
            raise InputError("shapes of one batch must have operators for the same angles")
        firsts = [0, *accumulate(stack.n for stack in stacks)]
        starts = [0, *accumulate(len(stack.indices) for stack in stacks)]
        parts = list(zip(stacks, firsts, starts, strict=False))
        pointers = [stack.indptr[:-1] + start for stack, _, start in parts]
        last = stacks[0].indptr.new_tensor([starts[-1]])
        return cls(
            torch.cat([*pointers, last]),
            torch.cat([stack.indices + first for stack, first, _ in parts]),
            torch.cat([stack.values for stack in stacks], dim=1),
            torch.cat([stack.transpose + start for stack, _, start in parts]),
            tuple(size for stack in stacks for size in stack.sizes),
        )

    @property
    def n(self) -> int:
        """Number of vertices of all shapes together."""
        return len(self.indptr) - 1

    @property
    def angles(self) -> int:
        """Number of angles."""
        return len(self.values)

    def to(self, device: torch.device | str) -> OperatorStack:
        """The same on a device."""
        tensors = ("indptr", "indices", "values", "transpose")
        return replace(self, **{name: getattr(self, name).to(device) for name in tensors})
