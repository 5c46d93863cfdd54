"""The king of the hill: a twin after its docstring, the contract, and how often it is wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import driftduel.policies.king  # noqa: F401
from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.policies import RESTARTED, load_policy, make_policy, save_policy
from driftduel.testing import CHECKS
from driftduel.worlds import make_world
from tests.policies import twins

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="long runs are for compiled code")


def random_world(rng, K):
    """Draw preferences: sometimes near ties, where matches last; sometimes one arm only ties."""
    spread = rng.choice([0.05, 0.5])
    p = rng.uniform(0.5 - spread, 0.5 + spread, (K, K))
    ties = np.full((K, K), rng.choice([0.0, 0.0, 0.3]))
    if rng.random() < 0.2:
        always = rng.integers(K)
        ties[always] = ties[:, always] = 1.0
    return np.triu(p, 1) + np.tril(1 - p.T, -1) + np.eye(K) / 2, ties


def live(seed, rounds, *, late, changes, leaps=0.0):
    """Play a random life, and compare policy and twin after every step; return what happened."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 7))
    policy = make_policy("king", K, seed)
    state, numbers = policy.state, policy.state.numbers[0]
    twin = twins.King(state.order.tolist())
    lost, t, alarms, reigns, pending = rng.choice([0.0, 0.1]), 0, 0, 0, []
    for step in range(rounds):
        t += 1 if rng.random() >= leaps else int(rng.integers(2_000, 12_000))
        if step % 150 == 0:
            p, ties = random_world(rng, K)
        while rng.random() < changes:
            arm, there = int(rng.integers(K)), numbers.here > 1
            if there or not state.present[arm]:
                here = 1 - int(state.present[arm])
                policy.kernels.change(state, policy.rng_address, t, arm, here)
                twin.change(t, arm, bool(here))
        first, second, _ = policy.choose(t)
        assert (first, second) == twin.ask(t), t
        assert state.present[first] == state.present[second] == 1
        pending.append((t, first, second))
        while len(pending) > late or (pending and rng.random() < 0.3):
            asked, first, second = pending.pop(int(rng.integers(len(pending))))
            won = int(rng.random() < p[first, second])
            if rng.random() < max(lost, ties[first, second]):
                won = -1
            king = numbers.king
            flags = policy.learn(asked, first, second, won, ())
            assert (flags == RESTARTED) == twin.tell(asked, first, second, won), t
            alarms += flags == RESTARTED
            reigns += numbers.king != king
        if step % 50 < 49:
            continue
        assert numbers.king == twin.king
        assert numbers.alarms == twin.alarms == alarms
        assert numbers.matches == twin.matches
        matches = {j: (state.arms[j].lead, state.arms[j].out) for j in range(K) if state.arms[j].on}
        assert matches == {j: (match.lead, match.out) for j, match in twin.open.items()}, t
        policy.check_state(state)
    return alarms, reigns, twin.dropped


@pytest.mark.parametrize("seed", range(12))
def test_it_plays_like_its_twin(seed):
    live(seed, 3000 if jit_enabled() else 1000, late=0, changes=0.0)


@given(st.integers(0, 2**32), st.integers(0, 30), st.sampled_from([0, 0.02, 0.2]), st.booleans())
@settings(max_examples=500 if jit_enabled() else 50)
def test_it_lives_like_its_twin(seed, late, changes, leaps):
    """Late and lost answers, ties, options that come and go, duels nobody ever answers."""
    live(seed, 150, late=late, changes=changes, leaps=0.01 * leaps)


