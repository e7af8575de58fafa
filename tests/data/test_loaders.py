import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import fakesets
from finsler.data.collection import Collection, Shape
from finsler.data.sets.faust import faust_r, faust_registrations
from finsler.data.sets.folder import write_collection
from finsler.data.sets.opening import find_collections, open_collection
from finsler.data.sets.scape import scape_r
from finsler.data.sets.shrec16 import shrec16
from finsler.data.sets.tosca import TOSCA_CATEGORIES, tosca_r
from finsler.errors import InputError
from finsler.mesh import primitives

REAL = os.environ.get("FINSLER_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="FINSLER_DATA names no folder")
LAYOUTS = [
    {"off": "off", "corres": "corres"},
    {"off": "shapes", "corres": "corres", "ending": ".ply"},
    {"off": "meshes", "corres": "corr", "ending": ".obj"},
    {"off": "off_2", "corres": "corres"},
    {"off": "vtx_5k", "corres": "vtx_5k/corres"},
    {"off": ".", "corres": "."},
]


def assert_true_labels(collection, fake):
    """Exact vertices lie where their label says; the others take a label that is in use."""
    reference = fake.place[collection.reference]
    for shape in collection:
        place = fake.place[shape.name]
        assert np.array_equal(reference[shape.labels[shape.named]], place[shape.named])
        assert np.array_equal(np.sort(np.unique(fake.points)), np.sort(place[shape.named]))
        assert np.isin(reference[shape.labels], fake.points).all()


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout["off"])
def test_faust_r_in_every_layout(tmp_path, layout):
    fake = fakesets.remeshed(tmp_path / "FAUST_r", fakesets.FAUST, **layout)
    collection = faust_r(tmp_path / "FAUST_r")
    assert (len(collection.train), len(collection.test)) == (80, 20)
    assert collection.train[0] == collection.reference == "tr_reg_000"
    assert collection.test[0] == "tr_reg_080"
    assert_true_labels(collection, fake)
    assert faust_r(tmp_path).names == collection.names


def test_scape_r_has_no_number_51(tmp_path):
    fake = fakesets.remeshed(tmp_path / "SCAPE_r", fakesets.SCAPE)
    collection = scape_r(tmp_path)
    assert (len(collection.train), len(collection.test)) == (51, 20)
    assert (collection.train[-1], collection.test[0]) == ("mesh050", "mesh052")
    assert_true_labels(collection, fake)


def test_tosca_r_orders_by_number_and_keeps_a_fifth_for_testing(tmp_path):
    names = [f"cat{i}" for i in range(11)]
    fake = fakesets.remeshed(tmp_path / "TOSCA_r", names)
    fakesets.numbers(tmp_path / "TOSCA_r" / "corres" / "cat_sampleID.vts", [1])
    fakesets.numbers(tmp_path / "TOSCA_r" / "corres" / "cat0.sym.vts", [1])
    collection = tosca_r(tmp_path, "cat")
    assert collection.names == tuple(names) and collection.test == ("cat8", "cat9", "cat10")
    assert_true_labels(collection, fake)


def test_registrations_are_labelled_by_the_identity(tmp_path):
    fakesets.registrations(tmp_path / "MPI-FAUST" / "training" / "registrations")
    for root in (tmp_path, tmp_path / "MPI-FAUST", tmp_path / "MPI-FAUST" / "training"):
        collection = faust_registrations(root)
        assert (len(collection.train), len(collection.test)) == (80, 20)
    shape = collection["tr_reg_099"]
    assert np.array_equal(shape.labels, np.arange(12)) and shape.named.all()


def test_a_registration_of_another_size_is_named(tmp_path):
    fakesets.registrations(tmp_path)
    fakesets.write_mesh(tmp_path / "tr_reg_007.ply", primitives.sphere(2))
    with pytest.raises(InputError, match=r"tr_reg_007.ply: the mesh has 42 vertices .* has 12"):
        faust_registrations(tmp_path)["tr_reg_007"]


