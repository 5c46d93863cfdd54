"""The limit on king's page: the lower bound, and the regret with prior knowledge."""

import itertools
import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel._internal.compiler import jit_enabled
from research.benchmarks import limit as script, page_marks as marks

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="many rounds are for compiled code")


RECORD = json.loads(script.RECORD.read_text("utf-8"))
PAGE = script.PAGE.read_text("utf-8")
gaps = st.floats(0.01, 0.45)
rates = st.floats(0.0, 0.5)


def case_of(row):
    return script.Case(*(row[name] for name in script.Case._fields))


def by_hand(rounds, gap, change):
    """Try every action after every sequence of answers, without a grid."""

    @cache
    def least(p, left):
        if left == 0:
            return 0.0

        def later(q):
            return least(q * (1 - change) + (1 - q) * change, left - 1)

        wins = 0.5 + gap * (2 * p - 1)
        after_win, after_loss = p * (0.5 + gap) / wins, p * (0.5 - gap) / (1 - wins)
        return min(
            gap * (1 - p) + later(p),
            gap * p + later(p),
            gap / 2 + wins * later(after_win) + (1 - wins) * later(after_loss),
        )

    return least(0.5, rounds)


@given(st.integers(1, 8), gaps, st.floats(1.0, 50.0))
@settings(max_examples=100)
def test_the_bound_is_the_least_cost_of_all_ways_to_play(rounds, gap, every):
    case = script.Case(2, gap, every, rounds)
    exact = by_hand(rounds, gap, 1 / every)
    coarse, fine = script.at_least(case, 9), script.at_least(case, 2001)
    assert coarse <= fine + 1e-12
    assert fine <= exact + 1e-12
    assert fine == pytest.approx(exact, rel=5e-3)


@given(st.integers(2, 4), gaps, rates, st.data())
@settings(max_examples=100)
def test_beliefs_are_those_of_all_courses_of_the_winner(arms, gap, change, data):
    pairs = st.permutations(range(arms)).map(lambda order: order[:2])
    duels = data.draw(st.lists(st.tuples(pairs, st.booleans()), min_size=1, max_size=4))
    belief = np.full(arms, 1 / arms)
    for (first, second), won in duels:
        script.learn(belief, first, second, int(won), gap)
        script.pass_on(belief, change)
    chances = np.zeros(arms)
    for course in itertools.product(range(arms), repeat=len(duels) + 1):
        chance = 1 / arms
        for before, after in itertools.pairwise(course):
            chance *= 1 - change if before == after else change / (arms - 1)
        for winner, ((first, second), won) in zip(course, duels, strict=False):
            p = 0.5 + gap * ((first == winner) - (second == winner))
            chance *= p if won else 1 - p
        chances[course[-1]] += chance
    assert belief == pytest.approx(chances / chances.sum(), abs=1e-12)


@compiled
def test_who_is_told_all_but_the_times_comes_near_the_bound_and_not_below_it():
    case = script.Case(2, 0.15, 2000, 20_000)
    regrets = [script.told(case, 2.0 / np.sqrt(2000), seed) for seed in range(300)]
    mean, error = np.mean(regrets), np.std(regrets) / np.sqrt(len(regrets))
    assert script.at_least(case, 1001) - 4 * error < mean < 1.2 * script.at_least(case, 1001)


def test_worlds_change_at_the_rate_that_is_told():
    case = script.Case(4, 0.1, 50, 20_000)
    starts, winners = script.draw(case, 3)
    assert len(starts) == pytest.approx(400, abs=80)
    assert (np.diff(winners) != 0).all()
    assert script.world(case, 3).condorcet_winners() == list(
        zip(starts.tolist(), winners.tolist(), strict=True)
    )


def test_the_table_on_the_page_is_that_of_the_file():
    assert marks.on_page(PAGE, {script.TABLE: script.table(RECORD)}) == PAGE
    assert RECORD["runs"] == script.RUNS
    assert [
        script.Case(*(row[name] for name in script.Case._fields)) for row in RECORD["cases"]
    ] == list(script.CASES)


@compiled
def test_the_bound_in_the_file_is_the_one_computed_here():
    row = RECORD["cases"][0]
    assert row["at_least"] == pytest.approx(script.at_least(case_of(row)), abs=0.01)


def test_nobody_on_the_page_is_below_the_bound():
    bounded = [row for row in RECORD["cases"] if row["at_least"] is not None]
    assert [row["arms"] for row in bounded] == [2] * 4
    for row in bounded:
        for name in ("told", "king", "window"):
            assert row[name] > row["at_least"] - 3 * row[f"{name}_error"]


@pytest.mark.parametrize(
    ("arms", "above", "below", "words"),
    [
        (2, "at_least", "window", "about {} to {} of the best window's"),
        (2, "king", "at_least", "{} to {} times the least that is possible"),
        (5, "king", "told", "{} to {} times the regret of the informed policy at five"),
        (10, "king", "told", "and {} to {} times at ten"),
    ],
)
def test_what_is_said_of_the_table_is_in_it(arms, above, below, words):
    ratios = [row[above] / row[below] for row in RECORD["cases"] if row["arms"] == arms]
    said = words.format(f"{min(ratios):.2f}", f"{max(ratios):.2f}")
    assert said in " ".join(PAGE.split())


def test_the_window_is_sampled_and_so_is_the_ratio_to_it():
    row = RECORD["cases"][0]
    ends = [
        row["at_least"] / (row["window"] + sign * 1.96 * row["window_error"]) for sign in (1, -1)
    ]
    said = f"{row['at_least'] / row['window']:.2f} in the first row is an interval of "
    assert said + " to ".join(f"{end:.2f}" for end in ends) in " ".join(PAGE.split())
