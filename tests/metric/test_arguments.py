"""A metric and frames belong to a mesh: no call can mix two of them."""

import numpy as np
import pytest

import finsler
from finsler import RandersMetric, TriMesh, primitives
from finsler.operator.drift import default_epsilon

MESH = primitives.bumpy_sphere(4)
# As many vertices and faces, in other places.
OTHER = primitives.sphere(4)
METRIC = RandersMetric.isotropic(MESH)
START = np.eye(MESH.n_vertices)[0]
BASIS = finsler.spectrum(finsler.lbo(MESH), 5)
FRAMES = finsler.principal_frames(MESH)

# Function, what comes before the metric, and what comes after it.
CALLS = {
    finsler.RandersHeat: ((), ()),
    finsler.drift_operator: ((), ()),
    default_epsilon: ((), ()),
    finsler.drift_source: ((), ()),
    finsler.finsler_energy: ((), (START,)),
    finsler.finsler_flow: ((BASIS,), (START, 0.1)),
    finsler.finsler_heat_flow: ((), (START, [0.1])),
    finsler.finsler_heat_step: ((), (START, 0.1)),
    finsler.finsler_laplacian_apply: ((), (START,)),
    finsler.finsler_laplacian_at: ((), (START,)),
    finsler.geodesic_path: ((), (finsler.randers_distance(METRIC, 0), 0, 5)),
    finsler.randers_distance: ((), (0,)),
}


def all_that_take_a_metric():
    return pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)


@all_that_take_a_metric()
@pytest.mark.parametrize("mesh", [MESH, OTHER], ids=["its own", "another"])
def test_a_mesh_beside_the_metric_gets_a_sentence_that_shows_the_call(function, mesh):
    before, after = CALLS[function]
    function(*before, METRIC, *after)
    name = function.__name__
    shown = rf"^{name} takes no mesh: the metric carries its own; write {name}\((spectrum, )?metric"
    with pytest.raises(finsler.InputError, match=shown):
        function(*before, mesh, METRIC, *after)
    with pytest.raises(finsler.InputError, match=shown):
        function(*before, mesh=mesh, metric=METRIC)


def test_the_names_shown_are_those_of_the_signature():
    with pytest.raises(finsler.InputError, match=r"geodesic_path\(metric, distance, sources, tar"):
        finsler.geodesic_path(MESH, METRIC, START, 0, 5)
    with pytest.raises(finsler.InputError, match=r"RandersHeat\(metric\)$"):
        finsler.RandersHeat(MESH, METRIC)


def test_a_distance_is_that_of_the_metrics_own_mesh():
    for mesh in (MESH, OTHER):
        found = finsler.randers_distance(RandersMetric.isotropic(mesh), 0)
        exact = finsler.geodesic_distance(mesh, 0, method="exact")
        assert np.abs(found - exact).max() < 0.1
    assert finsler.RandersHeat(METRIC).mesh is MESH


class TestFrames:
    takers = pytest.mark.parametrize(
        "take",
        [
            lambda mesh, frames: RandersMetric.from_curvature(mesh, frames).M,
            lambda mesh, frames: finsler.flbo(mesh, frames=frames).stiffness.data,
            lambda mesh, frames: finsler.albo(mesh, frames=frames).stiffness.data,
            lambda mesh, frames: finsler.angle_stack(mesh, frames=frames).values,
        ],
        ids=["from_curvature", "flbo", "albo", "angle_stack"],
    )
    moved = pytest.mark.parametrize(
        "mesh",
        [OTHER, TriMesh(MESH.vertices, np.roll(MESH.faces, 1, axis=0)), primitives.sphere(3)],
        ids=["other vertices", "other faces", "other size"],
    )

    @takers
    @moved
    @pytest.mark.parametrize("turned", [False, True])
    def test_of_another_mesh(self, take, mesh, turned):
        frames = FRAMES.rotated(0.3) if turned else FRAMES
        with pytest.raises(finsler.InputError, match="the frames belong to another mesh"):
            take(mesh, frames)

    @takers
    def test_given_by_hand_of_another_mesh(self, take):
        frames = finsler.FaceFrames.from_directions(OTHER, FRAMES.u_max + 0.1)
        with pytest.raises(finsler.InputError, match="the frames belong to another mesh"):
            take(MESH, frames)

    @takers
    def test_of_an_equal_mesh(self, take):
        equal = TriMesh(MESH.vertices, MESH.faces)
        assert np.array_equal(take(equal, FRAMES), take(MESH, FRAMES))
