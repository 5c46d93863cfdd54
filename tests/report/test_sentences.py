"""What the page says is computed, and right for data made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from driftduel.figures.findings import Changes, Curve, Shares, Standing, Trend, TrendLine
from driftduel.report import sentences


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


def test_a_clear_winner():
    text = sentences.verdict([WORSE, BEST], "w:k=1")
    assert text == (
        "Over 8 runs in `w:k=1`, `a` had the lowest regret, 100 (95 % interval 90 to 110). "
        "The next, `b`, had 1.50 times as much (150); the 95 % interval of their difference, run "
        "by run, is 40 to 60, which excludes 0: `a` is better beyond chance."
    )


def test_a_clear_winner_among_many():
    third = standing(3, "d", 190.0, difference=90, difference_low=80, difference_high=99)
    assert "So it is against the other one." in sentences.verdict([BEST, WORSE, third], "w")
    wide = standing(3, "d", 190.0, difference=90, difference_low=-80, difference_high=260)
    text = sentences.verdict([BEST, WORSE, wide], "w")
    assert "excludes 0" in text
    assert text.endswith("It cannot be told apart from `d`.")


def test_no_clear_winner():
    text = sentences.verdict([BEST, UNCLEAR, WORSE], "w")
    assert "which includes 0: these runs cannot tell the two apart." in text
    assert text.endswith("The other one is worse beyond chance.")
    assert "beyond chance" not in sentences.verdict([BEST, UNCLEAR], "w")


def test_a_tie():
    text = sentences.verdict([BEST, standing(1, "b", 100.0, ratio=1.0)], "w")
    assert text.endswith("`a` and `b` had the same lowest regret, 100.")


def test_one_policy_has_nobody_to_beat():
    text = sentences.verdict([BEST], "w")
    assert "had a regret of 100 (95 % interval 90 to 110)" in text
    assert "nothing to compare it with" in text


def test_one_run_says_nothing_about_chance():
    one = {"runs": 1, "planned": 1, "low": None, "high": None}
    pair = [standing(0, "a", 10.0, ratio=1.0, **one), standing(1, "b", 20.0, ratio=2.0, **one)]
    text = sentences.verdict(pair, "w")
    assert text.startswith("Over 1 run in `w`, `a` had the lowest regret, 10. The next")
    assert text.endswith("how sure this is cannot be said.")


def test_runs_that_are_not_shared():
    text = sentences.verdict([standing(0, "a", 10.0), standing(1, "b", 20.0, runs=2)], "w")
    assert text.startswith("Over 2 to 8 runs")
    assert "They share too few runs to say how sure this is." in text
    assert text.endswith("trust differences run by run more than means.")
    odd = standing(1, "b", 20.0, difference=-5, difference_low=-9, difference_high=-1)
    assert "it is `b` that had less" in sentences.verdict([standing(0, "a", 10.0), odd], "w")


def test_no_regret_has_no_ratio():
    text = sentences.verdict([standing(0, "a", 0.0), standing(1, "b", 7.0)], "w")
    assert "The next, `b`, had 7 (7)" not in text
    assert "`b`, had 7" in text


def test_an_oracle_is_called_one():
    oracle = standing(0, "oracle", 50.0, told=("at",))
    text = sentences.told_remark([oracle, WORSE])
    assert text.startswith("`oracle` was told the rounds of the changes")
    assert "`b` had the lowest regret, 150" in text
    assert sentences.told_remark([BEST, WORSE]) == ""


def test_how_far_apart():
    text = sentences.about_totals([BEST, WORSE, UNCLEAR])
    assert text == (
        "Regret goes from 100 (`a`) to 150 (`b`), 1.50 times as much; "
        "of the 2 others, 1 is worse than `a` beyond chance."
    )
    assert "the other is worse" in sentences.about_totals([BEST, WORSE])
    assert "none is worse" in sentences.about_totals([BEST, UNCLEAR])
    assert "alone" in sentences.about_totals([BEST])


def test_where_the_world_changes():
    said = sentences.about_changes
    assert said(changes(), None, True, "run 0") == (
        "In every run the best arm stays the same throughout."
    )
    assert said(changes([501]), [(1, 2), (501, 0)], True, "run 0") == (
        "In every run the best arm changes 1 time, in round 501, from arm 2 to arm 0."
    )
    common = changes([501, 701], [6, 8], fewest=1, most=2)
    assert said(common, None, False, "run 0") == (
        "The best arm changes 1 to 2 times in a run: in round 501 (6 of 8 runs) and 701 (all "
        "runs); which arm is best differs from run to run."
    )
    moved = replace(changes([501]), subject="preferences")
    assert said(moved, [(1, None), (501, None)], True, "run 0") == (
        "In every run the preferences change 1 time, in round 501."
    )
    still = replace(changes(), subject="arms that lose nothing")
    assert said(still, None, True, "r") == (
        "In every run the arms that lose nothing stay the same throughout."
    )
    assert "The preferences change once in a run." in sentences.about_restarts([BEST], moved)
    assert "The arms that lose nothing never change." in sentences.about_restarts([BEST], still)
    example = changes(range(10, 400, 10), example=True, fewest=30, most=50)
    text = said(example, None, False, "run 3")
    assert "30 to 50 times in a run, each time in other rounds" in text
    assert "those of run 3: in round 10, 20, 30" in text
    assert text.endswith("and 31 more.")


def test_who_leads_when():
    at = np.arange(10, 1001, 10)
    early = Curve(np.minimum(at * 0.1, 30) + np.maximum(at - 500, 0) * 0.5, None, None)
    late = Curve(at * 0.2, None, None)
    names = {0: "early", 4: "late"}
    text = sentences.about_curves(at, {0: early, 4: late}, names, changes([501]))
    assert text.startswith("`late` has the lowest mean regret since about round 740; before, `ea")
    assert "The highest at the end, `early`, is at 280, that of the leader at 200." in text
    assert "loses 0.200 a round, in the tenth before one 0.200." in text
    alone = sentences.about_curves(at, {4: late}, names, changes())
    assert alone == "`late` has lost 200 by the end."
    always = sentences.about_curves(at, {4: late, 0: Curve(at * 0.3, None, None)}, names, changes())
    assert "almost from the start" in always


def trend(lines, x=(1000.0, 4000.0, 16000.0), left_out=0):
    return Trend("rounds", "rounds", "w", np.array(x), (0, 1, 2), lines, left_out)


def line(slope, low=None, high=None):
    return TrendLine(np.ones(3), None, None, slope, low, high, 0.0)


def test_how_regret_grows():
    names = {0: "slow", 1: "fast"}
    text = sentences.about_trend(trend({0: line(0.5, 0.4, 0.6), 1: line(1, 0.99, 1.01)}), names)
    assert text == (
        "In 3 worlds between 1,000 and 16,000 rounds T, the regret of `slow` grows slowest, like "
        "T^0.50 (95 % interval 0.40 to 0.60), and that of `fast` fastest, like T^1.00 (95 % "
        "interval 0.99 to 1.01). A square root, T^0.50, is within the interval of `slow`."
    )
    assert "nobody's" in sentences.about_trend(trend({1: line(-0.001, -0.01, 0.02)}), names)
    assert "-0.00" not in sentences.about_trend(trend({1: line(-0.001, -0.004, 0.02)}), names)
    two = trend({0: line(0.7)}, x=(1.0, 2.0), left_out=1)
    assert "Two points make a line" in sentences.about_trend(two, names)
    assert "Left out: 1 world without any change" in sentences.about_trend(two, names)
    assert "no line" in sentences.about_trend(trend({0: line(None)}), names)


def test_who_restarts():
    good = standing(0, "good", 1.0, restarts=3.0, too_many=0.0, detected=1.0, delay=120.5)
    wild = standing(1, "wild", 1.0, restarts=40.0, too_many=37.0, detected=0.9, delay=20.0)
    never = standing(2, "never", 1.0)
    text = sentences.about_restarts([good, wild, never], changes([1, 2, 3]))
    assert text == (
        "The best arm changes 3 times in a run. `good` answered the largest share of "
        "them with a restart, 100%, 120 rounds after the change on average; of its restarts, 3 a "
        "run, none were needless. `wild` had the most needless restarts: 37 of 40 a run. `never` "
        "never restarted."
    )
    assert "No policy here ever restarted." in sentences.about_restarts([never], changes([1]))


@pytest.mark.parametrize(
    ("missing", "failed", "words"),
    [
        (0, 0, ""),
        (1, 0, "Unfinished: 1 game of 10 is missing. "),
        (3, 2, "Unfinished: 3 games of 10 are missing, 2 of them because they failed. "),
    ],
)
def test_what_is_missing(missing, failed, words):
    assert sentences.about_missing(10, missing, failed).startswith(words)
    assert bool(sentences.about_missing(10, missing, failed)) == bool(missing)


def test_names_of_runs():
    assert sentences.game_name((0, 3), 1) == "run 3"
    assert sentences.game_name((7, 3), 2) == "run 3 of seed 7"


def test_the_share_of_the_best_arm(request):
    pytest.importorskip("polars")
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    played = request.getfixturevalue("played")
    from driftduel.figures.findings import read_findings
    from driftduel.lab import results

    (world,) = read_findings(results(played)).worlds
    ends = world.slice_ends.tolist()
    truth = np.zeros((len(ends), 3))
    for first, last, arm in world.phases():
        inside = (np.array(ends) > first - 1) & (np.array(ends) <= last)
        truth[inside, arm] = 1
    shares = Shares((0, 1, 2), truth, truth, runs=3)
    text = sentences.about_shares("p", shares, ends, world, "run 0")
    assert "averaged over 3 runs: 100% of its plays were of the arm that was best" in text
    assert text.endswith("Choosing at random would be 33%.")
