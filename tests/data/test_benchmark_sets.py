"""Sets of the published tables: layouts, splits, pairs, and ground truth of any pair."""

import json
import os
import shutil

import numpy as np
import pytest

import fakesets
from finsler.data.check import check_collection
from finsler.data.collection import Collection, Shape
from finsler.data.sets.folder import write_collection
from finsler.data.sets.opening import open_collection
from finsler.data.sets.pack import pack, packed
from finsler.data.sets.synthetic import synthetic_collection
from finsler.errors import InputError
from finsler.mesh import primitives

SMAL = ["cow_alph", "wolf_alph2", "fox-05", "horse_unknown", "hippo_unknown"]
REAL = os.environ.get("FINSLER_DATA")


def assert_true(collection, place, first, second):
    """Each row names two vertices that stand for the same vertex of the sphere."""
    pairs = collection.truth(collection[first], collection[second])
    assert np.array_equal(place[first][pairs[:, 0]], place[second][pairs[:, 1]])
    return pairs


def test_smal_splits_by_its_lists_and_by_names(tmp_path):
    fake = fakesets.remeshed(tmp_path / "SMAL_r", SMAL)
    by_name = open_collection(f"smal_r:{tmp_path}")
    assert by_name.train == ("cow_alph", "fox-05", "wolf_alph2")
    assert by_name.test == ("hippo_unknown", "horse_unknown")
    with pytest.raises(InputError, match=r"needs train_cat\.txt and test_cat\.txt"):
        open_collection(f"smal_r_categories:{tmp_path}")
    folder = tmp_path / "SMAL_r"
    (folder / "train_cat.txt").write_text("cow_alph\nfox-05\n")
    (folder / "test_cat.txt").write_text("hippo_unknown\n\nhorse_unknown\nwolf_alph2\n")
    (folder / "train.txt").write_text("fox-05\n")
    (folder / "test.txt").write_text("cow_alph\n")
    by_species = open_collection(f"smal_r_categories:{folder}")
    assert (by_species.train, by_species.test) == (
        ("cow_alph", "fox-05"),
        ("hippo_unknown", "horse_unknown", "wolf_alph2"),
    )
    assert open_collection(folder).test == ("cow_alph",)
    pairs = assert_true(by_species, fake.place, "hippo_unknown", "wolf_alph2")
    # Every point counts, those that are listed twice too.
    assert np.array_equal(fake.place["hippo_unknown"][pairs[:, 0]], fake.points)
    assert len(by_species.pairs_of(by_species.test)) == 9


def test_anisotropic_remeshes_are_told_by_their_folder(tmp_path):
    fakesets.remeshed(tmp_path / "FAUST_a", fakesets.FAUST[78:83])
    fakesets.remeshed(tmp_path / "SCAPE_a", fakesets.SCAPE[60:62])
    assert open_collection(tmp_path / "FAUST_a").name == "FAUST_a"
    assert open_collection(tmp_path / "SCAPE_a").name == "SCAPE_a"
    faust = open_collection(f"faust_a:{tmp_path}")
    assert (faust.train, faust.test) == (tuple(fakesets.FAUST[78:80]), tuple(fakesets.FAUST[80:83]))
    assert {report.name for report in check_collection(tmp_path)} == {"FAUST_a", "SCAPE_a"}
    with pytest.raises(InputError, match="the mesh of tr_reg_000"):
        open_collection(f"faust_r:{tmp_path / 'FAUST_a'}")


def dt4d(folder):
    """Two characters with a bridge both ways, one without, and one that nobody uses."""
    place = {}
    for character, names in {
        "crypto": ["Walk1", "Walk2"],
        "drake": ["Kick1", "Kick2"],
        "mousey": ["Hop1", "Hop2"],
        "pumpkinhulk": ["Jump1"],
    }.items():
        fake = fakesets.remeshed(
            folder, names, off=f"off/{character}", corres=f"corres/{character}", frequency=2
        )
        place |= {f"{character}-{name}": fake.place[name] for name in names}
        points = fake.points
    # drake lists the same points in another order, and lacks the last one.
    order = np.random.default_rng(1).permutation(len(points))
    for name in ("Kick1", "Kick2"):
        path = folder / "corres" / "drake" / f"{name}.vts"
        lines = np.array(path.read_text().split())
        fakesets.numbers(path, lines[order][:-1])
    cross = folder / "corres" / "cross_category_corres"
    cross.mkdir()
    there = np.argsort(order) + 1
    there[there == len(points)] = 1
    fakesets.numbers(cross / "crypto_drake.vts", there)
    fakesets.numbers(cross / "drake_crypto.vts", order[:-1] + 1)
    return place, order, points


