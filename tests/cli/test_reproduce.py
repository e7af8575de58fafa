"""`finsler reproduce`, run as a user runs it, on shapes so small that a network takes no time."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from fakesets import remeshed
from finsler import primitives
from finsler.cli.main import app
from finsler.data import TOSCA_CATEGORIES, Collection, PrepareConfig, Shape, Store, pack
from finsler.data.store import prepare_shape
from finsler.errors import InputError
from finsler.evaluation import student_interval
from finsler.experiments import TABLES, label_rule, open_parts, parse_method, parse_methods, trials

SMALL = (
    *("model=small", "channels=4", "layers=1", "order=2", "hidden=8", "epochs=1"),
    *("learning_rate=0.05", "descriptor=xyz"),
)
MEASURES = ("exact", "within", "mean", "auc")


def load(name):
    mesh = primitives.bumpy_sphere(3, amplitude=0.1 + 0.03 * "abcd".index(name))
    labels = np.arange(mesh.n_vertices)
    return Shape(name, mesh, labels, labels % 3 > 0)


def packed(path, name="bumps", **changes):
    parts = {"train": ("a", "b"), "test": ("c", "d"), "reference": "a", "load": load, **changes}
    pack(Collection(name, **parts), path)
    return f"pack:{path}"


def run(*words, settings=SMALL):
    chosen = [word for setting in settings for word in ("--set", setting)]
    words = ["reproduce", *words, *chosen, "--device", "cpu", "-j", "1"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished table: the words of the command, its folder, what it said."""
    base = tmp_path_factory.mktemp("table")
    words = ["custom", packed(base / "bumps.npz"), "--out", base / "out"]
    words += ["--methods", "albo,flbo:0.1", "--seeds", "2"]
    return words, base / "out", run(*words)


def predictions(out, method, seed, part=""):
    path = out / "runs" / method / part / f"seed-{seed}" / "predictions.npz"
    with np.load(path) as data:
        return {str(name): data[str(name)] for name in data["names"]}


def exact_share(found, shape=load):
    """Of the named vertices, computed anew."""
    hits = np.concatenate([(found[n] == shape(n).labels)[shape(n).named] for n in found])
    return hits.mean()


class TestMethods:
    def test_configurations(self):
        assert parse_method("lbo").prepare == PrepareConfig(alpha=0.0, tau=0.0, angles=1)
        assert parse_method("albo").prepare == PrepareConfig(alpha=10.0, tau=0.0, angles=8)
        assert parse_method("flbo:0.30").name == "flbo:0.3"
        assert parse_method("flbo:0.3").prepare == PrepareConfig(tau=0.3)
        found = parse_method("flbo:curved+reference")
        assert found.prepare == PrepareConfig(omega="curved", normalization="reference")
        assert found.folder == "flbo-curved+reference"
        assert parse_method("albo+acscnn") == parse_method("albo")

    @pytest.mark.parametrize("rescaling", ["acscnn", "reference", "plain"])
    def test_a_constant_tau_gives_the_input_of_albo(self, rescaling):
        methods = [parse_method(f"{base}+{rescaling}") for base in ("albo", "flbo:0.5")]
        assert "the input is that of albo" in methods[1].note
        albo, flbo = (method.prepare.stack(load("a").mesh) for method in methods)
        np.testing.assert_allclose(flbo.values, albo.values / (1 - 0.5**2 / 11), rtol=1e-4)
        one, two = (prepare_shape(load("a"), method.prepare) for method in methods)
        np.testing.assert_allclose(one.values, two.values, atol=1e-5)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("flb", "there is no method 'flb'; it must be one of lbo, albo"),
            ("albo:0.1", "there is no method 'albo:0.1'"),
            ("flbo:1.5", "must lie between 0 and 1"),
            ("flbo:nan", "must lie between 0 and 1"),
            ("albo+nice", "no rescaling 'nice'; it must be one of acscnn"),
            ("lbo,flbo:0.1,flbo:0.10", "flbo:0.1 is given twice"),
        ],
    )
    def test_wrong_names(self, text, sentence):
        with pytest.raises(InputError, match=sentence):
            parse_methods(text)


