"""SHREC'16 Partial Matching of Deformable Shapes: TOSCA shapes with cuts or with holes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from finsler.data.collection import Collection
from finsler.data.sets.files import folders_in, mesh_files, missing, number_of, truth_files
from finsler.data.sets.layout import ShapeFiles
from finsler.data.sets.tosca import require_category
from finsler.errors import InputError

# How many shapes of each category train and test in the paper.
_SPLITS = {"cuts": (10, 5), "holes": (6, 4)}
KINDS = tuple(_SPLITS)
_SOURCE = (
    "SHREC'16 Partial Matching of Deformable Shapes is offered for research at"
    " www.dais.unive.it/~shrec2016 as shrec2016_PartialDeformableShapes.zip; unpack it, so that"
    " the folders null, cuts and holes lie side by side, with cuts_cat_shape_1.off and"
    " cuts_cat_shape_1.baryc_gt, or with off/cuts_cat_shape_1.off and"
    " corres/cuts_cat_shape_1.vts, in cuts"
)


def shrec16(
    root: str | os.PathLike[str], kind: str, category: str, *, split: str = "paper"
) -> Collection:
    """Partial shapes of one category, and the full "null" shape they are matched with.

    Labels point to the null shape. They come from `.baryc_gt` files (the official ones: a face of
    the null shape and barycentric weights; the label is the corner with the largest weight) or
    from `.vts` files (line i: vertex of the null shape, from 1, at vertex i) or from `.map` files
    (the same, from 0). This reading of `.vts` differs from that of the full remeshed sets.

    Parameters
    ----------
    root : path
        The folder with `null`, `cuts` and `holes`, or the one around it. Shapes may lie in these
        folders or in `off` or `shapes` inside them, the truth beside them or in `corres`; also
        `train_cuts` and `test_cuts` instead of `cuts`, and the flat layout of DPFM, `shapes` and
        `maps`.
    kind : {"cuts", "holes"}
    category : {"cat", "centaur", "david", "dog", "horse", "michael", "victoria", "wolf"}
    split : {"paper", "official"}
        "paper": of the training shapes, ordered by number, the first 10 cuts or 6 holes train
        and the last 5 or 4 test. "official": all training shapes train, and the shapes of the
        test set, which lies beside or in the folder, test; their names begin with `test_`.

    Raises
    ------
    InputError
        Unknown kind, category or split, too few shapes, or a file is missing; the sentence says
        where to get the set.
    """
    files = shrec16_files(root, kind, category, split=split)
    if split == "official" and not files.test:
        raise InputError(
            f"{files.folder}: the test set of {files.name} is not beside the training set; unpack"
            " shrec2016_PartialDeformableShapes_TestSet.zip there, with its ground truth"
        )
    return files.collection()


def shrec16_files(
    root: str | os.PathLike[str], kind: str, category: str, *, split: str = "paper"
) -> ShapeFiles:
    """Files of one kind and category, complete or not."""
    require_category(category)
    if kind not in _SPLITS:
        raise InputError(f"kind is {kind!r}; it must be one of {', '.join(_SPLITS)}")
    if split not in ("paper", "official"):
        raise InputError(f"split is {split!r}; it must be one of paper, official")
    base = next((each for each in _bases(Path(root)) if _null(each, kind, category)), None)
    if base is None:
        raise missing(root, f"null shape of {category} of SHREC'16", _SOURCE)
    null = _null(base, kind, category)
    reference = next(iter(null))
    train = _parts(_training_folders(base, kind), kind, category)
    names = sorted({*train.meshes, *train.truths}, key=number_of)
    first, last = _SPLITS[kind]
    whole = replace(
        train,
        name=f"SHREC'16 {kind} {category}",
        folder=base,
        reference=reference,
        meshes={**train.meshes, **null},
        least=first + last,
        train=tuple(names[:first]),
        test=tuple(names[max(first, len(names) - last) :]),
    )
    return whole if split == "paper" else _official(whole, names, base, kind, category)


def _official(
    files: ShapeFiles, names: list[str], base: Path, kind: str, category: str
) -> ShapeFiles:
    test = _parts(_test_folders(base, kind), kind, category)
    ordered = sorted({*test.meshes, *test.truths}, key=number_of)
    return replace(
        files,
        least=1,
        train=tuple(names),
        test=tuple(f"test_{name}" for name in ordered),
        meshes={**files.meshes, **{f"test_{name}": path for name, path in test.meshes.items()}},
        truths={**files.truths, **{f"test_{name}": path for name, path in test.truths.items()}},
    )


def _parts(candidates: list[Path], kind: str, category: str) -> ShapeFiles:
    """Partial shapes in the first of some folders that holds any."""
    pattern = rf"{kind}[-_]{category}(_shape_|_)?\d+"
    for folder in candidates:
        meshes, truths = mesh_files(folder, pattern), truth_files(folder, pattern)
        if meshes or truths:
            return ShapeFiles("", folder, "", (), (), meshes, truths, "vertex", source=_SOURCE)
    return ShapeFiles("", Path(), "", (), (), {}, {}, "vertex", source=_SOURCE)


def _bases(path: Path) -> Iterator[Path]:
    """Folders that may hold a training set; test sets, which hold null shapes too, come last."""
    inside = [entry for each in folders_in(path, ()) for entry in folders_in(each, ())]
    return iter(sorted(dict.fromkeys(inside), key=lambda entry: _is_test(path, entry)))


def _is_test(path: Path, entry: Path) -> bool:
    return entry != path and bool(re.search("test", entry.name, re.IGNORECASE))


def _null(base: Path, kind: str, category: str) -> dict[str, Path]:
    """The full shape: `null/cat.off`, or `shapes/cuts-cat.off` in the layout of DPFM."""
    return mesh_files(base / "null", category) or mesh_files(base, f"{kind}-{category}")


def _training_folders(base: Path, kind: str) -> list[Path]:
    inside = (kind, f"train_{kind}", f"train/{kind}", f"training/{kind}")
    return [*(base / name for name in inside), base]


def _test_folders(base: Path, kind: str) -> list[Path]:
    base = base.resolve()
    beside = base.with_name(base.name.replace("train", "test"))
    named = [base.with_name(f"{base.name}{ending}") for ending in ("_test", "_TestSet")]
    around = [*named, base.parent / "test", base / "test", *([beside] if beside != base else [])]
    return [base / f"test_{kind}", *(each / kind for each in around), *around]
