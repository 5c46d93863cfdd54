"""King-0: a reference implementation after its docstring, late answers, and false alarms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.policies import make_policy
from driftduel.policies.base import generator_state, restore_generator
from tests.policies.test_king import random_world

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="long runs are for compiled code")
STAKES = 0.5 ** np.arange(1, 21)
FALSE_CORONATIONS = math.pi**2 / 6 - 1


class Twin:
    """King-0 as its docstring has it; a match is the list of its duels, 1 if the challenger won."""

    def __init__(self, K, king, bar=lambda t: 20 * (t + 1) ** 2):
        self.K, self.king, self.bar = K, king, bar
        self.coronations, self.matches = 0, {}

    def ask(self, t, draw):
        others = [i for i in range(self.K) if i != self.king]
        drawn = draw() * (self.K - 1)
        j = others[int(drawn)]
        if j not in self.matches:
            if drawn % 1 >= min(1, math.sqrt(self.K * (1 + self.coronations) / t)):
                return self.king, self.king
            self.matches[j] = (t, [])
        return self.king, j

    def tell(self, t, first, second, won):
        if first != self.king or second not in self.matches or t < self.matches[second][0]:
            return False
        duels = self.matches[second][1]
        duels.append(1 - won)
        if 2 * sum(duels) - len(duels) == -1:
            del self.matches[second]
        elif max(self.evidence(second)) >= self.bar(t):
            self.king, self.matches = second, {}
            self.coronations += 1
            return True
        return False

    def evidence(self, j):
        """Return the best that each stake could have made by beginning at any duel."""
        backwards = [1 if won else -1 for won in reversed(self.matches[j][1])]
        return np.cumprod(1 + np.outer(backwards, STAKES), axis=0).max(axis=0)


def compare(policy, twin):
    """Check that a policy and its reference have the same state."""
    numbers, rivals = policy.state.numbers[0], policy.state.rivals
    assert (numbers.king, numbers.coronations) == (twin.king, twin.coronations)
    for j in range(policy.arms):
        if j in twin.matches and twin.matches[j][1]:
            assert rivals[j].lead == 2 * sum(twin.matches[j][1]) - len(twin.matches[j][1])
            assert policy.state.bets[j] == pytest.approx(twin.evidence(j), rel=1e-9)
        else:
            assert rivals[j].lead == (0 if j in twin.matches else -1)


def live(seed, rounds, late, phase=200):
    """Play the same duels with a policy and its reference; return coronations, dropped answers."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 7))
    policy = make_policy("king-0", K, seed)
    twin = Twin(K, int(policy.best()))
    draw = restore_generator(generator_state(policy.rng)).random
    pending, dropped = [], 0
    for t in range(1, rounds + 1):
        if t % phase == 1:
            p, _ = random_world(rng, K)
        duel = policy.ask()
        assert duel[:2] == twin.ask(t, draw)
        pending.append(duel)
        while len(pending) > late or (pending and rng.random() < 0.5):
            each = pending.pop(int(rng.integers(len(pending))))
            won = int(rng.random() < p[each.first, each.second])
            matches, restarts = dict(twin.matches), len(policy.restarts)
            policy.tell_first_won(each, won)
            fell = twin.tell(each.round, each.first, each.second, won)
            assert len(policy.restarts) == restarts + fell
            match = matches.get(each.second)
            dropped += not each.alone and (match is None or each.round < match[0])
        if t % 7 == 0:
            compare(policy, twin)
    return twin.coronations, dropped


@pytest.mark.parametrize("seed", range(6))
def test_it_plays_like_its_twin(seed):
    live(seed, 1_500, late=0)


@given(st.integers(0, 2**32), st.integers(0, 20))
@settings(max_examples=30 if jit_enabled() else 5)
def test_it_lives_like_its_twin_with_late_answers(seed, late):
    live(seed, 300, late)


@compiled
@pytest.mark.long
def test_what_is_compared_did_happen():
    seen = np.array([live(seed, 1_500, late=5 * (seed % 4), phase=500) for seed in range(16)])
    assert seen[:, 0].sum() > 8
    assert seen[::4, 1].sum() == 0  # with answers at once none is dropped
    assert seen[:, 1].sum() > 50


@compiled
def test_among_equals_fewer_kings_fall_than_the_proof_allows():
    """No challenger is better, so every coronation is false; a lower bar would break this."""
    falls = 0
    for seed in range(60):
        policy, rng = make_policy("king-0", 2, seed), np.random.default_rng(seed)
        for luck in rng.random(2_000):
            policy.tell_first_won(policy.ask(), int(luck < 0.5))
        falls += len(policy.restarts)
    assert falls / 60 <= FALSE_CORONATIONS


def test_info_says_who_challenges():
    policy = make_policy("king-0", 3, 0)
    for _ in range(12):
        duel = policy.ask()
        policy.tell_first_won(duel, 0)  # every challenger wins
    king, named = policy.best(), dict(policy.info().challengers)
    assert set(named) == {0, 1, 2} - {king}
    for j, share in named.items():
        wins = policy.state.rivals[j].lead
        assert share == pytest.approx(wins * math.log(1.5) / math.log(20 * 13**2))
    assert policy.info().since is None


def test_a_saved_match_of_the_king_with_itself_is_refused():
    policy = make_policy("king-0", 3, 0)
    state = {name: array.copy() for name, array in policy.get_state().items()}
    state["rivals.lead"][policy.best()] = 0
    with pytest.raises(DriftduelError, match="is inconsistent"):
        policy.set_state(state)
