"""Slates: codes, the contract, king's kernels beside a slow reference, fillings, false alarms."""

import math
import os
from collections import defaultdict
from itertools import permutations

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError, LogError
from driftduel.policies import (
    MOST_SHOWN,
    UNDECIDED,
    Duel,
    Event,
    EventLog,
    Recorder,
    code_of,
    fold,
    is_code,
    make_policy,
    places_of,
    policy_from_bytes,
    policy_to_bytes,
    result_of_pair,
)
from tests.policies import twins
from tests.policies.test_king_panel import Reference

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="long runs are for compiled code")


# ---- codes ----


def test_each_answer_has_one_code():
    seen = {-1: ()}
    for shown in range(2, 6):
        for n in range(1, shown + 1):
            for places in permutations(range(shown), n):
                if shown == 2 and n == 2:
                    continue  # the order of two arms is a pick
                code = code_of(places)
                assert seen.setdefault(code, places) == places == places_of(code)
                assert is_code(code, shown)
    assert code_of(range(MOST_SHOWN)) < 2**62


@pytest.mark.parametrize("code", [2, 16, 17, 0x110, 0x500, 1 << 40, -2, 0.0, True, None, "1"])
def test_other_values_are_no_codes(code):
    assert not is_code(code, 2)
    assert code == 2 or not is_code(code, 3)


def test_pairs_are_ordered_by_the_answer():
    for n in range(1, 5):
        for places in permutations(range(4), n):
            rank = {place: r for r, place in enumerate(places)}
            for p, q in permutations(range(4), 2):
                if p not in rank and q not in rank:
                    expected = UNDECIDED
                else:
                    expected = int(rank.get(p, 9) < rank.get(q, 9))
                assert result_of_pair(code_of(places), p, q) == expected
    assert result_of_pair(-1, 0, 1) == -1


# ---- choices after Plackett and Luce ----


def ranked(rng, utilities, shown):
    """Draw a ranking of the arms shown, the best first."""
    left = list(shown)
    ranking = []
    while left:
        weights = np.exp([utilities[arm] for arm in left])
        ranking.append(left.pop(rng.choice(len(left), p=weights / weights.sum())))
    return ranking


def answer(rng, policy, duel, utilities, *, ties=0.0, lost=0.0):
    """Answer a duel by a pick, a ranking or a part of one, nothing, or not; return the ranking."""
    draw = rng.random()
    if duel.alone:
        policy.tell(duel, duel.first)
        return [duel.first]
    if draw < lost:
        policy.forget(duel)
        return None
    if draw < lost + ties:
        policy.tell(duel, None)
        return None
    ranking = ranked(rng, utilities, duel.shown)[: rng.integers(1, len(duel.shown) + 1)]
    if len(ranking) == 1 and rng.random() < 0.5:
        policy.tell(duel, ranking[0])
    else:
        policy.tell(duel, ranking=ranking)
    return ranking


def result(ranking, first, second):
    """Return the result of a pair by a ranking: 1, 0, or negative."""
    if ranking is None:
        return -1
    for arm in ranking:
        if arm in (first, second):
            return int(arm == first)
    return UNDECIDED


# ---- the contract ----


def slate_of(spec="king:slate=4", arms=5, mode="panel", rounds=9):
    policy = make_policy(spec, arms, seed=3, mode=mode)
    for _ in range(rounds):
        duel = policy.ask()
        policy.tell(duel, duel.shown[-1])
    return policy, policy.ask()


def test_a_slate_has_distinct_arms_and_travels_through_json():
    policy, duel = slate_of()
    assert len(set(duel.shown)) == 4
    assert duel.shown == (duel.first, duel.second, *duel.others)
    assert Duel.from_json(duel.to_json()) == duel
    policy.tell(Duel.from_json(duel.to_json()), ranking=duel.shown)


