"""`finsler demo`: what it writes, and that what it learned is worth something."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from finsler.cli import demo as module
from finsler.cli.main import app
from finsler.data import Store
from finsler.errors import InputError
from finsler.experiments.people import QUICK
from finsler.mesh import primitives
from finsler.view.people import _camera as people_camera
from finsler.view.upright import Viewpoint

FIRST = {
    "shape.ply",
    "operators.npz",
    "spectrum.npz",
    "operators.png",
    "spectrum.png",
    "distances.png",
    "summary.json",
    "report.html",
}
SECOND = {"store", "runs", "table.md", "curves.png", "correspondence.png"}


def run(folder):
    return CliRunner().invoke(app, ["demo", "--quick", "--frequency", "8", "--out", str(folder)])


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run(folder)
    assert done.exit_code == 0, done.output
    return folder, done.output


@pytest.fixture(scope="module")
def summary(result):
    return json.loads((result[0] / "summary.json").read_text())


def test_writes_everything_it_names(result):
    assert {path.name for path in result[0].iterdir()} == FIRST | SECOND


def test_first_part(summary):
    assert summary["omega"]["constant"] < 1e-12
    assert summary["omega"]["varying"] > 0.1
    assert summary["distance"]["there"] > 1.5 * summary["distance"]["back"]


def test_held_out_bodies_are_not_among_those_learned_from(result):
    store = Store.open(result[0] / "store" / "flbo")
    learned, held_out = ({name.split("_p")[0] for name in s} for s in (store.train, store.test))
    assert (len(store.train), len(store.test)) == (QUICK.train, QUICK.test)
    assert not learned & held_out


def test_networks_differ_in_the_operator_alone(result, summary):
    stores = [Store.open(result[0] / "store" / name) for name in ("lbo", "flbo")]
    lbo, flbo = (store[store.test[0]] for store in stores)
    assert np.array_equal(lbo.features, flbo.features)
    assert np.array_equal(lbo.labels, flbo.labels)
    assert np.ptp(lbo.values, axis=0).max() < 1e-6 < np.ptp(flbo.values, axis=0).max()
    assert len(set(summary["learning"]["parameters"].values())) == 1
    configs = [(result[0] / "runs" / name / "config.toml").read_text() for name in ("lbo", "flbo")]
    assert configs[0] == configs[1]


@pytest.mark.parametrize("operator", ["LBO", "FLBO"])
def test_learning_beats_chance_and_the_descriptor(summary, operator):
    scores = summary["learning"]["scores"]
    learned, nearest, chance = (scores[k] for k in (operator, "nearest descriptor", "chance"))
    assert chance["within_0.1"] < 0.05
    assert learned["within_0.1"] > 0.6
    assert learned["within_0.1"] > 1.5 * nearest["within_0.1"]
    assert learned["mean"] < nearest["mean"] < chance["mean"]


def test_table_holds_the_scores(result, summary):
    scores = summary["learning"]["scores"]
    lines = (result[0] / "table.md").read_text().splitlines()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines if "|" in line]
    assert rows[0][1:] == ["exact, %", "within 0.05, %", "within 0.1, %", "mean × 100"]
    assert [row[0] for row in rows[2:]] == list(scores)
    for name, *cells in rows[2:]:
        *shares, mean = map(float, cells)
        expected = [100 * scores[name][key] for key in ("within_0", "within_0.05", "within_0.1")]
        assert np.allclose(shares, expected, atol=0.051)
        assert abs(mean - scores[name]["mean"]) < 0.051


def test_report_shows_both_parts(result):
    page = (result[0] / "report.html").read_text(encoding="utf-8")
    assert page.count('<figure class="scene">') == 3 and page.count('class="chart"') == 3
    assert "Distances in a wind" in page and "nearest descriptor" in page
    assert len(page) < 3_000_000


def test_progress_without_a_terminal(result):
    lines = [line.strip() for line in result[1].splitlines() if "epoch" in line]
    epochs = [line.partition("epoch ")[2] for line in lines if line.startswith("training FLBO")]
    assert epochs == [f"{epoch} of {QUICK.epochs}" for epoch in range(5, QUICK.epochs + 1, 5)]


def test_without_torch_the_first_part_remains(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setattr(module, "_one_shape", lambda *arguments: ({"first": "part"}, []))
    done = run(tmp_path)
    assert done.exit_code == 0
    assert "left out, as it needs torch: pip install 'finsler[learn]'" in done.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["first"] == "part" and "learning" not in summary
    assert {path.name for path in tmp_path.iterdir()} == {"summary.json", "report.html"}


def test_pictures_are_taken_from_the_chosen_side(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "_one_shape", lambda *given: seen.append(given[-1]) or ({}, []))
    monkeypatch.setattr(module, "_people", lambda *given: seen.append(given[-1]) or ({}, []))
    words = ["demo", "--up", "z", "--view", "back", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert seen == [Viewpoint("z", "back")] * 2


def test_the_cameras_of_people_keep_one_scale_on_every_side():
    mesh = primitives.ellipsoid(6)
    front, back, chosen = (
        people_camera([mesh, mesh], Viewpoint(*given))
        for given in ((None, None), (None, "180,8"), ("x", None))
    )
    assert front.direction[2] > 0.9 and back.direction[2] < -0.9
    assert front.radius == back.radius and chosen.up == (1.0, 0.0, 0.0)


def test_what_is_missing_is_said_before_anything_is_computed(tmp_path, monkeypatch):
    def missing():
        raise InputError("matplotlib is not installed")

    monkeypatch.setattr(module, "require_matplotlib", missing)
    done = run(tmp_path / "demo")
    assert done.exit_code != 0 and "shape " not in done.output
    assert not (tmp_path / "demo").exists()
