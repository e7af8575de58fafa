"""A clock that runs backwards, Ctrl-C and `kill`, and two processes at one place."""

import csv
import json
import os
import signal

import pytest
from compared import undisturbed
from disturbed import COMMANDS, Fault, finish, settings, start, wait_for

from finsler.errors import InputError
from finsler.nn.training.folder import locked
from finsler.storage.files import write_bytes


@pytest.fixture(scope="module")
def calm():
    return undisturbed()


@pytest.mark.parametrize("name", ["prepare", "train", "pairs", "describe"])
def test_clock_that_runs_backwards(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path)
    killed = Fault(write=6 if name == "train" else 2, moment="after", backwards=True)
    assert finish(folder, *COMMANDS[name], fault=killed)[0] == -signal.SIGKILL
    code, told = finish(folder, *COMMANDS[name], fault=Fault(backwards=True))
    assert code == 0, told
    assert calm.differences(name, folder) == []
    assert all(seconds >= 0.0 for seconds in durations(folder))


def durations(folder):
    for path in folder.rglob("metrics.jsonl"):
        yield from (json.loads(line)["seconds"] for line in path.read_text().splitlines())
    for path in (*folder.rglob("pairs.csv"), *folder.rglob("meshes.csv")):
        with open(path, newline="") as file:
            yield from (float(row["seconds"] or 0.0) for row in csv.DictReader(file))


LONG = settings(epochs=100_000)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal(calm, tmp_path, number):
    folder = calm.prepared("train", tmp_path)
    words = ("train", "store", "-o", "run", "--device", "cpu")
    child = start(folder, *words, *LONG)
    metrics = folder / "run" / "metrics.jsonl"
    wait_for(lambda: metrics.is_file() and metrics.read_bytes().count(b"\n") > 2)
    os.kill(child.process.pid, number)
    assert child.ended() == 128 + number
    assert child.told().count("\n") == 1 and "run the same command again" in child.told()
    done = metrics.read_bytes().count(b"\n")
    child = start(folder, *words, *LONG)
    wait_for(lambda: metrics.read_bytes().count(b"\n") > done + 2)
    os.kill(child.process.pid, number)
    assert child.ended() == 128 + number
    assert f"continuing after epoch {done}" in child.told()


@pytest.mark.parametrize("name", ["prepare", "pairs", "describe"])
def test_two_at_once(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path)
    children = [start(folder, *COMMANDS[name]) for _ in range(2)]
    assert [child.ended() for child in children] == [0, 0]
    assert calm.differences(name, folder) == []
    assert not list(folder.rglob(".*.tmp"))


def test_one_training_in_a_folder(calm, tmp_path):
    folder = calm.prepared("train", tmp_path)
    (folder / "run").mkdir()
    with locked(folder / "run"):
        code, told = finish(folder, *COMMANDS["train"])
        assert (code, told.count("\n")) == (2, 1), told
        assert "another process works in this folder" in told
        with pytest.raises(InputError, match="another process"), locked(folder / "run"):
            pass
    assert finish(folder, *COMMANDS["train"])[0] == 0
    assert calm.differences("train", folder) == []


def write_often(path, letter):
    for _ in range(300):
        write_bytes(path, letter * 100_000)


def test_one_file_written_by_two(tmp_path):
    import multiprocessing

    path = tmp_path / "file"
    context = multiprocessing.get_context("forkserver")
    writers = [context.Process(target=write_often, args=(path, letter)) for letter in (b"a", b"b")]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            content = path.read_bytes()
            assert len(content) == 100_000 and len(set(content)) == 1
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
