"""Check a data set on disk: what it contains, what is wrong with it, and what to do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from finsler.data.labels import read_barycentric, read_vts
from finsler.data.sets.layout import ShapeFiles, extra_files
from finsler.data.sets.opening import LocatedSet, find_collections
from finsler.errors import InputError
from finsler.mesh.health import MeshHealth, health
from finsler.mesh.io import load_mesh
from finsler.mesh.trimesh import TriMesh

# Full shapes of one set whose areas differ by more than this factor are in different units.
_AREA_FACTOR = 4.0
# A partial shape may be small, but hardly larger than the full one.
_PARTIAL_FACTOR = 1.5

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One result of a check.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
        An error makes the set unusable; a warning changes results; a note changes nothing.
    subject : str
        The file or folder.
    what, remedy : str
        What was found, with the line where there is one; what to do.
    """

    severity: Severity
    subject: str
    what: str
    remedy: str


@dataclass(frozen=True)
class SetReport:
    """One data set: its size, shares and findings.

    Attributes
    ----------
    name, folder, spec : str
        What it is, where it lies, and how `open_collection` names it.
    shapes, train, test : int
        Shapes that were read, and those that belong to either part.
    named_share : (float, float, float) or None
        Smallest, mean and largest share of the vertices of a shape with ground truth.
    repeated_share : float or None
        Share of the lines of the truth files that name a vertex which an earlier line names; only
        for files of canonical points.
    findings : tuple of Finding
    """

    name: str
    folder: str
    spec: str
    shapes: int
    train: int
    test: int
    named_share: tuple[float, float, float] | None
    repeated_share: float | None
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether every shape can be loaded and has operators."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """All fields, with `usable`, in types that JSON knows."""
        return {**asdict(self), "usable": self.usable}


@dataclass(frozen=True)
class _Truth:
    """Share of named vertices, share of repeated lines, and what is wrong with the file."""

    named: float | None = None
    repeated: float | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Examined:
    """What one shape tells."""

    name: str
    path: Path
    health: MeshHealth
    truth: _Truth


def check_collection(
    path: str | os.PathLike[str], *, progress: Callable[[int, int], None] = lambda done, of: None
) -> tuple[SetReport, ...]:
    """Examine every data set at a folder: files, indices, meshes, units.

    Parameters
    ----------
    path : path
        A folder that [`open_collection`][finsler.data.sets.opening.open_collection] recognises; all
        sets and categories in it are examined.
    progress : callable
        Called with the number of shapes examined, and that of all.

    Raises
    ------
    InputError
        There is no such folder, or no data set is recognised in it.
    """
    sets = find_collections(path)
    if not sets:
        raise InputError(
            f"{path}: no data set is recognised here; a set is a folder such as FAUST_r with"
            " off/*.off and corres/*.vts, or SHREC'16 with null, cuts and holes"
        )
    total = sum(len(_present(entry.files)) for entry in sets)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    reports = [_examine(entry, step) for entry in sets]
    extra = extra_files([entry.files for entry in sets])
    if extra:
        reports[0] = _with(reports[0], _extra_finding(extra))
    return tuple(reports)


def _examine(entry: LocatedSet, step: Callable[[], None]) -> SetReport:
    files = entry.files
    findings = [*_counts(files)]
    shapes: list[_Examined] = []
    for name in _present(files):
        step()
        try:
            mesh = load_mesh(files.meshes[name])
        except InputError as error:
            findings.append(_damaged(str(error), files.meshes[name]))
            continue
        truth = _truth(files, name, mesh)
        findings += truth.findings
        shapes.append(_Examined(name, files.meshes[name], health(mesh), truth))
    findings += [*_mesh_findings(shapes), *_unit_findings(files, shapes)]
    findings += _bridge_findings(files, {shape.name: shape.health.n_vertices for shape in shapes})
    named = [shape.truth.named for shape in shapes if shape.truth.named is not None]
    repeated = [shape.truth.repeated for shape in shapes if shape.truth.repeated is not None]
    return SetReport(
        name=files.name,
        folder=str(files.folder),
        spec=entry.spec,
        shapes=len(shapes),
        train=len(files.train),
        test=len(files.test),
        named_share=(min(named), float(np.mean(named)), max(named)) if named else None,
        repeated_share=float(np.mean(repeated)) if repeated else None,
        findings=tuple(findings),
    )


def _counts(files: ShapeFiles) -> Iterator[Finding]:
    for kind, lost in (("mesh", files.without_mesh), ("ground truth", files.without_truth)):
        if lost:
            yield Finding(
                "error",
                str(files.folder),
                f"{len(lost)} of {len(files.names)} shapes have no {kind}: {_some(lost)}",
                files.source,
            )
    if files.too_few:
        yield Finding("error", str(files.folder), files.too_few, files.source)


def _present(files: ShapeFiles) -> tuple[str, ...]:
    return tuple(name for name in files.names if name in files.meshes)


def _truth(files: ShapeFiles, name: str, mesh: TriMesh) -> _Truth:
    if files.reference not in files.meshes:
        return _Truth()
    try:
        if name in files.truths and files.truth == "canonical":
            return _canonical(files, name, mesh)
        if name in files.truths and files.truths[name].suffix == ".baryc_gt":
            return _barycentric(files, name, mesh)
        if name in files.truths or name == files.reference or files.truth == "identity":
            return _Truth(files.labels(name, mesh).named_share)
    except InputError as error:
        own = (files.truths.get(name, files.meshes[name]), files.meshes[name])
        # An error of the reference is reported in its own turn.
        blamed = next((path for path in own if str(error).startswith(str(path))), None)
        return _Truth(findings=(_damaged(str(error), blamed),) if blamed else ())
    return _Truth()


def _canonical(files: ShapeFiles, name: str, mesh: TriMesh) -> _Truth:
    path = files.truths[name]
    points = read_vts(path, mesh.n_vertices)
    distinct = len(np.unique(points))
    named, repeated = distinct / mesh.n_vertices, 1.0 - distinct / len(points)
    try:
        needed = files.listed(files.family(name)) or len(points)
    except InputError:
        # The truth of the first shape is damaged, which its own turn reports.
        needed = len(points)
    files.require_lines(path, len(points), needed)
    return _Truth(named, repeated)


def _barycentric(files: ShapeFiles, name: str, mesh: TriMesh) -> _Truth:
    path = files.truths[name]
    named = files.labels(name, mesh).named_share
    lacking = np.flatnonzero(read_barycentric(path, files.reference_mesh) < 0)
    if len(lacking) == 0:
        return _Truth(named)
    finding = Finding(
        "warning",
        str(path),
        f"line {lacking[0] + 1}: names a face that the null shape lacks ({len(lacking)} such"
        " lines)",
        "these vertices take the label of the nearest other one and are not named; use the null"
        " shape of the same release",
    )
    return _Truth(named, findings=(finding,))


_MESH_CHECKS: tuple[tuple[str, Severity, str], ...] = (
    ("degenerate_faces", "error", "faces without area"),
    ("unreferenced_vertices", "error", "vertices without a face"),
    ("nonmanifold_edges", "warning", "edges with more than two faces"),
    ("nonmanifold_vertices", "warning", "vertices that join separate fans of faces"),
    ("inconsistent_edges", "warning", "edges between oppositely oriented faces"),
    ("duplicate_faces", "warning", "duplicate faces"),
)
_REMEDIES: dict[Severity, str] = {
    "error": "no operator exists on such a mesh: copy it again; repairing it with finsler info"
    " --repair may change its vertices, to which the ground truth belongs",
    "warning": "operators exist, but are not those of a smooth surface there: copy the file again"
    " if the other shapes have no such defect",
    "note": "",
}


def _mesh_findings(shapes: list[_Examined]) -> Iterator[Finding]:
    """One finding for each kind of defect, with the first shape that has it."""
    for field, severity, words in _MESH_CHECKS:
        struck = [shape for shape in shapes if getattr(shape.health, field)]
        if struck:
            first = f"{getattr(struck[0].health, field)} {words}"
            yield _grouped(severity, struck, len(shapes), first, _REMEDIES[severity])
    several = [shape for shape in shapes if shape.health.components > 1]
    if several:
        first = f"{several[0].health.components} separate components"
        remedy = "nothing flows between them; labels of one without ground truth come from afar"
        yield _grouped("warning", several, len(shapes), first, remedy)
    inward = [shape for shape in shapes if shape.health.outward is False]
    if inward:
        remedy = "normals and curvature change their sign: turn the faces over in all files or none"
        yield _grouped("warning", inward, len(shapes), "faces that point inwards", remedy)


def _grouped(
    severity: Severity, struck: list[_Examined], total: int, first: str, remedy: str
) -> Finding:
    others = f"; {len(struck)} of {total} shapes have such" if len(struck) > 1 else ""
    return Finding(severity, str(struck[0].path), f"{first}{others}", remedy)


def _unit_findings(files: ShapeFiles, shapes: list[_Examined]) -> Iterator[Finding]:
    """Shapes whose area does not fit the others: other units, or another object."""
    areas = {shape.name: shape.health.area for shape in shapes}
    if len(areas) < 2 or files.truth == "pairs":
        return
    partial = files.truth == "vertex"
    usual = areas.get(files.reference) if partial else float(np.median([*areas.values()]))
    for shape in shapes:
        if not usual:
            return
        ratio = areas[shape.name] / usual
        high = _PARTIAL_FACTOR if partial else _AREA_FACTOR
        if ratio > high or (not partial and ratio * _AREA_FACTOR < 1.0):
            against = f"that of {files.reference}" if partial else "the median"
            yield Finding(
                "warning",
                str(shape.path),
                f"its area is {ratio:.3g} times {against}",
                f"its lengths are {np.sqrt(ratio):.3g} times too large: bring all shapes to one"
                " unit, or scale every mesh to unit area before use",
            )


def _bridge_findings(files: ShapeFiles, vertices: Mapping[str, int]) -> Iterator[Finding]:
    """Files that lead from the points of one family to another's, and do not fit them."""
    for ends, path in files.bridges.items():
        try:
            # Where truth is for pairs only, each shape is a family and lists its vertices.
            count = files.listed if files.truth != "pairs" else lambda end: vertices.get(end, 0)
            here, there = map(count, ends)
            points = files.bridge(*ends)
        except InputError as error:
            # An error of the shapes' own files is reported in their turn.
            if str(error).startswith(str(path)):
                yield _damaged(str(error), path)
            continue
        fits = points is None or (len(points) == here and points.max() < there)
        if here and there and points is not None and not fits:
            what = f"{len(points)} lines lead to points up to {points.max() + 1}"
            lists = f"{ends[0]} lists {here} points and {ends[1]} {there}"
            remedy = "it is cut short or of another release, so copy it again"
            yield Finding("error", str(path), f"{what}, but {lists}", remedy)


def _damaged(message: str, path: Path) -> Finding:
    """A finding from an error, which is one sentence: the file, what is wrong, what to do."""
    what, _, remedy = message.removeprefix(str(path)).lstrip(":, ").partition("; ")
    return Finding("error", str(path), what, remedy or "copy the file again")


def _extra_finding(extra: tuple[Path, ...]) -> Finding:
    names = [path.name for path in extra]
    return Finding(
        "note",
        str(extra[0].parent),
        f"{len(extra)} files belong to no shape of the set: {_some(names)}",
        "they are not read; move them away if they are not meant to be there",
    )


def _with(report: SetReport, finding: Finding) -> SetReport:
    return SetReport(**{**vars(report), "findings": (*report.findings, finding)})


def _some(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
