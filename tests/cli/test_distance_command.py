"""`finsler distance`, run as a user runs it."""

import io
import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import finsler
from finsler.analysis import geodesic_path, randers_distance
from finsler.cli.main import app, main
from finsler.view.upright import Viewpoint

runner = CliRunner()


@pytest.fixture(scope="module")
def mesh():
    return finsler.primitives.bumpy_sphere(8)


@pytest.fixture(scope="module")
def mesh_file(mesh, tmp_path_factory):
    path = tmp_path_factory.mktemp("mesh") / "shape.ply"
    finsler.write_mesh(path, mesh)
    return path


@pytest.fixture(scope="module")
def two_file(mesh, tmp_path_factory):
    """Two shapes side by side."""
    vertices = np.vstack([mesh.vertices, mesh.vertices + np.array([3.0, 0.0, 0.0])])
    path = tmp_path_factory.mktemp("mesh") / "two.ply"
    two = finsler.TriMesh(vertices, np.vstack([mesh.faces, mesh.faces + mesh.n_vertices]))
    finsler.write_mesh(path, two)
    return path


def run(*arguments):
    result = runner.invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def wind_metric(mesh, wind):
    identity = np.tile(np.eye(2), (mesh.n_faces, 1, 1))
    return finsler.RandersMetric.from_wind(mesh, identity, np.tile(wind, (mesh.n_faces, 1)))


class TestNumbers:
    def test_downwind_is_quick_and_upwind_slow(self, tmp_path):
        # On a plane, distance in a wind along x is (length − wind·step)/(1 − wind²) along x.
        path, out = tmp_path / "plane.ply", tmp_path / "d.npz"
        plane = finsler.primitives.plane(10, 10)
        finsler.write_mesh(path, plane)
        run("distance", path, "-s", 0, "--wind", 0.5, 0, 0, "--both", "-o", out)
        step = plane.vertices - plane.vertices[0]
        row = np.flatnonzero(step[:, 1] == 0)
        with np.load(out) as data:
            assert np.allclose(data["distance"][row], step[row, 0] / 1.5)
            assert np.allclose(data["distance_back"][row], step[row, 0] / 0.5)
            assert np.allclose(data["asymmetry"], data["distance"] - data["distance_back"])

    def test_files_hold_what_the_library_computes(self, mesh, mesh_file, tmp_path):
        out, wind = tmp_path / "d.npz", [0.1, -0.6, 0.2]
        arguments = ["--source", 7, "-s", 300, "--wind", *wind, "--both", "--path-to", 500]
        answer = json.loads(run("distance", mesh_file, *arguments, "-o", out, "--json"))
        metric = wind_metric(mesh, wind)
        there = randers_distance(metric, [7, 300])
        back = randers_distance(metric, [7, 300], reverse=True)
        ways = [
            geodesic_path(metric, d, [7, 300], 500, reverse=reverse)
            for d, reverse in ((there, False), (back, True))
        ]
        with np.load(out) as data:
            assert np.array_equal(data["distance"], there)
            assert np.array_equal(data["distance_back"], back)
            assert np.array_equal(data["asymmetry"], there - back)
            assert np.array_equal(data["path"], ways[0].points)
            assert np.array_equal(data["path_back"], ways[1].points)
            assert data["sources"].tolist() == [7, 300]
            config = json.loads(str(data["config"]))["config"]
        assert config == answer["config"]
        assert (config["metric"], config["wind"], config["path_to"]) == ("wind", wind, 500)
        first, second = answer["paths"]
        assert first["from"] in (7, 300) and first["to"] == 500
        assert second["from"] == 500 and second["to"] in (7, 300)
        assert first["length"] == pytest.approx(ways[0].length)
        assert answer["largest_from"] == {"vertex": int(there.argmax()), "value": there.max()}
        assert answer["largest_to"]["value"] == back.max()
        most = int(np.abs(there - back).argmax())
        assert answer["largest_difference"] == {"vertex": most, "value": (there - back)[most]}

    def test_reverse_heat_and_vtk(self, mesh, mesh_file, tmp_path):
        pyvista = pytest.importorskip("pyvista")
        out = tmp_path / "d.vtk"
        run("distance", mesh_file, "-s", 3, "--reverse", "--method", "heat", "-o", out)
        metric = wind_metric(mesh, [0.5, 0, 0])
        expected = randers_distance(metric, 3, reverse=True, method="heat")
        read = pyvista.read(out)
        assert list(read.point_data) == ["distance"]
        assert np.allclose(read.point_data["distance"], expected)

    def test_curvature_options_choose_the_curvature_metric(self, mesh, mesh_file, tmp_path):
        out = tmp_path / "d.npz"
        options = ["--alpha", 3, "--tau", 1.2, "--theta", 30]
        run("distance", mesh_file, "-s", 3, *options, "-o", out)
        frames = finsler.principal_frames(mesh)
        metric = finsler.RandersMetric.from_curvature(
            mesh, frames, alpha=3.0, tau=1.2, theta=np.pi / 6
        )
        with np.load(out) as data:
            assert np.allclose(data["distance"], randers_distance(metric, 3))
            config = json.loads(str(data["config"]))["config"]
        assert config["metric"] == "curvature" and config["theta_degrees"] == 30
        assert "wind" not in config and "operator" not in config

    def test_isotropic_there_and_back_agree(self, mesh_file):
        answer = json.loads(run("distance", mesh_file, "--metric", "isotropic", "--both", "--json"))
        assert abs(answer["largest_difference"]["value"]) < 1e-12
        assert answer["config"]["metric"] == "isotropic"

    def test_plain_geodesics(self, mesh, mesh_file, tmp_path):
        pytest.importorskip("potpourri3d")
        from finsler.analysis.geodesic import geodesic_distance

        out = tmp_path / "d.npz"
        text = run("distance", mesh_file, "-s", 3, "--method", "geodesic", "-o", out)
        assert "isotropic" in text
        with np.load(out) as data:
            assert np.allclose(data["distance"], geodesic_distance(mesh, 3, method="heat"))


