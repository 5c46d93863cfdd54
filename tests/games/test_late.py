"""Games in which answers come late, against ask and tell with a queue."""

from typing import Any

import numpy as np
import pytest

from driftduel._internal.compiler import hot, jit_enabled
from driftduel.errors import DriftduelError
from driftduel.games import play, streams, trace
from driftduel.games.prior_knowledge import knowledge
from driftduel.games.replays import replays_of
from driftduel.measures import measure
from driftduel.policies import POLICIES, Kernels, make_policy, uniform
from driftduel.policies.fields import Within
from driftduel.regret import regret
from driftduel.worlds import WithAbsences, WithDelay, WithTies, make_world
from tests.games.presence import (
    Listener,
    Plain,
    Wanderer,
    _ask as _draw,
    _note as _write_down,
    _tell as _learn,
    slow_game,
)
from tests.games.test_presence import presence, random_events

DELAYS = (1, 7, 100)


@hot
def _ask(state, rng, t, notes):
    if t % 3:  # a note that is not written is the one that was there
        notes[0] = int(uniform(rng) * 1000)
    notes[1] = t
    return _draw(state, rng, t, notes)


@hot
def _tell(state, t, first, second, won, notes):
    _write_down(state, int(notes[0]) + 1000 * (int(notes[1]) - t))
    return _learn(state, t, first, second, won, notes)


class Noter(Wanderer):
    """A wanderer whose answers mean nothing without its notes."""

    name = "noter"
    notes = (Within(0, 1000), Within(0, 10**9))
    kernels = Kernels(_ask, _tell, change=Wanderer.kernels.change, present=Wanderer.kernels.present)


def assert_same(fast: Any, slow: Any) -> None:
    """Compare all that two policies are after a game."""
    assert fast.ledger.asked == slow.ledger.asked
    assert list(fast.ledger.open.items()) == list(slow.ledger.open.items())
    assert not fast.ledger.held
    assert not slow.ledger.held
    if fast.ledger.order == "asked":
        assert fast.ledger.due == slow.ledger.due
    assert fast.restarts == slow.restarts
    assert fast.best() == slow.best()
    assert str(fast.info()) == str(slow.info())
    assert fast.rng.bit_generator.state == slow.rng.bit_generator.state
    if isinstance(fast, Plain):
        fast, slow = fast.inside, slow.inside
    for name, array in slow.get_state().items():
        np.testing.assert_array_equal(fast.get_state()[name], array)


def assert_twins(fast, slow, world, seed, here, share, delay):
    """Play a world both ways, and go on by hand."""
    rows = slow_game(slow, world, seed, here, share, delay)
    game = play(fast, WithDelay(world, delay), seed, points=9)
    assert_same(fast, slow)
    assert len(fast.ledger.open) == min(delay, world.rounds)
    first, second, _ = np.transpose(rows)
    for t, plays in zip(game.at, game.plays, strict=True):
        both = np.concatenate((first[:t], second[:t]))
        np.testing.assert_array_equal(plays, np.bincount(both, minlength=world.arms))
    for kind, curve in game.regret.items():
        expected = np.cumsum(regret(world, first, second, kind))[game.at - 1]
        np.testing.assert_allclose(curve, expected, rtol=1e-9, atol=1e-7)
    for policy in (fast, slow):  # the answers that were out may still come, and the game go on
        for duel in [*policy.ledger.open.values()]:
            policy.tell_first_won(duel, duel.round % 2)
        for t in range(20):
            policy.tell_first_won(policy.ask(), t % 2)
    assert_same(fast, slow)


def short_calls(monkeypatch):
    """Cut a game into many chunks, stretches and calls."""
    monkeypatch.setattr("driftduel.games.budget.MOST_ROUNDS", 64)
    monkeypatch.setattr("driftduel.games.segments._RESTARTS_A_CALL", 1)


CASES = [
    *((kind, False, 0.0, "skip") for kind in (Wanderer, Noter, Plain)),
    *((kind, True, 0.35, "skip") for kind in (Noter, Listener, Plain)),
    *((kind, True, 0.35, "coin") for kind in (Noter, Plain)),
]


@pytest.mark.long
@pytest.mark.kernels
@pytest.mark.parametrize("delay", [*DELAYS, 2000])
@pytest.mark.parametrize(("kind", "going", "share", "ties"), CASES)
def test_a_game_is_the_one_played_with_a_queue(kind, going, share, ties, delay, monkeypatch):
    inside = world = make_world("geometric-btl:arms=5,rounds=900,phases=3", seed=3)
    events = random_events(inside, 5) if going else None
    if going:
        world = WithAbsences(world, events)
    if share:
        world = WithTies(world, share)
    slow, fast = (kind(world.arms, np.random.default_rng(1)) for _ in range(2))
    for each in (slow, fast):
        each.configure(ties=ties, order="asked" if going else "arrival")
    short_calls(monkeypatch)
    here = presence(inside, events) if going else None
    assert_twins(fast, slow, world, 8, here, share, delay)
    assert delay > 100 or len(slow.restarts) > 3


OURS = ["king", "dts", "sw-dts:window=200", "rucb", "exp3s", "anaconda:constant=0.1", "court",
        "uniform", "glr-dts"]  # fmt: skip
# Ties make one more loop of each: for those who are told of them, and one who is not.
WITH_TIES = ("king", "anaconda:constant=0.1", "court", "dts")
PLAYED = [
    pytest.param(spec, share, marks=() if not share or spec in WITH_TIES else pytest.mark.slow)
    for spec in OURS
    for share in (0.0, 0.3)
]


