"""A court: a twin after its docstring, what it is told and tells, how often it is wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel._internal.compiler import jit_enabled
from driftduel.policies import RESTARTED, load_policy, make_policy, save_policy
from driftduel.policies.base import generator_state, restore_generator
from driftduel.policies.court import _has_changed, _round
from tests.policies import twins
from tests.policies.test_king import random_world

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="long runs are for compiled code")


def circles(rng, K):
    """Draw preferences, often such that nobody beats everybody."""
    p, ties = random_world(rng, K)
    if K > 2 and rng.random() < 0.7:
        one, two, three = rng.permutation(K)[:3]
        for i, j in ((one, two), (two, three), (three, one)):
            p[i, j] = rng.uniform(0.6, 0.95)
            p[j, i] = 1 - p[i, j]
        for i in (one, two, three):
            others = [j for j in range(K) if j not in (one, two, three)]
            p[i, others], p[others, i] = 0.9, 0.1
    return p, ties


def live(seed, rounds, *, late, changes, leaps=0.0, votes=0.0, phase=500):
    """Play a random life, and compare policy and twin after every step; return what happened."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 8))
    policy = make_policy("court", K, seed)
    state, numbers = policy.state, policy.state.numbers[0]
    twin = twins.Court(state.order.tolist())
    reigns = 0
    for t in side_by_side(policy, twin, rng, rounds, late, changes, leaps, votes, phase):
        reigns += numbers.crowned == t
        if t % 50:
            continue
        assert {i: q for i, q in enumerate(state.shares.tolist()) if q > 0} == twin.shares
        assert set(np.flatnonzero(state.known)) == twin.known
    happened = twin.seen_to_happen.values()
    return np.array([twin.alarms, reigns, twin.dropped, len(twin.in_court), *happened])


def side_by_side(policy, twin, rng, rounds, late, changes, leaps=0.0, votes=0.0, phase=500):
    """Let a policy and its twin live through the same, and yield every round, compared.

    Parameters
    ----------
    policy, twin, rng, rounds
        Who lives, what decides, and how long.
    late
        Duels that may be out.
    changes, leaps, votes
        How often an arm comes or goes, thousands of rounds are left out, a past vote is heard.
    phase
        Rounds until preferences change.
    """
    K, state, numbers = policy.arms, policy.state, policy.state.numbers[0]
    draw = restore_generator(generator_state(policy.rng)).random
    lost, t, alarms, pending = rng.choice([0.0, 0.1]), 0, 0, []
    for step in range(rounds):
        t += 1 if rng.random() >= leaps else int(rng.integers(2_000, 12_000))
        if step % phase == 0:
            p, ties = circles(rng, K)
        while rng.random() < changes:
            arm, there = int(rng.integers(K)), state.present.sum() > 1
            if there or not state.present[arm]:
                here = 1 - int(state.present[arm])
                policy.kernels.change(state, policy.rng_address, t, arm, here)
                twin.change(t, arm, bool(here))
        if rng.random() < votes:
            pair = [int(arm) for arm in rng.permutation(K)[:2]]
            weight = float(rng.choice([0.5, 1.0, 200.0]))
            policy.kernels.add_past_vote(state, *pair, weight)
            twin.add_past_vote(*pair, weight)
        first, second, notes = policy.choose(t)
        assert (first, second) == twin.ask(t, draw), t
        assert state.present[first] == state.present[second] == 1
        pending.append((t, first, second, notes))
        while len(pending) > late or (pending and rng.random() < 0.3):
            place = 0 if policy.in_order else int(rng.integers(len(pending)))
            asked, first, second, notes = pending.pop(place)
            won = int(rng.random() < p[first, second])
            if rng.random() < max(lost, ties[first, second]):
                won = -1
            flags = policy.learn(asked, first, second, won, notes)
            assert (flags == RESTARTED) == twin.tell(asked, first, second, won), t
            alarms += flags == RESTARTED
        yield t
        assert numbers.king == twin.king
        if step % 50 < 49:
            continue
        assert numbers.alarms == twin.alarms == alarms
        assert numbers.matches == twin.matches
        matches = {j: (state.arms[j].lead, state.arms[j].out) for j in range(K) if state.arms[j].on}
        assert matches == {j: (match.lead, match.out) for j, match in twin.open.items()}, t
        policy.check_state(state)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_it_plays_like_its_twin(seed):
    live(seed, 4000 if jit_enabled() else 1000, late=0, changes=0.0)


@pytest.mark.long
@given(
    st.integers(0, 2**32),
    st.integers(0, 30),
    st.sampled_from([0, 0.01, 0.1]),
    st.booleans(),
    st.sampled_from([0, 0, 0.02]),
)
@settings(max_examples=100 if jit_enabled() else 10)
def test_it_lives_like_its_twin(seed, late, changes, leaps, votes):
    """Late and lost answers, ties, options that come and go, votes of the past."""
    live(seed, 600, late=late, changes=changes, leaps=0.005 * leaps, votes=votes)


