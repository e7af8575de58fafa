"""What all tests share: threads, examples of property tests, and how a command is run."""

import os
import sys
from importlib.util import find_spec

import pytest

# Processes that share the cores get one thread each: more would spin while they wait for a core
# that another one has. Set before anything reads it, and handed on to the commands that are run.
# The first parallel loop of numba gives its number of threads to torch as well.
if "PYTEST_XDIST_WORKER" in os.environ:
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

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