class TestParts:
    def test_tosca_is_made_partial(self, tmp_path):
        names = [f"{category}{i}" for category in TOSCA_CATEGORIES for i in range(5)]
        remeshed(tmp_path, names, frequency=4)
        parts = open_parts("cuts", f"tosca_r:{tmp_path}")
        assert tuple(parts) == TOSCA_CATEGORIES
        assert len(parts["cat"].train) == 8 and len(parts["cat"].test) == 2
        assert "not the official SHREC'16 set" in label_rule("cuts", parts)
        one = open_parts("holes", f"tosca_r:{tmp_path}:dog")
        assert list(one) == ["dog"] and one["dog"].names[0] == "holes_dog0_shape_1"

    def test_packs_of_partial_shapes_stay_as_they_are(self, tmp_path):
        names = {"cuts_1": "a", "cuts_2": "b", "full": "c"}
        shapes = {name: load(old) for name, old in names.items()}
        parts = {"train": ("cuts_1",), "test": ("cuts_2",), "reference": "full"}
        packed(tmp_path / "cat.npz", "SHREC'16 cuts cat", load=shapes.__getitem__, **parts)
        found = open_parts("cuts", str(tmp_path))
        assert found["cat"].names == ("cuts_1", "cuts_2")
        assert "not the official" not in label_rule("cuts", found)

    def test_wrong_tables(self, tmp_path):
        spec = packed(tmp_path / "p.npz")
        with pytest.raises(InputError, match=f"no table 'fast'; .* {', '.join(TABLES)}"):
            open_parts("fast", spec)
        with pytest.raises(
            InputError, match=r"about FAUST_r, but .* is bumps; use the table custom"
        ):
            open_parts("faust", spec)
        with pytest.raises(InputError, match="one packed file"):
            open_parts("cuts", str(tmp_path / "none"))
        with pytest.raises(InputError, match="none to test"):
            open_parts("custom", packed(tmp_path / "q.npz", test=()))


