"""The page of reliability: made from given figures, complete, and as the command left it."""

import json
import re
import signal
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import faults  # noqa: E402
import reliability  # noqa: E402
from reliability_page import COLUMNS, NOT_RUN, page, summary, table, wrong  # noqa: E402

sys.path.remove(str(ROOT / "benchmarks"))

from finsler.errors import InputError  # noqa: E402

RUN = {
    "command": "python x.py",
    "date": "2031-02-03",
    "seconds": 4567.8,
    "code": 0,
    "versions": {"python": "3.11.7", "numpy": "2.4.6"},
    "machine": {"cores": 2},
}
ROWS = {
    "hostile": [
        {"what": "off", "tries": 1500, "seconds": 61.5, "peak_mib": 120, "crashes": 0},
        {"what": "npz", "tries": 23, "seconds": 60.0, "peak_mib": 130, "crashes": 0},
    ],
    "ugly": [{"what": "40 fins", "ok": 5, "warned": 3, "refused": 2, "defects": 0}],
    "faults": [{"what": "full disk", "tries": 20, "equal": 17, "reported": 3, "lost": 0}],
    "cluster": [{"what": "2 workers", "shapes": 16, "seconds": 12.3, "rate": 1.25}],
    "million": [
        {"what": "flbo", "vertices": 998562, "seconds": 3.0, "peak_gib": 0.5, "predicted_gib": 0.75}
    ],
}
TESTED = {"python": "3.13", "versions": "newest", "passed": 1234, "skipped": 5, "failed": 0}


@pytest.fixture
def state():
    parts = {name: {**RUN, "rows": [dict(row) for row in rows]} for name, rows in ROWS.items()}
    return {"parts": parts, "versions": [{**TESTED, "note": "no wheel of x"}]}


def test_the_page_shows_what_was_found(state):
    text = page(state)
    for line in (
        "| Hostile files | 2 readers, 1,523 inputs | read, or refused in one sentence | 0 |",
        "| Ugly meshes | 1 meshes, 10 calls |"
        " 5 work, 3 work and warn, 2 refused in one sentence | 0 |",
        "| Faults | 1 kinds, 20 injected | 17 equal to the undisturbed run, 3 reported | 0 |",
        "| off | 1,500 | 61.5 | 120 | 0 |",
        "| 40 fins | 5 | 3 | 2 | 0 |",
        "| full disk | 20 | 17 | 3 | 0 |",
        "| 2 workers | 16 | 12.3 | 1.25 |",
        "| flbo | 998,562 | 3 | 0.5 | 0.75 |",
        "| 3.13 | newest | 1,234 | 5 | 0 | no wheel of x |",
        "`python x.py`, 2031-02-03: ended in order after 4,568 s on 2 cores,"
        " with python 3.11.7, numpy 2.4.6.",
    ):
        assert line in text.splitlines()
    assert "$" not in text and NOT_RUN not in text


def test_what_was_not_run_is_said():
    text = page({"parts": {}, "versions": []})
    assert text.count(NOT_RUN) == len(COLUMNS) + 1
    assert text.count("| not run yet |") == len(COLUMNS)


@pytest.mark.parametrize(
    ("part", "kind"), [("hostile", "crashes"), ("ugly", "defects"), ("faults", "lost")]
)
def test_each_wrong_outcome_counts(state, part, kind):
    assert not any(wrong(run) for run in state["parts"].values())
    state["parts"][part]["rows"][0][kind] = 2
    assert {name: wrong(run) for name, run in state["parts"].items() if wrong(run)} == {part: 2}
    assert "| 2 |" in summary(state["parts"])


@pytest.mark.parametrize("part", ["hostile", "faults"])
def test_what_was_never_tried_is_wrong(state, part):
    row = state["parts"][part]["rows"][0]
    row |= {"tries": 0, "equal": 0, "reported": 0}
    assert wrong(state["parts"][part]) == 1
    assert "| 1 |" in summary(state["parts"])


def test_a_run_that_failed_is_wrong_and_shown(state):
    state["parts"]["million"] |= {"code": -9, "rows": []}
    state["parts"]["cluster"]["code"] = 1
    assert wrong(state["parts"]["million"]) == wrong(state["parts"]["cluster"]) == 1
    text = page(state)
    assert "| no results, code -9 | 1 |" in text and "ended with code -9" in text
    assert "**No results.**" in text


