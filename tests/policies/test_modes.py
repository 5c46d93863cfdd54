"""Panel mode: two different arms in every round, by stand-ins over the same record."""

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.games.prior_knowledge import knowledge
from driftduel.policies import (
    POLICIES,
    KernelPolicy,
    Kernels,
    Policy,
    hot,
    load_policy,
    make_policy,
    save_policy,
)
from driftduel.policies.fields import COUNT, FLAG
from driftduel.policies.modes import COIN, COUNTED, SAME, PanelAdapter
from driftduel.policies.wrapper import in_panel_by
from driftduel.worlds import make_world

compiled = pytest.mark.skipif(not jit_enabled(), reason="hours without the compiler")
WORLD = make_world("random-condorcet:arms=4,rounds=600,phases=2,p_min=0.6", seed=5)
OF_EACH_KIND = {"dts", "rex3", "sw-rucb", "uniform"}
# Compositions whose kernels are compiled in CI: everything that goes around two policies, of which
# one takes no other duels than its own if there is such a one. `make test-slow` has the others.
AROUND_TWO = ("-dts", "-btw", "discounted-rucb", "glr-rucb", "-rex3", "-btm")
ALL = {
    entry.name: make_policy(entry.name, 4, 1, **knowledge(entry.name, WORLD)) for entry in POLICIES
}
GENERIC = [
    name
    for name, policy in ALL.items()
    if isinstance(policy, KernelPolicy) and policy.kernels.panel is None
]


def fresh(name, seed=1, **settings):
    return make_policy(name, 4, seed, **settings, **knowledge(name, WORLD))


def how_long(name):
    """Say when it is run: a composition takes seconds to compile, and is quick without compiler."""
    if name in OF_EACH_KIND:
        return ()
    rare = hasattr(POLICIES[name].factory, "wrapper") and not name.endswith(AROUND_TWO)
    return pytest.mark.slow if rare and jit_enabled() else pytest.mark.long


@pytest.mark.kernels
@pytest.mark.parametrize("name", [pytest.param(name, marks=how_long(name)) for name in GENERIC])
def test_stand_ins_in_kernels_are_those_in_plain_python(name):
    """Late answers, ties and forgotten duels included; every number comes from the same stream."""
    panel, serve = fresh(name, mode="panel"), fresh(name)
    twin, rng = PanelAdapter(serve), np.random.default_rng(3)
    waiting, stood_in = [], 0
    for t in range(1, 401):
        first, second, notes = panel.choose(t)
        expected = twin.choose(t)
        assert (first, second, notes[0]) == (*expected[:2], expected[2][0]), t
        assert first != second
        stood_in += notes[0] > 0
        waiting.append((t, first, second, notes))
        while len(waiting) > (0 if t == 400 else 3 if not panel.in_order else 0):
            place = 0 if panel.in_order else int(rng.integers(len(waiting)))
            u, a, b, notes = waiting.pop(place)
            won = int(rng.random() < 0.5 + 0.3 * (a < b)) if rng.random() < 0.9 else -1
            assert panel.learn(u, a, b, won, notes) == twin.learn(u, a, b, won, notes), t
    for field, array in panel.get_state().items():
        np.testing.assert_array_equal(array, serve.get_state()[field], field)
    assert stood_in == 0 or panel.in_panel != SAME


def test_every_policy_describes_its_panel_guarantee():
    for entry in POLICIES:
        policy = ALL[entry.name]
        assert policy.in_panel == in_panel_by(entry), entry.name
        assert len(policy.in_panel) > 40, entry.name
        if policy.in_panel == COUNTED:
            assert policy.any_duel, entry.name
        if policy.in_panel == COIN:
            assert not policy.any_duel, entry.name


