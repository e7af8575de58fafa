"""Supports of vertices as tensors, and the sparse products that all layers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import torch
from torch import Tensor

from finsler.analysis.log_maps import Support
from finsler.baselines.field_conv.spread import Spread
from finsler.data.store import PreparedShape
from finsler.errors import InputError
from finsler.mesh.summary import one_line

_NUMBERS = ("r", "theta", "direction", "phi", "weight")


@one_line("rows", "r", "sizes")
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
        As in [`Support`][finsler.analysis.log_maps.Support].
    sizes : tuple of int
        Number of vertices of each shape.

    Examples
    --------
    >>> from finsler import primitives
    >>> from finsler.analysis.log_maps import vertex_support
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
    _spreads: dict[tuple[str, int, int], Spread] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def from_supports(
        cls, supports: Sequence[Support], *, dtype: torch.dtype = torch.float32
    ) -> SupportGraph:
        """Put supports side by side."""
        if not supports:
            raise InputError("a graph needs at least one support")
        return cls.batch([cls._from_support(support, dtype) for support in supports])

    @classmethod
    def _from_support(cls, support: Support, dtype: torch.dtype) -> SupportGraph:
        numbers = {name: torch.as_tensor(getattr(support, name)).to(dtype) for name in _NUMBERS}
        numbers["r"] = (numbers["r"] / support.radius).clamp(max=1.0)
        degree = torch.as_tensor(support.indptr).long().diff()
        return cls(
            rows=torch.arange(support.n_vertices).repeat_interleave(degree),
            columns=torch.as_tensor(support.indices).long(),
            sizes=(support.n_vertices,),
            **numbers,
        )

    @classmethod
    def of(cls, shape: PreparedShape) -> SupportGraph:
        """Of a prepared shape."""
        if shape.support is None:
            raise InputError(
                f"shape {shape.name} was prepared without supports; prepare the collection again"
                " with a radius for them, e.g. finsler prepare --support 0.0425"
            )
        return cls.from_supports([shape.support])

    @classmethod
    def batch(cls, graphs: Sequence[SupportGraph]) -> SupportGraph:
        """Several shapes side by side; they do not see each other."""
        if len(graphs) == 1:
            return graphs[0]
        firsts = [0, *accumulate(graph.n_vertices for graph in graphs)]

        def joined(name: str, *, shifted: bool = False) -> Tensor:
            parts = [getattr(graph, name) for graph in graphs]
            if shifted:
                parts = [part + first for part, first in zip(parts, firsts, strict=False)]
            return torch.cat(parts)

        return cls(
            rows=joined("rows", shifted=True),
            columns=joined("columns", shifted=True),
            sizes=tuple(size for graph in graphs for size in graph.sizes),
            **{name: joined(name) for name in _NUMBERS},
        )

    @property
    def n_vertices(self) -> int:
        """Number of vertices of all shapes together."""
        return sum(self.sizes)

    def to(self, device: torch.device | str) -> SupportGraph:
        """The same graph on a device."""
        moved = {name: getattr(self, name).to(device) for name in ("rows", "columns", *_NUMBERS)}
        return SupportGraph(sizes=self.sizes, **moved)

    def convolutions(self, band: int, rings: int) -> Spread:
        """Sums over supports for each frequency m = -band..band and ring.

        The entry of frequency m is w_j P_{i←j} exp(i m θ). At r = 0, where θ is undefined, only
        m = 0 counts.
        """

        def build() -> Spread:
            somewhere = (self.r > 0.0).to(self.r.dtype)
            return self._spread(
                [
                    torch.polar(self.weight * (somewhere if m else 1.0), self.phi + m * self.theta)
                    for m in range(-band, band + 1)
                ],
                rings,
            )

        return self._kept(("convolutions", band, rings), build)

    def averages(self, rings: int) -> Spread:
        """Sums over supports of two kinds: means, and means along directions.

        Entries are w_j, and w_j exp(i a), a the angle of log_i(j).
        """

        def build() -> Spread:
            somewhere = (self.r > 0.0).to(self.r.dtype)
            plain = torch.complex(self.weight, torch.zeros_like(self.weight))
            return self._spread(
                [plain, torch.polar(self.weight * somewhere, self.direction)], rings
            )

        return self._kept(("averages", 0, rings), build)

    def _kept(self, key: tuple[str, int, int], build: Callable[[], Spread]) -> Spread:
        if key not in self._spreads:
            self._spreads[key] = build()
        return self._spreads[key]

    def _spread(self, entries: list[Tensor], rings: int) -> Spread:
        return Spread.of(self.rows, self.columns, self.n_vertices, entries, self.r, rings)
