"""One door to all data sets: a folder that is recognised by its layout, or a name with a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from finsler.data.collection import Collection
from finsler.data.sets.faust import (
    faust_r,
    faust_r_files,
    faust_registration_files,
    faust_registrations,
)
from finsler.data.sets.folder import stored_files
from finsler.data.sets.layout import ShapeFiles
from finsler.data.sets.scape import scape_r, scape_r_files
from finsler.data.sets.shrec16 import shrec16, shrec16_files
from finsler.data.sets.tosca import TOSCA_CATEGORIES, tosca_r, tosca_r_files
from finsler.errors import InputError

# Form of each name: what follows the path.
_FORMS = {
    "faust_r": ("PATH",),
    "faust_registrations": ("PATH",),
    "scape_r": ("PATH",),
    "tosca_r": ("PATH", "CATEGORY"),
    "shrec16": ("PATH", "cuts|holes", "CATEGORY"),
    "pack": ("FILE",),
    "synthetic": ("SPECIES",),
}


@dataclass(frozen=True)
class Found:
    """A data set found in a folder: the loader's name, what it is called with, and its files."""

    loader: str
    arguments: tuple[str, ...]
    files: ShapeFiles

    @property
    def spec(self) -> str:
        """The name that `open_collection` takes for it."""
        return ":".join((self.loader, *self.arguments) if self.loader else self.arguments)


def open_collection(
    where: str | os.PathLike[str], *, kind: str | None = None, category: str | None = None
) -> Collection:
    """Open a data set by name and folder, or by folder alone.

    Parameters
    ----------
    where : str or path
        A folder whose layout is recognised: FAUST_r, the FAUST registrations, SCAPE_r, TOSCA_r,
        SHREC'16, one that [`write_collection`][finsler.data.sets.folder.write_collection] wrote, or
        the folder around one of them. A packed file. Or `faust_r:PATH`,
        `faust_registrations:PATH`, `scape_r:PATH`, `tosca_r:PATH:cat`, `shrec16:PATH:cuts:cat`,
        `pack:FILE`, `synthetic:SPECIES`.
    kind, category : str, optional
        With a folder of SHREC'16 or TOSCA_r: which part of it.

    Raises
    ------
    InputError
        Nothing or several sets are found, or files are missing or damaged.
    """
    loader, colon, rest = str(where).partition(":")
    if colon and loader in _FORMS:
        return _open(loader, _split(loader, rest))
    if Path(where).is_file():
        return _open("pack", (str(where),))
    found = [
        entry
        for entry in find_collections(where)
        if (kind is None or kind in entry.arguments[1:])
        and (category is None or category in entry.arguments[1:])
    ]
    if len(found) == 1:
        only = found[0]
        return _open(only.loader, only.arguments) if only.loader else only.files.collection()
    if found:
        choice = ", ".join(entry.spec for entry in found[:4]) + (", …" if len(found) > 4 else "")
        raise InputError(f"{where}: this folder holds {len(found)} collections; name one: {choice}")
    raise InputError(
        f"{where}: no data set is recognised here; a set is a folder such as FAUST_r with off/*.off"
        " and corres/*.vts, or SHREC'16 with null, cuts and holes; name it to learn what it needs,"
        f" for instance faust_r:{where}"
    )


def find_collections(path: str | os.PathLike[str]) -> tuple[Found, ...]:
    """All data sets at a folder or right below it, complete or not.

    Raises
    ------
    InputError
        There is no such folder.
    """
    if not Path(path).is_dir():
        raise InputError(f"{path}: there is no such folder; check the path")
    stored = stored_files(path)
    if stored is not None:
        return (Found("", (str(stored.folder),), stored),)
    found = [
        _try("faust_r", path),
        _try("scape_r", path),
        *(_try("tosca_r", path, category) for category in TOSCA_CATEGORIES),
        *(
            _try("shrec16", path, kind, category)
            for kind in ("cuts", "holes")
            for category in TOSCA_CATEGORIES
        ),
    ]
    taken = {entry.files.folder for entry in found if entry is not None}
    registrations = _try("faust_registrations", path)
    if registrations is not None and registrations.files.folder not in taken:
        found.append(registrations)
    return tuple(entry for entry in found if entry is not None and len(entry.files.names) > 1)


def _try(loader: str, path: str | os.PathLike[str], *rest: str) -> Found | None:
    readers: dict[str, Callable[..., ShapeFiles]] = {
        "faust_r": faust_r_files,
        "faust_registrations": faust_registration_files,
        "scape_r": scape_r_files,
        "tosca_r": tosca_r_files,
        "shrec16": shrec16_files,
    }
    try:
        files = readers[loader](path, *rest)
    except InputError:
        return None
    return Found(loader, (str(files.folder), *rest), files)


def _split(loader: str, rest: str) -> tuple[str, ...]:
    """What follows the colon; a path may hold colons itself, the words after it may not."""
    form = _FORMS[loader]
    parts = tuple(rest.rsplit(":", len(form) - 1))
    if len(parts) != len(form) or not all(parts):
        raise InputError(
            f"{loader}:{rest} is incomplete; write {loader}:{':'.join(form)}"
            + (f", where CATEGORY is one of {', '.join(TOSCA_CATEGORIES)}" * ("CATEGORY" in form))
        )
    return parts


def _open(loader: str, arguments: tuple[str, ...]) -> Collection:
    if loader == "pack":
        from finsler.data.sets.pack import packed

        return packed(*arguments)
    if loader == "synthetic":
        from finsler.data.sets.synthetic import synthetic_collection

        return synthetic_collection(*arguments)
    loaders: dict[str, Callable[..., Collection]] = {
        "faust_r": faust_r,
        "faust_registrations": faust_registrations,
        "scape_r": scape_r,
        "tosca_r": tosca_r,
        "shrec16": shrec16,
    }
    return loaders[loader](*arguments)