def test_duels_of_earlier_files_are_read():
    assert Duel.of([0, 1, 7, [0.5]]) == Duel(0, 1, 7, (0.5,), ())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"winner": 99}, "pass the arm that won, or None for a tie"),
        ({"winner": True}, "pass the arm that won"),
        ({"ranking": []}, "must list arms of the slate"),
        ({"ranking": 3}, "must list arms of the slate"),
        ({"ranking": [0, 0]}, "each once"),
        ({"ranking": [99, 1]}, "rank arms that were shown"),
        ({}, "pass the winner of the duel, or ranking="),
        ({"winner": 1, "ranking": [1]}, "not both or neither"),
    ],
)
def test_other_answers_are_refused_and_change_nothing(given, message):
    policy, duel = slate_of(arms=4)
    before = policy_to_bytes(policy)
    with pytest.raises(DriftduelError, match=message):
        policy.tell(duel, **given)
    assert policy_to_bytes(policy) == before


@pytest.mark.parametrize("won", [4, 17, -2, 1.5, 0x660])
def test_codes_of_other_slates_are_refused(won):
    policy, duel = slate_of()
    with pytest.raises(DriftduelError, match="must be 1"):
        policy.tell_first_won(duel, won)
    policy.tell_first_won(duel, code_of([3, 0]))


@pytest.mark.parametrize("bad", ["5", "1", "9", "0", "-1"])
def test_a_slate_takes_two_to_eight_arms(bad):
    if bad == "5":
        assert make_policy("king:slate=5", 3).slate == 5  # more than there are arms
    else:
        with pytest.raises(DriftduelError, match="slate"):
            make_policy(f"king:slate={bad}", 3)


def test_wrappers_of_duels_take_no_slates():
    with pytest.raises(DriftduelError, match="slate"):
        make_policy("anew-king:slate=4", 4)


@pytest.mark.parametrize("ties", ["skip", "coin"])
def test_nothing_picked_is_a_tie(ties):
    policy, duel = slate_of()
    policy.ledger.ties = ties
    before = policy.get_state()["bets"].copy()
    policy.tell(duel, None)
    changed = not np.array_equal(policy.get_state()["kept"], before)
    assert changed
    picked = {places_of(policy.ledger.answer(policy.ask(), None)) for _ in range(60)}
    assert picked == ({()} if ties == "skip" else {(0,), (1,), (2,), (3,)})


SPECS = [
    "king:slate=3",
    pytest.param("king:slate=8", marks=pytest.mark.long),
    "slate-dts:slate=4",
    pytest.param("slate-rucb:slate=3,learn=pairs", marks=pytest.mark.long),
    pytest.param("slate-anaconda:slate=5,horizon=500", marks=pytest.mark.long),
]


@pytest.mark.parametrize("mode", ["serve", "panel"])
@pytest.mark.parametrize("order", ["asked", "arrival"])
@pytest.mark.parametrize("spec", SPECS)
def test_a_slate_policy_continues_to_the_bit(spec, order, mode):
    """Late, lost and tied answers, JSON, snapshots in the middle, and the fold of the log."""
    if spec.startswith("slate-anaconda") and (order, mode) != ("asked", "serve"):
        pytest.skip("one run of a policy that learns in order")
    rng = np.random.default_rng([len(spec), len(order), len(mode)])
    fresh = make_policy(spec, 6, seed=2, mode=mode, order=order)
    live, waiting, slates = Recorder(fresh), [], 0
    start = policy_to_bytes(fresh)
    utilities = rng.normal(size=6)
    for t in range(1, 301):
        duel = live.ask()
        slates += len(duel.others) > 0
        waiting.append(Duel.from_json(duel.to_json()))
        while len(waiting) > 5 or (waiting and rng.random() < 0.4):
            duel = waiting.pop(int(rng.integers(len(waiting))))
            answer(rng, live, duel, utilities, ties=0.1, lost=0.1)
        if t == 150:
            if live.policy.can_change:
                live.retire(int(rng.choice(live.policy.present)))
            snapshot, so_far = policy_to_bytes(live.policy), len(live.log)
            live.policy = policy_from_bytes(snapshot)
    assert slates > 20
    end = policy_to_bytes(live.policy)
    lines = EventLog.from_lines(live.log.to_lines())
    assert lines == live.log
    assert policy_to_bytes(fold(policy_from_bytes(start), lines)) == end
    rest = EventLog(list(lines)[so_far:])
    assert policy_to_bytes(fold(policy_from_bytes(snapshot), rest)) == end


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Event("ranked", 10, notes=(0.0, 99.0)), "rank arms that were shown"),
        (Event("ranked", 10, notes=(0.5, 1.0)), "rank arms that were shown"),
        (Event("told", 10, 99), "cannot have won"),
        (Event("decided", 10, won=7), "must be 1"),
    ],
)
def test_impossible_events_are_refused(event, message):
    policy, _ = slate_of()
    with pytest.raises(LogError, match=message):
        fold(policy, EventLog([event]))