@pytest.mark.long
@pytest.mark.parametrize("part", range(2))
def test_it_lives_like_its_twin_in_thousands_of_lives(part):
    if not jit_enabled():
        pytest.skip("long runs are for compiled code")
    alarms = reigns = dropped = 0
    for seed in range(700 * part, 700 * (part + 1)):
        late, changes = [0, 2, 9, 50][seed % 4], [0.0, 0.0, 0.01, 0.1][seed // 4 % 4]
        seen = live(seed, 300, late=late, changes=changes, leaps=0.002 * (seed % 3 == 0))
        alarms, reigns, dropped = alarms + seen[0], reigns + seen[1], dropped + seen[2]
    assert min(alarms, reigns, dropped) > 30  # what is compared did happen


def test_a_match_without_end_is_given_up_when_next_to_nothing_is_left_of_the_bets():
    """The challenger wins and loses in turns, so it is never behind, and every bet loses slowly."""
    policy = make_policy("king", 2, 0)
    pairs, t, stakes = 0, 0, [0.8 / 2**k for k in range(6)]
    while sum((1 - s * s) ** pairs for s in stakes) / 6 >= 0.001:
        pairs += 1
    assert pairs > 8000
    for duel in range(2 * pairs):
        first = second = None
        while first == second:
            t += 1
            first, second, _ = policy.choose(t)
        assert policy.state.numbers[0].matches == 1, f"it was given up after {duel} duels"
        policy.learn(t, first, second, duel % 2, ())
    assert policy.state.numbers[0].open == 0
    assert policy.state.arms["lead"].tolist() == [-1, -1]


@compiled
@pytest.mark.parametrize("check", CHECKS)
def test_it_keeps_the_contract(check):
    CHECKS[check]("king")


def false_alarms(seed, *, rounds=20_000, K=4, worse=None, late=0, order="arrival", lost=0.0,
                 ties=0.0, changes=0.0, delay=None, bias=0.5):  # fmt: skip
    """Play where no challenger is ever better than the king; return alarms, bound and reigns.

    Every alarm is false, so the policy promises at most the bound, on average.

    Parameters
    ----------
    seed, rounds, K
        The game.
    worse
        Says of a round and the challenger's lead whether it is much worse now, or as good.
    late, delay
        Duels that are out and come back in random order; or the delay of an answer, given whether
        the king won and how long it would take otherwise.
    order
        That in which answers are learned.
    lost, ties, changes
        How often an answer is lost, a duel ties, an arm comes or goes.
    bias
        How often an established king wins against an equal; below 1/2, the promise is broken.
    """
    rng = np.random.default_rng([seed, 5])
    policy = make_policy("king", K, seed)
    policy.configure(order=order)
    state, numbers = policy.state, policy.state.numbers[0]
    waiting, reigns, king = [], 0, numbers.king
    for t in range(1, rounds + 1):
        if changes and rng.random() < changes:
            arm = int(rng.integers(K))
            if arm not in policy.present:
                policy.admit(arm)
            elif len(policy.present) > 2:
                policy.retire(arm)
        duel = policy.ask()
        if duel.alone and order == "arrival":
            policy.forget(duel)  # nobody is asked
        else:
            lead = max(state.arms[duel.first].lead, state.arms[duel.second].lead)
            much = worse is not None and worse(t, lead)
            established = numbers.held > 7 * K
            king_won = bool(rng.random() < (0.9 if much else bias if established else 0.5))
            due = t + (int(rng.exponential(late)) if late else 0)
            if delay is not None and not duel.alone:
                due = t + delay(king_won)
            waiting.append((due, rng.random(), duel, king_won))
        for answer in [each for each in waiting if each[0] <= t]:
            waiting.remove(answer)
            _, luck, duel, king_won = answer
            if luck < ties:
                policy.tell(duel, None)
            elif luck < ties + lost:
                policy.forget(duel)
            else:
                policy.tell(duel, duel.first if king_won else duel.second)
        reigns += numbers.king != king
        king = numbers.king
    return len(policy.restarts), 2 * math.log(1 + numbers.matches / 100), reigns


LIVES = {
    "equal": {},
    "in turns": {"worse": lambda t, _: t // 100 % 2 == 1},  # as good or worse, by the hundred
    "spiteful": {"worse": lambda _, lead: lead > 20},  # as good while it trails
    "late": {"late": 30},
    "late, in the order of asking": {"late": 30, "order": "asked"},
    "as late as it likes, in the order of asking": {
        "delay": lambda king_won: 20 * king_won, "order": "asked"
    },
    "lost": {"late": 5, "lost": 0.3},
    "ties": {"ties": 0.5},
    "options come and go": {"changes": 0.0005},
    "everything": {"late": 10, "lost": 0.1, "ties": 0.2, "changes": 0.0005, "order": "asked"},
}  # fmt: skip


RARE = ("in turns", "spiteful", "everything")  # in which kings are seldom established and tried


@compiled
@pytest.mark.long
@pytest.mark.parametrize("life", LIVES)
def test_false_alarms_stay_below_the_stated_bound(life):
    played = np.array([false_alarms(seed, **LIVES[life]) for seed in range(6)])
    alarms, bound, _ = played.sum(0)
    assert bound > 5
    # Equals reach a bar nearly as often as the bound says, and it is one on the mean: with 50 games
    # 88 were seen for 121, 49 for 96 (ties), 60 for 92 (everything). Six need some room.
    assert alarms < bound + 2 * math.sqrt(bound)


@compiled
@pytest.mark.long
@pytest.mark.parametrize("life", [each for each in LIVES if each not in RARE])
def test_the_bound_fails_where_challengers_are_better(life):
    """What the test above sees is not that there are never any alarms."""
    played = np.array([false_alarms(seed, **LIVES[life], bias=0.2) for seed in range(2)])
    alarms, bound, _ = played.sum(0)
    assert alarms > bound


@compiled
def test_informative_delay_needs_the_order_of_asking():
    """All arms are equal, and who prefers the king answers 20 rounds later."""
    reigns = {}
    for order in ("arrival", "asked"):
        life = {"K": 6, "order": order, "delay": lambda king_won: 20 * king_won}
        reigns[order] = false_alarms(0, rounds=10_000, **life)[2]
    assert reigns["asked"] < 30
    assert reigns["arrival"] > 100


@compiled
@pytest.mark.parametrize(
    "world",
    [
        "geometric-btl:arms=10,rounds=100000,phases=1",
        "random-condorcet:arms=5,rounds=100000,phases=50,p_min=0.6,change=background",
    ],
)
def test_it_is_quiet_where_the_winner_stays(world):
    games = [play("king", f"{world},seed={run}", seed=run) for run in range(10)]
    assert sum(len(game.restarts) for game in games) <= 3


@compiled
def test_it_finds_every_switch_of_an_ordinary_world():
    world = make_world("geometric-btl:arms=10,rounds=100000,phases=4,change=winner")
    games = [play("king", world, seed=run) for run in range(10)]
    assert np.mean([len(game.restarts) for game in games]) == pytest.approx(3, abs=0.5)
    best = [play("sw-dts:window=10000", world, seed=run).total for run in range(10)]
    assert np.mean([game.total for game in games]) < np.mean(best)


# ---- late and lost answers, ties ----


def answered(policy, world, rounds, out, seed):
    """Play with so many duels out, in random order; return real votes, dropped ones, who led."""
    rng = np.random.default_rng([seed, 6])
    state, numbers = policy.state, policy.state.numbers[0]
    waiting, votes, dropped, leaders = [], 0, 0, []
    for t in range(1, rounds + 1):
        first, second, _ = policy.choose(t)
        waiting.append((t, first, second))
        leaders.append(int(numbers.king))
        if len(waiting) < out:
            continue
        asked, first, second = waiting.pop(int(rng.integers(len(waiting))))
        if first == second:
            continue
        before = state.arms["seen"].sum(), numbers.king
        won = int(rng.random() < world.preferences(asked).matrix[first, second])
        policy.learn(asked, first, second, won, ())
        votes += 1
        dropped += before == (state.arms["seen"].sum(), numbers.king)
    return votes, dropped, leaders


@pytest.mark.long
@compiled
@pytest.mark.parametrize("out", [25, 100, 1000])
def test_with_many_duels_out_it_finds_changes_and_wastes_little(out):
    votes = dropped = right = 0
    for seed in range(3):
        world = make_world("total-order:arms=6,rounds=40000,phases=2,p=0.75,change=winner", seed)
        policy = make_policy("king", 6, seed)
        seen = answered(policy, world, 40_000, out, seed)
        votes, dropped = votes + seen[0], dropped + seen[1]
        winners = dict(world.condorcet_winners())
        right += seen[2][19_999] == winners[1]
        right += seen[2][-1] == winners[20_001]
    assert right == 6
    if out <= 100:
        assert dropped < 0.05 * votes


def test_an_answer_to_a_match_that_is_over_does_not_count_for_the_next_of_the_same_two():
    policy = make_policy("king", 2, 0)
    rival = policy.state.arms[1 - policy.best()]
    t, asked = 0, []
    while len(asked) < 4:  # a match with three duels out, after its first was won
        t += 1
        first, second, _ = policy.choose(t)
        if first != second:
            asked.append(t)
            if len(asked) == 1:
                policy.learn(t, first, second, 0, ())
    king, j = policy.best(), 1 - policy.best()
    assert (rival.lead, rival.out) == (1, 3)
    for t_out in asked[1:3]:
        policy.learn(t_out, king, j, 1, ())
    # It is lost, and what is out is the first duel of another.
    assert (rival.on, rival.lead, rival.out, policy.state.numbers[0].matches) == (1, 0, 1, 2)
    policy.learn(asked[3], king, j, 1, ())
    assert (rival.on, rival.out) == (0, 0)
    while not rival.on:
        t += 1
        policy.choose(t)
    policy.learn(asked[3], king, j, 0, ())
    assert (rival.lead, rival.out) == (0, 1)
    policy.learn(t, king, j, 0, ())
    assert (rival.lead, rival.out) == (1, 0)


def test_what_is_out_when_a_king_falls_begins_the_match_of_the_fallen():
    policy = make_policy("king", 2, 0)
    king, t, out = policy.best(), 0, []
    while policy.best() == king:  # all are won by the challenger, and some are late
        t += 1
        first, second, _ = policy.choose(t)
        if first != second:
            out.append(t)
        if len(out) > 3 or first == second:
            policy.learn(out.pop(0), king, 1 - king, 0, ())
    rival = policy.state.arms[king]
    assert (rival.on, rival.lead, rival.out) == (1, 0, len(out))
    policy.learn(out.pop(), king, 1 - king, 1, ())  # as it was asked for: the fallen is first
    assert (rival.lead, rival.out) == (1, len(out))


def test_unanswered_duels_count_as_lost():
    policy = make_policy("king", 3, 0)
    met = []
    for t in range(1, 45_001):
        first, second, _ = policy.choose(t)
        if first != second:
            met.append(t)
        if t == 30_000:
            assert len(met) == 2 * 3  # two rivals, every 10,000 rounds
    assert policy.state.arms["out"].tolist().count(1) == 2


@pytest.mark.parametrize("how", ["skipped", "forgotten"])
def test_permanent_ties_do_not_block_other_arms(how):
    """Before, such a pair was in the end the only one that was asked for."""
    policy, rng = make_policy("king", 4, 0), np.random.default_rng(0)
    pairs = []
    for _ in range(20_000 if jit_enabled() else 4_000):
        duel = policy.ask()
        pairs.append(tuple(sorted(duel[:2])))
        if 3 in duel[:2] and not duel.alone:
            policy.tell(duel, None) if how == "skipped" else policy.forget(duel)
        else:
            strong = min(duel[:2])
            policy.tell(duel, strong if rng.random() < 0.8 else max(duel[:2]))
    late = pairs[len(pairs) // 2 :]
    assert {(0, 1), (0, 2), (0, 3)} <= set(late)
    assert late.count((0, 3)) < 0.5 * len(late)
    assert policy.best() == 0


def test_match_ends_after_64_ties_in_a_row():
    policy = make_policy("king", 2, 0)
    rival, t = policy.state.arms[1 - policy.best()], 0

    def play(outcomes):
        nonlocal t
        for won in outcomes:
            first = second = None
            while first == second:
                t += 1
                first, second, _ = policy.choose(t)
            policy.learn(t, first, second, won, ())

    for _ in range(2):  # the second match begins to count anew
        begun = policy.state.numbers[0].matches
        play([0] + 63 * [-1] + [0] + 63 * [-1])
        assert (rival.on, policy.state.numbers[0].matches) == (1, begun + 1)
        play([-1])
        assert rival.on == 0
    play([1])
    assert rival.on == 0
    assert policy.state.numbers[0].matches == begun + 2


# ---- options come and go, past votes ----


def test_a_challenger_that_leaves_takes_its_match_with_it():
    policy = make_policy("king", 3, 0)
    duel = policy.ask()
    while duel.alone:
        duel = policy.ask()
    policy.retire(duel.second)
    policy.tell(duel, duel.second)
    arm = policy.state.arms[duel.second]
    assert (arm.on, arm.seen, policy.state.numbers[0].open) == (0, 0.0, 0)
    for _ in range(300):
        assert duel.second not in policy.ask()[:2]


def test_the_best_record_inherits_from_a_king_that_leaves_and_no_alarm_is_raised():
    policy = make_policy("king", 4, 1)
    king = policy.best()
    heir = (king + 2) % 4
    for _ in range(200):
        duel = policy.ask()
        policy.tell(duel, heir if heir in duel[:2] and duel.round % 3 == 0 else king)
    assert policy.best() == king
    policy.retire(king)
    assert policy.best() == heir
    assert policy.restarts == []
    assert policy.info().since == 200


def test_a_newcomer_is_tried_at_once_and_as_it_gets_older():
    policy = make_policy("king", 5, 0)
    policy.retire(4) if policy.best() != 4 else policy.retire(3)
    gone = next(arm for arm in range(5) if arm not in policy.present)
    for _ in range(5000):
        duel = policy.ask()
        policy.tell(duel, duel.first)
    policy.admit(gone)
    met = []
    for _ in range(2000):
        duel = policy.ask()
        policy.tell(duel, duel.first)
        if gone in duel[:2]:
            met.append(duel.round - 5000)
    assert met[0] == 1
    assert {5, 30, 215} <= {*met}  # seven times as old, and again
    assert policy.restarts == []


def test_a_newcomer_fells_an_established_king_easily_and_without_an_alarm():
    policy = make_policy("king", 5, 0)
    gone = (policy.best() + 1) % 5
    policy.retire(gone)
    for _ in range(5000):
        duel = policy.ask()
        policy.tell(duel, duel.first)
    policy.admit(gone)
    for wins in range(6):
        duel = policy.ask()
        assert set(duel[:2]) == {policy.best(), gone}, wins
        policy.tell(duel, gone)
    assert policy.best() == gone
    assert policy.restarts == []
    assert policy.state.arms["tries"].min() >= 60  # nobody is new to a new king


def test_with_one_arm_it_is_shown_alone():
    policy = make_policy("king", 3, 0)
    for arm in [arm for arm in range(3) if arm != policy.best()]:
        policy.retire(arm)
    for _ in range(200):
        duel = policy.ask()
        assert duel.alone
        policy.tell(duel, duel.first)
    with pytest.raises(DriftduelError, match="only one present"):
        policy.retire(policy.best())


def test_it_begins_with_the_leader_of_past_votes(tmp_path):
    policy = make_policy("king", 4, 0)
    for winner, loser, weight in [(2, 0, 1), (2, 1, 1), (0, 1, 50), (3, 0, 9), (2, 3, 0.5)]:
        policy.add_past_vote(winner, loser, winner, weight)
    assert policy.best() == 2  # three majorities
    save_policy(policy, tmp_path / "p.npz")
    again = load_policy(tmp_path / "p.npz")
    again.add_past_vote(3, 2, 3)
    again.add_past_vote(3, 1, None)
    assert again.best() == 3  # as many majorities as 2, and more of its votes
    assert again.ask().first == 3
    with pytest.raises(DriftduelError, match="before its first duel only; 1 duels were already"):
        again.add_past_vote(0, 1, 0)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.5, 1, 3]))))
