"""Folding a log equals living through it, to the bit; a log that cannot be true is found out."""

import tracemalloc
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError, LogError
from driftduel.games.prior_knowledge import knowledge
from driftduel.policies import (
    POLICIES,
    Duel,
    Event,
    EventLog,
    KernelPolicy,
    Policy,
    Recorder,
    fold,
    make_policy,
    policy_from_bytes,
    policy_to_bytes,
)
from driftduel.testing import assert_same, live_at_random
from driftduel.worlds import make_world

ROUNDS = 300
WORLD = make_world(f"random-condorcet:arms=4,rounds={ROUNDS},phases=2,p_min=0.6", seed=5)
# Without notes, with them, in order only, a policy that grows, one in another that is remade.
SPECS = ["king", "dts", "exp3s", "anaconda:constant=0.05", "sw-dts:window=50",
         "doubling-rex3:epoch=16"]  # fmt: skip


def fresh(spec, seed=1, **how):
    return make_policy(spec, WORLD.arms, seed, **how, **knowledge(spec, WORLD))


def slow(policy):
    """Return a copy that is folded by ask and tell, because its class has a `choose` of its own."""
    policy = deepcopy(policy)
    policy.__class__ = type("Slow", (type(policy),), {"choose": its_own})
    return policy


def its_own(self, t):
    return KernelPolicy.choose(self, t)


def settings_of(spec):
    orders = ["asked"] if fresh(spec).in_order else ["asked", "arrival"]
    return st.fixed_dictionaries(
        {
            "order": st.sampled_from(orders),
            "ties": st.sampled_from(["skip", "coin"]),
            "mode": st.sampled_from(["serve", "panel"]),
        }
    )


