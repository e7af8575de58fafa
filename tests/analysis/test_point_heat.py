"""Heat that starts at vertices."""

from contextlib import suppress

import numpy as np
import pytest

import finsler
from finsler.analysis.point_heat import heat_flow, point_heat, unit_area
from finsler.errors import ConvergenceError, InputError

BALL = unit_area(finsler.primitives.bumpy_sphere(6))


def test_the_mean_is_what_was_asked_for():
    mass = finsler.lbo(BALL).mass
    heat = point_heat(mass, [3, 7, 7], 2.5)
    assert mass @ heat / mass.sum() == pytest.approx(2.5)
    assert np.flatnonzero(heat).tolist() == [3, 7]
    assert mass[7] * heat[7] == pytest.approx(2 * mass[3] * heat[3])


@pytest.mark.parametrize("time", [1e-3, 1.0, 1e6])
def test_heat_is_conserved(time):
    operator = finsler.lbo(BALL)
    heat = heat_flow(operator, point_heat(operator.mass, [0]))(time)
    assert operator.mass @ heat == pytest.approx(1.0, rel=1e-6)
    if time >= 1.0:
        assert heat == pytest.approx(np.ones(len(heat)), rel=1e-5)


@pytest.mark.parametrize("time", [1e14, 1e18])
def test_times_beyond_all_precision_are_right_or_refused(time):
    operator = finsler.lbo(BALL)
    flow, heat = heat_flow(operator, point_heat(operator.mass, [0])), None
    with suppress(ConvergenceError, InputError):
        heat = flow(time)
    assert heat is None or np.allclose(heat, 1.0, rtol=1e-5)


def test_what_makes_no_sense_is_refused():
    operator = finsler.lbo(BALL)
    with pytest.raises(InputError, match="amount is nan"):
        point_heat(operator.mass, [0], np.nan)
    with pytest.raises(InputError, match="give k"):
        heat_flow(operator, operator.mass, drift=finsler.RandersMetric.isotropic(BALL))
