"""Packing, preparing, and what happens when it is interrupted or damaged."""

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import finsler
from finsler import MeshWarning, TriMesh, primitives
from finsler.cli.main import main
from finsler.compute.cluster import Workers
from finsler.data import (
    Collection,
    PrepareConfig,
    Shape,
    Store,
    open_collection,
    pack,
    packed,
    prepare,
    write_collection,
)
from finsler.data.store import PreparationError, key_of, normalised, prepare_shape
from finsler.mesh.measures import edge_lengths

CONFIG = PrepareConfig(angles=2, descriptor="xyz", eigenpairs=5)


def shapes(count=4, frequency=5):
    made = {}
    for i in range(count):
        mesh = primitives.bumpy_sphere(frequency, amplitude=0.1 + 0.03 * i)
        labels = np.random.default_rng(i).permutation(mesh.n_vertices)
        exact = np.random.default_rng(100 + i).uniform(size=mesh.n_vertices) < 0.7
        made[f"shape{i}"] = Shape(
            f"shape{i}", TriMesh(10.0 * mesh.vertices, mesh.faces), labels, exact
        )
    return made


def collection(count=4, frequency=5):
    made = shapes(count, frequency)
    names = tuple(made)
    return Collection("bumps", names[:-1], names[-1:], names[0], made.__getitem__)


def with_fins():
    """Of three shapes the second and third have an edge with three faces."""
    made = shapes(3)
    for name in ("shape1", "shape2"):
        whole = made[name]
        first, second = whole.mesh.faces[0, :2]
        tip = [*whole.mesh.vertices, 1.5 * whole.mesh.vertices[first]]
        mesh = TriMesh(tip, [*whole.mesh.faces, [first, second, len(tip) - 1]])
        labels, named = np.append(whole.labels, 0), np.append(whole.named, False)
        made[name] = Shape(name, mesh, labels, named)
    names = tuple(made)
    return Collection("fins", names[:-1], names[-1:], names[0], made.__getitem__)


@pytest.fixture(scope="module")
def bumps():
    return collection()


class TestPack:
    def test_round_trip_without_loss(self, bumps, tmp_path):
        pack(bumps, tmp_path / "bumps.npz")
        again = packed(tmp_path / "bumps.npz")
        assert (again.name, again.train, again.test, again.reference) == (
            bumps.name,
            bumps.train,
            bumps.test,
            bumps.reference,
        )
        for name in bumps.names:
            here, there = bumps[name], again[name]
            assert np.array_equal(here.mesh.vertices, there.mesh.vertices)
            assert np.array_equal(here.mesh.faces, there.mesh.faces)
            assert np.array_equal(here.labels, there.labels)
            assert np.array_equal(here.named, there.named)
            assert key_of(here, CONFIG) == key_of(there, CONFIG)

    def test_hundred_shapes_of_faust_size_fit_in_64_mib(self, tmp_path):
        few = collection(3, frequency=22)
        pack(few, tmp_path / "few.npz")
        each = (tmp_path / "few.npz").stat().st_size / 3
        assert 100 * each < 64 * 2**20

    def test_damaged_files(self, bumps, tmp_path):
        path = tmp_path / "bumps.npz"
        with pytest.raises(finsler.InputError, match="no such file"):
            packed(path)
        pack(bumps, path)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(finsler.InputError, match=r"bumps\.npz"):
            packed(path)
        path.write_bytes(whole)
        with np.load(path) as data:
            arrays = dict(data)
        np.savez(path, **{**arrays, "labels": arrays["labels"][:-1]})
        with pytest.raises(finsler.InputError, match="do not fit together"):
            packed(path)
        np.savez(path, **{**arrays, "about": np.array("{}")})
        with pytest.raises(finsler.InputError, match="damaged"):
            packed(path)
        text = str(arrays["about"]).replace('"version": 2', '"version": 99')
        np.savez(path, **{**arrays, "about": np.array(text)})
        with pytest.raises(finsler.InputError, match="format 99"):
            packed(path)


def forged_list(**about):
    whole = {"format": 3, "name": "a", "train": [], "test": [], "reference": "x", "keys": {}}
    return json.dumps({**whole, "config": {}, **about})


