"""Where the files of a data set lie: meshes, ground truth and lists of names in folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from finsler.errors import InputError
from finsler.storage.files import read_bytes

# Best first: where a folder holds several files of one shape, the earlier ending is read.
MESH_ENDINGS = (".off", ".ply", ".obj")
TRUTH_ENDINGS = (".vts", ".baryc_gt", ".map")
_MESH_FOLDERS = ("off", "off_2", "shapes", "meshes", "ply", "obj", "vtx_5k", "")
_TRUTH_FOLDERS = ("corres", "corr", "gt", "maps", "vtx_5k/corres", *_MESH_FOLDERS)


def mesh_files(folder: Path, pattern: str) -> dict[str, Path]:
    """Meshes of a folder, or of its `off`, `shapes`, …, by the stem, which matches the pattern."""
    for inside in _MESH_FOLDERS:
        paths = [
            path
            for ending in reversed(MESH_ENDINGS)
            for path in files_in(folder / inside)
            if path.suffix.lower() == ending and re.fullmatch(pattern, path.stem)
        ]
        if paths:
            return {path.stem: path for path in paths}
    return {}


def truth_files(folder: Path, pattern: str) -> dict[str, Path]:
    """Ground truth of a folder, or of its `corres`, …, by the shape; a `.map` names two shapes."""
    for inside in _TRUTH_FOLDERS:
        named = [
            (path.stem.split("_")[0] if ending == ".map" else path.stem, path)
            for ending in reversed(TRUTH_ENDINGS)
            for path in files_in(folder / inside)
            if path.suffix == ending
        ]
        matching = {stem: path for stem, path in named if re.fullmatch(pattern, stem)}
        if matching:
            return matching
    return {}


def folders_in(path: Path, preferred: tuple[str, ...]) -> Iterator[Path]:
    """A folder, the preferred folders inside it, and the other ones inside it."""
    yield path
    yield from (path / name for name in preferred if (path / name).is_dir())
    if path.is_dir():
        inside = (entry for entry in path.iterdir() if entry.is_dir())
        yield from sorted(entry for entry in inside if entry.name not in preferred)


def listed_names(path: Path) -> tuple[str, ...]:
    """Names in a text file, one on each line; none where there is no such file.

    Raises
    ------
    InputError
        The file is no text, or cannot be read.
    """
    if not path.is_file():
        return ()
    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is no list of names; copy the file again") from error
    return tuple(line.strip() for line in lines if line.strip())


def missing(path: str | os.PathLike[str], name: str, source: str) -> InputError:
    """The error for a data set that is not there."""
    what = "the folder holds no" if Path(path).is_dir() else "there is no such folder, so no"
    return InputError(f"{path}: {what} {name}; {source}")


def number_of(name: str) -> int:
    """Last number in a name, to sort shapes by."""
    return int(re.findall(r"\d+", name)[-1])


def files_in(folder: Path) -> list[Path]:
    """Files of a folder, ordered; none where it does not exist."""
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
