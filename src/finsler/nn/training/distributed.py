"""Several processes that train one network, as `torchrun` starts them."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from finsler.errors import InputError

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Team:
    """The processes of a run, and which of them this one is; only the first writes files."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def wrap(self, network: nn.Module) -> nn.Module:
        """The network with gradients averaged over the processes."""
        if self.size == 1:
            return network
        ids = [self.device.index] if self.device.type == "cuda" else None
        return nn.parallel.DistributedDataParallel(network, device_ids=ids)

    def gather(self, values: Tensor) -> Tensor:
        """Vectors (k,) of all processes as (size, k), on each of them."""
        if self.size == 1:
            return values[None]
        parts = [torch.empty_like(values) for _ in range(self.size)]
        torch.distributed.all_gather(parts, values)
        return torch.stack(parts)

    def wait(self) -> None:
        """Until all processes are here."""
        if self.size > 1:
            torch.distributed.barrier()

    def align(self, network: nn.Module) -> None:
        """Give all processes the running statistics of the first."""
        if self.size > 1:
            for buffer in network.buffers():
                torch.distributed.broadcast(buffer, 0)


def share(items: Sequence[_Item], rank: int, size: int) -> list[_Item]:
    """Every `size`-th item, as many for each process: the first ones repeat to fill up.

    Examples
    --------
    >>> share("abc", 0, 2), share("abc", 1, 2)
    (['a', 'c'], ['b', 'a'])
    """
    steps = -(-len(items) // size)
    return [items[(step * size + rank) % len(items)] for step in range(steps)]


@contextmanager
def join_team(device: str) -> Iterator[Team]:
    """Join the other processes where there are any (RANK and WORLD_SIZE are set)."""
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    chosen = _device(device, int(os.environ.get("LOCAL_RANK", 0)))
    if size == 1:
        yield Team(0, 1, chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    torch.distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Team(rank, size, chosen)
        # What holds the group must go before it does, or the process may abort when it ends.
        gc.collect()
        torch.distributed.barrier()
    finally:
        torch.distributed.destroy_process_group()


def _device(name: str, index: int) -> torch.device:
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise InputError('device is "cuda", but torch finds no such device here; use "auto"')
    if index >= torch.cuda.device_count():
        raise InputError(
            f"process {index} of this machine has no device of its own: there are"
            f" {torch.cuda.device_count()}; start fewer processes"
        )
    return torch.device("cuda", index)
