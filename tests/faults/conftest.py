"""One undisturbed run of every command, which the disturbed ones are compared with."""

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from disturbed import COMMANDS, OUT, contents, differences, finish, write_shapes

# What a command reads that another one wrote.
READS = {"train": ("store",), "evaluate": ("run",)}


@dataclass
class Calm:
    """What each command wrote, and how long it took."""

    folder: Path
    contents: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def prepared(self, name: str, folder: Path) -> Path:
        """A folder in which a command can be run."""
        for part in ("shapes", "meshes", *READS.get(name, ())):
            shutil.copytree(self.folder / part, folder / part)
        for part in {"match", "evaluate"} & {name}:
            (folder / part).mkdir()
        return folder

    def differences(self, name: str, folder: Path) -> list[str]:
        """The files of a command that are not as it wrote them undisturbed."""
        return differences(contents(folder / OUT[name]), self.contents[name])


@pytest.fixture(scope="session")
def calm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calm")
    write_shapes(folder)
    found = Calm(folder)
    finish(folder, "--version")
    for name, words in COMMANDS.items():
        begun = time.monotonic()
        code, told = finish(folder, *words)
        assert code == 0, told
        found.seconds[name] = time.monotonic() - begun
        found.contents[name] = contents(folder / OUT[name])
    return found
