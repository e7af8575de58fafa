"""The classification loss: torch's cross entropy, whatever the device."""

import pytest
import torch
from torch import nn

from finsler.nn.loss import classification_loss, two_way

CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="GPU"))
DEVICES = pytest.mark.parametrize("device", ["cpu", CUDA])


def problem(device, classes, n=37):
    torch.manual_seed(0)
    hidden = 3.0 * torch.randn(n, 12, device=device)
    classifier = nn.Linear(12, classes).to(device)
    labels = torch.randint(classes, (n,), device=device)
    return hidden.requires_grad_(), classifier, labels


def assert_gradients_close(found, expected, hidden, classifier, *, atol):
    wanted = (hidden, classifier.weight, classifier.bias)
    for one, other in zip(
        torch.autograd.grad(3.0 * found, wanted),
        torch.autograd.grad(3.0 * expected, wanted),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=atol)


@DEVICES
@pytest.mark.parametrize("classes", [5, 16, 9001])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("some", [False, True])
def test_value_and_gradients(device, classes, smoothing, some):
    hidden, classifier, labels = problem(device, classes)
    counted = torch.arange(len(labels), device=device) % 3 > 0 if some else None
    weights = None if counted is None else counted / counted.sum()
    found = classification_loss(
        hidden, classifier, labels, weights=weights, label_smoothing=smoothing
    )
    rows = slice(None) if counted is None else counted
    logits = classifier(hidden)[rows]
    expected = nn.functional.cross_entropy(logits, labels[rows], label_smoothing=smoothing)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert_gradients_close(found, expected, hidden, classifier, atol=1e-6)


@DEVICES
def test_no_row_counts(device):
    hidden, classifier, labels = problem(device, 7)
    loss = classification_loss(hidden, classifier, labels, weights=torch.zeros_like(hidden[:, 0]))
    assert float(loss.detach()) == 0.0
    assert float(torch.autograd.grad(loss, hidden)[0].abs().max()) == 0.0


@DEVICES
def test_a_loss_that_is_not_a_number_stays_visible(device):
    hidden, classifier, labels = problem(device, 7)
    spoiled = hidden.detach().clone()
    spoiled[5] = torch.nan
    assert torch.isnan(classification_loss(spoiled, classifier, labels))


@DEVICES
def test_half_precision_is_close(device):
    hidden, classifier, labels = problem(device, 40)
    exact = classification_loss(hidden, classifier, labels)
    rough = classification_loss(hidden, classifier, labels, dtype=torch.bfloat16)
    torch.testing.assert_close(rough, exact, rtol=0.02, atol=0.0)
    one = torch.autograd.grad(rough, hidden)[0]
    other = torch.autograd.grad(exact, hidden)[0]
    assert (one - other).norm() < 0.05 * other.norm()


@DEVICES
@pytest.mark.parametrize("sizes", [None, [10, 27]])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_both_ways_is_the_mean_of_two_cross_entropies(device, sizes, smoothing):
    # Without smoothing: of the classes of each vertex, and of the vertices of each class.
    hidden, classifier, labels = problem(device, 13)
    weights = torch.rand(37, device=device) * (torch.arange(37, device=device) % 3 > 0)
    found = classification_loss(
        hidden,
        classifier,
        labels,
        weights=weights,
        label_smoothing=smoothing,
        softmax="both",
        sizes=sizes,
    )
    logits = classifier(hidden)
    expected, start = 0.0, 0
    for size in sizes or [37]:
        part, truth = logits[start : start + size], labels[start : start + size]
        log_p = part.log_softmax(1) + part.log_softmax(0)
        for x in range(size):
            sharp, smooth = log_p[x, truth[x]], log_p[x].mean()
            mixed = (1.0 - smoothing) * sharp + smoothing * smooth
            expected = expected - 0.5 * weights[start + x] * mixed
        start += size
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert_gradients_close(found, expected, hidden, classifier, atol=1e-5)


def test_two_way_scores_of_a_permutation_do_not_depend_on_popular_classes():
    # A class that every vertex likes wins everywhere in rows, and only once in both ways.
    truth = torch.tensor([2, 0, 1, 3])
    logits = 2.0 * torch.eye(4)[truth]
    logits[:, 0] += 3.0
    assert logits.argmax(1).tolist() == [0, 0, 0, 0]
    assert two_way(logits, [4]).argmax(1).tolist() == truth.tolist()


@DEVICES
@pytest.mark.parametrize("softmax", ["classes", "both"])
@pytest.mark.parametrize("sizes", [None, [10, 27]])
def test_a_row_may_have_several_labels_and_another_none(device, softmax, sizes):
    hidden, classifier, _ = problem(device, 13)
    pairs = torch.randperm(37 * 13, device=device)[:60].sort().values
    rows, labels, weights = pairs // 13, pairs % 13, torch.rand(60, device=device)
    weights[::7] = 0.0
    found = classification_loss(
        hidden,
        classifier,
        labels,
        rows=rows,
        weights=weights,
        label_smoothing=0.1,
        softmax=softmax,
        sizes=sizes,
    )
    logits = classifier(hidden)
    scores = logits.log_softmax(1)
    if softmax == "both":
        scores = 0.5 * two_way(logits, sizes or [37])
    expected = -sum(
        weight * (0.9 * scores[row, label] + 0.1 * scores[row].mean())
        for row, label, weight in zip(rows, labels, weights, strict=True)
    )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert_gradients_close(found, expected, hidden, classifier, atol=1e-4)
