"""The scripts of the gallery: each runs, holds what it asserts, and draws its picture."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "hooks"))
from scripts import GALLERY, NAMES, run  # noqa: E402


@pytest.mark.parametrize("name", NAMES)
def test_script(name):
    found = run(name)
    assert found.picture.startswith(b"\x89PNG") and len(found.picture) > 10_000
    assert any(character.isdigit() for character in found.output)


@pytest.mark.parametrize("name", NAMES)
def test_script_is_short_and_asserts(name):
    source = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 80
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))


def test_there_are_enough():
    assert len(NAMES) >= 12


def test_a_failing_script_fails_here_and_in_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr("scripts.GALLERY", tmp_path)
    for name, line in {"wrong": "assert 1 == 2", "silent": "x = 1"}.items():
        (tmp_path / f"{name}.py").write_text(f'"""T.\n\nText.\n"""\n\n{line}\n', encoding="utf-8")
    with pytest.raises(AssertionError):
        run("wrong")
    with pytest.raises(FileNotFoundError, match=r"silent\.png"):
        run("silent")
