"""Files of predictions, results as JSON and Markdown, published figures."""

import json

import numpy as np
import pytest

from finsler.data import Collection, Shape
from finsler.errors import InputError
from finsler.evaluation import (
    Predictions,
    evaluate,
    load_predictions,
    markdown_report,
    markdown_table,
    reference_distances,
    results_dict,
    save_predictions,
    score,
    write_results,
)
from finsler.mesh import TriMesh, primitives

STRIP = primitives.plane(4, 1, size=(4.0, 1.0))
TRUTH = np.arange(10)


def load(name):
    return Shape(name, STRIP, TRUTH, TRUTH >= 5)


COLLECTION = Collection("strips", ("a",), ("b", "c|d"), "a", load)
SHIFTED = np.minimum(TRUTH + 2, 9)


@pytest.fixture(scope="module")
def found():
    measured = reference_distances(STRIP, method="exact")
    runs = {
        "seed 1": Predictions({"b": TRUTH, "c|d": TRUTH}, {"config": {"seed": 1}}),
        "seed 2": Predictions({"b": TRUTH, "c|d": SHIFTED}, {"config": {"seed": 2}}),
    }
    return evaluate(runs, COLLECTION, measured)


class TestPredictions:
    def test_round_trip(self, tmp_path):
        path = save_predictions(tmp_path / "p.npz", {"b": TRUTH, "c|d": SHIFTED}, {"seed": 3})
        back = load_predictions(path, COLLECTION)
        assert back.names == ("b", "c|d")
        assert np.array_equal(back.vertices["c|d"], SHIFTED)
        assert back.record["config"] == {"seed": 3} and "versions" in back.record
        with np.load(path, allow_pickle=False) as data:
            assert data["names"].dtype.kind == "U" and data["b"].dtype == np.int32

    @pytest.mark.parametrize(
        ("vertices", "sentence"),
        [
            ({"z": TRUTH}, "shape 'z' is not in the collection strips"),
            ({"b": TRUTH[:9]}, "shape 'b' has 10 vertices, but there are predictions for 9"),
            ({"b": TRUTH + 1}, r"shape 'b': vertex 9 is sent to 10, but .* 0\.\.9"),
        ],
    )
    def test_what_does_not_fit(self, tmp_path, vertices, sentence):
        path = save_predictions(tmp_path / "p.npz", vertices, {})
        with pytest.raises(InputError, match=sentence):
            load_predictions(path, COLLECTION)

    @pytest.mark.parametrize(
        ("arrays", "sentence"),
        [
            ({"names": ["b"], "b": TRUTH}, "no array"),
            ({"names": ["b"], "config": "{}"}, "no array"),
            ({"names": [1], "config": "{}", "1": TRUTH}, "vector of text"),
            ({"names": ["b", "b"], "config": "{}", "b": TRUTH}, "'b' is listed more than once"),
            ({"names": ["b"], "config": "{", "b": TRUTH}, "not a JSON text"),
            ({"names": ["b"], "config": '{"loss": NaN}', "b": TRUTH}, "NaN is not JSON"),
            ({"names": ["b"], "config": "[]", "b": TRUTH}, "JSON object"),
            ({"names": ["b"], "config": "{}", "b": TRUTH + 0.5}, "shape 'b': .* whole numbers"),
        ],
    )
    def test_foreign_files(self, tmp_path, arrays, sentence):
        np.savez(tmp_path / "p.npz", **{k: np.array(v) for k, v in arrays.items()})
        with pytest.raises(InputError, match=sentence):
            load_predictions(tmp_path / "p.npz", COLLECTION)

    def test_what_cannot_be_saved(self, tmp_path):
        path = tmp_path / "p.npz"
        with pytest.raises(InputError, match="cannot be called 'names'"):
            save_predictions(path, {"names": TRUTH}, {})
        with pytest.raises(InputError, match=r"shape 'b': .* whole numbers"):
            save_predictions(path, {"b": [0.5]}, {})
        with pytest.raises(InputError, match="at least one shape"):
            save_predictions(path, {}, {})
        assert not path.exists()


class TestJson:
    def test_holds_what_was_found(self, found, tmp_path):
        path = write_results(tmp_path / "r.json", results_dict(found, {"alpha": 10.0}))
        back = json.loads(path.read_text(encoding="utf-8"))
        assert back["config"] == {"alpha": 10.0}
        assert {"versions", "machine"} <= set(back)
        assert back["unit"] == "sqrt_area" and back["distances"]["area"] == 4.0
        assert back["interval"] == {"kind": "Student t", "level": 0.95, "runs": 2}
        assert len(back["grid"]) == len(back["summary"]["named"]["curve"]) == 251
        every = [back["runs"][f"seed {i}"]["every"]["exact"] for i in (1, 2)]
        assert every == [1.0, 0.55]
        assert back["summary"]["every"]["exact"]["mean"] == pytest.approx(np.mean(every))
        assert back["shapes"]["b"]["named"]["exact"]["half_width"] == 0.0
        assert back["runs"]["seed 2"]["record"]["config"]["seed"] == 2
        assert back["runs"]["seed 2"]["shapes"]["c|d"]["every"]["count"] == 10

    def test_infinite_means_are_null(self, tmp_path):
        vertices = np.concatenate([STRIP.vertices, STRIP.vertices + 5.0])
        mesh = TriMesh(vertices, np.concatenate([STRIP.faces, STRIP.faces + 10]))
        every = np.arange(20)
        twice = Collection(
            "two", (), ("b",), "b", lambda name: Shape(name, mesh, every, every >= 20)
        )
        runs = {"one": Predictions({"b": (every + 10) % 20}, {})}
        found = evaluate(runs, twice, reference_distances(mesh))
        results = results_dict(found, {})
        write_results(tmp_path / "r.json", results)
        assert results["summary"]["every"]["mean"]["mean"] is None
        assert results["summary"]["named"] is None
        text = markdown_report(found)
        assert "| ours, vertices with ground truth | - | - | - | - |" in text
        assert "inf" in text


class TestMarkdown:
    def test_table(self):
        rows = {"perfect": score([0.0]), "a|b": score([0.0, 0.125]), "none": None}
        assert markdown_table(rows, heading="method", range_end=0.25) == (
            "| method | exact, % | within 0.01, % | mean × 100 | AUC, 0..0.25 |\n"
            "| --- | ---: | ---: | ---: | ---: |\n"
            "| perfect | 100.00 | 100.00 | 0.000 | 1.0000 |\n"
            "| a\\|b | 50.00 | 50.00 | 6.250 | 0.7500 |\n"
            "| none | - | - | - | - |\n"
        )

    def test_report(self, found):
        text = markdown_report(found, label="FLBO")
        assert text.startswith("# strips: 2 shapes\n")
        assert "divided by √area; mean of 2 runs ± half-width of Student's 95% interval." in text
        mean = found.summary("every").exact
        assert f"| FLBO, all vertices | 77.50 ± {100 * mean.half_width:.2f} |" in text
        assert "| c\\|d | 60.00 ± " in text
        rows = [line.count(" | ") for line in text.splitlines() if line.startswith("|")]
        assert set(rows) == {4}
