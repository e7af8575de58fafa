"""The maps of a file, to choose from."""

import numpy as np
import pytest

from finsler.errors import InputError
from finsler.matching.offers import read_maps
from finsler.storage.npz import write_npz

SAME = np.arange(4)
FULL = {
    "map_12": SAME,
    "map_21": SAME,
    "expected": np.full(4, 0.01),
    "probability": np.array(0.8),
    "alternatives_12": np.stack([SAME[::-1], np.roll(SAME, 1)]),
    "alternatives_21": np.stack([SAME[::-1], np.roll(SAME, -1)]),
    "alternatives_probability": np.array([0.15, 0.049]),
}


def test_the_best_map_and_its_alternatives(tmp_path):
    best, turned, rolled = read_maps(write_npz(tmp_path / "map.npz", FULL, {}))
    titles = [offer.title for offer in (best, turned, rolled)]
    assert titles == ["best map, 80%", "alternative 1, 15%", "alternative 2, 5%"]
    assert set(best.arrays) == {"map_12", "map_21", "expected", "probability"}
    assert turned.map_12.tolist() == [3, 2, 1, 0]
    assert rolled.arrays["map_21"].tolist() == [1, 2, 3, 0]
    # What is known of the best map is not said of others.
    assert set(rolled.arrays) == {"map_12", "map_21", "probability"}


def test_a_map_alone(tmp_path):
    [offer] = read_maps(write_npz(tmp_path / "map.npz", {"map_12": SAME}, {}))
    assert offer.title == "map" and offer.map_12.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"alternatives_21": SAME[None]}, "one row for each"),
        ({"alternatives_12": SAME}, "one row for each"),
        ({"alternatives_12": np.array(3)}, "one row for each"),
        ({"alternatives_probability": np.array(0.2)}, "one row for each"),
        ({"alternatives_12": None}, "one row for each"),
        ({"alternatives_probability": np.array([0.1, 1.2])}, "from 0 to 1"),
        ({"probability": np.array(np.nan)}, "from 0 to 1"),
        ({"probability": np.array("high")}, "from 0 to 1"),
        ({"probability": SAME / 4.0}, "from 0 to 1"),
        ({"map_12": None}, "no array 'map_12'"),
    ],
)
def test_arrays_that_do_not_fit_together(tmp_path, changes, sentence):
    arrays = {name: array for name, array in {**FULL, **changes}.items() if array is not None}
    path = write_npz(tmp_path / "map.npz", arrays, {})
    with pytest.raises(InputError, match=sentence):
        read_maps(path)


def test_more_alternatives_than_a_person_looks_at(tmp_path):
    path = write_npz(tmp_path / "map.npz", {"map_12": SAME, "alternatives_12": [SAME] * 9}, {})
    with pytest.raises(InputError, match="at most 8"):
        read_maps(path)
