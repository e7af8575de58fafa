"""Predictions of memory against measured peaks, and refusals before anything starts."""

import json
import math
import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from typer.testing import CliRunner

import finsler
from finsler import primitives
from finsler.analysis.heat import diffuse
from finsler.analysis.kernels import chebyshev_filter
from finsler.cli.main import app
from finsler.compute import memory

# Each task runs once on a small mesh, so that code is compiled, then on a large one from trimmed
# memory with the counter of the peak set back.
MEASURE = """
import ctypes, gc, json, sys
import numpy as np
import finsler
from finsler import primitives
from finsler.compute import memory
from finsler.analysis.heat import diffuse
from finsler.analysis.kernels import chebyshev_filter
from finsler.descriptors.description import Description
from finsler.mesh.measures import face_basis
from finsler.storage.npz import write_npz

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
    single, weights = channels.astype(np.float32), np.ones((8, 16))
    some_pairs = finsler.spectrum(laplacian, 20)
    def distance(solver):
        return finsler.randers_distance(metric, 0, method="heat", solver=solver)
    found = {
        "frames": lambda: finsler.principal_frames(mesh),
        "lbo": lambda: finsler.lbo(mesh),
        "operator": lambda: finsler.flbo(mesh, frames=frames),
        "stack": lambda: finsler.angle_stack(mesh, frames=frames),
        "chebyshev": lambda: finsler.chebyshev_operators(stack),
        "filter": lambda: chebyshev_filter(operators, channels, weights),
        "filter float32": lambda: chebyshev_filter(operators, single, weights, dtype=np.float32),
        "eikonal": lambda: finsler.randers_distance(metric, 0),
        "geodesic": lambda: finsler.geodesic_distance(mesh, 0),
        "shot": lambda: finsler.shot(mesh, radius=0.1),
        "shot float32": lambda: finsler.shot(mesh, radius=0.1, dtype=np.float32),
        "signature": lambda: finsler.wks(some_pairs, count=200),
        "description": lambda: write_npz(
            "description.npz", Description("shot").describe(mesh).arrays(), {}
        ),
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
# Names of what is measured, with the options of `estimate` beside k = 20.
PLAIN = ("frames", "lbo", "operator", "stack", "chebyshev", "filter", "eikonal", "geodesic")
TASKS = {name: {} for name in PLAIN}
TASKS |= {"filter float32": {"itemsize": 4}, "shot": {"channels": 352}}
TASKS |= {"signature": {"channels": 200}, "description": {"channels": 352}}
TASKS["shot float32"] = {"channels": 352, "itemsize": 4}
for name in ("diffusion", "heat", "spectrum"):
    TASKS |= {f"{name} {solver}": {"solver": solver} for solver in memory.SOLVERS[1:]}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the peak of memory cannot be set back here")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        cwd=tmp_path_factory.mktemp("measured"),
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", TASKS)
def test_the_estimate_is_near_the_measured_peak(measured, name):
    task = name.split()[0]
    predicted = memory.estimate(task, measured["vertices"], k=20, **TASKS[name]).total
    assert 0.7 < predicted / measured[name] < 1.5


def test_every_task_is_held_to_its_peak():
    assert {name.split()[0] for name in TASKS} == set(memory.TASKS)


def test_estimates_grow_as_their_models_say():
    def total(task, n, **options):
        return memory.estimate(task, n, **options).total

    for task in memory.TASKS:
        assert total(task, 2_000_000) >= 2.0 * total(task, 1_000_000)
    assert total("stack", 1000, angles=16) - total("stack", 1000, angles=8) == 8 * 64 * 1000
    assert total("shot", 1000, channels=352) - total("shot", 1000, channels=64) == 8 * 288 * 1000
    assert total("shot", 1000, itemsize=4) - total("shot", 1000) == 4 * 16 * 1000
    more = total("spectrum", 10**6, k=150) - total("spectrum", 10**6, k=50)
    assert more == pytest.approx(3 * 100 * 8 * 10**6)
    for task in ("diffusion", "heat", "spectrum"):
        assert total(task, 10**6, solver="iterative") < 0.85 * total(task, 10**6)
    # As many pairs as vertices: dense matrices.
    assert memory.estimate("spectrum", 10_000, k=10_000).parts.keys() == {"dense matrices"}
    with pytest.raises(finsler.InputError, match="task is 'cooking'"):
        memory.estimate("cooking", 1)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A folder that stands for what the system says; empty at first."""
    monkeypatch.delenv("FINSLER_MEMORY", raising=False)
    monkeypatch.setattr(memory.machine, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory.machine, "_CGROUP", tmp_path / "groups")
    monkeypatch.setattr(memory.machine, "_OWN_GROUPS", tmp_path / "own")
    return tmp_path


