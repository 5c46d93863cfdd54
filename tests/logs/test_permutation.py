"""The test of each change."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from driftduel.logs import permutation
from driftduel.logs.counts import counts_from_votes
from driftduel.logs.permutation import benjamini_hochberg, eliminate, p_value
from driftduel.logs.simulate import simulate
from driftduel.worlds import make_world

STILL = "geometric-btl:arms=4,rounds=1200,phases=1,ratio=1.5"


@pytest.mark.parametrize("model", ["utilities", "pairs"])
@pytest.mark.parametrize("sessions", [None, 20])
def test_p_values_of_logs_that_stand_still_are_uniform(model, sessions):
    values = []
    for seed in range(40):
        counts = simulate(make_world(STILL), seed, sessions, bins=30)
        values.append(p_value(counts, 0, len(counts.wins), seed, model, orders=99))
    values = np.sort(values)
    # Kolmogorov and Smirnov's distance at 1 in 1000; too small p-values are what would hurt.
    assert (np.arange(1, 41) / 40 - values).max() < 1.95 / np.sqrt(40)
    assert 0.3 < np.mean(values) < 0.7


def test_opinionated_voters_would_look_like_a_change_if_nobody_knew():
    known = unknown = 0
    for seed in range(8):
        counts = simulate(make_world(STILL), seed, 60, 1.5, bins=30)
        alone = type(counts)(**{**counts.__dict__, "groups": None})
        known += p_value(counts, 0, len(counts.wins), orders=99) <= 0.05
        unknown += p_value(alone, 0, len(counts.wins), orders=99) <= 0.05
    assert known <= 2
    assert unknown >= 5


@pytest.mark.parametrize("sessions", [None, 20])
def test_false_changes_are_taken_away_and_true_ones_stay(sessions):
    world = make_world("geometric-btl:arms=4,rounds=6000,phases=2,ratio=2,change=winner", seed=3)
    counts = simulate(world, 1, sessions, taste=0.3)
    true = int(np.searchsorted(counts.first, 3001))
    false = [int(np.searchsorted(counts.first, t)) for t in (1200, 4800)]
    tested = eliminate(counts, sorted([true, *false]))
    assert tested.kept == [true]
    assert tested.q[true] <= 0.05 < min(tested.q[f] for f in false)
    assert set(tested.p) == {true, *false}


def test_benjamini_hochberg_by_hand():
    assert benjamini_hochberg([0.04, 0.01, 0.03]) == pytest.approx([0.04, 0.03, 0.04])
    assert benjamini_hochberg([0.9]) == [0.9]


def test_windows_of_nothing():
    counts = counts_from_votes([0, 1, 0], [1, 0, 1], [1, 1, 0], group=[1, 2, 2])
    assert p_value(counts, 0, 1) == 1.0
    assert p_value(counts, 0, 3) == 1.0


def test_orders_that_do_not_fit_into_memory_at_once_are_dealt_in_parts(monkeypatch):
    still = simulate(make_world("geometric-btl:arms=4,rounds=3000,phases=1", seed=1), 1, bins=64)
    moved = simulate(make_world("geometric-btl:arms=4,rounds=3000,phases=2", seed=1), 1, bins=64)
    monkeypatch.setattr(permutation, "_MOST_NUMBERS", 7 * 40 * 6)  # seven orders at once
    at_once = []
    dealt = permutation._deal_wins
    monkeypatch.setattr(permutation, "_deal_wins", lambda *a: at_once.append(a[-1]) or dealt(*a))
    assert p_value(moved, 0, len(moved.wins), orders=99) == 0.01
    assert p_value(still, 0, len(still.wins), orders=99) > 0.05
    assert max(at_once) == 7
    assert sum(at_once) == 2 * 99
