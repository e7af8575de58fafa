"""Is anything lost when commands are killed, disks are full, or files are damaged?

Each try disturbs a command on small shapes once and runs it again. Then all files are those of an
undisturbed run ("equal"), or the command says in one sentence what is missing or damaged
("reported"), or something is lost: files that differ or cannot be read, a traceback, a failure that
says nothing. Of the tries that kill, those count that found the process alive; where none did,
other moments are tried. Needs Linux.

    python benchmarks/faults.py [--kills 50] [--seed 0] [--only killed]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from common import print_table, save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "faults"))
disturbed: Any = import_module("disturbed")
compared: Any = import_module("compared")

MOMENTS = ("half", "before", "after")
# Attempts beyond those asked for, as long as none found what it should disturb.
MORE = 20
Generator = np.random.Generator
# Exit code and stderr of a command.
End = tuple[int, str]
# Disturbs a command in a folder: how those ended that were not killed themselves, or None where the
# command was over before.
Disturbance = Callable[[Path, Generator], list[End] | None]


def after_kill(code: int, told: str) -> list[End] | None:
    """How a command ended that should have been killed."""
    if code == 0:
        return None
    return [] if code == -signal.SIGKILL else [(code, told)]


def killed_at_any_moment(name: str, calm: Any) -> Disturbance:
    """Killed after a share of the time that it takes, which is that of the quickest run seen."""

    @functools.cache
    def seconds() -> list[float]:
        with tempfile.TemporaryDirectory() as place:
            folder = calm.prepared(name, Path(place))
            begun = time.monotonic()
            disturbed.finish(folder, *disturbed.COMMANDS[name])
            return [time.monotonic() - begun]

    def disturb(folder: Path, random: Generator) -> list[End] | None:
        wait = random.uniform(0.05, 1.0) * min(seconds())
        child = disturbed.start(folder, *disturbed.COMMANDS[name])
        if not child.kill_after(wait):
            seconds().append(wait)
        return after_kill(child.ended(), child.told())

    return disturb


def killed_while_writing(name: str) -> Disturbance:
    def disturb(folder: Path, random: Generator) -> list[End] | None:
        most = 20 if name in ("train", "reproduce") else 4
        fault = disturbed.Fault(
            write=int(random.integers(1, most + 1)), moment=random.choice(MOMENTS)
        )
        return after_kill(*disturbed.finish(folder, *disturbed.COMMANDS[name], fault=fault))

    return disturb


def worker_killed(name: str) -> Disturbance:
    """One of the two processes that compute for the command is killed."""
    psutil = import_module("psutil")
    latest = [4.0]

    def disturb(folder: Path, random: Generator) -> list[End] | None:
        child = disturbed.start(folder, *disturbed.COMMANDS[name][:-1], "2")
        parent = psutil.Process(child.process.pid)

        def workers() -> list[Any]:
            with suppress(psutil.NoSuchProcess):
                found = parent.children() if child.process.is_alive() else []
                return [p for p in found if "spawn_main" in " ".join(p.cmdline())]
            return []

        disturbed.wait_for(lambda: len(workers()) == 2 or not child.process.is_alive())
        wait = random.uniform(0.0, min(latest))
        child.process.join(wait)
        killed = False
        for worker in workers()[:1]:
            with suppress(psutil.NoSuchProcess):
                worker.kill()
                killed = True
        end = child.ended(), child.told()
        if not killed:
            latest.append(wait)
        # What failed before anyone was killed counts too.
        return [end] if killed or end[0] else None

    return disturb


def full_disk(name: str) -> Disturbance:
    """The disk is full in the middle; what the same command leaves with enough space is kept."""

    def disturb(folder: Path, random: Generator) -> list[End] | None:
        disk = disturbed.OUT[name]
        fault = disturbed.Fault(disk=disk, free=(int(random.integers(0, 64)),))
        _, told = disturbed.finish(folder, *disturbed.COMMANDS[name], fault=fault)
        os.rename(folder / disk, folder / "mounted")
        os.rename(folder / f"{disk}.0", folder / disk)
        codes = json.loads(re.findall(r"codes (\[.*\])", told)[-1])
        return [(codes[0], told)] if codes[0] else None

    return disturb


def two_at_once(name: str) -> Disturbance:
    def disturb(folder: Path, random: Generator) -> list[End] | None:
        children = [disturbed.start(folder, *disturbed.COMMANDS[name]) for _ in range(2)]
        return [(child.ended(), child.told()) for child in children]

    return disturb


def clock_backwards(name: str) -> Disturbance:
    def disturb(folder: Path, random: Generator) -> list[End] | None:
        fault = disturbed.Fault(write=int(random.integers(1, 4)), moment="after", backwards=True)
        return after_kill(*disturbed.finish(folder, *disturbed.COMMANDS[name], fault=fault))

    return disturb


def damaged(name: str, *, cut: bool) -> Disturbance:
    """A finished result, of which one file is cut or has one bit changed."""

    def disturb(folder: Path, random: Generator) -> list[End] | None:
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
        return []

    return disturb


# Files that later runs read.
ENDINGS = (".npz", ".safetensors")


def tally(title: str, name: str, calm: Any, disturb: Disturbance, tries: int, seed: int) -> Any:
    """Disturb a command many times, and count what became of it."""
    random = np.random.default_rng([seed, *title.encode()])
    counts: dict[str, Any] = {"fault": title, "tries": 0, "equal": 0, "reported": 0, "lost": 0}
    for attempt in range(tries + MORE):
        if attempt >= tries and counts["tries"]:
            break
        with tempfile.TemporaryDirectory() as place:
            folder = calm.prepared(name, Path(place))
            ends = disturb(folder, random)
            if ends is None:
                continue
            counts["tries"] += 1
            counts[outcome(name, calm, folder, ends)] += 1
    print(counts, flush=True)
    return counts


def outcome(name: str, calm: Any, folder: Path, ends: list[End]) -> str:
    """Run a command again, and see what is there; `ends` are those of the disturbed ones."""
    failed = [end for end in ends if end[0]]
    if not all(said_why(*end) for end in failed):
        return lost(name, failed[0])
    again = disturbed.finish(folder, *disturbed.COMMANDS[name])
    if again[0]:
        return lost(name, again) if failed or not said_why(*again) else "reported"
    try:
        differences = calm.differences(name, folder)
    # Files are read by several libraries, each with errors of its own.
    except Exception as error:
        differences = [f"{type(error).__name__}: {error}"]
    return lost(name, (0, f"not as they were: {differences}")) if differences else "equal"


def said_why(code: int, told: str) -> bool:
    """Whether a command failed with one sentence, or with one for each thing that failed."""
    lines = told.splitlines()
    errors = sum(line.startswith("error: ") for line in lines)
    failures = sum(line.startswith("failed: ") for line in lines)
    fitting = {1: failures > 0 and errors <= 1, 2: errors == 1}
    return "Traceback" not in told and fitting.get(code, False)


def lost(name: str, end: End) -> str:
    """Say what is wrong."""
    print(f"lost: {name} ended with {end[0]}: {end[1]}", file=sys.stderr, flush=True)
    return "lost"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="faults whose name holds this")
    options = parser.parse_args()
    half = max(1, options.kills // 2)
    calm = compared.undisturbed()
    faults: list[tuple[str, str, Disturbance, int]] = []
    for name in disturbed.COMMANDS:
        moment, write = killed_at_any_moment(name, calm), killed_while_writing(name)
        faults.append((f"{name} killed at any moment", name, moment, options.kills))
        faults.append((f"{name} killed while it writes", name, write, options.kills))
        if disturbed.mount_allowed():
            faults.append((f"{name} on a full disk", name, full_disk(name), half))
    for name in ("prepare", "pairs"):
        worker = worker_killed(name)
        faults.append((f"{name}, worker killed", name, worker, max(1, options.kills // 4)))
    for name in ("prepare", "pairs", "describe"):
        faults.append((f"{name} twice at once", name, two_at_once(name), half))
    for name in ("prepare", "train", "pairs", "describe"):
        backwards = clock_backwards(name)
        faults.append((f"{name}, clock backwards", name, backwards, half))
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
