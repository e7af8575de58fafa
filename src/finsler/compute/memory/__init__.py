"""How much memory a computation needs, said before it starts."""

from finsler.compute.memory.estimates import GIB, TASKS, Estimate, estimate
from finsler.compute.memory.limits import SOLVERS, choose, require
from finsler.compute.memory.machine import available, limited, resident

__all__ = [
    "GIB",
    "SOLVERS",
    "TASKS",
    "Estimate",
    "available",
    "choose",
    "estimate",
    "limited",
    "require",
    "resident",
]
