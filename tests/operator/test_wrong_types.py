"""Arguments of a wrong type or shape end in a sentence, never in an error of numpy."""

import numpy as np
import pytest

import finsler
from finsler import RandersMetric, primitives

MESH = primitives.sphere(3)
FRAMES = finsler.principal_frames(MESH)
LAPLACIAN = finsler.lbo(MESH)
SPECTRUM = finsler.spectrum(LAPLACIAN, k=5)
METRIC = RandersMetric.isotropic(MESH)
START = np.ones(MESH.n_vertices)
WRONG = [None, "much", ["a", "b"], np.ones((2, 5)), float("nan"), object()]

CALLS = {
    "flbo alpha": lambda x: finsler.flbo(MESH, alpha=x, frames=FRAMES),
    "flbo tau": lambda x: finsler.flbo(MESH, tau=x, frames=FRAMES),
    "flbo theta": lambda x: finsler.flbo(MESH, theta=x, frames=FRAMES),
    "albo alpha": lambda x: finsler.albo(MESH, alpha=x, frames=FRAMES),
    "laplacian": lambda x: finsler.laplacian(MESH, x),
    "tau_of_strength": lambda x: finsler.tau_of_strength(MESH, x),
    "metric M": lambda x: RandersMetric(MESH, x, [0.0, 0.0]),
    "metric omega": lambda x: RandersMetric(MESH, np.eye(2), x),
    "from_wind h": lambda x: RandersMetric.from_wind(MESH, x, [0.0, 0.0, 0.0]),
    "from_wind wind": lambda x: RandersMetric.from_wind(MESH, np.eye(3), x),
    "diffuse u0": lambda x: finsler.diffuse(LAPLACIAN, x, 0.1),
    "diffuse t": lambda x: finsler.diffuse(LAPLACIAN, START, x),
    "heat_kernel t": lambda x: finsler.heat_kernel(SPECTRUM, x, 0),
    "heat_kernel sources": lambda x: finsler.heat_kernel(SPECTRUM, 0.1, x),
    "randers_distance": lambda x: finsler.randers_distance(METRIC, x),
    "geodesic_distance": lambda x: finsler.geodesic_distance(MESH, x),
    "finsler_energy": lambda x: finsler.finsler_energy(METRIC, x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_a_sentence(call, wrong):
    with pytest.raises(finsler.InputError) as caught:
        call(wrong)
    assert "ambiguous" not in str(caught.value) and "could not" not in str(caught.value)


def test_an_array_where_one_number_is_needed():
    with pytest.raises(finsler.InputError, match="alpha must be one finite number above -1"):
        finsler.flbo(MESH, alpha=np.ones(MESH.n_faces))


def test_one_entry_stands_for_all_faces():
    plane = primitives.plane(3, 3)
    many = RandersMetric.from_wind(
        plane, np.tile(np.eye(3), (plane.n_faces, 1, 1)), np.tile([0.5, 0, 0], (plane.n_faces, 1))
    )
    one = RandersMetric.from_wind(plane, np.eye(3), [0.5, 0, 0])
    assert np.array_equal(one.M, many.M) and np.array_equal(one.omega, many.omega)
