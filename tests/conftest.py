"""What all tests share: property tests run the same examples everywhere; how a command is run."""

import sys
from importlib.util import find_spec

import pytest

# Accelerator machines run the tests of `nn` without hypothesis.
if find_spec("hypothesis"):
    from hypothesis import settings

    settings.register_profile("steady", deadline=None, derandomize=True)
    settings.load_profile("steady")


@pytest.fixture
def finsler_command(monkeypatch, capsys):
    """Run the command; its exit code, and what it says on both channels."""
    from finsler.cli.main import main

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["finsler", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = stopped.code or 0
        told = capsys.readouterr()
        return code, told.out, told.err

    return run
