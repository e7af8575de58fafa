"""One door to all data sets: a folder that is recognised by its layout, or a name with a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from finsler.data.collection import Collection
from finsler.data.sets.dt4d import PARTS, dt4d_r_files
from finsler.data.sets.faust import faust_a_files, faust_r_files, faust_registration_files
from finsler.data.sets.folder import plain_files, stored_files
from finsler.data.sets.layout import ShapeFiles
from finsler.data.sets.pack import packed
from finsler.data.sets.partial_smal import partial_smal_files
from finsler.data.sets.scape import scape_a_files, scape_r_files
from finsler.data.sets.shrec16 import KINDS, shrec16_files
from finsler.data.sets.shrec19 import shrec19_r_files
from finsler.data.sets.smal import smal_r_category_files, smal_r_files
from finsler.data.sets.synthetic import synthetic_collection
from finsler.data.sets.topkids import topkids_files
from finsler.data.sets.tosca import TOSCA_CATEGORIES, tosca_r_files, tosca_r_within_files
from finsler.errors import InputError


@dataclass(frozen=True)
class DataSet:
    """A kind of data set: what follows its name, and how it is opened.

    Attributes
    ----------
    form : tuple of str
        What follows the name, separated by colons.
    open : callable
        Takes these words and gives the collection or its files; the latter can be recognised in a
        folder.
    parts : tuple of tuple of str
        The words after the folder that are tried to recognise one.
    last : bool
        Only recognised in a folder that holds no other set.
    only : bool
        Only recognised where nothing else is.
    folder : str
        Pattern that the name of the folder must match to be recognised.
    """

    form: tuple[str, ...]
    open: Callable[..., ShapeFiles | Collection]
    parts: tuple[tuple[str, ...], ...] = ()
    last: bool = False
    only: bool = False
    folder: str = ""


# Remeshes of one kind or the other differ by the name of their folder only.
_ANISOTROPIC = r"(?i).*_a"
_OTHERS = r"(?i)(?!.*_a$).*"

# A data set is added here, and to no other table.
DATA_SETS = {
    "faust_r": DataSet(("PATH",), faust_r_files, parts=((),), folder=_OTHERS),
    "faust_a": DataSet(("PATH",), faust_a_files, parts=((),), folder=_ANISOTROPIC),
    "scape_r": DataSet(("PATH",), scape_r_files, parts=((),), folder=_OTHERS),
    "scape_a": DataSet(("PATH",), scape_a_files, parts=((),), folder=_ANISOTROPIC),
    "smal_r": DataSet(("PATH",), smal_r_files, parts=((),)),
    "smal_r_categories": DataSet(("PATH",), smal_r_category_files),
    "dt4d_r": DataSet(("PATH", "within|across|CHARACTER"), dt4d_r_files, tuple(product(PARTS))),
    "tosca_r": DataSet(("PATH", "CATEGORY"), tosca_r_files, parts=tuple(product(TOSCA_CATEGORIES))),
    "tosca_r_within": DataSet(("PATH",), tosca_r_within_files),
    "shrec16": DataSet(
        ("PATH", "cuts|holes", "CATEGORY"),
        shrec16_files,
        parts=tuple(product(KINDS, TOSCA_CATEGORIES)),
    ),
    "shrec19_r": DataSet(("PATH",), shrec19_r_files, parts=((),)),
    "topkids": DataSet(("PATH",), topkids_files, parts=((),)),
    "partial_smal": DataSet(("PATH",), partial_smal_files, parts=((),)),
    "faust_registrations": DataSet(("PATH",), faust_registration_files, parts=((),), last=True),
    "folder": DataSet(("PATH",), plain_files, parts=((),), last=True, only=True),
    "pack": DataSet(("FILE",), packed),
    "synthetic": DataSet(("SPECIES",), synthetic_collection),
}

# How each is named, for help and messages.
FORMS = ", ".join(":".join((name, *kind.form)) for name, kind in DATA_SETS.items())


@dataclass(frozen=True)
class LocatedSet:
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
        A folder whose layout is that of one of `DATA_SETS`, or one that
        [`write_collection`][finsler.data.sets.folder.write_collection] wrote, or the folder around
        one of them. A packed file. Or a name with a folder, such as `faust_r:PATH`,
        `tosca_r:PATH:cat`, `shrec16:PATH:cuts:cat`, `pack:FILE`, `synthetic:SPECIES`.
    kind, category : str, optional
        With a folder of several collections: which of them.

    Raises
    ------
    InputError
        Nothing or several sets are found, or files are missing or damaged.
    """
    loader, colon, rest = str(where).partition(":")
    if colon and loader in DATA_SETS:
        return _open(loader, _split(loader, rest))
    if Path(where).is_file():
        return _open("pack", (str(where),))
    matching = [
        entry
        for entry in find_collections(where)
        if (kind is None or kind in entry.arguments[1:])
        and (category is None or category in entry.arguments[1:])
    ]
    if len(matching) == 1:
        only = matching[0]
        return only.files.collection()
    if matching:
        choice = ", ".join(entry.spec for entry in matching[:4]) + (
            ", …" if len(matching) > 4 else ""
        )
        raise InputError(
            f"{where}: this folder holds {len(matching)} collections; name one: {choice}"
        )
    raise InputError(
        f"{where}: no data set is recognised here; a set is a folder such as FAUST_r with off/*.off"
        " and corres/*.vts, or SHREC'16 with null, cuts and holes; name it to learn what it needs,"
        f" for instance faust_r:{where}"
    )


def find_collections(path: str | os.PathLike[str]) -> tuple[LocatedSet, ...]:
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
        return (LocatedSet("", (str(stored.folder),), stored),)
    entries: list[LocatedSet] = []
    for name, kind in sorted(DATA_SETS.items(), key=lambda item: item[1].last):
        taken = {entry.files.folder for entry in entries} if kind.last else set()
        for words in () if kind.only and entries else kind.parts:
            try:
                files = kind.open(path, *words)
            except InputError:
                continue
            assert isinstance(files, ShapeFiles)
            named = not kind.folder or re.fullmatch(kind.folder, files.folder.resolve().name)
            if len(files.names) > 1 and files.folder not in taken and named:
                entries.append(LocatedSet(name, (str(files.folder), *words), files))
    return tuple(entries)


def _split(loader: str, rest: str) -> tuple[str, ...]:
    """What follows the colon; a path may hold colons itself, the words after it may not."""
    form = DATA_SETS[loader].form
    parts = tuple(rest.rsplit(":", len(form) - 1))
    if len(parts) != len(form) or not all(parts):
        raise InputError(
            f"{loader}:{rest} is incomplete; write {loader}:{':'.join(form)}"
            + (f", where CATEGORY is one of {', '.join(TOSCA_CATEGORIES)}" * ("CATEGORY" in form))
        )
    return parts


def _open(loader: str, arguments: tuple[str, ...]) -> Collection:
    opened = DATA_SETS[loader].open(*arguments)
    return opened.collection() if isinstance(opened, ShapeFiles) else opened
