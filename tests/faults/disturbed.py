"""Commands in processes that are killed, and what their folders hold afterwards."""

from __future__ import annotations

import csv
import ctypes
import hashlib
import io
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

WARM = "FINSLER_FAULTS_WARM"
# One thread, and no GNU OpenMP for numba, which ends a process that was forked after its use.
_WARMED = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "NUMBA_THREADING_LAYER": "workqueue",
    "PYTHONPATH": str(Path(__file__).parent),
    WARM: "1",
}
# What differs between two undisturbed runs, or says how a result came about.
_TIMES = re.compile(rb'(?<="seconds": )[0-9.e-]+|(?<="seconds_per_epoch": )[0-9.e-]+')
_COST = re.compile(rb"\| [0-9.]+ \| - \| cpu \|")
_HOW = ("seconds", "outcome", "attempts")
PREPARE = ("--angles", "2", "--descriptor", "xyz", "--smoothing", "2", "--jobs", "1")
SMALL = {"model": "small", "channels": "4", "layers": "2", "order": "3", "hidden": "8"}
EPOCHS = 6
# KiB of a small disk.
_DISK = 4096
_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000
_READ_ONLY, _REMOUNT, _BIND, _PRIVATE = 1, 32, 4096, 0x4000 | 1 << 18
_MESHES = ("meshes/a.off", "meshes/b.off")
_HKS = ("--descriptor", "hks", "-k", "20")
_EVALUATE = (
    *("--collection", "shapes", "--cache", "evaluate/cache", "--out", "evaluate/all.json"),
    *("--table", "evaluate/all.md", "--figure", "evaluate/all.png"),
    *("--report", "evaluate/all.html"),
)


def settings(**values: object) -> tuple[str, ...]:
    """Options of `finsler train` for a network of a few weights."""
    chosen = {**SMALL, "epochs": EPOCHS, **values}
    return tuple(word for key, value in chosen.items() for word in ("--set", f"{key}={value}"))


_TABLE = (
    *("--methods", "lbo", "--seeds", "1", "--device", "cpu"),
    *settings(epochs=2, descriptor="xyz", smoothing=2),
)
# Each writes under its own name alone; those after `prepare` and `train` read what these wrote.
COMMANDS: dict[str, tuple[str, ...]] = {
    "prepare": ("prepare", "shapes", "-o", "store", *PREPARE),
    "train": ("train", "store", "-o", "run", "--device", "cpu", *settings()),
    "match": ("match", *_MESHES, "-o", "match/map.npz", "-k", "20", "--report", "match/map.html"),
    "pairs": ("match", "meshes", "--pairs", "all", "-o", "pairs", "-k", "20", "--jobs", "1"),
    "describe": ("describe", "meshes", "-o", "describe", *_HKS, "--jobs", "1"),
    "evaluate": ("evaluate", "run/predictions.npz", *_EVALUATE, "--jobs", "1"),
    "reproduce": ("reproduce", "custom", "shapes", "-o", "reproduce", *_TABLE, "--jobs", "1"),
}
OUT = {
    name: "store" if name == "prepare" else "run" if name == "train" else name for name in COMMANDS
}


def write_shapes(folder: Path) -> None:
    """A collection of four small shapes, `shapes`, and three of their meshes, `meshes`."""
    from finsler import primitives, write_mesh
    from finsler.data import Collection, Shape
    from finsler.data.stored import write_collection

    def load(name: str) -> Shape:
        mesh = primitives.bumpy_sphere(3, amplitude=0.1 + 0.03 * "abcd".index(name))
        labels = np.arange(mesh.n_vertices)
        return Shape(name, mesh, labels, labels % 3 > 0)

    shapes = Collection("bumps", ("a", "b"), ("c", "d"), "a", load)
    write_collection(folder / "shapes", shapes)
    for name in ("meshes", "match", "evaluate"):
        (folder / name).mkdir()
    for name in "abc":
        write_mesh(folder / "meshes" / f"{name}.off", load(name).mesh)


@dataclass(frozen=True)
class Fault:
    """What happens to a command from within.

    Attributes
    ----------
    write : int
        The number of the write that is its last, from 1; 0 for none.
    moment : {"half", "before", "after"}
        Killed when half is written, before the file gets its name, or after.
    backwards : bool
        The clock runs backwards.
    read_only : tuple of str
        Folders that cannot be written.
    without_dask : bool
        Dask is not installed.
    disk : str
        A folder that is a small disk of its own; the command is tried with each of `free` KiB, and
        then with enough. What it held is copied to `DISK.0`, `DISK.1`, ...
    free : tuple of int
    """

    write: int = 0
    moment: str = "before"
    backwards: bool = False
    read_only: tuple[str, ...] = ()
    without_dask: bool = False
    disk: str = ""
    free: tuple[int, ...] = ()


