"""Commands in processes of their own, and what may happen to them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

WARM = "FINSLER_FAULTS_WARM"
# One thread, and no GNU OpenMP for numba, which ends a process that was forked after its use.
_WARMED = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "NUMBA_THREADING_LAYER": "workqueue",
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
}
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
OUT = {name: name for name in COMMANDS} | {"prepare": "store", "train": "run"}


def write_shapes(folder: Path) -> None:
    """A collection of four small shapes, `shapes`, and three of their meshes, `meshes`."""
    from finsler import primitives, write_mesh
    from finsler.data import Collection, Shape
    from finsler.data.sets.folder import write_collection

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
    largest : int
        Bytes that a file may have, if not 0.
    disk : str
        A folder that is a small disk of its own; the command is tried with each of `free` KiB, and
        then with enough. What it held is copied to `DISK.0`, `DISK.1`, ...
    free : tuple of int
    """

    write: int = 0
    moment: str = "before"
    backwards: bool = False
    read_only: tuple[str, ...] = ()
    largest: int = 0
    disk: str = ""
    free: tuple[int, ...] = ()


@dataclass
class Child:
    """A `finsler` command in a process of its own."""

    process: Any
    said: Path

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
        """What it said on stderr; nothing where it was killed before it could."""
        return self.said.read_text(encoding="utf-8") if self.said.exists() else ""


def start(folder: Path, *words: str | Path, fault: Fault | None = None) -> Child:
    """Begin a command in a folder, by a fork of a process that has read the modules before."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["warmed"])
    said = folder / f".said-{time.monotonic_ns()}"
    arguments = (str(folder), [str(word) for word in words], str(said), fault or Fault())
    process = context.Process(target=_command, args=arguments)
    # For the process that is forked from alone: here numba may have started its threads.
    with mock.patch.dict(os.environ, {WARM: "", **os.environ, **_WARMED}):
        process.start()
    return Child(process, said)


def finish(folder: Path, *words: str | Path, fault: Fault | None = None) -> tuple[int, str]:
    """Run a command to its end: the exit code, and what it said on stderr."""
    child = start(folder, *words, fault=fault)
    return child.ended(), child.told()


def _command(folder: str, words: list[str], said: str, fault: Fault) -> None:

    os.setpgid(0, 0)
    # Jobs in the background of a shell begin with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ["COLUMNS"] = "200"
    with open(said, "wb") as file:
        os.dup2(file.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    sys.argv = ["finsler", *words]
    if fault.write:
        _die_at(fault.write, fault.moment)
    if fault.backwards:
        _run_backwards()
    if fault.largest:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.largest, fault.largest))
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
    maps = {"setgroups": "deny", "uid_map": f"0 {os.getuid()} 1", "gid_map": f"0 {os.getgid()} 1"}

    def call(failed: int) -> None:
        if failed:
            raise OSError(ctypes.get_errno(), f"mount: {os.strerror(ctypes.get_errno())}", folder)

    call(libc.unshare(_NEW_MOUNTS | user))
    # In a namespace of its own a user owns nothing until it says who it is.
    for name in maps if user else ():
        Path(f"/proc/self/{name}").write_text(maps[name])
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


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.005)