def test_dt4d_within_and_across_characters(tmp_path):
    place, order, points = dt4d(tmp_path / "DT4D_r")
    within = open_collection(f"dt4d_r:{tmp_path}:within")
    assert len(within.test) == 6 and len(within.pairs) == 12
    assert ("mousey-Hop1", "mousey-Hop1") in within.pairs
    assert_true(within, place, "mousey-Hop1", "mousey-Hop2")
    across = open_collection(f"dt4d_r:{tmp_path}:across")
    assert len(across.test) == 4 and len(across.pairs) == 8
    back = assert_true(across, place, "drake-Kick2", "crypto-Walk1")
    assert len(back) == len(points) - 1
    rows = across.truth(across["crypto-Walk1"], across["drake-Kick2"])
    right = place["crypto-Walk1"][rows[:, 0]] == place["drake-Kick2"][rows[:, 1]]
    # Only the point that drake lacks is led to another one.
    assert len(rows) == len(points) and (~right).sum() == (order[-1] != order[0])
    one = open_collection(f"dt4d_r:{tmp_path}:drake")
    assert one.names == ("drake-Kick1", "drake-Kick2") and one["drake-Kick2"].named.any()
    with pytest.raises(InputError, match="within, across or one of crypto, drake, mousey"):
        open_collection(f"dt4d_r:{tmp_path}:pumpkinhulk")
    with pytest.raises(InputError, match="no ground truth from mousey-Hop1 to crypto-Walk1"):
        within.truth(within["mousey-Hop1"], within["crypto-Walk1"])


def test_dt4d_lists_split(tmp_path):
    dt4d(tmp_path)
    (tmp_path / "train.txt").write_text("crypto/Walk1\ndrake/Kick1\npumpkinhulk/Jump1\n")
    (tmp_path / "test.txt").write_text("crypto/Walk2\ndrake/Kick2\nmousey/Hop1\n")
    within = open_collection(f"dt4d_r:{tmp_path}:within")
    assert within.train == ("crypto-Walk1", "drake-Kick1")
    assert within.pairs_of(within.test) == tuple((name, name) for name in within.test)
    across = open_collection(f"dt4d_r:{tmp_path}:across")
    assert across.pairs_of(across.test) == (
        ("crypto-Walk2", "drake-Kick2"),
        ("drake-Kick2", "crypto-Walk2"),
    )


def test_the_doctor_looks_at_bridges(tmp_path):
    dt4d(tmp_path)
    assert all(report.usable for report in check_collection(tmp_path))
    path = tmp_path / "corres" / "cross_category_corres" / "drake_crypto.vts"
    fakesets.numbers(path, [1, 2, 99])
    across = next(r for r in check_collection(tmp_path) if "across" in r.name)
    (finding,) = [each for each in across.findings if each.severity == "error"]
    assert finding.subject == str(path) and "3 lines lead to points up to 99" in finding.what
    collection = open_collection(f"dt4d_r:{tmp_path}:across")
    with pytest.raises(InputError, match="use files of one release"):
        collection.truth(collection["drake-Kick1"], collection["crypto-Walk1"])


def shrec19(folder):
    fake = fakesets.remeshed(folder, ["1", "2", "11", "40"])
    shutil.rmtree(folder / "corres")
    (folder / "corres").mkdir()
    for a, b in (("1", "2"), ("11", "1"), ("40", "2")):
        rank = np.argsort(fake.place[b])
        fakesets.numbers(folder / "corres" / f"{a}_{b}.map", rank[fake.place[a]] + 1)
    return fake.place


def test_shrec19_has_a_list_of_pairs(tmp_path):
    place = shrec19(tmp_path / "SHREC19_r")
    collection = open_collection(tmp_path)
    assert collection.name == "SHREC'19_r" and collection.test == ("1", "2", "11")
    assert collection.pairs == (("1", "2"), ("11", "1"))
    pairs = assert_true(collection, place, "11", "1")
    assert np.array_equal(pairs[:, 0], np.arange(42))
    assert not collection["1"].named.any()
    with pytest.raises(InputError, match="no ground truth from 2 to 1"):
        collection.truth(collection["2"], collection["1"])


@pytest.mark.parametrize("ending", ["_ref.txt", ".vts"])
def test_topkids_are_matched_to_the_first(tmp_path, ending):
    folder = tmp_path / "TOPKIDS"
    fake = fakesets.remeshed(folder, ["kid00", "kid01", "kid15"])
    shutil.rmtree(folder / "corres")
    (folder / "corres").mkdir()
    rank = np.argsort(fake.place["kid00"])
    for name in ("kid01", "kid15"):
        fakesets.numbers(folder / "corres" / f"{name}{ending}", rank[fake.place[name]] + 1)
    collection = open_collection(tmp_path)
    assert collection.pairs == (("kid01", "kid00"), ("kid15", "kid00"))
    assert len(assert_true(collection, fake.place, "kid15", "kid00")) == 42
    assert check_collection(tmp_path)[0].usable


def test_partial_smal_counts_from_zero(tmp_path):
    names = ["cuts_0_cow_01", "cuts_3_dog_02"], ["cuts_12_cougar_04", "cuts_7_horse_02"]
    for part, (a, b) in zip(("train", "test"), names, strict=True):
        folder = tmp_path / "PARTIALSMAL" / part
        fake = fakesets.remeshed(folder, [a, b], off="shapes", corres="maps")
        shutil.rmtree(folder / "maps")
        (folder / "maps").mkdir()
        there = np.argsort(fake.place[b])[fake.place[a]]
        fakesets.numbers(folder / "maps" / f"{a}_{b}.vts", np.where(there < 5, -1, there))
    collection = open_collection(tmp_path)
    assert (collection.train, collection.test) == tuple(map(tuple, names))
    assert collection.pairs_of(collection.test) == (tuple(names[1]),)
    pairs = assert_true(collection, fake.place, *names[1])
    assert sorted(pairs[:, 1]) == list(range(5, 42))