class TestWords:
    def test_default_source_is_named(self, mesh, mesh_file):
        nearest = Viewpoint().nearest(mesh)
        text = run("distance", mesh_file)
        assert f"source vertex {nearest} (nearest the viewer; --source chooses)" in text
        assert "wind 0.5 0 0" in text and "infinite" not in text
        assert "--source chooses" not in run("distance", mesh_file, "-s", 0)

    def test_path_is_told_in_the_direction_of_travel(self, mesh_file):
        assert "path from 0 to 9: length" in run("distance", mesh_file, "-s", 0, "--path-to", 9)
        back = run("distance", mesh_file, "-s", 0, "--path-to", 9, "--reverse")
        assert "path from 9 to 0: length" in back and "to the source: up to" in back

    def test_unreached_parts_are_told(self, two_file, tmp_path):
        out = tmp_path / "d.npz"
        text = run("distance", two_file, "-s", 0, "--both", "-o", out)
        assert "642 of 1,284 vertices lie on parts without a source" in text
        with np.load(out) as data:
            assert np.isfinite(data["distance"][:642]).all()
            assert np.isposinf(data["distance"][642:]).all()
            assert np.isnan(data["asymmetry"][642:]).all()
        answer = json.loads(run("distance", two_file, "-s", 0, "--json"))
        assert answer["unreached"] == 642 and answer["largest_from"]["vertex"] < 642

    def test_help_explains_the_default_metric(self):
        text = " ".join(run("distance", "--help").replace("│", " ").split())
        assert "Example" in text and "half the traveller's speed" in text and "seams" in text