@dataclass
class Child:
    """A `finsler` command in a process of its own."""

    process: Any
    said: Path
    begun: float = field(default_factory=time.monotonic)

    def kill_after(self, seconds: float) -> bool:
        """Send SIGKILL after a while; whether it was still running."""
        self.process.join(seconds)
        self.process.kill()
        return self.ended() == -signal.SIGKILL

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        self.process.join(120)
        assert self.process.exitcode is not None, "the command does not end"
        return int(self.process.exitcode)

    def told(self) -> str:
        """What it said on stderr."""
        return self.said.read_text(encoding="utf-8")


def start(folder: Path, *words: str | Path, fault: Fault | None = None) -> Child:
    """Begin a command in a folder, by a fork of a process that has read the modules before."""
    os.environ.update(_WARMED)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["warmed"])
    said = folder / f".said-{time.monotonic_ns()}"
    arguments = (str(folder), [str(word) for word in words], str(said), fault or Fault())
    process = context.Process(target=_command, args=arguments)
    process.start()
    return Child(process, said)


def finish(folder: Path, *words: str | Path, fault: Fault | None = None) -> tuple[int, str]:
    """Run a command to its end: the exit code, and what it said on stderr."""
    child = start(folder, *words, fault=fault)
    return child.ended(), child.told()


def _command(folder: str, words: list[str], said: str, fault: Fault) -> None:
    from finsler.cluster import engines

    os.setpgid(0, 0)
    os.chdir(folder)
    os.environ["COLUMNS"] = "200"
    with open(said, "wb") as file:
        os.dup2(file.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))
    sys.argv = ["finsler", *words]
    if fault.write:
        _die_at(fault.write, fault.moment)
    if fault.backwards:
        _run_backwards()
    if fault.without_dask:
        engines.find_spec = lambda name, package=None: None
    for name in fault.read_only:
        mount("none", name, "bind")
    if fault.disk:
        sys.exit(_on_small_disk(fault.disk, fault.free))
    sys.exit(_code())


def _code() -> int:
    """Run the command; its exit code."""
    from finsler.cli.main import main

    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.stderr.flush()
    return 0


def _on_small_disk(folder: str, free: tuple[int, ...]) -> int:
    """Whether the command failed as long as the disk was full, and did not when it was not."""
    Path(folder).mkdir(exist_ok=True)
    mount("tmpfs", folder, f"size={_DISK}k")
    codes = []
    for number, kibibytes in enumerate((*free, None)):
        ballast = Path(folder) / ".ballast"
        ballast.unlink(missing_ok=True)
        used = sum(f.stat().st_blocks // 2 for f in Path(folder).rglob("*") if f.is_file())
        if kibibytes is not None:
            ballast.write_bytes(bytes(1024 * max(0, _DISK - used - kibibytes)))
        codes.append(_code())
        ballast.unlink(missing_ok=True)
        shutil.copytree(folder, f"{folder}.{number}")
    print(f"codes {codes}", file=sys.stderr)
    return 0


def mount_allowed() -> bool:
    """Whether this user may mount something, be it in a namespace of its own."""
    command = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "mount", "-t", "tmpfs"]
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*command, "none", "/mnt"], capture_output=True).returncode == 0


def mount(kind: str, folder: str, options: str) -> None:
    """Mount a tmpfs, or the folder itself for reading alone, for this process and no other.

    Raises
    ------
    OSError
        The kernel forbids it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user = 0 if os.geteuid() == 0 else _NEW_USER

    def call(failed: int) -> None:
        if failed:
            raise OSError(ctypes.get_errno(), f"mount: {os.strerror(ctypes.get_errno())}", folder)

    call(libc.unshare(_NEW_MOUNTS | user))
    call(libc.mount(b"none", b"/", None, _PRIVATE, None))
    target = os.fsencode(folder)
    if options == "bind":
        call(libc.mount(target, target, None, _BIND, None))
        call(libc.mount(target, target, None, _BIND | _REMOUNT | _READ_ONLY, None))
    else:
        call(libc.mount(b"none", target, kind.encode(), 0, options.encode()))


def _die_at(last: int, moment: str) -> None:
    """Have this process killed at one of its writes."""
    count = 0
    replace, write = os.replace, Path.write_bytes

    def dying_replace(source: Any, target: Any) -> None:
        if count == last and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if count == last and moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    def dying_write(path: Path, content: bytes) -> int:
        nonlocal count
        count += 1
        if count == last and moment == "half":
            write(path, content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(path, content)

    os.replace = dying_replace  # type: ignore[assignment]
    Path.write_bytes = dying_write  # type: ignore[assignment,method-assign]


def _run_backwards() -> None:
    """Let the time of day run backwards, an hour at each look."""
    now = time.time()

    def earlier() -> float:
        nonlocal now
        now -= 3600.0
        return now

    time.time = earlier
    time.time_ns = lambda: int(1e9 * earlier())


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


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.005)


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


_READERS: dict[str, Callable[[Path], Any]] = {
    ".safetensors": _network,
    ".csv": _table,
    ".npz": _arrays,
}
