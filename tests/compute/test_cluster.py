"""Many tasks: every one ends once, failures stop nothing, workers may be lost."""

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from finsler import InputError
from finsler.compute import memory
from finsler.compute.cluster import Workers, engines, processes, run
from finsler.compute.cluster import tasks as tasks_module
from finsler.compute.cluster.worker import serve
from finsler.storage.outputs import running_command, written_by

pytest.importorskip("distributed")


def square(number):
    return number * number


def refuse(number):
    raise InputError(f"{number} is\nno good")


def broken():
    raise KeyError("a mistake")


class Private(Exception):
    """Cannot be sent: it is made of two arguments and remembers one."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def unsendable():
    raise Private(1, 2)


def out_of_reach():
    raise OSError("the disk is away")


def first_time(marker, error):
    """Fail when called for the first time: by an error, or by ending the worker."""
    if not Path(marker).exists():
        Path(marker).touch()
        if error == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError("a hiccup")
    return "second"


def end_worker():
    os.kill(os.getpid(), signal.SIGKILL)


def fill(gibibytes):
    blocks = []
    for _ in range(round(10 * gibibytes)):
        blocks.append(np.ones(2**30 // 80))
        time.sleep(0.05)
    return sum(len(block) for block in blocks)


def pages_of_repeated_work():
    """Page faults of the same work done again and again, after the first time."""
    import resource

    for repeat in range(9):
        blocks = [np.ones(2**17) for _ in range(10)]
        del blocks
        if repeat == 0:
            before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def slowly(folder, name):
    time.sleep(0.1)
    path = Path(folder) / name
    path.write_text(f"{os.getpid()}")
    return os.getpid()


def call(function, *args):
    return function(*args)


@pytest.fixture(scope="module")
def scheduler():
    """Address of a cluster of two processes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(params=["here", "processes", "dask"])
def workers(request):
    """One after the other: this process, processes of this machine, a scheduler."""
    if request.param == "dask":
        return Workers(scheduler=request.getfixturevalue("scheduler"))
    return Workers(jobs=1 if request.param == "here" else 2)


def outcomes(tasks, workers):
    found = list(run(call, tasks, workers))
    names = [outcome.name for outcome in found]
    assert len(set(names)) == len(names)
    return {outcome.name: outcome for outcome in found}


@pytest.mark.parametrize("bundle", [1, 4])
def test_each_task_ends_once_and_failures_stop_nothing(workers, bundle, tmp_path):
    tasks = [(f"square{i}", (square, i)) for i in range(9)]
    tasks[2:2] = [
        ("refused", (refuse, 7)),
        ("mistaken", (broken,)),
        ("private", (unsendable,)),
        ("away", (out_of_reach,)),
        ("hiccup", (first_time, str(tmp_path / "marker"), "error")),
        ("unread", InputError("the file is damaged")),
    ]
    found = outcomes(tasks, dataclasses.replace(workers, bundle=bundle))
    assert set(found) == {name for name, _ in tasks}
    assert [found[f"square{i}"].value for i in range(9)] == [i * i for i in range(9)]
    assert found["hiccup"].value == "second"
    told = {name: outcome.sentence for name, outcome in found.items() if outcome.error is not None}
    assert told == {
        "refused": r"7 is\nno good",
        "mistaken": "KeyError: 'a mistake'",
        "private": "RuntimeError: Private: 1 and 2",
        "away": "the disk is away",
        "unread": "the file is damaged",
    }
    attempts = {name: outcome.attempts for name, outcome in found.items()}
    assert (attempts["refused"], attempts["mistaken"], attempts["square0"]) == (1, 1, 1)
    assert (attempts["hiccup"], attempts["away"]) == (2, 3)


def test_tasks_are_taken_no_faster_than_they_end(workers):
    taken = 0

    def tasks():
        nonlocal taken
        for i in range(40):
            taken += 1
            yield str(i), (square, i)

    ahead = 1 if workers.jobs == 1 else 4
    for ended, _ in enumerate(run(call, tasks(), workers), start=1):
        assert taken - ended <= ahead
    assert ended == taken == 40


def test_in_one_process_the_order_is_kept():
    tasks = [(str(i), (i,)) for i in range(5)]
    assert [outcome.value for outcome in run(square, tasks)] == [0, 1, 4, 9, 16]


def test_what_workers_write_names_the_command(workers):
    with written_by("describe"):
        found = outcomes([("command", (running_command,))], workers)
    assert found["command"].value == "describe"


