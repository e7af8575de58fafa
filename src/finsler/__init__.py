"""Anisotropic and Finsler-Laplace-Beltrami operators on triangle meshes.

>>> import finsler
>>> mesh = finsler.primitives.bumpy_sphere(12)
>>> laplacian = finsler.flbo(mesh, alpha=10.0, tau=0.1, theta=0.0)
>>> finsler.spectrum(laplacian, k=5).eigenvectors.shape
(1442, 5)

The public names are those of the modules listed here, each with an `__all__`; rarer ones stay in
their modules. They are imported when first used, so that the command line starts at once.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finsler.analysis import *  # noqa: F403
    from finsler.descriptors import *  # noqa: F403
    from finsler.errors import *  # noqa: F403
    from finsler.frames import *  # noqa: F403
    from finsler.matching.descriptions import *  # noqa: F403
    from finsler.matching.match import *  # noqa: F403
    from finsler.mesh import primitives as primitives
    from finsler.mesh.conversion import *  # noqa: F403
    from finsler.mesh.health import *  # noqa: F403
    from finsler.mesh.io import *  # noqa: F403
    from finsler.mesh.repair import *  # noqa: F403
    from finsler.mesh.trimesh import *  # noqa: F403
    from finsler.metric import *  # noqa: F403
    from finsler.operator import *  # noqa: F403
    from finsler.spec import *  # noqa: F403
    from finsler.view.notebook import *  # noqa: F403

__version__: str

# From the quickest to import to the slowest.
_MODULES = (
    *("errors", "mesh.trimesh", "mesh.conversion", "mesh.io", "mesh.repair", "mesh.health"),
    *("frames", "metric", "operator", "analysis", "spec", "descriptors"),
    *("matching.descriptions", "matching.match", "view.notebook"),
)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        listed = [import_module(f"finsler.{path}").__all__ for path in _MODULES]
        return sorted(sum(listed, ["primitives"]))
    if name == "__version__":
        value = globals()[name] = _installed_version()
        return value
    if name == "primitives":
        return import_module("finsler.mesh.primitives")
    if not name.startswith("_") and find_spec(f"finsler.{name}"):
        return import_module(f"finsler.{name}")
    for path in () if name.startswith("_") else _MODULES:
        module = import_module(f"finsler.{path}")
        if name in module.__all__:
            value = globals()[name] = getattr(module, name)
            return value
    raise AttributeError(f"module 'finsler' has no attribute {name!r}")


def _installed_version() -> str:
    """From the tags of the repository, when the package was built; `0+unknown` if it never was."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("finsler")
    except PackageNotFoundError:
        return "0+unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
