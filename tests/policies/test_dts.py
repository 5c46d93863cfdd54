"""DTS draws only what decides: from the same distribution as when everything is drawn."""

import math

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel._internal.kernel_random import address_of
from driftduel.policies import make_policy
from driftduel.policies._tails import _mass, beats, doubt, resolve

pytestmark = pytest.mark.kernels
DRAWS = 60_000 if jit_enabled() else 1_500
ASKS = 60_000 if jit_enabled() else 1_000
ALPHA = 0.51


# ---- above 1/2, or not ----


def tail(a, b):
    """The chance that Beta(a, b) is above 1/2, for whole numbers: that of at most a - 1 heads."""
    coins = a + b - 1
    return sum(math.comb(coins, k) for k in range(a)) / 2**coins


def test_doubt_bounds_what_lies_under_the_exponential_and_that_the_tail():
    nearest = 1.0
    for n in range(1, 260):
        for k in range(n // 2 + 1):
            if doubt(1.0 + k, 1.0 + n - k) == 1.0:
                continue
            mass = _mass(1.0 + k, 1.0 + n - k)
            assert tail(1 + k, 1 + n - k) <= mass * (1 + 1e-9)
            nearest = min(nearest, tail(1 + k, 1 + n - k) / mass)
            for more, other in ((0.0, 0.0), (0.37, 0.11), (0.9, 0.05), (0.01, 0.98)):
                a, b = 1.0 + k + more, 1.0 + n - k + other
                assert doubt(a, b) == 1.0 or _mass(a, b) <= 0.97 * doubt(a, b)
    assert nearest < 0.8  # it was tried where the two differ
    for n in (1e3, 1e5, 1e7, 1e9, 1e12):
        for z in (1.01, 2.0, 4.0, 8.0):
            a, b = 1 + (n - z * math.sqrt(n)) / 2, 1 + (n + z * math.sqrt(n)) / 2
            # Where counts are large the density at 1/2 is a normal distribution's.
            normal = math.exp(-z * z / 2) / (z * math.sqrt(2 * math.pi))
            assert _mass(a, b) == pytest.approx(normal, rel=z**4 / n + 2 / n + 1e-9)
            assert _mass(a, b) < doubt(a, b)


def test_the_two_ways_to_the_density_agree_where_they_meet():
    for b in (20.0, 31.5, 60.0):
        below, above = _mass(np.nextafter(16.0, 0), b), _mass(16.0, b)
        assert below == pytest.approx(above, rel=1e-11)


# (a, b): told apart by little and by much, few and many, whole and not
PAIRS = [(1, 3), (2, 7), (10, 22), (20, 34), (60, 80), (200, 240), (5000, 5150), (2.5, 6.25)]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_a_number_above_half_is_drawn_as_often_as_it_should_be_and_is_the_right_one(a, b):
    rng = np.random.default_rng(0)
    address, chance = address_of(rng), doubt(float(a), float(b))
    assert chance < 1
    fell = [resolve(address, float(a), float(b), chance) for _ in range(DRAWS)]
    found = np.sort([x for x in fell if x > 0.5])
    others = np.random.default_rng(1).beta(a, b, 40 * DRAWS)
    others = np.sort(others[others > 0.5])
    # Coins that fell are a sample of 1 / chance times the size.
    rate, exact = len(found) * chance / DRAWS, len(others) / (40 * DRAWS)
    spread = math.sqrt(exact * chance / DRAWS + exact / (40 * DRAWS))
    assert abs(rate - exact) < 4.5 * spread
    both = np.concatenate((found, others))
    apart = np.abs(
        np.searchsorted(found, both, side="right") / len(found)
        - np.searchsorted(others, both, side="right") / len(others)
    ).max()
    assert apart * math.sqrt(len(found) * len(others) / (len(found) + len(others))) < 2.2


@pytest.mark.long
@pytest.mark.parametrize(("a", "b"), [(1, 1), (20, 34), (34, 20), (28, 27), *PAIRS[4:-1], (80, 60)])
def test_beats(a, b):
    rng = np.random.default_rng(0)
    address = address_of(rng)
    share = np.mean([beats(address, float(a), float(b)) for _ in range(DRAWS)])
    exact = tail(a, b)
    assert abs(share - exact) < 4.5 * math.sqrt(exact * (1 - exact) / DRAWS)


# ---- the rule ----


def eager(wins, here, t, plus, rng, size):
    """Draw everything, as the paper's Algorithm 1 has it: how often (first, second) was chosen."""
    K = len(wins)
    pairs = here[:, None] & here[None, :] & ~np.eye(K, dtype=bool)
    n = np.maximum(wins + wins.T, 1e-300)
    unseen = wins + wins.T == 0
    hopeful = pairs & (unseen | (wins / n + np.sqrt(ALPHA * math.log(t) / n) >= 0.5))
    hopes = np.where(here, hopeful.sum(axis=1), -1)
    candidates = hopes == hopes.max()
    theta = np.full((size, K, K), 0.5)
    for i in range(K):
        for j in range(i):
            theta[:, i, j] = rng.beta(wins[i, j] + 1, wins[j, i] + 1, size)
            theta[:, j, i] = 1 - theta[:, i, j]
    scores = ((theta > 0.5) & pairs).sum(axis=2)
    most = scores[:, candidates].max(axis=1)
    best = candidates & (scores == most[:, None])
    if plus:
        lacks = np.maximum(2 * most[:, None, None] - scores[:, :, None] - scores[:, None, :], 0)
        apart = theta * np.log(2 * theta) + (1 - theta) * np.log(2 - 2 * theta)
        costs = (pairs * lacks / np.where(pairs, apart, 1)).sum(axis=2)
        costs[~best] = np.inf
        best &= costs == costs.min(axis=1)[:, None]
    first = np.argmax(best * rng.random((size, K)), axis=1)
    again = np.stack([rng.beta(wins[j, first] + 1, wins[first, j] + 1) for j in range(K)], axis=1)
    again[~hopeful[first]] = 0.0
    again[np.arange(size), first] = 0.5
    return np.bincount(first * K + np.argmax(again, axis=1), minlength=K * K)


def lazy(wins, here, t, name, leader, size):
    policy = make_policy(f"{name}:alpha={ALPHA}", len(wins), 5)
    policy.state.wins[:] = wins
    policy.state.present[:] = here
    policy.state.candidates[leader] = 1
    seen = np.zeros(len(wins) ** 2, np.int64)
    for _ in range(size):
        first, second, _ = policy.choose(t)
        seen[first * len(wins) + second] += 1
    return seen


def apart(one, other):
    """Two-sample chi squared of counts, in standard deviations of its approximate normal."""
    common = one + other >= 10
    cells = [np.append(x[common], x[~common].sum()) for x in (one, other)]
    total = cells[0] + cells[1]
    share = one.sum() / (one.sum() + other.sum())
    kept = total > 0
    assert kept.sum() > 1, "nothing was left to chance"
    chi = ((cells[0] - share * total)[kept] ** 2 / (share * (1 - share) * total[kept])).sum()
    degrees = kept.sum() - 1
    # Wilson and Hilferty
    return ((chi / degrees) ** (1 / 3) - 1 + 2 / (9 * degrees)) / math.sqrt(2 / (9 * degrees))


SETTLED = np.array([[0, 9, 14, 30.0], [2, 0, 8, 9], [4, 5, 0, 6], [12, 7, 6, 0]])
CYCLE = np.array([[0, 9, 3, 5.0], [4, 0, 8, 6], [7, 3, 0, 6], [1, 2, 2, 0]])
CASES = {  # wins, who is away, the round, who is drawn first
    "nothing known": (np.zeros((3, 3)), [], 1, 0),
    "little known": (
        np.array([[0, 2, 1, 0], [1, 0, 3, 1], [0, 1, 0, 0], [1, 0, 2, 0.0]]),
        [],
        9,
        3,
    ),
    "settled": (SETTLED, [], 110, 0),
    "another leads": (SETTLED, [], 110, 2),
    "the leader is beaten": (SETTLED, [], 1, 3),
    "somebody is away": (SETTLED, [2], 110, 0),
    "the leader is away": (SETTLED, [0], 110, 0),
    "a cycle": (CYCLE, [], 60, 1),
    "few candidates": (CYCLE * 4, [], 2, 1),
    "many duels": (SETTLED * [[1], [2], [2], [1]] * 20 + 300 * (1 - np.eye(4)), [], 5000, 0),
    "discounted": (SETTLED * 0.83, [], 90, 0),
    "a close second": (np.array([[0, 21, 6.0], [18, 0, 3], [1, 6, 0]]), [], 55, 0),
}


@pytest.mark.parametrize("name", ["dts", "dts-plus"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_not_drawn_would_not_have_changed_the_choice(case, name):
    wins, away, t, leader = CASES[case]
    here = ~np.isin(np.arange(len(wins)), away)
    rng = np.random.default_rng(3)
    expected = eager(wins, here, t, name == "dts-plus", rng, 2 * ASKS)
    assert apart(lazy(wins, here, t, name, leader, ASKS), expected) < 3.7  # 1 in 10,000
