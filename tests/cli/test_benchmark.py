"""`finsler benchmark`: tables that live on when pairs fail, samples, variants, kept results."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

import fakesets
from finsler import primitives
from finsler.data import open_collection, pack
from finsler.data.collection import Collection, Shape
from finsler.errors import InputError
from finsler.evaluation import SurfaceDistances
from finsler.evaluation.benchmark import MapSource, PairSample, choose_sample, summarize_pairs
from finsler.matching.pairs import Matcher
from finsler.mesh import write_mesh

NAMES = ("a", "b", "c")


@pytest.fixture
def fake(tmp_path):
    """Three shuffled spheres, and a folder with all true maps between them in three formats."""
    made = fakesets.remeshed(tmp_path / "mine", NAMES)
    folder = tmp_path / "maps"
    folder.mkdir()
    for a in NAMES:
        for b in NAMES:
            there = np.argsort(made.place[b])[made.place[a]]
            if a == "a":
                np.savez(folder / f"{a}__{b}.npz", map_12=there)
            elif a == "b":
                np.save(folder / f"{a}__{b}.npy", there)
            else:
                fakesets.numbers(folder / f"{a}__{b}.txt", there)
    return made


def rows_of(folder):
    with (folder / "pairs.csv").open(encoding="utf-8") as file:
        return {(r["variant"], r["shape_1"], r["shape_2"]): r for r in csv.DictReader(file)}


def test_true_maps_have_no_error(finsler_command, fake, tmp_path):
    out = tmp_path / "out"
    arguments = ("benchmark", f"folder:{fake.folder}", "--maps", tmp_path / "maps", "-o", out)
    code, told, _ = finsler_command(*arguments, "-j", 1)
    assert code == 0 and "| plain | literature | 9 | 0.00 |" in told
    results = json.loads((out / "results.json").read_text())
    (summary,) = results["summaries"]
    assert (summary["measured"], summary["asked"], summary["of"]) == (9, 9, 9)
    assert summary["literature"]["mean"] == summary["strict"]["mean"] == 0.0
    assert (summary["literature"]["pairs"], summary["strict"]["pairs"]) == (9, 6)
    assert summary["coverage"] == 1.0 and summary["bijectivity"] == 0.0
    assert summary["dirichlet"] == pytest.approx(1.0)
    assert results["complete"] and results["auc_range"] == [0.0, 0.1]
    assert {row["outcome"] for row in rows_of(out).values()} == {"computed"}
    page = (out / "report.html").read_text()
    assert "The worst pairs" in page and "WebGL" in page
    assert finsler_command(*arguments, "-j", 1)[0] == 0
    assert {row["outcome"] for row in rows_of(out).values()} == {"kept"}


def test_the_worst_pairs_are_seen_from_the_chosen_side(finsler_command, fake, tmp_path):
    maps = ("--maps", tmp_path / "maps", "--pairs", 1, "-j", 1)

    def drawn(name, *options):
        out = tmp_path / name
        code, _, err = finsler_command(
            "benchmark", f"folder:{fake.folder}", *maps, "-o", out, *options
        )
        assert code == 0, err
        page = (out / "report.html").read_text()
        return json.loads(page.split('json">')[1].split("</script>")[0])

    usual, behind = drawn("usual"), drawn("behind", "--view", "back", "--up", "-x")
    assert usual["axes"][2][2] > 0.9 and behind["axes"][2][2] < -0.9
    assert usual["meshes"] != behind["meshes"]
    first, second = behind["views"]
    assert ("plain", first["title"], second["title"]) in rows_of(tmp_path / "behind")
    assert first["partners"] and first["partnerView"] == 1
    code, _, err = finsler_command(
        "benchmark", f"folder:{fake.folder}", "-o", tmp_path / "no", "--view", "inside"
    )
    assert code == 2 and "the view is 'inside'" in err and not (tmp_path / "no").exists()


def test_bad_maps_fail_singly(finsler_command, fake, tmp_path):
    folder, out = tmp_path / "maps", tmp_path / "out"
    (folder / "a__b.npz").unlink()
    np.save(folder / "b__c.npy", np.arange(41))
    fakesets.numbers(folder / "c__a.txt", [42] * 42)
    (folder / "c__b.txt").write_text("1\nx\n")
    code, told, err = finsler_command(
        *("benchmark", f"folder:{fake.folder}", "--maps", folder, "-o", out, "-j", 1, "--json")
    )
    report = json.loads(told)
    assert code == 1 and report["summaries"][0]["measured"] == 5
    failed = report["failed"]
    assert set(failed) == {"plain a__b", "plain b__c", "plain c__a", "plain c__b"}
    assert "there is no map from a to b; write a__b.npz with map_12" in failed["plain a__b"]
    assert "one vertex for each of the 42 vertices" in failed["plain b__c"]
    assert "outside 0..41" in failed["plain c__a"]
    assert "no vector of whole numbers" in failed["plain c__b"]
    assert "failed: plain a__b" in err
    # What is put right is measured by the next run, and the rest is kept.
    np.savez(folder / "a__b.npz", map_12=np.zeros(42, dtype=int))
    again = ("benchmark", f"folder:{fake.folder}", "--maps", folder, "-o", out, "-j", 1)
    assert finsler_command(*again)[0] == 1
    rows = rows_of(out)
    assert rows["plain", "a", "b"]["outcome"] == "computed"
    assert rows["plain", "a", "c"]["outcome"] == "kept"


def test_figures_are_those_of_the_pairs(finsler_command, fake, tmp_path):
    rng = np.random.default_rng(0)
    collection = open_collection(f"folder:{fake.folder}")
    expected = {"literature": [], "strict": []}
    for a in NAMES:
        for b in NAMES:
            there = rng.integers(0, 42, 42) if (a, b) != ("a", "b") else np.zeros(42, dtype=int)
            for ending in (".npz", ".npy", ".txt"):
                (tmp_path / "maps" / f"{a}__{b}{ending}").unlink(missing_ok=True)
            np.save(tmp_path / "maps" / f"{a}__{b}.npy", there)
            first, second = collection[a], collection[b]
            distances = SurfaceDistances(second.mesh)
            points = collection.truth(first, second)
            expected["literature"].append(distances.along_edges(points[:, 1], there[points[:, 0]]))
            if a != b:
                points = np.unique(points, axis=0)
                strict = distances.fast_marching(points[:, 1], there[points[:, 0]])
                expected["strict"].append(strict)
    _, told, _ = finsler_command(
        *("benchmark", f"folder:{fake.folder}", "--maps", tmp_path / "maps"),
        *("-o", tmp_path / "out", "-j", 1, "--json"),
    )
    summary = json.loads(told)["summaries"][0]
    for name, errors in expected.items():
        assert summary[name]["mean"] == pytest.approx(100 * np.concatenate(errors).mean(), rel=1e-5)
        middle = 100 * np.median(np.concatenate(errors))
        assert summary[name]["median"] == pytest.approx(middle, rel=0.02)
        failed = np.array([each.mean() > 0.08 for each in errors])
        assert summary[name]["failed_share"] == failed.mean()
        area = np.maximum(0.0, 1.0 - np.concatenate(errors) / 0.1).mean()
        assert summary[name]["auc"] == pytest.approx(area, rel=1e-5)


def test_variants_and_packs(finsler_command, fake, tmp_path):
    pack(open_collection(f"folder:{fake.folder}"), tmp_path / "pack.npz")
    code, told, _ = finsler_command(
        *("benchmark", f"pack:{tmp_path / 'pack.npz'}", "--maps", tmp_path / "maps"),
        *("--variant", "mirrored", "--variant", "rescaled", "--variant", "decimated"),
        *("--pairs", 2, "--seed", 5, "-o", tmp_path / "out", "-j", 1, "--json"),
    )
    report = json.loads(told)
    assert code == 1
    by_name = {each["variant"]: each for each in report["summaries"]}
    for name in ("mirrored", "rescaled"):
        assert by_name[name]["measured"] == 3 and by_name[name]["strict"]["mean"] == 0.0
        assert by_name[name]["of"] == 9 and not report["complete"]
    # Maps of the whole shapes do not fit those with half of the vertices.
    assert by_name["decimated"]["measured"] == 0 and by_name["decimated"]["strict"] is None
    assert report["variants"]["mirrored"] == "the second shape mirrored"


def test_matching_small_shapes(finsler_command, tmp_path):
    """The matcher itself, each shape described once."""
    folder = tmp_path / "balls"
    (folder / "off").mkdir(parents=True)
    (folder / "corres").mkdir()
    ball = primitives.bumpy_sphere(5)
    for name in ("one", "two"):
        write_mesh(folder / "off" / f"{name}.off", ball)
        fakesets.numbers(folder / "corres" / f"{name}.vts", np.arange(ball.n_vertices) + 1)
    out = tmp_path / "out"
    code, told, _ = finsler_command("benchmark", folder, "-o", out, "-j", 1, "-k", 40, "--json")
    summary = json.loads(told)["summaries"][0]
    assert code == 0 and summary["measured"] == 4
    assert summary["strict"]["mean"] < 1.0 and summary["seconds_pair"] > 0.0
    assert summary["seconds_shape"] > 0.0
    assert sorted(path.name for path in (out / "plain" / "shapes").iterdir()) == [
        *("one.npz", "two.npz"),
    ]


def test_results_of_other_code_are_not_kept(monkeypatch):
    source = MapSource()
    before = source.record()["code"]
    assert len(before) == 16 and before == source.record()["code"]
    monkeypatch.setattr("finsler.evaluation.benchmark.measuring._code_key", lambda network: "new")
    assert source.record()["code"] == "new" and "code" not in MapSource(folder="x").record()


def test_samples_stand_for_all_pairs():
    names = tuple(f"s{i}" for i in range(10))
    collection = Collection("c", (), names, "s0", lambda name: None)
    sample = choose_sample(collection, names, 18, seed=3)
    assert sample == choose_sample(collection, names, 18, seed=3)
    assert sample != choose_sample(collection, names, 18, seed=4)
    assert (sample.all_pairs, sample.own_pairs, len(sample.pairs)) == (90, 10, 20)
    assert sum(a == b for a, b in sample.pairs) == 2 and not sample.complete
    assert np.allclose(sample.weights(sample.pairs), 5.0)
    assert choose_sample(collection, names).complete
    assert len(choose_sample(collection, names, 500).pairs) == 100
    with pytest.raises(InputError, match="at least 1"):
        choose_sample(collection, names, 0)
    with pytest.raises(InputError, match="no pair among the 1 shapes"):
        choose_sample(collection, names[:1])
    with pytest.raises(InputError, match="two pairs of c would both be called"):
        choose_sample(collection, ("a", "a__b", "b", "b__b"))


def test_own_pairs_weigh_as_in_the_whole():
    sample = PairSample((("a", "b"), ("a", "a")), all_pairs=90, own_pairs=10)
    rows = [
        {
            "outcome": "computed",
            "shape_1": a,
            "shape_2": b,
            "coverage": 1.0,
            "seconds": 1.0,
            "dirichlet": 1.0,
            "bijectivity": np.nan,
            **{kind: np.full(5, error) for kind in ("along_edges", "fast_marching")},
            "doubtful": float(error > 0.05),
        }
        for a, b, error in (("a", "b", 0.1), ("a", "a", 0.0))
    ]
    summary = summarize_pairs("plain", sample, rows)
    assert summary.literature.mean == pytest.approx(9.0)
    assert summary.literature.failed_share == pytest.approx(0.9)
    assert summary.literature.mean_without_failed == 0.0
    assert summary.strict.mean == pytest.approx(10.0)
    assert summary.strict.mean_without_failed is None and summary.bijectivity is None
    assert summary.doubted_failed == 1.0 and summary.doubted_right is None
    nothing = summarize_pairs("plain", sample, [{"outcome": "failed", "shape_1": 1, "shape_2": 2}])
    assert nothing.literature is None and nothing.measured == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--pairs", "some"], "--pairs is 'some'; it must be all, or a number"),
        (["--pairs", "0"], "pairs is 0; it must be at least 1"),
        (["--variant", "melted"], "variant is 'melted'; it must be one of rotated"),
        (["--no-refine"], "give one with --model"),
        (["--maps", "nowhere"], "nowhere: there is no such folder"),
        (["--maps", "x", "--model", "y"], "give one"),
        (["--shapes", "train"], "has no pair among the 0 shapes"),
    ],
)
def test_wrong_options(finsler_command, fake, tmp_path, options, sentence):
    code, _, err = finsler_command(
        "benchmark", f"folder:{fake.folder}", "-o", tmp_path / "out", "-j", 1, *options
    )
    assert code == 2 and sentence in err and err.count("\n") == 1


def test_runs_with_few_libraries(fake, tmp_path):
    """What an accelerator machine has: no mesh or drawing library, and pictures are left out."""
    script = f"""
