"""Pictures of the second part of `finsler demo`: error curves, and people coloured by match."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finsler.data import PreparedShape, Store
    from finsler.evaluation import Evaluation, Predictions, ReferenceDistances
    from finsler.mesh import TriMesh
    from finsler.view import Camera
    from finsler.view.report import View

# Where the colours of errors end, as a share of √area.
_LARGE = 0.25
# Test shapes in the picture.
_SHOWN = 4
# Level lines make colours comparable.
_BANDS = 14


def draw_curves(path: Path, found: Evaluation) -> None:
    """The share of vertices within a radius, one curve for each run but that of chance."""
    from finsler.view import plot_error_curves

    scores = {name: run.named for name, run in found.runs.items() if run.named and name != "chance"}
    plot_error_curves(path, {name: (score.grid, score.curve) for name, score in scores.items()})


def people_views(
    store: Store, predictions: Predictions, distances: ReferenceDistances
) -> list[View]:
    """The reference, then test shapes with truth, prediction and error.

    A vertex has the colour of its place on the reference: the distance there from the left hand,
    which tells left from right and up from down.
    """
    import numpy as np

    from finsler.evaluation import geodesic_errors
    from finsler.view import Panel
    from finsler.view.report import View

    reference = store[store.reference]
    from_hand = distances.matrix[np.argmax(reference.vertices[:, 0])].astype(np.float64)
    place: dict[str, Any] = {"clim": (0.0, float(from_hand.max())), "bands": _BANDS}
    target = Panel(_mesh(reference), from_hand, title="reference", **place)
    views = [View("reference", {"truth": target, "predicted": target})]
    for number, name in enumerate(store.test[:_SHOWN], start=1):
        shape, found = store[name], predictions.vertices[name]
        mesh, error = _mesh(shape), geodesic_errors(found, shape.labels, distances)
        title = f"held out {number}"
        fields = {
            "truth": Panel(mesh, from_hand[shape.labels], title=title, **place),
            "predicted": Panel(mesh, from_hand[found], **place),
            "error / √area": Panel(mesh, error, cmap="OrRd", clim=(0.0, _LARGE)),
        }
        views.append(View(title, fields, found))
    return views


def draw_people(path: Path, views: Sequence[View]) -> None:
    """Rows of truth, with the reference at its end, of predictions and of errors."""
    from finsler.view import save_figure

    reference, *people = views
    truth, matched, errors = (
        [view.fields[name] for view in people] for name in ("truth", "predicted", "error / √area")
    )
    save_figure(
        path,
        [[*truth, reference.fields["truth"]], matched, errors],
        camera=_camera([view.mesh for view in views]),
        title="Colour: place on the reference, as the distance there from the left hand",
        row_labels=("truth", "predicted", r"error / $\sqrt{\mathrm{area}}$"),
    )


def _camera(meshes: Sequence[TriMesh]) -> Camera:
    """From slightly right of and above the front, all at one scale that fills the panels."""
    import numpy as np

    from finsler.view import Camera

    points = np.concatenate([mesh.vertices for mesh in meshes])
    radius, reach = np.linalg.norm(points, axis=1).max(), abs(points[:, :2]).max()
    return Camera((0.25, 0.15, 1.0), zoom=radius / (1.1 * reach), center=(0, 0, 0), radius=radius)


def _mesh(shape: PreparedShape) -> TriMesh:
    """With the middle of its bounding box at the origin."""
    from finsler.mesh import TriMesh

    middle = 0.5 * (shape.vertices.min(axis=0) + shape.vertices.max(axis=0))
    return TriMesh(shape.vertices - middle, shape.faces)
