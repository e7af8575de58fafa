"""What tests of commands share."""

import sys

import pytest

from finsler.cli.main import main


@pytest.fixture
def finsler_command(monkeypatch, capsys):
    """Run the command; its exit code, and what it says on both channels."""

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
