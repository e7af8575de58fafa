"""Training of the model in the box, and the command that rebuilds it: `make model`.

People and animals are made by this package, many builds, poses and triangulations of them, with
exact ground truth. A network learns features such that the points that correspond on two of them
are alike. No data set is used, so that the weights are as free as the code.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from finsler.compute.cluster import Workers
from finsler.descriptors.directed import BORDER, INTRINSIC
from finsler.descriptors.learned import FeatureModel
from finsler.nn.maps.directed_net import DirectedNet, contrastive_loss
from finsler.nn.training.box_shapes import (
    SPECIES,
    BoxShape,
    HistogramAxes,
    kept_shapes,
    load_shapes,
    make_shapes,
    reference_points,
    sample_histograms,
)

# Numbers of wave kernel signatures, the first of the inputs.
_WAVES = 32
# Mean error, in √area, above which a map counts as failed.
_FAILED = 0.12
_LARGEST_SCALE = 60.0


@dataclass(frozen=True)
class BoxConfig:
    """All that decides a training.

    Attributes
    ----------
    shapes, held_out : int
        Of each species, and how many of them, the first ones, only measure.
    cut : int
        Parts of shapes of each species, besides, that the network of parts learns from.
    channels, blocks, features, histogram : int
        Of the network: width, blocks, numbers that it finds at a vertex, and directions of the
        histograms that it reads.
    steps, together, points : int
        Steps, shapes of one species in each, and points that are compared.
    rate, decay : float
        Largest learning rate and weight decay of AdamW.
    near : float
        Distance in √area within which points count as the same, see `contrastive_loss`.
    noise, drop : float
        Added to the inputs; chance that the histograms or the signatures of a shape are left out.
    half : bool
        Compute linear layers in bfloat16: twice as fast on processors that know it.
    parts : bool
        Learn from parts of shapes too, not only from whole ones, and be told where borders are.
    seed : int
    """

    shapes: int = 1400
    held_out: int = 40
    cut: int = 800
    channels: int = 96
    blocks: int = 4
    features: int = 128
    histogram: int = 64
    steps: int = 10000
    together: int = 3
    points: int = 600
    rate: float = 2e-3
    decay: float = 1e-2
    near: float = 0.02
    noise: float = 0.1
    drop: float = 0.15
    half: bool = True
    parts: bool = True
    seed: int = 0

    @property
    def name(self) -> str:
        """Of the file of the model, as the package looks for it."""
        return "model_parts" if self.parts else "model"


class BoxTraining:
    """A network on its way, resumed from the folder where one was left there.

    Parameters
    ----------
    folder : Path
        Holds `shapes`, `parts` and the checkpoint.
    config : BoxConfig
    """

    def __init__(self, folder: Path, config: BoxConfig) -> None:
        self.folder, self.config = folder, config
        paths = {kind: kept_shapes(folder / "shapes", kind) for kind in SPECIES}
        few = [path for kind in SPECIES for path in paths[kind][:60]]
        self.axes = HistogramAxes.of(sample_histograms(few), config.histogram)
        self.seen, self.unseen = {}, {}
        for kind in SPECIES:
            cut = kept_shapes(folder / "parts", kind)[: config.cut] if config.parts else []
            held = config.held_out
            learned = load_shapes([*paths[kind][held:], *cut[held:]], self.axes, config.parts)
            self.seen[kind] = [shape for shape in learned if config.parts or not shape.part]
            measured = load_shapes([*paths[kind][:held], *cut[:held]], self.axes, config.parts)
            self.unseen[kind] = list(measured)
        self.reference = {kind: reference_points(kind) for kind in SPECIES}
        torch.manual_seed(config.seed)
        self.network = DirectedNet(
            INTRINSIC + config.histogram + (BORDER if config.parts else 0),
            config.features,
            channels=config.channels,
            blocks=config.blocks,
        )
        self.log_scale = torch.nn.Parameter(torch.tensor(np.log(14.0), dtype=torch.float32))
        parameters = [*self.network.parameters(), self.log_scale]
        self.optimiser = torch.optim.AdamW(parameters, lr=config.rate, weight_decay=config.decay)
        self.step = 0
        if self.checkpoint.exists():
            self._resume()

    @property
    def checkpoint(self) -> Path:
        """The file that a training is resumed from."""
        return self.folder / f"{self.config.name}.safetensors"

    def train(self, *, every: int = 500, notify: Callable[[str], None] = print) -> None:
        """Take all steps that are left; measure and write every so many."""
        start, first, losses = time.perf_counter(), self.step, []
        while self.step < self.config.steps:
            losses.append(self._take_step())
            if self.step % every == 0 or self.step == self.config.steps:
                seconds = (time.perf_counter() - start) / (self.step - first)
                found = ", ".join(
                    f"{kind} {100 * error:.2f} ({100 * failed:.0f}% fail)"
                    for kind, (error, failed) in self.measure().items()
                )
                notify(
                    f"step {self.step}: loss {np.mean(losses[-every:]):.3f},"
                    f" {seconds:.3f} s a step, held out: {found}"
                )
                self._save()

    def _take_step(self) -> float:
        """One step on a few shapes of one species; the random numbers are those of its number."""
        config, rng = self.config, np.random.default_rng([self.config.seed, self.step])
        torch.manual_seed(int(rng.integers(2**31)))
        for group in self.optimiser.param_groups:
            group["lr"] = _rate(config, self.step)
        kind = SPECIES[self.step % len(SPECIES)]
        chosen = _chosen(self.seen[kind], config.together, rng)
        known = torch.stack([shape.points >= 0 for shape in chosen]).all(dim=0).nonzero()[:, 0]
        points = known[torch.randperm(len(known))[: config.points]]
        with torch.autocast("cpu", torch.bfloat16, enabled=config.half):
            features = [
                self.network(self._disturbed(shape, rng), shape.domain)[shape.points[points]]
                for shape in chosen
            ]
        rest = self.reference[kind][points]
        scale = self.log_scale.exp().clamp(max=_LARGEST_SCALE)
        loss = contrastive_loss(features, torch.cdist(rest, rest), scale, config.near)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        return loss.item()

    def _disturbed(self, shape: BoxShape, rng: np.random.Generator) -> Tensor:
        """The inputs with noise, some without their histograms or signatures."""
        inputs = shape.inputs.clone()
        known = INTRINSIC + self.config.histogram
        inputs[:, :known] += self.config.noise * torch.randn_like(inputs[:, :known])
        chance = rng.random()
        if chance < self.config.drop:
            inputs[:, INTRINSIC : INTRINSIC + self.config.histogram] = 0.0
        elif chance < 1.5 * self.config.drop:
            inputs[:, :_WAVES] = 0.0
        return inputs

    @torch.no_grad()
    def measure(self) -> dict[str, tuple[float, float]]:
        """Mean error of nearest features on held-out shapes, in √area, and share of failed maps."""
        results = {}
        for kind, shapes in self.unseen.items():
            features = [self.network(shape.inputs, shape.domain) for shape in shapes]
            whole = [i for i, shape in enumerate(shapes) if not shape.part]
            # Many of the pairs are one individual in two poses.
            parts = [i for i, shape in enumerate(shapes) if shape.part]
            pairs = {
                kind: list(pairwise([*whole, whole[0]])),
                f"parts of {kind}s": list(zip(parts, cycle(whole), strict=False)),
            }
            for name, some in pairs.items():
                if not some:
                    continue
                errors = [
                    _nearest_error(shapes[i], shapes[j], features[i], features[j]) for i, j in some
                ]
                failed = np.mean(np.array(errors) > _FAILED)
                results[name] = (float(np.mean(errors)), float(failed))
        return results

    def export(self, path: Path, card: dict[str, Any]) -> FeatureModel:
        """Write the network as the package reads it."""
        parameters = self.network.state_dict().items()
        weights = {name: value.numpy() for name, value in parameters}
        axes = self.axes
        model = FeatureModel(weights, axes.middle, axes.axes, axes.scale, card)
        model.write(path)
        return model

    def _save(self) -> None:
        state = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        for number, moments in self.optimiser.state_dict()["state"].items():
            state |= {f"adam.{number}.{name}": value for name, value in moments.items()}
        state |= {"log_scale": self.log_scale.data, "step": torch.tensor(self.step)}
        partial = self.checkpoint.with_suffix(".partial")
        save_file({name: value.contiguous() for name, value in state.items()}, partial)
        partial.replace(self.checkpoint)

    def _resume(self) -> None:
        state = load_file(self.checkpoint)
        self.step = int(state.pop("step"))
        self.log_scale.data = state.pop("log_scale")
        names = [name for name in state if name.startswith("network.")]
        self.network.load_state_dict({n.removeprefix("network."): state[n] for n in names})
        moments: dict[int, dict[str, Tensor]] = {}
        for name in state:
            if name.startswith("adam."):
                _, number, moment = name.split(".")
                moments.setdefault(int(number), {})[moment] = state[name]
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})


def _chosen(shapes: list[BoxShape], count: int, rng: np.random.Generator) -> list[BoxShape]:
    """So many shapes, of which all but the first are whole: two parts may have little in common."""
    order = rng.permutation(len(shapes))
    whole = [i for i in order[1:] if not shapes[i].part]
    return [shapes[i] for i in (order[0], *whole[: count - 1])]


def _rate(config: BoxConfig, step: int) -> float:
    """The learning rate: up in 200 steps, then down to a hundredth along a cosine."""
    share = 0.5 * (1.0 + np.cos(np.pi * step / config.steps))
    return float(config.rate * min(1.0, (step + 1) / 200) * (0.01 + 0.99 * share))


def _nearest_error(one: BoxShape, other: BoxShape, here: Tensor, there: Tensor) -> float:
    """Mean straight distance from the nearest in features to the truth, in √area."""
    known = (one.points >= 0) & (other.points >= 0)
    images = (here[one.points[known]] @ there.T).argmax(dim=1)
    apart = other.vertices[images] - other.vertices[other.points[known]]
    return float(apart.norm(dim=1).mean())


def model_card(
    version: str, config: BoxConfig, held_out: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    """What is kept with the weights: made of what, how, and how good on shapes held out."""
    return {
        "version": version,
        "trained on": "persons and animals made by finsler.data.synthetic_collection",
        "command": "make model",
        "parts": config.parts,
        "config": asdict(config),
        "held out": {
            kind: {"mean error, nearest in features": round(error, 4), "failed": round(failed, 3)}
            for kind, (error, failed) in held_out.items()
        },
        "license": "BSD-3-Clause, as the package",
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the shapes, train one network on whole shapes and one on parts too, and write both.

    Two commands with `--only whole` and `--only parts` train both at once, once shapes are made.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path, help="where shapes and checkpoints are kept")
    parser.add_argument("out", type=Path, help="folder in which model.npz and model_parts.npz go")
    parser.add_argument("--steps", type=int, default=BoxConfig.steps)
    parser.add_argument("--shapes", type=int, default=BoxConfig.shapes)
    parser.add_argument("--cut", type=int, default=BoxConfig.cut, help="parts of each species")
    parser.add_argument("--threads", type=int, default=0, help="of torch; 0 for its own choice")
    parser.add_argument("--only", choices=("whole", "parts"), help="train this network alone")
    parser.add_argument("--version", default="5")
    given = parser.parse_args(arguments)
    if given.threads:
        torch.set_num_threads(given.threads)
    for kind in SPECIES:
        made = make_shapes(given.folder / "shapes", kind, given.shapes, Workers())
        cut = make_shapes(given.folder / "parts", kind, given.cut, Workers(), parts=True)
        print(f"{len(made)} shapes of species {kind}, {len(cut)} parts", flush=True)
    for parts in {"whole": (False,), "parts": (True,)}.get(given.only, (False, True)):
        config = BoxConfig(steps=given.steps, shapes=given.shapes, cut=given.cut, parts=parts)
        training = BoxTraining(given.folder, config)
        training.train(notify=lambda sentence: print(sentence, flush=True))
        card = model_card(given.version, config, training.measure())
        training.export(given.out / f"{config.name}.npz", card)


if __name__ == "__main__":
    main()
