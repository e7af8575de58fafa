"""Stores in an object store: a real server on this machine's loopback interface."""

import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from test_store import CONFIG, collection, contents

from finsler import InputError
from finsler.compute.cluster import Workers
from finsler.data import Store, prepare
from finsler.storage import files
from finsler.storage.npz import read_npz, write_npz

pytest.importorskip("obstore")
pytest.importorskip("upath")
SERVER = shutil.which("rclone", path=str(Path(sys.executable).parent)) or shutil.which("rclone")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The folder behind a server that speaks S3, with one bucket; and its address."""
    if SERVER is None:
        pytest.skip("rclone is not installed")
    root = tmp_path_factory.mktemp("objects")
    (root / "bucket").mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--addr", f"127.0.0.1:{port}", "--auth-key", "key,secret", "--config", "/dev/null"]
    process = subprocess.Popen(
        [SERVER, "serve", "s3", str(root), *options], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield root, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def bucket(server, monkeypatch):
    """The folder of the bucket; keys and address are in the environment."""
    root, address = server
    give_keys(monkeypatch, address)
    return root / "bucket"


def give_keys(monkeypatch, address, secret="secret"):
    import fsspec

    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    # Connections remember their keys.
    files.location("s3://bucket")
    fsspec.get_filesystem_class("s3").clear_instance_cache()


def test_what_is_written_is_read(bucket):
    content = bytes(range(256)) * 40_000
    place = files.write_bytes("s3://bucket/some/where.bin", content)
    assert str(place) == "s3://bucket/some/where.bin"
    assert files.read_bytes(place) == content == (bucket / "some" / "where.bin").read_bytes()
    assert files.exists(place) and not files.exists("s3://bucket/some/other.bin")
    write_npz("s3://bucket/a.npz", {"x": np.arange(5)}, {})
    assert read_npz("s3://bucket/a.npz", ("x",))["x"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="no such file"):
        read_npz("s3://bucket/b.npz", ("x",))


def test_a_store_equals_the_one_on_disk(bucket, tmp_path):
    bumps = collection(3)
    prepare(bumps, tmp_path / "store", CONFIG)
    place = "s3://bucket/store"
    done = prepare(bumps, place, CONFIG, jobs=2)
    assert (done.computed, done.kept, done.failed) == (3, 0, {})
    assert contents(bucket / "store") == contents(tmp_path / "store")
    store = Store.open(place)
    assert np.array_equal(store["shape1"].values, Store.open(tmp_path / "store")["shape1"].values)
    entry = next((bucket / "store" / "entries").iterdir())
    entry.write_bytes(entry.read_bytes()[:500])
    again = prepare(bumps, place, CONFIG)
    assert (again.computed, again.kept, again.repaired) == (0, 2, 1)


def test_learning_from_it_is_learning_from_a_folder(bucket, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from finsler.cli.main import main

    small = [f"--set={setting}" for setting in ("epochs=2", "channels=4", "layers=1", "order=2")]
    losses = []
    for run, place in (("near", str(tmp_path / "store")), ("far", "s3://bucket/learn")):
        prepare(collection(3), place, CONFIG)
        words = ["finsler", "train", place, "--out", str(tmp_path / run), "--device", "cpu", *small]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 0
        lines = (tmp_path / run / "metrics.jsonl").read_text().splitlines()
        losses.append([json.loads(line)["loss"] for line in lines])
    assert len(losses[0]) == 2 and losses[0] == losses[1]


def test_what_cannot_be_reached_is_told_in_one_sentence(server, bucket, monkeypatch):
    bumps = collection(2)
    with pytest.raises(InputError, match="no such bucket or folder; create it first"):
        prepare(bumps, "s3://nobody/store", CONFIG)
    with pytest.raises(InputError, match="no finished store"):
        Store.open("s3://bucket/nothing")
    with pytest.raises(InputError, match="cannot be opened"):
        Store.open("nonsense://bucket")
    give_keys(monkeypatch, server[1], secret="wrong")
    with pytest.raises(InputError, match="access is denied; check the keys"):
        prepare(bumps, "s3://bucket/store", CONFIG)
    give_keys(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(ConnectionError, match="cannot be reached"):
        Store.open("s3://bucket/store")


def test_a_server_that_goes_away_costs_attempts_and_then_the_shapes(bucket, monkeypatch):
    # The reference is there; then every request for an entry fails.
    bumps = collection(3)
    prepare(bumps, "s3://bucket/away", CONFIG, skip_failed=True)
    asked = []

    def exists(path):
        asked.append(str(path))
        if len(asked) > 1:
            raise ConnectionError("out of reach")
        return False

    monkeypatch.setattr("finsler.data.store.preparation.exists", exists)
    workers = Workers(jobs=1, retries=1)
    done = prepare(bumps, "s3://bucket/away", CONFIG, workers=workers, skip_failed=True)
    assert done.failed == dict.fromkeys(("shape1", "shape2"), "out of reach")
    assert len(asked) == 1 + 2 * 2


@pytest.mark.parametrize("place", ["memory://store", "local://{}/store"])
def test_other_file_systems(place, tmp_path):
    where = place.format(tmp_path)
    prepare(collection(2), where, CONFIG)
    store = Store.open(where)
    assert store.names == ("shape0", "shape1")
    assert store["shape1"].name == "shape1"
