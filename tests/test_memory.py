"""Predictions of memory against measured peaks, and refusals before anything starts."""

import json
import math
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import finsler
from finsler import memory, primitives
from finsler.analysis.heat import diffuse
from finsler.cli.main import app

# Each task runs once on a small mesh, so that code is compiled, then on a large one from trimmed
# memory with the counter of the peak set back.
MEASURE = """
import ctypes, gc, json, sys
import numpy as np
import finsler
from finsler import memory, primitives
from finsler.analysis.heat import diffuse
from finsler.analysis.kernels import chebyshev_filter
from finsler.mesh.measures import face_basis

def status(key):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))

def jobs(frequency):
    mesh = primitives.bumpy_sphere(frequency)
    laplacian, metric = finsler.lbo(mesh), finsler.RandersMetric.isotropic(mesh)
    frames = finsler.FaceFrames.from_directions(mesh, face_basis(mesh).first)
    stack = finsler.angle_stack(mesh, frames=frames)
    operators = finsler.chebyshev_operators(stack)
    spike, channels = np.eye(1, mesh.n_vertices)[0], np.ones((mesh.n_vertices, 16))
    def distance(solver):
        return finsler.randers_distance(mesh, metric, 0, method="heat", solver=solver)
    found = {
        "frames": lambda: finsler.principal_frames(mesh),
        "operator": lambda: finsler.flbo(mesh, frames=frames),
        "stack": lambda: finsler.angle_stack(mesh, frames=frames),
        "chebyshev": lambda: finsler.chebyshev_operators(stack),
        "filter": lambda: chebyshev_filter(operators, channels, np.ones((8, 16))),
        "eikonal": lambda: finsler.randers_distance(mesh, metric, 0),
    }
    for solver in ("direct", "iterative"):
        found["diffusion " + solver] = lambda s=solver: diffuse(laplacian, spike, 0.1, solver=s)
        found["heat " + solver] = lambda s=solver: distance(s)
        found["spectrum " + solver] = lambda s=solver: finsler.spectrum(laplacian, 20, solver=s)
    return found, mesh.n_vertices

for job in jobs(9)[0].values():
    job()
found, n = jobs(32)
added = {"vertices": n}
for name, job in found.items():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
    job()
    added[name] = status("VmHWM") - before
print(json.dumps(added))
"""
TASKS = ["frames", "operator", "stack", "chebyshev", "filter", "eikonal"]
SOLVED = [f"{task} {s}" for task in ("diffusion", "heat", "spectrum") for s in memory.SOLVERS[1:]]


@pytest.fixture(scope="module")
def measured():
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the peak of memory cannot be set back here")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, env=environment, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [*TASKS, *SOLVED])
def test_the_estimate_is_near_the_measured_peak(measured, name):
    task, *solver = name.split()
    options = {"solver": solver[0]} if solver else {}
    predicted = memory.estimate(task, measured["vertices"], k=20, **options).total
    assert 0.7 < predicted / measured[name] < 1.5


def test_estimates_grow_as_their_models_say():
    def total(task, n, **options):
        return memory.estimate(task, n, **options).total

    for task in memory.TASKS:
        assert total(task, 2_000_000) >= 2.0 * total(task, 1_000_000)
    assert total("stack", 1000, angles=16) - total("stack", 1000, angles=8) == 8 * 64 * 1000
    more = total("spectrum", 10**6, k=150) - total("spectrum", 10**6, k=50)
    assert more == pytest.approx(3 * 100 * 8 * 10**6)
    for task in ("diffusion", "heat", "spectrum"):
        assert total(task, 10**6, solver="iterative") < 0.85 * total(task, 10**6)
    # As many pairs as vertices: dense matrices.
    assert memory.estimate("spectrum", 10_000, k=10_000).parts.keys() == {"dense matrices"}
    with pytest.raises(finsler.InputError, match="task is 'cooking'"):
        memory.estimate("cooking", 1)


def test_available_is_the_smaller_of_machine_and_group(tmp_path, monkeypatch):
    monkeypatch.delenv("FINSLER_MEMORY", raising=False)
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.available() == math.inf
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    5000 kB\n")
    assert memory.available() == 5000 * 1024
    (tmp_path / "memory.max").write_text("4000000\n")
    (tmp_path / "memory.current").write_text("3000000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 500000\nactive_file 7\n")
    assert memory.available() == 4_000_000 - 3_000_000 + 500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() == 5000 * 1024
    monkeypatch.setenv("FINSLER_MEMORY", "2.5")
    assert memory.available() == 2.5e9
    with memory.limited(1.5):
        assert memory.available() == 1.5e9
    assert memory.available() == 2.5e9
    for wrong in ("-1", "much", "inf", "nan"):
        monkeypatch.setenv("FINSLER_MEMORY", wrong)
        with pytest.raises(finsler.InputError, match="FINSLER_MEMORY is"):
            memory.available()
    with pytest.raises(finsler.InputError, match="memory is 0"), memory.limited(0):
        pass


