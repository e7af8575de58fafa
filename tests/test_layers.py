"""The package's shape: who may import whom, and what the public names are."""

import ast
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest

import finsler

SOURCE = Path(finsler.__file__).parent
# Data flows one way; a layer may import from those before it.
FLOW = [
    "errors",
    "typing",
    "storage",
    "compute",
    "mesh",
    "solvers",
    "frames",
    "metric",
    "operator",
    "analysis",
    "spec",
    "descriptors",
    "synthetic",
    "data",
    "nn",
    "baselines",
    "nn.training",
    "matching",
    "evaluation",
    "experiments",
    "view",
    "cli",
    "__main__",
]
ORDER = {name: rank for rank, name in enumerate(FLOW)}
HEAVY = {
    "torch": ["nn", "baselines", "nn.training"],
    "matplotlib": ["view"],
    "viser": ["view"],
}
FIELD = {
    "trimesh",
    "cholespy",
    "numba",
    "igl",
    "potpourri3d",
    "pygeodesic",
    "h5py",
    "pyvista",
    "matplotlib",
    "viser",
    "pyamg",
}


def imports(path, *, top_level_only=False):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "finsler":
                yield from (f"finsler.{alias.name}" for alias in node.names)


def layer(parts):
    """The layer of a module's path in the package; training stands above the baselines."""
    return "nn.training" if parts[:2] == ("nn", "training") else parts[0].removesuffix(".py")


MODULES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_import_against_the_flow(path):
    here = layer(path.relative_to(SOURCE).parts)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "finsler" and len(parts) > 1 and parts[1] in ORDER:
            assert ORDER[layer(tuple(parts[1:]))] <= ORDER[here], f"{here} imports {name}"
        if parts[0] in HEAVY:
            assert here in HEAVY[parts[0]], f"{here} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_field_libraries_are_imported_where_they_are_used(path):
    if not path.name.startswith("_compiled"):
        for name in imports(path, top_level_only=True):
            assert name.split(".")[0] not in FIELD, f"{path.name} imports {name} at its top"


def test_every_layer_is_known():
    assert {layer(path.relative_to(SOURCE).parts) for path in MODULES} <= set(ORDER)


def test_public_names_resolve():
    for name in finsler.__all__:
        assert getattr(finsler, name) is not None
    assert set(finsler.__all__) <= set(dir(finsler))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = finsler.nonsense


def test_public_names_are_the_ones_type_checkers_see():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    names = []
    for node in guarded.body:
        given = [alias.name for alias in node.names]
        names += import_module(node.module).__all__ if given == ["*"] else given
    assert sorted(names) == sorted(finsler.__all__)


def test_importing_the_package_imports_nothing_heavy():
    script = "import sys, finsler; print(sorted({'numpy', 'scipy', 'torch'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_matching_is_at_the_top():
    from finsler.matching import Match, match

    assert finsler.match is match and finsler.Match is Match


def test_core_runs_without_mesh_and_drawing_libraries():
    # What an accelerator machine has: numpy, scipy, numba and no field library.
    script = """
import sys
for name in ("cholespy", "trimesh", "pyvista", "matplotlib", "igl", "potpourri3d"):
    sys.modules[name] = None
import finsler.solvers.factor
finsler.solvers.factor.find_spec = lambda name: None
import finsler, os
mesh = finsler.primitives.bumpy_sphere(8)
finsler.write_mesh("shape.off", mesh)
stack = finsler.angle_stack(finsler.load_mesh("shape.off"), angles=2)
finsler.chebyshev_operators(stack)
print(finsler.spectrum(stack[0], 10).eigenvalues.shape)
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, check=False
        )
    assert done.stdout.strip() == "(10,)", done.stderr


def test_pytest_hides_triton_kernels_and_no_doctests():
    root = Path(__file__).parents[1]
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["pytest"]
    options = settings["ini_options"]["addopts"].split()
    globs = [o.partition("=")[2] for o in options if o.startswith("--ignore")]
    hidden = [p for p in SOURCE.rglob("*.py") if any(fnmatch(str(p), glob) for glob in globs)]
    assert hidden
    for path in hidden:
        text = path.read_text(encoding="utf-8")
        assert "import triton" in text and ">>>" not in text, path
