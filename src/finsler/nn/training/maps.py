"""Learning of maps between shapes, without labels unless they are asked for.

Each step takes a few shapes, describes their vertices with the network, and lowers the energy of
the maps between every two of them.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from finsler.data.store import Store
from finsler.errors import InputError
from finsler.nn.maps import MapLoss, nearest, pair_terms
from finsler.nn.maps.directed_shapes import BoxFeatures
from finsler.nn.training.checkpoint import About, load_model, save_checkpoint
from finsler.nn.training.config import TrainConfig
from finsler.nn.training.distributed import Team, share
from finsler.nn.training.folder import locked
from finsler.nn.training.log import Log
from finsler.nn.training.loop import (
    BEST,
    CONFIG,
    LAST,
    check_finite,
    check_same_run,
    check_weights,
    computing,
    forget,
    read_last,
    require_precision,
    store_key,
)
from finsler.nn.training.map_inputs import (
    input_channels,
    output_channels,
    require_start,
    start_network,
)
from finsler.nn.training.map_samples import MapShape, MapShapes, require_learnable
from finsler.nn.training.plan import learning_rate, split, torch_seed
from finsler.nn.training.stepper import make_optimiser, set_learning_rate
from finsler.storage.files import write_bytes

_TERMS = ("bijectivity", "orthogonality", "coupling", "resolution", "dirichlet", "diffusion")
# What a network that started from the model in the box leaves for matching.
MODEL = "model.npz"
# Pairs of held-out shapes that are looked at.
_VALIDATED = 30


def train_maps(
    store: Store,
    folder: str | os.PathLike[str],
    config: TrainConfig,
    *,
    restart: bool = False,
    on_step: Callable[[], None] = lambda: None,
    on_epoch: Callable[[dict[str, Any]], None] = lambda metrics: None,
    notify: Callable[[str], None] = lambda sentence: None,
) -> tuple[nn.Module, About]:
    """Train a network whose features match any two shapes, or continue the run in the folder.

    Arguments, files, results and errors are those of [`train`][finsler.nn.training.train], for
    `config.objective` "maps". `best.safetensors` is the epoch of least energy on the maps between
    shapes held out by `validation`, with `supervised` that of least error; without held-out shapes
    there is none.

    Raises
    ------
    InputError
        Besides: one shape only, too few eigenpairs, or ground truth that is asked for and missing.
    """
    path = Path(folder)
    with computing(config, notify) as (team, own):
        about = about_maps(store, own)
        if team.leads:
            path.mkdir(parents=True, exist_ok=True)
        with locked(path) if team.leads else nullcontext():
            run = _MapRun(store, path, about, team, restart, notify)
            while run.about.epoch < own.epochs:
                on_epoch(run.next_epoch(on_step))
            if team.leads and own.maps_start == "box":
                notify(f"wrote {_write_model(path, store)}, for finsler match --model")
            return run.network.eval(), run.about


def _write_model(folder: Path, store: Store) -> Path:
    """Write a network that started from the model in the box as such a model: of its best epoch."""
    network, about = load_model(folder / (BEST if (folder / BEST).exists() else LAST), device="cpu")
    assert isinstance(network, BoxFeatures)
    supervised = "with" if about.config.supervised else "without"
    card = {
        "version": f"tuned-{store_key(store)[:8]}-{about.epoch}-seed{about.config.seed}",
        "trained_on": f"the model in the box, tuned on {store.name} {supervised} labels",
        "settings": about.config.record(),
        "epochs": about.epoch,
        "shapes": len(store.train),
    }
    return network.as_model(card).write(folder / MODEL)


def about_maps(store: Store, config: TrainConfig) -> About:
    """What a new run on a store knows of itself."""
    if store.config.eigenpairs < config.maps_basis:
        raise InputError(
            f"{store.folder}: the store was prepared with {store.config.eigenpairs} eigenpairs, and"
            f" maps_basis is {config.maps_basis}; prepare with --eigenpairs {config.maps_basis}, or"
            " lower maps_basis"
        )
    if config.rotation > 0:
        raise InputError("rotation is for objective = labels; leave it at 0 for maps")
    require_start(config, store.config)
    if input_channels(config, store.config) == 0:
        raise InputError(f"{store.folder}: the store has no features; prepare with a descriptor")
    return About(
        config=config,
        in_channels=input_channels(config, store.config),
        classes=output_channels(config),
        angles=store.config.angles,
        prepare=store.config,
        data=store_key(store),
    )


def map_loss(config: TrainConfig) -> MapLoss:
    """The loss that settings describe."""
    weights = {name: getattr(config, f"maps_{name}") for name in _TERMS}
    if config.supervised:
        weights["truth"] = config.maps_truth
    if not any(weights.values()):
        raise InputError("all weights of the loss are 0, so nothing is learned; raise one of them")
    return MapLoss(weights, config.maps_temperature, config.maps_commutativity)


class MapObjective(nn.Module):
    """The loss of a network on the maps between several shapes."""

    def __init__(self, network: nn.Module, config: TrainConfig) -> None:
        super().__init__()
        self.network, self.config, self.loss = network, config, map_loss(config)

    def describe(self, shapes: Sequence[MapShape]) -> list[Tensor]:
        """Features (n, c) of each shape."""
        inputs, mixed = torch.cat([s.features for s in shapes]), self.config.precision == "bf16"
        if self.training and self.config.feature_noise > 0:
            inputs = inputs + self.config.feature_noise * torch.randn_like(inputs)
        domain = type(shapes[0].domain).batch([shape.domain for shape in shapes])
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=mixed):
            features: Tensor = self.network(inputs, domain)
        return list(torch.split(features.float(), [len(s.features) for s in shapes]))

    def forward(self, shapes: Sequence[MapShape]) -> Tensor:
        """The mean over all pairs."""
        described = list(zip(shapes, self.describe(shapes), strict=True))
        totals = [self.pair(*pair) for pair in combinations(described, 2)]
        return torch.stack(totals).mean()

    def pair(self, one: tuple[MapShape, Tensor], other: tuple[MapShape, Tensor]) -> Tensor:
        """The loss of the maps between two described shapes."""
        (shape_1, features_1), (shape_2, features_2) = one, other
        known = None
        if self.loss.uses("truth"):
            known = _at_points(shape_1, shape_2), _at_points(shape_2, shape_1)
        bases = shape_1.basis, shape_2.basis
        terms = pair_terms((features_1, features_2), bases, self.loss, partners=known)
        return self.loss.total(terms)


def _at_points(one: MapShape, other: MapShape) -> Tensor:
    """The point of the other shape for each point of one, (m_1,); −1 where it is not known."""
    position = torch.full((len(other.labels) + 1,), -1, device=one.labels.device)
    points = other.basis.points
    position[points] = torch.arange(len(points), device=points.device)
    return position[one.partners(other)[one.basis.points]]


def epoch_groups(names: Sequence[str], config: TrainConfig, epoch: int) -> list[tuple[str, ...]]:
    """The shapes of an epoch's steps: each once, and again where the last group would be short."""
    size = min(config.maps_shapes, len(names))
    order = np.random.default_rng([config.seed, epoch]).permutation(len(names)).tolist()
    groups = [order[start : start + size] for start in range(0, len(order), size)]
    groups[-1] += [i for i in order if i not in groups[-1]][: size - len(groups[-1])]
    return [tuple(names[i] for i in group) for group in groups]


