"""The record that each result carries: how it was made."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from finsler.storage.outputs import running_command

_PACKAGES = ("finsler", "numpy", "scipy", "numba", "cholespy", "potpourri3d", "pygeodesic", "torch")


def record(config: Mapping[str, Any]) -> str:
    """Configuration, versions and hardware as a JSON text, to be kept with a result."""
    command = running_command()
    about = {"config": dict(config), "versions": _versions(), "machine": _machine()}
    return json.dumps(about | ({"made_by": f"finsler {command}"} if command else {}))


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _machine() -> dict[str, str | int | None]:
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
    }