class TestPrepare:
    def test_holds_what_the_library_computes(self, bumps, tmp_path):
        done = prepare(bumps, tmp_path / "store", CONFIG)
        assert (done.computed, done.kept, done.repaired) == (4, 0, 0)
        store = Store.open(tmp_path / "store")
        assert store.names == bumps.names and store.config == CONFIG
        for name in bumps.names:
            found, shape = store[name], bumps[name]
            mesh = TriMesh(found.vertices.astype(float), found.faces)
            assert finsler.mesh.surface_area(mesh) == pytest.approx(1.0, rel=1e-5)
            assert np.array_equal(found.labels, shape.labels)
            assert np.array_equal(found.named, shape.named)
            stack = finsler.angle_stack(shape.mesh, angles=2)
            operators = finsler.chebyshev_operators(stack)
            # Rescaled operators do not depend on units.
            assert np.allclose(found.values, operators.values, atol=1e-5)
            area = finsler.mesh.surface_area(shape.mesh)
            assert np.allclose(area * found.mass, stack.mass, rtol=1e-4)
            assert np.allclose(found.lambda_max, operators.lambda_max, rtol=1e-6)
            assert found.eigenvectors.shape == (shape.mesh.n_vertices, 5)
            assert found.values.dtype == found.features.dtype == np.float32

    def test_second_run_finds_everything(self, bumps, tmp_path):
        prepare(bumps, tmp_path, CONFIG)
        seen = []
        again = prepare(bumps, tmp_path, CONFIG, progress=lambda *event: seen.append(event))
        assert (again.computed, again.kept) == (0, 4)
        assert seen == [(name, "kept") for name in bumps.names]

    def test_several_processes_give_the_same_files(self, bumps, tmp_path):
        prepare(bumps, tmp_path / "one", CONFIG)
        prepare(bumps, tmp_path / "two", CONFIG, jobs=2)
        assert contents(tmp_path / "one") == contents(tmp_path / "two")

    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "albo"},
            {"alpha": 5.0},
            {"tau": 0.2},
            {"angles": 3},
            {"smoothing": 3},
            {"normalization": "plain"},
            {"omega": "curved"},
            {"peak": 0.5},
            {"descriptor": "none"},
            {"radius": 0.1},
            {"bins": 8},
            {"eigenpairs": 0},
            {"support": 0.3},
            {"support_apart": True},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_every_parameter_is_part_of_the_key(self, bumps, change):
        shape = bumps["shape0"]
        assert key_of(shape, CONFIG) != key_of(shape, dataclasses.replace(CONFIG, **change))

    @pytest.mark.parametrize("change", [{"field": "hks"}, {"peclet": 0.5}, {"field_alpha": 2.0}])
    def test_parameters_of_a_drift_are_part_of_the_key_of_directed_operators(self, bumps, change):
        shape, directed = bumps["shape0"], dataclasses.replace(CONFIG, kind="directed")
        assert key_of(shape, directed) != key_of(shape, dataclasses.replace(directed, **change))
        assert key_of(shape, CONFIG) == key_of(shape, dataclasses.replace(CONFIG, **change))

    def test_content_is_part_of_the_key(self, bumps):
        shape = bumps["shape0"]
        keys = {key_of(shape, CONFIG)}
        vertices = shape.mesh.vertices.copy()
        vertices[3, 1] += 1e-12
        moved = dataclasses.replace(shape, mesh=TriMesh(vertices, shape.mesh.faces))
        relabelled = dataclasses.replace(shape, labels=shape.labels[::-1].copy())
        masked = dataclasses.replace(shape, named=~shape.named)
        listed = dataclasses.replace(shape, points=np.arange(len(shape.labels)))
        keys |= {key_of(other, CONFIG) for other in (moved, relabelled, masked, listed)}
        assert len(keys) == 5

    def test_keys_of_stores_that_exist_stay(self):
        faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
        corners = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], faces)
        shape = Shape("t", corners, np.arange(4), np.array([True, False, True, True]))
        key = key_of(shape, PrepareConfig())
        assert key == "00d9f2d87a6e56590dd8081f77860776c7c282c1bef94f8d391f5aa9692f15b9"

    def test_every_field_of_the_configuration_is_tried_above(self):
        assert len(dataclasses.fields(PrepareConfig)) == 14 + 3 + 1

    def test_supports_are_kept(self, bumps, tmp_path):
        config = dataclasses.replace(CONFIG, support=0.2, eigenpairs=0)
        store = prepare(bumps, tmp_path / "store", config).store
        found = store["shape1"].support
        expected = prepare_shape(bumps["shape1"], config).support
        for field in dataclasses.fields(expected):
            there, here = getattr(found, field.name), getattr(expected, field.name)
            assert np.array_equal(there, here), field.name
        assert found.r.max() <= 0.2 * (1.0 + 1e-6)
        without = prepare(bumps, tmp_path / "without", dataclasses.replace(CONFIG, eigenpairs=0))
        assert without.store["shape1"].support is None

    def test_supports_that_fall_apart_name_the_shape(self, bumps, tmp_path):
        config = dataclasses.replace(CONFIG, support=1e-4)
        with pytest.raises(finsler.InputError, match=r"shape shape0: .*choose a larger one"):
            prepare(bumps, tmp_path / "store", config)

    def test_supports_may_fall_apart_where_that_is_said(self, bumps, tmp_path):
        lengths = edge_lengths(normalised(bumps["shape0"].mesh))
        config = dataclasses.replace(CONFIG, support=float(np.quantile(lengths, 0.1)), eigenpairs=0)
        with pytest.raises(finsler.InputError, match=r"shape0: .*fall into .*--support-apart"):
            prepare(bumps, tmp_path / "store", config)
        apart = dataclasses.replace(config, support_apart=True)
        found = prepare(bumps, tmp_path / "store", apart).store["shape0"].support
        assert np.diff(found.indptr).min() == 1

    def test_the_command_for_operators_agrees(self, tmp_path, monkeypatch):
        """At any smoothing, which the strength of ω follows as well as the frames."""
        mesh = primitives.bumpy_sphere(16)
        n = mesh.n_vertices
        shape = Shape("bumps", mesh, np.arange(n), np.ones(n, dtype=bool))
        pack(Collection("one", ("bumps",), (), "bumps", lambda name: shape), tmp_path / "one.npz")
        finsler.write_mesh(tmp_path / "bumps.ply", mesh)
        options = ["--omega", "curved", "--smoothing", "3", "--angles", "2"]
        for words in (
            f"operator {tmp_path}/bumps.ply -o {tmp_path}/operators.npz --chebyshev reference",
            f"prepare pack:{tmp_path}/one.npz -o {tmp_path}/store --normalization reference"
            " --descriptor none --jobs 1",
        ):
            monkeypatch.setattr(sys, "argv", ["finsler", *words.split(), *options])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
        prepared = Store.open(tmp_path / "store")["bumps"]
        with np.load(tmp_path / "operators.npz") as operators:
            assert np.allclose(prepared.values, operators["values"], atol=1e-5)
            assert np.array_equal(prepared.indices, operators["indices"])

    def test_varying_omega_changes_the_operators(self, bumps):
        reference = dataclasses.replace(CONFIG, normalization="reference", eigenpairs=0)
        constant = prepare_shape(bumps["shape0"], reference)
        varying = prepare_shape(bumps["shape0"], dataclasses.replace(reference, omega="curved"))
        assert np.abs(constant.values - varying.values).max() > 0.01

    @pytest.mark.parametrize(("name", "released"), [("shot", False), ("shot_released", True)])
    def test_shot_features(self, bumps, name, released):
        config = dataclasses.replace(CONFIG, descriptor=name, radius=0.2, eigenpairs=0)
        found = prepare_shape(bumps["shape0"], config)
        mesh = TriMesh(found.vertices.astype(float), found.faces)
        expected = finsler.shot(mesh, radius=0.2, as_released=released)
        assert found.features.shape == (mesh.n_vertices, 352)
        # Single precision moves a few points over the border of a bin.
        assert (np.abs(found.features - expected).max(axis=1) < 1e-4).mean() > 0.9

    def test_shot_in_two_balls(self, bumps):
        config = dataclasses.replace(CONFIG, descriptor="shot_two", eigenpairs=0)
        found = prepare_shape(bumps["shape0"], config)
        mesh = TriMesh(found.vertices.astype(float), found.faces)
        assert config.channels == found.features.shape[1] == 704
        for radius, part in zip((0.09, 0.18), np.split(found.features, 2, axis=1), strict=True):
            expected = finsler.shot(mesh, radius=radius)
            assert (np.abs(part - expected).max(axis=1) < 1e-4).mean() > 0.9, radius

    def test_damaged_entries_are_computed_anew(self, bumps, tmp_path):
        prepare(bumps, tmp_path, CONFIG)
        before = contents(tmp_path)
        entries = sorted((tmp_path / "entries").iterdir())
        entries[0].write_bytes(entries[0].read_bytes()[:1000])
        flipped = bytearray(entries[1].read_bytes())
        flipped[len(flipped) // 2] ^= 0xFF
        entries[1].write_bytes(bytes(flipped))
        entries[2].unlink()
        broken = Store.open(tmp_path)
        names = {key: name for name, key in broken.keys.items()}
        for entry in entries[:3]:
            with pytest.raises(finsler.InputError, match="npz"):
                broken[names[entry.stem]]
        again = prepare(bumps, tmp_path, CONFIG)
        assert (again.computed, again.kept, again.repaired) == (1, 1, 2)
        assert contents(tmp_path) == before

    def test_a_bad_shape_is_named(self, bumps, tmp_path):
        bad = TriMesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
        broken = Shape("flat", bad, np.zeros(3, dtype=np.int64), np.ones(3, dtype=bool))
        made = Collection("bad", ("flat",), (), "flat", lambda name: broken)
        for jobs in (1, 2):
            with pytest.raises(finsler.InputError, match="shape flat: face 0 has no area"):
                prepare(made, tmp_path, CONFIG, jobs=jobs)
        with pytest.raises(finsler.InputError, match="no finished store"):
            Store.open(tmp_path)

    def test_bad_shapes_do_not_stop_the_others(self, bumps, tmp_path):
        bad = TriMesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
        flat = Shape("flat", bad, np.zeros(3, dtype=np.int64), np.ones(3, dtype=bool))

        def load(name):
            if name == "unread":
                raise finsler.InputError("unread.off: cut short")
            return flat if name == "flat" else bumps[name]

        train, test = ("unread", *bumps.train), ("flat", *bumps.test)
        mixed = Collection("mixed", train, test, bumps.reference, load)
        events = []
        with pytest.raises(PreparationError, match="2 of 6 shapes") as raised:
            prepare(mixed, tmp_path, CONFIG, progress=lambda *event: events.append(event))
        assert set(raised.value.failed) == {"unread", "flat"}
        assert raised.value.failed["unread"] == "unread.off: cut short"
        assert "face 0 has no area" in raised.value.failed["flat"]
        assert events.count(("flat", "failed")) == 1
        with pytest.raises(finsler.InputError, match="no finished store"):
            Store.open(tmp_path)
        done = prepare(mixed, tmp_path, CONFIG, skip_failed=True)
        assert (done.computed, done.kept) == (0, 4)
        store = Store.open(tmp_path)
        assert (store.train, store.test) == (bumps.train, bumps.test)
        assert store.failed == done.failed == raised.value.failed

    def test_a_finished_store_stays_where_a_later_run_fails(self, bumps, tmp_path):
        prepare(bumps, tmp_path, CONFIG)
        before, listed = contents(tmp_path), (tmp_path / "store.json").read_bytes()

        def load(name):
            if name == "shape1":
                raise finsler.InputError("shape1.off: cut short")
            return bumps[name]

        spoilt = dataclasses.replace(bumps, load=load)
        with pytest.raises(PreparationError, match="1 of 4 shapes"):
            prepare(spoilt, tmp_path, CONFIG)
        assert (tmp_path / "store.json").read_bytes() == listed
        assert contents(tmp_path) == before
        store = Store.open(tmp_path)
        assert [store[name].name for name in store.names] == list(bumps.names)

    def test_another_store_is_not_replaced_unasked(self, bumps, tmp_path):
        prepare(bumps, tmp_path, CONFIG)
        listed = (tmp_path / "store.json").read_bytes()
        fewer = dataclasses.replace(bumps, train=bumps.train[:-1])
        for other, config, why in (
            (bumps, dataclasses.replace(CONFIG, alpha=3.0), "alpha = 10.0, not 3.0"),
            (dataclasses.replace(bumps, name="dents"), CONFIG, "another collection, bumps"),
            (fewer, CONFIG, "another collection, bumps with 4 shapes"),
        ):
            with pytest.raises(finsler.InputError, match=rf"{why}.*; .*--overwrite"):
                prepare(other, tmp_path, config)
            assert (tmp_path / "store.json").read_bytes() == listed
            assert len(list((tmp_path / "entries").iterdir())) == 4
        done = prepare(fewer, tmp_path, CONFIG, overwrite=True)
        assert Store.open(tmp_path).names == done.store.names == fewer.names
        # A list that is damaged is replaced.
        (tmp_path / "store.json").write_bytes(listed[:-20])
        prepare(fewer, tmp_path, dataclasses.replace(CONFIG, alpha=3.0))

    @pytest.mark.parametrize(
        ("field", "forge"),
        [
            ("features", lambda array: array[:, 0]),
            ("features", lambda array: array.astype(str)),
            ("features", lambda array: array[:, :2]),
            ("features", lambda array: array.astype(bool)),
            ("labels", lambda array: array.astype(float)),
            ("exact", lambda array: array.astype(np.float32)),
            ("mass", lambda array: array[:, None]),
            ("lambda_max", lambda array: array[:1]),
            ("theta", lambda array: array.astype(str)),
            ("eigenvalues", lambda array: array[:, None]),
            ("values", lambda array: array[:1]),
        ],
    )
    def test_forged_entries(self, bumps, tmp_path, field, forge):
        store = prepare(bumps, tmp_path, CONFIG).store
        path = tmp_path / "entries" / f"{store.keys['shape1']}.npz"
        with np.load(path) as data:
            arrays = {name: data[name] for name in data.files}
        np.savez(path, **{**arrays, field: forge(arrays[field])})
        with pytest.raises(finsler.InputError, match=r"the arrays do not fit together.*anew"):
            store["shape1"]
        assert prepare(bumps, tmp_path, CONFIG).repaired == 1
        assert store["shape1"].features.shape[1] == 3

    def test_labels_that_cannot_be_read_stop_no_other_shape(self, bumps, tmp_path, monkeypatch):
        write_collection(tmp_path / "shapes", bumps)
        read = Path.read_bytes

        def forbidden(path):
            if path.name == "shape2.vts":
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return read(path)

        monkeypatch.setattr(Path, "read_bytes", forbidden)
        shapes = open_collection(str(tmp_path / "shapes"))
        done = prepare(shapes, tmp_path / "store", CONFIG, skip_failed=True)
        assert done.computed == 3 and list(done.failed) == ["shape2"]
        sentence = "shape2.vts: the file cannot be read (Permission denied); check its rights"
        assert done.failed["shape2"].endswith(sentence)

    def test_defects_are_named(self, tmp_path):
        with pytest.warns(MeshWarning) as caught:
            prepare(with_fins(), tmp_path, CONFIG)
        told = [str(warning.message).partition(": ") for warning in caught]
        edges = "the mesh has 1 edge with more than two faces: "
        named = [name for name, _, sentence in told if sentence.startswith(edges)]
        assert sorted(named) == ["shape1", "shape2"]
        assert {name for name, _, _ in told} == {"shape1", "shape2"}
        assert len(set(told)) == len(told)

    def test_workers_may_read_the_shapes_themselves(self, bumps, tmp_path):
        pack(bumps, tmp_path / "bumps.npz")
        source = f"pack:{tmp_path}/bumps.npz"
        prepare(bumps, tmp_path / "sent", CONFIG)
        prepare(packed(tmp_path / "bumps.npz"), tmp_path / "read", CONFIG, source=source)
        assert contents(tmp_path / "sent") == contents(tmp_path / "read")

    def test_refusals(self, bumps, tmp_path):
        with pytest.raises(finsler.InputError, match="jobs is 0"):
            prepare(bumps, tmp_path, CONFIG, jobs=0)
        with pytest.raises(finsler.InputError, match="descriptor must be"):
            dataclasses.replace(CONFIG, descriptor="magic")
        prepare(bumps, tmp_path, CONFIG)
        with pytest.raises(finsler.InputError, match="no shape 'nobody'"):
            Store.open(tmp_path)["nobody"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("not json", "damaged"),
            ("[]", "damaged"),
            ('{"format": 77}', "format 77"),
            ('{"format": 3, "config": {"magic": 1}}', "damaged"),
            (forged_list(config={"magic": 1}), "there is no setting 'magic'"),
            (forged_list(config={"smoothing": 1_000_000_000}), "smoothing is 1000000000"),
            (forged_list(config={"bins": 10**9}), "bins is 1000000000"),
            (forged_list(config={"alpha": "10"}), "alpha is '10'; it must be a number"),
            (forged_list(config=[]), "config is .*; it must be a table"),
            (forged_list(train="abc"), "train is 'abc'; it must be a list"),
            (forged_list(name=7), "name is 7; it must be a text"),
            (forged_list(keys={"x": 7}), "keys of x is 7; it must be a text"),
            (forged_list(extra=1), "there is no setting 'extra'"),
            (
                '{"format": 3, "config": {}, "name": "a", "train": [], "test": [],'
                ' "reference": "x", "keys": {"x": "../../etc/passwd"}}',
                "in place of a key",
            ),
        ],
    )
    def test_forged_lists(self, tmp_path, text, message):
        (tmp_path / "store.json").write_text(text)
        with pytest.raises(finsler.InputError, match=message):
            Store.open(tmp_path)


