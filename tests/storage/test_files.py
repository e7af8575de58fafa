"""Which places commands take: paths on this machine, and those that last."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import finsler
from finsler.cli.main import app
from finsler.errors import InputError
from finsler.mesh import primitives
from finsler.storage.files import lasting_location, local_path, write_bytes


@pytest.mark.parametrize("text", ["s3://bucket/run", "memory://x", "file:///x", "gs://a:/b"])
def test_an_address_is_no_local_path(text):
    with pytest.raises(InputError) as told:
        local_path(text)
    assert "this must be a path on this machine" in str(told.value)
    # What a command gets has been a Path before.
    with pytest.raises(InputError) as again:
        local_path(Path(text))
    assert str(again.value) == str(told.value).replace(":///", "://")


@pytest.mark.parametrize("text", ["run", "/x/run", "a:b/run", "./s3://run", "C:/x", "x/s3:/run"])
def test_paths_are_local(text):
    assert local_path(text) == Path(text)


def test_memory_does_not_last(tmp_path):
    pytest.importorskip("upath")
    with pytest.raises(InputError, match="memory://x: what is written there ends with this proce"):
        lasting_location("memory://x")
    assert lasting_location(tmp_path) == tmp_path
    assert lasting_location(f"file://{tmp_path}") == tmp_path
    # A library may still use it.
    assert write_bytes("memory://kept/x", b"1").read_bytes() == b"1"


COMMANDS = {
    "operator": ".npz",
    "spectrum": ".npz",
    "heat": ".ply",
    "distance": ".npz",
    "kernel": ".npz",
    "describe": ".npz",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_write_files_here_alone(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    # Even where a folder of that name is there.
    (tmp_path / "s3:" / "bucket").mkdir(parents=True)
    finsler.write_mesh("shape.off", primitives.bumpy_sphere(2))
    out = f"s3://bucket/x{COMMANDS[command]}"
    result = CliRunner().invoke(app, [command, "shape.off", "-o", out])
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == f"{out}: this must be a path on this machine, not an address"
    assert list((tmp_path / "s3:" / "bucket").iterdir()) == []