@pytest.mark.kernels
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec, marks=() if spec in ("king", "uniform", "exp3s") else pytest.mark.long)
        for spec in SPECS
    ],
)
def test_folding_equals_living(spec, monkeypatch):
    @settings(max_examples=25 if jit_enabled() else 4)
    @given(how=settings_of(spec), seed=st.integers(0, 999), data=st.data())
    def check(how, seed, data):
        # Calls of a few events and of one restart: every border lies somewhere.
        events = data.draw(st.sampled_from([1, 7, 100, 8192]), "events a call")
        monkeypatch.setattr("driftduel.policies.replay._EVENTS_A_CALL", events)
        monkeypatch.setattr("driftduel.policies.replay._RESTARTS_A_CALL", 1 + seed % 3)
        policy = fresh(spec, seed, **how)
        first = live_at_random(policy, data.draw(st.integers(0, ROUNDS // 2), "rounds"), seed)
        snapshot = policy_to_bytes(policy)
        rest = live_at_random(policy, ROUNDS // 2, seed + 1)
        assert_same(fold(fresh(spec, seed, **how), (first, rest)), policy)
        assert_same(fold(policy_from_bytes(snapshot), rest), policy)
        assert_same(fold(slow(policy_from_bytes(snapshot)), rest), policy)
        whole = EventLog([*first, *rest])
        again = EventLog.from_lines(whole.to_lines())
        folded = fold(fresh(spec, seed, **how), again)
        assert_same(folded, policy)
        # Not only the same now: the same from now on.
        assert live_at_random(folded, 50, 9) == live_at_random(policy, 50, 9)
        assert_same(folded, policy)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("spec", [entry.name for entry in POLICIES])
def test_folding_equals_living_for_every_policy_and_composition(spec, monkeypatch):
    test_folding_equals_living(spec, monkeypatch)


@pytest.mark.kernels
def test_what_waits_for_its_turn_is_learned_in_order_across_growth_and_restarts():
    """One answer that comes last sets free all that waited: in many calls, with restarts."""
    policy = fresh("doubling-rex3:epoch=2", order="asked")
    life = Recorder(policy)
    duels = [life.ask() for _ in range(200)]
    for duel in duels[:0:-1]:
        life.tell(duel, duel.first)
    assert policy.restarts == []
    life.tell(duels[0], duels[0].first)
    assert len(policy.restarts) == 6
    assert_same(fold(fresh("doubling-rex3:epoch=2", order="asked"), life.log), policy)


@pytest.mark.kernels
def test_rounds_are_found_among_gaps(monkeypatch):
    """Open duels far apart, answered when most rows around them are gone."""
    monkeypatch.setattr("driftduel.policies.replay._EVENTS_A_CALL", 16)
    life = Recorder(fresh("uniform", order="arrival"))
    late, luck = [], np.random.default_rng(2)
    for t in range(1, 600):
        duel = life.ask()
        if t % 37 == 0 or t == 1:
            late.append(duel)
        else:
            life.tell(duel, duel.first)
        if len(late) > 6:
            life.forget(late.pop(int(luck.integers(len(late)))))
    folded = fold(fresh("uniform", order="arrival"), life.log)
    assert_same(folded, life.policy)
    assert list(folded.ledger.open) == sorted(life.policy.ledger.open)


class Champion(Policy):
    """In plain Python, with notes, a restart now and then, and arms that come and go."""

    name = "champion"
    unanswered = True

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.here, self.seen = set(range(arms)), []

    @property
    def present(self):
        return tuple(sorted(self.here))

    def change(self, arm, *, here):
        (self.here.add if here else self.here.discard)(arm)

    def widen(self):
        self._arms += 1

    def choose(self, t):
        first, second = self.rng.choice(self.present, 2).tolist()
        return first, second, (self.rng.random(),)

    def learn(self, t, first, second, won, notes):
        self.seen.append((t, first, second, won, *notes))
        return 2 * (len(self.seen) % 10 == 0)

    def get_state(self):
        return {"seen": np.array(self.seen).reshape(-1, 5), "here": np.array(self.present)}


@pytest.mark.parametrize("order", ["asked", "arrival"])
@pytest.mark.parametrize("mode", ["serve", "panel"])
def test_policies_in_plain_python_are_folded_too(order, mode):
    policy, other = (Champion(4, np.random.default_rng(3)) for _ in range(2))
    for each in (policy, other):
        each.configure(order=order, mode=mode)
    log = live_at_random(policy, ROUNDS, 1)
    assert {"joined", "left", "tied", "decided", "forgotten"} <= {event.kind for event in log}
    assert policy.arms > 4
    assert policy.restarts
    assert_same(fold(other, log), policy)
    assert other.seen == []


def lived(spec, rounds=40):
    policy = fresh(spec, order="asked" if spec == "anaconda" else "arrival")
    return list(live_at_random(policy, rounds, 5))


def refusals(spec, events):
    """Return what folding such a log says, compiled and by ask and tell."""
    before = fresh(spec, order="asked" if spec == "anaconda" else "arrival")
    errors = []
    for policy in (before, slow(before)):
        kept = policy_to_bytes(policy)
        with pytest.raises(LogError) as error:
            fold(policy, EventLog(events))
        assert policy_to_bytes(policy) == kept
        errors.append(error.value)
    fast, twin = errors
    assert str(fast) == str(twin)
    assert vars(fast) == vars(twin)
    assert "\n" not in str(fast)
    return fast


@pytest.mark.kernels
@pytest.mark.parametrize("spec", ["exp3s", "dts", "anaconda"])
def test_a_duel_that_the_policy_would_not_have_asked_for_is_reported(spec):
    events = lived(spec)
    for place, event in enumerate(events):
        if event.kind == "asked":
            later = event._replace(round=event.round + 1)  # the right arms
            error = refusals(spec, [*events[:place], later, *events[place + 1 :]])
            assert (error.place, error.round) == (place, event.round + 1)
            other = event._replace(other=(event.other + 1) % 4)
            error = refusals(spec, [*events[:place], other, *events[place + 1 :]])
            assert (error.place, error.round) == (place, event.round)
            assert error.logged == (other.arm, other.other, other.notes)
            assert error.asked[:2] == (event.arm, event.other)
            assert str(error) == (
                f"event {place} of the log has the duel of {other.arm} and {other.other} in "
                f"round {event.round}; the policy asks for that of {event.arm} and {event.other}."
            )


@pytest.mark.kernels
def test_notes_are_checked_where_the_log_has_them():
    events = lived("exp3s")
    place = 25 + [event.kind for event in events[25:]].index("asked")
    event = events[place]
    assert len(event.notes) == 2
    policy = fold(fresh("exp3s"), EventLog(events))
    without = EventLog(each._replace(notes=()) if each.kind == "asked" else each for each in events)
    assert_same(fold(fresh("exp3s"), without), policy)
    for notes in ((event.notes[0], float(np.nextafter(event.notes[1], 1))), event.notes[:1]):
        error = refusals("exp3s", [*events[:place], event._replace(notes=notes)])
        assert (error.place, error.logged[2], error.asked[2]) == (place, notes, event.notes)
        assert "has a duel with the notes" in str(error)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([Event("told", 41, 0)], "event 40 of the log (told): the duel of round 41 was never"),
        ([Event("tied", 99)], "event 40 of the log (tied): the duel of round 99 was never asked"),
        (
            [Event("forgotten", 7), Event("decided", 7, won=1)],
            "event 41 of the log (decided): the duel of round 7 was already answered.",
        ),
        ([Event("told", 3, 9)], "event 40 of the log (told): winner=9 cannot have won the duel of"),
        ([Event("asked", 44, 0, 1)], "event 40 of the log asks for round 44; the expected"),
        ([Event("joined", arm=2)], "event 40 of the log (joined): "),
        ([Event("joined", arm=77)], "event 40 of the log (joined): "),
        ([Event("left", arm=77)], "event 40 of the log (left): "),
        ([Event("heard", 0, 1, 1, 1, (1.0,))], "event 40 of the log (heard): "),
    ],
)
def test_events_that_cannot_have_happened_are_reported(events, said):
    life = Recorder(fresh("exp3s"))
    for _ in range(40):
        life.ask()
    error = refusals("exp3s", [*life.log, *events])
    assert str(error).startswith(said)
    assert error.place == 39 + len(events)
    assert error.round == (events[-1].round or None)


def test_places_are_counted_through_all_logs():
    policy = fresh("uniform")
    logs = [live_at_random(policy, 30, seed) for seed in (1, 2)]
    place = len(logs[0]) + len(logs[1])
    with pytest.raises(
        LogError, match=f"event {place} of the log asks for round 1; .* round is 61"
    ):
        fold(fresh("uniform"), [*logs, logs[0]])


def test_what_interrupts_a_fold_leaves_the_policy_as_it_was():
    policy = fresh("dts")
    log = live_at_random(fresh("dts"), 30, 1)

    def until_ctrl_c():
        yield log
        raise KeyboardInterrupt

    kept = policy_to_bytes(policy)
    with pytest.raises(KeyboardInterrupt):
        fold(policy, until_ctrl_c())
    assert policy_to_bytes(policy) == kept


@pytest.mark.kernels
def test_arms_that_are_not_there_are_not_folded():
    """A kernel of somebody's own may be wrong; what it asks for is in no array."""
    from driftduel.policies import Kernels, hot
    from driftduel.policies.uniform_random import UniformRandom

    @hot
    def ask(state, rng, t, notes):
        return 0, 3 + t

    @hot
    def tell(state, t, first, second, won, notes):
        return 0

    class Astray(KernelPolicy):
        name = "astray"
        kernels = Kernels(ask, tell)
        state = UniformRandom(4, np.random.default_rng(0)).state

    policy = Astray(4, np.random.default_rng(0))
    for each in (policy, slow(policy)):
        with pytest.raises(LogError, match=r"event 0 of the log \(asked\): policy 'astray'"):
            fold(each, EventLog([Event("asked", 1, 0, 4)]))


@pytest.mark.skipif(not jit_enabled(), reason="too many events for plain Python")
def test_a_long_log_takes_no_more_memory_than_itself():
    rounds = 200_000
    rng = np.random.default_rng(1)
    rng.spawn(1)
    pairs = [policy_of_uniform(rng) for _ in range(rounds)]
    kinds = np.tile([0, 1], rounds)
    numbers = np.repeat(np.arange(1, rounds + 1), 2)
    arm = np.repeat([first for first, _ in pairs], 2)
    other = np.repeat([second for _, second in pairs], 2)
    log = EventLog.from_columns(kinds, numbers, arm, other, np.zeros_like(kinds))
    begin = EventLog.from_columns(
        kinds[:2], numbers[:2], arm[:2], other[:2], np.zeros_like(kinds[:2])
    )
    fold(make_policy("uniform", 4, 1), begin)  # loads the compiled loop
    tracemalloc.start()
    folded = fold(make_policy("uniform", 4, 1), log)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert folded.ledger.asked == rounds
    assert folded.ledger.open == {}
    assert peak < 4_000_000


def policy_of_uniform(rng):
    return int(rng.random() * 4), int(rng.random() * 4)


def test_a_ledger_may_live_elsewhere():
    """Choose and learn, with a table of duels of one's own, and the log for what may get lost."""
    policy, table, log = fresh("exp3s"), {}, EventLog()
    luck = np.random.default_rng(4)
    for t in range(1, ROUNDS + 1):
        first, second, notes = policy.choose(t)
        policy.ledger.advance_to(t)
        table[t] = first, second, notes
        log.append(Event("asked", t, first, second, notes=notes))
        for round_ in [each for each in table if luck.random() < 0.3]:
            first, second, notes = table.pop(round_)
            won = int(luck.random() < 0.5)
            policy.learn(round_, first, second, won, notes)
            log.append(Event("decided", round_, won=won))
    again = fold(fresh("exp3s"), log)
    assert {t: Duel(a, b, t, notes) for t, (a, b, notes) in table.items()} == again.ledger.open
    for name, array in policy.get_state().items():
        np.testing.assert_array_equal(array, again.get_state()[name])
    assert policy.choose(ROUNDS + 1) == again.choose(ROUNDS + 1)


def test_settings_must_be_those_of_the_log():
    log = live_at_random(fresh("dts", order="asked"), 200, 1)
    with pytest.raises(DriftduelError):
        fold(fresh("dts", order="arrival"), log)