def contents(folder):
    """Arrays of every entry (the record beside them holds no result)."""
    found = {}
    for path in sorted((folder / "entries").glob("*.npz")):
        with np.load(path) as data:
            found[path.name] = {
                name: data[name].tobytes() for name in data.files if name != "config"
            }
    return found


def test_killed_and_run_again_gives_the_undisturbed_store(tmp_path):
    pack(collection(8, frequency=12), tmp_path / "bumps.npz")
    command = [sys.executable, "-m", "finsler.cli.main", "prepare", f"pack:{tmp_path}/bumps.npz"]
    options = ["--descriptor", "xyz", "--eigenpairs", "60", "--jobs", "1"]

    def run(store):
        return subprocess.Popen(
            [*command, "--out", str(store), *options],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    assert run(tmp_path / "calm").wait() == 0
    victim = run(tmp_path / "killed")
    entries = tmp_path / "killed" / "entries"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (
        entries.is_dir() and len(list(entries.glob("*.npz"))) >= 2
    ):
        time.sleep(0.002)
    os.killpg(victim.pid, signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    with pytest.raises(finsler.InputError, match="no finished store"):
        Store.open(tmp_path / "killed")
    assert len(list(entries.glob("*.npz"))) < 8
    assert run(tmp_path / "killed").wait() == 0
    assert contents(tmp_path / "killed") == contents(tmp_path / "calm")


def test_a_worker_killed_while_it_prepares_changes_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    many = collection(8, frequency=8)
    config = dataclasses.replace(CONFIG, eigenpairs=40)
    prepare(many, tmp_path / "calm", config)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        killed = []

        def kill(name, outcome):
            if not killed:
                killed.append(name)
                os.kill(victim, signal.SIGKILL)

        crew = Workers(scheduler=cluster.scheduler_address)
        done = prepare(many, tmp_path / "killed", config, workers=crew, progress=kill)
    assert killed and done.failed == {}
    assert contents(tmp_path / "killed") == contents(tmp_path / "calm")
    assert list(done.store.keys) == list(Store.open(tmp_path / "calm").keys)


def test_prepare_command_names_what_failed(tmp_path, capsys, monkeypatch):
    bumps = collection(2)
    bad = TriMesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    flat = Shape("flat", bad, np.zeros(3, dtype=np.int64), np.ones(3, dtype=bool))
    load = {"flat": flat, **{name: bumps[name] for name in bumps.names}}.__getitem__
    mixed = Collection("mixed", (*bumps.train, "flat"), bumps.test, bumps.reference, load)
    pack(mixed, tmp_path / "mixed.npz")
    store = str(tmp_path / "store")
    command = ["finsler", "prepare", f"pack:{tmp_path}/mixed.npz", "-o", store, "--json"]
    command += ["--descriptor", "xyz", "--angles", "2", "--jobs", "1"]
    for more, finished in (([], False), (["--skip-failed"], True)):
        monkeypatch.setattr(sys, "argv", [*command, *more])
        with pytest.raises(SystemExit) as stopped:
            main()
        told = capsys.readouterr()
        assert stopped.value.code == 1
        assert "failed: flat: face 0 has no area" in told.err
        assert list(json.loads(told.out)["failed"]) == ["flat"]
        assert (tmp_path / "store" / "store.json").exists() == finished
    monkeypatch.setattr(sys, "argv", [*command, "--scheduler", "tcp://127.0.0.1:9"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "workers of its own" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_prepare_command_names_defects(tmp_path, capfd, monkeypatch, jobs):
    pack(with_fins(), tmp_path / "fins.npz")
    command = ["finsler", "prepare", f"pack:{tmp_path}/fins.npz", "-o", str(tmp_path / "store")]
    command += ["--json", "--descriptor", "xyz", "--angles", "2", "--jobs", jobs]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    told = capfd.readouterr()
    notes = json.loads(told.out)["warnings"]
    assert sorted(notes) == ["shape1", "shape2"]
    lines = [f"note: {name}: {text}" for name, texts in notes.items() for text in texts]
    assert told.err.splitlines() == lines


def test_pack_command(tmp_path):
    pack(collection(3), tmp_path / "first.npz")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "finsler.cli.main", "data", "pack"),
            *(f"pack:{tmp_path}/first.npz", "-o", str(tmp_path / "second.npz")),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "bumps, 3 shapes" in done.stdout
    assert packed(tmp_path / "second.npz").names == collection(3).names
