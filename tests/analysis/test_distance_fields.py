"""Distances there and back, with paths, ready to be written and drawn."""

import numpy as np
import pytest

import finsler
from finsler.analysis.distance_fields import (
    difference,
    distance_fields,
    named_paths,
    named_values,
    summary,
)


@pytest.fixture(scope="module")
def metric():
    mesh = finsler.primitives.bumpy_sphere(5)
    m = mesh.n_faces
    calm, wind = np.tile(np.eye(2), (m, 1, 1)), np.tile([0.0, 0.4, 0.0], (m, 1))
    return finsler.RandersMetric.from_wind(mesh, calm, wind)


def test_both_ways_are_those_of_the_library(metric):
    there, back = distance_fields(metric, [0], both=True, target=90)
    assert np.array_equal(there.values, finsler.randers_distance(metric, [0]))
    assert np.array_equal(back.values, finsler.randers_distance(metric, [0], reverse=True))
    assert (there.preposition, back.preposition) == ("from", "to")
    assert there.path_ends(90) == (0, 90) and back.path_ends(90) == (90, 0)
    assert there.path.length == pytest.approx(there.values[90], rel=0.05)
    (single,) = distance_fields(metric, [0], reverse=True)
    assert np.array_equal(single.values, back.values) and single.path is None


def test_names_and_numbers(metric):
    fields = distance_fields(metric, [0, 5], both=True, target=90)
    named = named_values(fields)
    assert list(named) == ["distance", "distance_back", "asymmetry"]
    assert np.array_equal(named["asymmetry"], difference(fields))
    assert list(named_paths(fields)) == ["path", "path_back"]
    numbers = summary(fields, 90)
    assert numbers["largest_from"]["value"] == fields[0].values.max()
    assert numbers["unreached"] == 0 and len(numbers["paths"]) == 2
    assert numbers["paths"][0]["from"] in (0, 5) and numbers["paths"][0]["to"] == 90
