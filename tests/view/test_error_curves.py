"""Figures of cumulative error curves."""

import matplotlib.axes
import numpy as np
import pytest

from finsler.errors import InputError
from finsler.view import plot_error_curves

GRID = np.linspace(0.0, 0.25, 251)
CURVES = {"one": (GRID, 1 - np.exp(-40 * GRID)), "two": (GRID, 1 - 0.5 * np.exp(-9 * GRID))}


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_writes_the_same_file_twice(tmp_path, ending, start):
    one = plot_error_curves(tmp_path / f"a.{ending}", CURVES, title="both")
    two = plot_error_curves(tmp_path / f"b.{ending}", CURVES, title="both")
    assert one.read_bytes()[: len(start)] == start
    assert one.read_bytes() == two.read_bytes()


def test_draws_per_cent_of_the_vertices(tmp_path, monkeypatch):
    drawn, plot = [], matplotlib.axes.Axes.plot

    def watched(axes, *arguments, **options):
        drawn.append((arguments, options, axes))
        return plot(axes, *arguments, **options)

    monkeypatch.setattr(matplotlib.axes.Axes, "plot", watched)
    plot_error_curves(tmp_path / "a.png", CURVES, x_label="radius", end=0.1)
    assert [options["label"] for _, options, _ in drawn] == ["one", "two"]
    for (x, y), _, axes in drawn:
        assert np.array_equal(x, GRID)
        assert axes.get_xlim() == (0.0, 0.1) and axes.get_xlabel() == "radius"
        assert y[-1] > 90 and y.max() <= 100
    styles = {(options["color"], options["linestyle"]) for _, options, _ in drawn}
    assert len(styles) == 2


def test_roundoff_of_a_mean_is_no_error(tmp_path):
    shares = np.array([0.5, 1.0 + 2e-16, 1.0])
    plot_error_curves(tmp_path / "a.png", {"mean": ([0.0, 0.1, 0.2], shares)})


@pytest.mark.parametrize(
    ("curves", "options", "sentence"),
    [
        ({}, {}, "no error curve"),
        ({"x": ([0.0, 0.1], [0.5])}, {}, r"'x' has radii \(2,\) and shares \(1,\)"),
        ({"x": ([0.0], [0.5])}, {}, "at least 2"),
        ({"x": (["a", "b"], [0.5, 1.0])}, {}, "real numbers"),
        ({"x": ([0.1, 0.0], [0.5, 1.0])}, {}, "'x' is not cumulative"),
        ({"x": ([0.0, 0.1], [0.5, 0.4])}, {}, "'x' is not cumulative"),
        ({"x": ([0.0, 0.1], [50.0, 100.0])}, {}, "'x' is not cumulative"),
        ({"x": ([0.0, 0.1], [0.5, np.nan])}, {}, "'x' is not cumulative"),
        (CURVES, {"end": 0.0}, "positive radius"),
    ],
)
def test_bad_input_writes_nothing(tmp_path, curves, options, sentence):
    with pytest.raises(InputError, match=sentence):
        plot_error_curves(tmp_path / "a.png", curves, **options)
    assert list(tmp_path.iterdir()) == []


def test_unknown_ending(tmp_path):
    with pytest.raises(InputError, match="must end in"):
        plot_error_curves(tmp_path / "a.gif", CURVES)
