"""Ratings against reference implementations: choix, evalica and one vote after the other."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from driftduel.logs.ratings import Elo, Rating, log_loss, rate


def votes_by_place(rng, utilities, h, n):
    """Return (first, second, first won) and the same as (2, K, K)."""
    K = len(utilities)
    a = rng.integers(K, size=n)
    b = (a + rng.integers(1, K, size=n)) % K
    won = rng.random(n) < 1 / (1 + np.exp(-(utilities[a] - utilities[b] + h)))
    votes = np.zeros((2, K, K))
    np.add.at(votes[0], (a[won], b[won]), 1.0)
    np.add.at(votes[1], (b[~won], a[~won]), 1.0)
    return (a, b, won), votes


def test_bradley_terry_is_that_of_choix():
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(0)
    utilities = rng.normal(0, 1, 6)
    (a, b, won), votes = votes_by_place(rng, utilities, 0.0, 400)
    data = [(int(i), int(j)) if y else (int(j), int(i)) for i, j, y in zip(a, b, won, strict=True)]
    for ridge in (0.2, 2.0):
        # choix penalises alpha |u|^2, half of whose curvature is our precision
        expected = choix.opt_pairwise(6, data, alpha=ridge / 2, tol=1e-12)
        found = rate(votes, placed=False, ridge=ridge)
        assert found.utilities - found.utilities.mean() == pytest.approx(
            expected - expected.mean(), abs=1e-4
        )
        assert found.first_place == 0


def test_the_first_place_is_estimated():
    rng = np.random.default_rng(1)
    utilities = np.array([1.0, 0.0, -1.0])
    _, votes = votes_by_place(rng, utilities, 0.6, 40_000)
    found = rate(votes, placed=True)
    assert found.first_place == pytest.approx(0.6, abs=0.05)
    assert found.utilities == pytest.approx(utilities, abs=0.06)
    # The gradient of the penalised likelihood is zero.
    chance = found.when_first()
    rest = votes[0] - (votes[0] + votes[1].T) * chance
    assert rest.sum(axis=1) - rest.sum(axis=0) == pytest.approx(found.utilities, abs=1e-5)
    assert rest.sum() == pytest.approx(found.first_place, abs=1e-5)


def test_a_start_does_not_change_the_result():
    rng = np.random.default_rng(2)
    _, votes = votes_by_place(rng, rng.normal(0, 2, 5), 0.3, 300)
    far = Rating(np.array([30.0, -30, 9, 0, 5]), -4.0)
    for placed in (False, True):
        plain, moved = rate(votes, placed=placed), rate(votes, placed=placed, start=far)
        assert moved.utilities == pytest.approx(plain.utilities, abs=1e-6)
        assert moved.first_place == pytest.approx(plain.first_place, abs=1e-6)


def test_elo_is_one_update_after_the_other():
    rng = np.random.default_rng(3)
    (a, b, won), _ = votes_by_place(rng, rng.normal(0, 1, 4), 0.2, 200)
    steps = (0.05, 0.4)
    elo = Elo(4, 200.0, steps)
    expected = np.zeros((2, 4))
    for i, j, y in zip(a, b, won, strict=True):
        one = np.zeros((2, 4, 4))
        one[(0, i, j) if y else (1, j, i)] = 1.0
        elo.add(one, 0.2)
        for step, u in zip(steps, expected, strict=True):
            rest = y - 1 / (1 + np.exp(-(u[i] - u[j] + 0.2)))
            u[i] += step * rest
            u[j] -= step * rest
    assert elo.utilities == pytest.approx(expected)
    assert [one.first_place for one in elo.ratings(0.2)] == [0.2, 0.2]


def test_elo_is_that_of_evalica():
    evalica = pytest.importorskip("evalica")
    rng = np.random.default_rng(4)
    (a, b, won), _ = votes_by_place(rng, rng.normal(0, 1, 4), 0.0, 300)
    # evalica: 10^(r / 400), K = 4 from 1000; the same in logits
    scale, k = 400 / np.log(10), 4.0
    names = [str(i) for i in range(4)]
    winners = [evalica.Winner.X if y else evalica.Winner.Y for y in won]
    result = evalica.elo([names[i] for i in a], [names[j] for j in b], winners, k=k)
    expected = np.array([result.scores[name] for name in names]) / scale
    elo = Elo(4, 300.0, (k / scale,))
    for i, j, y in zip(a, b, won, strict=True):
        one = np.zeros((2, 4, 4))
        one[(0, i, j) if y else (1, j, i)] = 1.0
        elo.add(one)
    assert elo.utilities[0] - elo.utilities[0].mean() == pytest.approx(
        expected - expected.mean(), abs=1e-6
    )


def test_a_bin_of_many_votes_is_added_in_batches():
    # 10,000 votes at a step of .6: as one update this would overshoot by thousands.
    votes = np.zeros((2, 2, 2))
    votes[0, 0, 1], votes[1, 1, 0] = 7000.0, 3000.0
    elo = Elo(2, 10_000.0, (0.6,))
    elo.add(votes)
    gap = elo.utilities[0, 0] - elo.utilities[0, 1]
    assert gap == pytest.approx(np.log(7 / 3), abs=0.05)


def test_log_loss_counts_each_vote_once():
    rng = np.random.default_rng(5)
    (a, b, won), votes = votes_by_place(rng, rng.normal(0, 1, 4), 0.5, 100)
    found = Rating(rng.normal(0, 1, 4), 0.5)
    p = 1 / (1 + np.exp(-(found.utilities[a] - found.utilities[b] + 0.5)))
    assert log_loss(votes, found.when_first()) == pytest.approx(
        -np.log(np.where(won, p, 1 - p)).sum()
    )
