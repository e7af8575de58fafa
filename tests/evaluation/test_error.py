"""Distances of the reference and errors, against surfaces whose distances are known."""

import json
import warnings

import numpy as np
import pytest

from finsler.errors import InputError
from finsler.evaluation import (
    CacheWarning,
    DistancesOnDemand,
    distances,
    geodesic_errors,
    matrix_memory,
    reference_distances,
)
from finsler.mesh import TriMesh, primitives

AROUND, UP = 12, 3


def prism(scale=1.0):
    """A cylinder of flat quads: it unrolls, so that all its distances are known."""
    return primitives.cylinder(AROUND, UP, radius=scale, height=2.0 * scale)


# A vertex is AROUND index * (UP + 1) + height index; the side of a quad and the area of all.
SIDE = 2.0 * np.sin(np.pi / AROUND)
AREA = AROUND * SIDE * 2.0
DIAMETER = np.hypot(AROUND // 2 * SIDE, 2.0)


def rotated(k):
    n = AROUND * (UP + 1)
    return (np.arange(n) + k * (UP + 1)) % n


@pytest.fixture(scope="module")
def exact():
    return reference_distances(prism(), method="exact")


class TestKnownDistances:
    def test_sizes_of_the_prism(self, exact):
        assert exact.area == pytest.approx(AREA, rel=1e-12)
        assert exact.diameter == pytest.approx(DIAMETER, rel=1e-6)
        assert exact.n_vertices == AROUND * (UP + 1)
        assert exact.method == "exact"

    @pytest.mark.parametrize("k", [0, 1, 2, 5, 6])
    def test_a_map_turned_by_k_steps_is_off_by_k_sides(self, exact, k):
        errors = geodesic_errors(rotated(k), rotated(0), exact)
        assert np.allclose(errors, k * SIDE / np.sqrt(AREA), rtol=1e-6, atol=0)
        shares = geodesic_errors(rotated(k), rotated(0), exact, unit="diameter")
        assert np.allclose(shares, k * SIDE / DIAMETER, rtol=1e-6, atol=0)

    def test_turning_further_is_shorter_the_other_way(self, exact):
        errors = geodesic_errors(rotated(8), rotated(0), exact)
        assert np.allclose(errors, 4 * SIDE / np.sqrt(AREA), rtol=1e-6)

    def test_strip(self):
        strip = primitives.plane(6, 1, size=(6.0, 1.0))
        found = reference_distances(strip, method="exact")
        lower = 2 * np.arange(7)
        assert np.allclose(found.between(lower, np.zeros(7, int)), np.arange(7))
        assert np.allclose(found.between(lower + 1, np.zeros(7, int)), np.hypot(np.arange(7), 1))
        assert found.diameter == pytest.approx(np.sqrt(37.0))

    @pytest.mark.parametrize("method", ["heat", "fmm"])
    def test_the_approximate_methods_on_a_plane(self, method):
        mesh = primitives.plane(12, 12, jitter=0.2)
        found = reference_distances(mesh, method=method)
        truth = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[None], axis=2)
        assert np.abs(found.matrix - truth).mean() < 0.04

    def test_fast_marching_is_exact_along_edges(self):
        found = reference_distances(prism(), method="fmm")
        errors = geodesic_errors(rotated(1), rotated(0), found)
        assert np.allclose(errors, SIDE / np.sqrt(AREA), rtol=1e-6)


