"""Holes closed by patches."""

import numpy as np
import pytest

from finsler.errors import InputError
from finsler.mesh import (
    TriMesh,
    boundary_loops,
    euler_number,
    fill_holes,
    inconsistent_edges,
    nonmanifold_edges,
    primitives,
    surface_area,
)
from finsler.mesh.unit import UnitSurface


def ball_with_hole(share: float) -> tuple[TriMesh, TriMesh]:
    """A sphere, and the same without the faces near the north pole, renumbered."""
    ball = primitives.sphere(16)
    middle = ball.vertices[ball.faces].mean(axis=1)
    kept = ball.faces[middle[:, 2] < 1.0 - 2.0 * share]
    used, corners = np.unique(kept, return_inverse=True)
    return ball, TriMesh(ball.vertices[used], corners.reshape(-1, 3))


def test_a_patch_continues_the_sphere() -> None:
    ball, cut = ball_with_hole(0.02)
    result = fill_holes(cut)
    assert result.filled == 1 and not boundary_loops(result.mesh)
    assert euler_number(result.mesh) == 2
    assert len(nonmanifold_edges(result.mesh)) == len(inconsistent_edges(result.mesh)) == 0
    new = result.mesh.vertices[cut.n_vertices :]
    assert len(new) == len(result.nearest) > 0
    np.testing.assert_allclose(np.linalg.norm(new, axis=1), 1.0, atol=0.03)
    assert surface_area(result.mesh) == pytest.approx(surface_area(ball), rel=0.01)
    np.testing.assert_array_equal(result.mesh.faces[: cut.n_faces], cut.faces)


def test_large_holes_stay_open() -> None:
    _, cut = ball_with_hole(0.4)
    assert fill_holes(cut).filled == 0
    assert fill_holes(cut, largest=1.0).filled == 1
    with pytest.raises(InputError, match="largest"):
        fill_holes(cut, largest=-1.0)


def test_a_filled_surface_is_given_back_without_its_patch() -> None:
    _, cut = ball_with_hole(0.02)
    whole = UnitSurface.of(cut, fill=True)
    assert surface_area(whole.mesh) == pytest.approx(1.0)
    assert whole.mesh.n_vertices > cut.n_vertices == whole.unfilled().mesh.n_vertices
    np.testing.assert_array_equal(whole.as_given().faces, cut.faces)
    assert whole.unfilled().area == pytest.approx(surface_area(cut))
