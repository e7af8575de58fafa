"""The loop over epochs: reproducible, and continued where it was interrupted."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from finsler.data.store import Store
from finsler.errors import ConvergenceError, InputError
from finsler.nn.training.checkpoint import About, Checkpoint, save_checkpoint
from finsler.nn.training.config import TrainConfig
from finsler.nn.training.distributed import Team, join_team, share
from finsler.nn.training.folder import locked
from finsler.nn.training.log import CURVES, METRICS, Log, clear_curves
from finsler.nn.training.models import outline, require_memory
from finsler.nn.training.naming import named_points
from finsler.nn.training.plan import epoch_batches, learning_rate, split, torch_seed
from finsler.nn.training.prediction import count_exact
from finsler.nn.training.samples import Samples
from finsler.nn.training.stepper import (
    GraphStepper,
    Stepper,
    has_bf16,
    make_optimiser,
    matrix_precision,
)
from finsler.storage.files import write_bytes
from finsler.storage.hashing import bytes_key

LAST, BEST, CONFIG = "last.safetensors", "best.safetensors", "config.toml"
PREDICTIONS = "predictions.npz"


def train(
    store: Store,
    folder: str | os.PathLike[str],
    config: TrainConfig | None = None,
    *,
    restart: bool = False,
    on_step: Callable[[], None] = lambda: None,
    on_epoch: Callable[[dict[str, Any]], None] = lambda metrics: None,
    notify: Callable[[str], None] = lambda sentence: None,
) -> tuple[nn.Module, About]:
    """Train a network on the shapes of a store, or continue the run in the folder.

    All random numbers follow from the seed and the epoch (torch's own generators are set), so a run
    that was interrupted and continued gives, on the CPU, the same weights as an undisturbed one.

    Parameters
    ----------
    store : Store
    folder : path
        Of the run; made if it does not exist. Gets `config.toml`, `metrics.jsonl`, `tensorboard/`,
        `last.safetensors`, and `best.safetensors`: the weights of the epoch with the most exact
        matches on the shapes held out by `validation`, or without those on the test shapes.
    config : TrainConfig, optional
        With the objective "maps" this is [`train_maps`][finsler.nn.training.train_maps].
    restart : bool
        Delete the run in the folder.
    on_step, on_epoch, notify : callable
        Called after each step, after each epoch with its metrics, and with sentences for the user.

    Returns
    -------
    network, about
        After the last epoch, in evaluation mode; `about.history` holds the metrics.

    Raises
    ------
    InputError
        The store cannot be learned from, the network does not fit into memory, the folder holds a
        run of another configuration, or another process trains there.
    ConvergenceError
        A loss or a weight is not finite; the last checkpoint stays as it is.
    """
    chosen, path = TrainConfig() if config is None else config, Path(folder)
    if chosen.objective == "maps":
        # That module builds on this one.
        from finsler.nn.training.maps import train_maps

        run_maps = partial(train_maps, on_step=on_step, on_epoch=on_epoch, notify=notify)
        return run_maps(store, folder, chosen, restart=restart)
    with computing(chosen, notify) as (team, own):
        about = about_run(store, own)
        if team.leads:
            path.mkdir(parents=True, exist_ok=True)
        with locked(path) if team.leads else nullcontext():
            run = _Run(store, path, about, team, restart, notify)
            while run.about.epoch < own.epochs:
                on_epoch(run.next_epoch(on_step))
            return run.network.eval(), run.about


@contextmanager
def computing(
    config: TrainConfig, notify: Callable[[str], None]
) -> Iterator[tuple[Team, TrainConfig]]:
    """The processes of a run, and its settings with the precision of their device."""
    with join_team(config.device) as team:
        own = config.on_device(team.device.type)
        if team.leads and team.device.type == "cuda":
            notify(f"on cuda, matrix products in {own.precision}")
        with matrix_precision(own.precision):
            yield team, own


class _Run:
    """A network on its way: what is loaded once, and what an epoch does."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        about: About,
        team: Team,
        restart: bool,
        notify: Callable[[str], None],
    ) -> None:
        self.folder, self.about, self.team = folder, about, team
        self.config = config = about.config
        require_precision(config, team)
        self.names, held_out = split(store.train, config)
        self.evaluated = {"validation": held_out, "test": store.test}
        # The reference tells how many vertices a shape has.
        vertices = config.batch * len(store[store.reference].vertices)
        require_memory(outline(about.build), vertices, device=team.device)
        torch.manual_seed(torch_seed(config, 0, 0))
        self.network = self.about.build().to(team.device)
        optimiser = make_optimiser(self.network, config)
        if team.leads and restart:
            forget(folder)
        team.wait()
        if (folder / LAST).exists():
            self._resume(read_last(folder), optimiser)
            notify(f"continuing after epoch {self.about.epoch} of {config.epochs}")
        self.samples = Samples(store, about, learned=self.names, device=team.device)
        self.stepper = self._stepper(optimiser)
        if team.leads:
            write_bytes(folder / CONFIG, config.to_toml().encode())
            self.log = Log(folder, self.about.history, notify)

    def _resume(self, checkpoint: Checkpoint, optimiser: torch.optim.Optimizer) -> None:
        check_same_run(checkpoint, self.about)
        checkpoint.load(self.network, optimiser)
        self.about = dataclasses.replace(self.about, history=checkpoint.about.history)

    def _stepper(self, optimiser: torch.optim.Optimizer) -> Stepper:
        one_shape = self.team.size == 1 and self.config.batch == 1
        if self.config.cuda_graphs and one_shape and self.team.device.type == "cuda":
            kept = self.samples.kept(self.names)
            return GraphStepper(self.network, optimiser, self.config, kept)
        return Stepper(self.network, optimiser, self.config, self.team.wrap)

    def next_epoch(self, on_step: Callable[[], None]) -> dict[str, Any]:
        """Train for an epoch, evaluate and write; its metrics."""
        epoch = self.about.epoch + 1
        metrics = {"epoch": epoch, **self._train(epoch, on_step)}
        if epoch % self.config.evaluate_every == 0 or epoch == self.config.epochs:
            metrics |= self._evaluate()
        before = self.about.history
        self.about = dataclasses.replace(self.about, history=(*before, metrics))
        if self.team.leads:
            self._write(metrics, before)
        return metrics

    def _train(self, epoch: int, on_step: Callable[[], None]) -> dict[str, Any]:
        team, start = self.team, time.perf_counter()
        batches = epoch_batches(self.names, self.config, epoch)
        mine = share(batches, team.rank, team.size)
        if team.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(team.device)
        torch.manual_seed(torch_seed(self.config, epoch, team.rank))
        self.network.train()
        losses, rate = [], 0.0
        for step, names in enumerate(mine, start=(epoch - 1) * len(mine)):
            rate = learning_rate(self.config, step, len(mine))
            self.stepper.set_learning_rate(rate)
            losses.append(self.stepper(self.samples(names)))
            on_step()
        # Only here does an epoch's training wait for the device.
        gathered = team.gather(torch.stack(losses)).cpu()
        check_finite(gathered, batches, epoch)
        check_weights(self.network, epoch)
        metrics = {
            "loss": gathered.double().mean().item(),
            "learning_rate": rate,
            "seconds": time.perf_counter() - start,
        }
        if team.device.type == "cuda":
            metrics["peak_gib"] = torch.cuda.max_memory_allocated(team.device) / 2**30
        return metrics

    def _evaluate(self) -> dict[str, float]:
        """Shares of exact matches, of the named and of all vertices."""
        team, shares = self.team, {}
        team.align(self.network)
        for split_name, names in self.evaluated.items():
            mine = names[team.rank :: team.size]
            counts = count_exact(
                self.network,
                self.samples,
                mine,
                softmax=self.config.softmax,
                points=self.samples.points,
            )
            right_named, named, right, every = team.gather(counts).sum(dim=0).tolist()
            if named:
                shares[f"{split_name}_named"] = right_named / named
            if every:
                shares[f"{split_name}_every"] = right / every
        return shares

    def _write(self, metrics: dict[str, Any], before: Sequence[dict[str, Any]]) -> None:
        # The best first and the metrics last: an epoch counts as done once `last` is there, and
        # one that was interrupted before is done again.
        score = best_score([metrics], self.config)
        if score > best_score(before, self.config):
            save_checkpoint(self.folder / BEST, self.about, self.network)
        epoch = self.about.epoch
        if epoch % self.config.checkpoint_every == 0 or epoch == self.config.epochs:
            optimiser = self.stepper.optimiser
            save_checkpoint(self.folder / LAST, self.about, self.network, optimiser)
        self.log.write(metrics)


