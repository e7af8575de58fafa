"""How much memory a computation needs, said before it starts."""

from finsler.memory.estimates import GIGABYTE, TASKS, Estimate, estimate
from finsler.memory.limits import SOLVERS, choose, require
from finsler.memory.machine import available, limited

__all__ = [
    "GIGABYTE",
    "SOLVERS",
    "TASKS",
    "Estimate",
    "available",
    "choose",
    "estimate",
    "limited",
    "require",
]
