"""What does a newcomer wait for: how much of a first `finsler match` is compilation, and of what?

Runs the command twice in processes of their own with a folder of compiled functions that is empty
at first, as after `pip install`. Seconds are of CPU, those of functions without the functions that
they call; the limit is for the wall time on two cores that do nothing else.

    python benchmarks/first_use.py [--size 2000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from common import print_table, save

LIMIT = 12.0
# Functions of the table; the rest is summed up.
SHOWN = 20


def write_meshes(folder: Path, size: int) -> list[str]:
    """A bumpy sphere, and a coarser one that is turned."""
    from finsler import TriMesh, primitives
    from finsler.mesh import write_mesh

    steps = round((size / 10) ** 0.5)
    first, second = primitives.bumpy_sphere(steps), primitives.bumpy_sphere(steps - 1)
    turned = TriMesh(second.vertices[:, [2, 0, 1]], second.faces)
    paths = [folder / "A.off", folder / "B.off"]
    for path, mesh in zip(paths, (first, turned), strict=True):
        write_mesh(path, mesh)
    return [str(path) for path in paths]


def watch(arguments: list[str], report: Path) -> None:
    """Run the command in this process, and write what its seconds went to."""
    start = time.process_time()
    import finsler.cli.match  # noqa: F401
    from finsler.cli.main import main

    imported = time.process_time() - start
    from numba.core.event import Event, Listener, install_listener

    seconds: dict[str, float] = defaultdict(float)
    running: list[list[float]] = []

    class Compilation(Listener):
        """Own seconds of each function: one is compiled while another waits for it."""

        def on_start(self, event: Event) -> None:
            running.append([time.process_time(), 0.0])

        def on_end(self, event: Event) -> None:
            began, inside = running.pop()
            taken = time.process_time() - began
            function = event.data["dispatcher"].py_func
            seconds[f"{function.__module__}.{function.__name__}"] += taken - inside
            if running:
                running[-1][1] += taken

    sys.argv = ["finsler", "match", *arguments]
    try:
        with install_listener("numba:compile", Compilation()):
            main()
    except SystemExit as ended:
        if ended.code:
            raise
    total = time.process_time() - start
    content = {"import": imported, "functions": seconds, "CPU s": total}
    report.write_text(json.dumps(content), encoding="utf-8")


def run(meshes: list[str], folder: Path) -> dict[str, Any]:
    """One process; its wall time includes the start of Python."""
    report = folder / "report.json"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "compiled")}
    command = [sys.executable, __file__, "--watch", str(report), *meshes]
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    found["compilation"] = sum(found["functions"].values())
    found["work"] = found["CPU s"] - found["import"] - found["compilation"]
    return {**found, "wall s": wall}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=2_000)
    parser.add_argument("--watch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("meshes", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.watch is not None:
        watch(arguments.meshes, arguments.watch)
        return
    with tempfile.TemporaryDirectory() as name:
        meshes = write_meshes(Path(name), arguments.size)
        first, second = run(meshes, Path(name)), run(meshes, Path(name))
    parts = ("import", "compilation", "work", "CPU s", "wall s")
    print_table(
        f"finsler match of two meshes of about {arguments.size:,} vertices",
        ["part", "first run", "share", "second run", "first ÷ second", "limit"],
        [
            (
                part,
                first[part],
                first[part] / first["CPU s"],
                second[part],
                first[part] / second[part] if second[part] else None,
                LIMIT if part == "wall s" else None,
            )
            for part in parts
        ],
    )
    slowest = sorted(first["functions"].items(), key=lambda item: -item[1])
    rest = sum(seconds for _, seconds in slowest[SHOWN:])
    rows = [*slowest[:SHOWN], (f"{len(slowest[SHOWN:])} others", rest)]
    print_table(
        "compiled in the first run",
        ["function", "s", "share"],
        [(function, seconds, seconds / first["compilation"]) for function, seconds in rows],
    )
    save("first_use", {"size": arguments.size, "first": first, "second": second})


if __name__ == "__main__":
    main()
