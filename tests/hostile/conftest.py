"""What the tests of hostile files share."""

import signal

import pytest


@pytest.fixture
def deadline():
    """Interrupt what would never return; generous, and never asserted on."""

    def late(*_):
        raise TimeoutError("the reader did not come back")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