def write_group(folder, limit, use, stat, version=2):
    folder.mkdir(parents=True, exist_ok=True)
    names = ("max", "current") if version == 2 else ("limit_in_bytes", "usage_in_bytes")
    (folder / f"memory.{names[0]}").write_text(f"{limit}\n")
    (folder / f"memory.{names[1]}").write_text(f"{use}\n")
    (folder / "memory.stat").write_text(stat)


STAT = "anon 5\ninactive_file 500000\nactive_file 7\n"


def test_available_is_the_smaller_of_machine_and_group(machine):
    assert memory.available() == math.inf
    (machine / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    5000 kB\n")
    assert memory.available() == 5000 * 1024
    write_group(machine / "groups", 4_000_000, 3_000_000, STAT)
    assert memory.available() == 4_000_000 - 3_000_000 + 500_000
    write_group(machine / "groups", "max", 3_000_000, STAT)
    assert memory.available() == 5000 * 1024


def test_the_limit_of_the_address_space_counts():
    """`ulimit -v` less what is mapped already."""
    program = "import numpy; from finsler.compute import memory; print(memory.available())"
    command = ["bash", "-c", f"ulimit -v 4000000; exec {sys.executable} -c '{program}'"]
    environment = {name: text for name, text in os.environ.items() if name != "FINSLER_MEMORY"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert 0.0 < float(done.stdout) < 4_000_000 * 1024 - 2**26


def test_the_narrowest_group_around_the_process_counts(machine):
    groups = machine / "groups"
    (machine / "own").write_text("0::/users/one/shell\n")
    write_group(groups / "users" / "one" / "shell", "max", 10, STAT)
    assert memory.available() == math.inf
    write_group(groups / "users" / "one", 900_000, 600_000, "inactive_file 100000\n")
    assert memory.available() == 400_000
    write_group(groups / "users", 800_000, 700_000, "")
    assert memory.available() == 100_000
    # That of somebody else does not.
    write_group(groups / "users" / "two", 5, 0, "")
    assert memory.available() == 100_000


@pytest.mark.parametrize("own", ["", "0::/\n", "0::/docker/4f2a\n", "0::/../../elsewhere\n"])
def test_within_a_container_the_root_is_the_own_group(machine, own):
    (machine / "own").write_text(own)
    write_group(machine / "groups", 4_000_000, 3_000_000, "")
    assert memory.available() == 1_000_000


def test_groups_of_version_1(machine):
    folder = machine / "groups" / "memory"
    (machine / "own").write_text("9:memory:/jobs/7\n3:cpu,cpuacct:/other\n")
    stat = "inactive_file 1\ntotal_inactive_file 300000\n"
    write_group(folder, 9223372036854771712, 10, stat, version=1)
    assert memory.available() == math.inf
    write_group(folder / "jobs" / "7", 2_000_000, 1_500_000, stat, version=1)
    assert memory.available() == 800_000
    write_group(folder, 1_900_000, 1_800_000, stat, version=1)
    assert memory.available() == 400_000


def test_a_stated_limit_takes_their_place(machine, monkeypatch):
    (machine / "meminfo").write_text("MemAvailable:    5000 kB\n")
    monkeypatch.setenv("FINSLER_MEMORY", "2.5")
    assert memory.available() == 2.5 * memory.GIB
    with memory.limited(1.5):
        assert memory.available() == 1.5 * memory.GIB
    assert memory.available() == 2.5 * memory.GIB
    for wrong in ("-1", "much", "inf", "nan"):
        monkeypatch.setenv("FINSLER_MEMORY", wrong)
        with pytest.raises(finsler.InputError, match="FINSLER_MEMORY is"):
            memory.available()
    with pytest.raises(finsler.InputError, match="memory is 0"), memory.limited(0):
        pass


def test_nobody_looks_at_the_machine_for_what_is_small(machine):
    (machine / "meminfo").write_text("MemAvailable: 1 kB\n")
    memory.require("frames", 80_000)
    assert memory.choose("spectrum", 20_000, k=20) == "direct"
    with pytest.raises(finsler.InputError, match="90,000 vertices need about"):
        memory.require("frames", 90_000)
    with memory.limited(1e-6), pytest.raises(finsler.InputError, match="80 vertices need about"):
        memory.require("frames", 80)


def between(task, n, **options):
    """GiB enough for the iterative solver only."""
    direct, iterative = (
        memory.estimate(task, n, solver=s, **options).gib for s in memory.SOLVERS[1:]
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
        assert str(error.value).startswith("1,000,000 vertices and k = 500 need about 12 GiB")
        k = int(str(error.value).split("take k = ")[1].split()[0])
        assert 50 < k < 500
        memory.choose("spectrum", 1_000_000, k=k)
        with pytest.raises(finsler.InputError):
            memory.choose("spectrum", 1_000_000, k=k + 1)
    with memory.limited(1.3):
        with pytest.raises(finsler.InputError, match="take the method eikonal"):
            memory.choose("heat", 1_000_000)
        with pytest.raises(finsler.InputError, match="take the method eikonal"):
            memory.require("geodesic", 1_000_000)
        with pytest.raises(finsler.InputError, match="simplify the mesh to") as error:
            memory.require("eikonal", 2_000_000)
        n = int(str(error.value).split("mesh to ")[1].split(" vertices")[0].replace(",", ""))
        memory.require("eikonal", n)
        assert n > 500_000


def test_fewer_angles_channels_and_bins_are_named():
    def told(task, gib, **options):
        with memory.limited(gib), pytest.raises(finsler.InputError) as error:
            memory.require(task, 1_000_000, **options)
        return str(error.value)

    for task in ("stack", "chebyshev"):
        fits = memory.estimate(task, 1_000_000, angles=3).gib
        sentence = told(task, 1.01 * fits, angles=16)
        assert sentence.startswith("1,000,000 vertices and angles = 16 need about")
        assert "take at most 3 of the angles at a time" in sentence
    single = memory.estimate("filter", 1_000_000, channels=64, itemsize=4).gib
    assert "take float32" in told("filter", 1.01 * single, channels=64)
    sentence = told("filter", 0.5 * single, channels=64, itemsize=4)
    assert "1,000,000 vertices and channels = 64" in sentence
    count = int(sentence.split("take at most ")[1].split()[0])
    with memory.limited(0.5 * single):
        memory.require("filter", 1_000_000, channels=count, itemsize=4)
        with pytest.raises(finsler.InputError):
            memory.require("filter", 1_000_000, channels=count + 1, itemsize=4)
    assert "take bins = 4 or fewer" in told("shot", 1.63, channels=352)
    # A number of bins beyond all measure is answered at once.
    assert "take bins = 4 or fewer" in told("shot", 1.63, channels=32 * 10**9)
    for task in ("frames", "lbo", "operator", "stack", "chebyshev", "filter", "shot"):
        assert "simplify the mesh to" in told(task, 0.01)


def test_without_pyamg_auto_is_direct_or_refuses(monkeypatch):
    monkeypatch.setattr(memory.limits, "find_spec", lambda name: None)
    with memory.limited(between("diffusion", 10**6)), pytest.raises(finsler.InputError):
        memory.choose("diffusion", 10**6)


def test_functions_refuse_before_they_start():
    mesh = primitives.bumpy_sphere(9)
    laplacian, metric = finsler.lbo(mesh), finsler.RandersMetric.isotropic(mesh)
    frames = finsler.principal_frames(mesh)
    stack = finsler.angle_stack(mesh, frames=frames, angles=4)
    operators = finsler.chebyshev_operators(stack)
    with memory.limited(1e-5):
        for refused in (
            lambda: finsler.spectrum(laplacian, 10),
            lambda: diffuse(laplacian, laplacian.mass, 0.1),
            lambda: finsler.RandersHeat(metric),
            lambda: finsler.randers_distance(metric, 0),
            lambda: finsler.geodesic_distance(mesh, 0),
            lambda: finsler.principal_frames(mesh),
            lambda: finsler.lbo(mesh),
            lambda: finsler.albo(mesh, frames=frames),
            lambda: finsler.flbo(mesh, frames=frames),
            lambda: finsler.laplacian(mesh, metric.diffusivity()),
            lambda: finsler.angle_stack(mesh, frames=frames, angles=4),
            lambda: finsler.chebyshev_operators(stack),
            lambda: chebyshev_filter(operators, np.ones((812, 5)), np.ones((4, 3))),
            lambda: chebyshev_filter(operators[0], laplacian.mass, np.ones(3), dtype=np.float32),
            lambda: finsler.shot(mesh, radius=0.1),
        ):
            with pytest.raises(finsler.InputError, match=r"812 vertices.* need about"):
                refused()


def test_sizes_are_those_that_were_asked_for(monkeypatch):
    mesh, seen = primitives.bumpy_sphere(3), []

    def note(task, vertices, **options):
        seen.append((task, vertices, options))

    for module in ("operator.angles", "operator.rescale", "analysis.kernels", "descriptors.shot"):
        monkeypatch.setattr(import_module(f"finsler.{module}"), "require", note)
    stack = finsler.angle_stack(mesh, angles=3)
    operators = finsler.chebyshev_operators(stack)
    functions, coefficients = np.ones((mesh.n_vertices, 5)), np.ones((3, 2))
    chebyshev_filter(operators, functions, coefficients, dtype=np.float32)
    chebyshev_filter(operators, functions[:, 0], coefficients)
    finsler.shot(mesh, radius=1.0, bins=4, dtype=np.float32)
    n = mesh.n_vertices
    assert seen == [
        ("stack", n, {"angles": 3}),
        ("chebyshev", n, {"angles": 3}),
        ("filter", n, {"channels": 5, "itemsize": 4}),
        ("filter", n, {"channels": 1, "itemsize": 8}),
        ("shot", n, {"channels": 160, "itemsize": 4}),
    ]


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
    # The file itself is too large to be read.
    assert "takes about" in str(refused.exception)
    assert "--memory" in str(refused.exception)
    plenty = run("--memory", "10")
    assert json.loads(plenty.stdout)["config"]["solver"] == "direct"
    assert "iterative solver" not in plenty.stderr
    task = {"heat": "diffusion", "distance": "heat"}.get(command, "spectrum")
    direct = memory.estimate(task, mesh.n_vertices, k=10).gib
    scarce = run("--memory", str(0.95 * direct))
    assert json.loads(scarce.stdout)["config"]["solver"] == "iterative"
    assert "iterative solver: a direct one would need about" in scarce.stderr
    assert run("--solver", "iterative").exit_code == 0


@pytest.mark.parametrize("words", [("operator",), ("describe", "--descriptor", "hks", "-k", "5")])
def test_commands_heed_the_variable(mesh_file, tmp_path, monkeypatch, words):
    # Enough to read the file, and too little for its operator.
    monkeypatch.setenv("FINSLER_MEMORY", "0.0006")
    command, *options = words
    out = tmp_path / "found.npz"
    result = CliRunner().invoke(app, [command, mesh_file, "-o", str(out), *options])
    assert isinstance(result.exception, finsler.InputError)
    assert "812 vertices" in str(result.exception) and not out.exists()


def test_a_solver_where_there_is_no_system(mesh_file):
    for command in (["distance", mesh_file], ["kernel", mesh_file]):
        result = CliRunner().invoke(app, [*command, "--solver", "iterative"])
        assert isinstance(result.exception, finsler.InputError)
        assert "--solver serves" in str(result.exception)
