"""`finsler reproduce`: a table of the paper, from shapes to figures, with seeds."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, TaskID

from finsler.cli import reports
from finsler.cli.cluster_options import progress_bar
from finsler.cli.options import AsJson
from finsler.cli.results import Overwrite
from finsler.cli.train import Device, DeviceChoice
from finsler.experiments import (
    Results,
    Trial,
    main_table,
    plan_table,
    score_trials,
    table_dict,
    table_markdown,
    train_trials,
    write_table,
)
from finsler.storage.outputs import require_outputs
from finsler.view import plot_error_curves, report


class Stage(StrEnum):
    """Where to stop."""

    train = "train"


TableName = Annotated[
    str, typer.Argument(metavar="TABLE", help="faust, scape, cuts, holes or custom.")
]
CollectionName = Annotated[
    str,
    typer.Argument(
        metavar="COLLECTION",
        help="As for `finsler prepare`: faust_r:PATH, pack:FILE, synthetic:humanoid, ...; for"
        " cuts and holes tosca_r:PATH (partial shapes are made), shrec16:PATH, or a folder with"
        " one packed file for each category.",
    ),
]
OutFolder = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FOLDER", help="Folder of runs and tables; is made."),
]
MethodNames = Annotated[
    str,
    typer.Option(
        help="With commas: lbo, albo (that of ACSCNN), flbo:TAU, flbo:curved, flbo:flat, directed,"
        " mixed, mixed:still (mixed without drift),"
        " fieldconv, fieldconv:shot, diffusionnet; each operator"
        " may end in a rescaling, as in flbo:curved+reference or albo+plain."
    ),
]
Seeds = Annotated[int, typer.Option(help="Networks for each method: seeds 0, 1, ...", min=1)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of training, as for `finsler train`; or smoothing, peak, descriptor,"
        " radius, bins, support, support_apart of preparing; may be repeated.",
    ),
]
LastStage = Annotated[
    Stage | None,
    typer.Option(
        help="train: stop when the networks are trained; the same command without it goes on,"
        " on another machine too."
    ),
]
WorkFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Folder of prepared shapes and distances; by default OUT/work."
    ),
]
PrepareJobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="Processes that prepare; by default one a core.", min=1),
]


def reproduce(
    table: TableName,
    collection: CollectionName,
    out: OutFolder,
    methods: MethodNames = "lbo,albo,flbo:0.1",
    seeds: Seeds = 5,
    settings: Settings = None,
    only: LastStage = None,
    work: WorkFolder = None,
    jobs: PrepareJobs = None,
    device: DeviceChoice = Device.auto,
    overwrite: Overwrite = False,
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
    plan = plan_table(
        table,
        collection,
        out,
        methods=methods,
        seeds=seeds,
        settings=settings or (),
        work=work,
        device=device.value,
    )
    targets = [out / f"{table}.{ending}" for ending in ("json", "md", "png", "html")]
    require_outputs(targets, overwrite=overwrite)
    with progress_bar() as bar:
        show = _Bars(bar)
        train_trials(
            plan.trials, jobs=jobs, on_shape=show.shape, on_epoch=show.epoch, notify=show.sentence
        )
    if only is Stage.train:
        _report({"runs": [str(trial.folder) for trial in plan.trials]}, as_json)
        return
    results = score_trials(plan)
    files = write_table(results, out)
    files += [_draw(out / f"{table}.png", results), _write_page(out / f"{table}.html", results)]
    about = table_dict(results)
    short = {key: about[key] for key in about if key not in ("runs", "grid", "curves")}
    text = main_table(results, "sqrt_area", results.shown)
    _report({**short, "files": [str(path) for path in files]}, as_json, text)


class _Bars:
    """Bars of preparing and training, one at a time, and sentences above them."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def _task(self, title: str, total: int) -> TaskID:
        if title not in self._tasks:
            for old in self._tasks.values():
                self._bar.update(old, visible=False)
            self._tasks[title] = self._bar.add_task(title, total=total)
        return self._tasks[title]

    def shape(self, trial: Trial, name: str) -> None:
        """One more shape is prepared."""
        shapes = trial.collection
        total = len({*shapes.names, shapes.reference})
        self._bar.advance(self._task(f"preparing {shapes.name}, {trial.method.name}", total))

    def epoch(self, trial: Trial, metrics: Mapping[str, Any]) -> None:
        """One more epoch is done."""
        self._bar.update(self._task(trial.label, trial.config.epochs), completed=metrics["epoch"])

    def sentence(self, trial: Trial, sentence: str) -> None:
        """While a bar is shown, rich prints this above it."""
        print(f"{trial.label}: {sentence}", file=sys.stderr, flush=True)


def _write_page(path: Path, results: Results) -> Path:
    scores = {m.name: results.of("sqrt_area", results.shown, m.name) for m in results.methods}
    curves = [report.interval_curve(name, of) for name, of in scores.items() if of]
    plan = results.plan
    names = ", ".join(shapes.name for shapes in plan.parts.values())
    config = {
        "table": plan.table,
        "methods": [method.name for method in results.methods],
        "seeds": results.seeds,
        "settings": plan.settings,
    }
    blocks = [
        report.section("Error curves", report.error_chart(curves)),
        report.markdown(table_markdown(results)),
    ]
    return reports.write(path, f"{plan.table}: {names}", blocks, config)


def _report(about: Mapping[str, Any], as_json: bool, text: str = "") -> None:
    if as_json:
        print(json.dumps(about, indent=2, allow_nan=False))
        return
    print(text, end="")
    for path in about.get("files", about.get("runs", ())):
        print(f"Wrote {path}")


def _draw(path: Path, results: Results) -> Path:
    summaries = {
        m.name: results.summary("sqrt_area", results.shown, m.name) for m in results.methods
    }
    curves = {name: (of.grid, of.curve) for name, of in summaries.items() if of}
    return plot_error_curves(path, curves)
