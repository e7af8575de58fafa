"""Commands with workers: these are killed, or their scheduler, or the command itself."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from compared import undisturbed
from disturbed import COMMANDS, finish, start, wait_for


@pytest.fixture(scope="module")
def calm():
    return undisturbed()


MANY = (*COMMANDS["prepare"][:-1], "2")


def wrote_entries(folder):
    return any((folder / "store" / "entries").glob("*.npz"))


def gone(group):
    """Whether no process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_workers_end_with_the_command(calm, tmp_path):
    folder = calm.prepared("prepare", tmp_path)
    child = start(folder, *MANY)
    wait_for(lambda: wrote_entries(folder))
    child.process.kill()
    assert child.ended() == -signal.SIGKILL
    wait_for(lambda: gone(child.process.pid))
    assert finish(folder, *COMMANDS["prepare"])[0] == 0
    assert calm.differences("prepare", folder) == []


def test_ctrl_c_ends_the_workers_quietly(calm, tmp_path):
    folder = calm.prepared("prepare", tmp_path)
    child = start(folder, *MANY)
    wait_for(lambda: wrote_entries(folder))
    os.killpg(child.process.pid, signal.SIGINT)
    # It may have ended by itself in that moment.
    assert child.ended() in (0, 130)
    assert "Traceback" not in child.told()
    assert finish(folder, *COMMANDS["prepare"])[0] == 0
    assert calm.differences("prepare", folder) == []


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and a worker with a nanny; address, scheduler, and nanny."""
    pytest.importorskip("distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    words = {"scheduler": ("--host", address), "worker": (address, "--nthreads", "1")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{name}", "--no-dashboard", *more],
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
        )
        for name, more in words.items()
    ]
    yield address, *processes
    for process in processes:
        process.kill()
        process.wait()


def workers_of(nanny):
    import psutil

    return [
        process
        for process in psutil.Process(nanny.pid).children()
        if "resource_tracker" not in " ".join(process.cmdline())
    ]


def working(client):
    """Whether a task is under way; before them, workers are asked for their version."""
    return any("call_in_dask" in str(key) for keys in client.processing().values() for key in keys)


def test_a_worker_and_then_the_scheduler_are_killed(calm, tmp_path, cluster):
    from distributed import Client

    address, scheduler, nanny = cluster
    folder = calm.prepared("prepare", tmp_path)
    spread = (*COMMANDS["prepare"][:-2], "--scheduler", address)
    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        child = start(folder, *spread)
        wait_for(lambda: working(client))
        for worker in workers_of(nanny):
            worker.kill()
        assert child.ended() == 0, child.told()
        assert calm.differences("prepare", folder) == []
        for path in (folder / "store").rglob("*.*"):
            path.unlink()
        client.wait_for_workers(1, timeout=60)
        child = start(folder, *spread)
        wait_for(lambda: working(client))
    nanny.kill()
    scheduler.kill()
    assert child.ended() == 2
    note, error = child.told().splitlines()
    assert note.startswith("note: the scheduler's dashboard, if it has one, is at http://")
    assert error.startswith("error: the connection to the scheduler is lost")
    assert finish(folder, *COMMANDS["prepare"])[0] == 0
    assert calm.differences("prepare", folder) == []
