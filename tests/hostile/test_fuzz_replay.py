"""The fuzz targets without the fuzzer: seeds, their prefixes, changed bits, any bytes."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("safetensors")
FUZZ = Path(__file__).parents[2] / "fuzz"
sys.path.insert(0, str(FUZZ))
from targets import TARGETS, outcome  # noqa: E402

sys.path.remove(str(FUZZ))
# Bytes decide how these are forged, so that any of them make an archive.
FORGED = ("npz", "pack", "predictions", "distances", "entry", "operators")
SLOW = ("distances", "operators")


@pytest.fixture
def fed(tmp_path):
    return lambda name, data: outcome(TARGETS[name], data, tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds(fed, tmp_path, name):
    outcomes = [fed(name, seed) for seed in TARGETS[name].seeds(tmp_path)]
    # The entries that the seed of a store names are not there.
    assert outcomes[0] == ("refused" if name == "store" else "read")


@pytest.mark.parametrize("name", TARGETS)
def test_every_prefix_is_read_or_refused(fed, tmp_path, name):
    for seed in TARGETS[name].seeds(tmp_path)[:2]:
        step = max(1, len(seed) // (20 if name in SLOW else 100))
        outcomes = [fed(name, seed[:length]) for length in range(0, len(seed), step)]
        # What is cut is mostly noticed; lists and settings are whole again at the end of a line.
        assert "refused" in outcomes or name in FORGED


@pytest.mark.parametrize("name", TARGETS)
def test_changed_bits_are_read_or_refused(fed, tmp_path, name):
    rng = np.random.default_rng(5)
    for seed in TARGETS[name].seeds(tmp_path):
        for _ in range(5 if name in SLOW else 40):
            changed = bytearray(seed)
            for place in rng.integers(len(seed), size=rng.integers(1, 4)):
                changed[place] ^= 1 << rng.integers(8)
            fed(name, bytes(changed))


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in SLOW])
@given(data=st.binary(max_size=200))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(fed, name, data):
    fed(name, data)
