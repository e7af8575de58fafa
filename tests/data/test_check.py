import json
import os

import numpy as np
import pytest

import fakesets
from finsler.data.check import check_collection
from finsler.errors import InputError
from finsler.mesh import TriMesh, load_mesh, primitives, write_mesh

REAL = os.environ.get("FINSLER_DATA")


@pytest.fixture
def wolves(tmp_path):
    return fakesets.remeshed(tmp_path / "TOSCA_r", [f"wolf{i}" for i in range(5)])


def only(path):
    """The report on a folder with one set."""
    (report,) = check_collection(path)
    return report


def finding(path, words, severity):
    """The one finding of a folder whose text holds some words."""
    report = only(path)
    (found,) = [entry for entry in report.findings if words in entry.what]
    assert found.severity == severity and found.remedy
    assert report.usable == (severity != "error")
    return found


def change(path, edit):
    mesh = load_mesh(path)
    vertices, faces = mesh.vertices.copy(), mesh.faces.copy()
    write_mesh(path, TriMesh(*edit(vertices, faces)))


def test_a_clean_set_has_its_figures(wolves):
    steps = []
    (report,) = check_collection(wolves.folder, progress=lambda done, of: steps.append((done, of)))
    assert report.usable and report.findings == ()
    assert (report.name, report.shapes, report.train, report.test) == ("TOSCA_r wolf", 5, 4, 1)
    named = len(np.unique(wolves.points)) / 42
    assert report.named_share == pytest.approx((named, named, named))
    assert report.repeated_share == pytest.approx(3 / len(wolves.points))
    assert steps == [(i, 5) for i in range(1, 6)]
    assert json.loads(json.dumps(report.to_dict()))["usable"] is True


def test_the_folder_around_may_hold_several_sets(tmp_path, wolves):
    fakesets.remeshed(tmp_path / "SCAPE_r", fakesets.SCAPE)
    assert [report.name for report in check_collection(tmp_path)] == ["SCAPE_r", "TOSCA_r wolf"]


def test_nothing_recognised(tmp_path):
    with pytest.raises(InputError, match="no data set is recognised here"):
        check_collection(tmp_path)
    with pytest.raises(InputError, match="there is no such folder"):
        check_collection(tmp_path / "nowhere")


def test_missing_and_extra_files(wolves):
    (wolves.folder / "off" / "wolf1.off").unlink()
    (wolves.folder / "corres" / "wolf2.vts").unlink()
    write_mesh(wolves.folder / "off" / "sheep.off", primitives.sphere(1))
    report = only(wolves.folder)
    told = [(entry.severity, entry.what) for entry in report.findings]
    assert ("error", "1 of 5 shapes have no mesh: wolf1") in told
    assert ("error", "1 of 5 shapes have no ground truth: wolf2") in told
    assert ("note", "1 files belong to no shape of the set: sheep.off") in told


def test_a_missing_reference_is_one_finding(wolves):
    (wolves.folder / "off" / "wolf0.off").unlink()
    assert [entry.what for entry in only(wolves.folder).findings] == [
        "1 of 5 shapes have no mesh: wolf0"
    ]


def test_too_few_shapes_for_the_split(tmp_path):
    fakesets.shrec16(tmp_path, count=12)
    finding(tmp_path, "12 shapes are there besides the reference, but the split needs 15", "error")


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        (4, "0", "line 4: names vertex 0, but the file must count from 1"),
        (2, "43", "line 2: names vertex 43, but the mesh has 42 vertices"),
        (7, "hello", "line 7: 'hello' is not a vertex number"),
    ],
)
def test_bad_lines_are_named(wolves, line, text, words):
    path = wolves.folder / "corres" / "wolf3.vts"
    lines = path.read_text().splitlines()
    lines[line - 1] = text
    fakesets.numbers(path, lines)
    assert finding(wolves.folder, words, "error").subject == str(path)


def test_a_truncated_truth_is_named(wolves):
    path = wolves.folder / "corres" / "wolf3.vts"
    lines = path.read_text().splitlines()
    fakesets.numbers(path, lines[:10])
    found = finding(wolves.folder, f"ends with line 10, but it needs {len(lines)}", "error")
    assert found.subject == str(path) and "copy it again" in found.remedy


