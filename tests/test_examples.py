"""The examples run as they are, and show what they say they show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
# A program that `driftduel arena judge` starts; tests/arena/test_judging.py runs it.
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "judge")
NEEDS_LAB = {"first_comparison", "own_policy", "own_world"}
NEEDS_ARENA = {"router", "six_models"}
SHOWN = {
    "first_comparison": [
        r"switches: 3 of which significant: 3",
        r"(?s)policy.*oracle-dts.*sw-dts:window=2000.*glr-dts.*uniform",
        r"the same game again: True",
        r"still holds good: \(0, 1, 2, 3, 4\)",
    ],
    "own_policy": [r"(?s)geometric-btl.*stubborn.*uniform.*random-condorcet.*stubborn.*uniform"],
    "own_world": [
        r"winner in week 1: 0",
        r"\[\(1, 0\), \(10001, 2\)\]",
        r"switches: 1 ",
        r"(?s)oracle-dts.*sw-dts:window=2000.*dts.*uniform",
    ],
    "prompt_panel": [
        r"after 1,000 votes we would ship prompt 1",
        r"prompts \(0, 1, 2, 3, 5, 6\); after 600 more we would ship prompt 6",
    ],
    "six_models": [
        r"model-f leads",
        r"Sure, from [\d,]+ votes of these voters on this pool of items",
    ],
    "router": [
        r"chat: small\ncode: coder\ncode, with another price: large",
        r"Leaders by category: small for chat; large for code\. Preferences depend on the",
    ],
    "votes_in_a_database": [r"died \d\d times; 2000 duels, 5 open; ship 3"],
    "live_votes": [
        r"asked 4000, lost \d+, still open 25",
        r"before the change.*\[\S+ \S+ 0\.[89]\d* ",
        r"after the change.*\[0\.[89]",
    ],
}


def test_every_example_is_looked_at():
    assert sorted(SHOWN) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name, tmp_path):
    if name in NEEDS_LAB:
        pytest.importorskip("polars")
        pytest.importorskip("scipy")
    if name in NEEDS_ARENA:
        pytest.importorskip("starlette")
        pytest.importorskip("latex2mathml")
    command = [sys.executable, "-W", "error", str(FOLDER / f"{name}.py")]
    out = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert out.returncode == 0, out.stderr
    for pattern in SHOWN[name]:
        assert re.search(pattern, out.stdout), f"{pattern} in\n{out.stdout}"
    assert list(tmp_path.iterdir()) == [], "an example leaves no files behind where it is run"


@pytest.mark.parametrize("name", NAMES)
def test_the_example_can_be_read_in_one_go_and_opened_as_a_notebook(name):
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    assert len(text.splitlines()) < 65
    assert text.count("# %%") >= 3
