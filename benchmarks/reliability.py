"""What was the library put through, and how did it end? Writes docs/reliability.md.

The fuzzers, the ugly meshes, the faults and the load run one after the other, each in a process of
its own. docs/reliability.json keeps the last figures of each, and the page is made from that.

    python benchmarks/reliability.py [--quick] [--only PART ...] [--render]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from finsler.storage.files import write_bytes
from finsler.storage.record import record
from reliability_page import COLUMNS, Row, Run, page, summary, wrong

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
STATE = ROOT / "docs" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"


@dataclass(frozen=True)
class Part:
    """A script with its options, the JSON file it leaves, and the rows in that."""

    script: str
    options: tuple[str, ...]
    result: Path
    rows: Callable[[Any], list[Row]]

    @property
    def command(self) -> str:
        """What a person would type."""
        return " ".join(("python", self.script, *self.options))


def parts(quick: bool) -> dict[str, Part]:
    """What is run, in this order."""
    shapes = 6 if quick else 16
    size = ("--size", "20000", "--k", "10") if quick else ("--size", "1000000")
    million = "million_quick" if quick else "million"
    fuzz, ugly = "benchmarks/results/fuzz.json", "benchmarks/results/ugly.json"
    return {
        "hostile": Part(
            "fuzz/run.py",
            ("--seconds", "2" if quick else "30", "--out", fuzz),
            ROOT / fuzz,
            hostile_rows,
        ),
        "ugly": Part("tests/ugly/ugly_matrix.py", (ugly,), ROOT / ugly, ugly_rows),
        "faults": Part(
            "benchmarks/faults.py",
            ("--kills", "4" if quick else "20"),
            RESULTS / "faults.json",
            fault_rows,
        ),
        "cluster": Part(
            "benchmarks/cluster.py",
            ("--shapes", str(shapes)),
            RESULTS / "cluster.json",
            partial(cluster_rows, shapes=shapes),
        ),
        "million": Part(
            "benchmarks/million.py",
            (*size, "--name", million),
            RESULTS / f"{million}.json",
            million_rows,
        ),
    }


def hostile_rows(content: list[Row]) -> list[Row]:
    return [
        {
            "what": found["target"],
            "tries": found["executions"],
            "seconds": found["seconds"],
            "peak_mib": found["peak_mib"],
            "crashes": found["crashes"],
        }
        for found in content
    ]


def ugly_rows(content: Row) -> list[Row]:
    """How the entries ended on each mesh."""
    rows = []
    for mesh, cells in content["detail"].items():
        counts = Counter(kind for kind, *_ in cells.values())
        kinds = {kind: counts[kind] for kind in ("ok", "warned", "refused")}
        rows.append({"what": mesh, **kinds, "defects": counts["defect"]})
    return rows


def fault_rows(content: Row) -> list[Row]:
    keys = ("tries", "equal", "reported", "lost")
    return [
        {"what": found["fault"], **{key: found[key] for key in keys}}
        for found in content["results"]["counts"]
    ]


def cluster_rows(content: Row, shapes: int) -> list[Row]:
    return [
        {"what": who, "shapes": shapes, "seconds": found["seconds"], "rate": found["rate"]}
        for who, found in content["results"]["runs"].items()
    ]


def million_rows(content: Row) -> list[Row]:
    """The steps of ours; peers have no prediction."""
    return [
        {
            "what": step,
            "vertices": found["vertices"],
            "seconds": found["seconds"],
            "peak_gib": found["peak"],
            "predicted_gib": found["predicted"],
        }
        for step, found in content["results"]["steps"].items()
        if "predicted" in found
    ]


def run(part: Part) -> Run:
    """Run a part, and read what it left; an older file is removed before."""
    part.result.parent.mkdir(exist_ok=True)
    part.result.unlink(missing_ok=True)
    begun = time.monotonic()
    command = [sys.executable, part.script, *part.options]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    left = part.result.exists()
    about = json.loads(record({}))
    return {
        "command": part.command,
        "date": date.today().isoformat(),
        "seconds": round(time.monotonic() - begun, 1),
        "code": code,
        "versions": about["versions"],
        "machine": about["machine"],
        "rows": part.rows(json.loads(part.result.read_text(encoding="utf-8"))) if left else [],
    }


def load() -> dict[str, Any]:
    """The last figures."""
    if not STATE.exists():
        return {"parts": {}, "versions": []}
    state: dict[str, Any] = json.loads(STATE.read_text(encoding="utf-8"))
    return state


def keep(state: dict[str, Any]) -> None:
    """Write the figures and the page."""
    write_bytes(STATE, (json.dumps(state, indent=1, ensure_ascii=False) + "\n").encode())
    write_bytes(PAGE, page(state).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a little of everything")
    parser.add_argument("--only", nargs="+", choices=list(COLUMNS), default=list(COLUMNS))
    parser.add_argument("--render", action="store_true", help="write the page, run nothing")
    asked = parser.parse_args()
    state = load()
    for name, part in parts(asked.quick).items():
        if asked.render or name not in asked.only:
            continue
        if name == "hostile" and find_spec("atheris") is None:
            print("hostile: left out, atheris is not installed; pip install atheris", flush=True)
            continue
        print(f"{name}: {part.command}", flush=True)
        found = run(part)
        state = load()
        state["parts"][name] = found
        keep(state)
    keep(state)
    print(summary(state["parts"]))
    sys.exit(any(wrong(found) for found in state["parts"].values()))


if __name__ == "__main__":
    main()
