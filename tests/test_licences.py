"""What a run needs may be passed on with a BSD library: by what packages say, and carry."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
# Tools of those who work on the library; no run needs them.
TOOLS = ("docs", "dev")
# What builds of torch for graphics cards bring, under the terms of its maker; others do without.
CARDS = ("nvidia-", "cuda-")

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "HPND",
    "ISC",
    "MIT",
    "MIT-CMU",
    "PSF-2.0",
    "Zlib",
}
# Copyleft that does not reach beyond a package's own files, which are used unchanged.
ALLOWED_FOR = {"certifi": {"MPL-2.0"}, "tqdm": {"MPL-2.0"}}
# Where no identifier is given: how licences are called in classifiers and in the older field.
CALLED = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Libraries of compilers, which wheels bring as files of their own: the GPL with its exception for
# run-time libraries, and for libquadmath the LGPL. Nothing else under these licences is known.
COMPILERS = {"libgfortran", "libgomp", "libquadmath"}
COPYLEFT = COMPILERS | {"libcholmod", "libumfpack", "libfftw3", "libgmp", "libmpfr", "libreadline"}
# What is compiled into an extension, found by the names of its functions.
MARKS = {
    "CHOLMOD": b"cholmod_analyze",
    "CHOLMOD Supernodal": b"cholmod_super_numeric",
    "METIS": b"METIS_",
    "UMFPACK": b"umfpack_di_numeric",
    "Eigen": b"5Eigen",
    "Kirsanov": b"8geodesic",
}
# CHOLMOD is LGPL, its part Supernodal GPL: docs/reliability.md says so, and that finsler runs
# without cholespy, which tests/analysis/test_spectrum.py tests.
CARRIED = {
    "cholespy": {"CHOLMOD", "CHOLMOD Supernodal", "METIS"},
    "potpourri3d": {"Eigen"},
    "pygeodesic": {"Kirsanov"},
}


def closure(requirements):
    """Installed packages that these need, directly or not, and those that are not installed."""
    found, missing, seen = set(), set(), set()
    todo = [(Requirement(text), "") for text in requirements]
    while todo:
        requirement, extra = todo.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name.startswith(CARDS):
            continue
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            missing.add(name)
            continue
        found.add(name)
        for wanted in {"", *requirement.extras}:
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                todo += [(Requirement(text), wanted) for text in needs]
    return found, missing


def run_time():
    extras = PROJECT["optional-dependencies"]
    chosen = [text for name, texts in extras.items() if name not in TOOLS for text in texts]
    return [text for text in PROJECT["dependencies"] + chosen if not text.startswith("finsler[")]


INSTALLED, MISSING = closure(run_time())


def licences(metadata):
    """The identifiers of all licences that apply; a wording that is not known stays as it is."""
    said = metadata.get("License-Expression")
    if not said:
        classifiers = metadata.get_all("Classifier") or []
        named = [text.split(" :: ")[-1] for text in classifiers if text.startswith("License ::")]
        named = [name for name in named if name != "OSI Approved"]
        said = " AND ".join(CALLED.get(name, name) for name in named) or metadata.get("License")
    first = (said or "none given").strip().splitlines()[0]
    parts = re.split(r" AND | OR ", re.sub(r"[()]", "", CALLED.get(first, first)))
    return {part.strip() for part in parts}


def refused(name, metadata):
    return licences(metadata) - ALLOWED - ALLOWED_FOR.get(name, set())


@pytest.mark.parametrize("name", sorted(INSTALLED))
def test_licence(name):
    unknown = refused(name, distribution(name).metadata)
    assert not unknown, (
        f"{name} is under {', '.join(sorted(unknown))}, which is not in the list of this test;"
        " see whether it may be passed on with a BSD library, and add it, or do without"
    )


def test_gpl_code_comes_with_the_extra_fast_alone():
    assert "cholespy" in INSTALLED
    without = [text for text in run_time() if not text.startswith("cholespy")]
    assert "cholespy" not in closure(without)[0]
    assert PROJECT["optional-dependencies"]["fast"] == ["cholespy>=2.1"]


def test_all_are_installed():
    if MISSING:
        pytest.skip(f"not installed, so not looked at: {', '.join(sorted(MISSING))}")
    assert {"numpy", "scipy", "cholespy", "torch", "pygeodesic"} <= INSTALLED


def stem(path):
    return re.split(r"[-.]", path.name)[0]


@pytest.mark.parametrize("name", sorted(INSTALLED))
def test_libraries_in_wheels(name):
    brought = {stem(path) for path in distribution(name).files or []}
    assert brought & COPYLEFT <= COMPILERS


@pytest.mark.parametrize("name", sorted(CARRIED))
def test_what_extensions_carry(name):
    pytest.importorskip(name)
    files = distribution(name).files
    code = [path.locate().read_bytes() for path in files if path.suffix in (".so", ".pyd")]
    marks = {what for what, mark in MARKS.items() if any(mark in content for content in code)}
    assert code and marks == CARRIED[name], (
        f"{name} carries {', '.join(sorted(marks))}; write it down here and in docs/reliability.md"
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"License-Expression": "GPL-3.0-or-later"}, {"GPL-3.0-or-later"}),
        ({"License-Expression": "MIT AND (AGPL-3.0-only OR ISC)"}, {"AGPL-3.0-only"}),
        ({"License-Expression": "GPL-2.0 WITH LLVM-exception"}, {"GPL-2.0 WITH LLVM-exception"}),
        ({"License": "GPL", "License-Expression": "MIT"}, set()),
        ({"License": "Do what you want\nwith it"}, {"Do what you want"}),
        ({"License": "MPL-2.0"}, {"MPL-2.0"}),
        ({"License": "MIT"}, set()),
        ({}, {"none given"}),
    ],
)
def test_unknown_and_copyleft_are_refused(fields, expected):
    from email.message import Message

    metadata = Message()
    for key, value in fields.items():
        metadata[key] = value
    assert refused("new", metadata) == expected


def test_classifiers_count_where_no_expression_is_given():
    from email.message import Message

    metadata = Message()
    metadata["License"] = "BSD"
    metadata["Classifier"] = "License :: OSI Approved :: BSD License"
    metadata["Classifier"] = "License :: OSI Approved :: GNU Affero General Public License v3"
    assert refused("new", metadata) == {"GNU Affero General Public License v3"}