class TestPictures:
    def test_figure_and_animation(self, mesh_file, tmp_path):
        image_module = pytest.importorskip("PIL.Image")
        figure, movie = tmp_path / "d.png", tmp_path / "d.gif"
        files = ["--figure", figure, "--animate", movie, "--frames", 3]
        answer = json.loads(run("distance", mesh_file, "--both", *files, "--json"))
        assert answer["files"] == [str(figure), str(movie)]
        assert figure.read_bytes()[:4] == b"\x89PNG"
        with image_module.open(io.BytesIO(movie.read_bytes())) as image:
            assert (image.n_frames, image.size) == (3, (960, 480))
            colored = []
            for frame in range(3):
                image.seek(frame)
                picture = np.asarray(image.convert("RGB"), dtype=float)
                colored.append((np.ptp(picture, axis=2) > 30).sum())
        # The front advances over what is still grey.
        assert 0 < colored[0] < colored[1] < colored[2]

    def test_unreached_parts_are_grey(self, two_file, mesh):
        from finsler.analysis.distance_fields import distance_fields
        from finsler.view import render_panel
        from finsler.view.distance_fields import field_camera, field_panels

        two = finsler.load_mesh(two_file)
        fields = distance_fields(wind_metric(two, [0.5, 0, 0]), [0], both=True, target=40)
        panels = field_panels(fields)
        camera = field_camera(fields)
        assert [panel.clim[0] for panel in panels[:2]] == [0.0, 0.0]
        assert panels[2].clim[0] == -panels[2].clim[1]
        for panel in panels:
            assert np.isfinite(panel.scalars).all()
            picture = render_panel(panel, camera=camera, size=(200, 200))
            covered = (picture < 250).any(axis=2)
            grey = covered & (np.ptp(picture.astype(int), axis=2) < 20)
            assert grey.sum() > 0.2 * covered.sum()

    def test_round_trip_is_one_path(self, mesh):
        from finsler.analysis.distance_fields import distance_fields
        from finsler.view.distance_fields import field_panels

        fields = distance_fields(wind_metric(mesh, [0, 0.5, 0]), [0], both=True, target=40)
        path = field_panels(fields)[2].path
        ends = mesh.vertices[[0, 40, 0]]
        first = len(fields[0].path.points)
        assert np.allclose(path[[0, first, -1]], ends)

    @pytest.mark.parametrize(
        ("largest", "step", "top"), [(3.9, 0.2, 4.0), (1.0, 0.05, 1.0), (2.4e-5, 1e-6, 2.4e-5)]
    )
    def test_level_sets_lie_at_round_numbers(self, largest, step, top):
        from finsler.view.level_sets import _rounded

        assert _rounded(largest, 24) == pytest.approx((step, top))

    def test_all_vertices_may_be_sources(self, tmp_path):
        path, figure = tmp_path / "a.off", tmp_path / "a.svg"
        finsler.write_mesh(path, finsler.TriMesh(np.eye(3), [[0, 1, 2]]))
        run("distance", path, "-s", 0, "-s", 1, "-s", 2, "--both", "--figure", figure)
        assert b"<svg" in figure.read_bytes()[:2000]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["MESH", "-s", "99999"], "vertex indices must lie in 0..641"),
        (["MESH", "--path-to", "-1"], "vertex indices must lie in"),
        (["MESH", "--both", "--reverse"], "leave one of them out"),
        (["MESH", "--wind", "1.5", "0", "0"], "slower than the traveller"),
        (["MESH", "--wind", "nan", "0", "0"], "not finite"),
        (["MESH", "--wind", "0.1", "0", "0", "--alpha", "3"], "--wind belongs to --metric wind"),
        (["MESH", "--metric", "wind", "--tau", "0.2"], "--tau belongs to --metric curvature"),
        (["MESH", "--metric", "isotropic", "--peak", "0.2"], "but the metric is isotropic"),
        (["MESH", "--method", "geodesic", "--both"], "same there and back"),
        (["MESH", "--method", "geodesic", "--metric", "wind"], "or take --method eikonal"),
        (["MESH", "--tau", "1"], "lower tau"),
        (["MESH", "-o", "d.off"], "not one of .ply, .vtk, .npz"),
        (["MESH", "-o", "d.ply", "--figure", "none/d.png"], "create it first"),
        (["MESH", "-o", "d.ply", "--animate", "d.mp4"], "not one of .gif"),
        (["TWO", "-s", "0", "--path-to", "700", "-o", "d.npz"], "cannot be reached"),
        (["nowhere.off"], "there is no such file"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    mesh_file, two_file, tmp_path, monkeypatch, capsys, arguments, sentence
):
    files = {"MESH": str(mesh_file), "TWO": str(two_file)}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["finsler", "distance", *(files.get(a, a) for a in arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith("error: ") and sentence in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
