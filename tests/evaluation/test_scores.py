"""Scores by hand, their laws, and intervals against scipy."""

import numpy as np
import pytest
from scipy import stats

from finsler.data import Collection, Shape
from finsler.errors import InputError
from finsler.evaluation import (
    Predictions,
    combine,
    evaluate,
    reference_distances,
    score,
    score_shape,
    student_interval,
    summarize,
)
from finsler.mesh import primitives

MEASURES = ("exact", "within", "mean", "auc")


class TestScore:
    def test_perfect(self):
        found = score(np.zeros(7))
        assert (found.exact, found.within, found.mean, found.auc) == (1.0, 1.0, 0.0, 1.0)
        assert (found.curve == 1.0).all() and found.count == 7

    def test_by_hand(self):
        found = score([0.0, 0.01, 0.02, 1.0])
        assert (found.exact, found.within) == (0.25, 0.5)
        assert found.mean == pytest.approx(25.75)
        assert found.auc == pytest.approx((1 + 0.96 + 0.92 + 0) / 4)
        assert found.grid[0] == 0 and found.grid[-1] == 0.25 and len(found.grid) == 251

    @pytest.mark.parametrize("step", [0.0, 0.0371, 0.125, 0.25, 0.3])
    def test_area_under_a_step_is_exact(self, step):
        found = score(np.full(5, step))
        assert found.auc == pytest.approx(max(0.0, 1 - step / 0.25), abs=1e-15)
        assert np.array_equal(found.curve, (found.grid >= step).astype(float))

    def test_area_is_that_of_a_fine_curve(self):
        errors = np.random.default_rng(0).exponential(0.05, 500)
        found = score(errors, grid=np.linspace(0, 0.25, 100_001))
        assert found.auc == pytest.approx(np.trapezoid(found.curve, found.grid) / 0.25, abs=1e-5)

    def test_radii_belong_to_the_share(self):
        found = score([0.0, 0.5, 1.0], grid=[0.0, 0.5, 1.0])
        assert found.curve.tolist() == pytest.approx([1 / 3, 2 / 3, 1.0])

    def test_infinite_errors_count_as_far(self):
        found = score([0.0, np.inf])
        assert (found.exact, found.auc, found.mean) == (0.5, 0.5, np.inf)

    def test_mask(self):
        errors = np.array([0.0, 0.3, 0.0, 0.3])
        assert score(errors, np.array([True, False, True, False])).exact == 1.0
        assert score(errors, np.array([False, True, False, False])).exact == 0.0
        assert score(errors, np.ones(4, bool)).exact == score(errors).exact == 0.5

    @pytest.mark.parametrize(
        ("errors", "mask", "grid", "sentence"),
        [
            ([-0.1], None, None, "numbers from 0"),
            ([np.nan], None, None, "numbers from 0"),
            ([[0.1]], None, None, r"shape \(1, 1\)"),
            ([0.1], [True, False], None, r"must be \(1,\) bool"),
            ([0.1], [1], None, "int64 values"),
            ([0.1], [False], None, "no vertex to score"),
            ([], None, None, "no vertex to score"),
            ([0.1], None, [0.1, 0.2], "increase from 0"),
            ([0.1], None, [0.0, 0.2, 0.2], "increase from 0"),
            ([0.1], None, [0.0, np.inf], "increase from 0"),
        ],
    )
    def test_bad_input(self, errors, mask, grid, sentence):
        with pytest.raises(InputError, match=sentence):
            score(errors, mask, grid=grid)


class TestCombine:
    def test_together_is_as_one(self):
        rng = np.random.default_rng(1)
        parts = [rng.choice([0.0, 0.005, 0.1, 0.4], size) for size in (3, 50, 400)]
        together, one = combine([score(e) for e in parts]), score(np.concatenate(parts))
        assert together.count == one.count == 453
        for name in MEASURES:
            assert getattr(together, name) == pytest.approx(getattr(one, name), rel=1e-12)
        assert np.allclose(together.curve, one.curve, atol=1e-15)

    def test_bad_input(self):
        with pytest.raises(InputError, match="at least one"):
            combine([])
        with pytest.raises(InputError, match="different grids"):
            combine([score([0.1]), score([0.1], grid=[0, 1])])


