"""Errors in a few numbers: shares, mean, cumulative curve, and their spread over runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.typing import FloatArray

# 0, 0.001, ..., 0.25.
DEFAULT_GRID: FloatArray = np.linspace(0.0, 0.25, 251)
DEFAULT_GRID.setflags(write=False)

# The radius of `Score.within`.
RADIUS = 0.01

# The numbers of a score that have an interval.
MEASURES = ("exact", "within", "mean", "auc")


@one_line("count", "exact", "within", "mean", "auc")
@dataclass(frozen=True, eq=False)
class Score:
    """Errors of some vertices, each counted once.

    Attributes
    ----------
    count : int
        Number of vertices.
    exact : float
        Share with error 0: the predicted vertex is the true one.
    within : float
        Share with error at most 0.01.
    mean : float
        Mean error times 100; infinite where one is.
    auc : float
        Area under the cumulative curve over 0..grid[-1], divided by grid[-1].
    grid, curve : (g,)
        Radii from 0, and the share with error at most the radius.
    """

    count: int
    exact: float
    within: float
    mean: float
    auc: float
    grid: FloatArray
    curve: FloatArray


@dataclass(frozen=True)
class Interval:
    """A mean over independent runs with its confidence interval, mean ± half_width.

    `half_width` is None where a single run says nothing about the spread.
    """

    mean: float
    half_width: float | None
    runs: int
    level: float


@one_line("exact", "within", "mean", "auc")
@dataclass(frozen=True, eq=False)
class Summary:
    """The numbers of [`Score`][finsler.evaluation.Score] over runs; `curve` is the mean curve."""

    exact: Interval
    within: Interval
    mean: Interval
    auc: Interval
    grid: FloatArray
    curve: FloatArray


def score(
    errors: ArrayLike, mask: ArrayLike | None = None, *, grid: ArrayLike | None = None
) -> Score:
    """Shares, mean and cumulative curve of errors.

    The curve is that of the errors themselves, a step function, and its area is exact:
    auc = mean of max(0, 1 − e/R) with R the end of the grid. The grid only samples it.

    Parameters
    ----------
    errors : (n,)
        Not negative; infinite ones count as larger than every radius.
    mask : (n,) bool, optional
        The vertices that count, e.g. `Shape.named`; by default all.
    grid : (g,), optional
        Radii, increasing from 0; by default 0, 0.001, ..., 0.25.

    Raises
    ------
    InputError
        Errors that are negative or NaN, a mask of another length or without a vertex, or a grid
        that does not increase from 0.

    Examples
    --------
    >>> errors = score([0.0, 0.0, 0.005, 0.125])
    >>> errors.exact, errors.within, errors.mean, errors.auc
    (0.5, 0.75, 3.25, 0.87)
    """
    e = np.asarray(errors, dtype=np.float64)
    if e.ndim != 1 or not (e >= 0.0).all():
        raise InputError(f"errors must be a vector of numbers from 0, not of shape {e.shape}")
    e = e if mask is None else e[_checked_mask(mask, len(e))]
    if len(e) == 0:
        raise InputError("there is no vertex to score; the mask leaves none")
    radii = DEFAULT_GRID if grid is None else _checked_grid(grid)
    ordered = np.sort(e)
    return Score(
        count=len(e),
        exact=float(np.mean(e == 0.0)),
        within=float(np.mean(e <= RADIUS)),
        mean=float(100.0 * e.mean()),
        auc=float(np.maximum(0.0, 1.0 - e / radii[-1]).mean()),
        grid=radii,
        curve=np.searchsorted(ordered, radii, side="right") / len(e),
    )


def combine(scores: Sequence[Score]) -> Score:
    """The score of all vertices together: a large shape weighs more than a small one.

    Raises
    ------
    InputError
        No score, or scores on different grids.
    """
    grid = _common_grid(scores)
    counts = np.array([s.count for s in scores])

    def pooled(values: Sequence[float]) -> float:
        return float(np.average(values, weights=counts))

    return Score(
        count=int(counts.sum()),
        exact=pooled([s.exact for s in scores]),
        within=pooled([s.within for s in scores]),
        mean=pooled([s.mean for s in scores]),
        auc=pooled([s.auc for s in scores]),
        grid=grid,
        curve=np.average([s.curve for s in scores], axis=0, weights=counts),
    )


def student_interval(values: ArrayLike, *, level: float = 0.95) -> Interval:
    """Mean of independent runs with Student's confidence interval, x̄ ± t s / √n.

    t is the (1 + level)/2 quantile with n − 1 degrees of freedom, s the standard deviation with
    n − 1 in the denominator: right for normally distributed values, and a fair approximation for
    the few seeds of an experiment, where a bootstrap is too narrow.

    Raises
    ------
    InputError
        No value, values that are not a vector, or a level outside 0..1.
    """
    from scipy.special import stdtrit

    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise InputError(f"runs must be a vector with a value for each, not of shape {x.shape}")
    if not 0.0 < level < 1.0:
        raise InputError(f"level is {level}; it must lie between 0 and 1, e.g. 0.95")
    n, half_width = len(x), None
    if n > 1 and np.isfinite(x).all():
        half_width = float(stdtrit(n - 1, 0.5 * (1.0 + level)) * x.std(ddof=1) / np.sqrt(n))
    return Interval(float(x.mean()), half_width, n, level)


def summarize(runs: Sequence[Score], *, level: float = 0.95) -> Summary:
    """The scores of several runs, e.g. seeds, on the same vertices as means with intervals.

    Raises
    ------
    InputError
        No run, runs on different grids, or on different numbers of vertices.
    """
    grid = _common_grid(runs)
    counts = sorted({run.count for run in runs})
    if len(counts) > 1:
        raise InputError(f"the runs cover {counts} vertices; score them on the same shapes")
    return Summary(
        **{
            name: student_interval([getattr(run, name) for run in runs], level=level)
            for name in MEASURES
        },
        grid=grid,
        curve=np.mean([run.curve for run in runs], axis=0),
    )


def _common_grid(scores: Sequence[Score]) -> FloatArray:
    if len(scores) == 0:
        raise InputError("there is no score to bring together; give at least one")
    grid = scores[0].grid
    if not all(np.array_equal(s.grid, grid) for s in scores):
        raise InputError("the scores have curves on different grids; pass the same grid to score")
    return grid


def _checked_mask(mask: ArrayLike, n: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    chosen = np.asarray(mask)
    if chosen.dtype != np.bool_ or chosen.shape != (n,):
        raise InputError(
            f"the mask holds {chosen.dtype} values of shape {chosen.shape}; it must be ({n},) bool"
        )
    return chosen


def _checked_grid(grid: ArrayLike) -> FloatArray:
    radii = np.array(grid, dtype=np.float64)
    rises = radii.ndim == 1 and len(radii) > 1 and radii[0] == 0.0 and (np.diff(radii) > 0.0).all()
    if not rises or not np.isfinite(radii).all():
        raise InputError("the grid must be a vector of radii that increase from 0")
    radii.setflags(write=False)
    return radii
