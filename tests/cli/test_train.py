"""`finsler train`, run as a user runs it: killed, continued, and by two processes at once."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
import typer
from typer.testing import CliRunner

from finsler import primitives
from finsler.cli.train import train
from finsler.data import Collection, PrepareConfig, Shape, prepare
from finsler.errors import InputError
from finsler.evaluation import load_predictions
from finsler.nn.training import (
    MODELS,
    Checkpoint,
    Sample,
    Stepper,
    TrainConfig,
    load_model,
    make_optimiser,
    predict,
)
from finsler.nn.training.plan import torch_seed

COMMAND = [
    sys.executable,
    "-c",
    "import typer; from finsler.cli.train import train as t; typer.run(t)",
]
SMALL = {"model": "small", "channels": 4, "layers": 2, "order": 3, "hidden": 16, "device": "cpu"}

app = typer.Typer()
app.command()(train)


def load(name):
    mesh = primitives.bumpy_sphere(3, amplitude=0.1 + 0.03 * "abcd".index(name))
    labels = np.arange(mesh.n_vertices)
    return Shape(name, mesh, labels, labels % 3 > 0)


COLLECTION = Collection("bumps", ("a", "b"), ("c", "d"), "a", load)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    return prepare(COLLECTION, folder, PrepareConfig(angles=2, descriptor="xyz")).store


def settings(**values):
    return [word for k, v in {**SMALL, **values}.items() for word in ("--set", f"{k}={v}")]


def start(store, out, *, env=None, **values):
    quiet = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*COMMAND, str(store.folder), "--out", str(out), *settings(**values)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **quiet, **(env or {})},
        start_new_session=True,
    )


def finish(process):
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    return said


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def curve(folder):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def test_killed_and_run_again_gives_the_undisturbed_run(store, tmp_path):
    calm = start(store, tmp_path / "calm", epochs=150)
    victim = start(store, tmp_path / "killed", epochs=150)
    metrics = tmp_path / "killed" / "metrics.jsonl"
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and not (
        metrics.is_file() and metrics.read_text().count("\n") >= 5
    ):
        time.sleep(0.002)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.communicate()
    assert victim.returncode == -signal.SIGKILL
    assert 1 <= Checkpoint.read(tmp_path / "killed/last.safetensors").about.epoch < 150
    assert "continuing after epoch" in finish(start(store, tmp_path / "killed", epochs=150))
    finish(calm)
    assert len(curve(tmp_path / "calm")) == 150
    assert curve(tmp_path / "killed") == curve(tmp_path / "calm")
    for name in ("last.safetensors", "best.safetensors"):
        here, there = (Checkpoint.read(tmp_path / run / name).tensors for run in ("killed", "calm"))
        assert here.keys() == there.keys()
        assert all(torch.equal(here[key], there[key]) for key in here)


def together(store, out, **values):
    """One run by two processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    processes = [start(store, out, env={**place, "RANK": str(rank)}, **values) for rank in (0, 1)]
    for process in processes:
        finish(process)
    return Checkpoint.read(out / "last.safetensors")


# One epoch is one step here: a shape for each process, or both side by side.
ONE_STEP = {"epochs": 1, "dropout": 0.0, "learning_rate": 0.01}


def test_two_processes_equal_a_batch_of_two(store, tmp_path):
    # The small network has no batch norm.
    two = together(store, tmp_path / "two", **ONE_STEP)
    run(store.folder, "--out", tmp_path / "one", *settings(batch=2, **ONE_STEP))
    one = Checkpoint.read(tmp_path / "one" / "last.safetensors")
    assert two.tensors.keys() == one.tensors.keys()
    for key in one.tensors:
        # After one step the first moment is a tenth of the gradient.
        if key.endswith("exp_avg"):
            assert one.tensors[key].abs().max() > 0
            torch.testing.assert_close(two.tensors[key], one.tensors[key], rtol=1e-4, atol=1e-8)
        elif key.startswith("network"):
            torch.testing.assert_close(two.tensors[key], one.tensors[key], rtol=0, atol=1e-4)
    here, there = two.about.history[0], one.about.history[0]
    assert here["loss"] == pytest.approx(there["loss"], rel=1e-6)
    assert here["test_every"] == pytest.approx(there["test_every"], abs=0.02)


