"""What the pages of training, evaluating and matching show, and the commands that write them."""

import base64
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import finsler
from finsler.cli.evaluate import evaluate as evaluate_command
from finsler.cli.match import match as match_command
from finsler.cli.train import train as train_command
from finsler.data import Collection, PrepareConfig, Shape, pack, prepare
from finsler.errors import InputError
from finsler.evaluation import evaluate, reference_distances, save_predictions, score
from finsler.evaluation.predictions import Predictions
from finsler.matching import match
from finsler.view import Viewpoint, matches
from finsler.view.matches import figure_match
from finsler.view.report import (
    evaluation_blocks,
    interval_curve,
    learning_charts,
    match_blocks,
    training_blocks,
)

HISTORY = [
    {"epoch": i, "loss": 4.0 / i, "learning_rate": 0.1, "seconds": 2.0, "test_named": 0.2 * i}
    for i in (1, 2, 3)
]


def load(name):
    mesh = finsler.primitives.bumpy_sphere(4, amplitude=0.1 + 0.03 * "abcd".index(name))
    labels = np.arange(mesh.n_vertices)
    return Shape(name, mesh, labels, labels % 3 > 0)


BUMPS = Collection("bumps", ("a", "b"), ("c", "d"), "a", load)


def invoked(command, *words):
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def facts_in(html):
    return dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", html))


def test_training_shows_both_curves_and_the_last_epoch():
    page = "".join(training_blocks(HISTORY, {"collection": "bumps"}))
    found = facts_in(page)
    assert (found["epochs"], found["loss"], found["collection"]) == ("3", "1.333", "bumps")
    assert found["exact, test shapes, vertices with ground truth"] == "60.00%"
    assert found["seconds an epoch"] == "2"
    loss, exact = re.findall(r'<polyline class="c0 d0" points="([^"]*)"', page)
    heights = [[float(p.split(",")[1]) for p in curve.split()] for curve in (loss, exact)]
    assert heights[0] == sorted(heights[0]) and heights[1] == sorted(heights[1], reverse=True)
    assert page.count("<tr>") == 1 + len(HISTORY)


def test_shares_measured_once_are_no_curve():
    once = [{**epoch, "seconds": 1.0} for epoch in HISTORY]
    del once[0]["test_named"], once[1]["test_named"]
    assert learning_charts({"a": once}).count('class="chart"') == 1
    assert learning_charts({"a": HISTORY}).count('class="chart"') == 2


def test_intervals_are_those_of_student():
    runs = [score(np.full(4, error)) for error in (0.0, 0.1)]
    curve = interval_curve("x", runs)
    # Shares 1 and 0 below 0.1: mean 1/2 with an interval beyond 0..1. From there on 1 and 1.
    below = curve.x < 0.1 - 1e-9
    assert np.array_equal(curve.y, np.where(below, 50.0, 100.0))
    assert np.array_equal(curve.low, np.where(below, 0.0, 100.0))
    assert (curve.high == 100.0).all()
    # Three runs with shares 1, 1 and 1/2: t = 4.303 with two degrees of freedom.
    runs = [score([0.0, 0.0]), score([0.0, 0.0]), score([0.0, 1.0])]
    half = 4.302653 * np.std([1, 1, 0.5], ddof=1) / np.sqrt(3)
    assert interval_curve("x", runs).low[0] == pytest.approx(100 * (5 / 6 - half))
    assert interval_curve("x", runs[:1]).low is None


def test_evaluation_shows_every_shape_and_curve():
    mesh = BUMPS["a"].mesh
    runs = {
        label: Predictions(
            {name: np.roll(np.arange(mesh.n_vertices), shift) for name in BUMPS.test}, {}
        )
        for label, shift in (("one", 0), ("two", 1))
    }
    page = "".join(evaluation_blocks(evaluate(runs, BUMPS, reference_distances(mesh))))
    assert page.count("<polygon") == 2 and page.count("<table>") == 2
    words = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "c 50.00 ±" in words and "d 50.00 ±" in words
    assert "Student&#x27;s 95% interval" in words


def test_match_shows_the_colours_of_partners_and_its_figures():
    mesh = finsler.primitives.bumpy_sphere(6)
    found = match(mesh, mesh, k=40)
    page = "".join(match_blocks(mesh, mesh, found, names=("<a>", "b"), seconds=1.23))
    figures = facts_in(page)
    assert figures["mean confidence"] == f"{found.confidence.mean():.3f}"
    assert figures["arrives right side up"] == f"{100 * found.orientation:.1f}% of the surface"
    assert found.verdict.sentence[1:] in page.split("</section>")[0]
    assert f"{found.expected.mean():.3f} √area in the mean" in page.split("</section>")[0]
    assert figures["seconds"] == "1.2" and "<a>" not in page
    views = json.loads(page.split('json">')[1].split("</script>")[0])["views"]
    assert [view["title"] for view in views] == ["<a>", "b"]
    sent = [np.frombuffer(base64.b64decode(view["partners"]), "<u4") for view in views]
    assert np.array_equal(sent[0], found.map_12) and np.array_equal(sent[1], found.map_21)
    assert [view["partnerView"] for view in views] == [1, 0]
    fields = ["position on the target", "level lines", "expected error / √area", "confidence"]
    assert list(views[1]["fields"]) == fields[:2]
    assert list(views[0]["fields"]) == [*fields, "round trip / √area"]


