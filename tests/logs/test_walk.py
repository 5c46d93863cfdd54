"""Utilities that walk, against dense matrices."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy.optimize import minimize

from driftduel.logs.bradley_terry_fit import bradley_terry
from driftduel.logs.paths import LogPaths
from driftduel.logs.vote_model import votes_by_place
from driftduel.logs.walk import PACES, fit_walk as fit_walk_to_votes
from driftduel.measures import measure


def fit_walk(wins):
    return fit_walk_to_votes(votes_by_place(wins, np.zeros_like(wins)))


def wins_of(B=6, K=3, seed=0, votes=60):
    rng = np.random.default_rng(seed)
    u = np.cumsum(rng.normal(0, 0.5, size=(B, K)), axis=0)
    wins = np.zeros((B, K, K))
    for t in range(B):
        for a in range(K):
            for b in range(a):
                n = int(rng.integers(votes // 2, votes))
                wins[t, a, b] = rng.binomial(n, 1 / (1 + np.exp(u[t, b] - u[t, a])))
                wins[t, b, a] = n - wins[t, a, b]
    return wins


def dense(wins, places, pace):
    """The negative log posterior, and its precision, with matrices of all bins at once."""
    B, K = wins.shape[:2]
    mean = bradley_terry(wins.sum(axis=0))[0]
    prior = np.zeros((B * K, B * K))
    prior[:K, :K] += np.eye(K) / 1.6**2
    log_det = -2 * K * np.log(1.6)
    for t in range(B - 1):
        step = np.zeros((K, B * K))
        step[:, t * K : (t + 1) * K] = -np.eye(K)
        step[:, (t + 1) * K : (t + 2) * K] = np.eye(K)
        variance = pace * (places[t + 1] - places[t])
        prior += step.T @ step / variance
        log_det -= K * np.log(variance)
    centre = np.tile(mean, B)

    def value(flat):
        u = flat.reshape(B, K)
        gaps = u[:, :, None] - u[:, None, :]
        away = flat - centre
        return (wins * np.logaddexp(0, -gaps)).sum() + away @ prior @ away / 2

    def precision(flat):
        u = flat.reshape(B, K)
        P = 1 / (1 + np.exp(u[:, None, :] - u[:, :, None]))
        bend = (wins + wins.transpose(0, 2, 1)) * P * (1 - P)
        H = prior.copy()
        for t in range(B):
            H[t * K : (t + 1) * K, t * K : (t + 1) * K] += np.diag(bend[t].sum(axis=1)) - bend[t]
        return H

    return value, precision, log_det, centre


@pytest.mark.parametrize("q", [2, 6])
def test_the_walk_equals_a_dense_solve(q):
    wins = wins_of()
    walk = fit_walk(wins)
    value, precision, log_det, centre = dense(wins, walk.places, PACES[q])
    best = minimize(value, centre, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    ours = walk.modes[q].ravel()
    assert value(ours) <= best.fun + 1e-9
    np.testing.assert_allclose(ours, best.x, atol=1e-4)
    evidence = -value(ours) + log_det / 2 - np.linalg.slogdet(precision(ours))[1] / 2
    assert walk.logs[q] == pytest.approx(evidence, abs=1e-6)
    L = np.linalg.cholesky(precision(ours))
    for d in range(4):
        np.testing.assert_allclose(
            walk.factors[q][d, : len(ours) - d], np.diagonal(L, -d), atol=1e-5
        )


def test_draws_vary_as_the_dense_precision_says():
    wins = wins_of(B=4)
    walk = fit_walk(wins)
    only = np.full(len(PACES), -np.inf)
    only[7] = 0.0
    walk = type(walk)(walk.places, walk.modes, walk.factors, only)
    _, precision, _, _ = dense(wins, walk.places, PACES[7])
    drawn = walk.draw(20_000, np.random.default_rng(0)).reshape(20_000, -1)
    covariance = np.linalg.inv(precision(walk.modes[7].ravel()))
    np.testing.assert_allclose(drawn.mean(axis=0), walk.modes[7].ravel(), atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.05)


def test_a_still_log_walks_slowly_and_a_moving_one_fast():
    still = np.tile(wins_of(B=1), (20, 1, 1))
    slow, fast = fit_walk(still).weights, fit_walk(wins_of(B=20, votes=200)).weights
    assert slow @ PACES < 0.3
    assert fast @ PACES > 1.0


def test_knots_move_in_straight_lines():
    world = LogPaths([[0.0, 1.0, 0.5], [2.0, 0.0, 0.5]], [0.25, 0.75], 1000)
    # The lines cross at 250 + 500 / 6 = 416.7, above the third one. Round 417 has the utilities of
    # its middle, 416.5.
    assert world.condorcet_winners() == [(1, 1), (418, 0)]
    assert world.preferences(1).matrix[0, 1] == pytest.approx(1 / (1 + np.e))
    assert world.preferences(1000).matrix[0, 1] == pytest.approx(1 / (1 + np.exp(-2)))
    middle = world.preferences(500).matrix
    assert middle[0, 1] == pytest.approx(1 / (1 + np.exp(-0.5)), abs=0.002)
    assert measure(world).condorcet_switches == 1
    # The same rounds, whether they are walked to or jumped to, and however many there are.
    long = LogPaths([[0.0, 1.0], [2.0, 0.0]], [0.0, 1.0], 1_000_000)
    assert long.step > 1
    whole = long.chunk(1, 1_000_001)
    part = long.chunk(500_003, 500_100)
    place = int(np.searchsorted(whole.starts, 500_003, side="right")) - 1
    np.testing.assert_array_equal(part.utilities[0], whole.utilities[place])
    assert (part.starts[0], part.end) == (500_003, 500_100)
