"""`finsler data`: check and pack data sets, and make partial and synthetic ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from finsler.cli.cluster_options import Jobs, WorkerOptions, progress_bar
from finsler.cli.collection_options import CollectionName
from finsler.cli.options import AsJson
from finsler.cli.results import Overwrite, check_outputs, stdout_console
from finsler.data import load_all, open_collection
from finsler.data import pack as write_pack
from finsler.data.check import SetReport, check_collection
from finsler.data.collection import Collection
from finsler.data.partial import partial_collection
from finsler.data.sets.folder import write_collection
from finsler.data.sets.synthetic import synthetic_collection

data = typer.Typer(
    name="data",
    help="Check and pack data sets, and make partial and synthetic ones.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


EmptyFolder = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER", help="Folder to write to; made if missing, otherwise it must be empty."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of all random choices.")]


@data.command("check")
def check(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="Folder of a data set, or a folder of such folders."),
    ],
    as_json: AsJson = False,
) -> None:
    """Examine the data sets in a folder: files, indices, meshes, units.

    FAUST, SCAPE, SMAL, DT4D, TOSCA, SHREC'16 and '19, TOPKIDS, PartialSMAL, folders that `finsler
    data` wrote and any meshes with corres/*.vts are recognised by their layout. The exit code is 0
    when everything can be used, 2 when something cannot. In the table, "named" is the share of the
    vertices whose ground truth is given (mean and range over the shapes), "repeated" the share of
    the lines that name a vertex again.

    Example: `finsler data check data/FAUST_r`
    """
    with progress_bar() as bar:
        task = bar.add_task("shapes", total=None)
        reports = check_collection(
            path, progress=lambda done, of: bar.update(task, completed=done, total=of)
        )
    usable = all(report.usable for report in reports)
    if as_json:
        sets = [report.to_dict() for report in reports]
        print(json.dumps({"path": str(path), "usable": usable, "sets": sets}, indent=2))
    else:
        _print_reports(reports)
    if not usable:
        raise typer.Exit(2)


@data.command("make-partial")
def make_partial(
    collection: CollectionName,
    folder: EmptyFolder,
    kind: Annotated[
        Literal["cuts", "holes"],
        typer.Option(help="cuts: cut off by a plane; holes: discs taken out."),
    ] = "cuts",
    per_shape: Annotated[
        int, typer.Option(help="Number of partial shapes made from each full one.", min=1)
    ] = 1,
    share: Annotated[
        tuple[float, float],
        typer.Option(
            help="Smallest and largest share of the area that is kept.", metavar="LOW HIGH"
        ),
    ] = (0.4, 0.8),
    discs: Annotated[
        int, typer.Option(help="With holes: number of holes in each shape.", min=1)
    ] = 12,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Make partial shapes from full ones, with ground truth on the full reference shape.

    Written are `off/*.off`, `corres/*.vts` (line i: reference vertex, from 1, of vertex i) and
    `split.json`; other commands take the folder as a collection. The licence of the full shapes
    holds for their parts too.

    Example: `finsler data make-partial tosca_r:data/TOSCA_r:cat cat_cuts --per-shape 2`
    """
    full = open_collection(collection)
    made = partial_collection(full, kind, per_shape=per_shape, share=share, seed=seed, seeds=discs)
    config = {
        "source": full.name,
        "kind": kind,
        "per_shape": per_shape,
        "share": list(share),
        "seed": seed,
        **({"discs": discs} if kind == "holes" else {}),
    }
    _write(folder, made, config, as_json)


@data.command("pack")
def pack(
    collection: CollectionName,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write: .npz.")],
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Put meshes, labels and splits of a collection into one small file, without loss.

    On another machine, which needs none of the mesh libraries, `finsler prepare pack:FILE` computes
    operators and descriptors from it.

    Example: `finsler data pack faust_r:data/FAUST_r -o faust.npz`
    """
    check_outputs([(out, (".npz",))], overwrite=overwrite)
    shapes = open_collection(collection)
    with progress_bar() as bar:
        task = bar.add_task("shapes", total=len({*shapes.names, shapes.reference}))
        write_pack(shapes, out, progress=lambda name: bar.advance(task))
    size = out.stat().st_size
    report = {"file": str(out), "collection": shapes.name, "shapes": len(shapes), "bytes": size}
    if as_json:
        print(json.dumps(report, indent=2))
        return
    print(f"Wrote {out}: {shapes.name}, {len(shapes)} shapes, {size / 2**20:.1f} MiB.")


@data.command("synthesize")
def synthesize(
    species: Annotated[
        str,
        typer.Argument(
            metavar="SPECIES",
            help="humanoid or quadruped: moderate variety, even meshes. person or animal: many"
            " builds, strong poses, meshes of all kinds.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|FILE.npz",
            help="Folder to write to, made if missing, otherwise it must be empty; or one"
            " packed file.",
        ),
    ],
    train: Annotated[int, typer.Option(help="Shapes to train on.", min=1)] = 80,
    test: Annotated[int, typer.Option(help="Shapes to test on.", min=1)] = 20,
    vertices: Annotated[
        int,
        typer.Option(
            help="Vertices of a humanoid or quadruped; persons and animals have 0.2 to 1.6 times as"
            " many, at least 1,000.",
            min=100,
        ),
    ] = 2000,
    poses: Annotated[int | None, typer.Option(help="Poses of one individual.", min=1)] = None,
    flaws: Annotated[
        float | None,
        typer.Option(
            help="Share of persons and animals with noise, holes or crumbs. [default: 0.25]"
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Make a collection of synthetic shapes, free to use, with ground truth.

    Written as `make-partial` writes it, or as `pack` does; other commands take the folder or file
    as a collection. Shapes are made on all cores.

    Example: `finsler data synthesize person people.npz --train 400 --poses 4 --vertices 5000`
    """
    packed = out.suffix == ".npz"
    if packed:
        check_outputs([(out, (".npz",))], overwrite=overwrite)
    config: dict[str, Any] = {"species": species, "train": train, "test": test}
    config |= {"vertices": vertices, "seed": seed}
    optional = {"poses": poses, "flaws": flaws}
    config |= {name: value for name, value in optional.items() if value is not None}
    made = synthetic_collection(**config)
    names = {made.reference, *made.names}
    with progress_bar() as bar:
        task = bar.add_task("shapes", total=len(names))
        workers = WorkerOptions(jobs=jobs).of(len(names))
        made = load_all(made, workers, progress=lambda name: bar.advance(task))
    _write(out, made, config, as_json, packed=packed)


def _write(
    folder: Path, made: Collection, config: Mapping[str, Any], as_json: bool, packed: bool = False
) -> None:
    names = {made.reference, *made.names}
    with progress_bar() as bar:
        task = bar.add_task("shapes", total=len(names))
        if packed:
            write_pack(made, folder, progress=lambda name: bar.advance(task))
        else:
            write_collection(folder, made, config, progress=lambda name: bar.advance(task))
    if as_json:
        answer = {
            "path": str(folder),
            "name": made.name,
            "reference": made.reference,
            "train": len(made.train),
            "test": len(made.test),
            "config": dict(config),
        }
        print(json.dumps(answer, indent=2))
        return
    print(
        f"Wrote {folder}: {made.name}, {len(made.train)} shapes to train and {len(made.test)} to"
        f" test, reference {made.reference}."
    )


def _print_reports(reports: Sequence[SetReport]) -> None:
    console = stdout_console()
    table = Table(box=None, pad_edge=False)
    for heading in ("set", "shapes", "train", "test", "named", "repeated", "verdict"):
        table.add_column(heading)
    for report in reports:
        named = "–"
        if report.named_share is not None:
            named = "{1:.0%} ({0:.0%} to {2:.0%})".format(*report.named_share)
        repeated = "–" if report.repeated_share is None else f"{report.repeated_share:.0%}"
        verdict = Text("usable", "green") if report.usable else Text("unusable", "red")
        counts = map(str, (report.shapes, report.train, report.test))
        table.add_row(report.name, *counts, named, repeated, verdict)
    console.print(table)
    findings = [finding for report in reports for finding in report.findings]
    if not findings:
        console.print("Nothing to complain about.", style="green")
        return
    color = {"error": "red", "warning": "yellow", "note": "blue"}
    console.print(f"Findings ({len(findings)})", style="yellow")
    for finding in findings:
        severity = Text(f"- {finding.severity} ", color[finding.severity])
        console.print(severity + f"{finding.subject}: {finding.what}; {finding.remedy}.")
