"""Which command wrote a file, and whether a file may be replaced.

Results that a command writes say so inside ("made by finsler heat"): in the record of .npz, .json
and .mtx files, in comments of meshes, in the metadata of pictures and pages. A file that the same
command wrote may be replaced by running it again; any other only when it is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from finsler.errors import InputError

# Bytes at either end of a file that are searched for the mark.
_SEARCHED = 2**16
_MARK = re.compile(rb"made[_ ]by\W{1,8}finsler ([a-z]+)")
_command: ContextVar[str | None] = ContextVar("command", default=None)


@contextmanager
def written_by(command: str | None) -> Iterator[None]:
    """Within the block, files that are written carry the name of this command."""
    token = _command.set(command)
    try:
        yield
    finally:
        _command.reset(token)


def running_command() -> str | None:
    """The command that files are written by, if any."""
    return _command.get()


def mark() -> str:
    """The text that marks a file, e.g. "made by finsler heat"; empty outside of a command."""
    command = running_command()
    return f"made by finsler {command}" if command else ""


def marked_markdown(text: str) -> str:
    """A Markdown text with the mark in a comment, which no reader sees."""
    return f"{text}\n<!-- {mark()} -->\n" if mark() else text


def require_outputs(
    targets: Iterable[str | os.PathLike[str]],
    inputs: Iterable[str | os.PathLike[str]] = (),
    *,
    overwrite: bool = False,
) -> None:
    """Raise where writing the targets would destroy what a user has.

    Raises
    ------
    InputError
        A target is one of the inputs, by any path or link; two targets are one file; or a target
        exists, the running command did not write it, and `overwrite` is not given.
    """
    sources = [path for path in map(Path, inputs) if path.exists()]
    seen: set[str] = set()
    for target in map(Path, targets):
        name = os.path.realpath(target)
        if name in seen:
            raise InputError(f"{target}: two results would be written to this file; rename one")
        seen.add(name)
        if not target.exists():
            continue
        for source in sources:
            if os.path.samefile(source, target):
                raise InputError(
                    f"{target}: this file is read by the same command; give the result another name"
                )
        if not overwrite and not _is_own(target):
            raise InputError(
                f"{target}: this file exists and was not written by this command; add --overwrite"
                " to replace it, or give another name"
            )


def _is_own(path: Path) -> bool:
    """Whether the running command wrote a file, as the file itself says."""
    command = running_command()
    if command is None or not path.is_file():
        return False
    from finsler.storage.npz import read_npz

    if path.suffix.lower() == ".npz":
        try:
            content = str(read_npz(path, ("config",))["config"]).encode(errors="replace")
        except InputError:
            return False
    else:
        with path.open("rb") as file:
            content = file.read(_SEARCHED)
            file.seek(max(0, path.stat().st_size - _SEARCHED))
            content += file.read(_SEARCHED)
    return any(maker[1].decode() == command for maker in _MARK.finditer(content))
