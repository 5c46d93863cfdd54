"""A claim of being sure is rarely false, however often one looks; and it ends when tastes change.

`make arena-honest` asks a thousand arenas; CI some of them.
"""

import os

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

import numpy as np

from driftduel.arena import Hall, evidence, open_store
from driftduel.arena.said import lasting
from tests.arena.clock import Clock

ARENAS = int(os.environ.get("ARENAS", "60"))
VOTES = 240


def live_through(hall, name, clock, rng, votes, left_wins, ties=0.15, out=8):
    """Let people answer late, the later the more they like the left one; yield after each vote."""
    live, waiting = hall.arena(name), []
    for number in range(votes):
        while len(waiting) < out:
            shown = lasting(live.ask(f"voter {rng.integers(20)}"))
            won = rng.random() < left_wins(number, shown.left.id, shown.right.id)
            pick = "tie" if rng.random() < ties else "left" if won else "right"
            delay = rng.exponential(6.0 if pick == "left" else 2.0)
            waiting.append((clock.now + delay, shown.duel, pick))
        waiting.sort()
        due, duel, pick = waiting.pop(0)
        clock.now = max(clock.now, due)
        lasting(live.vote(duel, pick))
        yield live


def two_equal_at_the_top(number, left, right):
    return 0.9 if right == "o3" else 0.1 if left == "o3" else 0.5


def ever_sure(number):
    """Whether anybody is ever called sure where that is false, whoever it is."""
    clock, rng = Clock(), np.random.default_rng([17, number])
    hall = Hall(open_store("memory:"), clock)
    hall.create("null", ["a", "b", "c"], seed=number, grace=1.0, votes_a_day=10**6)
    sure = False
    for live in live_through(hall, "null", clock, rng, VOTES, two_equal_at_the_top):
        sure |= live.state.tally.sure(live.state.present)
    hall.close()
    return sure


@pytest.mark.long
def test_where_two_are_equal_hardly_anybody_is_ever_called_sure():
    false = sum(ever_sure(number) for number in range(ARENAS))
    print(f"{false} of {ARENAS} arenas were sure of somebody who is not best")
    assert false <= 0.05 * ARENAS + 3 * np.sqrt(0.05 * 0.95 * ARENAS)


@pytest.mark.long
def test_that_test_can_fail(monkeypatch):
    # What a p-value of 5% that is looked at after every vote amounts to.
    monkeypatch.setattr(evidence, "needed", lambda reign: 3.0)
    false = sum(ever_sure(number) for number in range(30))
    assert false > 0.05 * 30 + 3 * np.sqrt(0.05 * 0.95 * 30)


def test_a_claim_comes_with_enough_votes_and_ends_when_tastes_change():
    clock, rng = Clock(), np.random.default_rng(3)
    hall = Hall(open_store("memory:"), clock)
    hall.create("taste", ["a", "b", "c"], seed=1, grace=0.0, votes_a_day=10**6)

    def left_wins(number, left, right):
        best = "o1" if number < 400 else "o3"
        return 0.8 if left == best else 0.2 if right == best else 0.5

    claims = []
    for live in live_through(hall, "taste", clock, rng, 1400, left_wins):
        tally = live.state.tally
        claims.append(tally.leader if tally.sure(live.state.present) else None)
    assert claims[399] == 0
    assert claims[-1] == 2
    assert 0 not in claims[900:]
    reported = [r.body["sure"] for r in live.records(0, 10**6) if "sure" in r.body]
    assert reported[:1] == [True]
    assert reported == [number % 2 == 0 for number in range(len(reported))]
    hall.close()
