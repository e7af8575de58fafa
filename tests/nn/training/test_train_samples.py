"""Shapes on a device: one or several to a step, kept or read again."""

import dataclasses

import numpy as np
import pytest
import torch

from finsler.data.store.catalog import entry_path
from finsler.data.store.entry import write_entry
from finsler.errors import InputError
from finsler.nn.training import MODELS, About, Sample, Samples, Stepper, TrainConfig, make_optimiser
from finsler.nn.training.distributed import share
from finsler.nn.training.plan import epoch_batches, split

DOMAIN = MODELS["small"].domain
CONFIG = TrainConfig(model="small", channels=4, layers=2, order=3, hidden=8, dropout=0.0)


def make_samples(store, *, classes=92, in_channels=3, **settings):
    config = dataclasses.replace(CONFIG, **{"memory": 1.0, **settings})
    about = About(config, in_channels, classes, 2, store.config, "")
    return Samples(store, about, learned="abc", device=torch.device("cpu"))


def make_stepper(config=CONFIG):
    torch.manual_seed(0)
    network = MODELS[config.model].build(config, 3, 92, 2)
    return Stepper(network, make_optimiser(network, config), config)


def test_batched_equals_unbatched(store):
    # No batch norm and no dropout: then shapes side by side do not see each other.
    stepper, samples = make_stepper(), make_samples(store)
    alone = [stepper.loss(samples((name,))) for name in ("a", "b")]
    together = stepper.loss(samples(("a", "b")))
    assert together.item() == pytest.approx(sum(loss.item() for loss in alone) / 2, rel=1e-6)
    parameters = list(stepper.network.parameters())
    expected = torch.autograd.grad(alone[0] / 2 + alone[1] / 2, parameters)
    for here, there in zip(torch.autograd.grad(together, parameters), expected, strict=True):
        torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("train_on", ["named", "every"])
def test_the_loss_counts_the_chosen_vertices(store, train_on):
    stepper, sample = make_stepper(), make_samples(store, train_on=train_on)(("b",))
    logits = stepper.network(sample.features, sample.domain)
    counted = sample.named if train_on == "named" else torch.ones_like(sample.named)
    expected = torch.nn.functional.cross_entropy(logits[counted], sample.labels[counted])
    assert stepper.loss(sample).item() == pytest.approx(expected.item(), rel=1e-6)
    assert 0 < sample.named.sum() < len(sample.named)


def test_noise_and_smoothing_change_the_loss_and_nothing_else(store):
    sample = make_samples(store)(("a",))
    before = sample.features.clone()
    plain = make_stepper().loss(sample).item()
    for change in ({"feature_noise": 0.1}, {"feature_dropout": 0.3}, {"label_smoothing": 0.1}):
        changed = make_stepper(dataclasses.replace(CONFIG, **change)).loss(sample).item()
        assert changed != plain and changed == pytest.approx(plain, rel=0.1)
    assert torch.equal(sample.features, before)


def test_shapes_are_kept_up_to_the_limit(store):
    shape = store["a"]
    size = shape.features.nbytes + shape.values.nbytes + 3 * shape.indices.nbytes
    samples = make_samples(store, memory=2.5 * size / 2**30)
    first = {name: samples((name,)) for name in "abc"}
    again = {name: samples((name,)) for name in "abc"}
    assert [first[name] is again[name] for name in "abc"] == [True, True, False]
    assert torch.equal(first["c"].features, again["c"].features)
    assert [sample.names for sample in samples.kept("abc")] == [("a",), ("b",)]


def test_shapes_that_do_not_fit(own_store):
    with pytest.raises(InputError, match="shape a has 3 features a vertex, the network takes 5"):
        make_samples(own_store, in_channels=5)(("a",))
    with pytest.raises(InputError, match=r"shape a has labels outside 0\.\.90"):
        make_samples(own_store, classes=91)(("a",))
    nameless = dataclasses.replace(own_store["b"], named=np.zeros(92, dtype=bool))
    write_entry(entry_path(own_store.folder, own_store.keys["b"]), nameless, own_store.config)
    with pytest.raises(InputError, match="shape b has no vertex with ground truth"):
        make_samples(own_store)(("b",))
    assert make_samples(own_store, train_on="every")(("b",)).weights.sum().item() == pytest.approx(
        1
    )


def test_an_epoch_takes_every_shape_once_in_an_order_of_its_own():
    names = [f"s{i}" for i in range(7)]
    config = TrainConfig(batch=3)
    orders = [sum(epoch_batches(names, config, epoch), ()) for epoch in (1, 2)]
    assert [len(batch) for batch in epoch_batches(names, config, 1)] == [3, 3, 1]
    assert sorted(orders[0]) == sorted(orders[1]) == names
    assert orders[0] != orders[1]
    assert epoch_batches(names, config, 2) == epoch_batches(names, config, 2)
    assert orders[0] != sum(epoch_batches(names, TrainConfig(batch=3, seed=1), 1), ())


def test_processes_share_an_epoch_evenly():
    parts = [share(range(7), rank, 3) for rank in range(3)]
    assert parts == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    assert share(["only"], 2, 3) == ["only"]


def test_held_out_shapes():
    names = [f"s{i}" for i in range(10)]
    learned, held_out = split(names, TrainConfig(validation=0.3))
    assert len(held_out) == 3 and sorted((*learned, *held_out)) == names
    assert split(names, TrainConfig(validation=0.3, seed=4))[1] != held_out
    assert split(names, TrainConfig(max_shapes=2)) == (("s0", "s1"), ())
    assert len(split(names, TrainConfig(validation=0.01))[1]) == 1
    with pytest.raises(InputError, match="none is left to learn from"):
        split(names[:1], TrainConfig(validation=0.01))


def test_sample_of_a_shape(store):
    sample = Sample.of(store["b"], DOMAIN, train_on="named")
    assert sample.names == ("b",) and sample.labels.dtype == torch.int64
    assert torch.equal(sample.rows, sample.named.nonzero()[:, 0])
    assert torch.equal(sample.classes, sample.labels[sample.named])
    assert sample.positions.shape == (len(sample.labels), 3)
    assert sample.weights.sum().item() == pytest.approx(1.0)