import sys
for name in ("cholespy", "trimesh", "pyvista", "matplotlib", "igl", "potpourri3d", "dask", "torch"):
    sys.modules[name] = None
sys.argv = ["finsler", "benchmark", "folder:{fake.folder}", "--maps", "{tmp_path / "maps"}",
            "-o", "{tmp_path / "out"}", "-j", "1", "--pairs", "2"]
from finsler.cli.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| plain | strict | 2 | 0.00" in done.stdout
    assert "Pictures are left out" in (tmp_path / "out" / "report.html").read_text()


def test_shapes_without_points_are_measured_by_labels():
    mesh = primitives.sphere(2)
    every = np.arange(42)
    shape = Shape("a", mesh, every, every > 5)
    collection = Collection("c", (), ("a",), "a", lambda name: shape)
    assert np.array_equal(collection.truth(shape, shape), np.stack([every[6:]] * 2, axis=1))


@pytest.mark.parametrize(
    ("matcher", "label"),
    [
        (Matcher(), "match"),
        (Matcher(model="runs/first/model.npz"), "match, model first"),
        (Matcher(model="mine.npz"), "match, model mine"),
        (Matcher(network="runs/maps/last.safetensors"), "match, model maps"),
        (Matcher(network="last.safetensors", refine=False), "model last"),
    ],
)
def test_methods_are_named_by_their_runs(matcher, label):
    assert MapSource(matcher).label == label
