"""Fuzz the readers with atheris, one after the other, and write what was found.

python fuzz/run.py --seconds 60            every target
python fuzz/run.py --seconds 60 ply npz    these alone
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
MEMORY = Path("/dev/shm")
# Of libFuzzer: bytes of an input, seconds and MiB that one may take.
LONGEST, SLOWEST, LARGEST = 4096, 10, 3072


def main() -> None:
    """Run the targets that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="names of targets; all if none is given")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--out", type=Path, default=RESULTS / "fuzz.json")
    asked = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from targets import TARGETS

    unknown = set(asked.targets) - TARGETS.keys()
    if unknown:
        parser.error(f"there is no target {min(unknown)}; there are {', '.join(TARGETS)}")
    rows = []
    for name in asked.targets or TARGETS:
        rows.append(_fuzzed(name, asked.seconds))
        print(
            "{target:12} {executions:9,} executions {seconds:6.0f} s"
            " {peak_mib:6,} MiB {edges:6,} edges {crashes} crashes".format(**rows[-1]),
            flush=True,
        )
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    sys.exit(any(row["crashes"] for row in rows))


def _fuzzed(name: str, seconds: int) -> dict[str, Any]:
    """Run one target in a process of its own; its corpus is kept for the next time."""
    corpus, found = RESULTS / "corpus" / name, RESULTS / "crashes" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    known = set(found.iterdir())
    limits = [f"-max_len={LONGEST}", f"-timeout={SLOWEST}", f"-rss_limit_mb={LARGEST}"]
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={found}/", "-print_final_stats=1"]
    begun = time.monotonic()
    # The fuzzer ends its process without cleaning up, so the folder of the files is kept here.
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as place:
        command = [sys.executable, str(HERE / "child.py"), name, str(corpus), place]
        done = subprocess.run(
            [*command, *limits, *options],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    log = done.stderr + done.stdout
    crashes = sorted(str(path) for path in set(found.iterdir()) - known)
    if done.returncode and not crashes:
        crashes = [log[-2000:]]
    (RESULTS / f"{name}.log").write_text(log, encoding="utf-8")
    return {
        "target": name,
        "executions": _last(r"number_of_executed_units:\s+(\d+)", log),
        "seconds": round(time.monotonic() - begun, 1),
        "peak_mib": _last(r"peak_rss_mb:\s+(\d+)", log),
        "edges": _last(r"cov: (\d+)", log),
        "crashes": len(crashes),
        "inputs": crashes,
    }


def _last(pattern: str, text: str) -> int:
    return int((re.findall(pattern, text) or ["0"])[-1])


if __name__ == "__main__":
    main()
