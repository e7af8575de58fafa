"""The page of commands: what `--help` says, asked when the site is built."""

import re

from mkdocs.structure.files import File
from typer.testing import CliRunner

from finsler.cli.main import COMMANDS, app, load_command

INTRODUCTION = """# Command line

All commands with their options, as `--help` prints them. The exit code is 0, or 2 with one sentence
on bad input; commands on many shapes end with 1 if some failed. `--json`, where there is one,
prints the answer for other programs. A command replaces files that it did not write only with
`--overwrite`.
"""
COLORS = re.compile(r"\x1b\[[0-9;]*m")


def on_files(files, config):
    """Add the page."""
    sections = [f"## {' '.join(path)}\n\n```text\n{_help(path)}\n```\n" for path in _paths()]
    content = "\n".join([INTRODUCTION, *sections])
    files.append(File.generated(config, "commands.md", content=content))
    return files


def _paths():
    """All commands as tuples of words, a group before its members."""
    paths = [("finsler",)]
    for name in COMMANDS:
        paths.append(("finsler", name))
        members = getattr(load_command(name), "commands", {})
        paths += [("finsler", name, member) for member in members]
    return paths


def _help(path):
    environment = {"COLUMNS": "86", "NO_COLOR": "1", "TERM": "dumb"}
    answer = CliRunner().invoke(
        app, [*path[1:], "--help"], env=environment, prog_name="finsler", catch_exceptions=False
    )
    lines = COLORS.sub("", answer.output).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")