def test_one_blas_thread_each(workers):
    from threadpoolctl import threadpool_info

    found = outcomes([("info", (threadpool_info,))], workers)["info"].value
    assert {pool["num_threads"] for pool in found if pool["user_api"] == "blas"} == {1}


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux")
def test_freed_memory_is_kept_for_the_next_task(scheduler):
    # 10 MiB are 2,560 pages; Dask has them given back and fetched again each time.
    found = outcomes([("pages", (pages_of_repeated_work,))], Workers(scheduler=scheduler))
    assert found["pages"].value < 2560


@pytest.mark.parametrize("bundle", [1, 5])
def test_lost_workers_are_replaced(bundle, tmp_path):
    tasks = [(f"square{i}", (square, i)) for i in range(12)]
    tasks[3:3] = [
        ("once", (first_time, str(tmp_path / "marker"), "kill")),
        ("always", (end_worker,)),
    ]
    found = outcomes(tasks, Workers(jobs=2, bundle=bundle))
    assert [found[f"square{i}"].value for i in range(12)] == [i * i for i in range(12)]
    assert found["once"].value == "second"
    assert found["always"].attempts == 3
    assert found["always"].sentence.startswith("its worker was lost, 3 times in all")
    if bundle == 1:
        # A process that ends takes no other's task with it.
        assert {found[f"square{i}"].attempts for i in range(12)} == {1}


def end_at_first(*args):
    """The loop of a worker, which is killed before it has begun once for each of two markers."""
    for marker in os.environ["TEST_MARKERS"].split(os.pathsep):
        if not Path(marker).exists():
            Path(marker).touch()
            end_worker()
    serve(*args)


def end_always(*args):
    Path(os.environ["TEST_MARKERS"], str(os.getpid())).touch()
    end_worker()


def test_a_worker_that_is_lost_while_it_starts(monkeypatch, tmp_path, capfd):
    markers = [str(tmp_path / name) for name in "ab"]
    monkeypatch.setenv("TEST_MARKERS", os.pathsep.join(markers))
    monkeypatch.setattr(processes.worker, "serve", end_at_first)
    assert outcomes([("a", (square, 3))], Workers(jobs=2))["a"].value == 9
    assert all(Path(marker).exists() for marker in markers)
    (tmp_path / "starts").mkdir()
    monkeypatch.setenv("TEST_MARKERS", str(tmp_path / "starts"))
    monkeypatch.setattr(processes.worker, "serve", end_always)
    with pytest.raises(InputError, match="processes on this machine cannot be started"):
        outcomes([("a", (square, 3))], Workers(jobs=2))
    # Three of the one that is waited for, and the other one.
    assert len(list((tmp_path / "starts").iterdir())) in (3, 4)
    assert capfd.readouterr() == ("", "")


def listening(process):
    """Ports of a process that wait for connections."""
    connections = process.net_connections(kind="inet")
    return {each.laddr.port for each in connections if each.status == "LISTEN"}


def test_no_process_listens():
    """Whoever can reach a port of a worker could run programs in it: there is none."""
    psutil = pytest.importorskip("psutil")
    pool = run(time.sleep, [("a", (0.0,)), ("b", (0.0,))], Workers(jobs=2))
    before = set(psutil.Process().children())
    ports = listening(psutil.Process())
    next(pool)
    started = set(psutil.Process().children()) - before
    assert len(started) >= 2
    for process in started:
        for connection in process.net_connections(kind="all"):
            assert connection.status != psutil.CONN_LISTEN
            # Of a pair that has no name, so that nobody else can connect to it.
            assert connection.family == socket.AF_UNIX and not connection.laddr
    assert listening(psutil.Process()) == ports
    assert [outcome.error for outcome in pool] == [None]


def test_a_limit_below_what_a_process_takes_is_refused():
    for jobs in (1, 2):
        with pytest.raises(InputError, match=r"worker is 0\.01 GiB, and a process takes 0\..* GiB"):
            outcomes([("a", (square, 3))], Workers(jobs=jobs, memory=0.01))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of this system")
@pytest.mark.parametrize("files", [12, 14, 16, 20])
def test_few_file_descriptors(files):
    program = "import test_cluster as t; print(list(t.run(t.square, [('a', (3,))], t.Workers(2))))"
    command = ["bash", "-c", 'ulimit -n "$1"; exec "$2" -c "$3"', "", str(files), sys.executable]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)]),
    }
    done = subprocess.run([*command, program], capture_output=True, text=True, env=environment)
    assert "value=9" in done.stdout or "InputError: the processes on this machine" in done.stderr


def test_memory_of_a_worker_is_bounded():
    # A worker that takes more than its share is ended; the others' tasks are computed.
    tasks = [("small", (fill, 0.1)), ("huge", (fill, 3.0)), ("next", (fill, 0.1))]
    found = outcomes(tasks, Workers(jobs=1, memory=0.7, retries=1))
    assert found["huge"].attempts == 2
    assert "more memory" in found["huge"].sentence
    assert found["small"].value == found["next"].value == 2**30 // 80


