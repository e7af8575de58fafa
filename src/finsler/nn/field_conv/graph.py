"""Supports of vertices as tensors, and the sparse products that all layers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from finsler.data.support import Support
from finsler.errors import InputError


@dataclass(frozen=True, eq=False)
class SupportGraph:
    """Supports of one or several shapes side by side, vertices numbered through.

    Attributes
    ----------
    rows, columns : (p,) int64
        Pairs (i, j), sorted by row, then by column.
    r : (p,)
        Distance as a share of the radius.
    theta, direction, phi, weight : (p,)
        As in [`Support`][finsler.data.support.Support].
    sizes : tuple of int
        Number of vertices of each shape.

    Examples
    --------
    >>> from finsler import primitives
    >>> from finsler.data.support import vertex_support
    >>> support = vertex_support(primitives.sphere(4), radius=0.5)
    >>> SupportGraph.from_supports([support, support]).sizes
    (162, 162)
    """

    rows: Tensor
    columns: Tensor
    r: Tensor
    theta: Tensor
    direction: Tensor
    phi: Tensor
    weight: Tensor
    sizes: tuple[int, ...]
    _operators: dict[tuple[str, int, int], tuple[Operator, ...]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def from_supports(
        cls, supports: Sequence[Support], *, dtype: torch.dtype = torch.float32
    ) -> SupportGraph:
        """Put supports side by side."""
        if not supports:
            raise InputError("a graph needs at least one support")
        sizes = tuple(support.n_vertices for support in supports)
        rows, columns, offset = [], [], 0
        for support, size in zip(supports, sizes, strict=True):
            degree = torch.as_tensor(support.indptr).long().diff()
            rows.append(torch.arange(offset, offset + size).repeat_interleave(degree))
            columns.append(torch.as_tensor(support.indices).long() + offset)
            offset += size

        def joined(name: str) -> Tensor:
            return torch.cat([torch.as_tensor(getattr(s, name)) for s in supports]).to(dtype)

        share = [torch.as_tensor(s.r).to(dtype) / s.radius for s in supports]
        return cls(
            rows=torch.cat(rows),
            columns=torch.cat(columns),
            r=torch.cat(share).clamp(max=1.0),
            theta=joined("theta"),
            direction=joined("direction"),
            phi=joined("phi"),
            weight=joined("weight"),
            sizes=sizes,
        )

    @property
    def n_vertices(self) -> int:
        """Number of vertices of all shapes together."""
        return sum(self.sizes)

    def to(self, device: torch.device | str) -> SupportGraph:
        """The same graph on a device."""
        return SupportGraph(
            rows=self.rows.to(device),
            columns=self.columns.to(device),
            r=self.r.to(device),
            theta=self.theta.to(device),
            direction=self.direction.to(device),
            phi=self.phi.to(device),
            weight=self.weight.to(device),
            sizes=self.sizes,
        )

    def convolutions(self, band: int, rings: int) -> tuple[Operator, ...]:
        """One product for each frequency m = -band..band, from n values to n × rings.

        Entry ((i, k), j) is w_j P_{i←j} h_k(r) exp(i m θ), h_k the hat function of radius k. At
        r = 0, where θ is undefined, only m = 0 counts.
        """

        def build() -> tuple[Operator, ...]:
            somewhere = (self.r > 0.0).to(self.r.dtype)
            return self._matrices(
                [
                    torch.polar(self.weight * (somewhere if m else 1.0), self.phi + m * self.theta)
                    for m in range(-band, band + 1)
                ],
                rings,
            )

        return self._kept(("convolutions", band, rings), build)

    def averages(self, rings: int) -> tuple[Operator, ...]:
        """Two products from n values to n × rings: means, and means along directions.

        Entries ((i, k), j) are w_j h_k(r) and w_j h_k(r) exp(i a), a the angle of log_i(j).
        """

        def build() -> tuple[Operator, ...]:
            somewhere = (self.r > 0.0).to(self.r.dtype)
            plain = torch.complex(self.weight, torch.zeros_like(self.weight))
            return self._matrices(
                [plain, torch.polar(self.weight * somewhere, self.direction)], rings
            )

        return self._kept(("averages", 0, rings), build)

    def _kept(
        self, key: tuple[str, int, int], build: Callable[[], tuple[Operator, ...]]
    ) -> tuple[Operator, ...]:
        if key not in self._operators:
            self._operators[key] = build()
        return self._operators[key]

    def _matrices(self, values: list[Tensor], rings: int) -> tuple[Operator, ...]:
        """Operators with the given values (p,), spread over rings by hat functions."""
        n = self.n_vertices
        ring, hat = _hats(self.r, rings)
        rows = (self.rows * rings + ring).flatten()
        columns = self.columns.repeat(len(ring))
        order = (rows * n + columns).argsort()
        rows, columns, hat = rows[order], columns[order], hat.flatten()[order]
        pair = order % len(self.rows)
        back = (columns * (n * rings) + rows).argsort()
        indices, adjoint = torch.stack([rows, columns]), torch.stack([columns[back], rows[back]])
        operators = []
        for value in values:
            entries = value[pair] * hat
            operators.append(
                Operator(
                    _coo(indices, entries, (n * rings, n)),
                    _coo(adjoint, entries[back].conj().resolve_conj(), (n, n * rings)),
                    rings,
                )
            )
        return tuple(operators)


@dataclass(frozen=True, eq=False)
class Operator:
    """A constant complex sparse matrix with its adjoint, which gradients go through."""

    matrix: Tensor
    adjoint: Tensor
    rings: int

    def __call__(self, x: Tensor) -> Tensor:
        """Product with x (n, c), rings side by side: (n, rings · c)."""
        product: Tensor = _Product.apply(x, self)  # type: ignore[no-untyped-call]
        return product.view(len(x), -1)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, operator: Operator) -> Tensor:
        ctx.operator = operator
        product: Tensor = torch.sparse.mm(operator.matrix, x)
        return product

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return torch.sparse.mm(ctx.operator.adjoint, gradient), None


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


def _coo(indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A matrix from entries sorted by row, then by column."""
    # Said through the context, which some releases ask for with a warning.
    with torch.sparse.check_sparse_tensor_invariants(True):  # type: ignore[no-untyped-call]
        return torch.sparse_coo_tensor(indices, values, shape, is_coalesced=True)
