"""Recorded steps give what ordinary steps give; on an accelerator alone."""

import dataclasses

import pytest
import torch

from finsler.nn.training import Checkpoint, TrainConfig, train

CONFIG = TrainConfig(
    model="chebyshev", channels=16, layers=2, order=4, hidden=32, epochs=4, schedule="onecycle"
)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs cuda")


def run(store, folder, **changes):
    config = dataclasses.replace(CONFIG, device="cuda", **changes)
    return train(store, folder, config)[1]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_recorded_steps_equal_ordinary_ones(store, tmp_path, dropout):
    plain = run(store, tmp_path / "plain", dropout=dropout, cuda_graphs=False)
    graphs = run(store, tmp_path / "graphs", dropout=dropout, cuda_graphs=True)
    for here, there in zip(plain.history, graphs.history, strict=True):
        assert here["loss"] == pytest.approx(there["loss"], rel=1e-4)
    mine, theirs = (
        Checkpoint.read(tmp_path / name / "last.safetensors").tensors
        for name in ("plain", "graphs")
    )
    for name, tensor in mine.items():
        torch.testing.assert_close(tensor, theirs[name], rtol=1e-2, atol=1e-4)


def test_a_recorded_run_is_continued(store, tmp_path):
    calm = run(store, tmp_path / "calm", cuda_graphs=True)

    def stop(metrics):
        if metrics["epoch"] == 2:
            raise KeyboardInterrupt

    config = dataclasses.replace(CONFIG, device="cuda", cuda_graphs=True)
    with pytest.raises(KeyboardInterrupt):
        train(store, tmp_path / "stopped", config, on_epoch=stop)
    _, again = train(store, tmp_path / "stopped", config)
    for here, there in zip(calm.history, again.history, strict=True):
        assert here["loss"] == pytest.approx(there["loss"], rel=1e-4)
