"""Who won, and how sure that is, for data made by hand."""

from dataclasses import replace

import pytest

pytest.importorskip("polars")

from driftduel.lab import verdicts
from driftduel.lab.findings import Standing


def standing(policy, name, mean, **more):
    values = {"told": (), "runs": 8, "planned": 8, "low": mean - 10, "high": mean + 10}
    return Standing(policy=policy, name=name, mean=mean, **{**values, **more})


BEST = standing(0, "a", 100.0, ratio=1.0)
WORSE = standing(1, "b", 150.0, ratio=1.5, difference=50, difference_low=40, difference_high=60)
UNCLEAR = standing(2, "c", 104.0, ratio=1.04, difference=4, difference_low=-3, difference_high=11)


def test_a_clear_winner():
    text = verdicts.verdict([WORSE, BEST], "w:k=1")
    assert text == (
        "Over 8 runs in `w:k=1`, `a` had the lowest regret, 100 (95% interval 90 to 110). "
        "The next, `b`, had 1.50 times as much (150); the 95% interval of their paired "
        "difference is 40 to 60, which excludes 0: `a` is better beyond chance."
    )


def test_a_clear_winner_among_many():
    third = standing(3, "d", 190.0, difference=90, difference_low=80, difference_high=99)
    assert "The same holds against the other." in verdicts.verdict([BEST, WORSE, third], "w")
    wide = standing(3, "d", 190.0, difference=90, difference_low=-80, difference_high=260)
    text = verdicts.verdict([BEST, WORSE, wide], "w")
    assert "excludes 0" in text
    assert text.endswith("It cannot be distinguished from `d`.")


def test_no_clear_winner():
    text = verdicts.verdict([BEST, UNCLEAR, WORSE], "w")
    assert "which includes 0: these runs cannot distinguish the two." in text
    assert text.endswith("The other one is worse beyond chance.")
    assert "beyond chance" not in verdicts.verdict([BEST, UNCLEAR], "w")


def test_a_tie():
    text = verdicts.verdict([BEST, standing(1, "b", 100.0, ratio=1.0)], "w")
    assert text.endswith("`a` and `b` had the same lowest regret, 100.")


def test_one_policy_has_nobody_to_beat():
    text = verdicts.verdict([BEST], "w")
    assert "had a regret of 100 (95% interval 90 to 110)" in text
    assert "no other policy to compare with" in text


def test_one_run_says_nothing_about_chance():
    one = {"runs": 1, "planned": 1, "low": None, "high": None}
    pair = [standing(0, "a", 10.0, ratio=1.0, **one), standing(1, "b", 20.0, ratio=2.0, **one)]
    text = verdicts.verdict(pair, "w")
    assert text.startswith("Over 1 run in `w`, `a` had the lowest regret, 10. The next")
    assert text.endswith("so the certainty is unknown.")


def test_runs_that_are_not_shared():
    text = verdicts.verdict([standing(0, "a", 10.0), standing(1, "b", 20.0, runs=2)], "w")
    assert text.startswith("Over 2 to 8 runs")
    assert "They share too few runs for an interval of the difference." in text
    assert text.endswith("paired differences are more reliable than means.")
    odd = standing(1, "b", 20.0, difference=-5, difference_low=-9, difference_high=-1)
    assert "`b` had less" in verdicts.verdict([standing(0, "a", 10.0), odd], "w")


def test_no_regret_has_no_ratio():
    text = verdicts.verdict([standing(0, "a", 0.0), standing(1, "b", 7.0)], "w")
    assert "The next, `b`, had 7 (7)" not in text
    assert "`b`, had 7" in text


def test_an_oracle_is_called_one():
    oracle = standing(0, "oracle", 50.0, told=("at",))
    text = verdicts.prior_knowledge_remark([oracle, WORSE])
    assert text.startswith("`oracle` uses prior knowledge (the rounds of the changes)")
    assert "`b` had the lowest regret, 150" in text
    assert verdicts.prior_knowledge_remark([BEST, WORSE]) == ""


def test_how_far_apart():
    text = verdicts.about_totals([BEST, WORSE, UNCLEAR])
    assert text == (
        "Regret goes from 100 (`a`) to 150 (`b`), 1.50 times as much; "
        "of the 2 others, 1 is worse than `a` beyond chance."
    )
    assert "the other is worse" in verdicts.about_totals([BEST, WORSE])
    assert "the other is not worse" in verdicts.about_totals([BEST, UNCLEAR])
    assert "only policy" in verdicts.about_totals([BEST])


def test_the_verdict_says_what_is_measured():
    text = verdicts.verdict([BEST, WORSE], "w", "exploitability")
    assert "`a` had the lowest exploitability, 100" in text
    assert "an exploitability of 100" in verdicts.verdict([BEST], "w", "exploitability")
    assert verdicts.about_totals([BEST, WORSE], "exploitability").startswith("Exploitability goes")
    oracle = standing(0, "oracle", 50.0, told=("at",))
    assert "the lowest exploitability" in verdicts.prior_knowledge_remark(
        [oracle, WORSE], "exploitability"
    )
    assert "regret" not in verdicts.short_verdict([BEST, WORSE], "exploitability")


def test_in_short():
    assert verdicts.short_verdict([]) == "Nothing is finished yet."
    assert verdicts.short_verdict([BEST]) == "`a` is the only policy with results."
    assert verdicts.short_verdict([WORSE, BEST]) == (
        "`a` has the lowest regret, and against the other the paired interval of the difference "
        "excludes 0."
    )
    third = standing(3, "d", 190.0, difference=90, difference_low=80, difference_high=99)
    assert "against all 2 others" not in verdicts.short_verdict([BEST, WORSE, third])
    assert "against both others" in verdicts.short_verdict([BEST, WORSE, third])
    assert verdicts.short_verdict([BEST, UNCLEAR, WORSE]) == (
        "`a` has the lowest regret, but the runs cannot distinguish it from `c`: the paired "
        "interval of the difference includes 0."
    )
    one = [standing(0, "a", 1.0, runs=1), standing(1, "b", 2.0, runs=1)]
    assert "a single run" in verdicts.short_verdict(one)


def test_how_many_others():
    two = [standing(i, f"p{i}", 190.0, difference_low=80, difference_high=99) for i in (3, 4)]
    assert "The same holds against both others." in verdicts.verdict([BEST, WORSE, *two], "w")
    assert "both others are worse" in verdicts.about_totals([BEST, *two])
    three = [*two, replace(two[0], policy=5)]
    assert "The same holds against all 3 others." in verdicts.verdict([BEST, WORSE, *three], "w")