class TestInterval:
    @pytest.mark.parametrize("level", [0.9, 0.95])
    def test_is_that_of_scipy(self, level):
        values = [0.61, 0.58, 0.6, 0.64, 0.59]
        found = student_interval(values, level=level)
        low, high = stats.t.interval(level, 4, np.mean(values), stats.sem(values))
        assert found.mean - found.half_width == pytest.approx(low, rel=1e-12)
        assert found.mean + found.half_width == pytest.approx(high, rel=1e-12)

    def test_two_runs_by_hand(self):
        # s/√2 = 1 for values 0 and 2; the 97.5% quantile with one degree of freedom is tan(0.475π).
        found = student_interval([0.0, 2.0])
        assert (found.mean, found.runs) == (1.0, 2)
        assert found.half_width == pytest.approx(np.tan(0.475 * np.pi))

    def test_one_run_has_none(self):
        assert student_interval([0.4]).half_width is None
        assert student_interval([0.4, np.inf]).half_width is None

    def test_summary(self):
        runs = [score([0.0, 0.1]), score([0.0, 0.0]), score([0.2, 0.0])]
        found = summarize(runs)
        assert found.exact == student_interval([0.5, 1.0, 0.5])
        assert found.mean == student_interval([5.0, 0.0, 10.0])
        assert np.allclose(found.curve, np.mean([r.curve for r in runs], axis=0))

    def test_bad_input(self):
        with pytest.raises(InputError, match="runs must be a vector"):
            student_interval([])
        with pytest.raises(InputError, match="level is 95"):
            student_interval([1.0, 2.0], level=95)
        with pytest.raises(InputError, match=r"cover \[1, 2\] vertices"):
            summarize([score([0.0]), score([0.0, 0.0])])


AROUND, UP = 12, 3
PRISM = primitives.cylinder(AROUND, UP)
SIZE = PRISM.n_vertices
STEP = np.sin(np.pi / AROUND) * 2 / np.sqrt(AROUND * 2 * np.sin(np.pi / AROUND) * 2)


def turned(k):
    return (np.arange(SIZE) + k * (UP + 1)) % SIZE


def load(name):
    exact = np.ones(SIZE, dtype=bool)
    if name == "half":
        exact[SIZE // 2 :] = False
    if name == "unnamed":
        exact[:] = False
    return Shape(name, PRISM, turned(0), exact)


COLLECTION = Collection("prisms", ("whole",), ("half", "unnamed"), "whole", load)


@pytest.fixture(scope="module")
def measured():
    return reference_distances(PRISM, method="exact")


class TestEvaluate:
    def test_perfect_map(self, measured):
        found = score_shape(load("half"), turned(0), measured)
        for part, count in ((found.named, SIZE // 2), (found.every, SIZE)):
            assert (part.exact, part.within, part.mean, part.auc) == (1.0, 1.0, 0.0, 1.0)
            assert part.count == count

    def test_turned_map(self, measured):
        found = score_shape(load("half"), turned(2), measured).every
        assert (found.exact, found.within) == (0.0, 0.0)
        assert found.mean == pytest.approx(200 * STEP, rel=1e-6)
        near = score_shape(load("half"), turned(1), measured).every
        assert near.auc == pytest.approx(1 - STEP / 0.25, rel=1e-6)

    def test_named_vertices_only(self, measured):
        guess = np.where(load("half").named, turned(0), turned(1))
        found = score_shape(load("half"), guess, measured)
        assert found.named.exact == 1.0 and found.every.exact == 0.5

    def test_runs(self, measured):
        runs = {
            "a": Predictions({"half": turned(0), "unnamed": turned(1)}, {"seed": 1}),
            "b": Predictions({"unnamed": turned(1), "half": turned(1)}, {"seed": 2}),
        }
        done = []
        found = evaluate(runs, COLLECTION, measured, progress=done.append)
        assert done == ["half", "half", "unnamed", "unnamed"]
        assert found.shapes == ("half", "unnamed") and found.missing == ()
        assert found.diameter is None and found.method == "exact"
        assert [found.runs[r].every.exact for r in "ab"] == [0.5, 0.0]
        assert [found.runs[r].named.exact for r in "ab"] == [1.0, 0.0]
        assert found.summary("every").exact == student_interval([0.5, 0.0])
        assert found.summary("named", "half").exact == student_interval([1.0, 0.0])
        assert found.summary("named", "unnamed") is None
        assert found.runs["b"].record == {"seed": 2}

    def test_missing_shapes_are_told(self, measured):
        runs = {"a": Predictions({"half": turned(0)}, {})}
        found = evaluate(runs, COLLECTION, measured, unit="diameter")
        assert found.missing == ("unnamed",)
        assert found.diameter == measured.diameter

    def test_bad_input(self, measured):
        with pytest.raises(InputError, match="no run"):
            evaluate({}, COLLECTION, measured)
        runs = {"a": Predictions({"half": turned(0)}, {}), "b": Predictions({}, {})}
        with pytest.raises(InputError, match=r"a and b differ .* 'half'"):
            evaluate(runs, COLLECTION, measured)
        with pytest.raises(InputError, match="shape 'half': there are 3 predicted"):
            score_shape(load("half"), [0, 1, 2], measured)
