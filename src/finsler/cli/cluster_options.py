"""Options of the commands that spread their work, and the workers that they ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from finsler.compute.cluster import Workers
from finsler.compute.memory import available
from finsler.errors import InputError

# Lines about defects of meshes; of a collection with more, the first do.
_NOTES = 20

Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Compute on the workers of this Dask scheduler, e.g. tls://head:8786; by default on"
        " this machine.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="Processes on this machine; by default one per core."),
]
Retries = Annotated[
    int,
    typer.Option(
        help="How often a task is tried again when its worker is lost or a file cannot be reached."
    ),
]
WorkerMemory = Annotated[
    float | None,
    typer.Option(
        metavar="GIB",
        help="Memory of each process on this machine; a process that takes more is stopped"
        " and its task tried again. [default: an equal share of all]",
    ),
]

Bundle = Annotated[
    int,
    typer.Option(
        help="Tasks sent to a worker at a time; more than 1 helps where a scheduler has"
        " hundreds of workers."
    ),
]


@dataclass(frozen=True)
class WorkerOptions:
    """Options of the commands that spread their work."""

    jobs: Jobs = None
    scheduler: Scheduler = None
    retries: Retries = 2
    worker_memory: WorkerMemory = None
    bundle: Bundle = 1

    def of(self, tasks: int) -> Workers:
        """The workers for so many tasks: no more processes than that.

        Raises
        ------
        InputError
            An option is out of its range, or FINSLER_MEMORY, which every task would look at.
        """
        available()
        jobs = self.jobs
        if self.scheduler is None:
            jobs = min(jobs if jobs is not None else os.cpu_count() or 1, max(tasks, 1))
        options = {"retries": self.retries, "bundle": self.bundle}
        return Workers(jobs, self.scheduler, memory=self.worker_memory, notify=say, **options)

    def refuse(self) -> None:
        """Raise where workers are asked for and there is nothing to spread."""
        memory = self.worker_memory
        options = {"--scheduler": self.scheduler, "--jobs": self.jobs, "--worker-memory": memory}
        for name, value in options.items():
            if value is not None:
                raise InputError(f"{name} is for many meshes, and has no effect here; leave it out")


def say(sentence: str) -> None:
    """A note for the user, beside the results."""
    print("note:", sentence, file=sys.stderr)


def say_notes(notes: Mapping[str, Sequence[str]]) -> None:
    """What is wrong with meshes that were computed all the same, by name."""
    lines = [f"{name}: {sentence}" for name, told in notes.items() for sentence in told]
    for line in lines[:_NOTES]:
        say(line)
    if len(lines) > _NOTES:
        say(f"and {len(lines) - _NOTES} more")


def say_failed(failed: dict[str, str]) -> None:
    """Each failure with its sentence."""
    for name, why in failed.items():
        print(f"failed: {name}: {why}", file=sys.stderr)


def progress_bar(*, shown: bool = True) -> Progress:
    """A bar on stderr with the number of tasks and the time left; none where it is no terminal."""
    console = Console(stderr=True)
    # Names of shapes may look like markup.
    title = TextColumn("{task.description}", markup=False)
    columns = (title, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    disable = not (shown and console.is_terminal)
    return Progress(*columns, console=console, transient=True, disable=disable)
