"""What `finsler maps` does. Needs torch, which its options do not."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from finsler.cli.cluster_options import WorkerOptions, progress_bar
from finsler.compute.cluster import run
from finsler.data import Store
from finsler.errors import InputError
from finsler.evaluation.surface_distances import SurfaceDistances
from finsler.mesh.trimesh import TriMesh
from finsler.nn.training.checkpoint import About, load_model
from finsler.nn.training.class_maps import class_maps
from finsler.nn.training.map_prediction import READ_OUTS, MapModel, choose_map, map_array
from finsler.storage.files import make_folder
from finsler.storage.npz import write_npz
from finsler.typing import FloatArray, IntArray

# Vertices of a pair at which errors are measured, and the mean that counts as failed.
_MEASURED, _FAILED = 1000, 0.08


def match_store(
    checkpoint: Path,
    store: str,
    *,
    out: Path | None,
    split: str,
    tune: int,
    chosen: str,
    device: str,
    workers: WorkerOptions,
) -> dict[str, Any]:
    """Match all pairs, write the maps if asked, and sum up energies and errors."""
    opened = Store.open(store)
    names = {"test": opened.test, "train": opened.train, "all": opened.names}[split]
    if len(names) < 2:
        raise InputError(
            f"{store}: the store has {len(names)} such shapes; 2 are needed, so take --split all or"
            " prepare more"
        )
    if out is not None:
        make_folder(str(out))
    network, about = load_model(checkpoint, device=device)
    config = {"checkpoint": checkpoint.name, "store": opened.name, "tune": tune}
    if about.config.objective == "labels":
        if out is None or tune or chosen != "auto":
            raise InputError(
                f"{checkpoint}: this network names points or vertices of a reference, and its maps"
                " are only written; give --out, without --tune and --read-out"
            )
        return _write_class_maps(network, about, opened, names, out, config)
    model = MapModel(network, about)
    tally, start, rng = _Tally(), time.perf_counter(), np.random.default_rng(0)
    with progress_bar() as bar:
        task = bar.add_task("matching", total=len(names) * (len(names) - 1) // 2)
        for one, other, maps in model.pairs(opened, names, tune=tune):
            best = choose_map(maps)
            own = best if chosen == "auto" else chosen
            for here, there, side in ((one, other, "map_12"), (other, one, "map_21")):
                a, b = here.shape.name, there.shape.name
                arrays = {name: map_array(getattr(maps[name], side)) for name in READ_OUTS}
                truth = map_array(here.shape.partners(there.shape))
                known = np.flatnonzero(truth >= 0)
                tally.count(arrays, {n: maps[n].energy for n in READ_OUTS}, best)
                tally.ask(b, arrays, truth, rng.permutation(known)[:_MEASURED])
                if out is not None:
                    record = {**config, "mesh_1": a, "mesh_2": b, "read_out": own}
                    write_npz(out / f"{a}__{b}.npz", {"map_12": arrays[own]}, record)
            bar.advance(task)
    seconds = time.perf_counter() - start
    tally.measure(opened, workers)
    return {"pairs": tally.pairs, "seconds": seconds, "read_outs": tally.summary()}


def _write_class_maps(
    network: Any,
    about: About,
    store: Store,
    names: Sequence[str],
    out: Path,
    config: dict[str, Any],
) -> dict[str, Any]:
    """Write the maps of a network that names classes; `finsler benchmark --maps` measures them."""
    start, count = time.perf_counter(), len(names) * (len(names) - 1)
    with progress_bar() as bar:
        task = bar.add_task("matching", total=count)
        for a, b, images in class_maps(network, about, store, names):
            record = {**config, "mesh_1": a, "mesh_2": b, "read_out": "classes"}
            write_npz(out / f"{a}__{b}.npz", {"map_12": images}, record)
            bar.advance(task)
    return {"pairs": count, "seconds": time.perf_counter() - start, "read_outs": {}}


class _Tally:
    """Energies and errors of all pairs, for each read-out and for the chosen ones."""

    def __init__(self) -> None:
        self.pairs = 0
        self._energies: dict[str, list[float]] = defaultdict(list)
        self._chosen: list[str] = []
        # For each target shape: pair, true vertices, and the images of each read-out.
        self._asked: dict[str, list[tuple[int, IntArray, IntArray]]] = defaultdict(list)
        self._errors: dict[int, FloatArray] = {}

    def count(self, arrays: dict[str, Any], energies: dict[str, float], best: str) -> None:
        """One more pair."""
        self.pairs += 1
        self._chosen.append(best)
        for name in arrays:
            self._energies[name].append(energies[name])

    def ask(self, target: str, arrays: dict[str, Any], truth: Any, known: IntArray) -> None:
        """Remember what is to be measured of the last pair."""
        if len(known):
            images = np.stack([arrays[name][known] for name in READ_OUTS]).astype(np.int64)
            self._asked[target].append((self.pairs - 1, truth[known].astype(np.int64), images))

    def measure(self, store: Store, workers: WorkerOptions) -> None:
        """Mean errors (read-outs,) of each pair whose truth is known, in √area."""
        tasks = (
            (name, (TriMesh(store[name].vertices, store[name].faces), asked))
            for name, asked in self._asked.items()
        )
        for done in run(_mean_errors, tasks, workers.of(len(self._asked))):
            self._errors |= done.required()

    def summary(self) -> dict[str, Any]:
        """For each read-out, and for the one of least energy, means over pairs."""
        rows = {}
        chosen = np.array([READ_OUTS.index(name) for name in self._chosen])
        pairs = np.array(sorted(self._errors), dtype=np.int64)
        errors = np.array([self._errors[pair] for pair in pairs.tolist()])
        for number, name in enumerate((*READ_OUTS, "auto")):
            column = chosen if name == "auto" else np.full(len(chosen), number)
            energies = np.stack([self._energies[each] for each in READ_OUTS], axis=1)
            row: dict[str, Any] = {"energy": float(_pick(energies, column).mean())}
            if len(pairs):
                means = _pick(errors, column[pairs])
                row |= {"error": 100 * float(means.mean()), "failed": int((means > _FAILED).sum())}
            if name != "auto":
                row["chosen"] = int((chosen == number).sum())
            rows[name] = row
        return rows


def _pick(table: FloatArray, column: IntArray) -> FloatArray:
    return np.asarray(table[np.arange(len(table)), column])


def _mean_errors(
    mesh: TriMesh, asked: list[tuple[int, IntArray, IntArray]]
) -> dict[int, FloatArray]:
    surface = SurfaceDistances(mesh)
    return {
        pair: np.array([surface.along_edges(truth, row).mean() for row in images])
        for pair, truth, images in asked
    }
