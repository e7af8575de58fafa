"""A full disk, and folders that cannot be written: one sentence, nothing half written."""

import json
import re

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
        # Each file is that of the undisturbed run, or of an epoch before, or not there.
        whole = contents(folder / f"{disk}.{number}")
        assert whole.keys() <= calm.contents[name].keys()
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
