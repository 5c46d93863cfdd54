"""The fuzzer itself: what it would find, and that what it draws is worth drawing."""

import collections
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
if sys.platform == "win32":
    pytest.skip("needs signals and limits", allow_module_level=True)

from driftduel import cli
from driftduel.errors import DriftduelError
from tests.fuzz import inputs, judge
from tests.fuzz.inputs import SURFACES, Input, draw


@pytest.mark.long
def test_the_same_numbers_give_the_same_input():
    for number in range(0, 200, 7):
        assert draw(3, number) == draw(3, number)
    assert draw(3, 1) != draw(4, 1)


@pytest.mark.long
def test_every_surface_is_drawn():
    drawn = collections.Counter(draw(0, number).surface for number in range(400))
    assert set(drawn) == set(SURFACES)


@pytest.mark.long
def test_nothing_that_is_written_leaves_the_folder():
    """An input names no path outside, but for a device that must not be replaced."""
    for number in range(1500):
        for word in draw(5, number).argv:
            assert word == "/dev/null" or not word.startswith(("/", "~")), word
            assert "/dev/null" in word or "=/" not in word, word


ANSWERS = {
    "a traceback": (lambda: 1 / 0, "ZeroDivisionError"),
    "a code that nobody knows": (lambda: 7, "exit code 7"),
    "no sentence": (lambda: 2, "no sentence"),
    "two lines": (lambda: print("driftduel: one\ntwo.", file=sys.stderr) or 2, "not a sentence"),
    "a long one": (lambda: print(f"driftduel: {'x' * 9999}.", file=sys.stderr) or 2, "letters"),
    "NaN": (lambda: print('{"a": NaN}') or 0, "no JSON: NaN"),
    "half of a file": (lambda: Path(".abc.part").write_text("x") * 0, "left behind"),
    "a file and an error": (
        lambda: (Path("w.npz").write_text("x") and print("driftduel: no.", file=sys.stderr)) or 2,
        "files were written",
    ),
    "much memory": (
        lambda: print("driftduel: there is not enough memory.", file=sys.stderr) or 2,
        "too much memory",
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_is_wrong_is_found(answer, monkeypatch):
    does, said = ANSWERS[answer]
    monkeypatch.setattr(cli, "main", lambda argv: does())
    before = Path.cwd()
    wrong, _ = judge.judged(Input("worlds", {}, ["measure", "--json"]))
    assert said in wrong
    assert Path.cwd() == before


@pytest.mark.parametrize(
    "answer",
    [
        lambda: 0,
        lambda: print("{}") or 0,
        lambda: print("driftduel: no.", file=sys.stderr) or 2,
    ],
)
def test_what_is_right_is_let_go(answer, monkeypatch):
    monkeypatch.setattr(cli, "main", lambda argv: answer())
    assert judge.judged(Input("worlds", {}, ["measure", "--json"]))[0] is None


def test_calls_are_judged_too(monkeypatch):
    def refuse():
        raise DriftduelError("no sentence without an end")

    monkeypatch.setitem(judge.CALLS, "refuse", refuse)
    monkeypatch.setitem(judge.CALLS, "fail", lambda: {}[0])
    assert "not a sentence" in judge.judged(Input("", {}, call="refuse"))[0]
    assert "KeyError" in judge.judged(Input("", {}, call="fail"))[0]


LOST = """
import os, sys
from tests.fuzz import __main__, judge

def judged(given):
    judged.count += 1
    if judged.count == 2:
        {how}
    return None, "taken"

judged.count = 0
judge.judged = judged
sys.exit(__main__.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("how", ["os.kill(os.getpid(), 11)", "os._exit(3)", "raise MemoryError"])
def test_a_process_that_is_lost_is_reported_and_the_rest_is_tried(how, tmp_path, monkeypatch):
    """Its input is named, and those after it are given to another process."""
    from tests.fuzz import __main__ as fuzz

    script = tmp_path / "lost.py"
    script.write_text(LOST.replace("{how}", how))
    popen = subprocess.Popen

    def lost(command, **more):
        words = command[3:] if command[-2] == "10" else command[1:]
        return popen(
            [sys.executable, str(script), *words] if words is not command[1:] else command, **more
        )

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setattr(fuzz.subprocess, "Popen", lost)
    answers = collections.Counter()
    go_on, wrong = fuzz._Process(0, 10, 14).result(answers)
    assert go_on == 12
    ((number, what),) = wrong
    assert number == 11
    assert "the process ended with" in what


def test_one_surface_can_be_asked_for():
    assert {draw(0, number, "logs").argv[0] for number in range(20)} == {"log"}


def test_what_was_noticed_while_reading_a_log_may_be_a_list(monkeypatch):
    def answer(text):
        monkeypatch.setattr(cli, "main", lambda argv: print(text, file=sys.stderr) or 0)
        return judge.judged(Input("logs", {}, ["log", "summary", "v.csv"]))[0]

    assert answer("driftduel: 2 rows are invalid:\n  line 3: winner=x") is None
    assert "not a sentence" in answer("driftduel: 2 rows are invalid:\nline 3")
    assert "a number went wrong" in answer("driftduel: overflow encountered in square")
    assert "too much is said" in answer("driftduel: no rows." + "\n  line" * 9999)


def test_damage_is_damage():
    rng = np.random.default_rng(0)
    whole = bytes(range(256))
    assert all(inputs.damaged(rng, whole) is not whole for _ in range(50))
    assert sum(inputs.damaged(rng, whole) != whole for _ in range(50)) > 45
    assert sum(inputs.mutated(rng, "dts:alpha=0.5") != "dts:alpha=0.5" for _ in range(50)) > 45


@pytest.mark.long
def test_some_inputs_are_answered_rightly():
    """A first look; `make fuzz` tries more."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--inputs", "60", "--workers", "1"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout
    assert "60 inputs" in ended.stdout


@pytest.mark.long
@pytest.mark.parametrize("surface", ["logs", "arena"])
def test_some_broken_inputs_of_a_surface_are_answered_rightly(surface):
    if surface == "arena":
        pytest.importorskip("starlette")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--inputs", "30", "--workers", "1",
         "--surface", surface],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout
    assert surface in ended.stdout
