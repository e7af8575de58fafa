"""Commands as a user starts it, killed as soon as they have written something."""

import os
import signal
import subprocess
import sys

import pytest
from compared import undisturbed
from disturbed import COMMANDS, OUT, finish, wait_for


@pytest.fixture(scope="module")
def calm():
    return undisturbed()


# That of `finsler train` is in tests/cli; `reproduce` trains and evaluates.
NAMES = ("prepare", "pairs", "describe", "reproduce")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def something_written(folder):
    return any(path.is_file() for path in folder.rglob("*.*") if not path.name.startswith("."))


@pytest.fixture(scope="module")
def killed(calm, tmp_path_factory):
    """The folders, after all commands were started at once and killed one by one."""
    folders, processes = {}, {}
    for name in NAMES:
        folders[name] = calm.prepared(name, tmp_path_factory.mktemp(name))
        processes[name] = subprocess.Popen(
            [sys.executable, "-m", "finsler.cli.main", *COMMANDS[name]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folders[name],
            env={**os.environ, **ONE_THREAD},
        )
    waiting = dict(processes)

    def all_killed():
        for name in list(waiting):
            if something_written(folders[name] / OUT[name]):
                waiting.pop(name).kill()
        return not waiting

    wait_for(all_killed)
    codes = {name: process.wait() for name, process in processes.items()}
    return folders, codes


@pytest.mark.parametrize("name", NAMES)
def test_killed_and_run_again(calm, killed, name):
    folders, codes = killed
    # The last file may have been the first that was seen.
    assert codes[name] in (-signal.SIGKILL, 0)
    code, told = finish(folders[name], *COMMANDS[name])
    assert code == 0, told
    assert calm.differences(name, folders[name]) == []
