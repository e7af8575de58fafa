"""`finsler demo`: the main job on a shape that the package makes itself."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from finsler.analysis import heat_kernel, spectrum
from finsler.analysis.distance_fields import DistanceField, distance_fields
from finsler.cli import reports
from finsler.cli.cluster_options import progress_bar
from finsler.cli.options import camera_options, wind_metric, with_options
from finsler.cli.results import Overwrite
from finsler.cli.spinner import working
from finsler.frames import FaceFrames, principal_frames
from finsler.mesh import TriMesh, primitives, write_mesh
from finsler.metric import curvature_strength, tau_of_strength
from finsler.operator import albo, angle_stack, flbo, lbo, save_operators
from finsler.storage.files import write_bytes
from finsler.storage.npz import write_npz
from finsler.storage.outputs import marked_markdown, require_outputs
from finsler.storage.record import record
from finsler.view import plot_spectrum, save_figure
from finsler.view.distance_fields import field_camera, field_panels
from finsler.view.one_shape import draw_shape, shape_blocks
from finsler.view.renderer import require_matplotlib
from finsler.view.report import Html
from finsler.view.upright import Viewpoint

# Across the line of sight, at a bit more than half the traveller's speed.
_WIND = (0.6, 0.0, 0.0)
# Between two lines of progress, where there is no terminal for a bar.
_EPOCHS_A_LINE = 5


_FILES = (
    *("shape.ply", "operators.npz", "spectrum.npz", "operators.png", "spectrum.png"),
    *("distances.png", "table.md", "curves.png", "correspondence.png", "summary.json"),
    reports.NAME,
)


Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write the results.")
]
Frequency = Annotated[
    int, typer.Option(help="Resolution: the shape has 10 frequency² + 2 vertices.", min=8)
]
Quick = Annotated[bool, typer.Option("--quick", help="Learn from a few tiny shapes, in seconds.")]


@with_options(viewpoint=camera_options)
def demo(
    *,
    out: Out = Path("demo"),
    frequency: Frequency = 22,
    quick: Quick = False,
    viewpoint: Viewpoint,
    overwrite: Overwrite = False,
) -> None:
    """Operators, spectra and distances on one shape, then correspondences learned from many.

    The first part takes some seconds and writes `shape.ply`, `operators.npz`, `spectrum.npz`,
    `operators.png` (frames, heat at eight angles, eigenfunctions), `spectrum.png` and
    `distances.png` (in a wind: there, back, their difference, and the shortest paths). The second
    takes some minutes: it makes people, prepares them, trains two networks and matches people that
    they have not seen. It needs torch, and writes `store/`, `runs/`, `table.md`, `curves.png` and
    `correspondence.png`. `summary.json` has the figures of both parts, and `report.html` shows
    everything on one page.
    """
    require_outputs([out / name for name in _FILES], overwrite=overwrite)
    require_matplotlib()
    learns = find_spec("torch") is not None
    if not learns:
        print("learning   is left out, as it needs torch: pip install 'finsler[learn]'")
    out.mkdir(parents=True, exist_ok=True)
    config = {"shape": "bumpy_sphere", "frequency": frequency, "alpha": 10.0, "tau": 0.1, "k": 300}
    figures, blocks = _one_shape(out, frequency, config, viewpoint)
    summary = {**json.loads(record(config)), **figures}
    if learns:
        summary["learning"], learned = _people(out, quick, viewpoint)
        blocks += learned
    write_bytes(out / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())
    report = reports.write(out / reports.NAME, "finsler demo", blocks, config)
    print(f"Wrote {out}: open {report} in a browser, or look at the pictures there")


def _people(out: Path, quick: bool, viewpoint: Viewpoint) -> tuple[dict[str, Any], list[Html]]:
    """Learn from synthetic people; the figures and the page. Needs torch."""
    from finsler.experiments import Trial
    from finsler.experiments.people import FULL, QUICK, learn_people
    from finsler.view.people import draw_people, people_blocks, people_views

    lesson = QUICK if quick else FULL
    print(
        f"people     {lesson.train} to learn from, {lesson.test} held out, of other bodies in other"
        f" poses; {lesson.vertices} vertices"
    )
    with progress_bar() as bar:
        total = 2 * (lesson.train + lesson.test + 1)
        shapes = bar.add_task("operators and descriptors", total=total)
        epochs = bar.add_task("training", total=2 * lesson.epochs)

        def show(trial: Trial, metrics: dict[str, Any]) -> None:
            epoch = metrics["epoch"]
            text = f"training {trial.method.name}: loss {metrics['loss']:.2f}"
            bar.update(epochs, advance=1, description=text)
            if bar.disable and (epoch % _EPOCHS_A_LINE == 0 or epoch == lesson.epochs):
                print(f"{'':11}{text}, epoch {epoch} of {lesson.epochs}", flush=True)

        learned = learn_people(
            out, lesson, on_shape=lambda trial, name: bar.advance(shapes), on_epoch=show
        )
    for name, row in learned.shares().items():
        print(f"{'':11}{name:18} {100 * row['within_0.05']:3.0f}% within 0.05 of the truth")
    write_bytes(out / "table.md", marked_markdown(learned.table()).encode())
    views = people_views(learned)
    with working("figures"):
        draw_people(out, learned, views, viewpoint)
    return learned.summary(), people_blocks(learned, views, viewpoint)


def _one_shape(
    out: Path, frequency: int, config: dict[str, Any], viewpoint: Viewpoint
) -> tuple[dict[str, Any], list[Html]]:
    """Operators, spectra, distances and their pictures; the figures, and the page."""
    mesh = primitives.bumpy_sphere(frequency)
    # A round shape has no way up of its own, and the wind and the target are meant for this one.
    viewpoint = Viewpoint(viewpoint.up or "y", viewpoint.view)
    print(f"shape      {mesh.n_vertices:,} vertices, {mesh.n_faces:,} faces")
    with working("operators"):
        frames = principal_frames(mesh)
        stack = angle_stack(mesh, alpha=10.0, tau=0.1, angles=8, frames=frames)
    print(f"operators  8 angles, {len(stack.indices):,} nonzeros each")
    with working("spectra at eight angles"):
        k = min(300, mesh.n_vertices)
        spectra = [spectrum(laplacian, k) for laplacian in stack]
    print(f"spectrum   first eigenvalues {_list(spectra[0].eigenvalues[:5])}")
    comparison = _what_omega_does(mesh, frames)
    for line in comparison["sentences"]:
        print(line)
    fields = _there_and_back(mesh, viewpoint)
    there, back = (field.path.length for field in fields if field.path is not None)
    print(f"distance   in a wind: {there:.3g} there, {back:.3g} back")

    write_mesh(out / "shape.ply", mesh)
    save_operators(out / "operators.npz", stack, config)
    first = spectra[0]
    arrays = {"eigenvalues": first.eigenvalues, "eigenvectors": first.eigenvectors}
    write_npz(out / "spectrum.npz", {**arrays, "mass": stack.mass}, config)
    source = viewpoint.nearest(mesh)
    time = 2.5e-3 * float(stack.mass.sum())
    angles = [round(180.0 * float(theta) / np.pi, 1) for theta in stack.theta]
    kernels = {a: heat_kernel(s, time, source) for a, s in zip(angles, spectra, strict=True)}
    curves = {"LBO": spectrum(lbo(mesh), 60).eigenvalues}
    curves |= {f"FLBO, θ = {angles[i]:g}°": spectra[i].eigenvalues[:60] for i in (0, 2, 4)}
    with working("figures"):
        vectors = first.eigenvectors
        draw_shape(out / "operators.png", mesh, frames, vectors, kernels, viewpoint)
        plot_spectrum(out / "spectrum.png", curves)
        camera = field_camera(fields, viewpoint)
        save_figure(out / "distances.png", [field_panels(fields)], camera=camera)
    blocks = shape_blocks(mesh, kernels, spectra, curves, fields, viewpoint)
    summary = {
        "eigenvalues": first.eigenvalues[:20].tolist(),
        "omega": {key: value for key, value in comparison.items() if key != "sentences"},
        "distance": {"there": there, "back": back, "wind": list(_WIND)},
    }
    return summary, blocks


def _what_omega_does(mesh: TriMesh, frames: FaceFrames) -> dict[str, Any]:
    """Distance of the FLBO from the nearest multiple of the ALBO, for constant and varying ω."""
    plain = albo(mesh, frames=frames).stiffness.data

    def distance(tau: Any) -> float:
        values = flbo(mesh, tau=tau, frames=frames).stiffness.data
        multiple = (values @ plain) / (plain @ plain)
        return float(abs(values - multiple * plain).max() / abs(values).max())

    constant = distance(0.5)
    varying = distance(tau_of_strength(mesh, curvature_strength(mesh, peak=0.9)))
    return {
        "constant": constant,
        "varying": varying,
        "sentences": [
            f"omega      constant: the FLBO is a multiple of the ALBO up to {constant:.0e}",
            f"           following curvature: it is not, by {100 * varying:.0f}%",
        ],
    }


def _there_and_back(mesh: TriMesh, viewpoint: Viewpoint) -> list[DistanceField]:
    """From the vertex nearest the viewer against the wind to the upper left, and back with it."""
    target = int(np.argmin(mesh.vertices @ [1.0, -0.7, -0.4]))
    metric = wind_metric(mesh, _WIND)
    return distance_fields(metric, [viewpoint.nearest(mesh)], both=True, target=target)


def _list(values: Any) -> str:
    return ", ".join(f"{value:.4g}" for value in abs(values))
