"""kill -9: the same command, run again, ends with what an undisturbed run leaves."""

import signal
import time

import numpy as np
import pytest
from compared import leftovers, undisturbed
from disturbed import COMMANDS, Fault, finish, start


@pytest.fixture(scope="module")
def calm():
    return undisturbed()


# One after the other in one folder: number of the write, and the moment in it.
KILLS = {name: [(1, "half"), (2, "before"), (1, "after"), (2, "half")] for name in COMMANDS}
# Two small files are written first; what follows are epochs.
KILLS["train"] = [(3, "half"), (4, "before"), (7, "half"), (6, "after")]
KILLS["reproduce"] = [(4, "before"), (10, "half")]


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_while_it_writes(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path)
    for write, moment in KILLS[name]:
        code, _ = finish(folder, *COMMANDS[name], fault=Fault(write=write, moment=moment))
        assert code == -signal.SIGKILL
        assert leftovers(folder) or moment == "after"
    code, told = finish(folder, *COMMANDS[name])
    assert code == 0, told
    assert calm.differences(name, folder) == []
    assert leftovers(folder) == []


@pytest.mark.parametrize("name", ["prepare", "train", "match", "pairs", "describe"])
def test_killed_at_any_moment(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path / "calm")
    begun = time.monotonic()
    assert finish(folder, *COMMANDS[name])[0] == 0
    seconds = time.monotonic() - begun
    assert calm.differences(name, folder) == []
    folder, kills = calm.prepared(name, tmp_path / "0"), 0
    for attempt, share in enumerate(np.random.default_rng(0).uniform(0.3, 1.0, 10), start=1):
        if not start(folder, *COMMANDS[name]).kill_after(share * seconds):
            # It was over by then: from the beginning, and sooner.
            seconds *= share
            folder, kills = calm.prepared(name, tmp_path / str(attempt)), 0
            continue
        kills += 1
        if kills == 2:
            break
    assert kills > 0
    code, told = finish(folder, *COMMANDS[name])
    assert code == 0, told
    assert calm.differences(name, folder) == []
