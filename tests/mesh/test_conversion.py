"""Meshes of other libraries go in as they are, and come out again."""

import inspect
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import finsler
from finsler import InputError, TriMesh, as_mesh, primitives
from finsler.mesh import face_areas
from forms import KINDS, given_as
from test_docs import LAYERS, public_names

MESH = primitives.bumpy_sphere(3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_mesh_in_every_form(kind, tmp_path):
    read = as_mesh(given_as(kind, MESH, tmp_path))
    assert isinstance(read, TriMesh)
    np.testing.assert_array_equal(read.vertices, MESH.vertices)
    if kind == "strips":  # which reorder faces
        assert {frozenset(face) for face in read.faces.tolist()} == {
            frozenset(face) for face in MESH.faces.tolist()
        }
    else:
        np.testing.assert_array_equal(read.faces, MESH.faces)


def test_polygons_are_cut_into_triangles():
    pyvista = pytest.importorskip("pyvista")
    cube = as_mesh(pyvista.Cube())
    assert cube.n_faces == 12
    assert face_areas(cube).sum() == pytest.approx(6.0)


def test_what_leaves_is_what_comes_back():
    for there in (MESH.to_trimesh(), MESH.to_pyvista()):
        back = as_mesh(there)
        np.testing.assert_array_equal(back.vertices, MESH.vertices)
        np.testing.assert_array_equal(back.faces, MESH.faces)
    # What belongs to other libraries may be changed; the mesh itself stays.
    changed = MESH.to_pyvista()
    changed.points *= 2.0
    other = MESH.to_trimesh()
    other.apply_scale(2.0)
    np.testing.assert_array_equal(MESH.vertices, primitives.bumpy_sphere(3).vertices)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "mesh is a NoneType; it must be a TriMesh, a pair"),
        (SimpleNamespace(pos=MESH.vertices, face=None), "mesh is a SimpleNamespace; it must be"),
        ((MESH.vertices, MESH.faces, 1), "mesh is a tuple; it must be"),
        ((MESH.vertices, MESH.faces + 1), "mesh: face .* names vertices"),
        ((MESH.faces, np.eye(2)), r"mesh: faces must have shape \(m, 3\)"),
        (SimpleNamespace(vertices="a", faces="b"), "mesh: vertices must hold real numbers"),
        ("nowhere.off", "nowhere.off: there is no such file"),
    ],
)
def test_what_is_no_mesh_gets_one_sentence(value, sentence):
    for function in (as_mesh, finsler.lbo, finsler.health):
        with pytest.raises(InputError, match=sentence):
            function(value)


def test_points_alone_are_no_mesh():
    pyvista = pytest.importorskip("pyvista")
    with pytest.raises(InputError, match="a point cloud cannot be used"):
        finsler.lbo(pyvista.PolyData(np.eye(3)))


def test_tensors_are_taken_for_arrays():
    torch = pytest.importorskip("torch")
    height = MESH.vertices[:, 2]
    learned = torch.tensor(height, requires_grad=True)
    field, expected = (finsler.oriented_field(MESH, f) for f in (learned, height))
    np.testing.assert_array_equal(field.vectors, expected.vectors)
    wind = finsler.RandersMetric.from_wind(MESH, torch.eye(3), torch.tensor([0.5, 0, 0]))
    assert wind.is_valid
    with pytest.raises(InputError, match="one number a vertex"):
        finsler.oriented_field(MESH, learned[:3])


def mesh_functions():
    """Every public function and classmethod, of any package, with a parameter that is a mesh."""
    for layer in LAYERS:
        module = import_module(f"finsler.{layer}")
        for name in public_names(module):
            value = getattr(module, name)
            known = {name: value} if inspect.isfunction(value) else {}
            if inspect.isclass(value):
                methods = [m for m in vars(value) if m[0] != "_" and callable(getattr(value, m))]
                known = {f"{name}.{method}": getattr(value, method) for method in methods}
            for called, function in known.items():
                taken = inspect.signature(function).parameters
                if any(str(p.annotation).startswith("TriMesh") for p in taken.values()):
                    yield pytest.param(function, id=f"{layer}.{called}")


@pytest.mark.parametrize("function", list(mesh_functions()))
def test_no_function_refuses_a_mesh_of_another_kind(function):
    """Each is checked by the one place that converts: what is no mesh gets its sentence."""
    given = {
        name: "a.ply" if name == "path" else object()
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
        and ("TriMesh" in str(parameter.annotation) or name in ("self", "path"))
    }
    with pytest.raises(InputError, match=r"a pair \(vertices, faces\)"):
        function(**dict.fromkeys(required(function)) | given)


def required(function):
    taken = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in taken if parameter.default is parameter.empty]
