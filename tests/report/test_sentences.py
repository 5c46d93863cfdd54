"""What the page says is computed, and right for data made by hand."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("jinja2")

from driftduel.lab.findings import ArmShares, Changes, Curve, Standing, Trend, TrendLine
from driftduel.report.section import game_name
from driftduel.report.sections import curves, notices, restarts, shares, trends, verdict


def standing(policy, name, mean, **more):
    values = {"told": (), "runs": 8, "planned": 8, "low": mean - 10, "high": mean + 10}
    return Standing(policy=policy, name=name, mean=mean, **{**values, **more})


BEST = standing(0, "a", 100.0, ratio=1.0)
WORSE = standing(1, "b", 150.0, ratio=1.5, difference=50, difference_low=40, difference_high=60)
UNCLEAR = standing(2, "c", 104.0, ratio=1.04, difference=4, difference_low=-3, difference_high=11)


def changes(rounds=(), counts=None, runs=8, example=False, fewest=None, most=None):
    counts = (runs,) * len(rounds) if counts is None else counts
    few, many = (len(rounds) if end is None else end for end in (fewest, most))
    return Changes(tuple(rounds), tuple(counts), runs, example, few, many, (few + many) / 2)


def test_where_the_world_changes():
    said = verdict.about_changes
    assert said(changes(), None, True, "run 0") == (
        "In every run the best arm stays the same throughout."
    )
    assert said(changes([501]), [(1, 2), (501, 0)], True, "run 0") == (
        "In every run the best arm changes once, in round 501, from arm 2 to arm 0."
    )
    common = changes([501, 701], [6, 8], fewest=1, most=2)
    assert said(common, None, False, "run 0") == (
        "The best arm changes 1 to 2 times a run: in rounds 501 (6 of 8 runs) and 701 (all "
        "runs); the best arms differ between runs."
    )
    moved = replace(changes([501]), subject="preferences")
    assert said(moved, [(1, None), (501, None)], True, "run 0") == (
        "In every run the preferences change once, in round 501."
    )
    still = replace(changes(), subject="arms without regret")
    assert said(still, None, True, "r") == (
        "In every run the arms without regret stay the same throughout."
    )
    assert "The preferences change once a run." in restarts.about_restarts([BEST], moved)
    assert "The arms without regret never change." in restarts.about_restarts([BEST], still)
    example = changes(range(10, 400, 10), example=True, fewest=30, most=50)
    text = said(example, None, False, "run 3")
    assert "30 to 50 times per run, in different rounds" in text
    assert "those of run 3: in rounds 10, 20, 30" in text
    assert text.endswith("and 31 more.")


def test_who_leads_when():
    at = np.arange(10, 1001, 10)
    early = Curve(np.minimum(at * 0.1, 30) + np.maximum(at - 500, 0) * 0.5, None, None)
    late = Curve(at * 0.2, None, None)
    names = {0: "early", 4: "late"}
    text = curves.about_curves(at, {0: early, 4: late}, names, changes([501]))
    assert text.startswith("`late` has the lowest mean regret since about round 740; before, `ea")
    assert "At the end, `early` has the highest, 280, and the leader has 200." in text
    assert "incurs 0.200 a round, in the last tenth before a change 0.200." in text
    alone = curves.about_curves(at, {4: late}, names, changes())
    assert alone == "`late` has a total of 200 at the end."
    always = curves.about_curves(at, {4: late, 0: Curve(at * 0.3, None, None)}, names, changes())
    assert "almost from the start" in always


def trend(lines, x=(1000.0, 4000.0, 16000.0), left_out=0):
    return Trend("rounds", "rounds", "w", np.array(x), (0, 1, 2), lines, left_out)


def line(slope, low=None, high=None):
    return TrendLine(np.ones(3), None, None, slope, low, high, 0.0)


def test_how_regret_grows():
    names = {0: "slow", 1: "fast"}
    text = trends.about_trend(trend({0: line(0.5, 0.4, 0.6), 1: line(1, 0.99, 1.01)}), names)
    assert text == (
        "In 3 worlds of 1,000 to 16,000 rounds (T), the regret of `slow` grows slowest, like "
        "T^0.50 (95% interval 0.40 to 0.60), and that of `fast` fastest, like T^1.00 (95% "
        "interval 0.99 to 1.01). A square root, T^0.50, is in the interval of `slow`."
    )
    assert "is in no interval" in trends.about_trend(trend({1: line(-0.001, -0.01, 0.02)}), names)
    assert "-0.00" not in trends.about_trend(trend({1: line(-0.001, -0.004, 0.02)}), names)
    two = trend({0: line(0.7)}, x=(1.0, 2.0), left_out=1)
    assert "Two points cannot show" in trends.about_trend(two, names)
    assert "Omitted: 1 world without changes" in trends.about_trend(two, names)
    assert "no line" in trends.about_trend(trend({0: line(None)}), names)


def test_who_restarts():
    good = standing(0, "good", 1.0, restarts=3.0, needless=0.0, detected=1.0, delay=120.5)
    wild = standing(1, "wild", 1.0, restarts=40.0, needless=37.0, detected=0.9, delay=20.0)
    never = standing(2, "never", 1.0)
    text = restarts.about_restarts([good, wild, never], changes([1, 2, 3]))
    assert text == (
        "The best arm changes 3 times a run. `good` detected all of them with a restart, on "
        "average 120 rounds after the change; of its restarts, 3 a run, none was needless. "
        "`wild` had the most needless restarts: 37 of 40 a run. `never` "
        "never restarted."
    )
    some = replace(good, detected=0.8, needless=1.0)
    text = restarts.about_restarts([some, wild], changes([1, 2, 3]))
    assert "`wild` detected 90% of them with a restart, more than any other, on average 20" in text
    assert "of its restarts, 3 a run, 1 was needless." in restarts.about_restarts(
        [some], changes([1, 2, 3])
    )
    assert "No policy restarted." in restarts.about_restarts([never], changes([1]))


@pytest.mark.parametrize(
    ("missing", "failed", "words"),
    [
        (0, 0, ""),
        (1, 0, "Unfinished: 1 game of 10 is missing. "),
        (3, 2, "Unfinished: 3 games of 10 are missing, 2 of them because they failed. "),
    ],
)
def test_what_is_missing(missing, failed, words):
    assert notices.about_missing(10, missing, failed).startswith(words)
    assert bool(notices.about_missing(10, missing, failed)) == bool(missing)


def test_names_of_runs():
    assert game_name((0, 3), 1) == "run 3"
    assert game_name((7, 3), 2) == "run 3 of seed 7"


def test_the_share_of_the_best_arm(request):
    pytest.importorskip("polars")
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    played = request.getfixturevalue("played")
    from driftduel.lab import load_results
    from driftduel.lab.findings import read_findings

    (world,) = read_findings(load_results(played)).worlds
    ends = world.slice_ends.tolist()
    truth = np.zeros((len(ends), 3))
    for first, last, arm in world.phases:
        inside = (np.array(ends) > first - 1) & (np.array(ends) <= last)
        truth[inside, arm] = 1
    made = ArmShares((0, 1, 2), truth, truth, runs=3)
    text = shares.about_shares("p", made, ends, world, "run 0")
    assert "averaged over 3 runs: 100% of its plays were of the best arm" in text
    assert text.endswith("Choosing at random would be 33%.")
