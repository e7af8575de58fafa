"""Every public entry as a function of one mesh, with the laws that its result must keep."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import finsler
from finsler.analysis.log_maps import vertex_support
from finsler.cli.main import main
from finsler.data.collection import Shape
from finsler.data.partial import cut, holes
from finsler.data.store import PrepareConfig, prepare_shape
from finsler.errors import InputError
from finsler.matching import match
from finsler.mesh import TriMesh, nonmanifold_edges, surface_area, vertex_components
from finsler.mesh.health import MeshWarning

_ANGLES = 2


def finite(*arrays: np.ndarray) -> None:
    for array in arrays:
        assert np.isfinite(array).all(), "not finite"


def pairs_of(mesh: TriMesh) -> int:
    """One eigenpair for each component, which is a zero, and twelve more."""
    return min(mesh.n_vertices, int(vertex_components(mesh).max()) + 13)


def check_laplacian(result: finsler.Laplacian) -> None:
    stiffness, mass = result.stiffness, result.mass
    finite(stiffness.data, mass)
    size = abs(stiffness).max()
    assert (mass > 0.0).all(), "mass not positive"
    assert abs(stiffness - stiffness.T).max() <= 1e-12 * size, "not symmetric"
    rows = np.abs(stiffness.sum(axis=1)) / np.asarray(abs(stiffness).sum(axis=1)).ravel()
    assert rows.max() <= 1e-12, "rows do not sum to zero"
    assert np.linalg.eigvalsh(stiffness.toarray() / size)[0] > -1e-9, "negative eigenvalue"


def check_spectrum(mesh: TriMesh, result: finsler.Spectrum, laplacian: finsler.Laplacian) -> None:
    finite(result.eigenvalues, result.eigenvectors)
    top = max(result.eigenvalues[-1], 1.0 / laplacian.mass.sum())
    assert result.eigenvalues[0] > -1e-6 * top, "negative eigenvalue"
    gram = result.eigenvectors.T @ (laplacian.mass[:, None] * result.eigenvectors)
    assert np.abs(gram - np.eye(len(gram))).max() < 1e-6, "not orthonormal"
    zeros = int((result.eigenvalues < 1e-6 * top).sum())
    parts = int(vertex_components(mesh).max()) + 1
    assert zeros == parts, f"{zeros} zeros, {parts} components"


def check_distance(mesh: TriMesh, result: np.ndarray, slack: float = 0.0) -> None:
    part = vertex_components(mesh)
    here = part == part[0]
    finite(result[here])
    assert np.isinf(result[~here]).all(), "finite where it cannot be reached"
    size = np.linalg.norm(np.ptp(mesh.vertices, axis=0))
    assert result[here].min() >= -slack * size, "negative distance"
    assert abs(result[0]) <= slack * size + 1e-12 * size, "source is not at 0"
    straight = np.linalg.norm(mesh.vertices - mesh.vertices[0], axis=1)
    short = (straight - result)[here].max()
    assert short <= (slack + 1e-9) * size, f"shorter than a straight line by {short / size:.1e}"


def metric_of(mesh: TriMesh) -> finsler.RandersMetric:
    frames = finsler.principal_frames(mesh)
    return finsler.RandersMetric.from_curvature(mesh, frames, alpha=3.0, tau=0.3)


def write_and_load(mesh: TriMesh) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("off", "obj", "ply"):
            path = Path(folder) / f"mesh.{ending}"
            finsler.write_mesh(path, mesh)
            again = finsler.load_mesh(path)
            assert np.array_equal(again.vertices, mesh.vertices), ending
            assert np.array_equal(again.faces, mesh.faces), ending
        for ending in ("stl", "glb"):
            path = Path(folder) / f"mesh.{ending}"
            finsler.write_mesh(path, mesh)
            again = finsler.load_mesh(path)
            assert again.n_faces == mesh.n_faces, f"{ending}: {again.n_faces} faces"
            size = np.abs(mesh.vertices).max()
            apart = again.vertices[again.faces] - mesh.vertices[mesh.faces]
            assert np.abs(apart).max() <= 1e-6 * size, ending


def health(mesh: TriMesh) -> None:
    report = finsler.health(mesh)
    finite(np.array([report.area, report.diagonal, report.smallest_angle, report.median_edge]))


def repair(mesh: TriMesh) -> None:
    repaired = finsler.repair(mesh).mesh
    report = finsler.health(repaired)
    assert report.usable, "not usable after repair"
    left = (report.nonmanifold_edges, report.nonmanifold_vertices, report.duplicate_faces)
    assert left == (0, 0, 0), f"left: {left}"
    assert report.consistent or not report.orientable, "not oriented"
    assert not finsler.repair(repaired).changed, "a second repair changes something"
    check_laplacian(finsler.lbo(repaired))


def frames(mesh: TriMesh) -> None:
    result = finsler.principal_frames(mesh)
    finite(result.u_max, result.u_min, result.normal, result.confidence)
    product = np.einsum("fi,fi->f", result.u_max, result.u_min)
    assert np.abs(product).max() < 1e-9, "not orthogonal"
    assert np.abs(np.linalg.norm(result.u_max, axis=1) - 1.0).max() < 1e-9, "not unit vectors"
    assert ((result.confidence >= 0.0) & (result.confidence <= 1.0)).all(), "confidence"


def curvature(mesh: TriMesh) -> None:
    result = finsler.principal_curvature(mesh)
    finite(result.maximal, result.minimal, result.direction_max)


def varying_metric(mesh: TriMesh) -> None:
    tau = finsler.tau_of_strength(mesh, finsler.curvature_strength(mesh, peak=0.8))
    metric = finsler.RandersMetric.from_curvature(mesh, finsler.principal_frames(mesh), tau=tau)
    finite(metric.M, metric.omega, metric.dual().M)
    assert metric.is_valid
    check_laplacian(finsler.laplacian(mesh, metric.diffusivity()))


def delaunay(mesh: TriMesh) -> None:
    diffusivity = metric_of(mesh).diffusivity()
    result = finsler.delaunay_laplacian(mesh, diffusivity)
    check_laplacian(result.laplacian)
    assert result.negative_after <= max(0.0, result.negative_before), "more negative weights"


def angle_stack(mesh: TriMesh) -> None:
    for operator in finsler.angle_stack(mesh, angles=_ANGLES):
        check_laplacian(operator)


def chebyshev(mesh: TriMesh) -> None:
    stack = finsler.angle_stack(mesh, angles=_ANGLES)
    for normalization in ("acscnn", "reference", "plain"):
        operators = finsler.chebyshev_operators(stack, normalization=normalization)
        finite(operators.values)
        half = np.sqrt(stack.mass)
        symmetric = operators[0].toarray() * half[:, None] / half
        values = np.linalg.eigvalsh(0.5 * (symmetric + symmetric.T))
        assert values[0] > -1.0 - 1e-6 and values[-1] < 1.0 + 1e-6, f"outside [-1, 1]: {values}"


def drift(mesh: TriMesh) -> None:
    result = finsler.drift_operator(metric_of(mesh))
    finite(result.matrix.data)


def spectrum(mesh: TriMesh) -> None:
    operator = finsler.lbo(mesh)
    check_spectrum(mesh, finsler.spectrum(operator, pairs_of(mesh)), operator)


def anisotropic_spectrum(mesh: TriMesh) -> None:
    operator = finsler.flbo(mesh)
    check_spectrum(mesh, finsler.spectrum(operator, pairs_of(mesh)), operator)


def heat(mesh: TriMesh) -> None:
    operator = finsler.flbo(mesh)
    start = np.eye(mesh.n_vertices)[0]
    u = finsler.diffuse(operator, start, 0.01 * operator.mass.sum())
    finite(u)
    total = operator.mass @ start
    assert abs(operator.mass @ u - total) <= 1e-6 * total, "heat is not conserved"


def heat_kernel(mesh: TriMesh) -> None:
    operator = finsler.lbo(mesh)
    basis = finsler.spectrum(operator, pairs_of(mesh))
    time = 0.05 * operator.mass.sum()
    finite(finsler.heat_kernel(basis, time, 0), finsler.averaged_heat_kernel(basis, time, 0))


def nonlinear_heat(mesh: TriMesh) -> None:
    step = finsler.finsler_heat_step(
        metric_of(mesh), np.eye(mesh.n_vertices)[0], 0.01 * surface_area(mesh)
    )
    finite(step.u)


def geodesic(mesh: TriMesh, method: str, slack: float) -> None:
    check_distance(mesh, finsler.geodesic_distance(mesh, 0, method=method), slack)


def randers(mesh: TriMesh, method: str, slack: float) -> None:
    metric = finsler.RandersMetric.isotropic(mesh)
    check_distance(mesh, finsler.randers_distance(metric, 0, method=method), slack)


def curved_randers(mesh: TriMesh) -> None:
    result = finsler.randers_distance(metric_of(mesh), 0)
    part = vertex_components(mesh)
    finite(result[part == part[0]])
    assert result.min() >= 0.0, "negative distance"


def path(mesh: TriMesh) -> None:
    metric = finsler.RandersMetric.isotropic(mesh)
    distance = finsler.randers_distance(metric, 0)
    reached = np.where(np.isfinite(distance), distance, -1.0)
    target = int(np.argmax(reached))
    result = finsler.geodesic_path(metric, distance, 0, target)
    finite(result.points)
    # Along edges of many faces instead of across them.
    slack = 0.5 if len(nonmanifold_edges(mesh)) else 0.2
    assert result.length == 0.0 or abs(result.length / distance[target] - 1.0) < slack, "length"


def kernel(mesh: TriMesh) -> None:
    basis = finsler.spectrum(finsler.lbo(mesh), pairs_of(mesh))
    polynomial = finsler.chebyshev_polynomial(3, float(basis.eigenvalues[-1]))
    finite(finsler.convolution_kernel(basis, polynomial, 0))


def shot(mesh: TriMesh) -> None:
    result = finsler.shot(mesh, radius=finsler.shot_radius(mesh, 0.3))
    finite(result)
    norms = np.linalg.norm(result, axis=1)
    assert ((norms < 1e-12) | (np.abs(norms - 1.0) < 1e-9)).all(), "norms"


def signatures(mesh: TriMesh, kind: Callable[[finsler.Spectrum], np.ndarray]) -> None:
    result = kind(finsler.spectrum(finsler.lbo(mesh), pairs_of(mesh)))
    finite(result)
    assert result.min() >= 0.0, "negative"


def support(mesh: TriMesh) -> None:
    result = vertex_support(mesh, 0.3 * float(np.sqrt(surface_area(mesh))), require_connected=False)
    finite(result.r, result.theta, result.phi, result.weight)
    assert result.r.min() >= 0.0 and result.r.max() <= result.radius * (1.0 + 1e-6), "radius"


def prepare(mesh: TriMesh) -> None:
    labels = np.arange(mesh.n_vertices)
    shape = Shape("ugly", mesh, labels, np.ones(mesh.n_vertices, dtype=bool))
    result = prepare_shape(shape, PrepareConfig(angles=_ANGLES, eigenpairs=pairs_of(mesh)))
    finite(result.values, result.features, result.eigenvectors, result.mass)


def matching(mesh: TriMesh) -> None:
    result = match(mesh, mesh, k=30)
    assert result.map_12.min() >= 0 and result.map_12.max() < mesh.n_vertices, "indices"
    finite(result.expected, result.confidence, result.cycle)


def part(mesh: TriMesh, maker: Callable[..., object]) -> None:
    result = maker(mesh, share=0.5, seed=0)
    check_laplacian(finsler.lbo(result.mesh))


def command(mesh: TriMesh, name: str, *options: str) -> None:
    """Run a command on the mesh in a file; OUT among the options is a file to write.

    Its one line of error becomes an InputError, and each note on stderr a MeshWarning.
    """
    with tempfile.TemporaryDirectory() as folder:
        finsler.write_mesh(Path(folder) / "mesh.ply", mesh)
        given = [option.replace("OUT", f"{folder}/out") for option in options]
        code, lines = _run(["finsler", name, f"{folder}/mesh.ply", *given])
    notes = [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    assert len(notes) + len(errors) == len(lines), f"strange lines: {lines}"
    assert len(set(notes)) == len(notes), f"a note is given twice: {notes}"
    assert (code, len(errors)) in ((0, 0), (2, 1)), f"code {code} with errors {errors}"
    if errors:
        raise InputError(errors[0])
    for note in notes:
        warnings.warn(note, MeshWarning, stacklevel=1)


def _run(arguments: list[str]) -> tuple[int, list[str]]:
    """Exit code, and the lines on stderr, of a command with Python's own filter of warnings."""
    stderr, before = io.StringIO(), sys.argv
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(stderr),
    ):
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, category, *rest, **_: stderr.write(
            warnings.formatwarning(message, category, *rest[:2])
        )
        sys.argv = arguments
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.argv = before
    return code, stderr.getvalue().splitlines()