def test_a_code_of_a_slate_is_no_result_of_a_duel():
    policy = make_policy("dts", 3)
    policy.ask()
    with pytest.raises(LogError, match="must be 1"):
        fold(policy, EventLog([Event("decided", 1, won=2)]))


@pytest.mark.parametrize("damage", ["others", "order", "repeated", "answer"])
def test_damaged_slates_are_refused(damage):
    policy, duel = slate_of()
    ledger = policy.ledger
    if damage == "others":
        ledger.open[duel.round] = duel._replace(others=())
    elif damage == "order":
        ledger.open[duel.round] = duel._replace(others=duel.others[::-1])
    elif damage == "repeated":
        notes = (float(duel.second), *duel.notes[1:])
        ledger.open[duel.round] = duel._replace(notes=notes, others=tuple(map(int, notes)))
    else:
        ledger.open[duel.round + 1] = ledger.enter(*duel[:2], duel.notes, duel.others)
        policy = make_policy("king:slate=4", 5, seed=3, mode="panel", order="asked")
        policy.ask()
        late = policy.ask()
        policy.ledger.held[2] = (policy.ledger.open.pop(late.round), 0x990)
    with pytest.raises(DriftduelError, match="damaged"):
        policy_from_bytes(policy_to_bytes(policy))


# ---- king ----


def test_slates_of_two_are_duels():
    one, other = make_policy("king", 5, seed=1), make_policy("king:slate=2", 5, seed=1)
    assert one.kernels is other.kernels
    assert policy_to_bytes(one) == policy_to_bytes(other)


class SlateKing(twins.King):
    """King on slates, by the docstring of `_king_slates`: dictionaries and lists."""

    def ask_slate(self, t, slate):
        king, j = self.ask(t)
        shown = [king] if king == j else [king, j]
        while 1 < len(shown) < slate:
            companion = self.companion(t, j, shown)
            if companion is None:
                break
            shown.append(companion)
        return tuple(shown)

    def tell(self, t, first, second, won):
        return super().tell(t, first, second, max(won, -1))  # a match does not move, as for a tie

    def companion(self, t, j, shown):
        arms = len(self.order)
        for i in [(j + 1 + k) % arms for k in range(arms)]:
            match = self.open.get(i)
            if match and i not in shown and match.lead >= 0 and match.out <= 2 * match.lead:
                match.out, match.asked = match.out + 1, t
                return i
        if len(self.open) == len(self.here) - 1 or self.due < -1:
            return None
        self.due -= 0.5
        return self.challenge(self.next(t), t)


class SlatePanel(Reference):
    """The panel form on slates."""

    def ask_slate(self, t, slate):
        king, j = self.ask(t)
        shown = [king] if king == j else [king, j]
        while 1 < len(shown) < slate:
            rival = self.next_rival(shown)
            if rival is None:
                break
            shown.append(rival)
        return tuple(shown)


