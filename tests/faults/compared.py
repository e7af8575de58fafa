"""What commands leave in their folders, compared with an undisturbed run."""

from __future__ import annotations

import atexit
import csv
import functools
import hashlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from disturbed import COMMANDS, OUT, WARM, finish

# What a command reads that another one wrote.
_READS = {"train": ("store",), "evaluate": ("run",)}
# What differs between two undisturbed runs, or says how a result came about.
_TIMES = re.compile(rb'(?<="seconds": )[0-9.e-]+|(?<="seconds_per_epoch": )[0-9.e-]+')
_COST = re.compile(rb"\| [0-9.]+ \| - \| cpu \|")
_HOW = ("seconds", "outcome", "attempts")


def contents(folder: Path) -> dict[str, Any]:
    """What the files of a folder hold, apart from times, by path; temporary files are left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not path.name.startswith("."):
            found.update(_content(name, path))
    return found


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """The paths whose contents are not the same, or that only one has."""
    names = sorted(first.keys() | second.keys())
    return [name for name in names if first.get(name) != second.get(name)]


def leftovers(folder: Path) -> list[str]:
    """Temporary files that dead processes left."""
    return sorted(path.name for path in folder.rglob(".*.tmp"))


def _content(name: str, path: Path) -> dict[str, Any]:
    if path.suffix == ".html":
        # Pages tell when and how fast: that they are whole must do.
        return {name: path.read_bytes().rstrip().endswith(b"</html>")}
    if path.parent.name == "tensorboard":
        return _curves(str(path.parent), name.rpartition("/")[0])
    return {name: _READERS.get(path.suffix, _plain)(path)}


def _plain(path: Path) -> str:
    return hashlib.sha256(_COST.sub(b"", _TIMES.sub(b"0", path.read_bytes()))).hexdigest()


def _network(path: Path) -> Any:
    from finsler.nn.training import Checkpoint

    found = Checkpoint.read(path)
    history = [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in found.about.history]
    return history, {name: tensor.numpy().tobytes() for name, tensor in found.tensors.items()}


def _table(path: Path) -> Any:
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    return [{k: v for k, v in row.items() if k not in _HOW} for row in rows]


def _arrays(path: Path) -> Any:
    with np.load(path) as data:
        found = {name: (data[name].shape, data[name].tobytes()) for name in data.files}
        text = str(data["config"]).encode()
    return {**found, "config": json.loads(_TIMES.sub(b"0", text))}


def _curves(folder: str, name: str) -> dict[str, Any]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(folder).Reload()
    tags = [tag for tag in found.Tags()["scalars"] if tag != "seconds"]
    return {f"{name}/{tag}": [(e.step, e.value) for e in found.Scalars(tag)] for tag in tags}


@dataclass
class Calm:
    """What each command wrote undisturbed."""

    folder: Path
    contents: dict[str, Any] = field(default_factory=dict)

    def prepared(self, name: str, folder: Path) -> Path:
        """A folder in which a command can be run."""
        for part in ("shapes", "meshes", *_READS.get(name, ())):
            shutil.copytree(self.folder / part, folder / part)
        if name in ("match", "evaluate"):
            (folder / name).mkdir(parents=True)
        return folder

    def differences(self, name: str, folder: Path) -> list[str]:
        """The files of a command that are not as it wrote them undisturbed."""
        return differences(contents(folder / OUT[name]), self.contents[name])


@functools.cache
def undisturbed() -> Calm:
    """Have every command run once, in the process that others are forked from later."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[WARM] = str(folder)
    finish(folder, "--version")
    return Calm(folder, {name: contents(folder / OUT[name]) for name in COMMANDS})


_READERS: dict[str, Callable[[Path], Any]] = {
    ".safetensors": _network,
    ".csv": _table,
    ".npz": _arrays,
}
