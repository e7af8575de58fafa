"""The README's Python runs as it stands."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[-1][:40])
def test_code_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(block, namespace)
    if "save_figure" in block:
        assert (tmp_path / "heat.png").stat().st_size > 10_000
    elif "W" in namespace:
        assert namespace["W"].shape == (len(namespace["S"]),) * 2
    elif "directed" in namespace:
        assert len(namespace["operators"]) == 8 and namespace["stack"].drift[4:].any()
    else:
        assert abs(namespace["there"] - namespace["back"]).max() > 0.5
        assert namespace["path"].length > 0 and namespace["step"].iterations > 0


def test_there_is_a_picture_and_two_commands():
    assert (Path(__file__).parent.parent / "docs/images/operators.png").exists()
    assert "make demo" in README and "make test" in README
    picture = next(block for block in BLOCKS if "save_figure" in block)
    assert len([line for line in picture.splitlines() if line]) <= 10