def best_score(history: Sequence[dict[str, Any]], config: TrainConfig) -> float:
    """The largest share that epochs are chosen by; −1 where there is none."""
    chosen_on = "validation" if config.validation else "test"
    keys = (f"{chosen_on}_named", f"{chosen_on}_every")
    scores = [next((m[key] for key in keys if key in m), -1.0) for m in history]
    return max(scores, default=-1.0)


def about_run(store: Store, config: TrainConfig) -> About:
    """What a new run on a store knows of itself."""
    shape = store[store.train[0]] if store.train else None
    if shape is None or shape.features.shape[1] == 0:
        what = "no training shapes" if shape is None else "no features (descriptor none)"
        raise InputError(f"{store.folder}: the store has {what}; prepare another one")
    if config.rotation > 0 and shape.features.shape[1] != 3:
        raise InputError(
            "rotation turns coordinates; prepare the shapes with --descriptor xyz, or set it to 0"
        )
    points = named_points(store, config)
    return About(
        config=config,
        in_channels=shape.features.shape[1],
        classes=len(store[store.reference].vertices if points is None else points),
        angles=len(shape.theta),
        prepare=store.config,
        data=store_key(store),
    )


def require_precision(config: TrainConfig, team: Team) -> None:
    """Raise where the device of a run does not have the precision that its settings want."""
    if config.precision == "bf16" and team.device.type == "cpu" and not has_bf16():
        raise InputError(
            'precision "bf16" needs cuda or a processor that multiplies bfloat16 (AVX512-BF16,'
            ' AMX); use "float32" on this one'
        )


