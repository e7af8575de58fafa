"""Read by the process that commands are forked from, which runs each of them once before."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

import disturbed


def run_all() -> None:
    """Each command on small shapes, in this process: what is compiled or loaded stays."""
    from finsler.cli.main import main

    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        os.chdir(folder)
        disturbed.write_shapes(Path(folder))
        for words in disturbed.COMMANDS.values():
            sys.argv = ["finsler", *words]
            with (
                contextlib.redirect_stdout(nowhere),
                contextlib.suppress(SystemExit),
            ):
                main()
    os.chdir(before)


if os.environ.get(disturbed.WARM) == "1":
    run_all()