def twins(spec, world, seed, mode="serve"):
    """Make the policy that a game would make, twice."""
    told = knowledge(spec, world)
    return [make_policy(spec, world.arms, streams(seed)[2], mode=mode, **told) for _ in range(2)]


@pytest.mark.long
@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize(("spec", "share"), PLAYED)
def test_our_policies_play_the_game_played_with_a_queue(spec, delay, share, monkeypatch):
    world = make_world("geometric-btl:arms=4,rounds=1500,phases=3,change=winner", seed=3)
    if share:
        world = WithTies(world, share)
    short_calls(monkeypatch)
    assert_twins(*twins(spec, world, 8), world, 8, None, share, delay)


@pytest.mark.long
@pytest.mark.parametrize("spec", ["king", "dts", "anaconda:constant=0.1"])
def test_panels_play_the_game_played_with_a_queue(spec):
    world = make_world("geometric-btl:arms=4,rounds=1200,phases=2", seed=3)
    assert_twins(*twins(spec, world, 8, "panel"), world, 8, None, 0.0, 25)


@pytest.mark.long
@pytest.mark.parametrize("spec", ["king", "dts", "court", "anew-rucb", "anew-anaconda"])
def test_answers_about_arms_that_have_left_are_told(spec, monkeypatch):
    inside = make_world("utilities:arms=5,rounds=900,phases=2", seed=5)
    events = random_events(inside, 5)
    world = WithAbsences(inside, events)
    short_calls(monkeypatch)
    assert_twins(*twins(spec, world, 8), world, 8, presence(inside, events), 0.0, 40)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [entry.name for entry in POLICIES])
def test_every_policy_plays_the_game_of_its_trace(spec):
    world = WithDelay(make_world("geometric-btl:arms=4,rounds=600,phases=2", seed=3), 23)
    game, rows = play(spec, world, seed=4, points=[600]), trace(spec, world, seed=4)
    assert_same(game.policy, rows.policy)
    both = np.concatenate((rows.first, rows.second))
    np.testing.assert_array_equal(game.plays[-1], np.bincount(both, minlength=4))


@pytest.mark.kernels
def test_late_answers_are_told_in_their_round():
    """The first answer comes right before the second duel if nothing is late."""
    heard = []

    class Witness(Plain):
        """Write down when it is told of what."""

        def learn(self, t, first, second, won, notes):
            heard.append((self.ledger.asked, t))
            return 0

    world = make_world("two-arm:rounds=6")
    for delay in (0, 2):
        play(Witness(2, np.random.default_rng(1)), WithDelay(world, delay))
    assert heard == [*((t, t) for t in range(1, 7)), *((t + 2, t) for t in range(1, 5))]


@pytest.mark.long
@pytest.mark.kernels
def test_no_delay_is_the_world_as_it_is():
    spec = "geometric-btl:arms=4,rounds=800,phases=2,seed=1"
    plain, none = make_world(spec), make_world(spec + ",delay=0")
    assert type(none) is type(plain)
    games = [play(Noter(4, np.random.default_rng(1)), world) for world in (plain, none)]
    games.append(play(Noter(4, np.random.default_rng(1)), WithDelay(plain, 0)))
    for game in games[1:]:
        assert_same(game.policy, games[0].policy)
        np.testing.assert_array_equal(game.curve, games[0].curve)
    late = play(Noter(4, np.random.default_rng(1)), WithDelay(plain, 1))
    assert late.policy.state.log[0] != games[0].policy.state.log[0]


@pytest.mark.kernels
@pytest.mark.parametrize("kind", [Noter, Plain])
def test_a_game_that_somebody_ends_leaves_its_open_duels(kind):
    world = WithDelay(make_world("two-arm:rounds=3000"), 30)
    policy = kind(2, np.random.default_rng(1))

    def stop(done, rounds):
        if done > 100:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        play(policy, world, progress=stop)
    asked = policy.ledger.asked
    assert asked > 100
    assert list(policy.ledger.open) == list(range(asked - 29, asked + 1))


@pytest.mark.kernels
def test_a_world_that_changes_its_mind_about_delays_is_refused():
    class Moody(WithDelay):
        def chunk(self, first, end):
            return super().chunk(first, end)._replace(delay=3 + first // 100)

    world = Moody(make_world("random-walk:arms=2,rounds=300", seed=1), 3)
    world.chunk_rounds = 100
    with pytest.raises(DriftduelError, match="it is 3 rounds first, and 4 from round 101 on"):
        play(Wanderer(2, np.random.default_rng(1)), world)


@pytest.mark.kernels
@pytest.mark.parametrize("delay", [1, 40])
def test_traces_and_their_replays(delay):
    rounds = 2000 if jit_enabled() else 300
    world = f"geometric-btl:arms=4,rounds={rounds},phases=3,change=winner,seed=2,delay={delay}"
    policy = "anaconda:constant=0.05"
    rows, game = trace(policy, world, seed=1), play(policy, world, seed=1)
    assert_same(game.policy, rows.policy)
    assert set(rows.first_won.tolist()) == {0, 1}  # of every duel, whether it was told or not
    assert replays_of(rows).rounds == rounds
    assert len(rows.policy.restarts) > 2 or not jit_enabled()
    # A new episode begins with the first duel that is asked for after the answer came.
    _, *starts = np.unique(rows.episode_start).tolist()
    assert [t + delay + 1 for t in rows.policy.restarts if t + delay < rounds] == starts


def test_measures_do_not_know_of_delays():
    spec = "geometric-btl:arms=4,rounds=800,phases=3,seed=2"
    late, plain = (measure(make_world(spec + more)) for more in (",delay=9", ""))
    assert late.total_variation == plain.total_variation
    assert late.condorcet_switch_rounds == plain.condorcet_switch_rounds
