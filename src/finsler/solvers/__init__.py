"""Solution of sparse systems, by factorisation or by iteration."""

from finsler.solvers.factor import Solve, factorise, factorise_unsymmetric
from finsler.solvers.iteration import iterate, iterate_decaying

__all__ = ["Solve", "factorise", "factorise_unsymmetric", "iterate", "iterate_decaying"]