def test_a_collection_survives_pickling(tmp_path):
    fakesets.remeshed(tmp_path, [f"wolf{i}" for i in range(3)])
    copy = pickle.loads(pickle.dumps(tosca_r(tmp_path, "wolf")))
    assert copy["wolf2"].mesh.n_vertices == 42


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"off": ".", "corres": ".", "truth": ".baryc_gt"},
        {"off": "shapes", "corres": "corres", "truth": ".baryc_gt"},
        {"part": "train_cuts"},
        {"part": "train/cuts"},
    ],
    ids=str,
)
def test_shrec16_in_every_layout(tmp_path, layout):
    maps = fakesets.shrec16(tmp_path / "SHREC16", **layout)
    for root in (tmp_path / "SHREC16", tmp_path):
        collection = shrec16(root, "cuts", "cat")
        assert collection.reference == "cat"
        assert collection.train == tuple(f"cuts_cat_shape_{k}" for k in range(1, 11))
        assert collection.test == tuple(f"cuts_cat_shape_{k}" for k in range(11, 16))
    null = collection["cat"]
    assert np.array_equal(null.labels, np.arange(null.mesh.n_vertices)) and null.named.all()
    for shape in collection:
        assert np.array_equal(shape.labels, maps[shape.name]) and shape.named.all()
        assert np.array_equal(shape.mesh.vertices, null.mesh.vertices[shape.labels])


def test_shrec16_holes_split_six_and_four(tmp_path):
    fakesets.shrec16(tmp_path, kind="holes", count=10)
    collection = shrec16(tmp_path, "holes", "cat")
    assert (len(collection.train), len(collection.test)) == (6, 4)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("SHREC16", "SHREC16_test"),
        ("shrec2016_PartialDeformableShapes", "shrec2016_PartialDeformableShapes_TestSet"),
        ("raw/training", "raw/test"),
    ],
)
def test_shrec16_official_split_takes_the_test_set_beside(tmp_path, train, test):
    fakesets.shrec16(tmp_path / train, count=2)
    maps = fakesets.shrec16(tmp_path / test, count=3)
    collection = shrec16(tmp_path, "cuts", "cat", split="official")
    assert collection.train == ("cuts_cat_shape_1", "cuts_cat_shape_2")
    assert collection.test == tuple(f"test_cuts_cat_shape_{k}" for k in (1, 2, 3))
    third = collection["test_cuts_cat_shape_3"]
    assert np.array_equal(third.labels, maps["cuts_cat_shape_3"])


def test_shrec16_in_the_layout_of_dpfm(tmp_path):
    maps = fakesets.shrec16(tmp_path / "plain")
    for source in (tmp_path / "plain").rglob("*.off"):
        name = source.stem.replace("cuts_cat_shape_", "cuts-cat").replace("null", "")
        name = "cuts-cat" if name == "cat" else name
        (tmp_path / "dpfm" / "shapes").mkdir(parents=True, exist_ok=True)
        shutil.copy(source, tmp_path / "dpfm" / "shapes" / f"{name}.off")
    (tmp_path / "dpfm" / "maps").mkdir()
    for name, values in maps.items():
        short = name.replace("cuts_cat_shape_", "cuts-cat")
        target = tmp_path / "dpfm" / "maps" / f"{short}_cuts-cat.map"
        fakesets.numbers(target, np.r_[-1, values[1:]])
    collection = shrec16(tmp_path / "dpfm", "cuts", "cat")
    assert collection.reference == "cuts-cat" and len(collection) == 15
    shape = collection["cuts-cat3"]
    assert np.array_equal(shape.labels[1:], maps["cuts_cat_shape_3"][1:])
    assert shape.named[1:].all() and not shape.named[0]


