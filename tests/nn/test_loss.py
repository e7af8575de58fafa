"""The classification loss: torch's cross entropy, whatever the device."""

import pytest
import torch
from torch import nn

from finsler.nn.loss import classification_loss

CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="GPU"))
DEVICES = pytest.mark.parametrize("device", ["cpu", CUDA])


def problem(device, classes, n=37):
    torch.manual_seed(0)
    hidden = 3.0 * torch.randn(n, 12, device=device)
    classifier = nn.Linear(12, classes).to(device)
    labels = torch.randint(classes, (n,), device=device)
    return hidden.requires_grad_(), classifier, labels


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
    wanted = (hidden, classifier.weight, classifier.bias)
    for one, other in zip(
        torch.autograd.grad(3.0 * found, wanted),
        torch.autograd.grad(3.0 * expected, wanted),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


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
