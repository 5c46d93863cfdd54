"""The lemma of king's page: a match costs a reigning winner at most 1/4, whatever the gaps do."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays

from driftduel._internal.compiler import jit_enabled
from driftduel.policies import make_policy
from research.benchmarks import match_cost as script, page_marks as marks

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="many matches are for compiled code")
ROOT = Path(__file__).parents[2]


RECORD = json.loads(script.RECORD.read_text("utf-8"))
gap_tables = st.integers(1, 8).flatmap(
    lambda n: arrays.arrays(np.float64, (n, n), elements=st.floats(0, 0.5))
)


def by_hand(gaps, end):
    """Add up all courses of a match: every sequence of wins and losses, with its chance."""
    total = 0.0
    for course in itertools.product((1, -1), repeat=len(gaps)):
        lead, chance, cost = 0, 1.0, 0.0
        for row, step in zip(gaps, course, strict=True):
            if lead == end:
                chance /= 2  # over: all courses from here on are the same one
                continue
            gap = row[max(lead, 0)]
            cost += gap / 2
            chance *= 0.5 - step * gap
            lead += step
        total += chance * cost
    return total


@given(gap_tables, st.sampled_from([-1, -2]))
@settings(max_examples=60)
def test_the_exact_cost_is_that_of_all_courses(gaps, end):
    assert script.exact(gaps, end) == pytest.approx(by_hand(gaps, end), abs=1e-12)


@given(gap_tables)
@settings(max_examples=300)
def test_no_gaps_make_a_match_cost_more_than_a_quarter(gaps):
    assert script.exact(gaps) <= 0.25 + 1e-12


def test_the_best_adversary_gets_a_quarter_and_no_more():
    """Backwards from the last duel: the largest cost from each lead on."""
    choices = np.linspace(0, 0.5, 11)
    best = np.zeros(402)  # by lead, from -1 on; nothing more can be had in the end
    for _ in range(400):
        after = best.copy()
        ways = choices[:, None] / 2 + (0.5 - choices)[:, None] * after[2:]
        best[1:-1] = (ways + (0.5 + choices)[:, None] * after[:-2]).max(axis=0)
    assert best[1] == pytest.approx(0.25)
    # A match that ends two behind could cost twice as much: the bound is one of one behind.
    gaps = np.full((200, 200), 0.3)
    assert script.exact(gaps, end=-2) == pytest.approx(0.5)


def test_the_table_on_the_page_is_that_of_the_file():
    page = script.PAGE.read_text("utf-8")
    assert marks.on_page(page, {script.TABLE: script.table(RECORD)}) == page
    assert RECORD["matches"] == script.RUNS == 1_000_000
    assert RECORD["duels"] == script.DUELS == 2_000
    rows = RECORD["adversaries"]
    assert [row["adversary"] for row in rows] == [each.words for each in script.ADVERSARIES]
    for row in rows:
        assert abs(row["mean"] - row["exact"]) < 4 * row["error"]
        assert row["exact"] <= 0.25
    assert [row["exact"] < 0.249 for row in rows] == [False] * 6 + [True, False]  # "last but one"


@compiled
@pytest.mark.long
@pytest.mark.parametrize("adversary", script.ADVERSARIES, ids=lambda each: each.words)
def test_kings_matches_cost_a_quarter_whatever_the_adversary_does(adversary):
    gaps = adversary.gaps(script.DUELS)
    (row,) = [row for row in RECORD["adversaries"] if row["adversary"] == adversary.words]
    assert row["exact"] == pytest.approx(script.exact(gaps), abs=1e-6)
    costs = script.simulated(gaps, 200_000, seed=99)
    error = costs.std(ddof=1) / math.sqrt(len(costs))
    assert error < 0.003
    assert costs.mean() <= 0.25 + 4.5 * error
    assert abs(costs.mean() - script.exact(gaps)) < 4.5 * error


def _game(seed, gap, delay, share_of_ties, rounds=1_500):
    """Let arm 0 reign and be the winner.

    Return what its matches cost, less 1/4 for each; and less (1 + M) / 4, M its highest lead.
    """
    policy, rng = make_policy("king", 3, seed), np.random.default_rng(seed)
    numbers, arms = policy.state.numbers[0], policy.state.arms
    numbers.king = 0
    cost, out, most, whose = 0.0, [], [], {}
    for t in range(1, rounds + 1):
        duel = policy.ask()
        if duel.first != 0:
            break  # it fell: the lemma is about the time before
        if duel.second != 0:
            if numbers.matches > len(most):
                whose[duel.second] = len(most)
                most.append(0)
            D = gap(t, arms[duel.second].lead)
            cost += D * (1 - share_of_ties) / 2  # a tie is half a win
            tie, luck = rng.random() < share_of_ties, rng.random()
            won = None if tie else bool(luck < 0.5 + D)
            out.append((t + delay(won), duel, won))
        else:
            policy.tell(duel, winner=duel.first)
        for each in [each for each in out if each[0] <= t]:
            out.remove(each)
            _, asked, won = each
            winner = None if won is None else asked.first if won else asked.second
            policy.tell(asked, winner=winner)
            match = whose[asked.second]
            most[match] = max(most[match], int(arms[asked.second].lead))
    return cost - len(most) / 4, cost - sum(1 + lead for lead in most) / 4


@pytest.mark.long
@compiled
@pytest.mark.parametrize(
    ("gap", "delay", "ties", "bound"),
    [
        (lambda t, lead: 0.3 if lead else 0.1, lambda won: 0, 0.0, 0),
        (lambda t, lead: 0.3 if lead else 0.1, lambda won: 0, 0.4, 0),
        (lambda t, lead: 0.3 if lead else 0.1, lambda won: 7, 0.0, 1),
        (lambda t, lead: 0.4 * (t % 2), lambda won: 20 if won else 0, 0.0, 1),  # bad news first
        (lambda t, lead: 0.25, lambda won: 0 if won else 20, 0.0, 1),
    ],
    ids=["prompt", "ties", "late", "wins late", "losses late"],
)
def test_ties_cost_no_more_and_late_answers_what_the_page_says(gap, delay, ties, bound):
    over = np.array([_game(seed, gap, delay, ties)[bound] for seed in range(150)])
    error = over.std(ddof=1) / math.sqrt(len(over))
    assert over.mean() <= 4 * error
