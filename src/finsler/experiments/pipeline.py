"""All steps of an experiment in one call: a table of the paper, from shapes to figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from finsler.evaluation import write_results
from finsler.experiments.report import table_dict, table_markdown
from finsler.experiments.scores import Results, score_trials
from finsler.experiments.trials import Trial, plan_table, train_trials
from finsler.storage.files import write_bytes
from finsler.storage.outputs import marked_markdown


def reproduce(
    table: str,
    collection: str,
    out: str | os.PathLike[str],
    *,
    methods: str = "lbo,albo,flbo:0.1",
    seeds: int = 5,
    recipe: str = "paper",
    settings: Sequence[str] = (),
    work: str | os.PathLike[str] | None = None,
    device: str = "auto",
    jobs: int | None = None,
    on_epoch: Callable[[Trial, dict[str, Any]], None] = lambda trial, metrics: None,
) -> Results:
    """Prepare, train every method with every seed, score, and write `TABLE.json` and `TABLE.md`.

    What is done is not done again: after an interruption call it again. `finsler reproduce` does
    the same and also draws the error curves.

    Parameters
    ----------
    table, collection, out, methods, seeds, recipe, settings, work, device
        See [`plan_table`][finsler.experiments.plan_table].
    jobs : int, optional
        Processes that prepare; by default one for each core.
    on_epoch : callable
        Called with a trial and the metrics of each of its epochs.

    Raises
    ------
    InputError
        See `plan_table`; or the folder holds runs of another configuration.
    """
    plan = plan_table(
        table,
        collection,
        out,
        methods=methods,
        seeds=seeds,
        recipe=recipe,
        settings=settings,
        work=work,
        device=device,
    )
    train_trials(plan.trials, jobs=jobs, on_epoch=on_epoch)
    results = score_trials(plan)
    write_table(results, out)
    return results


def write_table(results: Results, out: str | os.PathLike[str]) -> list[Path]:
    """Write the figures to `TABLE.json` and `TABLE.md` in a folder; the paths of both."""
    base = Path(out) / results.plan.table
    return [
        write_results(base.with_name(f"{base.name}.json"), table_dict(results)),
        write_bytes(
            base.with_name(f"{base.name}.md"), marked_markdown(table_markdown(results)).encode()
        ),
    ]
