"""The page on theory: its table is that of its file, and its numbers are those of the proof."""

import json
import math
from pathlib import Path

import pytest

from driftduel.worlds import make_world
from research.benchmarks import fleeting as script, page_marks as marks

ROOT = Path(__file__).parents[1]


RECORD = json.loads(script.RECORD.read_text("utf-8"))
PAGE = script.PAGE.read_text("utf-8")


def test_the_table_on_the_page_is_that_of_the_file():
    assert marks.on_page(PAGE, {script.TABLE: script.table(RECORD)}) == PAGE
    assert RECORD["rounds"] == script.ROUNDS == 10**6
    assert RECORD["runs"] == script.RUNS
    assert f"at $T = 10^6$, means of {script.RUNS} runs" in PAGE
    rows = [(row["kind"], row["gamma"]) for row in RECORD["rows"]]
    assert rows == [(kind, gamma) for kind in ("sst", "sti") for gamma in script.GAMMAS]


@pytest.mark.parametrize("row", RECORD["rows"], ids=lambda row: f"{row['kind']}-{row['gamma']}")
def test_everybody_loses_what_the_bound_says(row):
    # The bound by hand: the mean cost of a round over roles and sides, in 1/sqrt(T).
    matrices = make_world(script.world(row["kind"], row["gamma"])).matrices
    mean = sum((P[(P > 0.5).sum(axis=1).argmax()] - 0.5).sum() for P in matrices) / 6
    assert row["bound"] == pytest.approx(mean * math.sqrt(script.ROUNDS), abs=1e-5)
    for policy in script.POLICIES:
        lost, error = row[policy]
        assert abs(lost - row["bound"]) < 4 * error + 2e-4  # the file has four digits
        assert error < 0.1 * row["bound"]
    assert row["significant"] == 0
    assert abs(row["switches"] - script.ROUNDS / 2) < 4.5 * math.sqrt(script.ROUNDS) / 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sst", "sti"])
def test_the_games_of_the_file_can_be_played_again(kind):
    (row,) = [row for row in RECORD["rows"] if (row["kind"], row["gamma"]) == (kind, 16)]
    lost = script.regrets("uniform", kind, 16, RECORD["runs"])
    assert row["uniform"][0] == pytest.approx(lost.mean(), abs=1e-4)