class _MapRun:
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
        self.folder, self.about, self.team, self.config = folder, about, team, about.config
        require_precision(self.config, team)
        for sentence in require_learnable(store, about):
            notify(sentence)
        self.names, held_out = split(store.train, self.config)
        self.validated = _validation_pairs(self.names, held_out)
        torch.manual_seed(torch_seed(self.config, 0, 0))
        self.network = start_network(about.build()).to(team.device)
        self.optimiser = make_optimiser(self.network, self.config)
        if team.leads and restart:
            forget(folder)
        team.wait()
        if (folder / LAST).exists():
            checkpoint = read_last(folder)
            check_same_run(checkpoint, about)
            checkpoint.load(self.network, self.optimiser)
            self.about = dataclasses.replace(about, history=checkpoint.about.history)
            notify(f"continuing after epoch {self.about.epoch} of {self.config.epochs}")
        self.shapes = MapShapes(store, about, team.device)
        self.objective = MapObjective(self.network, self.config)
        self.step = team.wrap(self.objective)
        if team.leads:
            write_bytes(folder / CONFIG, self.config.to_toml().encode())
            self.log = Log(folder, self.about.history, notify)

    def next_epoch(self, on_step: Callable[[], None]) -> dict[str, Any]:
        """Train for an epoch, evaluate and write; its metrics."""
        epoch = self.about.epoch + 1
        metrics = {"epoch": epoch, **self._train(epoch, on_step)}
        if epoch % self.config.evaluate_every == 0 or epoch == self.config.epochs:
            metrics |= self._validate()
        before = self.about.history
        self.about = dataclasses.replace(self.about, history=(*before, metrics))
        if self.team.leads:
            # In this order an epoch that was interrupted is done again.
            best = best_maps(self.about.history, self.config)
            if best is not None and best["epoch"] == epoch:
                save_checkpoint(self.folder / BEST, self.about, self.network)
            if epoch % self.config.checkpoint_every == 0 or epoch == self.config.epochs:
                save_checkpoint(self.folder / LAST, self.about, self.network, self.optimiser)
            self.log.write(metrics)
        return metrics

    def _train(self, epoch: int, on_step: Callable[[], None]) -> dict[str, Any]:
        team, start = self.team, time.perf_counter()
        groups = epoch_groups(self.names, self.config, epoch)
        mine = share(groups, team.rank, team.size)
        torch.manual_seed(torch_seed(self.config, epoch, team.rank))
        self.step.train()
        losses, rate = [], 0.0
        for number, names in enumerate(mine, start=(epoch - 1) * len(mine)):
            rate = learning_rate(self.config, number, len(mine))
            set_learning_rate(self.optimiser, rate)
            self.optimiser.zero_grad(set_to_none=True)
            loss = self.step([self.shapes[name] for name in names])
            loss.backward()
            self.optimiser.step()
            losses.append(loss.detach())
            on_step()
        gathered = team.gather(torch.stack(losses)).cpu()
        check_finite(gathered, groups, epoch)
        check_weights(self.network, epoch)
        seconds = time.perf_counter() - start
        peak = {}
        if team.device.type == "cuda":
            peak["peak_gib"] = torch.cuda.max_memory_allocated(team.device) / 2**30
        loss_mean = gathered.double().mean().item()
        return {"loss": loss_mean, "learning_rate": rate, "seconds": seconds, **peak}

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        """Energy of the maps between held-out shapes, and their mean error where it is known."""
        self.objective.eval()
        names = sorted({name for pair in self.validated for name in pair})
        features = {name: self.objective.describe([self.shapes[name]])[0] for name in names}
        energies, errors = [], []
        for a, b in self.validated:
            one, other = self.shapes[a], self.shapes[b]
            energies.append(self.objective.pair((one, features[a]), (other, features[b])))
            errors += straight_errors(one, other, features[a], features[b])
        metrics = {}
        if energies:
            metrics["validation_energy"] = torch.stack(energies).mean().item()
        if errors:
            metrics["validation_error"] = torch.stack(errors).mean().item()
        return metrics