def test_kill_9_of_a_busy_worker_loses_nothing(scheduler, tmp_path):
    tasks = [(f"file{i}", (slowly, str(tmp_path), f"file{i}")) for i in range(16)]
    killed = []
    seen = set()
    for outcome in run(call, tasks, Workers(scheduler=scheduler)):
        assert outcome.error is None
        seen.add(outcome.name)
        if len(seen) == 4:
            killed.append(outcome.value)
            os.kill(outcome.value, signal.SIGKILL)
    assert seen == {name for name, _ in tasks} == {path.name for path in tmp_path.iterdir()}
    assert killed


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_scheduler_out_of_reach_is_told_in_one_sentence(monkeypatch):
    monkeypatch.setattr(engines, "_PATIENCE", 0.5)
    for address, why in (
        (f"tcp://127.0.0.1:{free_port()}", "no scheduler answers there"),
        ("tls://127.0.0.1:9", "no certificates are set up"),
    ):
        with pytest.raises(InputError, match=why):
            list(run(square, [("a", (1,))], Workers(scheduler=address)))


@pytest.mark.parametrize("address", ["", "head", "tcp://", "tcp://head", "ucx://head:1", "a b:1"])
def test_what_is_no_address_is_told_at_once(address):
    with pytest.raises(InputError, match="is no address of a scheduler"):
        list(run(square, [("a", (1,))], Workers(scheduler=address)))


def test_a_scheduler_whose_workers_are_gone(monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(engines, "_EMPTY", 0.5)
    monkeypatch.setattr(tasks_module, "_LOOK", 0.2)
    told = []
    with LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        workers = Workers(scheduler=cluster.scheduler_address, notify=told.append)
        ended = run(time.sleep, [("short", (0.1,)), ("long", (600,))], workers)
        assert next(ended).error is None
        cluster.scale(0)
        with pytest.raises(InputError, match="has had no worker for"):
            next(ended)
    assert told[-1].startswith("the scheduler has no worker left")


def test_workers_share_the_memory_and_know_their_share():
    tasks = [("free", (memory.available,))]
    with memory.limited(6.0):
        found = {jobs: outcomes(tasks, Workers(jobs=jobs))["free"].value for jobs in (2, 3)}
    assert found == {2: pytest.approx(3.0 * memory.GIB), 3: pytest.approx(2.0 * memory.GIB)}
    free = outcomes(tasks, Workers(jobs=1, memory=0.5))["free"].value
    assert 0 < free < 2**29 - 2**26


def test_a_required_task_whose_worker_was_lost():
    found = outcomes([("gone", (end_worker,))], Workers(jobs=2, retries=0))
    found |= outcomes([("bad", (broken,)), ("good", (square, 3))], Workers(jobs=1))
    assert found["good"].required() == 9
    with pytest.raises(KeyError):
        found["bad"].required()
    with pytest.raises(InputError, match="its worker was lost"):
        found["gone"].required()


def wait_for_ever(marker):
    Path(marker).touch()
    time.sleep(600)


def test_a_scheduler_without_workers_and_one_that_is_lost(monkeypatch, tmp_path):
    from distributed import Client

    address, marker = f"tcp://127.0.0.1:{free_port()}", tmp_path / "begun"
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths}
    processes = []

    def start(program, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--no-dashboard"]
        quiet = subprocess.DEVNULL
        processes.append(subprocess.Popen([*command, *arguments], stderr=quiet, env=environment))

    def end_scheduler():
        while not marker.exists():
            time.sleep(0.05)
        processes[0].kill()

    try:
        start("dask_scheduler", "--host", address)
        with Client(address, timeout=60, set_as_default=False) as client:
            with monkeypatch.context() as patch:
                patch.setattr(engines, "_PATIENCE", 1.0)
                with pytest.raises(InputError, match="has no worker that answers"):
                    list(run(square, [("a", (1,))], Workers(scheduler=address)))
            start("dask_worker", address)
            client.wait_for_workers(1, timeout=60)
        threading.Thread(target=end_scheduler, daemon=True).start()
        with pytest.raises(InputError, match="connection to the scheduler is lost"):
            list(run(wait_for_ever, [("a", (str(marker),))], Workers(scheduler=address)))
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"memory": 0.0}, "must be positive"),
        ({"memory": float("inf")}, "must be positive and finite"),
        ({"scheduler": "tcp://x:1", "jobs": 2}, "workers of its own"),
        ({"scheduler": "tcp://x:1", "memory": 2.0}, "workers of its own"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(InputError, match=message):
        Workers(**options)


def test_without_dask_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"install finsler\[cluster\]"):
        list(run(square, [("a", (1,))], Workers(scheduler="tcp://x:1")))