class Alone(Policy):
    """Plays arm 2 with itself, and writes down what it is told."""

    name = "alone"

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.heard = []

    def choose(self, t):
        return 2, (2 if t % 3 else 1), (float(t),)

    def learn(self, t, first, second, won, notes):
        self.heard.append((t, first, second, won, notes))
        return 0

    def get_state(self):
        return {"heard": np.array([h[:4] for h in self.heard], dtype=np.int64).reshape(-1, 4)}

    def set_state(self, state):
        self.heard = [(*map(int, row), (float(row[0]),)) for row in state["heard"]]


def test_plain_python_policy_learns_the_coin_of_a_stand_in():
    policy = Alone(4, np.random.default_rng(0))
    policy.configure(mode="panel")
    others = []
    for _ in range(3000):
        duel = policy.ask()
        assert duel.first == 2
        assert not duel.alone
        if duel.round % 3:
            others.append(duel.second)
            policy.tell(duel, 2)  # the vote is always for arm 2
        else:
            assert duel.second == 1
            policy.tell(duel, 1)
    coins = [won for t, first, second, won, _ in policy.heard if t % 3 and first == second == 2]
    assert len(coins) == 2000
    assert 900 < sum(coins) < 1100
    assert all(h == (h[0], 2, 1, 0, (float(h[0]),)) for h in policy.heard if h[0] % 3 == 0)
    assert np.bincount(others, minlength=4).tolist()[2] == 0
    assert min(np.bincount(others)[[0, 1, 3]]) > 580


@pytest.mark.parametrize("settled", ["forget", "tie"])
def test_unanswered_stand_in_is_decided_by_the_coin(settled):
    policy = Alone(4, np.random.default_rng(0))
    policy.configure(mode="panel")
    for t in range(1, 7):
        duel = policy.ask()
        policy.forget(duel) if settled == "forget" else policy.tell(duel, None)
        assert len(policy.heard) == t - t // 3  # of its own duels it wants no such news


def test_plain_python_with_any_duel_learns_the_vote():
    policy = Alone(4, np.random.default_rng(0))
    policy.any_duel = True
    policy.configure(mode="panel")
    duel = policy.ask()
    policy.tell(duel, duel.second)
    assert policy.heard == [(1, 2, duel.second, 0, (1.0,))]


def test_plain_python_is_saved_in_the_middle_of_a_panel(tmp_path, registered):
    registered("alone")(Alone)
    policy = make_policy("alone", 4, 3, mode="panel")
    for _ in range(5):
        policy.tell(policy.ask(), 2 if policy.ledger.asked % 3 else 1)
    waiting = policy.ask(), policy.ask()
    save_policy(policy, tmp_path / "p.npz")
    again = load_policy(tmp_path / "p.npz")
    assert again.mode == "panel"
    for each in (policy, again):
        for duel in waiting:
            each.tell(duel, duel.first)
    for _ in range(50):
        duel = policy.ask()
        assert again.ask() == duel
        for each in (policy, again):
            each.tell(duel, duel.second)
    assert again.heard == policy.heard


def test_a_mode_is_set_before_the_first_duel_and_can_be_taken_back():
    for policy in (make_policy("rucb", 4, 1), Alone(4, np.random.default_rng(1))):
        assert policy.mode == "serve"
        with pytest.raises(DriftduelError, match="mode='pannel' must be serve or panel"):
            policy.configure(mode="pannel")
        with pytest.raises(AttributeError):
            policy.mode = "panel"
        policy.configure(mode="panel")
        policy.configure(mode="panel")
        policy.configure(mode="serve", ties="coin")
        assert policy.mode == "serve"
        assert policy.unanswered is False
        duels = [policy.ask() for _ in range(200)]
        assert any(duel.alone for duel in duels) == isinstance(policy, Alone)
        assert len(duels[0].notes) == isinstance(policy, Alone)
        with pytest.raises(DriftduelError, match="mode are set before the first duel; 200"):
            policy.configure(mode="panel")


def test_after_a_change_of_mind_it_is_played_as_if_nothing_had_been():
    a, b = make_policy("dts", 4, 1), make_policy("dts", 4, 1, mode="panel")
    b.configure(mode="serve")
    for _ in range(300):
        duel = a.ask()
        assert b.ask() == duel
        for each in (a, b):
            each.tell_first_won(duel, int(duel.first < duel.second))


