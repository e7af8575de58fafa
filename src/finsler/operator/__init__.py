"""Stiffness, mass, and the Laplacians built from them."""

from finsler.operator.angles import AngleStack, angle_stack
from finsler.operator.delaunay import DelaunayLaplacian, delaunay_laplacian
from finsler.operator.directed import directed_metric, directed_stack
from finsler.operator.drift import DriftOperator, drift_operator
from finsler.operator.export import load_operators, save_operators
from finsler.operator.growth import growth_bound
from finsler.operator.laplacian import Laplacian, albo, flbo, laplacian, lbo
from finsler.operator.mass import consistent_mass, lumped_mass
from finsler.operator.rescale import ChebyshevOperators, chebyshev_operators, largest_eigenvalue

__all__ = [
    "AngleStack",
    "ChebyshevOperators",
    "DelaunayLaplacian",
    "DriftOperator",
    "Laplacian",
    "albo",
    "angle_stack",
    "chebyshev_operators",
    "consistent_mass",
    "delaunay_laplacian",
    "directed_metric",
    "directed_stack",
    "drift_operator",
    "flbo",
    "growth_bound",
    "laplacian",
    "largest_eigenvalue",
    "lbo",
    "load_operators",
    "lumped_mass",
    "save_operators",
]