def test_batch_norm_of_two_processes_is_that_of_each_shape(store, tmp_path):
    two = together(store, tmp_path, **{**ONE_STEP, "model": "chebyshev"})
    config = two.about.config
    torch.manual_seed(torch_seed(config, 0, 0))
    network = two.about.build().train()
    stepper = Stepper(network, make_optimiser(network, config), config)
    domain = MODELS["chebyshev"].domain
    samples = [Sample.of(store[name], domain, train_on="named") for name in store.train]
    loss = sum(stepper.loss(sample) for sample in samples) / 2
    loss.backward()
    assert two.about.history[0]["loss"] == pytest.approx(loss.item(), rel=1e-6)
    for name, parameter in network.named_parameters():
        moment = two.tensors[f"optimiser.{name}.exp_avg"]
        torch.testing.assert_close(10 * moment, parameter.grad, rtol=1e-3, atol=1e-6)


def test_what_a_run_leaves(store, tmp_path):
    config = tmp_path / "settings.toml"
    config.write_text("epochs = 7\nlearning_rate = 0.01\nseed = 1\n")
    out = tmp_path / "runs" / "first"
    own = ["--epochs", "4", "--seed", "5", "--lr", "0.002"]
    words = [store.folder, "--out", out, "--config", config, *settings(), *own]
    report = json.loads(run(*words, "--json").stdout)
    expected = TrainConfig.load(config).override(
        [f"{k}={v}" for k, v in {**SMALL, "epochs": 4, "seed": 5, "learning_rate": 0.002}.items()]
    )
    assert TrainConfig.load(out / "config.toml") == expected.on_device("cpu")
    assert report["epochs"] == 4 and report["last"]["epoch"] == 4
    assert report["best"]["chosen_on"] == "the test shapes"
    network, about = load_model(out / "last.safetensors")
    predictions = load_predictions(out / "predictions.npz", COLLECTION)
    found = predict(network, store, store.test, about=about)
    assert predictions.names == store.test
    assert all(np.array_equal(predictions.vertices[name], found[name]) for name in store.test)
    assert predictions.record["config"]["train"]["seed"] == 5
    text = run(*words).stdout
    assert "exact on test shapes: " in text and "% of all vertices" in text
    assert "4 epochs on bumps; loss" in text and "chosen on the test shapes" in text


def test_addresses_are_refused(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^s3://bkt/run: this must be a path on this machine"):
        run(store.folder, "--out", "s3://bkt/run")
    with pytest.raises(InputError, match=r"^s3://bkt/c.toml: this must be a path on this machine"):
        run(store.folder, "--out", "run", "--config", "s3://bkt/c.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_best_network_is_found(store, tmp_path):
    words = (store.folder, "--out", tmp_path / "run", *settings(epochs=2))
    run(*words)
    best = tmp_path / "run" / "best.safetensors"
    whole = best.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
        best.write_bytes(damaged)
        with pytest.raises(
            InputError, match=r"best\.safetensors: .*; or forget that run with --re"
        ):
            run(*words)
    run(*words, "--restart")
    assert Checkpoint.read(best).about.history


def test_wrong_words(store, tmp_path):
    out = ["--out", tmp_path / "run"]
    with pytest.raises(InputError, match="did you mean 'epochs'"):
        run(store.folder, *out, "--set", "epoch=3")
    with pytest.raises(InputError, match="no finished store here"):
        run(tmp_path, *out)
    run(store.folder, *out, *settings(epochs=1))
    with pytest.raises(InputError, match=r"this run has epochs = 1, not 2; .* --restart"):
        run(store.folder, *out, *settings(epochs=2))
    run(store.folder, *out, *settings(epochs=2), "--restart")
    assert len(curve(tmp_path / "run")) == 2
    assert load_predictions(tmp_path / "run" / "predictions.npz", COLLECTION).names == store.test


def test_every_setting_is_listed():
    result = CliRunner().invoke(app, ["--settings"])
    assert result.exit_code == 0
    assert "dropout = 0.5: share of that layer left out in training" in result.stdout
    assert all(f"{name} = " in result.stdout for name in vars(TrainConfig()))
