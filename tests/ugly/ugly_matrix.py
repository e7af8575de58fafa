"""Every entry on every ugly mesh: works, works with a warning, is refused, or is a defect.

`python tests/ugly/ugly_matrix.py FILE.json` prints the table and writes
{"cells", "ok", "warned", "refused", "defects"}.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from ugly_entries import ENTRIES
from ugly_meshes import MESHES

from finsler.errors import ConvergenceError, InputError
from finsler.mesh import TriMesh
from finsler.mesh.health import MeshWarning

SIGNS = {"ok": ".", "warned": "w", "refused": "r", "defect": "D"}


@dataclass(frozen=True)
class Outcome:
    """`kind` is ok, warned, refused or defect; `words` are the sentences given."""

    kind: str
    words: tuple[str, ...] = ()


def outcome(mesh_name: str, entry: str) -> Outcome:
    """Run one cell. Only errors of one sentence and warnings of their own class are in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ENTRIES[entry](TriMesh(*MESHES[mesh_name]()))
        except (InputError, ConvergenceError) as error:
            words = (str(error),)
            return Outcome("refused" if "\n" not in str(error) else "defect", words)
        except Exception as error:
            return Outcome("defect", (f"{type(error).__name__}: {error}",))
    strange = [str(w.message) for w in caught if not issubclass(w.category, MeshWarning)]
    if strange:
        return Outcome("defect", tuple(strange))
    words = tuple(dict.fromkeys(str(w.message) for w in caught))
    return Outcome("warned" if words else "ok", words)


def print_matrix(cells: dict[str, dict[str, Outcome]]) -> None:
    """One row a mesh, one sign a cell."""
    for rank, entry in enumerate(ENTRIES):
        print(f"{'│' * rank}╭ {entry}")
    for mesh_name, row in cells.items():
        print("".join(SIGNS[row[entry].kind] for entry in ENTRIES), mesh_name)


def main() -> None:
    start = time.perf_counter()
    cells = {name: {entry: outcome(name, entry) for entry in ENTRIES} for name in MESHES}
    print_matrix(cells)
    counts = dict.fromkeys(SIGNS, 0)
    for row in cells.values():
        for result in row.values():
            counts[result.kind] += 1
    total = sum(counts.values())
    counts["defects"] = counts.pop("defect")
    print(f"{total} cells: {counts}; {time.perf_counter() - start:.0f} s")
    for mesh_name, row in cells.items():
        for entry, result in row.items():
            if result.kind == "defect":
                print(f"defect: {mesh_name} / {entry}: {result.words[0]}")
    if len(sys.argv) > 1:
        detail = {
            name: {entry: [result.kind, *result.words] for entry, result in row.items()}
            for name, row in cells.items()
        }
        text = json.dumps({"cells": total, **counts, "detail": detail}, indent=1)
        Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
