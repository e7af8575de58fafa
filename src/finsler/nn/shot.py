"""SHOT for many shapes at once, on the CPU or an accelerator; defined as in descriptors/shot.py."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from finsler.descriptors.shot import (
    CLOSE,
    MEDIAN_POINTS,
    ROUNDING,
    SWEEPS,
    bin_rings,
    require_neighbors,
)
from finsler.errors import InputError

# What counts as zero, as a share: single precision carries fewer digits.
_CLOSE = {torch.float64: CLOSE, torch.float32: 4e-6}
# Distances held at once for each pair that is worked on: few of them are within the radius.
_DISTANCES = 16


def shot_torch(
    vertices: Tensor,
    faces: Tensor,
    radius: float | Sequence[float],
    *,
    bins: int = 10,
    sizes: Sequence[int] | None = None,
    min_neighbors: int = 5,
    as_released: bool = False,
    chunk: int = 2**22,
) -> Tensor:
    """[`finsler.shot`][finsler.shot] of one shape or of several side by side.

    In float64 it agrees with the compiled function to 1e-8. In float32 a neighbour nearer to the
    border of a bin than rounding can change bins; covariances are summed in float64 all the same.

    Parameters
    ----------
    vertices : (n, 3), float32 or float64
        Of all shapes, one after the other.
    faces : (m, 3), integer
        Numbered through all shapes, so that face corners lie in 0..n − 1.
    radius : float, or one for each shape
        In the unit of the vertices.
    bins, min_neighbors, as_released
        As in `finsler.shot`, but for the sign of an axis at a tie in `as_released`.
    sizes : number of vertices of each shape; by default all are one shape
    chunk : int
        Pairs of neighbours worked on at once (a single vertex may exceed it), in at most about
        1000 · chunk bytes; a larger one keeps an accelerator busier.

    Returns
    -------
    (n, 32 (bins + 1)), of the dtype and on the device of the vertices.

    Raises
    ------
    InputError
        Wrong shapes, dtypes or indices, sizes that do not sum to n, or a number out of range.

    Examples
    --------
    >>> from finsler import primitives
    >>> mesh = primitives.sphere(4)
    >>> vertices, faces = torch.tensor(mesh.vertices), torch.tensor(mesh.faces)
    >>> both = torch.cat([vertices, vertices]), torch.cat([faces, faces + 162])
    >>> shot_torch(*both, radius=0.5, sizes=[162, 162]).shape
    torch.Size([324, 352])
    """
    sizes = [len(vertices)] if sizes is None else list(sizes)
    radii = list(radius) if isinstance(radius, Sequence) else [float(radius)] * len(sizes)
    _check(vertices, faces, radii, sizes, bins, min_neighbors, chunk)
    normals = _vertex_normals(vertices, faces.long(), weighted=not as_released)
    counts = torch.tensor(sizes, device=vertices.device)
    reach = vertices.new_tensor(radii).repeat_interleave(counts)
    out = vertices.new_empty(len(vertices), 32 * (bins + 1))
    for block in _neighbor_blocks(vertices, normals, reach, sizes, chunk):
        histograms, neighbors = _describe(block, vertices, normals, reach, bins, as_released)
        out[block.vertices] = histograms * (neighbors >= min_neighbors)[:, None]
    return torch.nn.functional.normalize(out, dim=1, eps=torch.finfo(out.dtype).tiny)


class _Block(NamedTuple):
    """Consecutive vertices and their pairs of neighbours (i, j), sorted by i."""

    vertices: slice
    i: Tensor
    j: Tensor


def _describe(
    block: _Block, vertices: Tensor, normals: Tensor, reach: Tensor, bins: int, as_released: bool
) -> tuple[Tensor, Tensor]:
    """Histograms (v, 32 (bins + 1)) of the vertices of a block, and how many neighbours voted."""
    around, i, j = block
    rows, n = i - around.start, around.stop - around.start
    delta = vertices[j] - vertices[i]
    axes = _frames(delta, rows, normals[around], reach[around], squared=as_released)
    axes, rings = axes.to(vertices.dtype)[rows], bin_rings(bins, as_released=as_released)
    bin_index, weight = _votes(delta, normals[j], axes, reach[i], bins, rings)
    values = 32 * (bins + 1)
    histograms = vertices.new_zeros(n * values)
    histograms.index_add_(0, rows.repeat(5) * values + bin_index, weight)
    return histograms.view(n, values), torch.bincount(rows, minlength=n)


def _neighbor_blocks(
    vertices: Tensor, normals: Tensor, reach: Tensor, sizes: Sequence[int], chunk: int
) -> Iterator[_Block]:
    """Blocks of vertices, one after the other, with at most `chunk` pairs where possible."""
    most = max(_DISTANCES * chunk // max(sizes), 1)
    for begin in range(0, len(vertices), most):
        end = min(begin + most, len(vertices))
        i, j = _pairs(vertices, normals, reach, sizes, begin, end)
        ends = torch.bincount(i - begin, minlength=end - begin).cumsum(0).tolist()
        first, done = begin, 0
        while first < end:
            last = max(begin + bisect_right(ends, done + chunk), first + 1)
            stop = ends[last - 1 - begin]
            yield _Block(slice(first, last), i[done:stop], j[done:stop])
            first, done = last, stop


def _pairs(
    vertices: Tensor, normals: Tensor, reach: Tensor, sizes: Sequence[int], begin: int, end: int
) -> tuple[Tensor, Tensor]:
    """Pairs (i, j) of vertices of one shape within the radius, begin <= i < end."""
    close = _CLOSE[vertices.dtype]
    present = normals.any(dim=1)
    pairs, offset = [], 0
    for size in sizes:
        rows = slice(max(begin, offset), min(end, offset + size))
        whole = slice(offset, offset + size)
        offset += size
        if rows.start >= rows.stop:
            continue
        limit = reach[rows, None] ** 2
        squared = _squared_distances(vertices[rows], vertices[whole])
        near = (squared > close**2 * limit) & (squared <= (1.0 + close) ** 2 * limit)
        near &= present[rows, None] & present[None, whole]
        i, j = near.nonzero(as_tuple=True)
        pairs.append((i + rows.start, j + whole.start))
    first, second = zip(*pairs, strict=True)
    return torch.cat(first), torch.cat(second)


def _squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """|a_i − b_j|² (p, q): `torch.cdist` either loses half the digits or is slow for points."""
    squared = (a[:, None, 0] - b[None, :, 0]).square_()
    for d in (1, 2):
        squared += (a[:, None, d] - b[None, :, d]).square_()
    return squared


def _frames(
    delta: Tensor, rows: Tensor, normals: Tensor, reach: Tensor, *, squared: bool
) -> Tensor:
    """Rows x, y, z of the frame of each vertex, (v, 3, 3) in float64; `rows` (p,) is sorted."""
    close = _CLOSE[delta.dtype]
    delta, normals, reach = delta.double(), normals.double(), reach.double()
    distance = delta.norm(dim=1)
    weight = reach[rows] - (distance**2 if squared else torch.minimum(distance, reach[rows]))
    p, q = torch.tensor([[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]], device=delta.device)
    entries = delta.new_zeros(len(normals), 6)
    entries.index_add_(0, rows, weight[:, None] * delta[:, p] * delta[:, q])
    if squared:  # These weights can be negative; they are taken relative to their sum.
        total = torch.zeros_like(reach).index_add_(0, rows, weight)
        entries = torch.where((total < 0.0)[:, None], -entries, entries)
    x, z = _extreme_axes(entries)

    tolerance = close * reach
    largest = x.abs().argmax(dim=1, keepdim=True)
    x = _pointed(x, x.gather(1, largest)[:, 0], delta, distance, rows, tolerance)
    z = _pointed(z, (z * normals).sum(1), delta, distance, rows, tolerance)
    return torch.stack([x, torch.linalg.cross(z, x), z], dim=1)


def _extreme_axes(entries: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvectors (v, 3) of the largest and smallest eigenvalue of (xx, xy, xz, yy, yz, zz).

    Jacobi rotations, as in the compiled function: batched eigensolvers are slow for such small
    matrices, and choose other axes where eigenvalues are equal.
    """
    xx, xy, xz, yy, yz, zz = entries.unbind(1)
    a = {(0, 0): xx, (0, 1): xy, (0, 2): xz, (1, 1): yy, (1, 2): yz, (2, 2): zz}
    columns = list(torch.eye(3, dtype=xx.dtype, device=xx.device).expand(len(xx), 3, 3).unbind(2))
    zero = ROUNDING * (xx.abs() + yy.abs() + zz.abs())
    for _ in range(SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            r = 3 - p - q
            rp, rq = (min(r, p), max(r, p)), (min(r, q), max(r, q))
            off = a[p, q]
            turn = off.abs() > zero
            theta = (a[q, q] - a[p, p]) / (2.0 * torch.where(turn, off, 1.0))
            t = 1.0 / (theta.abs() + (theta * theta + 1.0).sqrt())
            t = torch.where(turn, torch.where(theta < 0.0, -t, t), 0.0)
            c = (t * t + 1.0).rsqrt()
            s = t * c
            a[p, p], a[q, q] = a[p, p] - t * off, a[q, q] + t * off
            a[p, q] = torch.where(turn, 0.0, off)
            a[rp], a[rq] = c * a[rp] - s * a[rq], s * a[rp] + c * a[rq]
            vp, vq = columns[p], columns[q]
            columns[p] = c[:, None] * vp - s[:, None] * vq
            columns[q] = s[:, None] * vp + c[:, None] * vq
    high = low = torch.zeros(len(zero), dtype=torch.long, device=zero.device)
    most = least = a[0, 0]
    for d in (1, 2):
        value = a[d, d]
        larger, smaller = value > most + zero, value <= least + zero
        high, most = torch.where(larger, d, high), torch.where(larger, value, most)
        low, least = torch.where(smaller, d, low), torch.where(smaller, value, least)
    vectors = torch.stack(columns, dim=1)
    every = torch.arange(len(zero), device=zero.device)
    return vectors[every, high], vectors[every, low]


def _pointed(
    axis: Tensor, otherwise: Tensor, delta: Tensor, distance: Tensor, rows: Tensor, close: Tensor
) -> Tensor:
    """Axes (v, 3), turned to the side of most neighbours, else of those around the median distance.

    Where neither decides, `otherwise` (v,) is to be positive.
    """
    along = (delta * axis[rows]).sum(1)
    sign = torch.where(along.abs() > close[rows], along.sign(), 0.0)
    votes = torch.zeros_like(otherwise).index_add_(0, rows, sign)
    undecided = (votes == 0.0)[rows].nonzero()[:, 0]
    if len(undecided):
        rows, distance, sign = rows[undecided], distance[undecided], sign[undecided]
        near, far = _median_range(distance, rows, len(votes))
        inside = (distance >= (near - close)[rows]) & (distance <= (far + close)[rows])
        votes.index_add_(0, rows, sign * inside)
    side = torch.where(votes == 0.0, otherwise, votes)
    return torch.where((side < 0.0)[:, None], -axis, axis)


def _median_range(distance: Tensor, rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Distances (n,) of the outer ones of the five neighbours around the median distance."""
    ordered, order = distance.sort()
    ordered = ordered[rows[order].argsort(stable=True)]
    count = torch.bincount(rows, minlength=n)
    start = count.cumsum(0) - count
    half = MEDIAN_POINTS // 2
    near = start + (count // 2 - half).clamp(min=0)
    far = start + torch.minimum(count // 2 + half, (count - 1).clamp(min=0))
    last = len(ordered) - 1
    return ordered[near.clamp(max=last)], ordered[far.clamp(max=last)]


def _votes(
    delta: Tensor, normals: Tensor, axes: Tensor, reach: Tensor, bins: int, rings: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Bins (5p,) and weights (5p,) of the votes of p neighbours: their own bin, then the next ones.

    Bins are numbered from 0 for each vertex; a neighbour without a next bin votes with weight 0.
    """
    close = _CLOSE[delta.dtype]
    # Not a batched product of matrices, which is slow for such small ones.
    x, y, z = (axes * (delta / reach[:, None])[:, None]).sum(2).unbind(1)
    distance = delta.norm(dim=1) / reach
    cosine = (axes[:, 2] * normals).sum(1).clamp(-1.0, 1.0)
    y = torch.where(y.abs() <= close, 0.0, y)
    z = torch.where(z.abs() <= close, 0.0, z)

    turned = (x.abs() > close) | (y != 0.0)
    u = (torch.atan2(y, x) + math.pi) * (4.0 / math.pi)
    sector = torch.where(turned, (u - close).ceil() - 1.0, 0.0)
    aside = u - sector - 0.5
    outer = (distance > 0.5 + close).to(u.dtype)
    beyond = 2.0 * distance - outer - 0.5
    upper = (z > 0.0).to(u.dtype)
    flat = 0.5 - (z.abs() / distance).clamp(max=1.0).asin() * (2.0 / math.pi)
    height = (1.0 + cosine) * (bins / 2.0)
    level = (height + 0.5 + close).floor()
    above = height - level
    own = 3.0 - above.abs() - beyond.abs() - flat.abs() + turned * (1.0 - aside.abs())

    sector, outer, upper, level = (t.long() for t in (sector, outer, upper, level))
    step = torch.where(aside > 0.0, 1, rings[0] - 1)
    next_level = torch.where(above > 0.0, (level + 1) % rings[1], (level - 1).clamp(min=0))

    def number(sector: Tensor, outer: Tensor, upper: Tensor, level: Tensor) -> Tensor:
        return ((sector * 2 + outer) * 2 + upper) * (bins + 1) + level

    bin_index = [
        number(sector, outer, upper, level),
        number(sector, outer, upper, next_level),
        number(sector, 1 - outer, upper, level),
        number(sector, outer, 1 - upper, level),
        number((sector + step) % rings[0], outer, upper, level),
    ]
    inward = torch.where(outer == 0, beyond, -beyond).clamp(min=0.0)
    weight = [own, above.abs(), inward, flat.clamp(min=0.0), turned * aside.abs()]
    return torch.cat(bin_index), torch.cat(weight)


def _vertex_normals(vertices: Tensor, faces: Tensor, *, weighted: bool) -> Tensor:
    """Unit normals (n, 3), means over faces by area or plain; zero where there is none."""
    a, b, c = vertices[faces].unbind(1)
    normal = torch.linalg.cross(b - a, c - a)
    tiny = torch.finfo(normal.dtype).tiny
    if not weighted:
        normal = torch.nn.functional.normalize(normal, dim=1, eps=tiny)
    total = torch.zeros_like(vertices).index_add_(0, faces.T.reshape(-1), normal.repeat(3, 1))
    return torch.nn.functional.normalize(total, dim=1, eps=tiny)


def _check(
    vertices: Tensor,
    faces: Tensor,
    radii: Sequence[float],
    sizes: Sequence[int],
    bins: int,
    min_neighbors: int,
    chunk: int,
) -> None:
    if vertices.ndim != 2 or vertices.shape[1] != 3 or vertices.dtype not in _CLOSE:
        raise InputError(
            f"vertices must be (n, 3) in float32 or float64, not {tuple(vertices.shape)} in"
            f" {vertices.dtype}"
        )
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.is_floating_point():
        raise InputError(
            f"faces must be (m, 3) whole numbers, not {tuple(faces.shape)} in {faces.dtype}"
        )
    if len(faces) and (int(faces.min()) < 0 or int(faces.max()) >= len(vertices)):
        raise InputError(
            f"face corners must lie in 0..{len(vertices) - 1}; in a batch, are they numbered"
            " through all shapes?"
        )
    if not sizes or min(sizes) < 1 or sum(sizes) != len(vertices):
        raise InputError(
            f"sizes sum to {sum(sizes)}, not to {len(vertices)}, the number of vertices"
        )
    if len(radii) != len(sizes) or not all(0.0 < r < math.inf for r in radii):
        raise InputError(
            f"radius is {radii}; it must be one positive number, or one for each of the"
            f" {len(sizes)} shapes"
        )
    if bins < 1 or chunk < 1:
        raise InputError(f"bins is {bins} and chunk {chunk}; both must be at least 1")
    require_neighbors(min_neighbors)