def test_table_aligns_numbers():
    assert table(["a", "b"], [("x", 1), ("y", 2.5)]).splitlines() == [
        "| a | b |",
        "| --- | ---: |",
        "| x | 1 |",
        "| y | 2.5 |",
    ]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The figures and the page in a folder of the test."""
    for name in ("STATE", "PAGE"):
        monkeypatch.setattr(reliability, name, tmp_path / name.lower())
    return tmp_path


def script(folder, code, content):
    """A part that leaves this content, or none, and ends with this code."""
    path, result = folder / "script.py", folder / "results" / "left.json"
    write = f"open(r'{result}', 'w').write({json.dumps(content)!r})" if content else "pass"
    path.write_text(f"import sys; {write}; sys.exit({code})")
    return reliability.Part(str(path), (), result, lambda found: found)


def ended(monkeypatch, part, *arguments):
    monkeypatch.setattr(reliability, "parts", lambda quick: {"faults": part})
    monkeypatch.setattr(sys, "argv", ["reliability.py", *arguments])
    with pytest.raises(SystemExit) as stop:
        reliability.main()
    return int(stop.value.code)


def test_a_part_alone_keeps_the_others(elsewhere, monkeypatch, state):
    reliability.keep(state)
    rows = [{"what": "power cut", "tries": 7, "equal": 7, "reported": 0, "lost": 0}]
    assert ended(monkeypatch, script(elsewhere, 0, rows), "--only", "faults") == 0
    kept = json.loads((elsewhere / "state").read_text())
    assert kept["parts"]["faults"]["rows"] == rows
    assert kept["parts"]["ugly"] == state["parts"]["ugly"]
    assert kept["versions"] == state["versions"]
    assert "| power cut | 7 | 7 | 0 | 0 |" in (elsewhere / "page").read_text()


@pytest.mark.parametrize(("code", "lost"), [(0, 1), (1, 0)])
def test_what_is_lost_or_fails_ends_with_an_error(elsewhere, monkeypatch, code, lost):
    rows = [{"what": "power cut", "tries": 7, "equal": 6, "reported": 0, "lost": lost}]
    assert ended(monkeypatch, script(elsewhere, code, rows)) == 1


def test_results_of_an_earlier_run_do_not_count(elsewhere, monkeypatch):
    part = script(elsewhere, 0, None)
    part.result.parent.mkdir()
    part.result.write_text(json.dumps(ROWS["faults"]))
    assert ended(monkeypatch, part) == 1
    assert "no results, code 0" in (elsewhere / "page").read_text()


def test_render_runs_nothing(elsewhere, monkeypatch, state):
    reliability.keep(state)
    (elsewhere / "page").unlink()
    part = script(elsewhere, 1, None)
    assert ended(monkeypatch, part, "--render") == 0
    assert (elsewhere / "page").read_text(encoding="utf-8") == page(state)


def test_rows_are_read_from_what_the_scripts_leave():
    detail = {"fin": {"lbo": ["warned", "a"], "heat": ["ok"], "shot": ["ok"], "view": ["defect"]}}
    assert reliability.ugly_rows({"detail": detail}) == [
        {"what": "fin", "ok": 2, "warned": 1, "refused": 0, "defects": 1}
    ]
    count = {"fault": "power cut", "tries": 7, "equal": 5, "reported": 2, "lost": 0}
    assert reliability.fault_rows({"results": {"counts": [count]}}) == [
        {"what": "power cut", "tries": 7, "equal": 5, "reported": 2, "lost": 0}
    ]
    step = {"vertices": 12, "seconds": 1.0, "peak": 2.0, "whole": 3.0}
    steps = {"peer": step, "flbo": {**step, "predicted": 4.0}}
    assert [row["what"] for row in reliability.million_rows({"results": {"steps": steps}})] == [
        "flbo"
    ]


def test_the_scripts_are_there():
    for part in (*reliability.parts(True).values(), *reliability.parts(False).values()):
        assert (ROOT / part.script).is_file(), part.script


@pytest.fixture(scope="module")
def committed():
    return reliability.PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_figures_say(committed):
    assert committed == page(reliability.load())


def names(text, heading):
    """The first column of the table below a heading."""
    below = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| (.*?) \|", below, flags=re.MULTILINE)[2:]


def test_the_page_names_every_ugly_mesh(committed, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests" / "ugly")
    from ugly_meshes import MESHES

    assert names(committed, "Ugly meshes") == list(MESHES)


def test_the_page_names_every_reader(committed, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    monkeypatch.syspath_prepend(ROOT / "fuzz")
    from targets import TARGETS

    assert names(committed, "Hostile files") == list(TARGETS)


def test_the_page_names_every_fault(committed, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests" / "faults")
    from disturbed import COMMANDS

    found = names(committed, "Faults")
    for command in COMMANDS:
        for fault in ("killed at any moment", "killed while it writes", "on a full disk"):
            assert f"{command} {fault}" in found
    for fault in ("worker killed", "twice at once", "clock backwards", "a file cut", "a bit"):
        assert any(fault in name for name in found), fault


# Ends of commands: exit code and stderr.
GOOD = (0, "")
ONE = (2, "error: a.npz: No space left on device\n")
SOME = (1, "note: slow\nfailed: a: no face has area\nfailed: b: too small\n")
BARE = (1, "Traceback (most recent call last):\nKeyError: 3\n")
BROKEN = (2, "Traceback (most recent call last):\n  ...\nerror: KeyError\n")
SILENT, TWICE, SHOT = (2, ""), (2, "error: a\nerror: b\n"), (-signal.SIGSEGV, "error: a\n")
UNKNOWN = (3, "error: a\n")


def test_what_counts_as_a_report():
    assert [end for end in (ONE, SOME) if not faults.said_why(*end)] == []
    wrong_ends = (GOOD, BARE, BROKEN, SILENT, TWICE, SHOT, UNKNOWN)
    assert [end for end in wrong_ends if faults.said_why(*end)] == []


class Calm:
    """An undisturbed run, and how the files of another differ from it."""

    def __init__(self, differences=()):
        self.found = differences

    def prepared(self, name, folder):
        return folder

    def differences(self, name, folder):
        if isinstance(self.found, Exception):
            raise self.found
        return list(self.found)


@pytest.mark.parametrize(
    ("ends", "again", "differences", "found"),
    [
        ([], GOOD, (), "equal"),
        ([], GOOD, ("a.npz",), "lost"),
        # Files that cannot be read, although the command says that all is well.
        ([], GOOD, zipfile.BadZipFile("cut"), "lost"),
        ([], GOOD, InputError("a.npz: damaged"), "lost"),
        ([], ONE, (), "reported"),
        ([], BARE, (), "lost"),
        ([], BROKEN, (), "lost"),
        ([], SHOT, (), "lost"),
        # The disturbed command itself went on.
        ([GOOD, GOOD], GOOD, (), "equal"),
        ([GOOD, ONE], GOOD, (), "equal"),
        ([ONE], GOOD, ("a.npz",), "lost"),
        ([ONE], ONE, (), "lost"),
        ([GOOD, BARE], GOOD, (), "lost"),
        ([SHOT], GOOD, (), "lost"),
    ],
)
def test_outcomes(tmp_path, monkeypatch, ends, again, differences, found):
    monkeypatch.setattr(faults.disturbed, "finish", lambda *_, **__: again)
    assert faults.outcome("prepare", Calm(differences), tmp_path, ends) == found


def counted(monkeypatch, ends, tries):
    """The counts of a fault that ends like this, one try after the other."""
    monkeypatch.setattr(faults.disturbed, "finish", lambda *_, **__: GOOD)
    left = iter(ends)
    row = faults.tally("x", "prepare", Calm(), lambda folder, random: next(left), tries, 0)
    return [row[key] for key in ("tries", "equal", "reported", "lost")], len(list(left))


def test_failures_because_of_a_fault_count(monkeypatch):
    assert counted(monkeypatch, [[BARE], [], None, [GOOD]], 4) == ([3, 2, 0, 1], 0)


def test_other_moments_are_tried_until_one_fits(monkeypatch):
    never = [None] * 100
    assert counted(monkeypatch, [None, None, None, [], []], 2) == ([1, 1, 0, 0], 1)
    assert counted(monkeypatch, never, 2) == ([0, 0, 0, 0], len(never) - 2 - faults.MORE)


def test_after_a_kill():
    assert faults.after_kill(-signal.SIGKILL, "") == []
    assert faults.after_kill(0, "") is None
    assert faults.after_kill(*BARE) == [BARE]