def live(seed, rounds, mode, *, late, changes):
    """Play a random life, and compare policy and reference after every step."""
    rng = np.random.default_rng(seed)
    K, slate = int(rng.integers(2, 8)), int(rng.choice([3, 5]))  # each is compiled
    policy = make_policy(f"king:slate={slate}", K, seed, mode=mode)
    order = policy.state.order.tolist()
    reference = SlateKing(order) if mode == "serve" else SlatePanel(order)
    ties, lost = rng.choice([0.0, 0.2]), rng.choice([0.0, 0.1])
    waiting, seen = [], defaultdict(int)
    for t in range(1, rounds + 1):
        if t % 100 == 1:
            utilities = rng.normal(size=K) * rng.choice([0.05, 1.5])
        if rng.random() < changes:
            arm = int(rng.integers(K))
            here = arm not in policy.present
            if here or len(policy.present) > 1:
                policy.admit(arm) if here else policy.retire(arm)
                reference.change(t, arm, here)
        duel = policy.ask()
        assert duel.shown == reference.ask_slate(t, slate), t
        seen["slates"] += len(duel.others) > 0
        waiting.append(duel)
        while len(waiting) > late:
            duel = waiting.pop(int(rng.integers(len(waiting))))
            alarms, king = len(policy.restarts), policy.best()
            ranking = answer(rng, policy, duel, utilities, ties=ties, lost=lost)
            told = [
                reference.tell(duel.round, duel.first, arm, result(ranking, duel.first, arm))
                for arm in duel.shown[1:]
            ]
            if mode == "serve":
                assert len(policy.restarts) - alarms == any(told), t
            assert policy.best() == reference.king, t
            seen["alarms"] += len(policy.restarts) - alarms
            seen["falls"] += policy.best() != king
        assert policy.state.numbers[0].matches == (
            reference.matches if mode == "serve" else reference.begun
        )
    policy.check_state(policy.state)
    return seen


@pytest.mark.parametrize("mode", ["serve", "panel"])
@pytest.mark.parametrize("seed", range(10))
def test_king_shows_the_slates_of_its_reference(seed, mode):
    seen = live(seed, 500, mode, late=[0, 0, 3, 12][seed % 4], changes=[0, 0.02][seed % 2])
    assert seen["slates"] > 20 or seen["falls"] < 2


