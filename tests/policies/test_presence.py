"""Options come and go, and votes of the past are heard, as by the slow, obvious twins."""

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.policies import (
    Discounted,
    GlrRestart,
    KernelPolicy,
    Monitored,
    Periodic,
    SlidingWindow,
    hot,
    load_policy,
    make_policy,
    save_policy,
)
from driftduel.policies._counts import counting
from driftduel.policies.fields import (
    ANY,
    CONSTANT,
    COUNT,
    ORDER,
    PRESENT,
    Each,
    Growing,
    Named,
    records,
)
from tests.policies import twins
from tests.policies.test_around import (
    INNER,
    discounted,
    glr,
    made,
    mdb,
    oracle,
    periodic,
    random_world,
    window,
)

pytestmark = pytest.mark.kernels

PLAIN = {**INNER, "uniform": twins.Uniform}


def set_present(policy, twin, luck, t):
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


def add_past_vote(policy, twin, luck, weights):
    """Let both hear a vote about anybody, who may be away."""
    first, second = luck.choice(policy.arms, 2, replace=False).tolist()
    weight = float(weights[int(luck.integers(len(weights)))])
    winner = (first, second, None)[int(luck.integers(3))]
    policy.add_past_vote(first, second, winner, weight)
    if winner is None:
        twin.add_past_vote(first, second, weight / 2)
        twin.add_past_vote(second, first, weight / 2)
    else:
        twin.add_past_vote(winner, first + second - winner, weight)


def same_game(policy, twin, seed, rounds, chance, weights=(1, 0.5, 3)):
    """Play both, answers late, options coming and going; return restarts and rounds alone."""
    luck, draw = np.random.default_rng([seed, 1]), np.random.default_rng(seed).random
    restarts, pending, alone = [], [], 0
    for t in range(1, rounds + 1):
        while luck.random() < 0.05:
            set_present(policy, twin, luck, t)
        if luck.random() < 0.03:
            add_past_vote(policy, twin, luck, weights)
        duel = policy.ask()
        assert (duel.first, duel.second) == twin.ask(t, draw), f"round {t}"
        assert {duel.first, duel.second} <= set(policy.present)
        alone += len(policy.present) == 1
        if policy.kernels.best_guess is not None:
            assert policy.best() == twin.best_guess(), f"round {t}"
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


@pytest.mark.parametrize("name", ["uniform", "rucb", "dts", "dts-plus", "ttts"])
def test_a_policy_plays_like_its_twin_while_options_come_and_go(name):
    alone = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, 3])
        K = int(rng.integers(2, 7))
        policy, twin = made(name, K, seed), PLAIN[name](K)
        alone += same_game(policy, twin, seed, 400, random_world(rng, K, 150))[1]
    assert alone > 20  # also with nobody to meet


AROUND = {  # what, weights of what is heard, restarts in all games at least
    "sw": (window, (1, 2, 5), 0),
    "discounted": (discounted, (2, 4), 0),  # of a tie, each gets half of it
    "periodic": (periodic, (1, 0.5, 3), 20),
    "oracle": (oracle, (1, 0.5, 3), 8),
    "glr": (glr, (1, 0.5, 3), 4),
    "mdb": (mdb, (1, 0.5, 3), 2),
}
WITHOUT_DRAWS = ("sw", "discounted", "periodic", "oracle")  # the twin of ttts draws its prior first


@pytest.mark.long
@pytest.mark.parametrize(
    ("around", "name"),
    [
        *((each, "rucb") for each in AROUND),
        ("sw", "dts"),
        *((each, "ttts") for each in WITHOUT_DRAWS),
    ],
)
def test_what_goes_around_plays_like_its_twin_while_options_come_and_go(around, name):
    make, weights, least = AROUND[around]
    restarts = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 7])
        K = int(rng.integers(2, 6))
        policy, twin = make(name, rng, seed, K)
        chance = random_world(rng, K, every=150)
        restarts += len(same_game(policy, twin, seed, 600, chance, weights)[0])
    assert restarts >= least


def test_last_arm_cannot_retire_and_present_arm_cannot_be_admitted():
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


@pytest.mark.parametrize("name", ["dts", "rucb", "rcs", "rmed1", "ccb", "self-sparring", "ttts"])
def test_counting_policies_accept_past_votes(name):
    """Votes that were heard make it ship their winner, as answers would."""
    policy = make_policy(name, 4, 0)
    for first in range(4):
        for second in range(first):
            policy.add_past_vote(first, second, 2 if 2 in (first, second) else first, weight=20)
    policy.add_past_vote(0, 1, None, weight=3)
    assert policy.state.wins.sum() == 6 * 20 + 3
    assert policy.state.wins[0, 1] == 1.5
    assert policy.best() == 2
    assert policy.ledger.asked == 0


