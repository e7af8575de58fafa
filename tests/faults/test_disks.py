"""A full disk, and folders that cannot be written: one sentence, nothing half written."""

import itertools
import json
import re
import shutil

import pytest
from compared import contents, differences, undisturbed
from disturbed import COMMANDS, OUT, Fault, finish, mount_allowed


@pytest.fixture(scope="module")
def calm():
    return undisturbed()


REASON = "the kernel lets this user mount nothing"
needs_mounts = pytest.mark.skipif(not mount_allowed(), reason=REASON)

# KiB that are left: none, enough for the first files, and for some more.
FREE = dict.fromkeys(COMMANDS, (0, 16))
FREE |= {"train": (0, 4, 16, 36), "evaluate": (0, 40), "reproduce": (24, 100)}


def refusals(told):
    """What a command says when it cannot write."""
    return [line for line in told.splitlines() if line.startswith(("error: ", "failed: "))]


def unfinished(folder, calm, name):
    """The files that the undisturbed run had neither at its end nor at an earlier time."""
    found, right = contents(folder), calm.contents[name]

    def had(path):
        if path not in right or found[path] == right[path]:
            return path in right
        now, end = folder / path, calm.folder / OUT[name] / path
        return begun(rows(now, found[path]), rows(end, right[path]))

    return [path for path in found if not had(path)]


def rows(path, content):
    """The epochs of a run, or the pairs of a table; nothing of other files."""
    if path.suffix == ".jsonl":
        return [_epoch(line) for line in path.read_text().splitlines()]
    if path.suffix == ".safetensors":
        return content[0]
    return content if isinstance(content, list) else None


def _epoch(line):
    try:
        return {key: value for key, value in json.loads(line).items() if key != "seconds"}
    except json.JSONDecodeError:
        return line


def begun(some, every):
    """Whether rows are the first of all; of a pair that failed, a table holds the reason."""
    return some is not None and all(
        row == whole or (isinstance(row, dict) and row.get("error"))
        for row, whole in itertools.zip_longest(some, every[: len(some)])
    )


def test_half_a_file_is_seen(calm, tmp_path):
    files = {
        "evaluate": ("all.json", "all.md", "all.html"),
        "train": ("config.toml", "metrics.jsonl", "report.html"),
        "prepare": ("store.json",),
        "match": ("map.html",),
        "pairs": ("pairs.csv",),
    }
    for name, paths in files.items():
        folder = tmp_path / name
        shutil.copytree(calm.folder / OUT[name], folder)
        assert unfinished(folder, calm, name) == []
        for path in paths:
            whole = (folder / path).read_bytes()
            # Lines are about as long as each other: not at the end of one.
            (folder / path).write_bytes(whole[: len(whole) // 2 - 20])
            assert unfinished(folder, calm, name) == [path]
            (folder / path).write_bytes(whole)
        (folder / "more.txt").write_text("")
        assert unfinished(folder, calm, name) == ["more.txt"]


@needs_mounts
@pytest.mark.parametrize("name", COMMANDS)
def test_full_disk(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path)
    disk = OUT[name]
    code, told = finish(folder, *COMMANDS[name], fault=Fault(disk=disk, free=FREE[name]))
    assert code == 0, told
    codes = json.loads(re.search(r"codes (\[.*\])", told)[1])
    assert all(codes[:-1]) and codes[-1] == 0
    assert "Traceback" not in told
    assert len(refusals(told)) >= len(FREE[name])
    assert all("No space left on device" in line for line in refusals(told))
    for number in range(len(FREE[name])):
        assert unfinished(folder / f"{disk}.{number}", calm, name) == []
    last = contents(folder / f"{disk}.{len(FREE[name])}")
    assert differences(last, calm.contents[name]) == []


@pytest.mark.parametrize("name", ["prepare", "train", "match"])
def test_files_that_grow_too_large(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path)
    code, told = finish(folder, *COMMANDS[name], fault=Fault(largest=8_000))
    assert (code, told.count("\n")) == (2, 1), told
    assert told.startswith("error: ") and "File too large" in told
    assert contents(folder / OUT[name]).keys() < calm.contents[name].keys()
    assert finish(folder, *COMMANDS[name])[0] == 0
    assert calm.differences(name, folder) == []


@needs_mounts
@pytest.mark.parametrize("name", COMMANDS)
def test_folder_that_cannot_be_written(calm, tmp_path, name):
    folder = calm.prepared(name, tmp_path)
    (folder / OUT[name]).mkdir(exist_ok=True)
    code, told = finish(folder, *COMMANDS[name], fault=Fault(read_only=(OUT[name],)))
    assert (code, told.count("\n")) == (2, 1), told
    assert told.startswith("error: ") and "Read-only file system" in told


@needs_mounts
def test_a_store_that_cannot_be_written_is_read(calm, tmp_path):
    folder = calm.prepared("train", tmp_path)
    code, told = finish(folder, *COMMANDS["train"], fault=Fault(read_only=("store",)))
    assert code == 0, told
    assert calm.differences("train", folder) == []
