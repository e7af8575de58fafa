"""Results print as one line, however many numbers they hold."""

import dataclasses
import inspect
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

import finsler
from finsler import primitives
from finsler.mesh.summary import one_line
from test_docs import LAYERS, public_names

MESH = primitives.bumpy_sphere(6)
ARRAYS = ("Array", "sparse", "Tensor", "TriMesh")


@one_line()
@dataclasses.dataclass
class Held:
    value: object


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.arange(6.0).reshape(3, 2), "value (3, 2) in [0, 5]"),
        (np.r_[np.nan, np.arange(5.0), np.inf], "value (7,) in [0, 4], 2 not finite"),
        (np.full(9, np.nan), "value (9,), 9 not finite"),
        (np.arange(9) > 6, "value (9,), 2 true"),
        (np.array([0.25, 0.5]), "value [0.25, 0.5]"),
        (np.array(2.0), "value 2"),
        (np.zeros((0, 3)), "value (0, 3)"),
        (np.float64(1 / 3), "value 0.3333"),
        (np.int64(3), "value 3"),
        (sparse.eye_array(5), "value 5 × 5 with 5 entries"),
        (tuple(f"shape_{i}" for i in range(80)), "value (80 items)"),
        ("a\nb", "value 'a\\nb'"),
        (MESH, f"value {MESH!r}"),
        (None, "value None"),
    ],
)
def test_a_value_in_a_few_words(value, words):
    assert repr(Held(value)) == f"Held({words})"


def test_the_results_of_a_session():
    metric = finsler.RandersMetric.from_wind(MESH, np.eye(3), [0.5, 0, 0])
    laplacian = finsler.lbo(MESH)
    assert repr(MESH) == "TriMesh(362 vertices, 720 faces, size 1.75 × 1.97 × 2.49)"
    assert "362 × 362 with 2522 entries" in repr(laplacian)
    lines = [
        laplacian,
        finsler.spectrum(laplacian, k=5),
        finsler.angle_stack(MESH, angles=4),
        finsler.chebyshev_operators(finsler.angle_stack(MESH, angles=4)),
        metric,
        finsler.oriented_field(MESH, MESH.vertices[:, 2]),
        finsler.principal_frames(MESH),
        finsler.distance_fields(metric, [0], target=5),
        finsler.health(MESH),
        finsler.repair(MESH),
        finsler.describe(MESH, k=10),
    ]
    for result in lines:
        assert "\n" not in repr(result) and len(repr(result)) < 500, repr(result)


def test_the_line_tells_a_match_from_a_wrong_one():
    line = repr(finsler.match(MESH, MESH, k=30))
    assert "Verdict(probability 0.99" in line and "map_12 (362,) in [0, 361]" in line


def records():
    for layer in LAYERS:
        module = import_module(f"finsler.{layer}")
        for name in public_names(module):
            value = getattr(module, name)
            if inspect.isclass(value) and dataclasses.is_dataclass(value):
                yield value


def test_no_public_record_prints_its_arrays():
    for record in records():
        shown = [str(field.type) for field in dataclasses.fields(record) if field.repr]
        if any(word in kind for kind in shown for word in ARRAYS[:3]):
            written = record.__repr__.__qualname__
            assert written.startswith(("one_line", record.__name__ + ".__repr__")), record
            assert "__create_fn__" not in written, record
