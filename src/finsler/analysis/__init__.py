"""What operators are for: spectra, heat, convolution, distances and paths."""

from finsler.analysis.angle_kernels import KernelFilter, angle_kernels
from finsler.analysis.distance import randers_distance
from finsler.analysis.distance_fields import DistanceField, distance_fields
from finsler.analysis.dual_energy import (
    finsler_energy,
    finsler_laplacian_apply,
    finsler_laplacian_at,
)
from finsler.analysis.finsler_heat import (
    FinslerHeatFlow,
    FinslerHeatStep,
    finsler_heat_flow,
    finsler_heat_step,
)
from finsler.analysis.geodesic import geodesic_distance, geodesic_matrix
from finsler.analysis.gps import gps
from finsler.analysis.heat import (
    averaged_heat_kernel,
    diffuse,
    diffuser,
    drift_source,
    finsler_flow,
    heat_kernel,
)
from finsler.analysis.kernels import (
    chebyshev_filter,
    chebyshev_polynomial,
    convolution_kernel,
    convolve,
)
from finsler.analysis.paths import GeodesicPath, geodesic_path
from finsler.analysis.point_heat import heat_flow, point_heat
from finsler.analysis.randers_heat import RandersHeat
from finsler.analysis.spectrum import Spectrum, spectrum

__all__ = [
    "DistanceField",
    "FinslerHeatFlow",
    "FinslerHeatStep",
    "GeodesicPath",
    "KernelFilter",
    "RandersHeat",
    "Spectrum",
    "angle_kernels",
    "averaged_heat_kernel",
    "chebyshev_filter",
    "chebyshev_polynomial",
    "convolution_kernel",
    "convolve",
    "diffuse",
    "diffuser",
    "distance_fields",
    "drift_source",
    "finsler_energy",
    "finsler_flow",
    "finsler_heat_flow",
    "finsler_heat_step",
    "finsler_laplacian_apply",
    "finsler_laplacian_at",
    "geodesic_distance",
    "geodesic_matrix",
    "geodesic_path",
    "gps",
    "heat_flow",
    "heat_kernel",
    "point_heat",
    "randers_distance",
    "spectrum",
]
