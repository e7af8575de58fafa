"""DT4D: humanoid characters of games in motion, remeshed; pairs within and across characters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from finsler.data.collection import Collection
from finsler.data.sets.families import pairs_within, whole_family
from finsler.data.sets.files import folders_in, listed_names, mesh_files, missing, truth_files
from finsler.data.sets.layout import ShapeFiles
from finsler.errors import InputError

_CROSS = "cross_category_corres"
# Left out by every table: its topology differs from shape to shape.
_IGNORED = "pumpkinhulk"
PARTS = ("within", "across")
_SOURCE = (
    "DeformingThings4D-Matching of Magnet et al. 2022 is linked from"
    " github.com/robinmagnet/smoothFunctionalMaps and, remeshed, from"
    " github.com/dongliangcao/Unsupervised-Learning-of-Robust-Spectral-Shape-Matching (the motions"
    " are Mixamo's, for research); put off/CHARACTER/*.off, corres/CHARACTER/*.vts and"
    f" corres/{_CROSS}/A_B.vts, with train.txt and test.txt, into DT4D_r"
)


def dt4d_r(root: str | os.PathLike[str], part: str) -> Collection:
    """Humanoids of DT4D, about 8000 vertices each; shapes are called CHARACTER-NAME.

    `train.txt` and `test.txt`, lines CHARACTER/NAME, give the split; without them all shapes test.
    Shapes of one character list the same points in their `.vts` files; line i of
    `cross_category_corres/crypto_drake.vts` is the point of drake's list, from 1, that corresponds
    to point i of crypto's. As in Cao et al. 2023, pairs across characters are those with such a
    file, in its direction, and the character pumpkinhulk is left out.

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.
    part : str
        "within": all characters, pairs of the same one, a shape with itself included. "across":
        pairs of different ones. Or one character, such as "crypto", as a collection that can be
        trained on; in the first two only shapes of the reference's character have labels.

    Raises
    ------
    InputError
        No such character, or a file is missing; the sentence says where to get the set.
    """
    return dt4d_r_files(root, part).collection()


def dt4d_r_files(root: str | os.PathLike[str], part: str) -> ShapeFiles:
    """Files of DT4D_r, complete or not."""
    whole = next(_sets(Path(root)), None)
    if whole is None:
        raise missing(root, "DT4D_r", _SOURCE)
    characters = tuple(dict.fromkeys(whole.families.values()))
    if part == "within":
        return pairs_within(whole, "DT4D_r within characters")
    if part == "across":
        return _across(whole)
    if part not in characters:
        raise InputError(
            f"part is {part!r}; it must be within, across or one of {', '.join(characters)}"
        )
    return whole_family(whole, part, f"DT4D_r {part}")


def _across(whole: ShapeFiles) -> ShapeFiles:
    folder = next((each for each in _truths(whole.folder) if (each / _CROSS).is_dir()), None)
    characters = set(whole.families.values())
    bridges = {}
    for path in sorted((folder / _CROSS).glob("*.vts")) if folder else ():
        ends = tuple(path.stem.split("_"))
        if len(ends) == 2 and characters.issuperset(ends):
            bridges[ends[0], ends[1]] = path
    used = {character for ends in bridges for character in ends}
    return pairs_within(whole, "DT4D_r across characters", bridges=bridges, only=used)


def _sets(root: Path) -> Iterator[ShapeFiles]:
    """The set in every folder that holds meshes in folders named after characters."""
    for folder in folders_in(root, ("DT4D_r", "DT4D", "DeformingThings4DMatching")):
        bases = [folder / name for name in ("off", "shapes", "meshes")]
        base = next((each for each in bases if each.is_dir()), None)
        truths = next(_truths(folder), None)
        if base is None or truths is None:
            continue
        meshes, points, families = {}, {}, {}
        for inside in sorted(entry for entry in base.iterdir() if entry.is_dir()):
            character = inside.name
            if character == _IGNORED or not (truths / character).is_dir():
                continue
            for name, path in mesh_files(inside, ".+").items():
                meshes[f"{character}-{name}"] = path
                families[f"{character}-{name}"] = character
            for name, path in truth_files(truths / character, ".+").items():
                points[f"{character}-{name}"] = path
        if meshes:
            train, test = _split(folder, families)
            first = (*train, *test)[0]
            yield ShapeFiles(
                *("DT4D_r", folder, first, train, test, meshes, points, "canonical"),
                source=_SOURCE,
                families=families,
            )


def _truths(folder: Path) -> Iterator[Path]:
    inside = (folder / name for name in ("corres", "correspondences"))
    return (each for each in inside if each.is_dir())


def _split(folder: Path, families: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Shapes that train and test by the lists; all test where there are none."""
    lists = [listed_names(folder / name) for name in ("train.txt", "test.txt")]
    train, test = (
        tuple(line.replace("/", "-") for line in lines if not line.startswith(f"{_IGNORED}/"))
        for lines in lists
    )
    for name in (*train, *test):
        families.setdefault(name, name.split("-")[0])
    return (train, test) if train or test else ((), tuple(families))
