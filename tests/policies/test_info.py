"""What a policy says of itself: the leader, how near an alarm is, where it stands."""

import math
import warnings

import numpy as np
import pytest

from driftduel.errors import WeakSpotWarning
from driftduel.games import trace
from driftduel.policies import POLICIES, Policy, make_policy
from driftduel.policies.info import Challenger, Info
from driftduel.testing import CHECKS

pytestmark = pytest.mark.kernels


def made(spec, arms, **known):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSpotWarning)
        return make_policy(spec, arms, 3, **known)


def duels(policy, rounds, chance, seed=5):
    """Play by ask and tell; give every round with who won, once it was told."""
    luck = np.random.default_rng(seed)
    for t in range(1, rounds + 1):
        duel = policy.ask()
        won = int(luck.random() < chance(t, duel.first, duel.second))
        policy.tell_first_won(duel, won)
        yield duel, won


def reversed_at(change):
    """Low arms win, and from round `change` on high ones."""
    return lambda t, a, b: 0.5 + 0.4 * np.sign(b - a) * (1 if t < change else -1)


def windows_twin(outcomes, w, limit):
    """Return how near the halves of the last w outcomes are to an alarm."""
    newer, older = outcomes[-(w // 2) :], outcomes[-w : -(w // 2)]
    return min(1.0, abs(sum(newer) - sum(older)) / limit, len(outcomes) / w)


@pytest.mark.long
def test_detect_is_as_near_an_alarm_as_its_windows():
    policy = made("detect-btw:delta=0.6,p_min=0.8", 3, horizon=4000)
    w, numbers = policy.state.windows.shape[1], policy.state.numbers[0]
    limit, explore = numbers.limit, numbers.explore
    outcomes, nearest, since = {0: [], 1: [], 2: []}, 0.0, 0
    for duel, won in duels(policy, 4000, reversed_at(1500)):
        info = policy.info()
        if policy.restarts:
            break
        if duel.round <= explore:
            assert (info.since, info.challengers) == (None, ())
            continue
        since = since or duel.round
        outcomes[duel.second].append(won)
        expected = {
            arm: windows_twin(seen, w, limit) for arm, seen in outcomes.items() if arm != duel.first
        }
        assert dict(info.challengers) == pytest.approx(expected)
        assert (info.leader, info.since) == (duel.first, since)
        nearest = max(nearest, info.challengers[0].share)
    assert policy.restarts == [duel.round]
    assert (info.alarms, info.challengers, info.since) == (1, (), None)
    assert info.episode_start == duel.round + 1
    assert 0.9 < nearest <= 1


@pytest.mark.long
def test_mdb_is_as_near_an_alarm_as_the_nearest_pair_of_an_arm():
    policy = made("mdb-rucb:delta=0.6", 3, horizon=2000, switches=1)
    w, limit = policy.state.windows.shape[1], policy.state.numbers[0].limit
    outcomes = {}
    for duel, won in duels(policy, 2000, reversed_at(1000)):
        info = policy.info()
        if policy.restarts:
            break
        if duel.notes[0] >= 0:
            outcomes.setdefault((duel.first, duel.second), []).append(won)
        expected = {arm: 0.0 for arm in range(3) if arm != info.leader}
        for pair, seen in outcomes.items():
            for arm in {*pair} - {info.leader}:
                expected[arm] = max(expected[arm], windows_twin(seen, w, limit))
        assert dict(info.challengers) == pytest.approx(expected)
    assert info.alarms == len(policy.restarts) == 1
    assert info.episode_start == duel.round + 1


def kl(p, q):
    parts = ((p, q), (1 - p, 1 - q))
    return sum(x * math.log(x / y) for x, y in parts if x > 0)


def likelihood_twin(outcomes, delta):
    """Return the largest share of glr's limit that a split of up to 64 outcomes reaches."""
    n, mean = len(outcomes), sum(outcomes) / len(outcomes)
    if mean in (0, 1):
        return 0.0
    limit = math.log(3 * n**1.5 / delta)
    ratios = (
        s * kl(sum(outcomes[:s]) / s, mean) + (n - s) * kl(sum(outcomes[s:]) / (n - s), mean)
        for s in range(1, n)
    )
    return min(1.0, max(ratios) / limit)


@pytest.mark.long
def test_glr_is_as_near_an_alarm_as_the_nearest_pair_of_an_arm():
    policy = made("glr-dts:explore=0.5", 4)
    outcomes, nearest = {}, 0.0
    for duel, won in duels(policy, 400, reversed_at(80)):
        a, b = sorted((duel.first, duel.second))
        if policy.restarts:
            break
        if a != b:
            outcomes.setdefault((a, b), []).append(won if duel.first == a else 1 - won)
        if any(len(seen) > 64 for seen in outcomes.values()):
            pytest.fail("its history is thinned from here on, and the twin's is not")
        info = policy.info()
        expected = {arm: 0.0 for arm in range(4) if arm != info.leader}
        for pair, seen in outcomes.items():
            for arm in {*pair} - {info.leader}:
                expected[arm] = max(expected[arm], likelihood_twin(seen, 0.001))
        assert dict(info.challengers) == pytest.approx(expected)
        nearest = max(nearest, info.challengers[0].share)
    assert policy.restarts == [duel.round]
    assert 0.5 < nearest <= 1
    assert policy.info().alarms == 1
    assert {each.share for each in policy.info().challengers} == {0.0}


def test_king_info_has_coronation_and_shares():
    policy = made("king", 3)
    reigns, since, nearest = policy.best(), None, 0.0
    for duel, _ in duels(policy, 6000, reversed_at(3000)):
        info = policy.info()
        if info.leader != reigns:
            reigns, since = info.leader, duel.round
        assert info.since == since
        assert reigns not in {each.arm for each in info.challengers}
        assert info.alarms == len(policy.restarts)
        nearest = max((nearest, *(each.share for each in info.challengers)))
    assert policy.restarts
    assert since >= 3000
    assert 0.9 < nearest < 1


@pytest.mark.parametrize("spec", ["btw", "periodic-btw:period=500"])
def test_a_match_shows_what_the_challenger_has_of_the_wins_it_takes(spec):
    policy = made(spec, 3)
    wins, before = 0, None
    for duel, won in duels(policy, 400, reversed_at(200)):
        match = (duel.notes, duel.first, duel.second)
        wins = (0 if match != before else wins) + (1 - won)
        before = match
        ((arm, share),) = policy.info().challengers
        if (arm, policy.best()) == (duel.second, duel.first) and share:
            assert (
                share
                == wins / policy.get_state()["numbers.r" if spec == "btw" else "base.numbers.r"][0]
            )
        else:
            assert share == 0


def test_rounds_of_wrapped_policies_are_converted():
    spec = "doubling-anaconda:constant=0.05,epoch=64"
    played = trace(spec, "total-order:arms=3,rounds=500,phases=2,p=0.9", seed=2)
    starts = [1, *(t + 1 for t in played.policy.restarts)]
    epochs = [max(s for s in starts if s <= t) for t in range(1, 501)]
    # Within an epoch ANACONDA may start an episode of its own, never before the epoch.
    assert (played.episode_start >= np.array(epochs)).all()
    assert {65, 193} <= {*played.episode_start.tolist()}
    assert (played.replay_start >= played.episode_start).all()
    assert (played.replay_end >= np.arange(1, 501)).all()


def test_a_trace_asks_for_no_more_than_it_writes_down(monkeypatch):
    """In every round, who leads and how near an alarm is would cost more than the game."""

    def dear(self):
        raise AssertionError("a trace has no use for it")

    monkeypatch.setattr(Policy, "info", dear)
    monkeypatch.setattr(POLICIES["glr-dts"].factory.wrapper, "contest", dear)
    assert len(trace("glr-dts", "total-order:arms=3,rounds=50,phases=1")) == 50


def test_it_can_be_read_in_a_terminal():
    near = tuple(Challenger(arm, share) for arm, share in ((5, 0.61), (1, 0.2), (2, 0), (4, 0)))
    info = Info(
        policy="detect-btw",
        rounds=1_000,
        restarts=[411],
        leader=3,
        since=530,
        challengers=(*near, Challenger(0, 0.0)),
        alarms=1,
        prior_knowledge={"horizon": 4000, "delta": 0.3},
        mode="panel",
        order="asked",
        ties="coin",
        present=(0, 1, 2, 3, 4, 5),
        open=1,
        held=2,
    )
    assert str(info).splitlines() == [
        "detect-btw after 1,000 duels: arm 3 leads, since round 530",
        "challengers: arm 5 (61%), arm 1 (20%), arm 2 (0%), arm 4 (0%), ...",
        "alarms: 1, the last after round 411",
        "prior knowledge: horizon=4000, delta=0.3",
        "panel mode; learns in the order of asking; ties are decided by a coin",
        "arms: 0, 1, 2, 3, 4, 5; 1 duel pending, 2 answers held back",
    ]
    assert str(make_policy("uniform", 2).info()).splitlines() == [
        "uniform after 0 duels: no leader",
        "restarts: 0",
        "prior knowledge: none",
        "serve mode; learns in the order of arrival; ties are ignored",
        "arms: 0, 1; 0 duels pending, 0 answers held back",
    ]


def test_the_shipped_check_finds_an_info_that_changes_something(registered):
    @registered("restless")
    class Restless(POLICIES["uniform"].factory):
        def contest(self):
            self.rng.random()
            return super().contest()

    with pytest.raises(AssertionError, match=r"info\(\) modified the policy"):
        CHECKS["info tells and changes nothing"]("restless")