def test_a_count_that_a_float_cannot_hold_is_not_exceeded(tmp_path):
    policy = make_policy("dts", 3, 0)
    for _ in range(3):
        policy.add_past_vote(0, 1, 0, weight=2**53)
    assert policy.state.wins[0, 1] == 2**53
    save_policy(policy, tmp_path / "p.npz")
    assert load_policy(tmp_path / "p.npz").best() == 0


def test_a_window_takes_whole_votes_only():
    policy = make_policy("sw-dts:window=4", 3, 0)
    with pytest.raises(DriftduelError, match=r"weight=1.5 must be a whole number: 'sw-dts' counts"):
        policy.add_past_vote(0, 1, 0, weight=1.5)
    policy.add_past_vote(0, 1, None)  # half a vote for each
    assert policy.state.base.wins.sum() == 0
    policy.add_past_vote(0, 1, 0, weight=1e15)
    policy.add_past_vote(2, 1, 2)
    assert policy.state.base.wins[0, 1] == 3
    assert policy.state.base.wins[2, 1] == 1


def test_a_discount_takes_a_vote_of_weight_three_as_three_votes():
    once, thrice = (make_policy("discounted-rucb:discount=0.9", 3, 0) for _ in range(2))
    for policy in (once, thrice):
        policy.add_past_vote(1, 0, 1, weight=7)
    for _ in range(3):
        thrice.add_past_vote(0, 1, 0)
    once.add_past_vote(0, 1, 0, weight=3)
    np.testing.assert_allclose(once.state.base.wins, thrice.state.base.wins, rtol=1e-12)
    assert thrice.state.base.wins[0, 1] == pytest.approx(1 + 0.9 + 0.81)


# ---- one more than there ever was ----

WIDE = ["uniform", "dts", "dts-plus", "rucb", "sw-dts:window=30", "discounted-rucb:discount=0.98"]
WIDE += ["periodic-rucb:period=70", "oracle-dts:at=90+200", "glr-rucb:explore=0.3,delta=0.5"]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["serve", "panel"])
@pytest.mark.parametrize("spec", WIDE)
def test_one_more_than_there_ever_was_is_one_that_was_away_till_then(spec, mode, tmp_path):
    """Made wider, with duels open and twice, it plays as if the newcomers had been foreseen."""
    for seed in range(4):
        rng = np.random.default_rng([seed, 11])
        K = int(rng.integers(2, 5))
        grown, foreseen = (make_policy(spec, arms, seed, mode=mode) for arms in (K, K + 2))
        for arm in (K, K + 1):
            foreseen.retire(arm)
        chance, luck, pending = random_world(rng, K + 2, 150), np.random.default_rng(seed), []
        joins = sorted(rng.integers(1, 250, 2).tolist())
        for t in range(1, 301):
            for _ in range(joins.count(t)):
                arm = grown.admit()
                assert arm == grown.arms - 1 == foreseen.admit(arm)
            if t == 260:
                save_policy(grown, tmp_path / "p.npz")
                grown = load_policy(tmp_path / "p.npz")
            duel = grown.ask()
            assert foreseen.ask() == duel, f"round {t}"
            pending.append(duel)
            while len(pending) > 9 or (pending and luck.random() < 0.6):
                duel = pending.pop(int(luck.integers(len(pending))))
                won = int(luck.random() < chance(t, duel.first, duel.second))
                for each in (grown, foreseen):
                    each.tell_first_won(duel, won)
        assert grown.present == foreseen.present == tuple(range(K + 2))
        assert grown.best() == foreseen.best()


def test_new_arm_resets_windows_of_mdb():
    policy = made("mdb-rucb:delta=0.9", 3, 0, horizon=2000, switches=2)
    for _ in range(100):
        policy.tell_first_won(policy.ask(), 1)
    before = policy.state.order.tolist()
    duel = policy.ask()
    policy.admit()
    state = policy.state
    assert state.order[:3].tolist() == before
    assert sorted(map(sorted, state.order[3:].tolist())) == [[0, 3], [1, 3], [2, 3]]
    assert state.seen.sum() == state.windows.sum() == 0
    fresh = made("mdb-rucb:delta=0.9", 4, 0, horizon=2000, switches=2).state
    assert state.windows.shape == fresh.windows.shape
    for name in ("cycle", "limit"):
        assert state.numbers[name] == fresh.numbers[name]
    policy.tell_first_won(duel, 1)
    met = set()
    for _ in range(200):
        duel = policy.ask()
        met.add(frozenset((duel.first, duel.second)))
        policy.tell_first_won(duel, 1)
    assert len([pair for pair in met if len(pair) == 2]) == 6