class Here(NamedTuple):
    """Who is present, and what was told."""

    present: Annotated[Any, FLAG]
    told: Annotated[Any, COUNT]


@hot
def _ask(state, rng, t, notes):
    arm = 0
    while state.present[arm] == 0:
        arm += 1
    return arm, arm


@hot
def _tell(state, t, first, second, won, notes):
    state.told[first, second] += 1
    return 0


@hot
def _change(state, rng, t, arm, here):
    state.present[arm] = here


@hot
def _present(state, arm):
    return state.present[arm]


class FirstPresent(KernelPolicy):
    """Plays the first arm that is present, alone."""

    name = "first-present"
    kernels = Kernels(_ask, _tell, any_duel=True, change=_change, present=_present)

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.state = Here(np.ones(arms, np.int64), np.zeros((arms, arms)))


@pytest.mark.kernels
def test_stand_ins_are_present_and_one_arm_is_shown_alone():
    policy = FirstPresent(5, np.random.default_rng(2))
    policy.configure(mode="panel")
    twin = PanelAdapter(FirstPresent(5, np.random.default_rng(2)))
    rng = np.random.default_rng(4)
    alone = 0
    for t in range(1, 2001):
        arm = int(rng.integers(5))
        if arm not in policy.present:
            policy.admit(arm)
            twin._policy.admit(arm)
        elif len(policy.present) > 1:
            policy.retire(arm)
            twin._policy.retire(arm)
        duel = policy.ask()
        assert (duel.first, duel.second, duel.notes) == twin.choose(t)
        assert duel.first in policy.present
        assert duel.second in policy.present
        assert duel.alone == (len(policy.present) == 1)
        alone += duel.alone
        policy.tell(duel, duel.second)
        twin.learn(t, duel.first, duel.second, 0, duel.notes)
    assert alone > 100
    np.testing.assert_array_equal(policy.state.told, twin._policy.state.told)
    assert policy.state.told.trace() > 0


class Coin(FirstPresent):
    """The same, but a duel that it did not ask for means nothing to it."""

    kernels = FirstPresent.kernels._replace(any_duel=False)


class Curious(FirstPresent):
    """The same, and it wants to hear of duels that nobody won."""

    kernels = FirstPresent.kernels._replace(unanswered=True)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("kind", "told"), [(FirstPresent, None), (Coin, (0, 0)), (Curious, (0, 0))]
)
def test_stand_in_without_answer(kind, told):
    """Its duel with itself was decided by a coin, or nobody will ever know."""
    for settle in (Policy.forget, lambda policy, duel: policy.tell(duel, None)):
        policy = kind(4, np.random.default_rng(2))
        policy.configure(mode="panel")
        twin = PanelAdapter(kind(4, np.random.default_rng(2)))
        duel = policy.ask()
        assert not duel.alone
        settle(policy, duel)
        heard = [tuple(map(int, place)) for place in np.argwhere(policy.state.told)]
        assert heard == ([] if told is None else [told])
        twin.choose(1)
        twin.learn(1, duel.first, duel.second, -1, duel.notes)
        np.testing.assert_array_equal(policy.state.told, twin._policy.state.told)


@pytest.mark.long
@compiled
@pytest.mark.parametrize("name", ["dts", "rex3", "king"])
def test_play_takes_a_mode_or_a_policy_that_has_one(name):
    by_spec = play(name, WORLD, seed=2, mode="panel")
    assert by_spec.policy.mode == "panel"
    serve = play(name, WORLD, seed=2)
    assert serve.policy.mode == "serve"
    assert serve.total != by_spec.total
    policy = fresh(name, np.random.SeedSequence(2).spawn(3)[2], mode="panel")
    assert play(policy, WORLD, seed=2).total == by_spec.total
    assert play(fresh(name, np.random.SeedSequence(2).spawn(3)[2]), WORLD, seed=2).total == (
        serve.total
    )