@compiled
@pytest.mark.slow
def test_it_lives_like_its_twin_in_hundreds_of_lives():
    seen = 0
    for seed in range(400):
        late, changes = [0, 2, 9, 50][seed % 4], [0.0, 0.0, 0.01, 0.1][seed // 4 % 4]
        votes = 0.01 * (seed % 5 == 0)
        seen += live(seed, 800, late=late, changes=changes, leaps=0.002 * (seed % 3), votes=votes)
    for seed in range(20):  # courts that grow old before they change
        seen += live(seed, 12_000, late=seed % 3, changes=0.0, phase=4000)
    assert (seen > 3).all(), seen  # what is compared did happen


# ---- what it is told, and tells ----


@pytest.mark.long
@pytest.mark.parametrize("name", ["king", "court", "borda-king"])
def test_a_newcomer_that_past_votes_put_on_the_throne_does_not_challenge_itself(name):
    policy = make_policy(name, 4, 0)
    policy.retire(2)
    policy.admit(2)
    for other in (0, 1, 3):
        policy.add_past_vote(2, other, 2, weight=20)
    assert policy.best() == 2
    for _ in range(100):
        duel = policy.ask()
        policy.tell(duel, duel.first)
        assert not policy.state.arms[2].on


def after_votes(*votes):
    """Return a court that heard how often arms beat others."""
    policy = make_policy("court", 4, 0)
    for winner, loser, weight in votes:
        policy.add_past_vote(winner, loser, winner, weight=weight)
    return policy


def test_info_has_the_shares():
    policy = after_votes(*((i, (i + 1) % 3, 200) for i in range(3)))
    policy.add_past_vote(0, 3, 0, weight=200)
    info = policy.info()
    assert info.shares == pytest.approx((1 / 3, 1 / 3, 1 / 3, 0))
    assert policy.best() == info.leader == 0
    assert "shares: arm 0 (33%), arm 1 (33%), arm 2 (33%)\n" in str(info)
    for other in ("king", "dts"):
        assert make_policy(other, 4, 0).info().shares is None


def test_info_of_a_court_of_one():
    policy = after_votes((1, 0, 9), (1, 2, 9), (1, 3, 9))
    assert policy.info().shares == (0.0, 1.0, 0.0, 0.0)
    assert "shares" not in str(policy.info())


@pytest.mark.parametrize(
    ("circle", "kept"),
    [
        ((0.2, 0.2, 0.2), [0, 1, 2]),
        ((0.2, 0.2, 0.001), [0, 2]),  # arm 1 has 0.25%, and nobody gains without it
        ((0.3, 0.5, 0.0163), [0, 1, 2]),  # it has 1.997%, and arm 2 would gain 0.0102
        ((0.5, 0.02, 0.02), [2]),  # arm 2 has 93%, and nobody beats it by more than 0.02
        ((0.5, 0.03, 0.02), [0, 1, 2]),  # arm 2 has 91%, and arm 1 beats it by 0.03
    ],
)
def test_small_shares_are_dropped_where_hardly_anybody_gains(circle, kept):
    """Arm 0 beats 1, 1 beats 2 and 2 beats 0, by so much."""
    a, b, c = circle
    gaps = np.array([[0, a, -c], [-a, 0, b], [c, -b, 0]])
    mixture = twins.unbeaten(gaps)
    before = mixture.copy()
    _round(gaps, 3, mixture, 1.0)
    assert np.flatnonzero(mixture).tolist() == kept
    assert mixture[kept] == pytest.approx(before[kept] / before[kept].sum())


@pytest.mark.parametrize(
    ("recent", "before", "new"),
    [
        ((50, 0), (50, 50), True),
        ((49, 0), (50, 50), False),  # too few that are recent
        ((50, 0), (49, 50), False),  # too few from before: less than twice as many
        ((100, 0), (100, 100), True),
        ((100, 0), (99, 100), False),
        ((65, 35), (100, 100), False),  # 2 * 100 * 0.15^2 / 0.26 = 17 does not exceed 20 + 2
        ((67, 33), (100, 100), True),  # 2 * 100 * 0.17^2 / 0.26 = 22.2 does
        ((0, 0), (150, 50), False),
    ],
)
def test_what_is_recent_differs_if_there_is_enough_of_both(recent, before, new):
    state = make_policy("court", arms=3, seed=0).state
    (state.recent[0, 1], state.recent[1, 0]) = recent
    (state.wins[0, 1], state.wins[1, 0]) = before
    assert _has_changed(state) == new


def test_more_than_fifty_arms_may_share():
    """All shares are below what is dropped, so none is."""
    policy = make_policy("court", 61, 0)
    state = policy.state
    for i in range(61):
        for step in range(1, 31):
            state.wins[i, (i + step) % 61] = 99
    state.known[:] = 1
    policy.add_past_vote(0, 1, 0)
    assert policy.state.shares.sum() == pytest.approx(1)
    assert policy.state.shares.min() > 0.01


def test_saved_in_the_middle_it_goes_on(tmp_path):
    policy = after_votes((0, 1, 99), (1, 2, 99), (2, 0, 99))
    for _ in range(300):
        duel = policy.ask()
        policy.tell_first_won(duel, int(policy.best() in duel[:2]))
    save_policy(policy, tmp_path / "p.npz")
    again = load_policy(tmp_path / "p.npz")
    assert again.info() == policy.info()
    assert [again.ask() for _ in range(50)] == [policy.ask() for _ in range(50)]


# ---- how often it is wrong ----


def false_alarms(seed, *, rounds=20_000, K=6, lead=0.0, spread=0.25, p=0.8, late=0, delay=None,
                 order="arrival", lost=0.0, ties=0.0, changes=0.0):  # fmt: skip
    """Play where no challenger is better than the mixture of the round; return alarms and bound.

    Against each arm of the court a challenger is better or worse by something of its own, and on
    average over the mixture, whatever it is just now, as good: every alarm is false. It begins with
    three arms in court; there all are in one circle, each beating the next.

    Parameters
    ----------
    seed, rounds, K
        The game.
    lead
        By how much a challenger is better after all, of an established court.
    spread
        How much better or worse than an arm of the court it may be.
    p
        How often arms of the court win along the circle.
    late, delay
        The mean delay of an answer; or the delay itself, given whether the challenger won and how
        much better it is than the arm that it met.
    order, lost, ties, changes
        As the policy is told; how often an answer is lost, a duel ties, an arm comes or goes.
    """
    rng = np.random.default_rng([seed, 7])
    policy = make_policy("court", K, seed)
    policy.configure(order=order)
    for i in range(3):
        policy.add_past_vote(i, (i + 1) % 3, i, weight=100 * (p > 0.5) + 1)
    state, numbers = policy.state, policy.state.numbers[0]
    better = rng.uniform(-spread, spread, (K, K))
    waiting, mixed, joined = [], 0, 0
    for t in range(1, rounds + 1):
        if changes and rng.random() < changes:
            arm = int(rng.integers(K))
            if arm not in policy.present:
                policy.admit(arm)
            elif len(policy.present) > 3:
                policy.retire(arm)
        duel = policy.ask()
        first, second = duel[:2]
        mixed += numbers.seats > 1
        if state.shares[second] > 0:
            gap = (p - 0.5) * [0, 1, -1][(second - first) % 3]
        else:
            gap = state.shares @ better[second] - better[second, first]
            gap -= lead * (numbers.held > 7 * K)
        first_won = bool(rng.random() < 0.5 + gap * (first != second))
        due = t + (int(rng.exponential(late)) if late else 0)
        if delay is not None and not duel.alone:
            due = t + delay(not first_won, -gap)
        waiting.append((due, rng.random(), duel, first_won))
        for answer in [each for each in waiting if each[0] <= t]:
            waiting.remove(answer)
            _, luck, duel, first_won = answer
            if luck < ties and not duel.alone:
                policy.tell(duel, None)
            elif luck < ties + lost:
                policy.forget(duel)
            else:
                policy.tell(duel, duel.first if first_won else duel.second)
        joined += numbers.crowned == t
    return len(policy.restarts), 2 * math.log(1 + numbers.matches / 100), mixed / rounds, joined


LIVES = {
    "all equal": {"spread": 0.0, "p": 0.5},
    "a circle": {},
    "a steep circle, which mixes all the time": {"p": 0.95},
    "challengers lose slightly": {"lead": -0.02},
    "late": {"late": 30},
    "late, in the order of asking": {"late": 30, "order": "asked"},
    "as late as it likes, in the order of asking": {
        "delay": lambda won, gap: 20 * won + 10 * (gap > 0), "order": "asked"
    },
    "lost": {"late": 5, "lost": 0.3},
    "ties": {"ties": 0.5},
    "options come and go": {"changes": 0.0005},
    "everything": {"late": 10, "lost": 0.1, "ties": 0.2, "changes": 0.0005, "order": "asked"},
}  # fmt: skip


@compiled
@pytest.mark.long
@pytest.mark.parametrize("life", LIVES)
def test_false_alarms_stay_below_the_stated_bound(life):
    played = np.array([false_alarms(seed, **LIVES[life]) for seed in range(6)])
    alarms, bound, _, _ = played.sum(0)
    assert bound > 5
    assert alarms < bound
    assert played[:, 2].mean() > 0.05 or life == "all equal"


@compiled
@pytest.mark.long
@pytest.mark.parametrize("life", [each for each in LIVES if "lead" not in LIVES[each]])
def test_the_bound_fails_where_challengers_are_better(life):
    """What the test above sees is not that there are never any alarms."""
    played = np.array([false_alarms(seed, **LIVES[life], lead=0.3) for seed in range(4)])
    alarms, bound, _, _ = played.sum(0)
    assert alarms > bound
