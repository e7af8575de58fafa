"""Files of a data set on disk: where the meshes and their ground truth lie."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from finsler.data.collection import Collection, Shape
from finsler.data.labels import (
    Labels,
    canonical_labels,
    filled_labels,
    read_barycentric,
    read_vts,
)
from finsler.data.sets.files import (
    MESH_ENDINGS,
    TRUTH_ENDINGS,
    files_in,
    folders_in,
    mesh_files,
    missing,
    truth_files,
)
from finsler.errors import InputError
from finsler.mesh.io import load_mesh
from finsler.mesh.trimesh import TriMesh
from finsler.typing import IntArray

# Beside a truth file that finsler wrote: vertices, from 1, whose label is not ground truth.
FILLED = ".filled"


@dataclass(frozen=True)
class ShapeFiles:
    """A data set as it lies on disk, whole or not; `collection` makes it one that can be loaded.

    Attributes
    ----------
    name : str
    folder : Path
    reference : str
    train, test : tuple of str
        The shapes that belong to the set, whether their files are there or not.
    meshes, truths : mapping of str to Path
        The files found, by shape.
    truth : {"canonical", "vertex", "identity", "pairs"}
        What a line of a truth file says: the vertex of this shape at canonical point i; the
        reference vertex (or point of a reference face) at vertex i. Or that no file is needed,
        since all shapes number their vertices alike, or since truth is given for pairs only.
    least : int
        Shapes besides the reference that the split needs.
    source : str
        Where to get the set, under which licence, and where to put it.
    families : mapping of str to str
        Shapes of one family list the same canonical points; by default all do.
    bridges : mapping of (str, str) to Path
        Files that lead from the points of one family, line by line, to those of another.
    base : {1, 0}
        What bridges count from.
    pairs : tuple of (str, str), optional
        The pairs that are matched, where that is not every shape with every shape.
    """

    name: str
    folder: Path
    reference: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    meshes: Mapping[str, Path]
    truths: Mapping[str, Path]
    truth: Literal["canonical", "vertex", "identity", "pairs"]
    least: int = 1
    source: str = ""
    families: Mapping[str, str] = field(default_factory=dict)
    bridges: Mapping[tuple[str, str], Path] = field(default_factory=dict)
    base: Literal[0, 1] = 1
    pairs: tuple[tuple[str, str], ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The reference, and all other shapes, each once."""
        others = (name for name in (*self.train, *self.test) if name != self.reference)
        return (self.reference, *others)

    @property
    def without_mesh(self) -> tuple[str, ...]:
        """Shapes whose mesh is not there."""
        return tuple(name for name in self.names if name not in self.meshes)

    @property
    def without_truth(self) -> tuple[str, ...]:
        """Shapes whose ground truth is not there; a reference needs one only for its points."""
        if self.truth in ("identity", "pairs"):
            return ()
        needed = self.names if self.truth == "canonical" else self.names[1:]
        return tuple(name for name in needed if name not in self.truths)

    @property
    def too_few(self) -> str:
        """A clause that says that shapes are lacking for the split; empty where none are."""
        there = len(self.names) - 1
        if there >= self.least:
            return ""
        return f"{there} shapes are there besides the reference, but the split needs {self.least}"

    @cached_property
    def reference_mesh(self) -> TriMesh:
        """The mesh whose vertices are the classes."""
        return load_mesh(self.meshes[self.reference])

    @cached_property
    def reference_points(self) -> IntArray:
        """Vertex of the reference at each canonical point."""
        return read_vts(self.truths[self.reference], self.reference_mesh.n_vertices)

    def collection(self) -> Collection:
        """The collection; the meshes are read when asked for.

        Raises
        ------
        InputError
            A mesh or its ground truth is not there, or there are too few for the split, or a name
            cannot be that of a file.
        """
        try:
            require_plain_names(self.name, self.names)
        except InputError as error:
            raise InputError(f"{self.folder}: {error}; {self.source}") from error
        if self.too_few:
            raise InputError(f"{self.folder}: {self.name}: {self.too_few}; {self.source}")
        for kind, lost in (("mesh", self.without_mesh), ("ground truth", self.without_truth)):
            if lost:
                others = f" and of {len(lost) - 1} others" if len(lost) > 1 else ""
                raise InputError(
                    f"{self.folder}: the {kind} of {lost[0]}{others} is missing from {self.name},"
                    f" which has {len(self.names)} shapes; {self.source}"
                )
        bridge = self.bridge if self.bridges else None
        return Collection(
            self.name, self.train, self.test, self.reference, self.load, self.pairs, bridge
        )

    def load(self, name: str) -> Shape:
        """Read one shape with its labels.

        Raises
        ------
        InputError
            A file is damaged or does not fit the others; the sentence names it.
        """
        mesh = load_mesh(self.meshes[name])
        known = self.labels(name, mesh)
        points = self.points(name, mesh)
        return Shape(name, mesh, known.labels, known.named, points, self.family(name))

    def family(self, name: str) -> str:
        """The family of a shape."""
        return self.families.get(name, "")

    def points(self, name: str, mesh: TriMesh) -> IntArray | None:
        """Vertex at each point that the family lists; None where only labels are given."""
        if self.truth == "canonical":
            return read_vts(self.truths[name], mesh.n_vertices)
        return None if self.truth == "vertex" else np.arange(mesh.n_vertices)

    def listed(self, family: str) -> int:
        """Points that a family lists, by the file of its first shape; 0 where it has none."""
        first = next((n for n in self.names if self.family(n) == family and n in self.truths), None)
        return 0 if first is None else len(read_vts(self.truths[first], 2**40))

    def bridge(self, first: str, second: str) -> IntArray | None:
        """Point of the second family at each point of the first; None where no file tells."""
        path = self.bridges.get((first, second))
        return None if path is None else read_vts(path, 2**40, base=self.base)

    def labels(self, name: str, mesh: TriMesh) -> Labels:
        """Labels of a shape whose mesh has been read."""
        if self.truth == "identity":
            return self._identity(name, mesh)
        if self.truth == "pairs" or self.family(name) != self.family(self.reference):
            # No vertex of the reference is known for these: they train no network.
            n = mesh.n_vertices
            return Labels(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool))
        if name not in self.truths:
            return Labels(np.arange(mesh.n_vertices), np.ones(mesh.n_vertices, dtype=bool))
        path = self.truths[name]
        if self.truth == "canonical":
            points = read_vts(path, mesh.n_vertices)
            self.require_lines(path, len(points), len(self.reference_points))
            return canonical_labels(mesh, points, self.reference_points)
        known = self._known(path)
        self.require_lines(path, len(known), mesh.n_vertices)
        if (known < 0).all():
            raise InputError(f"{path}: no line names a vertex; copy the file again")
        filled = filled_labels(mesh, known)
        marks = path.with_suffix(FILLED)
        return _marked(filled, read_vts(marks, mesh.n_vertices)) if marks.is_file() else filled

    def require_lines(self, path: Path, lines: int, needed: int) -> None:
        """Raise where a truth file does not have the number of lines that it needs."""
        if lines == needed:
            return
        each = "vertex of its mesh"
        if self.truth == "canonical":
            each = f"canonical point, like that of {self.reference}"
        raise InputError(
            f"{path}: the file ends with line {lines}, but it needs {needed}, one for each {each};"
            " it is cut short or of another release, so copy it again"
        )

    def _identity(self, name: str, mesh: TriMesh) -> Labels:
        if mesh.n_vertices != self.reference_mesh.n_vertices:
            raise InputError(
                f"{self.meshes[name]}: the mesh has {mesh.n_vertices} vertices and"
                f" {self.reference} has {self.reference_mesh.n_vertices}, but the shapes of"
                f" {self.name} number their vertices alike; copy it again"
            )
        return Labels(np.arange(mesh.n_vertices), np.ones(mesh.n_vertices, dtype=bool))

    def _known(self, path: Path) -> IntArray:
        if path.suffix == ".baryc_gt":
            return read_barycentric(path, self.reference_mesh)
        base = 0 if path.suffix == ".map" else 1
        return read_vts(path, self.reference_mesh.n_vertices, base=base)


