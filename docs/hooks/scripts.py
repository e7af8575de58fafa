"""Runs a script of the gallery and keeps what it printed and drew.

A script is run once per process: the tests and the build of the site share the result.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import runpy
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

GALLERY = Path(__file__).parents[1] / "gallery"
NAMES = tuple(sorted(script.stem for script in GALLERY.glob("*.py")))


@dataclass(frozen=True)
class Outcome:
    """A script in pieces, what it printed and the picture it drew.

    Attributes
    ----------
    title, text, code : str
        First line and rest of its docstring, and what follows.
    output : str
    picture : bytes
        The PNG of its name.
    """

    title: str
    text: str
    code: str
    output: str
    picture: bytes


@functools.cache
def run(name: str) -> Outcome:
    """Run `docs/gallery/NAME.py` in an empty folder; its assertions and warnings are errors."""
    source = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
    _, docstring, code = source.split('"""', 2)
    title, text = docstring.split("\n\n", 1)
    printed = io.StringIO()
    with TemporaryDirectory() as folder, _inside(folder), warnings.catch_warnings():
        warnings.simplefilter("error")
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(GALLERY / f"{name}.py"), run_name="__main__")
        picture = Path(folder, f"{name}.png").read_bytes()
    return Outcome(title.rstrip("."), text.strip(), code.strip(), printed.getvalue(), picture)


@contextlib.contextmanager
def _inside(folder: str):
    """Work in a folder for a while."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
