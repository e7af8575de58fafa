"""Anisotropic and Finsler-Laplace-Beltrami operators on triangle meshes.

>>> import finsler
>>> mesh = finsler.primitives.bumpy_sphere(12)
>>> laplacian = finsler.flbo(mesh, alpha=10.0, tau=0.1, theta=0.0)
>>> finsler.spectrum(laplacian, k=5).eigenvectors.shape
(1442, 5)

The public names are those of `__all__`. They are imported when first used, so that the command
line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finsler.analysis import (
        FinslerHeatFlow,
        FinslerHeatStep,
        GeodesicPath,
        RandersHeat,
        Spectrum,
        averaged_heat_kernel,
        chebyshev_filter,
        chebyshev_polynomial,
        convolution_kernel,
        convolve,
        diffuse,
        diffuser,
        drift_source,
        finsler_energy,
        finsler_flow,
        finsler_heat_flow,
        finsler_heat_step,
        finsler_laplacian_apply,
        finsler_laplacian_at,
        geodesic_distance,
        geodesic_matrix,
        geodesic_path,
        heat_kernel,
        randers_distance,
        spectrum,
    )
    from finsler.descriptors import hks, shot, shot_radius, wks
    from finsler.errors import ConvergenceError, InputError
    from finsler.frames import Curvature, FaceFrames, principal_curvature, principal_frames
    from finsler.mesh import (
        MeshHealth,
        MeshWarning,
        Repair,
        TriMesh,
        health,
        load_mesh,
        primitives,
        repair,
        write_mesh,
    )
    from finsler.metric import RandersMetric, curvature_strength, tau_of_strength
    from finsler.operator import (
        AngleStack,
        ChebyshevOperators,
        DelaunayLaplacian,
        DriftOperator,
        Laplacian,
        OperatorSpec,
        albo,
        angle_stack,
        chebyshev_operators,
        consistent_mass,
        delaunay_laplacian,
        drift_operator,
        flbo,
        laplacian,
        largest_eigenvalue,
        lbo,
        load_operators,
        lumped_mass,
        save_operators,
    )

__version__ = "0.1.0"

__all__ = [
    "AngleStack",
    "ChebyshevOperators",
    "ConvergenceError",
    "Curvature",
    "DelaunayLaplacian",
    "DriftOperator",
    "FaceFrames",
    "FinslerHeatFlow",
    "FinslerHeatStep",
    "GeodesicPath",
    "InputError",
    "Laplacian",
    "MeshHealth",
    "MeshWarning",
    "OperatorSpec",
    "RandersHeat",
    "RandersMetric",
    "Repair",
    "Spectrum",
    "TriMesh",
    "albo",
    "angle_stack",
    "averaged_heat_kernel",
    "chebyshev_filter",
    "chebyshev_operators",
    "chebyshev_polynomial",
    "consistent_mass",
    "convolution_kernel",
    "convolve",
    "curvature_strength",
    "delaunay_laplacian",
    "diffuse",
    "diffuser",
    "drift_operator",
    "drift_source",
    "finsler_energy",
    "finsler_flow",
    "finsler_heat_flow",
    "finsler_heat_step",
    "finsler_laplacian_apply",
    "finsler_laplacian_at",
    "flbo",
    "geodesic_distance",
    "geodesic_matrix",
    "geodesic_path",
    "health",
    "heat_kernel",
    "hks",
    "laplacian",
    "largest_eigenvalue",
    "lbo",
    "load_mesh",
    "load_operators",
    "lumped_mass",
    "primitives",
    "principal_curvature",
    "principal_frames",
    "randers_distance",
    "repair",
    "save_operators",
    "shot",
    "shot_radius",
    "spectrum",
    "tau_of_strength",
    "wks",
    "write_mesh",
]

_LAYERS = ("errors", "mesh", "frames", "metric", "operator", "analysis", "descriptors")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for layer in _LAYERS:
            module = import_module(f"finsler.{layer}")
            if name in getattr(module, "__all__", ()):
                value = globals()[name] = getattr(module, name)
                return value
    if name in _LAYERS:
        return import_module(f"finsler.{name}")
    raise AttributeError(f"module 'finsler' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