def test_any_folder_with_points_is_a_collection(tmp_path):
    fake = fakesets.remeshed(tmp_path / "mine", ["b", "a", "c"], off="shapes")
    collection = open_collection(tmp_path)
    assert (collection.name, collection.test) == ("mine", ("a", "b", "c"))
    assert_true(collection, fake.place, "c", "a")
    (tmp_path / "mine" / "test.txt").write_text("c\n")
    (tmp_path / "mine" / "train.txt").write_text("a\nb\n")
    assert open_collection(f"folder:{tmp_path / 'mine'}").test == ("c",)


def test_tosca_within_categories(tmp_path):
    names = ["cat0", "cat2", "dog0", "dog10"]
    fake = fakesets.remeshed(tmp_path / "TOSCA_r", names)
    collection = open_collection(f"tosca_r_within:{tmp_path}")
    assert collection.test == tuple(names) and len(collection.pairs) == 8
    assert_true(collection, fake.place, "dog10", "dog0")


def test_labels_give_truth_where_no_points_are_listed():
    mesh = primitives.sphere(2)
    rng = np.random.default_rng(0)
    first = Shape("a", mesh, rng.integers(0, 9, 42), rng.random(42) < 0.8)
    second = Shape("b", mesh, rng.integers(3, 12, 42), rng.random(42) < 0.8)
    collection = Collection("c", (), ("a", "b"), "a", {"a": first, "b": second}.__getitem__)
    expected = []
    for v in range(42):
        partners = [w for w in range(42) if second.named[w] and second.labels[w] == first.labels[v]]
        if first.named[v] and partners:
            expected.append([v, partners[0]])
    assert collection.truth(first, second).tolist() == expected


@pytest.mark.parametrize("part", ["within", "across"])
def test_packing_keeps_points_pairs_and_bridges(tmp_path, part):
    dt4d(tmp_path / "DT4D_r")
    plain = open_collection(f"dt4d_r:{tmp_path}:{part}")
    pack(plain, tmp_path / "pack.npz")
    copy = packed(tmp_path / "pack.npz")
    assert copy.pairs == plain.pairs
    for a, b in plain.pairs:
        assert np.array_equal(copy.truth(copy[a], copy[b]), plain.truth(plain[a], plain[b]))


def test_a_pack_with_foreign_points_is_refused(tmp_path):
    fakesets.remeshed(tmp_path / "mine", ["a", "b"])
    pack(open_collection(tmp_path), tmp_path / "pack.npz")
    with np.load(tmp_path / "pack.npz") as file:
        arrays = dict(file)
    for change in (
        {"point_counts": arrays["point_counts"] + 1},
        {"points": arrays["points"] - 9999},
        {"points": arrays["points"].astype(float)},
    ):
        np.savez(tmp_path / "bad.npz", **{**arrays, **change})
        with pytest.raises(InputError, match="the points do not fit together; pack the coll"):
            packed(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", **{**arrays, "points": arrays["points"] + 40})
    with pytest.raises(InputError, match="a point of a is no vertex"):
        packed(tmp_path / "bad.npz")["a"]


def test_packs_of_the_first_format_are_read(tmp_path):
    fakesets.remeshed(tmp_path / "mine", ["a", "b"])
    pack(open_collection(tmp_path), tmp_path / "pack.npz")
    with np.load(tmp_path / "pack.npz") as file:
        arrays = dict(file)
    about = json.loads(str(arrays["about"]))
    for name in ("families", "pairs", "every_pair", "ends"):
        del about[name]
    for name in ("points", "point_counts", "bridges", "bridge_counts"):
        del arrays[name]
    arrays["about"] = np.array(json.dumps({**about, "version": 1}))
    np.savez(tmp_path / "old.npz", **arrays)
    old = packed(tmp_path / "old.npz")
    # Truth is that of the labels then: each point once.
    assert old["a"].points is None and len(old.truth(old["a"], old["b"])) == 31


@pytest.mark.skipif(not REAL, reason="FINSLER_DATA names no folder")
def test_real_sets():
    smal = open_collection(f"smal_r:{REAL}")
    assert len(smal.train) == 32
    across = open_collection(f"dt4d_r:{REAL}:across")
    assert len(across.pairs) == 6 * 36
    a, b = across.pairs[0]
    pairs = across.truth(across[a], across[b])
    assert len(pairs) == 7999 and (pairs >= 0).all()


def test_own_collection_is_not_taken_for_a_plain_folder(tmp_path):
    people = synthetic_collection("humanoid", train=1, test=1, poses=1, vertices=500)
    write_collection(tmp_path / "people", people)
    with pytest.raises(InputError, match="without folder:"):
        open_collection(f"folder:{tmp_path / 'people'}")
    assert len(open_collection(str(tmp_path / "people")).names) == 2