class TestLaws:
    @pytest.mark.parametrize("method", ["heat", "fmm", "exact"])
    @pytest.mark.parametrize("unit", ["sqrt_area", "diameter"])
    def test_errors_do_not_depend_on_the_unit_of_length(self, method, unit):
        predicted, truth = rotated(3), rotated(0)
        errors = [
            geodesic_errors(
                predicted,
                truth,
                reference_distances(prism(scale), method=method),
                unit=unit,
            )
            for scale in (1.0, 1000.0)
        ]
        assert np.allclose(*errors, rtol=1e-5, atol=0)

    @pytest.mark.parametrize("method", ["heat", "fmm"])
    def test_the_mean_of_both_directions(self, method):
        mesh = primitives.bumpy_sphere(4)
        one_way = distances.geodesic_matrix(mesh, method=method, dtype=np.float64)
        assert np.abs(one_way - one_way.T).max() > 1e-3
        found = reference_distances(mesh, method=method)
        assert np.array_equal(found.matrix, found.matrix.T)
        mean = 0.5 * (one_way + one_way.T) / np.sqrt(found.area)
        assert np.allclose(found.matrix, mean, rtol=1e-6, atol=0)
        assert (np.diag(found.matrix) == 0).all()

    @pytest.mark.parametrize("method", ["heat", "exact"])
    @pytest.mark.parametrize("block", [512, 7])
    def test_rows_on_demand_are_the_matrix(self, method, block, monkeypatch):
        monkeypatch.setattr(distances, "_BLOCK", block)
        mesh = primitives.bumpy_sphere(3)
        rng = np.random.default_rng(0)
        a, b = rng.integers(0, mesh.n_vertices, (2, 200))
        a[:20] = b[:20]
        done = []
        rows = DistancesOnDemand(mesh, method, lambda i, of: done.append((i, of)))
        whole = reference_distances(mesh, method=method)
        assert np.allclose(rows.between(a, b), whole.between(a, b), rtol=1e-6, atol=0)
        assert (rows.between(a, b)[:20] == 0).all()
        assert done[-1][0] == done[-1][1] <= mesh.n_vertices
        assert rows.area == whole.area
        assert whole.diameter <= rows.diameter * (1 + 1e-6) <= 1.05 * whole.diameter

    def test_only_the_rows_that_are_needed(self):
        done = []
        rows = DistancesOnDemand(prism(), "exact", lambda i, of: done.append(of))
        errors = geodesic_errors([0, 4, 5], [0, 0, 5], rows)
        assert np.allclose(errors, [0, SIDE / np.sqrt(AREA), 0])
        assert done == [2]

    def test_two_parts_are_infinitely_far_apart(self):
        one = prism()
        vertices = np.concatenate([one.vertices, one.vertices + 5.0])
        faces = np.concatenate([one.faces, one.faces + one.n_vertices])
        mesh, n = TriMesh(vertices, faces), one.n_vertices
        found = reference_distances(mesh)
        assert geodesic_errors([n], [0], found)[0] == np.inf
        assert geodesic_errors([n], [0], DistancesOnDemand(mesh))[0] == np.inf
        assert found.diameter == pytest.approx(reference_distances(one).diameter, rel=1e-6)


class TestStorage:
    def test_float16_keeps_its_promise(self):
        mesh = primitives.bumpy_sphere(6)
        fine = reference_distances(mesh, dtype=np.float32)
        coarse = reference_distances(mesh, dtype=np.float16)
        assert coarse.matrix.dtype == np.float16
        difference = np.abs(coarse.matrix.astype(float) - fine.matrix)
        bound = 2.0**-11 * fine.matrix + 2.0**-25
        assert (difference <= bound).all()
        assert (difference > 0.25 * bound).any()
        assert coarse.diameter == fine.diameter

    def test_memory_bound(self, monkeypatch):
        assert matrix_memory(2**15) == 5.0
        assert matrix_memory(2**15, dtype=np.float16) == 6.0
        monkeypatch.setattr(distances, "geodesic_matrix", lambda *_, **__: pytest.fail("computed"))
        with pytest.raises(InputError, match=r"48 vertices need 0\.0 GiB, above memory=1e-06"):
            reference_distances(prism(), memory=1e-6)

    def test_the_matrix_cannot_be_changed(self, exact):
        with pytest.raises(ValueError, match="read-only"):
            exact.matrix[0, 0] = 1.0


