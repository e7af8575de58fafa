"""A correspondence as a picture: both shapes in one code of colours, the verdict, what is worst."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import numpy as np

from finsler.matching import Match
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.trimesh import TriMesh
from finsler.view.figures import save_figure
from finsler.view.panel import Panel
from finsler.view.surfaces import position_colors
from finsler.view.upright import Stance, Viewpoint, pair_stances

# Where the colours of expected errors end at least, in √area: right maps stay far below.
LARGE_ERROR = 0.1
_USUAL = Viewpoint()
_OTHER_SIDE = {"left": "right", "right": "left", "top": "bottom", "bottom": "top", "back": "front"}
_LINE = 88


@takes_meshes
def figure_match(
    path: str | os.PathLike[str],
    mesh_1: TriMesh,
    mesh_2: TriMesh,
    result: Match,
    *,
    names: tuple[str, str] = ("A", "B"),
    viewpoint: Viewpoint = _USUAL,
) -> Path:
    """Both shapes from two sides, partners in one colour, with the verdict and the expected error.

    Parameters
    ----------
    path : str or Path
        Ends in .png, .svg or .pdf.
    mesh_1, mesh_2 : TriMesh
    result : Match
        From mesh 1 to mesh 2.
    names : (str, str)
        Of the meshes, for the titles.
    viewpoint : Viewpoint
        Both shapes are seen from the same side, found through the map where it can be trusted.

    Raises
    ------
    InputError
        As for [`save_figure`][finsler.view.save_figure].
    """
    colors, worst = position_colors(mesh_2), worst_vertex(mesh_1, result)
    top = max(LARGE_ERROR, float(result.expected.max()))
    stances = match_stances(mesh_1, mesh_2, result, viewpoint.up)
    front = viewpoint.view or "front"
    rows: list[list[Panel]] = []
    for view in (front, _OTHER_SIDE.get(front, "back")):
        first, second = (stance.camera(view) for stance in stances)
        partner = int(result.map_12[worst])
        titles = ["", "", ""]
        if not rows:
            titles = [_plain(names[0]), _plain(names[1]), "expected error"]
        carried, error = colors[result.map_12], result.expected
        rows.append(
            [
                Panel(mesh_1, title=titles[0], colors=carried, marker=worst, camera=first),
                Panel(mesh_2, title=titles[1], colors=colors, marker=partner, camera=second),
                Panel(
                    *(mesh_1, error, titles[2]),
                    cmap="OrRd",
                    clim=(0.0, top),
                    marker=worst,
                    camera=first,
                ),
            ]
        )
    verdict, expected = headline(result)
    title = f"{textwrap.fill(verdict, _LINE)}\n{expected}; the dot marks the worst region"
    return save_figure(path, rows, title=title, panel_size=(2.3, 2.3))


def headline(result: Match) -> tuple[str, str]:
    """The verdict, and the expected error: what to read first."""
    errors = result.expected
    verdict = result.verdict.sentence
    return (
        verdict[:1].upper() + verdict[1:],
        f"Expected error {errors.mean():.3f} √area in the mean, {errors.max():.2f} at worst",
    )


def worst_vertex(mesh: TriMesh, result: Match) -> int:
    """The vertex about which a match is worst: the largest expected error among averages of rings.

    One vertex that went astray between good ones does not count for much.
    """
    mean = np.asarray(result.expected, dtype=np.float64)
    ends = np.concatenate([mesh.faces, np.roll(mesh.faces, 1, axis=1)]).ravel()
    others = np.concatenate([np.roll(mesh.faces, 1, axis=1), mesh.faces]).ravel()
    degree = np.bincount(ends, minlength=mesh.n_vertices)
    for _ in range(3):
        around = np.bincount(ends, mean[others], mesh.n_vertices)
        mean = np.where(degree > 0, around / np.maximum(degree, 1), mean)
    return int(np.argmax(mean))


def match_stances(
    mesh_1: TriMesh, mesh_2: TriMesh, result: Match, up: str | None = None
) -> tuple[Stance, Stance]:
    """How two matched shapes stand; a doubtful map has no say."""
    trusted = not result.verdict.doubtful
    return pair_stances(mesh_1, mesh_2, result.map_12 if trusted else None, up)


def _plain(text: str) -> str:
    """Text in which dollar signs do not begin mathematics."""
    return text.replace("$", r"\$")
