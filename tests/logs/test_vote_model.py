"""First place and ties: kernels and estimates against slow references."""

import math

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy.optimize import minimize
from scipy.stats import hypergeom

from driftduel.logs import _kernels as kernels
from driftduel.logs.bradley_terry_fit import bradley_terry
from driftduel.logs.counts import counts_from_votes
from driftduel.logs.drift import trend_p_value
from driftduel.logs.posterior import fit
from driftduel.logs.segments import SPARSE, cuttings, votes_over
from driftduel.logs.vote_model import (
    PLAIN,
    VoteModel,
    estimate_vote_model,
    expected_share,
    log_likelihood,
    net_wins,
    residuals,
    vote_loss,
)


def random_votes(rng, K, most=30):
    votes = rng.integers(0, most, (2, K, K)) / 2.0
    votes[:, np.arange(K), np.arange(K)] = 0.0
    return votes


def chances(gap, nu):
    """P(first), P(tie), P(second) of Davidson's model."""
    weights = np.array([math.exp(gap / 2), nu, math.exp(-gap / 2)])
    return weights / weights.sum()


def slow_likelihood(votes, u, model):
    total = 0.0
    for a in range(len(u)):
        for b in range(len(u)):
            if a != b:
                won, lost = votes[0, a, b], votes[1, b, a]
                gap = u[a] - u[b] + model.first_place
                size = math.log(math.exp(gap / 2) + model.ties + math.exp(-gap / 2))
                total += (won - lost) * gap / 2 - (won + lost) * size
    return total


MODELS = [PLAIN, VoteModel(0.6, 0.0), VoteModel(0.0, 0.9), VoteModel(-0.4, 1.7)]


@pytest.mark.kernels
@pytest.mark.parametrize("model", MODELS)
def test_likelihood_and_moments_equal_the_model(model):
    rng = np.random.default_rng(1)
    for _ in range(300):
        K = int(rng.integers(2, 6))
        votes, u = random_votes(rng, K), rng.normal(0, 1.5, K)
        slow = slow_likelihood(votes, u, model)
        gaps = u[:, None] - u[None, :]
        assert kernels.likelihood(votes, model.first_place, model.ties, u) == pytest.approx(slow)
        assert log_likelihood(votes, gaps, model) == pytest.approx(slow)
        gap = float(rng.normal(0, 2))
        p = chances(gap, model.ties)
        mean, variance = model.moments(np.array(gap))
        assert mean == pytest.approx(p[0] + p[1] / 2)
        assert variance == pytest.approx(p[0] + p[1] / 4 - (p[0] + p[1] / 2) ** 2)


