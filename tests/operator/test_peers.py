"""Agreement with other packages where their definitions coincide with ours."""

import numpy as np
import pytest

import finsler
from finsler import FaceFrames, primitives

SHAPES = [
    primitives.bumpy_sphere(10),
    primitives.plane(12, 9, jitter=0.3),
    primitives.torus(30, 15, jitter=0.2),
]


def relative(a, b):
    return abs(a - b).max() / abs(b).max()


@pytest.mark.parametrize("mesh", SHAPES, ids=repr)
def test_libigl_cotangent_matrix(mesh):
    igl = pytest.importorskip("igl")
    ours = finsler.flbo(mesh, alpha=0.0, tau=0.0)
    assert relative(ours.stiffness, -igl.cotmatrix(mesh.vertices, mesh.faces)) < 1e-12
    barycentric = igl.massmatrix(mesh.vertices, mesh.faces, igl.MASSMATRIX_TYPE_BARYCENTRIC)
    assert np.allclose(ours.mass, barycentric.diagonal(), rtol=1e-12)


def test_robust_laplacian_where_the_mesh_is_delaunay():
    # Its intrinsic flips change nothing on an icosphere, which is Delaunay.
    robust = pytest.importorskip("robust_laplacian")
    mesh = primitives.sphere(10)
    stiffness, mass = robust.mesh_laplacian(mesh.vertices, mesh.faces, mollify_factor=0.0)
    ours = finsler.lbo(mesh)
    assert relative(ours.stiffness, stiffness) < 1e-12
    assert np.allclose(ours.mass, mass.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 4.0, 10.0])
def test_lapy_anisotropic_stiffness(alpha):
    # LaPy, like the paper's formula, applies its tensor to edges, which are gradients turned by
    # 90°: a factor on edges along û_m is one on gradients along û_M, and the other way round.
    lapy = pytest.importorskip("lapy")
    mesh = SHAPES[0]
    frames = finsler.principal_frames(mesh)
    triangles = lapy.TriaMesh(mesh.vertices, mesh.faces)
    slow = 1.0 / (1.0 + alpha)
    for factors, theta in (([slow, 1.0], 0.0), ([1.0, slow], np.pi / 2)):
        stiffness, mass = lapy.Solver._fem_tria_aniso(
            triangles, frames.u_min, frames.u_max, np.tile(factors, (mesh.n_faces, 1)), lump=True
        )
        ours = finsler.albo(mesh, alpha=alpha, theta=theta, frames=frames)
        assert relative(ours.stiffness, stiffness) < 1e-12
        assert np.allclose(ours.mass, mass.diagonal(), rtol=1e-12)


def test_user_frames_reach_the_operator():
    mesh = SHAPES[1]
    across = FaceFrames.from_directions(mesh, np.tile([0.0, 1.0, 0.0], (mesh.n_faces, 1)))
    along = FaceFrames.from_directions(mesh, np.tile([1.0, 0.0, 0.0], (mesh.n_faces, 1)))
    turned = finsler.albo(mesh, theta=np.pi / 2, frames=along)
    assert relative(finsler.albo(mesh, frames=across).stiffness, turned.stiffness) < 1e-12
