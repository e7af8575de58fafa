"""kill -9: the same command, run again, ends with what an undisturbed run leaves."""

import signal

import numpy as np
import pytest
from disturbed import COMMANDS, Fault, finish, leftovers, start

# One after the other in one folder: number of the write, and the moment in it.
KILLS = [(1, "half"), (2, "before"), (1, "after"), (2, "half")]
# Train and reproduce write two small files first; what follows are epochs.
LATER = [(3, "half"), (4, "before"), (7, "half"), (6, "after")]


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_while_it_writes(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path)
    for write, moment in LATER if name in ("train", "reproduce") else KILLS:
        code, _ = finish(folder, *COMMANDS[name], fault=Fault(write=write, moment=moment))
        assert code == -signal.SIGKILL
        assert leftovers(folder) or moment == "after"
    code, told = finish(folder, *COMMANDS[name])
    assert code == 0, told
    assert calm.differences(name, folder) == []
    assert leftovers(folder) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_any_moment(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path)
    for share in np.random.default_rng(0).uniform(0.3, 1.0, 2):
        start(folder, *COMMANDS[name]).kill_after(share * calm.seconds[name])
    code, told = finish(folder, *COMMANDS[name])
    assert code == 0, told
    assert calm.differences(name, folder) == []
