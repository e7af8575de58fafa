"""The version comes from tags, and a clone without tags has one too."""

import runpy
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

import finsler

SETUP = Path(__file__).parent.parent / "setup.py"


def test_a_clone_without_tags_is_on_the_way_to_the_next_version(monkeypatch):
    setuptools = pytest.importorskip("setuptools")
    given = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: given.update(options))
    names = runpy.run_path(str(SETUP))
    options = given["use_scm_version"]
    assert options["version_scheme"](SimpleNamespace(tag="0.0", distance=7)) == (
        f"{names['NEXT']}.dev7"
    )
    assert options["fallback_version"] == f"{names['NEXT']}.dev0"


def test_citation_and_changelog_name_the_next_version(monkeypatch):
    setuptools = pytest.importorskip("setuptools")
    monkeypatch.setattr(setuptools, "setup", lambda **options: None)
    following = runpy.run_path(str(SETUP))["NEXT"]
    assert f"version: {following}\n" in (SETUP.parent / "CITATION.cff").read_text()
    assert f"## [{following}]" in (SETUP.parent / "CHANGELOG.md").read_text()


def test_a_source_tree_that_was_never_installed_says_so(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    assert finsler.__version__ == finsler.__getattr__("__version__")
    monkeypatch.setattr("importlib.metadata.version", missing)
    assert finsler.__getattr__("__version__") == "0+unknown"
    monkeypatch.undo()
    assert finsler.__getattr__("__version__") != "0+unknown"