ENTRIES: dict[str, Callable[[TriMesh], None]] = {
    "write, load": write_and_load,
    "health": health,
    "repair": repair,
    "frames": frames,
    "curvature": curvature,
    "lbo": lambda mesh: check_laplacian(finsler.lbo(mesh)),
    "flbo": lambda mesh: check_laplacian(finsler.flbo(mesh)),
    "varying omega": varying_metric,
    "delaunay": delaunay,
    "angles": angle_stack,
    "chebyshev": chebyshev,
    "drift": drift,
    "spectrum": spectrum,
    "flbo spectrum": anisotropic_spectrum,
    "heat": heat,
    "heat kernel": heat_kernel,
    "nonlinear heat": nonlinear_heat,
    "geodesic heat": lambda mesh: geodesic(mesh, "heat", 0.25),
    "geodesic fmm": lambda mesh: geodesic(mesh, "fmm", 0.05),
    "geodesic exact": lambda mesh: geodesic(mesh, "exact", 1e-6),
    "randers eikonal": lambda mesh: randers(mesh, "eikonal", 1e-6),
    "randers heat": lambda mesh: randers(mesh, "heat", 0.25),
    "curved randers": curved_randers,
    "path": path,
    "kernel": kernel,
    "shot": shot,
    "hks": lambda mesh: signatures(mesh, finsler.hks),
    "wks": lambda mesh: signatures(mesh, finsler.wks),
    "support": support,
    "prepare": prepare,
    "match": matching,
    "cut": lambda mesh: part(mesh, cut),
    "holes": lambda mesh: part(mesh, holes),
    "info": lambda mesh: command(mesh, "info"),
    "info --repair": lambda mesh: command(mesh, "info", "--repair", "OUT.ply", "--json"),
    "operator": lambda mesh: command(mesh, "operator", "-o", "OUT.npz", "--angles", "2"),
    "operator --delaunay": lambda mesh: command(
        mesh, "operator", "-o", "OUT.npz", "--theta", "30", "--delaunay"
    ),
    "spectrum command": lambda mesh: command(mesh, "spectrum", "-k", "3", "--operator", "flbo"),
    "heat command": lambda mesh: command(mesh, "heat", "--operator", "albo", "-o", "OUT.ply"),
    "distance command": lambda mesh: command(mesh, "distance", "--both", "-o", "OUT.ply"),
    "kernel command": lambda mesh: command(mesh, "kernel"),
    "describe command": lambda mesh: command(mesh, "describe", "-o", "OUT.npz"),
}

# Those that take a second a mesh or more with the meshes they are tried on in the tests.
SLOW = ("match", *(name for name in list(ENTRIES)[-9:] if not name.startswith("info")))
