"""Sums over supports, split by frequency and ring: what every field convolution begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.nn.sparse import sorted_coo


@one_line("rings", "matrices")
@dataclass(frozen=True, eq=False)
class Spread:
    """y[i, m, k] = Σ_j entry[ij, m] h_k(r_ij) x[j, m], h_k the hat function of radius k.

    In single precision on CUDA devices one kernel works on all frequencies and rings; elsewhere
    there is one sparse matrix for each frequency, from n values to n × rings, with its adjoint.

    Attributes
    ----------
    rings : int
    matrices, adjoints : tuple of sparse tensors
        Empty where the kernel is used.
    pattern, back : tuple of tensors, or None
        Pointers (n + 1,), indices (p,), entries (p, m) and hats (p, k), by rows and by columns.
    """

    rings: int
    matrices: tuple[Tensor, ...]
    adjoints: tuple[Tensor, ...]
    pattern: tuple[Tensor, ...] | None
    back: tuple[Tensor, ...] | None

    @classmethod
    def of(
        cls, rows: Tensor, columns: Tensor, n: int, entries: list[Tensor], r: Tensor, rings: int
    ) -> Spread:
        """Of pairs sorted by row, then by column, with entries (p,) for each frequency."""
        ring, share = _hats(r, rings)
        if r.is_cuda and r.dtype == torch.float32:
            hats = r.new_zeros(len(r), rings).scatter_add_(1, ring.T, share.T)
            values = torch.stack(entries, dim=1)
            back = (columns * n + rows).argsort()
            return cls(
                rings,
                (),
                (),
                (_pointers(rows, n), columns.int(), values, hats),
                (
                    _pointers(columns[back], n),
                    rows[back].int(),
                    values[back].conj().resolve_conj(),
                    hats[back].contiguous(),
                ),
            )
        wide = (rows * rings + ring).flatten()
        narrow = columns.repeat(len(ring))
        order = (wide * n + narrow).argsort()
        wide, narrow, hat = wide[order], narrow[order], share.flatten()[order]
        pair = order % len(rows)
        back = (narrow * (n * rings) + wide).argsort()
        indices, turned = torch.stack([wide, narrow]), torch.stack([narrow[back], wide[back]])
        matrices, adjoints = [], []
        for entry in entries:
            value = entry[pair] * hat
            matrices.append(sorted_coo(indices, value, (n * rings, n)))
            adjoints.append(sorted_coo(turned, value[back].conj().resolve_conj(), (n, n * rings)))
        return cls(rings, tuple(matrices), tuple(adjoints), None, None)

    def __call__(self, x: Tensor) -> Tensor:
        """Sums of x (n, m, c) as (n, m · k · c), frequencies outermost."""
        return cast(Tensor, cast(Any, _Spread).apply(x, self)).flatten(1)


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, spread: Spread) -> Tensor:
        ctx.spread = spread
        if spread.pattern is not None:
            from finsler.baselines.field_conv import _triton

            indptr, indices, entries, hats = spread.pattern
            return _triton.spread(indptr, indices, entries, hats, x)
        n, _, channels = x.shape
        products = [torch.sparse.mm(matrix, x[:, m]) for m, matrix in enumerate(spread.matrices)]
        return torch.stack(products, dim=1).view(n, spread.rings, -1, channels).transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        spread = ctx.spread
        if spread.back is not None:
            from finsler.baselines.field_conv import _triton

            indptr, indices, entries, hats = spread.back
            return _triton.collect(indptr, indices, entries, hats, slope), None
        n, _, _, channels = slope.shape
        products = [
            torch.sparse.mm(adjoint, slope[:, m].reshape(n * spread.rings, channels))
            for m, adjoint in enumerate(spread.adjoints)
        ]
        return torch.stack(products, dim=1), None


def ring_radii(rings: int) -> Tensor:
    """Radii (rings,) between 0 and 1 that bound rings of equal area; a single one stands for all.

    >>> ring_radii(3)
    tensor([0.0000, 0.7071, 1.0000], dtype=torch.float64)
    """
    if rings < 1:
        raise InputError(f"rings is {rings}; at least 1 is needed")
    return torch.linspace(0.0, 1.0, rings, dtype=torch.float64).sqrt()


def _hats(r: Tensor, rings: int) -> tuple[Tensor, Tensor]:
    """The rings next to each distance and their shares, (2, p) each; (1, p) for a single ring."""
    radii = ring_radii(rings).to(r)
    if rings == 1:
        return torch.zeros_like(r, dtype=torch.long)[None], torch.ones_like(r)[None]
    inner = (torch.searchsorted(radii, r, right=True) - 1).clamp(0, rings - 2)
    share = (r - radii[inner]) / (radii[inner + 1] - radii[inner])
    return torch.stack([inner, inner + 1]), torch.stack([1.0 - share, share])


def _pointers(sorted_rows: Tensor, n: int) -> Tensor:
    """Where each of n rows begins, (n + 1,)."""
    counts = torch.bincount(sorted_rows, minlength=n)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)]).int()
