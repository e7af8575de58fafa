"""Settings of a run, and the learning rate they give."""

import dataclasses
from pathlib import Path

import pytest
import torch

from finsler.errors import InputError
from finsler.nn.training import TrainConfig, learning_rate
from finsler.nn.training.config import settings_table

OTHER = {
    "model": "small",
    "channels": 8,
    "layers": 2,
    "order": 3,
    "hidden": 17,
    "dropout": 0.25,
    "epochs": 7,
    "learning_rate": 3e-5,
    "schedule": "steps",
    "step_epochs": (2, 4),
    "step_factor": 0.5,
    "warm_up": 1.5,
    "weight_decay": 1e-6,
    "batch": 2,
    "label_smoothing": 0.1,
    "feature_dropout": 0.3,
    "feature_noise": 0.01,
    "softmax": "both",
    "classes": "points",
    "point_neighbors": 16,
    "rotation": 5.0,
    "precision": "tf32",
    "train_on": "every",
    "validation": 0.2,
    "max_shapes": 3,
    "evaluate_every": 2,
    "checkpoint_every": 5,
    "seed": 11,
    "device": "cpu",
    "memory": 0.5,
    "cuda_graphs": False,
    "objective": "maps",
    "supervised": True,
    "maps_start": "box",
    "maps_shapes": 3,
    "maps_basis": 30,
    "maps_features": 32,
    "maps_wave": 16,
    "maps_points": 500,
    "maps_temperature": 0.1,
    "maps_commutativity": 10.0,
    "maps_bijectivity": 0.5,
    "maps_orthogonality": 0.5,
    "maps_coupling": 0.5,
    "maps_resolution": 0.5,
    "maps_dirichlet": 0.5,
    "maps_diffusion": 0.5,
    "maps_truth": 0.5,
}


def test_every_setting_differs_from_its_default_above():
    default = dataclasses.asdict(TrainConfig())
    assert default.keys() == OTHER.keys()
    assert all(default[name] != value for name, value in OTHER.items())


@pytest.mark.parametrize("config", [TrainConfig(), TrainConfig(**OTHER)])
def test_toml_round_trip(config, tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml())
    assert TrainConfig.load(path) == config


def test_settings_as_text_give_the_same_as_values():
    texts = {**OTHER, "step_epochs": "2,4", "cuda_graphs": "false", "supervised": "true"}
    assert TrainConfig().override([f"{k}={v}" for k, v in texts.items()]) == TrainConfig(**OTHER)
    assert TrainConfig().override(["schedule = steps", "step_epochs = [2, 4]"]).step_epochs == (
        2,
        4,
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("epoch=3", "no setting 'epoch'; did you mean 'epochs'"),
        ("lr=3", "no setting 'lr'; did you mean"),
        ("epochs", "write key=value"),
        ("epochs=1.5", "epochs is '1.5'; it must be a whole number"),
        ("epochs=0", "epochs is 0; it must be at least 1"),
        ("learning_rate=fast", "learning_rate is 'fast'; it must be a number"),
        ("learning_rate=nan", "learning_rate is nan; it must be a number"),
        ("learning_rate=0", "above 0"),
        ("learning_rate=1e39", "at most 1000"),
        ("dropout=1", "dropout is 1.0; it must be below 1"),
        ("seed=-1", "seed is -1; it must be at least 0"),
        ("cuda_graphs=maybe", "true or false"),
        ("step_epochs=a,b", "a list of whole numbers"),
        ("step_epochs=[1,2", r"step_epochs is '\[1,2'; it must be a list of whole numbers"),
        ("step_epochs=1,2]", "a list of whole numbers"),
        ("step_epochs=1,,2", "a list of whole numbers"),
        ("step_epochs=-1", "step_epochs is -1; it must be at least 1"),
        ("step_epochs=1", r"step_epochs is \[1\], which has no effect unless schedule is .steps."),
        ("step_factor=0.5", "step_factor is 0.5, which has no effect unless"),
        ("schedule=linear", "schedule is 'linear'; it must be one of \"constant\""),
        ("schedule=steps", "needs step_epochs"),
    ],
)
def test_wrong_settings(setting, message):
    with pytest.raises(InputError, match=message):
        TrainConfig().override([setting])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs = '3'", "config.toml: epochs is '3'; it must be a whole number"),
        ("epochs = true", "epochs is True; it must be a whole number"),
        ("step_epochs = [1.5]", "a list of whole numbers"),
        ("epoks = 3", "did you mean 'epochs'"),
        ("epochs = ", "not a TOML file"),
    ],
)
def test_wrong_files(tmp_path, text, message):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        TrainConfig.load(path)
    with pytest.raises(InputError, match="no such file"):
        TrainConfig.load(tmp_path / "none.toml")


def test_the_documented_table_is_that_of_the_fields():
    text = (Path(__file__).parents[3] / "docs" / "training.md").read_text(encoding="utf-8")
    for name, default, allowed, meaning in settings_table():
        assert f"| `{name}` | `{default}` | {allowed} | {meaning} |\n" in text


def test_warm_up_of_one_cycle_is_its_own():
    with pytest.raises(InputError, match="warm-up of its own"):
        TrainConfig(schedule="onecycle", warm_up=1.0)


def test_only_where_a_run_is_computed_may_change():
    config = TrainConfig(**OTHER)
    free = dataclasses.replace(
        config, device="auto", memory=1.0, checkpoint_every=1, cuda_graphs=True
    )
    assert config.differences(free) == []
    assert TrainConfig(seed=1).differences(TrainConfig(epochs=3)) == ["epochs", "seed"]


def rates_of_torch(make, count):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.02)
    scheduler = make(optimiser)
    found = []
    for _ in range(count):
        found.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    return found


@pytest.mark.parametrize("epochs", [1, 2, 6])
def test_one_cycle_is_that_of_torch(epochs):
    config = TrainConfig(schedule="onecycle", epochs=epochs, learning_rate=0.02)
    steps = epochs * 5
    expected = rates_of_torch(
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.02, total_steps=steps), steps
    )
    found = [learning_rate(config, step, 5) for step in range(steps)]
    assert found == pytest.approx(expected, rel=1e-9)


def test_cosine_is_that_of_torch():
    config = TrainConfig(schedule="cosine", epochs=4, learning_rate=0.02)
    expected = rates_of_torch(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 20), 20)
    found = [learning_rate(config, step, 5) for step in range(20)]
    assert found == pytest.approx(expected, rel=1e-9)


def test_warm_up_rises_linearly_and_then_follows_the_schedule():
    config = TrainConfig(warm_up=0.8, learning_rate=1.0, epochs=3)
    found = [learning_rate(config, step, 5) for step in range(6)]
    assert found == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0, 1.0])
    cosine = dataclasses.replace(config, schedule="cosine")
    assert learning_rate(cosine, 4, 5) == pytest.approx(1.0)
    assert learning_rate(cosine, 14, 5) < 0.03


def test_files_keep_only_what_has_an_effect():
    """Else a file could not be read where another version has another default."""
    labels, maps = TrainConfig(), TrainConfig(objective="maps")
    assert "maps_basis" not in labels.record() and "maps_basis" in maps.record()
    assert "step_factor" not in labels.to_toml()
    for config in (labels, maps, TrainConfig(schedule="steps", step_epochs=(2,))):
        assert TrainConfig.of(config.record()) == config
