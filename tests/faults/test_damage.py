"""Files that are cut or changed: mended where they can be computed, else named; never used."""

import dataclasses
import shutil
import zipfile

import numpy as np
import pytest
from compared import undisturbed
from disturbed import COMMANDS, finish

from finsler.data import Store
from finsler.data.store.catalog import entry_path
from finsler.data.store.entry import read_entry
from finsler.errors import InputError


@pytest.fixture(scope="module")
def calm():
    return undisturbed()


def flip(content, place):
    changed = bytearray(content)
    changed[place] ^= 1 << (place % 8)
    return bytes(changed)


CUTS = {
    "empty": lambda whole: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "last byte": lambda whole: whole[:-1],
    "one bit": lambda whole: flip(whole, len(whole) // 3),
}


def damage(path, kind):
    path.write_bytes(CUTS[kind](path.read_bytes()))


def entry(folder, name):
    store = Store.open(folder / "store")
    return entry_path(store.folder, store.keys[name])


def test_a_changed_bit_anywhere_is_found_or_changes_nothing(calm, tmp_path):
    source, config = entry(calm.folder, "b"), Store.open(calm.folder / "store").config
    whole, path = source.read_bytes(), tmp_path / "entry.npz"
    right = dataclasses.asdict(read_entry(source, "b", config))
    content = np.zeros(len(whole), dtype=bool)
    with zipfile.ZipFile(source) as archive:
        ends = [*(info.header_offset for info in archive.infolist()[1:]), archive.start_dir]
        for info, end in zip(archive.infolist(), ends, strict=True):
            content[end - info.file_size : end] = True
    assert content.sum() > 8000
    for position in np.random.default_rng(0).choice(len(whole), 300, replace=False):
        path.write_bytes(flip(whole, int(position)))
        try:
            read = dataclasses.asdict(read_entry(path, "b", config))
        except InputError:
            continue
        # What is not found lies in the archive's own tables, such as dates.
        assert not content[position]
        assert all(np.array_equal(read[field], right[field]) for field in right)


def test_a_changed_bit_of_the_list_is_found(calm, tmp_path):
    (tmp_path / "store").mkdir()
    path = tmp_path / "store" / "store.json"
    whole = (calm.folder / "store" / "store.json").read_bytes()
    path.write_bytes(whole)
    right, told = Store.open(path.parent), []
    for place in range(0, len(whole), 3):
        path.write_bytes(flip(whole, place))
        try:
            assert vars(Store.open(path.parent)) == vars(right)
        except InputError as error:
            told.append(str(error))
    assert len(told) > len(whole) / 5
    assert all("store.json" in sentence and "prepare" in sentence for sentence in told)


def mended(calm, folder, name, kind):
    """Whether results that are found again, but damaged, are computed anew."""
    calm.prepared(name, folder)
    shutil.copytree(calm.folder / name, folder / name)
    for path in (folder / name).glob("*.npz"):
        damage(path, kind)
    assert finish(folder, *COMMANDS[name])[0] == 0
    return calm.differences(name, folder) == []


def test_maps(calm, tmp_path):
    assert mended(calm, tmp_path, "pairs", "half")


def test_maps_with_a_bit_changed(calm, tmp_path):
    assert mended(calm, tmp_path, "pairs", "one bit")


@pytest.mark.parametrize("kind", CUTS)
class TestDamage:
    def test_of_a_store(self, calm, tmp_path, kind):
        folder = calm.prepared("train", tmp_path)
        path = entry(folder, "b")
        damage(path, kind)
        code, told = finish(folder, *COMMANDS["train"])
        assert (code, told.count("\n")) == (2, 1), told
        assert path.name in told and "finsler prepare computes that entry anew" in told
        assert finish(folder, *COMMANDS["prepare"])[0] == 0
        assert calm.differences("prepare", folder) == []

    def test_of_descriptors(self, calm, tmp_path, kind):
        assert mended(calm, tmp_path, "describe", kind)

    def test_of_distances_and_predictions(self, calm, tmp_path, kind):
        folder = calm.prepared("evaluate", tmp_path)
        shutil.copytree(calm.folder / "evaluate", folder / "evaluate", dirs_exist_ok=True)
        damage(next((folder / "evaluate" / "cache").glob("*.npz")), kind)
        assert finish(folder, *COMMANDS["evaluate"])[0] == 0
        assert calm.differences("evaluate", folder) == []
        damage(folder / "run" / "predictions.npz", kind)
        code, told = finish(folder, *COMMANDS["evaluate"])
        assert (code, told.count("\n")) == (2, 1), told
        assert "run/predictions.npz" in told

    def test_of_a_checkpoint(self, calm, tmp_path, kind):
        folder = calm.prepared("train", tmp_path)
        shutil.copytree(calm.folder / "run", folder / "run")
        damage(folder / "run" / "last.safetensors", kind)
        code, told = finish(folder, *COMMANDS["train"])
        assert (code, told.count("\n")) == (2, 1), told
        assert "run/last.safetensors" in told and "--restart" in told
        assert finish(folder, *COMMANDS["train"], "--restart")[0] == 0
        assert calm.differences("train", folder) == []
