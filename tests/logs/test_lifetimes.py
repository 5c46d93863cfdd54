"""Presence of options and groups, against slow references."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from driftduel.logs.counts import counts_from_votes
from driftduel.logs.lifetimes import presence, present_at_end, units_of_stretches, winners_among
from driftduel.logs.permutation import p_value


def test_units_are_the_groups_with_a_vote_in_a_stretch():
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(20, 60))
        group = rng.integers(8, size=n)
        counts = counts_from_votes(np.zeros(n), np.ones(n), rng.integers(2, size=n), group=group)
        grid = np.unique(np.r_[0, rng.integers(1, n, 5), n])
        units = units_of_stretches(counts, grid)
        for i in range(len(grid) - 1):
            for j in range(i + 1, len(grid)):
                assert units[i, j] == len(set(group[grid[i] : grid[j]]))
    alone = counts_from_votes(np.zeros(n), np.ones(n), np.ones(n))
    assert not units_of_stretches(alone, grid).any()


def test_the_winner_among_present_options():
    rng = np.random.default_rng(1)
    for _ in range(200):
        K = int(rng.integers(2, 6))
        P = rng.random((3, K, K))
        beats = np.triu(P > 0.5, 1)
        beats |= np.tril(~beats.transpose(0, 2, 1), -1)
        present = rng.random((4, K)) < 0.7
        present[~present.any(axis=1), 0] = True
        found = winners_among(beats, present)
        for i, matrix in enumerate(beats):
            for b, here in enumerate(present):
                options = np.flatnonzero(here)
                winners = [a for a in options if all(matrix[a, c] for c in options if c != a)]
                assert found[i, b] == (winners[0] if winners else -1)


def test_an_option_is_present_from_its_first_vote_to_its_last():
    # Options 0 and 1 throughout; 2 joins at vote 400; 3 leaves after vote 500.
    n = 1000
    first, second = np.zeros(n, int), np.ones(n, int)
    second[400::4] = 2
    second[1:500:4] = 3
    counts = counts_from_votes(first, second, np.ones(n))
    grid = np.arange(0, n + 1, 100)
    here = presence(counts, grid)
    assert here[:, :2].all()
    assert here[:, 2].tolist() == [False] * 4 + [True] * 6
    assert here[:, 3].tolist() == [True] * 5 + [False] * 5
    assert present_at_end(counts).tolist() == [True, True, True, False]
    # An option whose last vote is a little ago is still present.
    shorter = counts_from_votes(first[:520], second[:520], np.ones(520))
    assert present_at_end(shorter).all()


def test_one_voter_who_changes_opinion_is_no_change_of_all():
    """A heavy voter is one sign of the test; without groups its change is significant."""
    known = unknown = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = 3000
        a = rng.integers(3, size=n)
        b = (a + rng.integers(1, 3, n)) % 3
        heavy = rng.random(n) < 0.3
        voter = np.where(heavy, 0, 1 + np.arange(n) // 5)
        better = np.where(np.arange(n) < n // 2, a < b, a > b)
        won = np.where(heavy, better, rng.random(n) < 0.5).astype(float)
        grouped, alone = (counts_from_votes(a, b, won, group=g) for g in (voter, None))
        known += p_value(grouped, 0, len(grouped.wins), orders=99) <= 0.05
        unknown += p_value(alone, 0, len(alone.wins), orders=99) <= 0.05
    assert known <= 2
    assert unknown == 8


@pytest.mark.long
def test_returning_and_heavy_voters_are_tested_at_their_level():
    """Stationary logs with individual preferences: p-values are not too small."""
    values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, K = 1500, 4
        voter = np.where(rng.random(n) < 0.15, 0, rng.integers(1, 80, n))
        taste = rng.normal([0.4, 0.2, 0, 0], 0.8, (80, K))
        a = rng.integers(K, size=n)
        b = (a + rng.integers(1, K, n)) % K
        won = rng.random(n) < 1 / (1 + np.exp(taste[voter, b] - taste[voter, a]))
        counts = counts_from_votes(a, b, won.astype(float), group=voter, bins=40)
        values.append(p_value(counts, 0, len(counts.wins), seed, orders=99))
    values = np.sort(values)
    assert (np.arange(1, 61) / 60 - values).max() < 1.95 / np.sqrt(60)
