"""Statements without a model, against exact binomials."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy.integrate import quad
from scipy.stats import binom

from driftduel.logs.certificate import certify, e_value, pair_votes
from driftduel.logs.counts import counts_from_votes
from driftduel.logs.simulate import simulate
from driftduel.worlds import make_world


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (7, 3), (3, 7), (60.5, 20.5), (900, 1100)])
def test_the_e_value_is_the_integral_that_it_says(wins, losses):
    def bet(p):
        # In logs: 2000 votes are too many for a product.
        log = wins * np.log(2 * p) + losses * np.log(2 * (1 - p))
        return 2 * np.exp(log) / (np.pi * np.sqrt(p * (1 - p)))

    exact = quad(bet, 0.5, 1, limit=200)[0]
    assert np.exp(e_value(wins, losses)) == pytest.approx(exact, rel=1e-5)


def test_the_e_value_stays_finite():
    assert np.isfinite(e_value(np.array([0.0, 1e6]), np.array([1e6, 0.0]))).all()
    assert e_value(0.0, 1e6) < -10 < 10 < e_value(1e6, 0.0)


def test_the_expectation_of_the_e_value_is_at_most_one_if_nobody_is_better():
    n = 30
    wins = np.arange(n + 1)
    for p in (0.5, 0.45, 0.3):
        mean = (binom.pmf(wins, n, p) * np.exp(e_value(wins, n - wins))).sum()
        assert mean == pytest.approx(1.0) if p == 0.5 else mean < 1
    # Parts of wins are no way around it: ties, or a group's share of a pair.
    values = np.exp(e_value(wins / 2, n - wins / 2))
    twice = binom.pmf(np.arange(2 * n + 1), 2 * n, 0.5)
    spread = np.exp(e_value(np.arange(2 * n + 1) / 2, n - np.arange(2 * n + 1) / 2))
    assert (twice * spread).sum() < 1
    assert len(values) == n + 1


def alternating(blocks, size, p=0.95):
    """Two options; the better one alternates from block to block."""
    rng = np.random.default_rng(0)
    better = np.repeat(np.arange(blocks) % 2, size)
    won = np.where(rng.random(blocks * size) < p, better == 0, better == 1)
    zeros = np.zeros(blocks * size, int)
    return counts_from_votes(zeros, zeros + 1, won.astype(float))


def test_clear_switches_are_certified_and_where():
    certificate = certify(alternating(4, 100))
    assert certificate.switches == 3
    for i, (low, high) in enumerate(certificate.windows):
        assert low <= 100 * (i + 1) <= high
    assert certify(alternating(1, 400)).switches == 0
    assert certify(alternating(4, 4)).switches == 0


def test_exclusion_is_the_exact_binomial_with_its_share_of_the_error():
    # Both options must be excluded in a log of 2 bins: 2 scales, of 2 intervals and of 1.
    n, allowed = 20, 0.05 / (2 * 2 * 1)
    few = int(binom.ppf(allowed, n, 0.5)) - 1
    assert binom.cdf(few, n, 0.5) <= allowed < binom.cdf(few + 1, n, 0.5)
    for wins, switches in ((few, 1), (few + 1, 0)):
        first = np.zeros(2 * n, int)
        won = np.concatenate((np.arange(n) < wins, np.arange(n) < n - wins)).astype(float)
        time = np.repeat([0, 1], n)
        assert certify(counts_from_votes(first, first + 1, won, time)).switches == switches


def test_never_more_than_the_truth():
    for seed in range(6):
        world = make_world(
            "geometric-btl:arms=3,rounds=4000,phases=4,ratio=2,lengths=random", seed=seed
        )
        truth = len(world.condorcet_winners()) - 1
        assert certify(simulate(world, seed)).switches <= truth
        voters = simulate(world, seed, sessions=20)
        assert certify(voters).switches <= truth


def test_a_group_speaks_once_about_a_pair():
    # One voter, a thousand votes for the first option: that is one vote.
    log = counts_from_votes(
        [0] * 1000, [1] * 1000, [1] * 900 + [0] * 100, np.arange(1000), group=[7] * 1000, bins=4
    )
    votes = pair_votes(log, log.grid(4))
    assert votes.sum() == 1
    assert votes[0, 0, 1] == 1  # in the first bin, all of its votes were for it
    assert certify(log).switches == 0
