"""Options come and go, and votes of the past are heard, as by the slow, obvious twins."""

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.policies import make_policy
from tests.policies import twins
from tests.policies.test_around import INNER, made, random_world

pytestmark = pytest.mark.kernels

PLAIN = {**INNER, "uniform": twins.Uniform}


def come_or_go(policy, twin, luck, t):
    """Let somebody come or leave, if that is possible."""
    away = sorted(set(range(policy.arms)) - set(policy.present))
    if away and (len(policy.present) == 1 or luck.random() < 0.5):
        arm = away[int(luck.integers(len(away)))]
        assert policy.admit(arm) == arm
        twin.change(t, arm, here=True)
    elif len(policy.present) > 1:
        arm = policy.present[int(luck.integers(len(policy.present)))]
        policy.retire(arm)
        twin.change(t, arm, here=False)


def hear(policy, twin, luck, weights):
    """Let both hear a vote about anybody, who may be away."""
    first, second = luck.choice(policy.arms, 2, replace=False).tolist()
    weight = float(weights[int(luck.integers(len(weights)))])
    winner = (first, second, None)[int(luck.integers(3))]
    policy.hear(first, second, winner, weight)
    if winner is None:
        twin.hear(first, second, weight / 2)
        twin.hear(second, first, weight / 2)
    else:
        twin.hear(winner, first + second - winner, weight)


def same_game(policy, twin, seed, rounds, chance, weights=(1, 0.5, 3)):
    """Play both, answers late, options coming and going; return restarts and rounds alone."""
    luck, draw = np.random.default_rng([seed, 1]), np.random.default_rng(seed).random
    restarts, pending, alone = [], [], 0
    for t in range(1, rounds + 1):
        while luck.random() < 0.05:
            come_or_go(policy, twin, luck, t)
        if luck.random() < 0.03:
            hear(policy, twin, luck, weights)
        duel = policy.ask()
        assert (duel.first, duel.second) == twin.ask(t, draw), f"round {t}"
        assert {duel.first, duel.second} <= set(policy.present)
        alone += len(policy.present) == 1
        if policy.kernels.suspect is not None:
            assert policy.best() == twin.suspect(), f"round {t}"
            assert policy.best() in policy.present
        pending.append(duel)
        while len(pending) > 12 or (pending and luck.random() < 0.6):
            duel = pending.pop(int(luck.integers(len(pending))))
            won = int(luck.random() < chance(t, duel.first, duel.second))
            if luck.random() < 0.05:
                policy.forget(duel)
                continue
            policy.tell_first_won(duel, won)
            if twin.tell(duel.round, duel.first, duel.second, won):
                restarts.append(duel.round)
            assert policy.restarts == restarts, f"round {t}"
    return restarts, alone


@pytest.mark.parametrize("name", ["uniform", "rucb", "dts", "dts-plus"])
def test_a_policy_plays_like_its_twin_while_options_come_and_go(name):
    alone = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, 3])
        K = int(rng.integers(2, 7))
        policy, twin = made(name, K, seed), PLAIN[name](K)
        alone += same_game(policy, twin, seed, 400, random_world(rng, K, 150))[1]
    assert alone > 20  # also with nobody to meet


def test_the_last_arm_stays_and_nobody_comes_twice():
    policy = make_policy("dts", 3, 0)
    policy.retire(1)
    policy.retire(0)
    assert policy.present == (2,)
    assert policy.ask()[:2] == (2, 2)
    with pytest.raises(DriftduelError, match="arm 2 is the only one present and cannot be"):
        policy.retire(2)
    with pytest.raises(DriftduelError, match="arm 1 cannot be retired; present are 2"):
        policy.retire(1)
    with pytest.raises(DriftduelError, match=r"arm 2 cannot be admitted: .* present are 2 of 3"):
        policy.admit(2)
    assert policy.present == (2,)


@pytest.mark.parametrize("name", ["dts", "rucb", "rcs", "rmed1", "ccb", "self-sparring"])
def test_who_counts_wins_hears_of_the_past(name):
    """Votes that were heard make it ship their winner, as answers would."""
    policy = make_policy(name, 4, 0)
    for first in range(4):
        for second in range(first):
            policy.hear(first, second, 2 if 2 in (first, second) else first, weight=20)
    policy.hear(0, 1, None, weight=3)
    assert policy.state.wins.sum() == 6 * 20 + 3
    assert policy.state.wins[0, 1] == 1.5
    assert policy.best() == 2
    assert policy.ledger.asked == 0


def test_a_count_that_a_float_cannot_hold_is_not_exceeded(tmp_path):
    from driftduel.policies import load_policy, save_policy

    policy = make_policy("dts", 3, 0)
    for _ in range(3):
        policy.hear(0, 1, 0, weight=2**53)
    assert policy.state.wins[0, 1] == 2**53
    save_policy(policy, tmp_path / "p.npz")
    assert load_policy(tmp_path / "p.npz").best() == 0
