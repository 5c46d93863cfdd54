"""The advantage of the first place."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from driftduel.logs.counts import counts_from_votes
from driftduel.logs.position import first_advantage


def placed(n=6000, advantage=0.4, seed=0, **more):
    """Options of different strength; the strongest is shown first most of the time."""
    rng = np.random.default_rng(seed)
    u = np.array([1.0, 0.0, -1.0])
    first = rng.choice(3, size=n, p=[0.7, 0.2, 0.1])
    second = (first + 1 + rng.integers(2, size=n)) % 3
    p = 1 / (1 + np.exp(u[second] - u[first] - advantage))
    return counts_from_votes(first, second, rng.random(n) < p, **more)


def test_it_is_told_apart_from_the_strength_of_who_is_shown_first():
    covered = 0
    for seed in range(20):
        estimate, low, high = first_advantage(placed(seed=seed))
        covered += low <= 1 / (1 + np.exp(-0.4)) <= high
        assert abs(estimate - 0.6) < 0.05
    assert covered >= 16
    estimate, low, high = first_advantage(placed(advantage=0.0))
    assert low < 0.5 < high


def test_none_where_nothing_can_be_said():
    assert first_advantage(placed(placed=False)) is None
    assert first_advantage(counts_from_votes([0, 0], [1, 1], [1, 0])) is None


def test_weights_widen_the_interval():
    _, low, high = first_advantage(placed())
    weight = np.where(np.arange(6000) % 10 == 0, 10.0, 1.0)
    _, lower, higher = first_advantage(placed(weight=weight))
    assert higher - lower > 1.5 * (high - low)
    assert first_advantage(placed())[0] == pytest.approx(0.6, abs=0.03)