class TestTable:
    def test_figures_are_those_of_the_predictions(self, done):
        _, out, result = done
        about = json.loads((out / "custom.json").read_text(encoding="utf-8"))
        shares = {
            name: [exact_share(predictions(out, folder, seed)) for seed in (0, 1)]
            for name, folder in (("albo", "albo"), ("flbo:0.1", "flbo-0.1"))
        }
        assert shares["albo"][0] != shares["albo"][1]
        for name, values in shares.items():
            for size in ("sqrt_area", "diameter"):
                found = about["methods"][name][size]["named"]["all"]["exact"]
                assert found["values"] == pytest.approx(values) and found["seeds"] == 2
                assert found["mean"] == pytest.approx(np.mean(values))
                assert found["deviation"] == pytest.approx(np.std(values, ddof=1))
        change = about["methods"]["flbo:0.1"]["sqrt_area"]["named"]["minus_baseline"]["exact"]
        expected = student_interval(np.subtract(shares["flbo:0.1"], shares["albo"]))
        assert change["mean"] == pytest.approx(expected.mean, abs=1e-15)
        assert change["half_width"] == pytest.approx(expected.half_width, abs=1e-15)
        assert f"{100 * np.mean(shares['albo']):.2f} ± " in result.stdout

    def test_both_units(self, done):
        about = json.loads((done[1] / "custom.json").read_text(encoding="utf-8"))
        ratios = [
            about["methods"][name]["sqrt_area"][vertices]["all"]["mean"]["mean"]
            / about["methods"][name]["diameter"][vertices]["all"]["mean"]["mean"]
            for name in ("albo", "flbo:0.1")
            for vertices in ("named", "every")
        ]
        assert np.ptp(ratios) < 1e-12 and ratios[0] > 0.8

    def test_record(self, done):
        text = (done[1] / "custom.json").read_text(encoding="utf-8")
        about = json.loads(text)
        assert about["config"]["seeds"] == [0, 1] and about["config"]["settings"] == list(SMALL)
        assert about["labels"] and about["distances"] == "fmm" and about["versions"]["torch"]
        assert [run["seed"] for run in about["runs"]] == [0, 1, 0, 1]
        assert about["runs"][1]["config"]["train"]["seed"] == 1
        assert about["methods"]["albo"]["seconds_per_epoch"] > 0
        assert len(about["curves"]["albo"]["sqrt_area"]["named"]) == len(about["grid"])
        assert str(done[1]) not in text

    def test_markdown(self, done):
        text = (done[1] / "custom.md").read_text(encoding="utf-8")
        rows = [line for line in text.splitlines() if line.startswith("| albo |")]
        figures = [row.split(" | ") for row in rows if row.count("|") == 8]
        assert len(figures) == 4
        for row in figures:
            assert all("±" in cell and cell.endswith("(2)") for cell in row[1:5])
            assert row[5] == "-" and row[6] == "- |"
        for words in ("divided by √area", "divided by the geodesic diameter", "Labels: "):
            assert words in text
        assert "## What changes against albo" in text and "the input is that of albo" in text
        assert (done[1] / "custom.png").read_bytes()[:4] == b"\x89PNG"

    def test_progress_is_one_line_a_seed(self, done):
        ends = [line for line in done[2].stderr.splitlines() if "exact after 1 epochs" in line]
        labels = [f"{name}, seed {k}" for name in ("albo", "flbo:0.1") for k in (0, 1)]
        assert [line.partition(": ")[0] for line in ends] == labels

    def test_published_figures(self, tmp_path):
        words = ["faust", packed(tmp_path / "f.npz", "FAUST_r"), "--out", tmp_path / "out"]
        run(*words, "--methods", "albo", "--seeds", "1")
        text = (tmp_path / "out/faust.md").read_text(encoding="utf-8")
        rows = [line for line in text.splitlines() if line.endswith("| 61.95 | 82.46 |")]
        assert len(rows) == 4 and all("(1)" in row and "±" not in row for row in rows)
        assert text.count("| flbo:0.1 | - | - | - | - | 62.61 | 82.90 |") == 4
        about = json.loads((tmp_path / "out/faust.json").read_text(encoding="utf-8"))
        assert about["published"]["fieldconv"] == {"exact": 0.5339, "within": 0.7501}
        assert about["methods"]["albo"]["sqrt_area"]["named"]["all"]["exact"]["deviation"] is None