def between(task, n, **options):
    """GB enough for the iterative solver only."""
    direct, iterative = (
        memory.estimate(task, n, solver=s, **options).gigabytes for s in memory.SOLVERS[1:]
    )
    return 0.5 * (direct + iterative)


@pytest.mark.parametrize("task", ["diffusion", "heat", "spectrum"])
def test_auto_takes_what_fits(task):
    n = 1_000_000
    with memory.limited(100):
        assert memory.choose(task, n) == "direct"
        assert memory.choose(task, n, "iterative") == "iterative"
    with memory.limited(between(task, n)):
        assert memory.choose(task, n) == "iterative"
        with pytest.raises(finsler.InputError, match="take the iterative solver"):
            memory.choose(task, n, "direct")
    with memory.limited(0.01), pytest.raises(finsler.InputError, match="simplify the mesh to"):
        memory.choose(task, n)
    with pytest.raises(finsler.InputError, match="solver must be"):
        memory.choose(task, n, "best")


def test_what_the_sentence_names_fits():
    with memory.limited(5):
        with pytest.raises(finsler.InputError) as error:
            memory.choose("spectrum", 1_000_000, k=500)
        assert str(error.value).startswith("1,000,000 vertices and k = 500 need about 13 GB")
        k = int(str(error.value).split("take k = ")[1].split()[0])
        assert 50 < k < 500
        memory.choose("spectrum", 1_000_000, k=k)
        with pytest.raises(finsler.InputError):
            memory.choose("spectrum", 1_000_000, k=k + 1)
    with memory.limited(1.4):
        with pytest.raises(finsler.InputError, match="take the method eikonal"):
            memory.choose("heat", 1_000_000)
        with pytest.raises(finsler.InputError, match="take the method eikonal"):
            memory.require("geodesic", 1_000_000)
        with pytest.raises(finsler.InputError, match="simplify the mesh to") as error:
            memory.require("eikonal", 2_000_000)
        n = int(str(error.value).split("mesh to ")[1].split(" vertices")[0].replace(",", ""))
        memory.require("eikonal", n)
        assert n > 500_000


def test_without_pyamg_auto_is_direct_or_refuses(monkeypatch):
    monkeypatch.setattr(memory, "find_spec", lambda name: None)
    with memory.limited(between("diffusion", 10**6)), pytest.raises(finsler.InputError):
        memory.choose("diffusion", 10**6)


def test_functions_refuse_before_they_start():
    mesh = primitives.bumpy_sphere(9)
    laplacian, metric = finsler.lbo(mesh), finsler.RandersMetric.isotropic(mesh)
    with memory.limited(1e-5):
        for refused in (
            lambda: finsler.spectrum(laplacian, 10),
            lambda: diffuse(laplacian, laplacian.mass, 0.1),
            lambda: finsler.RandersHeat(mesh, metric),
            lambda: finsler.randers_distance(mesh, metric, 0),
            lambda: finsler.geodesic_distance(mesh, 0),
        ):
            with pytest.raises(finsler.InputError, match=r"812 vertices.* need about"):
                refused()


@pytest.fixture(scope="module")
def mesh_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("mesh") / "shape.off"
    finsler.write_mesh(path, primitives.bumpy_sphere(9))
    return str(path)


COMMANDS = {
    "spectrum": ["spectrum", "-k", "10"],
    "heat": ["heat", "--source", "0"],
    "kernel": ["kernel", "--vertex", "0", "--filter", "heat:0.1", "-k", "10"],
    "distance": ["distance", "--source", "0", "--method", "heat"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_early_and_take_the_solver_that_fits(command, tmp_path):
    # A factor of a small mesh is smaller than its operator, which diffusion needs as well.
    mesh = primitives.bumpy_sphere(32 if command == "heat" else 9)
    finsler.write_mesh(tmp_path / "shape.off", mesh)

    def run(*options):
        first, *rest = COMMANDS[command]
        path = str(tmp_path / "shape.off")
        return CliRunner().invoke(app, [first, path, *rest, "--json", *options])

    refused = run("--memory", "0.00001")
    assert isinstance(refused.exception, finsler.InputError)
    assert "need about" in str(refused.exception)
    assert "--memory" in str(refused.exception)
    plenty = run("--memory", "10")
    assert json.loads(plenty.stdout)["config"]["solver"] == "direct"
    assert "iterative solver" not in plenty.stderr
    task = {"heat": "diffusion", "distance": "heat"}.get(command, "spectrum")
    direct = memory.estimate(task, mesh.n_vertices, k=10).gigabytes
    scarce = run("--memory", str(0.95 * direct))
    assert json.loads(scarce.stdout)["config"]["solver"] == "iterative"
    assert "iterative solver: a direct one would need about" in scarce.stderr
    assert run("--solver", "iterative").exit_code == 0


def test_a_solver_where_there_is_no_system(mesh_file):
    for command in (["distance", mesh_file], ["kernel", mesh_file]):
        result = CliRunner().invoke(app, [*command, "--solver", "iterative"])
        assert isinstance(result.exception, finsler.InputError)
        assert "--solver serves" in str(result.exception)
