"""Checks that every policy must pass, for use on user-defined policies.

>>> from driftduel.testing import check_policy
>>> check_policy("uniform", skip=("finds the winner of an easy world",))

Each check is a function of a spec; `CHECKS` names them all, for use with pytest's parametrize. The
policy must be registered (``@POLICIES.register("my-policy")``), because the checks build several
instances. A failed check raises AssertionError with a message.
"""

import random
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from driftduel._internal.kernel_random import address_of
from driftduel._internal.wording import number
from driftduel.errors import DriftduelError
from driftduel.games import knowledge, play, trace
from driftduel.policies import (
    MODES,
    POLICIES,
    TIES,
    EventLog,
    KernelPolicy,
    Policy,
    Recorder,
    Wrapper,
    fold,
    load_policy,
    make_policy,
    policy_from_bytes,
    policy_to_bytes,
    prior_knowledge_of,
    rules_of,
    save_policy,
)
from driftduel.regret import BENCHMARKS
from driftduel.requests import RequestShape
from driftduel.specs import Spec
from driftduel.worlds import WithAbsences, WithTies, World, make_world

__all__ = ["CHECKS", "assert_same", "check_policy", "check_twins", "live_at_random"]

_ROUNDS = 400


def _world(arms: int = 4, rounds: int = _ROUNDS) -> World:
    return make_world(f"random-condorcet:arms={arms},rounds={rounds},phases=2,p_min=0.6", seed=5)


def _fresh(spec: str, world: World, seed: int = 1, **settings: Any) -> Policy:
    return make_policy(spec, world.arms, seed, **settings, **knowledge(spec, world))


def _go_on(policy: Policy, rounds: int, draws: np.random.Generator) -> list[tuple[int, int]]:
    duels = []
    for _ in range(rounds):
        duel = policy.ask()
        duels.append((duel.first, duel.second))
        policy.tell_first_won(duel, int(draws.random() < 0.5 + 0.1 * (duel.first < duel.second)))
    return duels


def one_duel_a_round(spec: str) -> None:
    """Check that each call of `ask` returns a duel of the next round with arms in range."""
    for arms in (2, 3, 7):
        policy = _fresh(spec, _world(arms))
        draws = np.random.default_rng(0)
        for t in range(1, _ROUNDS + 1):
            duel = policy.ask()
            assert duel.round == t, f"round {t} was counted as {duel.round}"
            for arm in (duel.first, duel.second):
                assert isinstance(arm, int), f"arm {arm!r} is not an int"
                assert 0 <= arm < arms, f"round {t}: arm {arm} of {arms}"
            policy.tell_first_won(duel, int(draws.random() < 0.5))


def a_seed_fixes_the_run(spec: str) -> None:
    """Check that equal seeds give equal duels, and other seeds give other duels."""
    world = _world()

    def run(seed: int) -> list[tuple[int, int]]:
        return _go_on(_fresh(spec, world, seed), _ROUNDS, np.random.default_rng(2))

    one = run(1)
    assert run(1) == one, "the same seed gave different duels"
    if _fresh(spec, world).draws:
        # Some policies draw few numbers, such as an order of the arms, so that two seeds may agree;
        # nine equal results would be an error.
        assert any(run(seed) != one for seed in range(2, 10)), "all seeds gave the same duels"


def asking_equals_the_loop(spec: str) -> None:
    """Check that `ask` and `tell` give the same duels as the compiled loop."""
    for arms in (2, 5):
        _compare_with_the_loop(spec, _world(arms), "serve")


def _compare_with_the_loop(spec: str, world: World, mode: str) -> None:
    game = play(spec, world, seed=3, mode=mode)
    rows = trace(spec, world, seed=3, mode=mode)
    assert game.restarts == rows.policy.restarts, "the restarts differ"
    if isinstance(game.policy, KernelPolicy):
        for name, array in rows.policy.get_state().items():
            same = np.array_equal(array, game.policy.get_state()[name], equal_nan=True)
            assert same, f"{name} differs between the loop and ask and tell"