def test_a_match_is_seen_from_the_chosen_side():
    mesh = finsler.primitives.bumpy_sphere(6)
    found = match(mesh, mesh, k=40)

    def drawn(*viewpoint):
        page = "".join(match_blocks(mesh, mesh, found, viewpoint=Viewpoint(*viewpoint)))
        return json.loads(page.split('json">')[1].split("</script>")[0])

    assert drawn(None, "back")["axes"][2][2] < -0.9
    assert drawn("x")["meshes"] != drawn("y")["meshes"]


def test_the_figure_of_a_match_shows_partners_in_one_colour_and_what_is_worst(monkeypatch):
    mesh = finsler.primitives.bumpy_sphere(6)
    found = match(mesh, mesh, k=40)
    expected = np.zeros(mesh.n_vertices)
    expected[200] = 1.0
    expected[mesh.faces[(mesh.faces == 17).any(axis=1)]] = 0.5
    drawn = {}
    monkeypatch.setattr(
        matches, "save_figure", lambda path, rows, **options: drawn.update(options, rows=rows)
    )
    shown = replace(found, expected=expected)
    figure_match("a.png", mesh, mesh, shown, names=("a$b", "c"), viewpoint=Viewpoint("y"))
    (first, second, error), behind = drawn["rows"]
    assert [panel.title for panel in (first, second, error)] == [r"a\$b", "c", "expected error"]
    assert np.array_equal(first.colors, second.colors[found.map_12])
    assert first.marker == error.marker == 17 and second.marker == found.map_12[17]
    assert error.clim == (0.0, 1.0) and np.array_equal(error.scalars, expected)
    assert found.verdict.sentence[1:30] in drawn["title"] and "1.00 at worst" in drawn["title"]
    facing = [np.asarray(panel.camera.direction) * [1, 0, 1] for panel in (first, behind[0])]
    assert np.allclose(facing[0], -facing[1])


def test_train_writes_a_report(tmp_path):
    store = prepare(BUMPS, tmp_path / "store", PrepareConfig(angles=2, descriptor="xyz")).store
    small = {"model": "small", "channels": 4, "layers": 1, "order": 2, "hidden": 8, "epochs": 2}
    settings = [word for k, v in small.items() for word in ("--set", f"{k}={v}")]
    words = [store.folder, "--out", tmp_path / "run", *settings, "--device", "cpu", "--json"]
    answer = json.loads(invoked(train_command, *words))
    assert answer["report"] == str(tmp_path / "run" / "report.html")
    found = facts_in((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    assert (found["train.hidden"], found["prepare.descriptor"]) == ("8", "xyz")
    assert (found["shapes to learn from"], found["reference"]) == ("2", "a")
    assert found["loss"] == f"{answer['last']['loss']:.4g}"


def test_evaluate_writes_a_report(tmp_path):
    pack(BUMPS, tmp_path / "bumps.npz")
    right = {name: BUMPS[name].labels for name in BUMPS.test}
    save_predictions(tmp_path / "p.npz", right, {})
    report = tmp_path / "page.html"
    words = [tmp_path / "p.npz", "--collection", f"pack:{tmp_path / 'bumps.npz'}"]
    assert f"Wrote {report}" in invoked(evaluate_command, *words, "--report", report)
    page = report.read_text(encoding="utf-8")
    assert "<td>100.00</td>" in page and facts_in(page)["distances"] == "fmm"


def test_match_writes_a_report(tmp_path):
    mesh = finsler.primitives.bumpy_sphere(6)
    files = [tmp_path / "a&b.off", tmp_path / "c.off"]
    for path in files:
        finsler.write_mesh(path, mesh)
    report = tmp_path / "page.html"
    answer = json.loads(invoked(match_command, *files, "-k", 40, "--report", report, "--json"))
    page = report.read_text(encoding="utf-8")
    assert answer["files"] == [str(report)]
    assert "<h1>a&amp;b.off → c.off</h1>" in page and facts_in(page)["operator"] == "lbo"


@pytest.mark.parametrize(
    ("command", "words"),
    [(match_command, ["a.off", "b.off"]), (evaluate_command, ["a.npz", "--collection", "b"])],
)
def test_reports_are_html_files(command, words, tmp_path):
    with pytest.raises(InputError, match=r"not one of \.html"):
        invoked(command, *words, "--report", tmp_path / "page.txt")


def test_the_page_of_training_needs_no_drawing_library():
    # What an accelerator machine has.
    script = """
import sys
for name in ("matplotlib", "pyvista", "trimesh", "cholespy", "potpourri3d", "igl", "PIL"):
    sys.modules[name] = None
from finsler.view.report import training_blocks
print(len(training_blocks([{"epoch": 1, "loss": 1.0, "seconds": 1.0}], {})))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "4", done.stderr
