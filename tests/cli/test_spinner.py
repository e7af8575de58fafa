"""The spinner says that a first use compiles, and only then."""

import numba
from rich.status import Status

from finsler.cli.spinner import FIRST_USE, stages, working


def test_compilation_is_announced_beside_the_stage_that_waits_for_it(monkeypatch):
    shown = []
    monkeypatch.setattr(Status, "update", lambda status, text: shown.append(text.plain))

    @numba.njit
    def successor(number):
        return number + 1

    with stages("matching") as show:
        show("basis")
        successor(1)
        show("candidates")
        successor(2)
    compiling = f"matching: basis ({FIRST_USE})"
    assert shown == ["matching: basis", compiling, "matching: candidates"]


def test_nothing_is_said_outside_of_the_block(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(Status, "update", lambda status, text: shown.append(text.plain))
    with working("operators"):
        pass
    numba.njit(lambda number: number - 1)(1)
    assert shown == []
    assert capsys.readouterr().err == ""
