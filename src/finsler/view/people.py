"""Pictures of people that networks learned to match: coloured by match, curves, and a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from finsler.data import PreparedShape
from finsler.evaluation import geodesic_errors
from finsler.experiments.people import Learned
from finsler.mesh.trimesh import TriMesh
from finsler.view.curves import plot_error_curves
from finsler.view.figures import save_figure
from finsler.view.panel import Camera, Panel
from finsler.view.report.blocks import Html, markdown, section
from finsler.view.report.pages import error_chart, interval_curve, learning_charts
from finsler.view.report.scene import View, scene
from finsler.view.upright import PAGE, Viewpoint

# Where the colours of errors end, as a share of √area.
_LARGE = 0.25
# Test shapes in the picture.
_SHOWN = 4
# Level lines make colours comparable.
_BANDS = 14
# Degrees around from the front, and above.
_SEEN = "14,8"
_CAPTION = (
    "A vertex has the colour of its partner on the reference: the distance there from the left"
    " hand. Pointing at a vertex marks the partner that the network predicts for it."
)


def draw_people(out: Path, learned: Learned, views: Sequence[View], viewpoint: Viewpoint) -> None:
    """Draw `curves.png`, the error curves, and `correspondence.png`, people coloured by match."""
    scores = {name: run.named for name, run in learned.evaluation.runs.items() if name != "chance"}
    curves = {name: (score.grid, score.curve) for name, score in scores.items() if score}
    plot_error_curves(out / "curves.png", curves)
    reference, *people = views
    truth, matched, errors = (
        [view.fields[name] for view in people] for name in ("truth", "predicted", "error / √area")
    )
    save_figure(
        out / "correspondence.png",
        [[*truth, reference.fields["truth"]], matched, errors],
        camera=_camera([view.mesh for view in views], viewpoint),
        title="Colour: partner on the reference,\nas its distance there from the left hand",
        row_labels=("truth", "predicted", r"error / $\sqrt{\mathrm{area}}$"),
    )


def people_views(learned: Learned) -> list[View]:
    """The reference, then test shapes with truth, prediction of the FLBO network, and error.

    A vertex has the colour of its partner on the reference: the distance there from the left hand,
    which tells left from right and up from down.
    """
    store, distances, predicted = learned.store, learned.distances, learned.runs["FLBO"]
    reference = store[store.reference]
    hand, n = int(np.argmax(reference.vertices[:, 0])), len(reference.vertices)
    from_hand = distances.between(np.full(n, hand), np.arange(n)) / np.sqrt(distances.area)
    scale: dict[str, Any] = {"clim": (0.0, float(from_hand.max())), "bands": _BANDS}
    target = Panel(_mesh(reference), from_hand, title="reference", **scale)
    views = [View("reference", {"truth": target, "predicted": target})]
    for number, name in enumerate(store.test[:_SHOWN], start=1):
        shape, partners = store[name], predicted.vertices[name]
        mesh, error = _mesh(shape), geodesic_errors(partners, shape.labels, distances)
        title = f"held out {number}"
        fields = {
            "truth": Panel(mesh, from_hand[shape.labels], title=title, **scale),
            "predicted": Panel(mesh, from_hand[partners], **scale),
            "error / √area": Panel(mesh, error, cmap="OrRd", clim=(0.0, _LARGE)),
        }
        views.append(View(title, fields, partners))
    return views


def people_blocks(learned: Learned, views: Sequence[View], viewpoint: Viewpoint) -> list[Html]:
    """Table, people coloured by match, error curves and learning curves, for a page."""
    scores = {name: run.named for name, run in learned.evaluation.runs.items()}
    curves = [interval_curve(name, [score]) for name, score in scores.items() if score]
    return [
        section("Correspondence of synthetic people", markdown(learned.table())),
        section(
            "People that the network has not seen",
            scene(
                views, camera=_camera([view.mesh for view in views], viewpoint), caption=_CAPTION
            ),
        ),
        section("Error curves", error_chart(curves)),
        section("Learning curves", learning_charts(learned.histories)),
    ]


def _camera(meshes: Sequence[TriMesh], viewpoint: Viewpoint) -> Camera:
    """From slightly right of and above the front, all at one scale that fills the panels.

    These people stand along y and face z, whatever their pose: only a chosen axis is not that.
    """
    stance = PAGE if viewpoint.up is None else viewpoint.stance(meshes[0])
    seen = stance.camera(viewpoint.view or _SEEN)
    points = np.concatenate([mesh.vertices for mesh in meshes])
    right = np.cross(seen.up, seen.direction)
    right = right / np.linalg.norm(right)
    across = points @ np.stack([right, np.cross(seen.direction, right)], axis=1)
    radius, reach = np.linalg.norm(points, axis=1).max(), abs(across).max()
    fill = {"zoom": radius / (1.05 * reach), "center": (0.0, 0.0, 0.0), "radius": radius}
    return Camera(seen.direction, seen.up, **fill)


def _mesh(shape: PreparedShape) -> TriMesh:
    """With the middle of its bounding box at the origin."""
    middle = 0.5 * (shape.vertices.min(axis=0) + shape.vertices.max(axis=0))
    return TriMesh(shape.vertices - middle, shape.faces)
