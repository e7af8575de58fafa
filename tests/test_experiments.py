"""The experiments of the documentation run, and what they assert holds."""

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent.parent / "docs" / "experiments").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_experiment(script, monkeypatch, capsys):
    drawn = []
    monkeypatch.setattr("finsler.view.save_figure", lambda path, *_, **__: drawn.append(path))
    runpy.run_path(str(script), run_name="__main__")
    assert len(drawn) == 1 and drawn[0].exists()
    assert len(capsys.readouterr().out) > 200
