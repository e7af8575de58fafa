# mypy: disable-error-code="import-not-found,untyped-decorator,no-untyped-def"
"""Triton kernels for sums over supports: a program works on one vertex and one frequency."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

# Neighbours read at once.
_AHEAD = tl.constexpr(4)


@triton.jit
def _neighbours(
    indices,
    entries,
    hats,
    begin,
    end,
    term,
    terms,
    rings,
    rings_wide: tl.constexpr,
):
    """Columns, complex entries and hats of the next neighbours, and which of them there are."""
    pair = begin + tl.arange(0, _AHEAD)
    here = pair < end
    pair = pair.to(tl.int64)
    ring = tl.arange(0, rings_wide)
    column = tl.load(indices + pair, mask=here, other=0).to(tl.int64)
    at = entries + (pair * terms + term) * 2
    a = tl.load(at, mask=here, other=0.0)[:, None]
    b = tl.load(at + 1, mask=here, other=0.0)[:, None]
    present = here[:, None] & (ring < rings)[None, :]
    hat = tl.load(hats + pair[:, None] * rings + ring[None, :], mask=present, other=0.0)
    return column, a, b, hat, here, present


@triton.jit
def _forward(
    indptr,
    indices,
    entries,
    hats,
    x,
    out,
    channels,
    terms: tl.constexpr,
    rings: tl.constexpr,
    rings_wide: tl.constexpr,
    width: tl.constexpr,
):
    """out[i, m, k] = Σ_j entry[ij, m] hat[ij, k] x[j, m]; complex numbers are pairs of floats."""
    row = tl.program_id(0)
    term = tl.program_id(1)
    channel = tl.arange(0, width)
    ring = tl.arange(0, rings_wide)
    inside = channel < channels
    real = tl.zeros((rings_wide, width), tl.float32)
    imaginary = tl.zeros((rings_wide, width), tl.float32)
    end = tl.load(indptr + row + 1)
    for begin in range(tl.load(indptr + row), end, _AHEAD):
        column, a, b, hat, here, _ = _neighbours(
            indices, entries, hats, begin, end, term, terms, rings, rings_wide
        )
        at = x + ((column * terms + term)[:, None] * channels + channel[None, :]) * 2
        mask = here[:, None] & inside[None, :]
        u, v = tl.load(at, mask=mask, other=0.0), tl.load(at + 1, mask=mask, other=0.0)
        real += tl.sum(hat[:, :, None] * (a * u - b * v)[:, None, :], axis=0)
        imaginary += tl.sum(hat[:, :, None] * (a * v + b * u)[:, None, :], axis=0)
    first = ((row.to(tl.int64) * terms + term) * rings + ring)[:, None] * channels
    at = out + (first + channel[None, :]) * 2
    mask = (ring < rings)[:, None] & inside[None, :]
    tl.store(at, real, mask=mask)
    tl.store(at + 1, imaginary, mask=mask)


@triton.jit
def _backward(
    indptr,
    indices,
    entries,
    hats,
    slope,
    out,
    channels,
    terms: tl.constexpr,
    rings: tl.constexpr,
    rings_wide: tl.constexpr,
    width: tl.constexpr,
):
    """out[j, m] = Σ_i Σ_k entry[ji, m] hat[ji, k] slope[i, m, k]."""
    row = tl.program_id(0)
    term = tl.program_id(1)
    channel = tl.arange(0, width)
    ring = tl.arange(0, rings_wide)
    inside = channel < channels
    real = tl.zeros((width,), tl.float32)
    imaginary = tl.zeros((width,), tl.float32)
    end = tl.load(indptr + row + 1)
    for begin in range(tl.load(indptr + row), end, _AHEAD):
        column, a, b, hat, _, present = _neighbours(
            indices, entries, hats, begin, end, term, terms, rings, rings_wide
        )
        first = ((column * terms + term)[:, None] * rings + ring[None, :])[:, :, None] * channels
        at = slope + (first + channel[None, None, :]) * 2
        mask = present[:, :, None] & inside[None, None, :]
        u = tl.sum(hat[:, :, None] * tl.load(at, mask=mask, other=0.0), axis=1)
        v = tl.sum(hat[:, :, None] * tl.load(at + 1, mask=mask, other=0.0), axis=1)
        real += tl.sum(a * u - b * v, axis=0)
        imaginary += tl.sum(a * v + b * u, axis=0)
    at = out + ((row.to(tl.int64) * terms + term) * channels + channel) * 2
    tl.store(at, real, mask=inside)
    tl.store(at + 1, imaginary, mask=inside)


def _launch(
    kernel, indptr: Tensor, indices: Tensor, entries: Tensor, hats: Tensor, x: Tensor, out: Tensor
) -> None:
    terms, rings, channels = entries.shape[1], hats.shape[1], x.shape[-1]
    kernel[(len(indptr) - 1, terms)](
        indptr,
        indices,
        torch.view_as_real(entries),
        hats,
        torch.view_as_real(x),
        torch.view_as_real(out),
        channels,
        terms=terms,
        rings=rings,
        rings_wide=triton.next_power_of_2(rings),
        width=triton.next_power_of_2(channels),
        num_warps=1,
    )


def spread(indptr: Tensor, indices: Tensor, entries: Tensor, hats: Tensor, x: Tensor) -> Tensor:
    """Sums (n, m, k, c) of x (n, m, c), complex64, over the rows of a pattern."""
    out = x.new_empty((len(x), entries.shape[1], hats.shape[1], x.shape[2]))
    _launch(_forward, indptr, indices, entries, hats, x.contiguous(), out)
    return out


def collect(
    indptr: Tensor, indices: Tensor, entries: Tensor, hats: Tensor, slope: Tensor
) -> Tensor:
    """Sums (n, m, c) over rows and rings of slope (n, m, k, c), complex64."""
    out = slope.new_empty((len(slope), slope.shape[1], slope.shape[3]))
    _launch(_backward, indptr, indices, entries, hats, slope.contiguous(), out)
    return out