def straight_errors(
    one: MapShape, other: MapShape, features_1: Tensor, features_2: Tensor
) -> list[Tensor]:
    """Mean straight distance from nearest in features to the truth, in √area; empty if unknown."""
    truth = one.partners(other)
    known = (truth >= 0).nonzero()[:, 0]
    if len(known) == 0:
        return []
    unit_1, unit_2 = (nn.functional.normalize(f, dim=1) for f in (features_1, features_2))
    images = nearest(unit_1[known], unit_2)
    return [(other.vertices[images] - other.vertices[truth[known]]).norm(dim=1).mean()]


def best_maps(history: Sequence[dict[str, Any]], config: TrainConfig) -> dict[str, Any] | None:
    """The epoch of best.safetensors and what it was chosen on; None where nothing was held out."""
    key = "validation_error" if config.supervised else "validation_energy"
    measured = [metrics for metrics in history if key in metrics]
    if not measured:
        return None
    best = min(measured, key=lambda metrics: float(metrics[key]))
    return {"epoch": best["epoch"], "value": best[key], "chosen_on": key.replace("_", " ")}


def _validation_pairs(names: Sequence[str], held_out: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of held-out shapes; a single one is matched with shapes that are learned from."""
    if len(held_out) == 1:
        return [(held_out[0], name) for name in names[:4]]
    pairs = list(combinations(held_out, 2))
    return pairs[:: max(1, len(pairs) // _VALIDATED)]
