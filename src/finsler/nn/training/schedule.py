"""The learning rate as a function of the step alone, so that nothing of it need be stored."""

from __future__ import annotations

import math

from finsler.nn.training.config import TrainConfig

# Of the one-cycle schedule: the rising share, and the first and the last rate as shares of the
# largest; the values of `torch.optim.lr_scheduler.OneCycleLR`.
_RISING, _FIRST, _LAST = 0.3, 1 / 25, 1 / 25e4


def learning_rate(config: TrainConfig, step: int, steps_per_epoch: int) -> float:
    """The rate of a step, counted from 0 over the whole run.

    Examples
    --------
    >>> config = TrainConfig(schedule="steps", step_epochs=(2,), learning_rate=0.5)
    >>> [learning_rate(config, step, 10) for step in (0, 19, 20)]
    [0.5, 0.5, 0.05]
    """
    return config.learning_rate * _share(config, step, steps_per_epoch)


def _share(config: TrainConfig, step: int, steps_per_epoch: int) -> float:
    total = config.epochs * steps_per_epoch
    if config.schedule == "onecycle":
        return _one_cycle(step, total)
    rising = config.warm_up * steps_per_epoch
    if step + 1 < rising:
        return (step + 1) / rising
    if config.schedule == "cosine":
        return _cosine(1.0, 0.0, max(0.0, step - rising) / max(1.0, total - rising))
    if config.schedule == "steps":
        passed = sum(step >= epoch * steps_per_epoch for epoch in config.step_epochs)
        return float(config.step_factor**passed)
    return 1.0


def _one_cycle(step: int, total: int) -> float:
    top, end = _RISING * total - 1, total - 1
    if step <= top:
        return _cosine(_FIRST, 1.0, step / top if top > 0 else 1.0)
    return _cosine(1.0, _LAST, (step - top) / (end - top))


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2