@pytest.mark.kernels
@pytest.mark.parametrize("model", MODELS)
def test_the_mode_equals_a_general_optimiser(model):
    rng = np.random.default_rng(2)
    for _ in range(8):
        K = int(rng.integers(2, 5))
        votes, mean = random_votes(rng, K), rng.normal(0, 0.5, K)
        precision = rng.uniform(0.2, 3.0, K)
        ours, factor = bradley_terry(votes, precision, mean, model)

        def loss(u, votes=votes, mean=mean, precision=precision):
            return -slow_likelihood(votes, u, model) + (precision * (u - mean) ** 2).sum() / 2

        best = minimize(loss, mean, method="BFGS", options={"gtol": 1e-8})
        np.testing.assert_allclose(ours, best.x, atol=1e-5)
        step = 1e-4 * np.eye(K)
        curved = [
            [
                (loss(ours + x + y) - loss(ours + x - y) - loss(ours - x + y) + loss(ours - x - y))
                / 4e-8
                for y in step
            ]
            for x in step
        ]
        np.testing.assert_allclose(factor @ factor.T, curved, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_net_wins_have_the_score_and_the_information_of_the_votes(model):
    rng = np.random.default_rng(3)
    votes = random_votes(rng, 4) + 5
    votes[:, np.arange(4), np.arange(4)] = 0
    u = rng.normal(0, 0.4, 4)
    gaps = u[:, None] - u[None, :]
    rest, information = residuals(votes, gaps, model)
    net = net_wins(votes, gaps, model)
    P = 1 / (1 + np.exp(-gaps))
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose((net - (net + net.T) * P)[off], rest[off], atol=1e-9)
    np.testing.assert_allclose(((net + net.T) * P * (1 - P))[off], information[off], atol=1e-9)
    share = expected_share(votes, gaps, model)
    wins = votes.sum(axis=0)
    np.testing.assert_allclose((wins - (wins + wins.T) * share)[off], rest[off], atol=1e-9)
    if model.plain:
        np.testing.assert_array_equal(net, wins)


def draw(rng, u, n, h, nu):
    K = len(u)
    a = rng.integers(K, size=n)
    b = (a + rng.integers(1, K, n)) % K
    weights = np.stack([chances(g, nu) for g in u[a] - u[b] + h])
    luck = rng.random(n)
    won = np.where(luck < weights[:, 0], 1.0, np.where(luck < weights[:, :2].sum(1), 0.5, 0.0))
    return a, b, won


def test_first_place_and_ties_are_estimated():
    misses = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        a, b, won = draw(rng, rng.normal(0, 0.6, 5), 3000, 0.5, 0.8)
        counts = counts_from_votes(a, b, won)
        whole = votes_over(counts, np.array([0, len(counts.wins)]))
        found = estimate_vote_model(list(whole), counts.tied.sum() / 2, placed=True)
        assert found.ties == pytest.approx(0.8, abs=0.15)
        misses.append((found.first_place - 0.5) / found.error)
    assert np.sqrt(np.mean(np.square(misses))) == pytest.approx(1.0, abs=0.5)
    unplaced = estimate_vote_model(list(whole), counts.tied.sum() / 2, placed=False)
    assert unplaced.first_place == unplaced.error == 0


@pytest.mark.parametrize("gap_matters", [True, False])
def test_ties_by_davidson_predict_decided_votes_better_than_half_wins(gap_matters):
    """The choice of the model: held-out log-loss of decided votes, 30% ties of two kinds."""
    worse = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        u = rng.normal(0, 0.9, 5)
        a, b, won = draw(rng, u, 4000, 0.0, 0.9 if gap_matters else 0.0)
        if not gap_matters:
            won[rng.random(len(won)) < 0.3] = 0.5
        seen = np.arange(len(a)) % 2 == 0
        counts = counts_from_votes(a[seen], b[seen], won[seen], placed=False)
        whole = votes_over(counts, np.array([0, len(counts.wins)]))
        model = estimate_vote_model(list(whole), counts.tied.sum() / 2, placed=False)
        rest = ~seen & (won != 0.5)
        held = votes_over(counts_from_votes(a[rest], b[rest], won[rest], names=counts.names),
                          np.array([0, 1]))[0]  # fmt: skip
        losses = []
        for one in (model, PLAIN):
            v = bradley_terry(whole[0], model=one)[0]
            losses.append(vote_loss(held, 1 / (1 + np.exp(v[None, :] - v[:, None])), PLAIN))
        worse.append((losses[1] - losses[0]) / rest.sum())
    assert np.mean(worse) > 2 * np.std(worse) / np.sqrt(len(worse)) > 0


@pytest.mark.kernels
def test_sparse_evidence_equals_its_definition():
    rng = np.random.default_rng(4)
    B, K = 5, 30
    scores, information = rng.normal(0, 3, (B, K)), rng.uniform(0, 6, (B, K))
    information[:, 3] = scores[:, 3] = 0.0
    base, units = rng.normal(0, 9, B), np.ones((B + 1, B + 1))
    out = np.empty((B + 1, B + 1))
    for tau, share in SPARSE[::4]:
        kernels.sparse_evidence(
            scores, information, base, units, 0.0, tau, share, out, np.empty(K), np.empty(K)
        )
        for i in range(B):
            for j in range(i + 1, B + 1):
                s, w = scores[i:j].sum(0), information[i:j].sum(0)
                # The integral over a normal step of exp(s x - w x^2 / 2).
                factor = np.exp(s**2 * tau**2 / (1 + w * tau**2) / 2) / np.sqrt(1 + w * tau**2)
                log = np.log(1 - share + share * factor).sum() + base[i:j].sum()
                assert out[i, j] == pytest.approx(log)


@pytest.mark.long
def test_many_options_show_the_change_of_a_few():
    rng = np.random.default_rng(5)
    K, n = 40, 12_000
    u = np.tile(rng.normal(0, 0.7, K), (n, 1))
    u[6000:, :2] = u[6000:, 1::-1] + [1.5, -1.5]
    a = rng.integers(K, size=n)
    b = (a + rng.integers(1, K, n)) % K
    each = np.arange(n)
    won = rng.random(n) < 1 / (1 + np.exp(u[each, b] - u[each, a]))
    counts = counts_from_votes(a, b, won.astype(float), each)
    found = fit(counts)
    (change,) = (c for c in found.changes if c.reported)
    assert change.vote_low <= 6001 <= change.vote_high
    still = counts_from_votes(a[:6000], b[:6000], won[:6000].astype(float))
    assert cuttings(still, still.grid(32)).still > 0.5


@pytest.mark.kernels
def test_triangular_systems_are_solved():
    rng = np.random.default_rng(6)
    for _ in range(50):
        K = int(rng.integers(1, 8))
        L = np.tril(rng.normal(0, 1, (K, K))) + 3 * np.eye(K)
        X = rng.normal(0, 1, (K, int(rng.integers(1, 5))))
        one, two = X.copy(), X.copy()
        kernels.solve_lower(L, one)
        kernels.solve_lower_transposed(L, two)
        np.testing.assert_allclose(L @ one, X, atol=1e-9)
        np.testing.assert_allclose(L.T @ two, X, atol=1e-9)


@pytest.mark.kernels
def test_selected_wins_are_hypergeometric():
    rng = np.random.default_rng(7)
    size, total = np.array([[3, 0, 4], [2, 2, 0]]), np.array([4, 1])
    often = np.zeros(4)
    for _ in range(2000):
        out = np.zeros(size.shape)
        kernels.select_wins(size, total, rng.random(int(size.sum())), out)
        assert (out.sum(axis=1) == total).all()
        assert (out <= size).all()
        often[int(out[0, 0])] += 1
    np.testing.assert_allclose(often / 2000, hypergeom.pmf(np.arange(4), 7, 4, 3), atol=0.04)


def test_a_trend_within_a_stretch_is_detected_and_a_stationary_one_is_not():
    rng = np.random.default_rng(8)
    values = []
    for slope in (0.0,) * 60 + (1.2,) * 10:
        n = 1500
        a = rng.integers(4, size=n)
        b = (a + rng.integers(1, 4, n)) % 4
        u = np.outer(np.linspace(-1, 1, n), [slope, 0, 0, -slope])
        u[:, :2] += 0.3, 0.1
        each = np.arange(n)
        won = rng.random(n) < 1 / (1 + np.exp(u[each, b] - u[each, a]))
        counts = counts_from_votes(a, b, won.astype(float), each)
        values.append(trend_p_value(votes_over(counts, counts.grid(30))))
    assert np.mean(np.array(values[:60]) < 0.1) < 0.25
    assert 0.35 < np.mean(values[:60]) < 0.65
    assert max(values[60:]) < 0.01
