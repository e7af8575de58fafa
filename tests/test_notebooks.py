"""The notebooks of the docs run from top to bottom, and are kept without their outputs."""

import ast
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_is_a_notebook():
    assert NOTEBOOKS


def code_cells(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def last_value(source, names):
    """Run a cell as a notebook does; the value of its last line where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_pictures(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": path.stem}
    shown = [last_value("".join(cell["source"]), names) for cell in code_cells(path)]
    assert all("\n" not in repr(value) for value in shown)
    assert sum(hasattr(value, "_repr_html_") for value in shown) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    for cell in code_cells(path):
        assert not cell["outputs"] and cell["execution_count"] is None
