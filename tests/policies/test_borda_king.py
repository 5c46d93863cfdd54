"""King by Borda scores: a twin after its docstring, what it is told, how often it is wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel._internal.compiler import jit_enabled
from driftduel.games import play
from driftduel.policies import make_policy
from tests.policies import twins
from tests.policies.test_court import side_by_side

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="long runs are for compiled code")


def live(seed, rounds, *, late, changes, leaps=0.0):
    """Play a random life, and compare policy and twin after every step; return what happened."""
    rng = np.random.default_rng(seed)
    policy = make_policy("borda-king", int(rng.integers(2, 8)), seed)
    twin = twins.BordaKing(policy.state.order.tolist())
    reigns = 0
    for t in side_by_side(policy, twin, rng, rounds, late, changes, leaps):
        reigns += policy.state.numbers[0].crowned == t
    whose = [each for each, _ in twin.halves.values()]
    unfinished = whose.count("challenger") - whose.count("king")
    return twin.alarms, reigns, twin.dropped, len(whose), unfinished


@pytest.mark.parametrize("seed", range(12))
def test_it_plays_like_its_twin(seed):
    live(seed, 4000 if jit_enabled() else 1000, late=0, changes=0.0)


@pytest.mark.long
@given(st.integers(0, 2**32), st.integers(0, 30), st.sampled_from([0, 0.01, 0.1]), st.booleans())
@settings(max_examples=100 if jit_enabled() else 10)
def test_it_lives_like_its_twin(seed, late, changes, leaps):
    """Late and lost answers, ties, options that come and go."""
    live(seed, 600, late=late, changes=changes, leaps=0.005 * leaps)


@compiled
@pytest.mark.long
def test_it_lives_like_its_twin_in_hundreds_of_lives():
    seen = np.zeros(5)
    for seed in range(600):
        late, changes = [0, 2, 9, 50][seed % 4], [0.0, 0.0, 0.01, 0.1][seed // 4 % 4]
        seen += live(seed, 800, late=late, changes=changes, leaps=0.002 * (seed % 3 == 0))
    assert (seen > 10).all(), seen  # what is compared did happen


def test_past_votes_crown_the_borda_winner():
    """Arm 0 beats everybody narrowly; arm 1 beats the others by far."""
    policy = make_policy("borda-king", 4, 0)
    twin = twins.BordaKing(policy.state.order.tolist())
    votes = [(0, 1, 6), (1, 0, 4), (0, 2, 6), (2, 0, 4), (0, 3, 6), (3, 0, 4), (1, 2, 9), (1, 3, 9)]
    for winner, loser, weight in votes:
        policy.add_past_vote(winner, loser, winner, weight=weight)
        twin.add_past_vote(winner, loser, weight)
        assert policy.best() == twin.king
    assert policy.best() == 1
    assert make_policy("king", 4, 0).kernels.add_past_vote is not policy.kernels.add_past_vote


def test_step_is_void_if_its_arm_leaves():
    policy = make_policy("borda-king", 5, 0)
    while True:
        duel = policy.ask()
        if not duel.alone and duel.second != policy.best():
            break
        policy.tell(duel, duel.first)
    j, z = duel[:2]
    assert j != policy.best()
    before = policy.state.arms[j].out
    policy.tell(duel, j)
    policy.retire(z)
    duel = policy.ask()
    assert z not in duel[:2]
    assert policy.state.arms[j].lead in (0, -1)
    assert before == 1


# ---- how often it is wrong ----


def alarms_and_bound(world, seeds):
    """Return how many alarms there were in some games, and how many false ones are promised."""
    games = [play("borda-king", world, seed=seed, benchmark="borda") for seed in range(seeds)]
    matches = [game.policy.state.numbers[0].matches for game in games]
    promised = sum(2 * math.log(1 + each / 100) for each in matches)
    return sum(len(game.restarts) for game in games), promised


@compiled
@pytest.mark.long
@pytest.mark.parametrize("p", [0.50001, 0.7, 1.0])
@pytest.mark.parametrize("ties", [0.0, 0.4])
def test_false_alarms_stay_below_the_stated_bound(p, ties):
    """In a circle all have the same Borda score, so every alarm is false."""
    world = f"cycle:arms=5,rounds=200000,p={p}" + (f",ties={ties}" if ties else "")
    alarms, promised = alarms_and_bound(world, 20)
    assert promised > 20
    assert alarms < promised


@compiled
@pytest.mark.long
def test_the_bound_fails_where_the_borda_winner_changes():
    alarms, promised = alarms_and_bound("total-order:arms=5,rounds=400000,phases=40,p=0.9", 3)
    assert alarms > 2 * promised


@compiled
@pytest.mark.long
def test_borda_winner_stays_against_narrow_condorcet_winner():
    """In `clash` the Borda winner is nobody's Condorcet winner; king does not care for it."""
    world = "clash:arms=6,rounds=200000,phases=2"
    lost = {
        policy: np.mean(
            [play(policy, world, seed=seed, benchmark="borda").total for seed in range(5)]
        )
        for policy in ("borda-king", "king", "court")
    }
    assert lost["borda-king"] < 0.2 * min(lost["king"], lost["court"])