@pytest.mark.parametrize("mode", ["serve", "panel"])
def test_the_king_meets_one_more_than_there_ever_was(mode, tmp_path):
    policy = make_policy("king", 3, 0, mode=mode)
    policy.add_past_vote(0, 1, 0, weight=3)
    luck = np.random.default_rng(0)
    for t in range(400):
        if t == 100:
            duel = policy.ask()
            assert policy.admit() == 3
            assert policy.arms == 4
            assert policy.present == (0, 1, 2, 3)
            policy.tell_first_won(duel, 1)
            save_policy(policy, tmp_path / "p.npz")
            policy = load_policy(tmp_path / "p.npz")
        duel = policy.ask()
        high = max(duel.first, duel.second)
        policy.tell(duel, high if luck.random() < 0.8 else min(duel.first, duel.second))
    assert policy.best() == 3


def test_unsupported_changes_raise_and_change_nothing():
    policy = make_policy("wsw", 3, 0)
    with pytest.raises(DriftduelError, match="'wsw' cannot remove or add options; use 'anew-w"):
        policy.retire(1)
    with pytest.raises(DriftduelError, match=r"'wsw' cannot add an option beyond .* 'anew-wsw'"):
        policy.admit()
    assert policy.arms == 3
    assert policy.present == (0, 1, 2)


def test_rules_extend_fields_by_an_arm():
    old, new = np.array([5, 6]), np.array([7, 8, 9])
    assert ANY.with_arm(old, new).tolist() == [5, 6, 9]
    assert CONSTANT.with_arm(old, new).tolist() == [7, 8, 9]
    assert PRESENT.with_arm(np.array([0, 1]), np.ones(3, int)).tolist() == [0, 1, 0]
    assert ORDER.with_arm(np.array([1, 0]), np.array([0, 1, 2])).tolist() == [1, 0, 2]
    square = ANY.with_arm(np.ones((2, 2)), np.zeros((3, 3)))
    assert square.sum() == square[:2, :2].sum() == 4
    assert Each(ANY, CONSTANT).with_arm(old, np.array([1, 2])).tolist() == [5, 2]
    long = Growing(ANY).with_arm(np.ones((5, 2)), np.zeros((1, 3)))
    assert long.tolist() == [[1, 1, 0]] * 5
    both = Named(kept=ANY, made=CONSTANT)
    wide = both.with_arm(records(2, kept=1, made=2), records(3, kept=3, made=4))
    assert wide["kept"].tolist() == [1, 1, 3]
    assert wide["made"].tolist() == [4, 4, 4]


# ---- what is passed on ----


class Listener(NamedTuple):
    wins: Annotated[Any, COUNT]
    present: Annotated[Any, PRESENT]
    heard_of: Annotated[Any, COUNT]
    """(2,) the round of the last change, and duels that nobody won."""


def _first_two(state, rng, t, notes):
    return 0, 1


def _listen(state, t, first, second, won, notes):
    if won < 0:
        state.heard_of[1] += 1
    else:
        state.wins[first, second] += 1.0
    return 0


def _note(state, rng, t, arm, here):
    state.present[arm] = here
    state.heard_of[0] = t


def _forget(state):
    state.wins[:] = 0.0


class Listening(KernelPolicy):
    """Wants to know in which of its rounds something changed, and what nobody answered."""

    name = "listening"
    transient = ("heard_of",)
    kernels = counting(hot(_first_two), hot(_listen), hot(_forget), presence=True)._replace(
        change=hot(_note), unanswered=True
    )

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        arrays = (np.zeros((arms, arms)), np.ones(arms, np.int64), np.zeros(2, np.int64))
        self.state = Listener(*arrays)


@pytest.mark.long
@pytest.mark.parametrize(
    ("wrapper", "keys", "local", "answers"),
    [
        (SlidingWindow, {"window": 7}, 7, 7),
        (Discounted, {"discount": 0.75}, 4, 4 * (1 - 0.75**20)),
        (Periodic, {"period": 8}, 6, 4),
        (GlrRestart, {"explore": 0.0}, 30, 20),
        (Monitored, {"horizon": 10**6, "switches": 0}, 30, None),
    ],
)
def test_wrapped_policy_receives_local_rounds(wrapper, keys, local, answers):
    rng = np.random.default_rng(0)
    policy = wrapper(3, rng, Listening(3, rng), **keys)
    assert policy.unanswered
    silent = 0
    for t in range(1, 30):
        duel = policy.ask()
        policy.tell_first_won(duel, -1 if t % 3 == 0 else 1)
        silent += t % 3 == 0 and (not duel.notes or duel.notes[0] < 0)
    policy.retire(2)
    when, unanswered = policy.state.base.heard_of.tolist()
    assert when == local
    assert unanswered == silent > 0
    if answers is None:
        assert policy.state.seen.sum() + policy.state.base.wins.sum() >= 20
        assert (policy.state.sums[:, 0] == policy.state.seen).all()  # won, each of them
    else:
        assert policy.state.base.wins.sum() == pytest.approx(answers)
