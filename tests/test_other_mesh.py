"""What belongs to another mesh is refused, even where that has as many vertices and faces."""

import numpy as np
import pytest

import finsler
from finsler import OperatorSpec, RandersMetric, TriMesh, primitives

MESH = primitives.bumpy_sphere(3)
OTHER = TriMesh(MESH.vertices * [1.0, 1.2, 0.8], MESH.faces)
SPEC = OperatorSpec("flbo", smoothing=1, angles=2)
HEIGHT = MESH.vertices[:, 2]


def of(mesh):
    """What is made from a mesh."""
    frames = finsler.principal_frames(mesh, smoothing=1)
    return {
        "frames": frames,
        "metric": RandersMetric.from_curvature(mesh, frames),
        "laplacian": finsler.lbo(mesh),
        "spectrum": finsler.spectrum(finsler.lbo(mesh), 10),
        "stack": finsler.angle_stack(mesh, angles=2, frames=frames),
    }


MADE, FOREIGN = of(MESH), of(OTHER)
CALLS = {
    "albo": lambda x: finsler.albo(MESH, frames=x["frames"]),
    "flbo": lambda x: finsler.flbo(MESH, frames=x["frames"]),
    "angle_stack": lambda x: finsler.angle_stack(MESH, frames=x["frames"]),
    "from_curvature": lambda x: RandersMetric.from_curvature(MESH, x["frames"]),
    "spec.metric": lambda x: SPEC.metric(MESH, frames=x["frames"]),
    "spec.laplacian": lambda x: SPEC.laplacian(MESH, frames=x["frames"]),
    "spec.stack": lambda x: SPEC.stack(MESH, frames=x["frames"]),
    "join": lambda x: finsler.AngleStack.join([MADE["stack"], x["stack"]]),
    "single": lambda x: finsler.AngleStack.single(MADE["laplacian"], reference=x["laplacian"]),
    "finsler_flow": lambda x: finsler.finsler_flow(x["spectrum"], MADE["metric"], HEIGHT, 0.1),
    "heat_flow": lambda x: finsler.heat_flow(MADE["laplacian"], HEIGHT, k=9, drift=x["metric"])(1),
}
TAKES_NO_MESH = {
    "RandersHeat": lambda x: finsler.RandersHeat(MESH, x["metric"]),
    "geodesic_path": lambda x: finsler.geodesic_path(MESH, x["metric"], HEIGHT, 0, 1),
    "randers_distance": lambda x: finsler.randers_distance(MESH, x["metric"], 0),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_belongs_to_another_mesh_is_refused(call):
    call(MADE)
    with pytest.raises(
        finsler.InputError, match=r"another mesh|different meshes|areas around them"
    ):
        call(FOREIGN)


@pytest.mark.parametrize("call", TAKES_NO_MESH.values(), ids=TAKES_NO_MESH)
def test_a_metric_carries_its_mesh(call):
    with pytest.raises(finsler.InputError, match="takes no mesh"):
        call(MADE)


@pytest.mark.parametrize("method", ["eikonal", "heat"])
@pytest.mark.parametrize("scale", [2.0**-500, 2.0**500])
def test_distances_in_any_unit(method, scale):
    """About 1e-150 and 1e150; powers of 2, so that coordinates are rounded alike."""
    metric = RandersMetric(MESH, np.eye(3), [0.2, 0.1, 0.0])
    large = TriMesh(scale * MESH.vertices, MESH.faces)
    scaled = RandersMetric(large, np.eye(3), [0.2, 0.1, 0.0])
    here = finsler.randers_distance(metric, 0, method=method)
    there = finsler.randers_distance(scaled, 0, method=method)
    assert np.allclose(there / scale, here, rtol=1e-9, atol=1e-9)