class TestAgain:
    def test_nothing_is_done_twice(self, done, monkeypatch):
        words, out, _ = done
        shutil.rmtree(out / "work")
        monkeypatch.setattr(trials, "_prepared", None)
        before = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*")}
        answer = json.loads(run(*words, "--json").stdout)
        assert {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*")} == before
        assert answer["methods"]["albo"]["sqrt_area"]["named"]["all"]["exact"]["seeds"] == 2
        assert "curves" not in answer and len(answer["files"]) == 4

    def test_train_here_and_evaluate_there(self, tmp_path, monkeypatch):
        spec = packed(tmp_path / "p.npz")
        words = ["custom", spec, "--methods", "lbo", "--seeds", "1", "--work", tmp_path / "work"]
        run(*words, "--out", tmp_path / "here", "--only", "train")
        assert not list((tmp_path / "here").glob("custom.*"))
        [store] = (tmp_path / "work" / "stores").iterdir()
        assert Store.open(store).config.alpha == 0.0
        there = tmp_path / "there/runs/lbo/seed-0"
        there.mkdir(parents=True)
        shutil.copy(tmp_path / "here/runs/lbo/seed-0/predictions.npz", there)
        shutil.rmtree(tmp_path / "work")
        monkeypatch.setattr(trials, "_prepared", None)
        run(*words, "--out", tmp_path / "there")
        about = json.loads((tmp_path / "there/custom.json").read_text(encoding="utf-8"))
        exact = about["methods"]["lbo"]["sqrt_area"]["named"]["all"]["exact"]["mean"]
        assert exact == pytest.approx(exact_share(predictions(tmp_path / "there", "lbo", 0)))

    def test_a_run_without_predictions_goes_on(self, tmp_path):
        words = ["custom", packed(tmp_path / "p.npz"), "--methods", "lbo", "--seeds", "1"]
        words += ["--only", "train", "--out", tmp_path]
        run(*words)
        before = predictions(tmp_path, "lbo", 0)
        (tmp_path / "runs/lbo/seed-0/predictions.npz").unlink()
        assert "continuing after epoch 1 of 1" in run(*words).stderr
        after = predictions(tmp_path, "lbo", 0)
        assert all(np.array_equal(before[name], after[name]) for name in before)

    def test_other_settings_are_refused(self, done, tmp_path):
        words = done[0]
        with pytest.raises(InputError, match=r"seed-0: this run has epochs = 1, not 2; take"):
            run(*words, settings=(*SMALL, "epochs=2"))
        with pytest.raises(InputError, match="this run has smoothing = 10, not 3"):
            run(*words, settings=(*SMALL, "smoothing=3"))
        other = ["custom", packed(tmp_path / "o.npz", "others"), *words[2:]]
        with pytest.raises(InputError, match="this run has collection = bumps, not others"):
            run(*other)
        path = tmp_path / "runs/albo/seed-0/predictions.npz"
        path.parent.mkdir(parents=True)
        for about in ({}, {"store": "bumps", "prepare": {}, "train": {}}):
            np.savez(path, config=np.array(json.dumps({"config": about})))
            with pytest.raises(InputError, match="not what `finsler reproduce` wrote"):
                run(*words[:3], tmp_path, *words[4:])

    @pytest.mark.parametrize(
        ("setting", "sentence"),
        [
            ("seed=3", "use --seeds"),
            ("device=cpu", "use --device"),
            ("tau=0.2", "tau follows from the method"),
            ("radius=wide", "radius is 'wide'; it must be a number"),
            ("epoch=3", "did you mean 'epochs'"),
        ],
    )
    def test_wrong_settings(self, done, setting, sentence):
        with pytest.raises(InputError, match=sentence):
            run(*done[0], settings=[setting])


def test_one_network_for_each_category(tmp_path):
    folder = tmp_path / "packs"
    folder.mkdir()
    for category, names in (("cat", "abc"), ("dog", "bcd")):
        shapes = {"train": tuple(names[:2]), "test": tuple(names[2:]), "reference": names[0]}
        packed(folder / f"{category}.npz", f"TOSCA_r {category}", **shapes)
    out = tmp_path / "out"
    run("cuts", folder, "--methods", "lbo", "--seeds", "1", "--out", out)
    about = json.loads((out / "cuts.json").read_text(encoding="utf-8"))
    figures = about["methods"]["lbo"]["sqrt_area"]["named"]
    parts = open_parts("cuts", str(folder))
    shares, counts = [], []
    for category, shapes in parts.items():
        share = exact_share(predictions(out, "lbo", 0, category), shapes.load)
        assert figures["parts"][category]["exact"]["mean"] == pytest.approx(share)
        shares.append(share)
        counts.append(sum(shapes[name].named.sum() for name in shapes.test))
    pooled = np.average(shares, weights=counts)
    assert figures["all"]["exact"]["mean"] == pytest.approx(pooled)
    text = (out / "cuts.md").read_text(encoding="utf-8")
    assert "not the official SHREC'16 set" in text and "| lbo, dog | " in text
