"""Baselines for slates play like slow, obvious programs, and are saved and folded to the bit."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel._internal.kernel_random import address_of, beta
from driftduel.errors import DriftduelError
from driftduel.games import play, trace
from driftduel.policies import (
    POLICIES,
    EventLog,
    Periodic,
    Recorder,
    fold,
    load_policy,
    make_policy,
    policy_from_bytes,
    policy_to_bytes,
    save_policy,
)
from driftduel.testing import assert_same
from tests.policies.test_saving import rewrite, set_cell, set_key

ROUNDS = 3000 if jit_enabled() else 300
NAMES = ["self-sparring", "multi-dueling", "maxmin-ucb"]


# ---- the slow, obvious programs ----


class Counts:
    """Wins of pairs; an order decides each pair of a listed arm and one that is below it."""

    def __init__(self, K, m):
        self.here, self.m, self.wins = list(range(K)), m, defaultdict(float)

    def tell(self, shown, order):
        for place, better in enumerate(order):
            for worse in set(shown) - set(order[: place + 1]):
                self.wins[better, worse] += 1

    def change(self, arm, here):
        self.here = sorted([*self.here, arm]) if here else [i for i in self.here if i != arm]

    def u(self, i, j, t, alpha):
        n = self.wins[i, j] + self.wins[j, i]
        if i == j:
            return 0.5
        return self.wins[i, j] / n + math.sqrt(alpha * math.log(t) / n) if n else math.inf

    def unbeaten(self, t, alpha):
        S = self.here
        return [i for i in S if all(self.u(i, j, t, alpha) >= 0.5 for j in S)]

    def sample(self, arms, draw):
        """Draw m arms without replacement; of few arms, all."""
        arms, taken = list(arms), []
        if len(arms) <= self.m:
            return arms
        for _ in range(self.m):
            k = int(draw() * len(arms))
            taken.append(arms[k])
            arms[k] = arms[0]  # the first of those that are left takes the free place
            arms.pop(0)
        return taken

    def best(self):
        def record(i):
            score = 0.0
            for j in self.here:
                n = self.wins[i, j] + self.wins[j, i]
                if j != i and n:
                    score += (self.wins[i, j] / n > 0.5) + self.wins[i, j] / n / 1000
            return score

        return max(self.here, key=record)


class SelfSparring(Counts):
    def tell(self, shown, order):
        super().tell(shown, order)
        if len(shown) == 1:
            self.wins[shown[0], shown[0]] += 1  # a win and a loss

    def ask(self, t, draw):
        rng = address_of(draw.__self__)
        won = {i: sum(self.wins[i, j] for j in self.here) for i in self.here}
        lost = {i: sum(self.wins[j, i] for j in self.here) for i in self.here}
        samples = [{} for _ in range(self.m)]
        if self.m == 2:  # both samples side by side, as always
            order = product(self.here, samples)
        else:
            order = ((i, sample) for sample in samples for i in self.here)
        for i, sample in order:
            sample[i] = beta(rng, won[i] + 1, lost[i] + 1)
        return list(dict.fromkeys(max(sample, key=sample.get) for sample in samples))

    def best(self):
        def share(i):
            won = 1 + sum(self.wins[i, j] for j in self.here)
            return won / (won + 1 + sum(self.wins[j, i] for j in self.here))

        return max(self.here, key=share)


class MultiDueling(Counts):
    def __init__(self, K, m, alpha=0.51, beta=1.5):
        super().__init__(K, m)
        self.alpha, self.beta = alpha, beta

    def ask(self, t, draw):
        E = self.unbeaten(t, self.alpha)
        if len(E) == 1:
            return E
        return self.sample(self.unbeaten(t, self.beta * self.alpha) or self.here, draw)


class MaxMin(Counts):
    def __init__(self, K, m, alpha=0.51):
        super().__init__(K, m)
        self.alpha, self.B = alpha, None

    def ask(self, t, draw):
        C = self.unbeaten(t, self.alpha)
        self.B = self.B if self.B in C else None
        if not C:
            return self.sample(self.here, draw)
        if len(C) == 1:
            self.B = C[0]
            return C
        slate = [C[int(draw() * len(C))] if self.B is None else self.B]
        while len(slate) < min(self.m, len(self.here)):
            hopes = {
                i: min(self.u(i, j, t, self.alpha) for j in slate)
                for i in self.here
                if i not in slate
            }
            slate.append(self.one_of(hopes, draw))
        return slate

    @staticmethod
    def one_of(hopes, draw):
        """Return the arm of the largest value; each that equals the largest so far draws."""
        chosen, most, ties = None, -1.0, 0
        for i, hope in hopes.items():
            if hope > most:
                chosen, most, ties = i, hope, 1
            elif hope == most:
                ties += 1
                if draw() * ties < 1:
                    chosen = i
        return chosen


TWINS = {"self-sparring": SelfSparring, "multi-dueling": MultiDueling, "maxmin-ucb": MaxMin}


# ---- people who choose after Plackett and Luce ----


class People:
    """Utilities change in the middle; they pick, rank all or the best two, or pick nothing."""

    def __init__(self, K, rounds, seed, kinds):
        self.rng = np.random.default_rng([seed, K])
        self.utilities, self.rounds, self.kinds = self.rng.normal(size=(2, K)) * 1.5, rounds, kinds

    def order(self, t, shown):
        """Return the arms that are ordered, the best first; empty if nothing was picked."""
        noise = self.rng.gumbel(size=len(shown))
        values = self.utilities[int(2 * t > self.rounds)][list(shown)] + noise
        arms = [shown[k] for k in np.argsort(-values)]
        kind = self.kinds[int(self.rng.integers(len(self.kinds)))]
        return arms[: {"pick": 1, "two": 2, "all": len(arms), "tie": 0}[kind]]


def answer(policy, duel, order):
    """Tell an order as a pick or as a ranking."""
    if not order:
        policy.tell(duel, None)
    elif len(order) == 1:
        policy.tell(duel, order[0])
    else:
        policy.tell(duel, ranking=order)


def set_present(policy, twin, luck):
    away = sorted(set(range(policy.arms)) - set(policy.present))
    if away and (len(policy.present) == 1 or luck.random() < 0.5):
        policy.admit(away[0])
        twin.change(away[0], here=True)
    elif len(policy.present) > 1:
        arm = policy.present[int(luck.integers(len(policy.present)))]
        policy.retire(arm)
        twin.change(arm, here=False)


def same_game(policy, twin, seed, rounds, kinds, late=10):
    """Play both, answers late, in any order or forgotten; return how many arms were shown."""
    people, luck = People(policy.arms, rounds, seed, kinds), np.random.default_rng([seed, 8])
    draw, sizes, pending = np.random.default_rng(seed).random, defaultdict(int), []
    for t in range(1, rounds + 1):
        if policy.can_change and luck.random() < 0.02:
            set_present(policy, twin, luck)
        duel = policy.ask()
        shown = twin.ask(t, draw)
        assert list(duel.shown) == shown, f"round {t}"
        assert policy.best() == twin.best(), f"round {t}"
        sizes[len(shown)] += 1
        pending.append(duel)
        while len(pending) > late or (pending and luck.random() < 0.6):
            duel = pending.pop(int(luck.integers(len(pending))))
            order = people.order(t, duel.shown)
            if luck.random() < 0.05:
                policy.forget(duel)
            else:
                answer(policy, duel, order)
                if order or duel.alone:  # the result of an arm alone is a coin
                    twin.tell(duel.shown, order)
    return sizes


FEEDBACK = {"picks": ["pick"] * 9 + ["tie"], "rankings": ["all"] * 5 + ["two"] * 4 + ["tie"]}


@pytest.mark.kernels
@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("m", [2, 3, 4, 8])
@pytest.mark.parametrize("name", NAMES)
def test_it_plays_like_the_slow_obvious_program(name, m, feedback):
    sizes = defaultdict(int)
    for seed, K in enumerate((2, 5, 10)):
        policy = make_policy(name, K, seed, slate=m)
        played = same_game(policy, TWINS[name](K, m), seed, ROUNDS, FEEDBACK[feedback])
        for size, rounds in played.items():
            sizes[size] += rounds
    most = min(m, 5) if name == "self-sparring" else m  # eight different draws are rare
    assert {1, most} <= {*sizes} <= {*range(1, m + 1)}


@pytest.mark.kernels
@pytest.mark.parametrize("name", NAMES[1:])
def test_widths_are_those_of_the_keys(name):
    keys = {"alpha": 2.0, "beta": 4.0} if name == "multi-dueling" else {"alpha": 2.0}
    policy = make_policy(name, 6, 3, slate=4, **keys)
    same_game(policy, TWINS[name](6, 4, **keys), 3, ROUNDS // 2, FEEDBACK["rankings"])
    other = make_policy(name, 6, 3, slate=4)
    with pytest.raises(AssertionError, match="round"):
        same_game(other, TWINS[name](6, 4, **keys), 3, ROUNDS // 2, FEEDBACK["rankings"])


@pytest.mark.kernels
@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_it_plays_like_the_slow_program_where_each_arm_is_beaten(name, m):
    """Without candidates by the narrow bounds, and at first by the wide ones."""
    for seed in range(4):
        policy, twin = make_policy(name, 5, seed, slate=m), TWINS[name](5, m)
        for i, j in product(range(5), repeat=2):
            if i != j:
                twin.wins[i, j] = policy.state.wins[i, j] = 30 if (j - i) % 5 < 3 else 10
        sizes = same_game(policy, twin, seed, 200, FEEDBACK["picks"])
        assert sizes[m] > 0


@pytest.mark.parametrize("name", NAMES)
def test_without_the_key_it_has_the_kernels_and_notes_of_duels(name):
    plain, two = make_policy(name, 4, 1), make_policy(f"{name}:slate=2", 4, 1)
    for policy in (plain, two):
        assert policy.kernels is POLICIES[name].factory.kernels
        assert (policy.slate, policy.notes, policy.parameters["slate"]) == (2, (), 2)
    assert make_policy(name, 4, 1, slate=5).ask().notes[3:] == ()
    for wrong in (1, 9, 2.5):
        with pytest.raises(DriftduelError, match="slate="):
            make_policy(name, 4, 1, slate=wrong)


@pytest.mark.parametrize("spec", ["oracle-{}:at=90", "slate-{}:slate=5"])
@pytest.mark.parametrize("name", NAMES)
def test_wrappers_play_its_duels(name, spec):
    policy = make_policy(spec.format(name), 4, 1)
    assert policy.base.slate == 2
    assert policy.base.kernels is POLICIES[name].factory.kernels
    with pytest.raises(DriftduelError, match="has no key 'slate'"):
        make_policy(f"oracle-{name}:at=90,slate=3", 4, 1)
    with pytest.raises(DriftduelError, match="passes no slates on; leave out slate="):
        Periodic(4, policy.rng, POLICIES[name].factory(4, policy.rng, slate=3))


# ---- what is known about a slate of given counts ----


@pytest.mark.kernels
def test_each_arm_of_a_sparring_slate_is_drawn_from_the_posterior():
    policy = make_policy("self-sparring", 3, 5, slate=3)
    policy.state.wins[:] = [[0, 4, 2], [3, 0, 1], [2, 3, 0]]
    n = 4000 if jit_enabled() else 1000
    firsts = np.bincount([policy.ask().first for _ in range(n)], minlength=3) / n
    a, b = 1 + policy.state.wins.sum(axis=1), 1 + policy.state.wins.sum(axis=0)
    samples = np.random.default_rng(0).beta(a, b, (100_000, 3))
    share = np.bincount(samples.argmax(axis=1), minlength=3) / len(samples)
    assert (abs(firsts - share) < 5 * np.sqrt(share * (1 - share) / n)).all()
    alone = np.mean([policy.ask().alone for _ in range(n)])
    assert abs(alone - (share**3).sum()) < 0.05  # three independent draws


def test_a_sole_champion_is_shown_alone_and_several_by_the_wide_bounds():
    policy = make_policy("multi-dueling", 4, 1, slate=4)
    lost = np.array([[0, 60, 60, 60], [40, 0, 50, 50], [40, 50, 0, 50], [20, 50, 50, 0]], float)
    policy.state.wins[:] = lost
    # The bounds of 1 and 2 against 0 are 0.4 + sqrt(0.51 log t / 100); 3 has 0.25 of 80 duels.
    assert [policy.choose(t)[:2] for t in (2, 7)] == [(0, 0), (0, 0)]
    narrow = math.exp(0.01 * 100 / 0.51)  # from here on 1 and 2 may beat 0
    first, second, notes = policy.choose(math.ceil(narrow))
    assert (first, second, notes) == (0, 1, (2, -1))
    first, second, notes = policy.choose(10**6)
    assert (first, second, notes) == (0, 1, (2, 3))


def test_a_candidate_meets_the_arms_with_the_largest_least_bound():
    policy = make_policy("maxmin-ucb", 4, 1, slate=3)
    policy.state.wins[:] = 50
    policy.state.wins[3, :], policy.state.wins[2, 0], policy.state.wins[2, 1] = 48, 55, 40
    policy.state.best[0] = 0
    # 2 has the largest bound against 0; then 1 has 1/2 and more against both, 3 has 48 of 98.
    assert policy.choose(10**4) == (0, 2, (1.0,))


@pytest.mark.parametrize(
    ("order", "wins"),
    [
        ([2], {(2, 0), (2, 1), (2, 3)}),
        ([0], {(0, 1), (0, 2), (0, 3)}),
        ([3, 1], {(3, 0), (3, 1), (3, 2), (1, 0), (1, 2)}),
        ([1, 0, 3, 2], {(1, 0), (1, 3), (1, 2), (0, 3), (0, 2), (3, 2)}),
        ([], set()),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_every_decided_duel_counts_once(name, order, wins):
    policy = make_policy(name, 5, 1, slate=8)
    duel = next(duel for duel in iter(policy.ask, None) if len(duel.shown) >= 3 + bool(order))
    before = policy.state.wins.copy()
    shown = duel.shown[:4]
    answer(policy, duel, [shown[place] for place in order])
    learned = {(int(i), int(j)) for i, j in np.argwhere(policy.state.wins - before)}
    others = set(duel.shown[4:])  # below all that are ranked
    expected = {(shown[i], shown[j]) for i, j in wins}
    assert learned == expected | {(shown[place], arm) for place in order for arm in others}
    assert (policy.state.wins - before).max(initial=0) <= 1


# ---- modes, saving, folding ----


@pytest.mark.kernels
@pytest.mark.parametrize("name", NAMES)
def test_in_panels_an_arm_alone_meets_a_second_one(name):
    policy, people = make_policy(name, 5, 1, slate=4, mode="panel"), People(5, 400, 2, ["all"])
    stood_in = 0
    for t in range(1, 401):
        duel = policy.ask()
        assert len(duel.shown) > 1
        before = policy.state.wins.copy()
        if t % 7:
            answer(policy, duel, order := people.order(t, duel.shown))
        else:
            policy.tell(duel, order := None)
        if not duel.notes[0]:
            continue
        stood_in += 1
        assert duel.others == ()
        learned = np.argwhere(policy.state.wins - before).tolist()
        if name == "self-sparring":  # a coin for the self-duel
            assert learned == [[duel.first, duel.first]]
        else:
            assert learned == ([order] if order else [])
    assert stood_in > 50


def live(policy, rounds, seed):
    """Call everything in random order; return the log."""
    life, luck = Recorder(policy), np.random.default_rng([seed, 3])
    people, pending = People(policy.arms, rounds, seed, ["pick", "two", "all", "tie"]), []
    for t in range(1, rounds + 1):
        if luck.random() < 0.03:
            life.add_past_vote(0, 1, (0, 1, None)[int(luck.integers(3))])
        away = sorted(set(range(policy.arms)) - {*policy.present})
        if policy.can_change and luck.random() < 0.04:
            if away:
                life.admit(away[0])
            elif len(policy.present) > 1:
                life.retire(int(luck.integers(policy.arms)))
        pending.append(life.ask())
        while len(pending) > 12 or (pending and luck.random() < 0.5):
            duel = pending.pop(int(luck.integers(len(pending))))
            what = luck.random()
            if what < 0.1:
                life.forget(duel)
            elif what < 0.2:
                life.tell_first_won(duel, int(luck.integers(max(2, len(duel.shown)))))
            else:
                answer(life, duel, people.order(t, duel.shown))
    return life.log


@pytest.mark.kernels
@pytest.mark.parametrize("m", [3, 8])
@pytest.mark.parametrize("name", NAMES)
def test_folding_and_loading_equal_living(name, m):
    orders, ties, modes = ("asked", "arrival"), ("skip", "coin"), ("serve", "panel")
    for seed, (order, tie, mode) in enumerate(product(orders, ties, modes)):
        how = {"order": order, "ties": tie, "mode": mode}
        policy = make_policy(name, 6, seed, slate=m, **how)
        log = live(policy, 100, seed)
        slates = [
            event for event in log if event.kind == "asked" and max(event.notes[-m + 2 :]) >= 0
        ]
        assert len(slates) > 5
        middle = policy_from_bytes(policy_to_bytes(policy))
        assert_same(middle, policy)
        rest = live(policy, 100, seed + 50)
        whole = EventLog.from_lines(EventLog([*log, *rest]).to_lines())
        folded = fold(make_policy(name, 6, seed, slate=m, **how), whole)
        assert_same(folded, policy)
        assert_same(fold(middle, rest), policy)
        assert live(folded, 20, 9) == live(policy, 20, 9)
    kinds = {event.kind for event in whole}
    assert {"asked", "told", "ranked", "tied", "forgotten", "decided", "heard"} <= kinds


@pytest.mark.long
@pytest.mark.parametrize("keys", ["delay=7,ties=0.2", "feedback=ranking"])
@pytest.mark.parametrize("name", NAMES)
def test_the_compiled_loop_plays_the_slates_of_ask_and_tell(name, keys):
    world = f"utilities:arms=6,rounds=2000,phases=2,slate=4,{keys}"
    for mode in ("serve", "panel"):
        game = play(f"{name}:slate=4", world, seed=3, mode=mode)
        rows = trace(f"{name}:slate=4", world, seed=3, mode=mode)
        assert any(rows.others)
        for field, array in rows.policy.get_state().items():
            np.testing.assert_array_equal(array, game.policy.get_state()[field], field)


@pytest.mark.parametrize("name", NAMES)
def test_resetting_starts_anew(name):
    policy = make_policy(name, 4, 2, slate=4)
    same_game(policy, TWINS[name](4, 4), 2, 200, FEEDBACK["picks"], late=0)
    for arm in sorted({*range(4)} - {*policy.present}):
        policy.admit(arm)
    policy.kernels.reset(policy.state)
    twin, draw = TWINS[name](4, 4), np.random.default_rng(0)
    draw.bit_generator.state = policy.rng.bit_generator.state
    for t in range(1, 100):
        first, second, notes = policy.choose(t)
        shown = list(dict.fromkeys([first, second, *policy.others_of(notes)]))
        assert shown == twin.ask(t, draw.random)
        policy.learn(t, first, second, 1, notes)
        twin.tell(shown, shown[:1])


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_new_arm_comes_onto_slates(name):
    policy = make_policy(name, 4, 2, slate=3)
    people = People(5, 400, 1, ["pick"])
    for t in range(200):
        duel = policy.ask()
        answer(policy, duel, people.order(t, duel.shown))
    counted = policy.state.wins.sum()
    assert policy.admit() == 4
    assert policy.state.wins.sum() == counted
    seen = set()
    for t in range(200):
        duel = policy.ask()
        seen |= {*duel.shown}
        answer(policy, duel, people.order(t, duel.shown))
    assert 4 in seen


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_key("pending", [[0, 1, 20, [2.0, 4.0], [2, 4]]]), "it has a duel of arms 0 and 1"),
        (set_key("pending", [[0, 1, 20, [2.0, -1.0], []]]), "a duel of arms 0 and 1"),
        (set_key("pending", [[0, 1, 20, [1.0, -1.0], [1]]]), "a duel of arms 0 and 1"),
        (set_key("pending", [[0, 0, 20, [1.0, -1.0], [1]]]), "a duel of arms 0 and 0"),
        (set_key("pending", [[0, 1, 20, [2.0], [2]]]), "has 2 notes, not 1"),
        (set_key("held", [[[0, 1, 20, [2.0, -1.0], [2]], 3]]), "its answer is 3; the duel has 3"),
        (set_key("held", [[[0, 1, 20, [-1.0, -1.0], []], 528]]), "its answer is 528; the duel has"),
        (set_key("parameters", {"slate": 9}), "slate=9"),
        (set_key("parameters", {"slate": 3}), "is a damaged saved policy"),
        (set_cell("wins", (0, 1), -1.0), "has -1.0; it must be between 0"),
    ],
)
def test_damaged_states_are_refused(tmp_path, name, change, said):
    policy = make_policy(name, 4, 1, slate=4, order="asked")
    for _ in range(19):
        policy.forget(policy.ask())
    policy.ask()
    path = tmp_path / "p.npz"
    save_policy(policy, path)
    assert_same(load_policy(path), policy)
    rewrite(path, change)
    with pytest.raises(DriftduelError) as error:
        load_policy(path)
    assert said in str(error.value)


@pytest.mark.parametrize("name", ["multi-dueling", "maxmin-ucb"])
@pytest.mark.parametrize("field", ["alpha", "most"])
def test_damaged_constants_are_refused(tmp_path, name, field):
    path = tmp_path / "p.npz"
    save_policy(make_policy(name, 4, 1, slate=4), path)
    rewrite(path, set_cell(f"numbers.{field}", 0, 8))
    with pytest.raises(DriftduelError, match=f"has 8.*{field}"):
        load_policy(path)