def test_damage_of_the_reference_is_told_once(wolves):
    path = wolves.folder / "corres" / "wolf0.vts"
    fakesets.numbers(path, ["x", *path.read_text().splitlines()[1:]])
    (found,) = only(wolves.folder).findings
    assert found.subject == str(path) and "line 1: 'x'" in found.what


def test_a_truncated_mesh_is_named(wolves):
    path = wolves.folder / "off" / "wolf2.off"
    path.write_bytes(path.read_bytes()[:600])
    assert finding(wolves.folder, "lines follow", "error").subject == str(path)
    assert only(wolves.folder).shapes == 4


DEFECTS = {
    "1 faces without area": ("error", lambda v, f: (v, np.r_[f, [[f[0, 0], f[0, 0], f[0, 1]]]])),
    "1 vertices without a face": ("error", lambda v, f: (np.r_[v, [[3.0, 0, 0]]], f)),
    "3 edges between oppositely oriented faces": (
        "warning",
        lambda v, f: (v, np.r_[f[:1, ::-1], f[1:]]),
    ),
    "1 edges with more than two faces": (
        "warning",
        lambda v, f: (np.r_[v, [[3.0, 0, 0]]], np.r_[f, [[f[0, 0], f[0, 1], len(v)]]]),
    ),
    "1 vertices that join separate fans of faces": (
        "warning",
        lambda v, f: (
            np.r_[v, [[3.0, 0, 0], [3.0, 1, 0]]],
            np.r_[f, [[f[0, 0], len(v), len(v) + 1]]],
        ),
    ),
    "1 duplicate faces": ("warning", lambda v, f: (v, np.r_[f, f[:1]])),
    "2 separate components": (
        "warning",
        lambda v, f: (np.r_[v, 3.0 + np.eye(3)], np.r_[f, [len(v) + np.arange(3)]]),
    ),
    "faces that point inwards": ("warning", lambda v, f: (v, f[:, ::-1])),
    "its area is 9 times the median": ("warning", lambda v, f: (3 * v, f)),
    "its area is 0.01 times the median": ("warning", lambda v, f: (0.1 * v, f)),
}  # fmt: skip


@pytest.mark.parametrize("words", DEFECTS)
def test_defects_of_meshes(wolves, words):
    severity, edit = DEFECTS[words]
    path = wolves.folder / "off" / "wolf4.off"
    change(path, edit)
    assert finding(wolves.folder, words, severity).subject == str(path)


def test_common_defects_are_grouped(wolves):
    for name in ("wolf1", "wolf2"):
        change(wolves.folder / "off" / f"{name}.off", lambda v, f: (v, f[:, ::-1]))
    finding(wolves.folder, "faces that point inwards; 2 of 5 shapes have such", "warning")


def test_registrations_number_alike(tmp_path):
    fakesets.registrations(tmp_path)
    assert only(tmp_path).usable and only(tmp_path).named_share == (1.0, 1.0, 1.0)
    write_mesh(tmp_path / "tr_reg_050.ply", primitives.sphere(2))
    finding(tmp_path, "the mesh has 42 vertices and tr_reg_000 has 12", "error")


def test_partial_sets(tmp_path):
    fakesets.shrec16(tmp_path, truth=".baryc_gt")
    report = only(tmp_path)
    assert report.usable and report.repeated_share is None and report.shapes == 16
    path = tmp_path / "cuts" / "corres" / "cuts_cat_shape_4.baryc_gt"
    lines = path.read_text().splitlines()
    lines[5] = "9999 1 0 0"
    fakesets.numbers(path, lines)
    found = finding(tmp_path, "line 6: names a face that the null shape lacks (1 such", "warning")
    assert found.subject == str(path)
    lines[2] = "1 0.5 0.5"
    fakesets.numbers(path, lines)
    finding(tmp_path, "line 3: '1 0.5 0.5' is not a face and three", "error")


def test_a_part_larger_than_its_whole(tmp_path):
    fakesets.shrec16(tmp_path)
    path = tmp_path / "cuts" / "off" / "cuts_cat_shape_4.off"
    change(path, lambda v, f: (10 * v, f))
    assert finding(tmp_path, "times that of cat", "warning").subject == str(path)


@pytest.mark.skipif(not REAL, reason="FINSLER_DATA names no folder")
def test_real_data_are_usable():
    for report in check_collection(REAL):
        assert report.usable, report.findings