def test_missing_sets_say_where_to_get_them(tmp_path):
    for load, words in [
        (faust_r, "SGA18_orientation_BCICP_dataset.*licence.*FAUST_r/off"),
        (faust_registrations, "licence.*MPI-FAUST.zip"),
        (scape_r, "Ren et al. 2018.*SCAPE_r/corres"),
        (lambda root: tosca_r(root, "dog"), "TOSCA_Isometric.*TOSCA_r/off"),
        (lambda root: shrec16(root, "holes", "dog"), "www.dais.unive.it/~shrec2016"),
    ]:
        for root in (tmp_path, tmp_path / "nowhere"):
            with pytest.raises(InputError, match=words) as caught:
                load(root)
            assert str(caught.value).startswith(str(root)) and "\n" not in str(caught.value)


def test_incomplete_sets_name_what_is_missing(tmp_path):
    fakesets.remeshed(tmp_path, fakesets.SCAPE)
    (tmp_path / "off" / "mesh007.off").unlink()
    with pytest.raises(InputError, match=r"the mesh of mesh007 is missing from SCAPE_r, .* 71"):
        scape_r(tmp_path)
    shutil.copy(tmp_path / "off" / "mesh008.off", tmp_path / "off" / "mesh007.off")
    for number in (3, 4):
        (tmp_path / "corres" / f"mesh{number:03d}.vts").unlink()
    with pytest.raises(InputError, match="the ground truth of mesh003 and of 1 others is missing"):
        scape_r(tmp_path)
    fakesets.shrec16(tmp_path / "parts", count=12)
    with pytest.raises(InputError, match=r"cuts cat: 12 shapes are there .* needs 15"):
        shrec16(tmp_path / "parts", "cuts", "cat")
    with pytest.raises(InputError, match="the test set of SHREC'16 cuts cat is not beside"):
        shrec16(tmp_path / "parts", "cuts", "cat", split="official")


def test_unknown_words_are_listed(tmp_path):
    with pytest.raises(InputError, match="category is 'lion'; it must be one of cat, centaur"):
        tosca_r(tmp_path, "lion")
    with pytest.raises(InputError, match="kind is 'slices'; it must be one of cuts, holes"):
        shrec16(tmp_path, "slices", "cat")
    with pytest.raises(InputError, match="split is 'mine'; it must be one of paper, official"):
        shrec16(tmp_path, "cuts", "cat", split="mine")


def test_damaged_truth_names_the_file(tmp_path):
    fake = fakesets.remeshed(tmp_path, [f"wolf{i}" for i in range(3)])
    path = tmp_path / "corres" / "wolf1.vts"
    lines = path.read_text().splitlines()
    fakesets.numbers(path, lines[:-4])
    with pytest.raises(InputError, match=rf"wolf1.vts: the file ends with line {len(lines) - 4}"):
        tosca_r(tmp_path, "wolf")["wolf1"]
    fakesets.numbers(path, [0, *lines[1:]])
    with pytest.raises(InputError, match=r"wolf1.vts, line 1: names vertex 0"):
        tosca_r(fake.folder, "wolf")["wolf1"]
    fakesets.shrec16(tmp_path / "parts")
    short = tmp_path / "parts" / "cuts" / "corres" / "cuts_cat_shape_2.vts"
    fakesets.numbers(short, [1, 2, 3])
    with pytest.raises(InputError, match=r"shape_2.vts: the file ends with line 3, .* vertex of"):
        shrec16(tmp_path / "parts", "cuts", "cat")["cuts_cat_shape_2"]


def test_folders_are_recognised_by_their_layout(tmp_path):
    fakesets.remeshed(tmp_path / "a" / "FAUST_r", fakesets.FAUST)
    fakesets.remeshed(tmp_path / "b" / "SCAPE_r", fakesets.SCAPE)
    fakesets.remeshed(tmp_path / "c", [f"{c}{i}" for c in ("dog", "cat") for i in range(3)])
    fakesets.shrec16(tmp_path / "d")
    fakesets.registrations(tmp_path / "e")
    assert open_collection(tmp_path / "a").name == "FAUST_r"
    assert open_collection(str(tmp_path / "b" / "SCAPE_r")).name == "SCAPE_r"
    assert open_collection(tmp_path / "c", category="dog").name == "TOSCA_r dog"
    assert open_collection(tmp_path / "d", kind="cuts", category="cat").reference == "cat"
    assert open_collection(tmp_path / "e").name == "FAUST registrations"
    with pytest.raises(InputError, match=r"holds 2 collections; name one: tosca_r:.*:cat, tosca_r"):
        open_collection(tmp_path / "c")
    specs = [entry.spec for entry in find_collections(tmp_path / "c")]
    assert [len(open_collection(spec)) for spec in specs] == [3, 3]