class TestCache:
    @pytest.fixture
    def counted(self, monkeypatch):
        calls, compute = [], distances.geodesic_matrix

        def count(*arguments, **options):
            calls.append(options["method"])
            return compute(*arguments, **options)

        monkeypatch.setattr(distances, "geodesic_matrix", count)
        return calls

    def test_found_again(self, tmp_path, counted):
        folder = tmp_path / "a" / "b"
        first = reference_distances(prism(), cache=folder)
        second = reference_distances(prism(), cache=folder)
        assert counted == ["fmm"]
        assert np.array_equal(first.matrix, second.matrix)
        assert (first.area, first.diameter) == (second.area, second.diameter)
        assert not second.matrix.flags.writeable
        [file] = folder.iterdir()
        with np.load(file, allow_pickle=False) as data:
            config = json.loads(str(data["config"]))
        assert config["config"]["method"] == "fmm" and "numpy" in config["versions"]

    def test_other_input_is_not_found(self, tmp_path, counted, monkeypatch):
        mesh = prism()
        moved = mesh.vertices.copy()
        moved[0, 2] = np.nextafter(moved[0, 2], 1.0)
        reference_distances(mesh, cache=tmp_path)
        reference_distances(TriMesh(moved, mesh.faces), cache=tmp_path)
        reference_distances(TriMesh(mesh.vertices, np.roll(mesh.faces, 1, 0)), cache=tmp_path)
        reference_distances(mesh, method="heat", cache=tmp_path)
        reference_distances(mesh, dtype=np.float16, cache=tmp_path)
        monkeypatch.setattr(distances, "FORMAT", distances.FORMAT + 1)
        reference_distances(mesh, cache=tmp_path)
        assert len(counted) == len(list(tmp_path.iterdir())) == 6

    def test_no_flipped_byte_changes_a_distance(self, tmp_path):
        mesh = primitives.plane(2, 2)
        right = reference_distances(mesh, cache=tmp_path)
        [file] = tmp_path.iterdir()
        content = file.read_bytes()
        noticed = 0
        for place in range(0, len(content), 7):
            damaged = bytearray(content)
            damaged[place] ^= 0xFF
            file.write_bytes(damaged)
            with warnings.catch_warnings(record=True) as notes:
                warnings.simplefilter("always")
                found = reference_distances(mesh, cache=tmp_path)
            assert np.array_equal(found.matrix, right.matrix)
            assert found.diameter == right.diameter and found.area == right.area
            noticed += any(issubclass(note.category, CacheWarning) for note in notes)
        # The others hit dates, and the record of versions, which is not read.
        assert noticed > 80

    def test_a_damaged_file_is_replaced_with_a_note(self, tmp_path, counted):
        reference_distances(prism(), cache=tmp_path)
        [file] = tmp_path.iterdir()
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        with pytest.warns(CacheWarning, match="computed anew"):
            reference_distances(prism(), cache=tmp_path)
        reference_distances(prism(), cache=tmp_path)
        assert len(counted) == 2
        assert [p.name for p in tmp_path.iterdir()] == [file.name]

    @pytest.mark.parametrize("name", ["matrix", "sizes"])
    def test_a_change_in_an_archive_that_is_whole_is_noticed(self, tmp_path, name):
        right = reference_distances(prism(), cache=tmp_path)
        [file] = tmp_path.iterdir()
        with np.load(file) as data:
            arrays = dict(data)
        arrays[name].flat[1] *= 1.5
        np.savez(file, **arrays)
        with pytest.warns(CacheWarning, match="checksum"):
            found = reference_distances(prism(), cache=tmp_path)
        assert np.array_equal(found.matrix, right.matrix) and found.diameter == right.diameter

    def test_a_file_under_another_name_is_noticed(self, tmp_path):
        reference_distances(prism(), cache=tmp_path / "a")
        reference_distances(prism(2.0), cache=tmp_path / "b")
        [one], [two] = (list((tmp_path / name).iterdir()) for name in "ab")
        two.write_bytes(one.read_bytes())
        with pytest.warns(CacheWarning, match="checksum"):
            found = reference_distances(prism(2.0), cache=tmp_path / "b")
        assert found.area == pytest.approx(4 * AREA)

    def test_a_file_in_place_of_the_folder(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match="must be a folder"):
            reference_distances(prism(), cache=tmp_path / "file")


class TestBadInput:
    @pytest.mark.parametrize(
        ("predicted", "truth", "options", "sentence"),
        [
            ([0], [0], {"unit": "area"}, "unit must be"),
            ([0, 1], [0], {}, "2 predicted and 1 true"),
            ([0, 48], [0, 1], {}, "vertex 1 is sent to 48, but .* 0..47"),
            ([0, -1], [0, 1], {}, "vertex 1 is sent to -1"),
            ([0.0], [0], {}, "whole numbers, not float64"),
            ([], [], {}, "whole numbers"),
            ([[0]], [[0]], {}, r"shape \(1, 1\)"),
        ],
    )
    def test_errors(self, exact, predicted, truth, options, sentence):
        with pytest.raises(InputError, match=sentence):
            geodesic_errors(predicted, truth, exact, **options)

    def test_pairs(self, exact):
        with pytest.raises(InputError, match="give pairs"):
            exact.between([0, 1], [0])

    def test_distances(self):
        with pytest.raises(InputError, match="dtype must be"):
            reference_distances(prism(), dtype=np.float64)
        with pytest.raises(InputError, match="method must be"):
            reference_distances(prism(), method="dijkstra")

    def test_no_positive_distance(self, monkeypatch):
        def flat(mesh, sources, **_):
            rows = np.ones((len(sources), mesh.n_vertices))
            rows[np.arange(len(sources)), sources] = 0.0
            rows[np.isin(sources, [3, 5])[:, None] & np.isin(np.arange(48), [3, 5])] = 0.0
            return rows

        monkeypatch.setattr(distances, "geodesic_matrix", flat)
        with pytest.raises(InputError, match="between the vertices 3 and 5"):
            reference_distances(prism())
        with pytest.raises(InputError, match="between the vertices 5 and 3"):
            DistancesOnDemand(prism()).between([1, 5], [2, 3])
