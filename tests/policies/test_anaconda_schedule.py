"""The lazily drawn schedule, and the estimates, have the distributions of the literal ones."""

import math

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel._internal.kernel_random import address_of
from driftduel.policies import make_policy
from driftduel.policies._anaconda.replays import next_replay
from tests.policies.anaconda_literal import literal_schedule, replay_lengths

pytestmark = pytest.mark.kernels
EPISODES = 4000 if jit_enabled() else 400


def lazy_events(rng, horizon, rate):
    """Draw one episode's replays from round 1 on, as (s - t_l, m)."""
    longest = len(replay_lengths(horizon))
    address, d, events = address_of(rng), 0, []
    while True:
        d, m = next_replay(address, d, horizon - 1, longest, rate)
        if m == 0:
            return events
        events.append((d, m))


def chances(horizon, rate):
    """Return P(longest firing length is m) for every round and length, exactly."""
    lengths = np.array(replay_lengths(horizon), dtype=float)
    d = np.arange(1, horizon)[:, None]
    p = np.minimum(1, rate / np.sqrt(lengths * d))
    none_longer = np.cumprod((1 - p)[:, ::-1], axis=1)[:, ::-1]
    none_longer = np.concatenate((none_longer[:, 1:], np.ones((horizon - 1, 1))), axis=1)
    return p * none_longer


def z_scores(counts, expected, episodes):
    sd = np.sqrt(episodes * expected * (1 - expected))
    return np.abs(counts - episodes * expected)[sd > 0] / sd[sd > 0]


@pytest.mark.parametrize("rate", [1.0, 0.2, 2.5])
def test_every_round_fires_with_its_chance_and_length(rate):
    horizon = 50
    rng = np.random.default_rng(0)
    counts = np.zeros((horizon - 1, len(replay_lengths(horizon))))
    for _ in range(EPISODES):
        events = lazy_events(rng, horizon, rate)
        assert [d for d, _ in events] == sorted({d for d, _ in events})
        for d, m in events:
            counts[d - 1, int(math.log2(m)) - 1] += 1
    expected = chances(horizon, rate)
    # 294 cells: the largest of that many standard normals is below 4.5 with 99.8%.
    assert z_scores(counts, expected, EPISODES).max() < 4.5
    per_round = z_scores(counts.sum(axis=1), expected.sum(axis=1), EPISODES)
    assert per_round.max() < 4.5
    assert counts.sum() == pytest.approx(EPISODES * expected.sum(), rel=0.03)


def test_rounds_are_independent():
    """Firing in one round says nothing about the next."""
    rng = np.random.default_rng(1)
    fired = np.zeros((EPISODES, 40))
    for episode in range(EPISODES):
        for d, _ in lazy_events(rng, 41, 1.0):
            fired[episode, d - 1] = 1
    correlations = [np.corrcoef(fired[:, i], fired[:, i + 1])[0, 1] for i in range(1, 39)]
    assert np.abs(correlations).max() < 5 / math.sqrt(EPISODES)


def test_the_literal_schedule_has_the_same_chances():
    """The twin's B[s, m], drawn cell by cell, agrees with the same exact numbers."""
    horizon, rng, episodes = 30, np.random.default_rng(2), EPISODES // 4
    lengths = replay_lengths(horizon)
    counts = np.zeros((horizon - 1, len(lengths)))
    for _ in range(episodes):
        B = literal_schedule(rng, horizon, start=1)
        for s in range(2, horizon + 1):
            if B[s].any():
                counts[s - 2, np.flatnonzero(B[s]).max()] += 1
    assert z_scores(counts, chances(horizon, 1.0), episodes).max() < 4.5


@pytest.mark.long
def test_long_schedules_have_the_right_number_of_replays():
    horizon, rng = 10**6 if jit_enabled() else 10**5, np.random.default_rng(3)
    counts = [len(lazy_events(rng, horizon, 1.0)) for _ in range(20 if jit_enabled() else 1)]
    expected = chances(horizon, 1.0).sum()
    sd = math.sqrt(
        (chances(horizon, 1.0).sum(axis=1) * (1 - chances(horizon, 1.0).sum(axis=1))).sum()
    )
    assert abs(np.mean(counts) - expected) < 4.5 * sd / math.sqrt(len(counts))


@pytest.mark.parametrize("estimate", ["paper", "symmetric"])
def test_estimates_are_unbiased_when_both_arms_are_active(estimate):
    """The mean of dhat(a, b) over many rounds is P(a, b) - 1/2, for every ordered pair."""
    K, rounds = 3, 60_000 if jit_enabled() else 6_000
    P = np.array([[0.5, 0.8, 0.6], [0.2, 0.5, 0.9], [0.4, 0.1, 0.5]])
    policy = make_policy(f"anaconda:constant=50,estimate={estimate}", K, 1, horizon=rounds)
    uniforms = np.random.default_rng(2).random(rounds)
    for t in range(rounds):
        duel = policy.ask()
        policy.tell_first_won(duel, int(uniforms[t] < P[duel.first, duel.second]))
    assert policy.restarts == []
    won = policy.state.pairs["won"].reshape(K, K) / 2
    error = np.abs(won / rounds - 0.5 - (P - 0.5))
    assert error.max() < 4.5 * math.sqrt(K**2 / rounds)
