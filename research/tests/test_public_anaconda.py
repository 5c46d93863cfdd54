"""The replica of the public code named ANACONDA, against a slow form of that code."""

import math

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.policies import make_policy
from tests.policies.test_adversarial import (
    GEOMETRIC,
    audited,
    needs_compiler,
    order_reversed_halfway,
)


@pytest.mark.kernels
@pytest.mark.parametrize("arms", [2, 3, 6])
@pytest.mark.long
def test_public_anaconda_is_the_published_code(arms):
    """Its sets, bases and restarts are those of K K T sums, as the code keeps them."""
    T, C, K = (3000 if jit_enabled() else 1500), 0.01, arms
    L = 4 * math.log2(T) + 2 * math.log2(K)
    n = np.arange(T + 2)
    thresholds = C * (math.e - 1) * (K * np.sqrt(L * n) + K**2 * L)
    sums = np.full((K, K, T + 2), -0.5)
    twin = {"bases": [], "good": set(), "start": 1, "restarts": [], "fell": 0}

    def grid(first, last):
        """Return 2^k - 1 + first up to last."""
        return first - 1 + 2 ** np.arange(int(math.log2(last - first + 1)) + 1)

    def fires(a, b, starts, t):
        return (sums[a, b, starts] - thresholds[t - starts + 1]).sum() > 0

    def after(t, duel, won, info, policy):
        bases, first = twin["bases"], twin["start"]
        if t == first:
            bases[:] = [[t, 1 << 62, set(range(K))]]
            twin["good"] = set(range(K))
        good = twin["good"]
        if len(info.replays) > len(bases):  # the start of a replay is random; its duels are not
            assert info.replays[-1][0] == t - 1
            assert info.replays[-1][1] - t in [2**i for i in range(2, 14)]
            bases.append([*info.replays[-1], set(range(K))])
        assert info.replays == tuple((start, end) for start, end, _ in bases)
        start, _, arms_now = bases[-1]
        assert set(info.active) == arms_now
        assert set(info.good) == good
        a, b = duel.first, duel.second
        assert (a != b) == (len(arms_now) > 1)
        w, loser = (a, b) if won else (b, a)
        sums[a, b, first : t + 1] += won * len(arms_now) ** 2
        sums[b, a, first : t + 1] += (1 - won) * len(arms_now) ** 2
        active = set(arms_now)
        if t > start:
            if a != b and fires(w, loser, grid(start, t), t):
                active.discard(loser)
                good.discard(loser)
            if start > first and loser in good and fires(w, loser, grid(first, start - 1), t):
                good.discard(loser)
                twin["fell"] += 1
        if not good:
            twin["restarts"].append(t)
            twin["start"] = t + 1
            return
        kept = set(active)
        while len(bases) > 1:
            kept &= bases[-1][2]
            if t < bases[-1][1] and len(bases[-1][2]) != len(good):
                break
            bases.pop()
        bases[-1][2] &= kept

    policy = audited(
        f"public-anaconda:constant={C}", K, T, order_reversed_halfway(T, 0.3), 3, after
    )
    assert policy.restarts == twin["restarts"]
    assert len(policy.restarts) > 1


@pytest.mark.long
def test_public_anaconda_ignores_answers_from_before_a_restart():
    policy = make_policy("public-anaconda", 2, 0, horizon=1000)
    duels = [policy.ask() for _ in range(400)]
    for duel in duels[:390]:
        policy.tell_first_won(duel, duel.round % 2)
    while not policy.restarts:
        duel = policy.ask()
        policy.tell_first_won(duel, duel.round % 2)
    state = {name: array.copy() for name, array in policy.get_state().items()}
    for duel in duels[390:]:
        policy.tell_first_won(duel, 1)
    for name, array in policy.get_state().items():
        np.testing.assert_array_equal(array, state[name])


@pytest.mark.long
def test_deep_stacks_of_replays_grow():
    """With replays in nearly every round the bases of the replica outgrow their first room."""
    policy = make_policy("public-anaconda:replay_rate=1000,constant=0.05", 4, 1, horizon=2000)
    preference = order_reversed_halfway(2000, 0.4)
    luck = np.random.default_rng(2)
    room = len(policy.state.bases)
    for t in range(1, 1501):
        duel = policy.ask()
        policy.tell_first_won(duel, int(luck.random() < preference(t, duel.first, duel.second)))
    assert len(policy.state.bases) > room


@pytest.mark.long
@needs_compiler
def test_the_public_code_costs_what_is_reported_and_restarts_without_reason():
    """5305 (697) in its notebook, with 65 to 68 restarts, also when nothing changes."""
    games = [play("public-anaconda", GEOMETRIC, seed) for seed in range(8)]
    assert np.mean([game.total for game in games]) == pytest.approx(5305, rel=0.15)
    assert np.mean([len(game.restarts) for game in games]) == pytest.approx(66.5, rel=0.1)
    still = [
        play("public-anaconda", GEOMETRIC.replace("phases=4", "phases=1"), s) for s in range(8)
    ]
    assert np.mean([len(game.restarts) for game in still]) == pytest.approx(65, rel=0.1)


def test_a_bad_parameter_is_refused():
    with pytest.raises(DriftduelError, match="constant=0 must be"):
        make_policy("public-anaconda:constant=0", 3, horizon=100)