def test_past_votes_equal_the_reference(votes):
    policy = make_policy("king", 5, 7)
    twin = twins.King(policy.state.order.tolist())
    for winner, loser, weight in votes:
        if winner != loser:
            policy.add_past_vote(winner, loser, winner, weight)
            twin.add_past_vote(winner, loser, weight)
            assert policy.best() == twin.king


@pytest.mark.parametrize("field", ["numbers.king", "order", "arms.lead", "bets"])
def test_a_damaged_state_is_refused(field):
    policy = make_policy("king", 4, 0)
    state = {name: array.copy() for name, array in policy.get_state().items()}
    state[field][...] = 7 if field != "bets" else np.nan
    said = (
        "is inconsistent"
        if field == "arms.lead"
        else f"the saved {field.partition('.')[0]} of 'king'"
    )
    with pytest.raises(DriftduelError, match=said):
        policy.set_state(state)


@given(st.lists(st.booleans(), max_size=40))
def test_the_evidence_is_its_closed_form_and_nothing_is_left_when_a_match_is_lost(wins):
    """One at the start, and 0 as soon as the challenger is one behind, for every stake."""
    policy = make_policy("king", 2, 0)
    king, t = policy.best(), 0
    while not policy.state.arms["on"].any():
        t += 1
        policy.choose(t)
    j, match = 1 - king, twins.DoomedMatch(t, t, 1)
    bets = policy.state.bets[j]
    assert bets[:6] - bets[6:] == pytest.approx(np.ones(6))
    for win in wins:
        policy.state.numbers[0].held = 10**6  # so that it does not fall
        policy.state.numbers[0].matches = 10**15
        policy.learn(t, king, j, int(not win), ())
        match.outcomes.append(1 if win else -1)
        assert (bets[:6] - bets[6:]).mean() == pytest.approx(match.wealth, abs=1e-9)
        if match.lead < 0:
            assert bets[:6] == pytest.approx(bets[6:])
            break