def store_key(store: Store) -> str:
    """A hash of the shapes of a store and of their split: which data a run learned from."""
    listed = json.dumps([store.train, store.test, store.reference, store.keys], sort_keys=True)
    return bytes_key(listed.encode())


def read_last(folder: Path) -> Checkpoint:
    """The last checkpoint of a run."""
    try:
        return Checkpoint.read(folder / LAST)
    except InputError as error:
        raise InputError(f"{error}; or forget that run with --restart") from error


def check_same_run(checkpoint: Checkpoint, about: About) -> None:
    """Raise where a checkpoint is of other settings or another store."""
    there = checkpoint.about
    remedy = "take another folder, or forget that run with --restart"
    changed = there.config.differences(about.config)
    if changed:
        name = changed[0]
        raise InputError(
            f"{checkpoint.path}: this run has {name} = {getattr(there.config, name)}, not"
            f" {getattr(about.config, name)}; {remedy}"
        )
    if there.data != about.data:
        raise InputError(f"{checkpoint.path}: this run learned from another store; {remedy}")


def check_finite(losses: Tensor, batches: Sequence[tuple[str, ...]], epoch: int) -> None:
    """Name the first step, and there the first process, whose loss (process, step) is no number."""
    bad = (~losses.isfinite()).T.nonzero()
    if len(bad) == 0:
        return
    step, rank = (int(i) for i in bad[0])
    names = ", ".join(share(batches, rank, len(losses))[step])
    raise ConvergenceError(
        f"the loss is {losses[rank, step].item()} in epoch {epoch}, step {step + 1}"
        f" (shape {names}); check the features of the shape or lower learning_rate; the last"
        " checkpoint is as it was"
    )


def check_weights(network: nn.Module, epoch: int) -> None:
    """Raise where the last step of an epoch, whose loss was still finite, spoiled the weights."""
    for name, weights in network.state_dict().items():
        if not weights.isfinite().all():
            raise ConvergenceError(
                f"{name} of the network is not finite after epoch {epoch}; lower learning_rate; the"
                " last checkpoint is as it was"
            )


def forget(folder: Path) -> None:
    """Delete the run in a folder."""
    # The checkpoint first: without it there is no run to go on with.
    for name in (LAST, BEST, METRICS, PREDICTIONS):
        (folder / name).unlink(missing_ok=True)
    clear_curves(folder / CURVES)
