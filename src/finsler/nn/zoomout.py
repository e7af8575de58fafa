"""ZoomOut on an accelerator: nearest neighbours by blocks of matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy import sparse
from torch import Tensor

from finsler.analysis.spectrum import Spectrum
from finsler.errors import InputError
from finsler.mesh.arguments import checked, checked_map, require_seed, require_whole
from finsler.mesh.summary import one_line
from finsler.typing import FloatArray, IntArray

# Of the mean of a Gram matrix's diagonal: as in `matching.functional`.
_RIDGE = 1e-9


@one_line()
@dataclass(frozen=True, eq=False)
class Zoomed:
    """A vertex map (n_1,) from surface 1 to 2, and its functional map (k, k)."""

    map_12: IntArray
    functional: FloatArray


@checked
def zoomout_torch(
    map_12: ArrayLike,
    spectrum_1: Spectrum,
    spectrum_2: Spectrum,
    *,
    start: int = 20,
    stop: int | None = None,
    step: int = 20,
    samples: int = 5000,
    seed: int = 0,
    memory: int = 2**31,
    device: torch.device | str = "cuda",
) -> Zoomed:
    """ZoomOut (Melzi et al. 2019) for an accelerator: as `matching.refine` without meshes.

    In turn, C = Φ_1⁺ Φ_2[map_12] in growing bases, and nearest neighbours of its embedding. Those
    are found by products in single precision, a block of vertices at a time, so that the map
    differs from that of `refine` only where two vertices are equally near up to rounding.

    Parameters
    ----------
    map_12 : (n_1,)
        Vertex of surface 2 for each vertex of surface 1.
    spectrum_1, spectrum_2 : Spectrum
        Bases of the same operator, with lumped mass.
    start, stop, step : int
        Sizes of the first and the last functional map, by default all functions that both bases
        have, and the growth from one to the next.
    samples, seed : int
        Vertices of each surface that take part before the last step, and seed of their draw.
    memory : int
        Bytes of products that are held at once, though at least those of one vertex.
    device : torch.device or str

    Returns
    -------
    Zoomed
        The map of all vertices, and C, (k, k), that takes coefficients on surface 2 to surface 1.

    Raises
    ------
    InputError
        A map that does not fit the bases, sizes below 1 or beyond them, or a mass that is not
        lumped.

    Examples
    --------
    >>> from finsler import lbo, primitives, spectrum
    >>> basis = spectrum(lbo(primitives.bumpy_sphere(8)), 40)
    >>> found = zoomout_torch(np.roll(np.arange(642), 1), basis, basis, device="cpu")
    >>> bool((found.map_12 == range(642)).mean() > 0.99)
    True
    """
    for name, value in {"start": start, "step": step, "samples": samples, "memory": memory}.items():
        require_whole(value, 1, 2**62, name)
    require_seed(seed)
    first = checked_map(map_12, len(spectrum_1.eigenvectors), len(spectrum_2.eigenvectors))
    sizes = _sizes(spectrum_1, spectrum_2, start, stop, step)
    place, rng = torch.device(device), np.random.default_rng(seed)
    whole_1, whole_2 = (_Rows.of(each, sizes[-1], place) for each in (spectrum_1, spectrum_2))
    functional = _pull_back(torch.as_tensor(first, device=place), whole_1, whole_2, sizes[0])
    some_1, some_2 = whole_1.sampled(samples, rng), whole_2.sampled(samples, rng)
    for size in sizes:
        images = _images(functional, some_1, some_2, memory)
        functional = _pull_back(images, some_1, some_2, size)
    images = _images(functional, whole_1, whole_2, memory)
    functional = _pull_back(images, whole_1, whole_2, sizes[-1])
    return Zoomed(images.cpu().numpy(), functional.cpu().numpy())


def _sizes(
    spectrum_1: Spectrum, spectrum_2: Spectrum, start: int, stop: int | None, step: int
) -> list[int]:
    """Sizes of the functional maps, from `start` to `stop`."""
    limit = min(len(spectrum_1.eigenvalues), len(spectrum_2.eigenvalues))
    if stop is not None:
        require_whole(stop, 1, limit, "stop")
        limit = stop
    return [*range(min(start, limit), limit, step), limit]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some vertices of a surface: basis (p, k) and weights (p,) that sum to an area."""

    basis: Tensor
    weights: FloatArray

    @classmethod
    def of(cls, spectrum: Spectrum, size: int, device: torch.device) -> _Rows:
        """All vertices, with so many functions."""
        if sparse.issparse(spectrum.mass):
            raise InputError("a basis has a sparse mass; compute it with the lumped one")
        basis = np.ascontiguousarray(spectrum.eigenvectors[:, :size], dtype=np.float64)
        return cls(torch.as_tensor(basis, device=device), np.asarray(spectrum.mass))

    def sampled(self, count: int, rng: np.random.Generator) -> _Rows:
        """At most `count` of them, drawn by weight as in `matching.points`; equal weights then."""
        n = len(self.weights)
        if n <= count:
            return self
        total = self.weights.sum()
        chosen = np.sort(rng.choice(n, count, replace=False, p=self.weights / total))
        rows = torch.as_tensor(chosen, device=self.basis.device)
        return _Rows(self.basis[rows], np.full(count, total / count))


def _pull_back(images: Tensor, rows_1: _Rows, rows_2: _Rows, size: int) -> Tensor:
    """The functional map (size, size) of a vertex map: least squares Φ_1 C ≈ Φ_2[map_12]."""
    basis = rows_1.basis[:, :size]
    weighted = basis * torch.as_tensor(rows_1.weights, device=basis.device)[:, None]
    gram = weighted.T @ basis
    gram.diagonal().add_(_RIDGE * gram.trace() / size)
    solution: Tensor = torch.linalg.solve(gram, weighted.T @ rows_2.basis[:, :size][images])
    return solution


def _images(functional: Tensor, rows_1: _Rows, rows_2: _Rows, memory: int) -> Tensor:
    """The row of surface 2 for each row of surface 1: nearest to Φ_1(x) among C Φ_2(y)."""
    size = len(functional)
    there = rows_2.basis[:, :size] @ functional.T
    return _nearest(rows_1.basis[:, :size], there, memory)


def _nearest(queries: Tensor, points: Tensor, memory: int) -> Tensor:
    """Index of the row of `points` (p, d) that is nearest to each row of `queries` (q, d).

    argmax_j ⟨q, p_j⟩ − |p_j|²/2, the latter as one more column, relative to the middle of the
    points, where single precision is finest. Double, where the products of single precision may
    be those of a tensor core.
    """
    rounded = points.is_cuda and torch.backends.cuda.matmul.fp32_precision == "tf32"
    kind = torch.float64 if rounded else torch.float32
    middle = points.mean(dim=0)
    p, q = (points - middle).to(kind), (queries - middle).to(kind)
    p = torch.hstack([p, -0.5 * p.square().sum(dim=1, keepdim=True)])
    q = torch.hstack([q, torch.ones_like(q[:, :1])])
    block = max(1, memory // (p.element_size() * len(p)))
    starts = range(0, len(q), block)
    return torch.cat([(q[i : i + block] @ p.T).argmax(dim=1) for i in starts])
