"""Is anything lost when commands are killed, disks are full, or files are damaged?

Each try disturbs a command on small shapes once and runs it again. Then all files are those of an
undisturbed run ("equal"), or the command says what is missing or a reader finds the damage
("reported"), or something is lost.
Of the tries that kill, those count that found the process alive. Needs Linux.

    python benchmarks/faults.py [--kills 50] [--seed 0] [--only killed]
"""

from __future__ import annotations

import argparse
import functools
import os
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from common import print_table, save
from finsler.errors import InputError

sys.path.append(str(Path(__file__).parents[1] / "tests" / "faults"))
disturbed: Any = import_module("disturbed")
compared: Any = import_module("compared")

MOMENTS = ("half", "before", "after")
Generator = np.random.Generator
# Disturbs a command in a folder; whether that came to pass.
Disturbance = Callable[[Path, Generator], bool]


def killed_at_any_moment(name: str, calm: Any) -> Disturbance:
    """Killed after a share of the time that it takes."""

    @functools.cache
    def seconds() -> float:
        with tempfile.TemporaryDirectory() as place:
            folder = calm.prepared(name, Path(place))
            begun = time.monotonic()
            disturbed.finish(folder, *disturbed.COMMANDS[name])
            return time.monotonic() - begun

    def disturb(folder: Path, random: Generator) -> bool:
        share = random.uniform(0.05, 1.0)
        wait = share * seconds()
        return bool(disturbed.start(folder, *disturbed.COMMANDS[name]).kill_after(wait))

    return disturb


def killed_while_writing(name: str) -> Disturbance:
    def disturb(folder: Path, random: Generator) -> bool:
        most = 20 if name in ("train", "reproduce") else 4
        fault = disturbed.Fault(
            write=int(random.integers(1, most + 1)), moment=random.choice(MOMENTS)
        )
        code, _ = disturbed.finish(folder, *disturbed.COMMANDS[name], fault=fault)
        return bool(code == -signal.SIGKILL)

    return disturb


def worker_killed(name: str) -> Disturbance:
    """One of the two processes that compute for the command is killed."""
    psutil = import_module("psutil")

    def disturb(folder: Path, random: Generator) -> bool:
        child = disturbed.start(folder, *disturbed.COMMANDS[name][:-1], "2")
        parent = psutil.Process(child.process.pid)

        def workers() -> list[Any]:
            found = parent.children() if child.process.is_alive() else []
            return [p for p in found if "spawn_main" in " ".join(p.cmdline())]

        disturbed.wait_for(lambda: len(workers()) == 2 or not child.process.is_alive())
        child.process.join(random.uniform(0.0, 4.0))
        found = workers()
        for worker in found[:1]:
            worker.kill()
        return child.ended() == 0 and bool(found)

    return disturb


def full_disk(name: str) -> Disturbance:
    """The disk is full in the middle; what the same command leaves with enough space is kept."""

    def disturb(folder: Path, random: Generator) -> bool:
        disk = disturbed.OUT[name]
        fault = disturbed.Fault(disk=disk, free=(int(random.integers(0, 64)),))
        _, told = disturbed.finish(folder, *disturbed.COMMANDS[name], fault=fault)
        os.rename(folder / disk, folder / "mounted")
        os.rename(folder / f"{disk}.0", folder / disk)
        return "codes [0" not in told

    return disturb


def two_at_once(name: str) -> Disturbance:
    def disturb(folder: Path, random: Generator) -> bool:
        children = [disturbed.start(folder, *disturbed.COMMANDS[name]) for _ in range(2)]
        return [child.ended() for child in children] == [0, 0]

    return disturb


def clock_backwards(name: str) -> Disturbance:
    def disturb(folder: Path, random: Generator) -> bool:
        fault = disturbed.Fault(write=int(random.integers(1, 4)), moment="after", backwards=True)
        code, _ = disturbed.finish(folder, *disturbed.COMMANDS[name], fault=fault)
        return bool(code == -signal.SIGKILL)

    return disturb


def damaged(name: str, *, cut: bool) -> Disturbance:
    """A finished result, of which one file is cut or has one bit changed."""

    def disturb(folder: Path, random: Generator) -> bool:
        disturbed.finish(folder, *disturbed.COMMANDS[name])
        files = [p for p in (folder / disturbed.OUT[name]).rglob("*.*") if p.suffix in ENDINGS]
        path = files[random.integers(len(files))]
        content = bytearray(path.read_bytes())
        place = int(random.integers(len(content)))
        if cut:
            del content[place:]
        else:
            content[place] ^= 1 << int(random.integers(8))
        path.write_bytes(content)
        return True

    return disturb


# Files that later runs read.
ENDINGS = (".npz", ".safetensors")


def tally(title: str, name: str, calm: Any, disturb: Disturbance, tries: int, seed: int) -> Any:
    """Disturb a command many times, and count what became of it."""
    random = np.random.default_rng([seed, *title.encode()])
    counts: dict[str, Any] = {"fault": title, "tries": 0, "equal": 0, "reported": 0, "lost": 0}
    for _ in range(tries):
        with tempfile.TemporaryDirectory() as place:
            folder = calm.prepared(name, Path(place))
            if not disturb(folder, random):
                continue
            counts["tries"] += 1
            counts[outcome(name, calm, folder)] += 1
    print(counts, flush=True)
    return counts


def outcome(name: str, calm: Any, folder: Path) -> str:
    """Run a command again, and see what is there."""
    code, _ = disturbed.finish(folder, *disturbed.COMMANDS[name])
    if code:
        return "reported"
    try:
        return "lost" if calm.differences(name, folder) else "equal"
    # Whoever reads the file is told.
    except (InputError, zipfile.BadZipFile):
        return "reported"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="faults whose name holds this")
    options = parser.parse_args()
    calm = compared.undisturbed()
    faults: list[tuple[str, str, Disturbance, int]] = []
    for name in disturbed.COMMANDS:
        moment, write = killed_at_any_moment(name, calm), killed_while_writing(name)
        faults.append((f"{name} killed at any moment", name, moment, options.kills))
        faults.append((f"{name} killed while it writes", name, write, options.kills))
        if disturbed.mount_allowed():
            faults.append((f"{name} on a full disk", name, full_disk(name), options.kills // 2))
    for name in ("prepare", "pairs"):
        worker = worker_killed(name)
        faults.append((f"{name}, worker killed", name, worker, options.kills // 4))
    for name in ("prepare", "pairs", "describe"):
        faults.append((f"{name} twice at once", name, two_at_once(name), options.kills // 2))
    for name in ("prepare", "train", "pairs", "describe"):
        backwards = clock_backwards(name)
        faults.append((f"{name}, clock backwards", name, backwards, options.kills // 2))
        for cut in (True, False):
            what = "a file cut" if cut else "a bit changed"
            change = damaged(name, cut=cut)
            faults.append((f"{name}, {what}", name, change, options.kills))
    rows = [
        tally(title, name, calm, disturb, tries, options.seed)
        for title, name, disturb, tries in faults
        if options.only in title
    ]
    print_table("after a fault", list(rows[0]), [list(row.values()) for row in rows])
    save("faults", {"kills": options.kills, "seed": options.seed, "counts": rows})


if __name__ == "__main__":
    main()
