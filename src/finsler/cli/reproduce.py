"""`finsler reproduce`: a table of the paper, from shapes to figures, with seeds."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finsler.cli.collection_options import COLLECTION_HELP
from finsler.cli.options import AsJson
from finsler.cli.results import Overwrite
from finsler.cli.train import Device, DeviceChoice


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
        help=f"{COLLECTION_HELP} For cuts and holes also tosca_r:PATH (partial shapes are made),"
        " shrec16:PATH, or a folder with one packed file for each category.",
    ),
]
OutFolder = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="FOLDER", help="Folder for runs and tables; made if missing."
    ),
]
MethodNames = Annotated[
    str,
    typer.Option(
        help="Separated by commas: lbo, albo (that of ACSCNN), flbo:TAU, flbo:curved,"
        " flbo:flat, directed,"
        " mixed, mixed:still (mixed without drift), mixed:hks, mixed:learned,"
        " fieldconv, fieldconv:shot, diffusionnet; each operator"
        " may end in a rescaling, as in flbo:curved+reference or albo+plain."
    ),
]
Seeds = Annotated[int, typer.Option(help="Networks for each method: seeds 0, 1, ...", min=1)]
Recipe = Annotated[
    str,
    typer.Option(
        help="How networks are trained: paper, or regularised (one cycle, softmax both ways,"
        " smoothed labels, dropout of features, a wider network), which generalises better."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of training, as for `finsler train`; or one of preparing: smoothing,"
        " peak, descriptor, radius, bins, support, support_apart, copies. May be given"
        " several times.",
    ),
]
LastStage = Annotated[
    Stage | None,
    typer.Option(
        help="train: stop when the networks are trained; the same command without this"
        " option goes on, on another machine if you like."
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
    typer.Option(
        "--jobs", "-j", help="Processes that prepare shapes; by default one per core.", min=1
    ),
]


def reproduce(
    table: TableName,
    collection: CollectionName,
    out: OutFolder,
    methods: MethodNames = "lbo,albo,flbo:0.1",
    seeds: Seeds = 5,
    recipe: Recipe = "paper",
    settings: Settings = None,
    only: LastStage = None,
    work: WorkFolder = None,
    jobs: PrepareJobs = None,
    device: DeviceChoice = Device.auto,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Make a table of the paper: prepare, train every method with every seed, and evaluate.

    Training is the paper's by default: Adam at 1e-3, 100 epochs, one shape per step. OUT gets
    `runs/METHOD/seed-N` and at the end `TABLE.json`, `TABLE.md` (next to the published figures),
    `TABLE.png` (error curves) and `TABLE.html` (all of it, for any browser). Finished work is not
    repeated: after an interruption, run the same command again. Evaluating needs `predictions.npz`
    of each run, but no prepared shapes.

    Example: `finsler reproduce faust faust_r:data/FAUST_r --out results/faust --seeds 3`
    """
    # Needs torch, which --help does not.
    from finsler.cli.learning import make_table
    from finsler.experiments import plan_table

    plan = plan_table(
        table,
        collection,
        out,
        methods=methods,
        seeds=seeds,
        recipe=recipe,
        settings=settings or (),
        work=work,
        device=device.value,
    )
    stop = only is Stage.train
    make_table(plan, out, jobs=jobs, stop=stop, overwrite=overwrite, as_json=as_json)
