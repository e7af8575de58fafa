"""The table of docs/matching.md from folders of `finsler benchmark`, a row for each variant.

finsler benchmark faust_r:FAUST_r -o faust
python benchmarks/matching_table.py faust scape ...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HEADS = (
    *("set", "pairs", "mean, literature", "mean, strict", "median", "AUC", "failed, %"),
    *("mean without failed", "coverage, %", "Dirichlet", "bijectivity"),
    *("failed that are doubted, %", "others doubted, %"),
)


def cell(value: float | None, factor: float = 1.0, digits: int = 2) -> str:
    return "-" if value is None else f"{factor * value:.{digits}f}"


def row(results: dict[str, Any], summary: dict[str, Any]) -> list[str]:
    name = f"{results['collection']}, {results['shapes']} shapes"
    if summary["variant"] != "plain":
        name += f", {summary['variant']}"
    edges, strict = summary["literature"], summary["strict"]
    if strict is None:
        return [name, "0", *["-"] * (len(HEADS) - 2)]
    own = edges["pairs"] - strict["pairs"]
    spread = "" if strict["half_width"] is None else f" ± {strict['half_width']:.2f}"
    return [
        name,
        f"{strict['pairs']}{f' + {own}' if own else ''} of {summary['of']:,}",
        cell(edges["mean"]),
        f"{strict['mean']:.2f}{spread}",
        cell(strict["median"]),
        cell(strict["auc"], digits=3),
        cell(strict["failed_share"], 100.0, 1),
        cell(strict["mean_without_failed"]),
        cell(summary["coverage"], 100.0, 0),
        cell(summary["dirichlet"]),
        cell(summary["bijectivity"], 100.0),
        cell(summary["doubted_failed"], 100.0, 0),
        cell(summary["doubted_right"], 100.0, 1),
    ]


def main() -> None:
    lines: list[tuple[str, ...]] = [HEADS, ("---", *["---:"] * (len(HEADS) - 1))]
    for folder in sys.argv[1:]:
        results = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))
        lines += [tuple(row(results, summary)) for summary in results["summaries"]]
    for line in lines:
        print(f"| {' | '.join(line)} |")


if __name__ == "__main__":
    main()
