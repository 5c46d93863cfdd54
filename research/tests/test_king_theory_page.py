"""The page with king-0's bound: its numbers are those of the file, its formula the script's."""

import json
import math
import re

import numpy as np
import pytest

from driftduel.policies import POLICIES
from driftduel.worlds import make_world
from research.benchmarks import king0_bound as script, page_marks as marks
from research.tests.test_king_0_theory import ordered

RECORD = json.loads(script.RECORD.read_text("utf-8"))
PAGE = script.PAGE.read_text("utf-8")
TEXT = " ".join(PAGE.split())
ROWS = RECORD["rows"]
NAMES = tuple(script.asdict(script.BASE))


def setting_of(row):
    return script.Setting(*(row[name] for name in NAMES))


def ratio(row):
    return row["regret"] / row["bound"]


def spread(rows, of=ratio, digits=3):
    found = [of(row) for row in rows]
    return f"{min(found):.{digits}f} to {max(found):.{digits}f}"


def moved(*names):
    """Return the rows that differ from the first setting in these numbers at most."""
    rest = [name for name in NAMES if name not in names]
    return [row for row in ROWS if all(row[n] == getattr(script.BASE, n) for n in rest)]


def test_the_table_on_the_page_is_that_of_the_file():
    assert marks.on_page(PAGE, {script.TABLE: script.table(RECORD)}) == PAGE
    assert tuple(setting_of(row) for row in ROWS) == script.SETTINGS
    assert RECORD["runs"] == script.RUNS
    assert f"means of {script.RUNS} runs" in TEXT


@pytest.mark.parametrize("row", ROWS, ids=lambda row: setting_of(row).spec)
def test_the_theorem_holds_where_it_was_measured(row):
    bound, form = script.smaller(setting_of(row))
    assert (row["bound"], row["form"]) == (pytest.approx(bound, abs=0.1), form)
    assert row["regret"] + 4 * row["error"] < bound
    allowed = script.coronations(row["arms"], row["changes"])
    assert row["coronations_bound"] == pytest.approx(allowed, abs=0.01)
    assert row["coronations"] <= allowed + 4 * row["coronations_error"]


@pytest.mark.parametrize("setting", script.SETTINGS, ids=lambda setting: setting.spec)
def test_the_worlds_are_those_of_the_theorem(setting):
    world = make_world(setting.spec, seed=5)
    assert (world.rounds, world.arms) == (setting.rounds, setting.arms)
    assert len(world.matrices) <= setting.changes + 1
    for P in world.matrices[:2]:
        gaps = P - 0.5
        order = np.argsort(-gaps.sum(axis=1), kind="stable")
        assert ordered(gaps, order)
        lost = gaps[order[0]][order[1:]]
        assert lost.min() == pytest.approx(setting.gap)
        assert lost.max() == pytest.approx(setting.worst)


def test_what_the_page_says_of_the_table():
    decades = moved("rounds")
    assert [row["rounds"] for row in decades] == [10**4, 10**5, 10**6, 10**7]
    said = (
        f"The ratio is {spread(ROWS)} in all rows: {spread(decades)} over three decades of $T$, "
        f"{spread(moved('arms'))} from 2 to 50 arms, {spread(moved('changes'))} from 0 to 63 "
        f"changes."
    )
    assert said in TEXT
    assert {row["arms"] for row in moved("arms")} == {2, 5, 10, 20, 50}
    assert {row["changes"] for row in moved("changes")} == {0, 3, 15, 63}
    large = [1 / ratio(row) for row in ROWS]
    assert f"is {min(large):.0f} to {max(large):.0f} times too large" in TEXT
    loosest = min(ROWS, key=ratio)
    assert loosest["gap"] == min(row["gap"] for row in ROWS) == 0.01
    assert f"the maximum loss is {loosest['gap'] * loosest['rounds']:,.0f}." in TEXT
    telling = sum(not setting_of(row).vacuous for row in ROWS)
    assert f"**It is not trivial** in {telling} of the {len(ROWS)} rows." in TEXT
    clear = [r for r in ROWS if r["world"] == "total-order" and r["gap"] >= 0.05]
    shares = spread(
        [row for row in clear if row["rounds"] >= 10**5],
        lambda row: row["coronations"] / row["coronations_bound"],
        2,
    )
    assert f"{shares} of it in worlds with a total order" in TEXT
    better = max(row["regret"] / row["king"] for row in ROWS)
    assert f"king is up to {better:.0f} times better in the table" in TEXT


def test_the_formula_on_the_page_is_the_scripts():
    code = re.search(r"```python\n(.*?)\n\n\nwith registered", PAGE, re.DOTALL)[1]
    names = {}
    exec(code.replace("from driftduel import play\n", ""), names)
    for T, K, S, gap in numbers_of_settings():
        least = min(script.bound(T, K, S, gap), script.bound(T, K, S))
        assert names["bound"](T, K, S, gap) == pytest.approx(least)


def numbers_of_settings():
    return [(each.rounds, each.arms, each.changes, each.gap) for each in script.SETTINGS]


def test_the_policy_promises_what_the_page_proves():
    assert "sqrt(K (S + 1) T log K log T)" in POLICIES["king-0"].factory.guarantee
    assert "$\\sqrt{K (S+1)\\, T \\log K \\log T}$" in PAGE
    # The smallest stake's share is below sqrt(T) up to the T of the page.
    assert pytest.approx(2**42) == 1 / script.FLOOR**2
    assert math.floor(2**42 / 1e12) == 4
    assert "up to $T = 4 \\cdot 10^{12}$" in PAGE


@pytest.mark.long
def test_the_games_of_the_file_can_be_played_again():
    row = ROWS[0]
    again = script.measured(setting_of(row), RECORD["runs"])
    assert {**again, "king": 0} == {**row, "king": 0}  # king may have changed since
