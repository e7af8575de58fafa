"""What `finsler match` writes and prints of one pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from finsler.cli import reports
from finsler.cli.results import FIGURE_ENDINGS, check_outputs
from finsler.errors import InputError
from finsler.matching import Match
from finsler.mesh import TriMesh, write_mesh
from finsler.storage.outputs import require_outputs
from finsler.view.surfaces import position_colors
from finsler.view.upright import Viewpoint

# Confidence below which a vertex is counted as doubtful.
_DOUBTFUL = 0.5


@dataclass(frozen=True)
class MatchFiles:
    """The two meshes, the files that are asked for, and where pictures are seen from."""

    first: Path
    second: Path
    out: Path | None
    colors: Path | None
    figure: Path | None
    report: Path | None
    viewpoint: Viewpoint

    @property
    def colored(self) -> list[Path]:
        """Where the coloured meshes go: into a folder of their own, next to the map, or nowhere."""
        meshes = zip("AB", (self.first, self.second), strict=True)
        if self.colors is not None:
            return [self.colors / f"{name}_{path.stem}.ply" for name, path in meshes]
        if self.out is None:
            return []
        return [self.out.with_name(f"{self.out.stem}_{name}.ply") for name in "AB"]

    def check(self, others: list[Path], *, overwrite: bool) -> None:
        """Raise before the work where a file cannot be written, or is the user's."""
        if self.colors is not None and self.colors.exists() and not self.colors.is_dir():
            raise InputError(
                f"{self.colors}: this is a file; give a folder for the coloured meshes"
            )
        named = [
            (self.out, (".npz",)),
            (self.figure, FIGURE_ENDINGS),
            (self.report, reports.ENDINGS),
        ]
        inputs = [self.first, self.second, *others]
        check_outputs(named, inputs, overwrite=overwrite)
        require_outputs(self.colored, inputs, overwrite=overwrite)


def _verdict(result: Match) -> dict[str, Any]:
    """The verdict for JSON, which knows no NaN."""
    said = result.verdict
    names = ("distance_change", "torn_share", "features", "elsewhere")
    measures = {name: getattr(said, name) for name in names}
    return {
        "doubtful": said.doubtful,
        "probability": said.probability,
        "sentence": said.sentence,
        **{name: value if math.isfinite(value) else None for name, value in measures.items()},
    }


def report_of(result: Match) -> dict[str, Any]:
    """All figures of a match, for JSON."""
    return {
        "vertices": [len(result.map_12), len(result.map_21)],
        "basis": list(result.functional.shape),
        "verdict": _verdict(result),
        "alternatives": [_verdict(other) for other in result.alternatives],
        "orientation": result.orientation,
        "expected_error": float(result.expected.mean()),
        "confidence": {
            "mean": float(result.confidence.mean()),
            "doubtful_share": float((result.confidence < _DOUBTFUL).mean()),
        },
        "cycle": {
            "mean": float(result.cycle.mean()),
            "largest": float(result.cycle.max()),
        },
        "covered_share": float(len(np.unique(result.map_12)) / len(result.map_21)),
    }


def write_colors(targets: list[Path], meshes: tuple[TriMesh, TriMesh], result: Match) -> list[Path]:
    """A with the colours of its partners and its confidence, and B, as .ply."""
    if targets:
        targets[0].parent.mkdir(parents=True, exist_ok=True)
        colors = np.round(255 * position_colors(meshes[1])).astype(np.uint8)
        carried, trust = colors[result.map_12], result.confidence
        write_mesh(targets[0], meshes[0], colors=carried, scalars={"confidence": trust})
        write_mesh(targets[1], meshes[1], colors=colors)
    return targets


def print_report(report: dict[str, Any]) -> None:
    """The figures in sentences."""
    n_1, n_2 = report["vertices"]
    k_1, k_2 = report["basis"]
    print(f"{n_1:,} vertices of A sent to B, which has {n_2:,}; functional map {k_1} × {k_2}")
    trust, cycle = report["confidence"], report["cycle"]
    print(
        f"expected error {report['expected_error']:.3f} √area in the mean; confidence"
        f" {trust['mean']:.3f}, below {_DOUBTFUL} at {100 * trust['doubtful_share']:.1f}% of the"
        " vertices"
    )
    print(f"round trips of {cycle['mean']:.4f} √area in the mean, {cycle['largest']:.4f} at most")
    print(f"{100 * report['orientation']:.0f}% of the surface arrives right side up")
    print(report["verdict"]["sentence"])
    for number, other in enumerate(report["alternatives"], start=1):
        print(f"alternative {number}: {other['sentence']}")
    if report["verdict"]["doubtful"]:
        print("look at other maps with --alternatives 2, or give known pairs with --landmarks")
    for path in report["files"]:
        print(f"Wrote {path}")