def require_plain_names(title: str, names: Iterable[object]) -> None:
    """Raise where a shape's name could not be that of a file, or a title not be printed.

    Shapes are written under their names, and a list that was received may hold any text.
    """
    for name in names:
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= 200:
            raise InputError(f"a shape is called {str(name)[:40]!r}; a name must be a short text")
        if "/" in name or "\\" in name or name in (".", ".."):
            raise InputError(f"a shape is called {name[:40]!r}; a name must not be a path")
    if not title.isprintable() or len(title) > 200:
        raise InputError(f"the collection is called {title[:40]!r}; its name must be a short text")


def _marked(filled: Labels, unnamed: IntArray) -> Labels:
    named = filled.named.copy()
    named[unnamed] = False
    return Labels(filled.labels, named)


def extra_files(sets: Sequence[ShapeFiles]) -> tuple[Path, ...]:
    """Meshes and truth files that belong to no shape of any of the sets in these folders.

    Companions of the remeshed sets, `*.sym.vts` and `*sampleID.vts`, are left out.
    """
    used = {
        path
        for files in sets
        for name in files.names
        for path in (files.meshes.get(name), files.truths.get(name))
        if path is not None
    }
    taken = {name for files in sets for name in files.names} | {path.stem for path in used}
    folders = sorted({path.parent for path in used})
    return tuple(
        path
        for folder in folders
        for path in files_in(folder)
        if path not in used
        and path.suffix.lower() in (*MESH_ENDINGS, *TRUTH_ENDINGS)
        and path.stem not in taken
        and not path.stem.endswith(("sampleID", ".sym"))
    )


def full_set(
    root: str | os.PathLike[str],
    name: str,
    pattern: str,
    inside: tuple[str, ...],
    train: tuple[str, ...],
    test: tuple[str, ...],
    *,
    source: str,
    truth: Literal["canonical", "identity"] = "canonical",
) -> ShapeFiles:
    """A set of whole shapes whose names match a pattern, in the first folder that holds any.

    The folder is the root, one of those named `inside` it, or another one in it.

    Raises
    ------
    InputError
        There is no such folder; the sentence says where to get the set.
    """
    for folder in folders_in(Path(root), inside):
        meshes = mesh_files(folder, pattern)
        truths = truth_files(folder, pattern) if truth == "canonical" else {}
        if meshes and (truths or truth == "identity"):
            return ShapeFiles(
                name, folder, train[0], train, test, meshes, truths, truth, source=source
            )
    raise missing(root, name, source)


def present(files: ShapeFiles) -> ShapeFiles:
    """The set with only those shapes of its split that have a mesh or a ground truth."""
    there = {*files.meshes, *files.truths}
    train, test = (
        tuple(name for name in names if name in there) for names in (files.train, files.test)
    )
    return replace(files, train=train, test=test, reference=(*train, *test)[0])