def saving_changes_nothing(spec: str) -> None:
    """Check that a policy saved with a pending duel and loaded continues to the bit."""
    for mode in MODES:
        policy = _fresh(spec, _world(), mode=mode)
        _go_on(policy, _ROUNDS // 2, np.random.default_rng(2))
        duel = policy.ask()
        with tempfile.TemporaryDirectory() as folder:
            save_policy(policy, Path(folder) / "p.npz")
            again = load_policy(Path(folder) / "p.npz")
        for what in (type, lambda copy: copy.mode, lambda copy: copy.parameters):
            before, after = what(policy), what(again)
            assert before == after, f"saved as {before}, it was loaded as {after}"
        for copy in (policy, again):
            copy.tell_first_won(duel, 1)
        rest = [_go_on(copy, _ROUNDS // 2, np.random.default_rng(4)) for copy in (policy, again)]
        assert rest[0] == rest[1], f"the loaded policy played other duels ({mode} mode)"
        assert policy.restarts == again.restarts, "the loaded policy restarted elsewhere"


def it_knows_its_parameters(spec: str) -> None:
    """Check that `parameters` holds the values of all keys: loading passes them on."""
    world = _world()
    asked = Spec.parse(spec)
    known = {
        key: value
        for key, value in knowledge(spec, world).items()
        if key in {parameter.name for parameter in POLICIES[asked.name].parameters}
    }
    expected = dict(POLICIES.resolve(Spec(asked.name, {**known, **asked.values})).values)
    kept = _fresh(spec, world).parameters
    assert kept == expected, f"it keeps the parameters {kept}; it was given {expected}"


def no_global_randomness(spec: str) -> None:
    """Check that the global generators of numpy and Python are unchanged."""
    before = np.random.get_state()[1].copy(), random.getstate()  # type: ignore[index] # noqa: NPY002
    _go_on(_fresh(spec, _world()), 100, np.random.default_rng(2))
    after = np.random.get_state()[1], random.getstate()  # type: ignore[index] # noqa: NPY002
    assert np.array_equal(before[0], after[0]), "numpy's global generator was used"
    assert before[1] == after[1], "Python's global generator was used"


def memory_is_bounded(spec: str) -> None:
    """Check that memory does not grow with the rounds, unless `bounded_memory` is False."""
    world = _world(3, 20_000)
    policy = _fresh(spec, world)
    if not isinstance(policy, KernelPolicy) or not policy.bounded_memory:
        return
    sizes = []
    for rounds in (5_000, 20_000):
        short = _world(3, rounds)
        game = play(_fresh(spec, world), short, seed=1)
        sizes.append(sum(array.nbytes for array in game.policy.get_state().values()))
    assert sizes[1] <= 1.5 * sizes[0], f"{sizes[0]} bytes became {sizes[1]}"


def two_arms_work_and_one_is_an_error(spec: str) -> None:
    """Check that two arms are supported and one arm raises DriftduelError."""
    assert play(spec, _world(2), seed=1).finished
    said = ""
    try:
        make_policy(spec, 1, **knowledge(spec, _world(2)))
    except DriftduelError as error:
        said = str(error)
    assert "arms=1" in said, f"one arm must be an error that names the value, not {said!r}"


def late_answers_do_not_break_it(spec: str) -> None:
    """Check that late, reordered and lost answers cause no error."""
    world = _world()
    policy = _fresh(spec, world)
    order = np.random.default_rng(6)
    pending = []
    for t in range(1, _ROUNDS + 1):
        pending.append(policy.ask())
        while len(pending) > 20 or (pending and order.random() < 0.5):
            duel = pending.pop(int(order.integers(len(pending))))
            assert 0 <= duel.first < world.arms
            assert 0 <= duel.second < world.arms
            if order.random() < 0.05:
                policy.forget(duel)
            else:
                policy.tell_first_won(duel, int(order.random() < 0.6))
        assert policy.info().rounds == t
    for duel in pending:
        policy.tell_first_won(duel, 1)
    assert policy.ledger.open == {}, "an answered duel is still pending"
    assert policy.ledger.held == {}, "an answer was never learned"


def live_at_random(policy: Policy, rounds: int, seed: int) -> EventLog:
    """Call a policy's methods in random order and return the log, for tests of replay.

    Answers arrive late, in any order, as ties or never; arms come and go and past votes are added
    if the policy supports this. Raises AssertionError for an invalid duel.
    """
    life, draws = Recorder(policy), np.random.default_rng(seed)
    can = {"add_past_vote", "retire", "admit", "widen"}
    features = policy.request_shape.features > 0
    others = np.random.default_rng([seed, 1])  # requests and prices

    def attempt(what: str, *arguments: Any) -> None:
        try:
            getattr(life, what.replace("widen", "admit"))(*arguments)
        except DriftduelError:
            can.discard(what)

    pending = []
    for _ in range(rounds):
        request = _request(policy, others) if features else None
        if features and others.random() < 0.05:
            life.set_prices(others.normal(size=policy.arms))
        what = draws.random()
        if what < 0.03 and "add_past_vote" in can:
            first, second = map(int, draws.choice(policy.arms, 2, replace=False))
            winner = (first, second, None)[int(draws.integers(3))]
            attempt("add_past_vote", first, second, winner, 0.5, request)
        elif what < 0.06 and "retire" in can and len(policy.present) > 1:
            attempt("retire", int(draws.choice(policy.present)))
        elif what < 0.09 and "admit" in can and len(policy.present) < policy.arms:
            absent = set(range(policy.arms)) - set(policy.present)
            attempt("admit", int(draws.choice(sorted(absent))))
        elif what < 0.1 and "widen" in can:
            attempt("widen")
        pending.append(life.ask(request))
        while len(pending) > 20 or (pending and draws.random() < 0.5):
            duel = pending.pop(int(draws.integers(len(pending))))
            answer = draws.random()
            if answer < 0.05:
                life.forget(duel)
            elif answer < 0.15:
                life.tell(duel, None)
            elif answer < 0.3:
                life.tell_first_won(duel, int(draws.random() < 0.5))
            else:
                life.tell(duel, min(duel[:2]) if draws.random() < 0.6 else max(duel[:2]))
    log: EventLog = life.log
    return log


def _request(policy: Policy, rng: np.random.Generator) -> list[float]:
    """Draw a request of the shape that a policy takes."""
    features, one_hot = policy.request_shape
    request = np.eye(features)[rng.integers(features)] if one_hot else rng.normal(size=features)
    numbers: list[float] = request.tolist()
    return numbers


def _has_state(policy: Policy) -> bool:
    return type(policy).get_state is not Policy.get_state


def assert_same(one: Policy, other: Policy) -> None:
    """Raise AssertionError with the first difference of two policies; compares to the bit."""
    for what in ("order", "ties", "asked", "due", "open", "held", "restarts"):
        mine, theirs = getattr(one.ledger, what), getattr(other.ledger, what)
        assert mine == theirs, f"{what} of the ledger: {str(mine)[:99]} and {str(theirs)[:99]}"
    assert one.arms == other.arms, f"{one.arms} arms and {other.arms}"
    assert one.mode == other.mode, f"the modes {one.mode} and {other.mode}"
    assert one.rng.bit_generator.state == other.rng.bit_generator.state, "the generators differ"
    coins = (policy.ledger.coins.bit_generator.state for policy in (one, other))
    assert next(coins) == next(coins), "the generators of coins differ"
    states = [policy.get_state() if _has_state(policy) else {} for policy in (one, other)]
    assert set(states[0]) == set(states[1]), f"states of {set(states[0])} and {set(states[1])}"
    for name, array in states[0].items():
        kind = array.dtype.kind
        same = np.array_equal(array, states[1][name], equal_nan=kind == "f")
        assert same, f"the state's {name} differs"


def folding_equals_living(spec: str) -> None:
    """Check that `fold` gives the state after the calls, from the beginning and from a snapshot."""
    world = _world()
    orders = ("asked",) if _fresh(spec, world).in_order else ("asked", "arrival")
    for order, ties, mode in product(orders, TIES, MODES):
        settings: dict[str, Any] = {"order": order, "ties": ties, "mode": mode}
        policy = _fresh(spec, world, **settings)
        log = live_at_random(policy, _ROUNDS // 2, 3)
        middle = policy_from_bytes(policy_to_bytes(policy)) if _has_state(policy) else None
        rest = live_at_random(policy, _ROUNDS // 2, 4)
        folded = fold(_fresh(spec, world, **settings), [log, rest])
        assert_same(folded, policy)
        if middle is not None:
            assert_same(fold(middle, rest), policy)
        same = live_at_random(folded, 20, 5) == live_at_random(policy, 20, 5)
        assert same, "the replayed policy plays other duels"


def a_window_forgets(spec: str) -> None:
    """Check that expired answers have no effect in a sliding window, if the policy supports one.

    One instance learns that arms of high index win, then that arms of low index do, until its
    window holds only the latter; another instance learns only the second part. Then the states must
    be equal, and so must the choices from equal random draws. Fields declared `transient` are
    compared by their effect on the choices.
    """
    arms, pairs = 4, [(a, b) for a in range(4) for b in range(a)]
    window = 40 * len(pairs)
    asked = Spec.parse(spec)
    name = asked.name if asked.name.startswith("sw-") else f"sw-{asked.name}"
    world = _world(arms, 4 * window)
    windowed = str(Spec(name, {**asked.values, "window": window}))
    try:
        old, new = (_fresh(windowed, world) for _ in range(2))
    except DriftduelError:
        if name == asked.name:
            raise
        return  # the policy does not support a window
    assert isinstance(old, Wrapper)
    assert isinstance(new, Wrapper)
    for t in range(1, 3 * window + 1):
        high, low = pairs[t % len(pairs)]
        for policy in (old, new) if t > 2 * window else (old,):
            _same_draws(policy, t)
            _, _, notes = policy.choose(t)
            policy.learn(t, high, low, int(t <= 2 * window), notes)
    record: Any = type(old.base.state)
    rules = {**rules_of(record), **old.base.rules}
    passing = {key for key, rule in rules.items() if rule and rule.has_no_memory}
    passing |= {*old.base.transient}
    for key, array in old.get_state().items():
        part, _, field = key.partition(".")
        if part != "base" or field.partition(".")[0] not in passing:
            same = np.array_equal(array, new.get_state()[key], equal_nan=True)
            assert same, f"{name}: {key} still depends on answers that left the window"
    for t in range(3 * window + 1, 4 * window):
        picks = []
        for policy in (old, new):
            _same_draws(policy, t)
            first, second, notes = policy.choose(t)
            picks.append((first, second))
            policy.learn(t, first, second, int(first < second), notes)
        assert picks[0] == picks[1], (
            f"{name}: {t - 3 * window} rounds after the window was refilled it chose arms "
            f"{picks[0]}; without the forgotten answers it chose {picks[1]}"
        )


def _same_draws(policy: Policy, t: int) -> None:
    """Set the generator of a policy to a state that depends on round `t` only."""
    policy.rng.bit_generator.state = np.random.default_rng([17, t]).bit_generator.state


def policies_share_nothing(spec: str) -> None:
    """Check that two instances of a policy share no state."""
    world = _world()
    quiet = _fresh(spec, world)
    expected = _go_on(_fresh(spec, world), 100, np.random.default_rng(2))
    _go_on(_fresh(spec, world), 100, np.random.default_rng(3))
    assert _go_on(quiet, 100, np.random.default_rng(2)) == expected, "another policy interfered"


def resetting_starts_anew(spec: str) -> None:
    """Check that the kernel `reset`, if any, gives the behaviour of a new policy."""
    world = _world()
    policy, fresh = _fresh(spec, world), _fresh(spec, world)
    if not isinstance(policy, KernelPolicy) or policy.kernels.reset is None:
        return
    _go_on(policy, _ROUNDS, np.random.default_rng(2))
    policy.kernels.reset(policy.state)
    duels = []
    for which in (policy, fresh):
        assert isinstance(which, KernelPolicy)
        rng, draws = np.random.default_rng(9), np.random.default_rng(8)
        which.rng, which.rng_address = rng, address_of(rng)
        played = []
        for t in range(1, 201):
            first, second, notes = which.choose(t)
            played.append((first, second))
            which.learn(t, first, second, int(draws.random() < 0.5 + 0.2 * (first < second)), notes)
        duels.append(played)
    assert duels[0] == duels[1], "after a reset it plays other duels than a fresh policy"


def finds_an_easy_winner(spec: str) -> None:
    """Check that the regret on an easy world is far below uniform play after learning."""
    arms = 3
    policy = _fresh(spec, _world(arms))
    rounds, kind = policy.easy_rounds, policy.easy_regret
    against = kind if kind in BENCHMARKS else "condorcet"
    world = make_world(f"total-order:arms={arms},rounds={rounds},phases=1,p=0.9", seed=4)
    late = {}
    for name in (spec, "uniform"):
        game = play(name, world, seed=2, points=400, benchmark=against)
        half = int(np.searchsorted(game.at, rounds // 2))
        late[name] = float(game.regret[kind][-1] - game.regret[kind][half])
    assert late[spec] < 0.6 * late["uniform"], (
        f"it loses {number(late[spec])} where uniform play loses {number(late['uniform'])}"
    )


def ships_an_easy_winner(spec: str) -> None:
    """Check that `best` returns the winner of an easy world, or always None."""
    arms = 3
    # Not at the end of a period, where a restarted policy has an empty state.
    rounds = _fresh(spec, _world(arms)).easy_rounds * 19 // 20
    world = make_world(f"total-order:arms={arms},rounds={rounds},phases=1,p=0.9", seed=4)
    policy = play(spec, world, seed=2, points=2).policy
    before = policy.best()
    assert policy.best() == before, "asked twice, it names two arms"
    winner = world.condorcet_winners()[0][1]
    assert before in (None, winner), f"it would ship arm {before}; the winner is {winner}"


def a_panel_shows_two_arms(spec: str) -> None:
    """Check that panel mode gives two different arms in every round, for all answers and delays."""
    policy, people = _fresh(spec, _world(), mode="panel"), np.random.default_rng(6)
    waiting = []
    for _ in range(_ROUNDS):
        waiting.append(duel := policy.ask())
        assert not duel.alone, f"round {duel.round}: arm {duel.first} is shown alone"
        while len(waiting) > 5:
            duel = waiting.pop(int(people.integers(len(waiting))))
            if people.random() < 0.05:
                policy.forget(duel)
            else:
                policy.tell(duel, (duel.first, duel.second, None)[int(people.integers(3))])


def panels_equal_the_loop(spec: str) -> None:
    """Check that `ask` and `tell` give the duels of the compiled loop in panel mode."""
    _compare_with_the_loop(spec, _world(), "panel")


def info_tells_and_changes_nothing(spec: str) -> None:
    """Check that `info` returns valid values and has no side effects."""
    policy, draws = _fresh(spec, _world()), np.random.default_rng(2)
    for rounds in (0, 1, 60, _ROUNDS):
        _go_on(policy, rounds, draws)
        out = [policy.ask() for _ in range(3)]
        before = _everything(policy)
        info = policy.info()
        assert _everything(policy) == before, "info() modified the policy"
        assert info.rounds == policy.ledger.asked, (
            f"{info.rounds} duels is not the number of its duels"
        )
        assert (info.open, info.held) == (3, 0), f"3 duels are pending, not {info.open}"
        assert info.leader == policy.best(), f"arm {info.leader} leads; best is {policy.best()}"
        assert info.leader is None or info.leader in info.present, "the leader is absent"
        assert info.since is None or 1 <= info.since <= info.rounds, f"crowned in {info.since}"
        shares = [rival.share for rival in info.challengers or ()]
        assert shares == sorted(shares, reverse=True), "the nearest challenger comes first"
        assert all(0 <= share <= 1 for share in shares), f"a share is from 0 to 1: {shares}"
        arms = [rival.arm for rival in info.challengers or ()]
        assert len({*arms, info.leader}) == len(arms) + 1, f"{info.leader} leads, against {arms}"
        assert {*arms} <= {*info.present}, "a challenger is absent"
        expected = {
            key: policy.parameters.get(key) for key in prior_knowledge_of(POLICIES[policy.name])
        }
        told = {key: value for key, value in expected.items() if value is not None}
        assert info.prior_knowledge == told, (
            f"the prior knowledge is {told}, not {info.prior_knowledge}"
        )
        assert f"after {info.rounds:,} duel" in str(info), (
            f"{info} does not state the number of duels"
        )
        for duel in out:
            policy.tell_first_won(duel, 1)


def _everything(policy: Policy) -> tuple[Any, ...]:
    """Return the complete state of a policy as a comparable tuple."""
    kept = policy.get_state() if isinstance(policy, KernelPolicy) else {}
    state = {name: array.tobytes() for name, array in kept.items()}
    streams = policy.rng.bit_generator.state, policy.ledger.coins.bit_generator.state
    ledger = policy.ledger
    return state, streams, dict(ledger.open), dict(ledger.held), ledger.due, list(ledger.restarts)


def ties_equal_the_loop(spec: str) -> None:
    """Check that `ask` and `tell` give the duels of the compiled loop with ties."""
    _compare_with_the_loop(spec, WithTies(_world(), 0.4), "serve")


def absent_arms_are_not_asked_for(spec: str) -> None:
    """Check that absent arms are never chosen, or that the policy declares it unsupported."""
    inside = make_world(f"utilities:arms=5,rounds={_ROUNDS},phases=2", seed=5)
    there = [True, True, True, False, False]
    events = [(1, 3, False), (1, 4, False)]
    rng = np.random.default_rng(7)
    for t in range(15, _ROUNDS, 15):  # one to five are present; sometimes two change in one round
        for arm in {*rng.integers(inside.arms, size=2).tolist()}:
            if sum(there) > 1 or not there[arm]:
                there[arm] = not there[arm]
                events.append((t, arm, there[arm]))
    world = WithTies(WithAbsences(inside, events), 0.2)
    if _fresh(spec, inside).can_change:
        _compare_with_the_loop(spec, world, "serve")  # the game raises if an absent arm is chosen
        shown = trace(spec, world, seed=3, mode="panel")
        for t in range(len(shown)):
            alone = shown.first[t] == shown.second[t]
            assert not alone or len(shown.present[t]) == 1, f"round {t + 1} shows an arm alone"
        return
    said = ""
    try:
        play(spec, world)
    except DriftduelError as error:
        said = str(error)
    assert "anew-" in said, f"the error for absent arms must name the wrapper, not {said!r}"


def _never_without(policy: Policy, rounds: int, draws: np.random.Generator) -> set[int]:
    """Play rounds in which the lower arm mostly wins; return the chosen arms."""
    seen: set[int] = set()
    for _ in range(rounds):
        duel = policy.ask()
        asked = {duel.first, duel.second}
        assert asked <= {*policy.present}, (
            f"round {duel.round}: it chose {duel.first} and {duel.second}; present are "
            f"{policy.present}"
        )
        seen |= asked
        policy.tell_first_won(duel, int(draws.random() < 0.5 + 0.4 * (duel.first < duel.second)))
        best = policy.best()
        assert best is None or best in policy.present, f"best() is {best}, which is absent"
    return seen


def _one_sentence(refused: Callable[[], object]) -> str:
    """Return the message of the expected DriftduelError, or "" if there is none."""
    try:
        refused()
    except DriftduelError as error:
        said = str(error)
        assert said.endswith("."), f"this is not one sentence: {said!r}"
        assert "\n" not in said, f"this is not one line: {said!r}"
        return said
    return ""


def options_come_and_go(spec: str) -> None:
    """Check `retire` and `admit`: absent arms are never chosen, restored ones are.

    A policy with a fixed set of arms is checked as ``anew-NAME``, which restarts it at every
    change.
    """
    # A horizon of a million rounds: with a few hundred MDB would monitor a single pair only.
    policy, draws = _fresh(spec, _world(rounds=10**6)), np.random.default_rng(2)
    if not policy.can_change:
        for refused in (lambda: policy.retire(1), policy.admit):
            said = _one_sentence(refused)
            assert f"'anew-{policy.name}'" in said, f"the error must name the wrapper, not {said!r}"
        assert (policy.arms, policy.present) == (4, (0, 1, 2, 3)), (
            "the failed call modified the policy"
        )
        options_come_and_go(f"anew-{spec}")
        return
    _never_without(policy, 60, draws)
    out = [policy.ask() for _ in range(5)]
    policy.retire(0)
    for duel in out:  # answers about an absent arm
        policy.tell_first_won(duel, 1)
    _never_without(policy, 60, draws)
    for arm in (3, 1):
        policy.retire(arm)
    assert list(policy.present) == [2], f"left alone is {policy.present}, not arm 2"
    assert _never_without(policy, 20, draws) == {2}, "with one arm present, another one was chosen"
    assert "only one present" in _one_sentence(lambda: policy.retire(2)), "the last arm left"
    for arm in (0, 1, 3):
        assert policy.admit(arm) == arm
    assert 0 in _never_without(policy, _ROUNDS, draws), "arm 0 was restored but never chosen"
    duel = policy.ask()
    if not isinstance(policy, KernelPolicy) and type(policy).widen is Policy.widen:
        assert _one_sentence(policy.admit), "a fifth arm must raise DriftduelError"
        return
    assert policy.admit() == 4, "the new arm must have the index 4"
    assert policy.arms == len(policy.present) == 5, f"present are {policy.present}"
    policy.tell_first_won(duel, 1)
    policy.retire(1)
    try:
        again = policy_from_bytes(policy_to_bytes(policy))
    except DriftduelError as error:
        assert "has no get_state" in str(error), f"it cannot be loaded: {error}"  # noqa: PT017
    else:
        rest = [_go_on(one, 50, np.random.default_rng(4)) for one in (policy, again)]
        assert rest[0] == rest[1], "saved after a change, it played other duels"
    assert 4 in _never_without(policy, _ROUNDS, draws), "the new arm was never chosen"


def past_votes_are_heard(spec: str) -> None:
    """Check that past votes determine `best`, or that the policy declares them unsupported."""
    policy = _fresh(spec, _world())
    said = _one_sentence(lambda: policy.add_past_vote(2, 1, 2, weight=10))
    if said:
        assert "can learn only from duels" in said, f"the error for past votes is {said!r}"
        return
    for first in range(policy.arms):
        for second in range(first):
            policy.add_past_vote(first, second, 2 if 2 in (first, second) else None, weight=10)
    assert policy.best() in (None, 2), f"arm 2 wins all past votes, but best() is {policy.best()}"
    assert policy.ledger.asked == 0, "a past vote was counted as a duel"
    for wrong in ((1, 1, 1, 1), (0, 1, 2, 1), (0, 9, 0, 1), (0, 1, 0, 0), (0, 1, 0, float("nan"))):
        assert _one_sentence(partial(policy.add_past_vote, *wrong)), (
            f"add_past_vote{wrong} was accepted"
        )
    _go_on(policy, 100, np.random.default_rng(2))


_SHAPES = (RequestShape(2), RequestShape(3, one_hot=True))


def _with_features(spec: str, shape: RequestShape, **settings: Any) -> Policy | None:
    """Return a new policy that takes requests, or None if this policy cannot."""
    asked = Spec.parse(spec)
    if "features" not in {parameter.name for parameter in POLICIES[asked.name].parameters}:
        return None
    keys = str(Spec(asked.name, {**asked.values, **shape._asdict()}))
    if _one_sentence(lambda: _fresh(keys, _world())):
        return None  # a composition that passes no requests on
    return _fresh(keys, _world(), **settings)


def requests_are_checked(spec: str) -> None:
    """Check that a request is in the notes of its duel, and a broken one changes nothing."""
    for shape in _SHAPES:
        policy = _with_features(spec, shape)
        if policy is None:
            said = _one_sentence(lambda: _fresh(spec, _world()).ask([1.0]))
            assert "takes no request" in said, f"ask([1.0]) of a policy without features: {said!r}"
            return
        rng = np.random.default_rng(3)
        policy.ask(_request(policy, rng))
        before = _everything(policy)
        wrong: tuple[Any, ...] = (
            None, [], [1.0], [1.0] * 9, "abc", [float("nan")] * shape.features,
            ["x"] * shape.features, [10**400] * shape.features, {}, 3.5,
        )  # fmt: skip
        for broken in wrong:
            assert _one_sentence(partial(policy.ask, broken)), f"the request {broken!r} was taken"
        wrong_prices: tuple[Any, ...] = ([0.0], [float("inf")] * policy.arms, "free", None)
        for prices in wrong_prices:
            refused = partial(policy.set_prices, prices)
            assert _one_sentence(refused), f"the prices {prices!r} were taken"
        assert _everything(policy) == before, "a broken request or price changed the policy"
        request = _request(policy, rng)
        duel = policy.ask(request)
        scaled = shape.scale(request)
        assert duel.notes[-shape.size :] == scaled, f"{duel.notes} does not end with the request"


def requests_travel_with_their_duels(spec: str) -> None:
    """Check that replay and loading of a policy with requests are equal to the bit."""
    for shape, (order, mode) in product(_SHAPES, (("arrival", "serve"), ("asked", "panel"))):
        settings: dict[str, Any] = {"order": order, "mode": mode}
        policy = _with_features(spec, shape)
        if policy is None:
            return
        policy.configure(**settings)
        fresh = _with_features(spec, shape)
        assert fresh is not None
        fresh.configure(**settings)
        log = live_at_random(policy, _ROUNDS // 4, 3)
        middle = policy_from_bytes(policy_to_bytes(policy)) if _has_state(policy) else None
        rest = live_at_random(policy, _ROUNDS // 4, 4)
        assert_same(fold(fresh, [log, rest]), policy)
        if middle is not None:
            assert_same(fold(middle, rest), policy)


def requests_equal_the_loop(spec: str) -> None:
    """Check that ask and tell give the same duels as the compiled loop in a world with requests."""
    if _with_features(spec, _SHAPES[0]) is None:
        return
    for keys in ("features=2,prices=0+0.5+1", "features=3,categories=3,ties=0.3,delay=7"):
        world = make_world(f"routing:arms=3,rounds={_ROUNDS},phases=2,{keys}", seed=5)
        _compare_with_the_loop(spec, world, "serve")


CHECKS: dict[str, Callable[[str], None]] = {
    "one duel a round, arms in range": one_duel_a_round,
    "a seed fixes the run": a_seed_fixes_the_run,
    "asking equals the compiled loop": asking_equals_the_loop,
    "it knows its parameters": it_knows_its_parameters,
    "saving and loading change nothing": saving_changes_nothing,
    "no global randomness": no_global_randomness,
    "memory is bounded": memory_is_bounded,
    "two arms work, one is an error": two_arms_work_and_one_is_an_error,
    "late answers do not break it": late_answers_do_not_break_it,
    "folding a log equals living through it": folding_equals_living,
    "policies share nothing": policies_share_nothing,
    "resetting starts anew": resetting_starts_anew,
    "info tells and changes nothing": info_tells_and_changes_nothing,
    "ties equal the compiled loop": ties_equal_the_loop,
    "absent arms are not asked for": absent_arms_are_not_asked_for,
    "finds the winner of an easy world": finds_an_easy_winner,
    "ships the winner of an easy world": ships_an_easy_winner,
    "options come and go": options_come_and_go,
    "past votes are heard": past_votes_are_heard,
    "a panel shows two different arms": a_panel_shows_two_arms,
    "asking equals the compiled loop in panels": panels_equal_the_loop,
    "a sliding window forgets": a_window_forgets,
    "requests are checked": requests_are_checked,
    "requests travel with their duels": requests_travel_with_their_duels,
    "requests equal the compiled loop": requests_equal_the_loop,
}
"""All checks by name; each is a function of a spec that raises AssertionError."""


def check_twins(plain: str, compiled: str, rounds: int = 1000) -> None:
    """Check that two policies make the same choices from the same draws and answers.

    One is the reference implementation of the other. Both draw their random numbers in the same
    order, one by ``self.rng.random()``, the other by ``uniform(rng)``.

    Parameters
    ----------
    plain, compiled
        Specs of two registered policies.
    rounds
        The number of rounds per game. Default 1000.

    Examples
    --------
    >>> check_twins("uniform", "uniform")
    """
    for arms, seed, late in product((2, 5, 9), range(3), (False, True)):
        one, other = (_fresh(spec, _world(arms, rounds), seed) for spec in (plain, compiled))
        answers = np.random.default_rng([seed, arms])
        open_duels: list[tuple[Any, Any]] = []
        for t in range(1, rounds + 1):
            _same_draws(one, t)
            _same_draws(other, t)
            duels = one.ask(), other.ask()
            where = f"{arms} arms, seed {seed}, round {t}"
            assert duels[0][:2] == duels[1][:2], (
                f"{where}: {plain} chose arms {duels[0][:2]}, {compiled} chose {duels[1][:2]}"
            )
            assert _next_draw(one) == _next_draw(other), (
                f"{where}: {plain} and {compiled} drew different numbers of random numbers"
            )
            assert one.best() in (None, other.best()), (
                f"{where}: {plain} has best() {one.best()}, {compiled} arm {other.best()}"
            )
            open_duels.append(duels)
            while len(open_duels) > (5 if late else 0):
                duels = open_duels.pop(int(answers.integers(len(open_duels))))
                low_first = duels[0].first < duels[0].second
                chance = (
                    0.95 if low_first == (t <= rounds // 2) else 0.05
                )  # the winner changes after half of the rounds
                won = int(answers.random() < chance)
                for policy, duel in zip((one, other), duels, strict=True):
                    policy.tell_first_won(duel, won)
        assert one.restarts == other.restarts, f"restarts of {plain} and {compiled} differ"


def _next_draw(policy: Policy) -> float:
    """Return the next uniform number of a policy's generator without advancing it."""
    ahead = np.random.default_rng()
    ahead.bit_generator.state = policy.rng.bit_generator.state
    return float(ahead.random())


def check_policy(spec: str, skip: Iterable[str] = ()) -> None:
    """Run all checks on a registered policy; raise AssertionError with the first failure.

    Parameters
    ----------
    spec
        The spec of the policy.
    skip
        Names of checks to skip, keys of `CHECKS`. Default: none.
    """
    for name, check in CHECKS.items():
        if name not in skip:
            try:
                check(spec)
            except AssertionError as error:
                raise AssertionError(f"{spec}: {name}: {error}") from error
