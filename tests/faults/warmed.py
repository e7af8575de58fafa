"""Read by the process that commands are forked from, which runs each of them once before."""

import os
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from disturbed import COMMANDS, WARM, write_shapes


def run_all(folder: str) -> None:
    """Each command on small shapes, in this process: what is compiled or loaded stays."""
    from finsler.cli.main import main

    before = os.getcwd()
    os.chdir(folder)
    write_shapes(Path(folder))
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for words in COMMANDS.values():
            sys.argv = ["finsler", *words]
            with suppress(SystemExit):
                main()
    os.chdir(before)


if os.environ.get(WARM):
    run_all(os.environ[WARM])