def test_names_open_what_they_say(tmp_path):
    colon = tmp_path / "with:colon"
    fakesets.remeshed(colon, [f"dog{i}" for i in range(5)])
    assert open_collection(f"tosca_r:{colon}:dog").reference == "dog0"
    fakesets.shrec16(tmp_path / "parts")
    assert len(open_collection(f"shrec16:{tmp_path / 'parts'}:cuts:cat")) == 15
    with pytest.raises(InputError, match="incomplete; write tosca_r:PATH:CATEGORY, where CATEGORY"):
        open_collection("tosca_r:somewhere")
    with pytest.raises(InputError, match="incomplete; write faust_r:PATH"):
        open_collection("faust_r:")
    with pytest.raises(InputError, match="there is no such folder; check the path"):
        open_collection(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no data set is recognised here"):
        open_collection(colon / "off")


def test_what_is_written_reads_back(tmp_path):
    sphere = primitives.sphere(2)
    rng = np.random.default_rng(1)
    shapes = {
        name: Shape(
            name, sphere, rng.integers(42, size=42), np.arange(42) != (5 if name == "b" else -1)
        )
        for name in ("a", "b", "c")
    }
    shapes["full"] = Shape("full", sphere, np.arange(42), np.ones(42, dtype=bool))
    collection = Collection("toys", ("a", "b"), ("c",), "full", shapes.__getitem__)
    seen = []
    write_collection(tmp_path / "toys", collection, {"seed": 3}, progress=seen.append)
    assert seen == ["full", "a", "b", "c"]
    back = open_collection(tmp_path)
    assert (back.name, back.train, back.test, back.reference) == (
        "toys",
        ("a", "b"),
        ("c",),
        "full",
    )
    for name, shape in shapes.items():
        copy = back[name]
        assert np.array_equal(copy.mesh.vertices, shape.mesh.vertices)
        assert np.array_equal(copy.mesh.faces, shape.mesh.faces)
        assert np.array_equal(copy.labels, shape.labels)
        assert np.array_equal(copy.named, shape.named)
    with pytest.raises(InputError, match="not an empty folder"):
        write_collection(tmp_path / "toys", collection)
    (tmp_path / "toys" / "split.json").write_text("{}")
    with pytest.raises(InputError, match=r"split.json: this is not a split that finsler wrote"):
        open_collection(tmp_path / "toys")


@needs_data
def test_real_faust_r():
    collection = open_collection(f"faust_r:{Path(REAL)}")
    assert (len(collection.train), len(collection.test)) == (80, 20)
    shares = check_real(collection)
    assert abs(np.mean(shares) - 0.69) < 0.005


@needs_data
def test_real_scape_r():
    collection = scape_r(REAL)
    assert (len(collection.train), len(collection.test)) == (51, 20)
    check_real(collection)


@needs_data
@pytest.mark.parametrize("category", TOSCA_CATEGORIES)
def test_real_tosca_r(category):
    collection = tosca_r(REAL, category)
    assert collection.reference == f"{category}0" == collection.train[0]
    assert len(collection.test) == -(-len(collection) // 5)
    check_real(collection)


def check_real(collection):
    """Labels are vertices of the reference, and named ones on it are the identity."""
    reference = collection[collection.reference]
    named = reference.named
    assert np.array_equal(reference.labels[named], np.flatnonzero(named))
    shares = []
    for shape in collection:
        assert shape.labels.shape == shape.named.shape == (shape.mesh.n_vertices,)
        assert named[shape.labels].all()
        shares.append(shape.named.mean())
    assert min(shares) > 0.6
    return shares
