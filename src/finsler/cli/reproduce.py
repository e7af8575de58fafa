"""`finsler reproduce`: a table of the paper, from shapes to figures, with seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli import reports
from finsler.cli.options import AsJson
from finsler.cli.train import Device

if TYPE_CHECKING:
    from finsler.experiments.scores import Results


class Stage(StrEnum):
    """Where to stop."""

    train = "train"


def reproduce(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="faust, scape, cuts, holes or custom.")
    ],
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="As for `finsler prepare`: faust_r:PATH, pack:FILE, synthetic:humanoid, ...; for"
            " cuts and holes tosca_r:PATH (partial shapes are made), shrec16:PATH, or a folder with"
            " one packed file for each category.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Of runs and tables; is made.")
    ],
    methods: Annotated[
        str,
        typer.Option(
            help="With commas: lbo, albo (that of ACSCNN), flbo:TAU, flbo:curved, flbo:flat,"
            " fieldconv, fieldconv:shot; each operator"
            " may end in a rescaling, as in flbo:curved+reference or albo+plain."
        ),
    ] = "lbo,albo,flbo:0.1",
    seeds: Annotated[
        int, typer.Option(help="Networks for each method: seeds 0, 1, ...", min=1)
    ] = 5,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of training, as for `finsler train`; or smoothing, peak, descriptor,"
            " radius, bins, support, support_apart of preparing; may be repeated.",
        ),
    ] = None,
    only: Annotated[
        Stage | None,
        typer.Option(
            help="train: stop when the networks are trained; the same command without it goes on,"
            " on another machine too."
        ),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Of prepared shapes and distances; by default OUT/work."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", help="Processes that prepare; by default one a core.", min=1),
    ] = None,
    device: Annotated[
        Device, typer.Option(help="auto: cuda where there is one, else the processor.")
    ] = Device.auto,
    as_json: AsJson = False,
) -> None:
    """Make a table of the paper: prepare, train every method with every seed, and evaluate.

    Training is the paper's by default: Adam at 1e-3, 100 epochs, one shape a step. Under OUT lie
    `runs/METHOD/seed-N` and at the end `TABLE.json`, `TABLE.md` (beside the published figures),
    `TABLE.png` (error curves) and `TABLE.html` (all of it, for any browser). What is done is not
    done again: after an interruption run the same command. Evaluating needs `predictions.npz` of
    each run, and no prepared shapes.

    Example: `finsler reproduce faust faust_r:data/FAUST_r --out results/faust --seeds 3`
    """
    from finsler.experiments.scores import score_trials
    from finsler.experiments.tables import methods_named, parts_of
    from finsler.experiments.trials import plan_trials, train_trials, with_settings

    chosen, training = with_settings(methods_named(methods), settings or [])
    parts = parts_of(table, collection)
    planned = plan_trials(chosen, parts, range(seeds), training, device=device.value, out=out)
    work = out / "work" if work is None else work
    train_trials(planned, work, jobs=jobs)
    if only is Stage.train:
        _report({"runs": [str(trial.folder) for trial in planned]}, as_json)
        return
    results = score_trials(table, planned, parts, work, settings=settings or [])
    _write(results, out, as_json)


def _write(results: Results, out: Path, as_json: bool) -> None:
    from finsler.evaluation import write_results
    from finsler.experiments.scores import everything
    from finsler.experiments.table_text import main_table, markdown
    from finsler.storage.files import write_bytes

    about = everything(results)
    files = [
        write_results(out / f"{results.table}.json", about),
        write_bytes(out / f"{results.table}.md", markdown(results).encode()),
        _draw(out / f"{results.table}.png", results),
        _write_report(out / f"{results.table}.html", results),
    ]
    short = {key: about[key] for key in about if key not in ("runs", "grid", "curves")}
    text = main_table(results, "sqrt_area", results.shown)
    _report({**short, "files": [str(path) for path in files]}, as_json, text)


def _write_report(path: Path, results: Results) -> Path:
    from finsler.experiments.table_text import markdown
    from finsler.view import report

    found = {m.name: results.of("sqrt_area", results.shown, m.name) for m in results.methods}
    curves = [report.interval_curve(name, scores) for name, scores in found.items() if scores]
    names = ", ".join(shapes.name for shapes in results.parts.values())
    config = {
        "table": results.table,
        "methods": [method.name for method in results.methods],
        "seeds": results.seeds,
        "settings": results.settings,
    }
    blocks = [
        report.section("Error curves", report.error_chart(curves)),
        report.markdown(markdown(results)),
    ]
    return reports.write(path, f"{results.table}: {names}", blocks, config)


def _report(report: Mapping[str, Any], as_json: bool, text: str = "") -> None:
    if as_json:
        print(json.dumps(report, indent=2, allow_nan=False))
        return
    print(text, end="")
    for path in report.get("files", report.get("runs", ())):
        print(f"Wrote {path}")


def _draw(path: Path, results: Results) -> Path:
    from finsler.view import plot_error_curves

    summaries = {
        m.name: results.summary("sqrt_area", results.shown, m.name) for m in results.methods
    }
    curves = {name: (found.grid, found.curve) for name, found in summaries.items() if found}
    return plot_error_curves(path, curves)
