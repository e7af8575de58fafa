"""Records and arrays that were read are checked before use."""

from dataclasses import dataclass

import numpy as np
import pytest

from finsler import InputError
from finsler.storage.schema import from_record, require_arrays


@dataclass
class Record:
    count: int
    share: float = 0.5
    on: bool = False
    names: tuple[str, ...] = ()


def test_what_fits_is_taken():
    record = {"count": 3, "share": 1, "names": ["a", "b"]}
    made = from_record(Record, record, "a record")
    assert made == Record(3, 1.0, False, ("a", "b"))
    assert type(made.share) is float


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ([], "a record must be a table of names and values"),
        ({}, "a record has no count"),
        ({"count": 1, "other": 2}, "there is no setting 'other' of a record"),
        ({"count": 1.0}, "count is 1.0; it must be a whole number"),
        ({"count": True}, "count is True; it must be a whole number"),
        ({"count": 1, "on": 1}, "on is 1; it must be true or false"),
        ({"count": 1, "share": 10**400}, "share is 1000"),
        ({"count": 1, "names": "ab"}, "names is 'ab'; it must be a list"),
        ({"count": 1, "names": [1]}, "names is 1; it must be a text"),
    ],
)
def test_what_does_not_is_told(record, sentence):
    with pytest.raises(InputError) as error:
        from_record(Record, record, "a record")
    assert str(error.value).startswith(sentence)


SCHEMA = {"points": ("f", ("n", 3)), "labels": ("i", ("n",))}


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        (np.zeros((4, 3)), np.zeros(5, dtype=int)),
        (np.zeros((4, 2)), np.zeros(4, dtype=int)),
        (np.zeros((4, 3)), np.zeros(4)),
        (np.zeros((4, 3)), np.zeros((4, 1), dtype=int)),
        (np.zeros(4), np.zeros(4, dtype=int)),
        (np.zeros((4, 3)).astype(str), np.zeros(4, dtype=int)),
        (np.array(0.0), np.array(0)),
    ],
)
def test_arrays_of_other_kinds_or_sizes(points, labels):
    with pytest.raises(InputError, match=r"the arrays do not fit together: (points|labels) is"):
        require_arrays({"points": points, "labels": labels}, SCHEMA)