@compiled
@pytest.mark.long
@pytest.mark.parametrize("mode", ["serve", "panel"])
def test_king_shows_the_slates_of_its_reference_in_hundreds_of_lives(mode):
    total = defaultdict(int)
    for seed in range(100, 500 if mode == "serve" else 250):
        late, changes = [0, 2, 9, 50][seed % 4], [0.0, 0.0, 0.01, 0.1][seed // 4 % 4]
        for key, count in live(seed, 300, mode, late=late, changes=changes).items():
            total[key] += count
    print(dict(total))
    assert total["slates"] > 1000
    assert total["falls"] > 200
    assert total["alarms"] > 5


# ---- fillings ----


def test_a_filling_shows_the_duel_and_the_arms_dueled_last():
    rng = np.random.default_rng(1)
    policy, alone = make_policy("slate-dts:slate=4", 7, seed=5), make_policy("dts", 7, seed=5)
    utilities, dueled = rng.normal(size=7), dict.fromkeys(range(7), 0)
    for t in range(1, 1500):
        duel, own = policy.ask(), alone.ask()
        assert duel[:2] == own[:2]
        dueled |= {duel.first: t, duel.second: t}
        rest = sorted(set(range(7)) - set(own[:2]), key=lambda arm: (-dueled[arm], arm))
        assert duel.others == (() if own.alone else tuple(rest[:2]))
        ranking = answer(rng, policy, duel, utilities)
        alone.tell_first_won(own, max(result(ranking, *own[:2]), -1))
    assert np.array_equal(policy.state.base.wins, alone.state.wins)


def test_pairs_count_every_decided_duel():
    rng = np.random.default_rng(2)
    policy = make_policy("slate-rucb:slate=4,learn=pairs", 6, seed=5)
    wins = np.zeros((6, 6))
    for _ in range(500):
        duel = policy.ask()
        ranking = answer(rng, policy, duel, np.zeros(6), ties=0.1)
        for i, j in permutations(duel.shown, 2):
            wins[i, j] += result(ranking, i, j) == 1
    off = ~np.eye(6, dtype=bool)
    assert np.array_equal(policy.state.base.wins[off], wins[off])


def test_pairs_need_a_policy_that_takes_any_duel():
    with pytest.raises(DriftduelError, match="learn='pairs' is not supported by 'king'"):
        make_policy("slate-king:learn=pairs", 4)


@compiled
def test_the_law_of_a_decided_duel_is_that_of_the_plain_duel():
    """Whatever fills the slate: the share of wins of the first arm of each pair."""
    rng = np.random.default_rng(4)
    policy, utilities = make_policy("slate-uniform:slate=4", 5), np.array([0.8, 0.5, 0, 0, -1])
    won, count = np.zeros((5, 5)), np.zeros((5, 5))
    for _ in range(12_000):
        duel = policy.ask()
        if duel.alone:
            policy.forget(duel)
            continue
        pick = ranked(rng, utilities, duel.shown)[0]
        policy.tell(duel, pick)
        if pick in duel[:2]:
            count[duel[:2]] += 1
            won[duel[:2]] += pick == duel.first
    p = 1 / (1 + np.exp(utilities[None] - utilities[:, None]))
    z = (won - count * p)[count > 20] / np.sqrt(count * p * (1 - p))[count > 20]
    assert len(z) == 20
    assert abs(z).max() < 4


# ---- false alarms ----

EQUAL = np.zeros(5)
LADDER = np.array([0.6, 0.3, 0.0, 0.0, -0.3])
STATIONARY = {
    "equal, picks": (EQUAL, False, {}),
    "equal, rankings": (EQUAL, True, {}),
    "a ladder, rankings": (LADDER, True, {}),
    "equal, picks, late answers and ties": (EQUAL, False, {"late": 25, "ties": 0.2}),
}


def false_alarms(utilities, ranking, mode, games, rounds, *, late=0, ties=0.0, favour=0.0):
    """Return false alarms in stationary worlds, and the sum of the bounds.

    `favour` is added to the utility of every arm but the first: with it the choices break the
    independence of irrelevant alternatives, and the bound does not hold.
    """
    false, bound = 0, 0.0
    for seed in range(games):
        rng = np.random.default_rng([seed, 11])
        policy = make_policy("king:slate=4", len(utilities), seed, mode=mode)
        waiting = []
        for t in range(rounds):
            duel = policy.ask()
            if duel.alone:
                policy.forget(duel)
            else:
                seen = {arm: utilities[arm] + favour * (arm != duel.first) for arm in duel.shown}
                due = t + int(rng.integers(2 * late + 1))
                waiting.append((due, duel, ranked(rng, seen, duel.shown)))
            due = [each for each in waiting if each[0] <= t]
            for each in due:
                waiting.remove(each)
                _, duel, order = each
                before, king = len(policy.restarts), policy.best()
                if rng.random() < ties:
                    policy.tell(duel, None)
                else:
                    policy.tell(duel, ranking=order if ranking else order[:1])
                false += (
                    len(policy.restarts) > before and utilities[policy.best()] <= utilities[king]
                )
        bound += policy.false_alarms_at_most()
    return false, bound


@compiled
@pytest.mark.long
@pytest.mark.parametrize("mode", ["serve", "panel"])
@pytest.mark.parametrize("world", STATIONARY)
def test_false_alarms_stay_below_the_stated_bound(world, mode):
    """SLATES=1000 for as many worlds."""
    utilities, ranking, how = STATIONARY[world]
    games = int(os.environ.get("SLATES", "40")) // 8
    false, bound = false_alarms(utilities, ranking, mode, games, 4000, **how)
    print(f"{world}, {mode}: {false} false alarms in {games} worlds, bound {bound:.1f}")
    assert bound > games
    assert false < bound + 2 * math.sqrt(bound)


@compiled
@pytest.mark.long
def test_the_bound_fails_where_the_other_arms_matter():
    """The control: arms beside the leader gain from it, against the stated assumption."""
    false, bound = false_alarms(EQUAL, True, "panel", 5, 4000, favour=0.4)
    assert false > bound
