"""Games in which duels tie and arms come and go, against a game played the slow way."""

import numpy as np
import pytest

from driftduel._internal.compiler import hot, jit_enabled
from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.policies import make_policy
from driftduel.regret import regret
from driftduel.worlds import WithAbsences, WithTies, make_world
from tests.games.presence import Listener, Plain, Wanderer, slow_game

INSIDE = [
    "geometric-btl:arms=5,rounds=900,phases=3",
    "random-walk:arms=5,rounds=500,sd=0.02",
    "alternating:rounds=300",
]


def random_events(world, seed, rounds=15):
    """Draw rounds in which some arms come or leave, several at once; one at least is there."""
    rng = np.random.default_rng(seed)
    here = set(range(world.arms))
    drawn = []
    for t in np.sort(rng.choice(world.rounds, rounds, replace=False)) + 1:
        arms = {*rng.integers(world.arms, size=3).tolist()}
        if here ^ arms:
            here ^= arms
            drawn += [(int(t), arm, arm in here) for arm in arms]
    return drawn


def presence(world, events):
    """Say who is there in a round, by going through all events."""

    def here(t):
        known = dict.fromkeys(range(world.arms), True)
        known.update({arm: comes for at, arm, comes in sorted(events) if at <= t})
        return tuple(arm for arm, there in known.items() if there)

    return here


CASES = [
    *((Wanderer, spec, going, 0.0, "skip") for spec in INSIDE for going in (False, True)),
    *((Wanderer, spec, True, 0.35, "skip") for spec in INSIDE),
    *((kind, INSIDE[0], False, 0.35, "skip") for kind in (Wanderer, Listener, Plain)),
    *((kind, INSIDE[0], True, 0.35, "coin") for kind in (Listener, Plain)),
    *((Plain, spec, True, 0.35, "skip") for spec in INSIDE),
]


@pytest.mark.long
@pytest.mark.kernels
@pytest.mark.parametrize(("kind", "spec", "going", "share", "ties"), CASES)
def test_a_game_is_the_one_played_the_slow_way(kind, spec, going, share, ties, monkeypatch):
    inside = world = make_world(spec, seed=3)
    events = random_events(inside, 5) if going else None
    if going:
        world = WithAbsences(world, events)
    if share:
        world = WithTies(world, share)
    seed = 8
    slow, fast = (kind(world.arms, np.random.default_rng(1)) for _ in range(2))
    for each in (slow, fast):
        each.configure(ties=ties)
    rows = slow_game(slow, world, seed, presence(inside, events) if going else None, share)
    monkeypatch.setattr("driftduel.games.budget.MOST_ROUNDS", 128)
    monkeypatch.setattr("driftduel.games.segments._RESTARTS_A_CALL", 1)
    game = play(fast, world, seed, points=9)
    np.testing.assert_array_equal(fast.state.log, slow.state.log)
    np.testing.assert_array_equal(fast.state.present, slow.state.present)
    assert game.restarts == slow.restarts
    first, second, _ = np.transpose(rows)
    for regrets, curve in game.regret.items():
        expected = np.cumsum(regret(world, first, second, regrets))[game.at - 1]
        np.testing.assert_allclose(curve, expected, rtol=1e-9, atol=1e-7)


def test_as_many_duels_tie_as_are_said_to():
    world = WithTies(make_world("utilities:arms=3,rounds=20000,phases=1", seed=1), 0.3)
    policy = Listener(3, np.random.default_rng(1))
    rows = np.array(slow_game(policy, world, 2, None, 0.3))
    met = rows[rows[:, 0] != rows[:, 1]]
    share = (met[:, 2] == -1).mean()
    assert abs(share - 0.3) < 4 * np.sqrt(0.21 / len(met))
    assert not (rows[rows[:, 0] == rows[:, 1]][:, 2] == -1).any()
    matrix = world.preferences(1).matrix
    for a, b in ((0, 1), (2, 1)):
        those = met[(met[:, 0] == a) & (met[:, 1] == b)][:, 2]
        won = (those == 1).mean() + (those == -1).mean() / 2
        assert abs(won - matrix[a, b]) < 4 * np.sqrt(0.25 / len(those))


def test_a_policy_whose_arms_cannot_change_says_what_to_do():
    world = WithAbsences(make_world("named:rounds=100"), [(50, 0, False)])
    with pytest.raises(DriftduelError, match="use 'anew-anaconda', which restarts it"):
        play("anaconda", world)

    class Fixed(Plain):
        change = Plain.__mro__[1].change

    with pytest.raises(DriftduelError, match="anew-plain"):
        play(Fixed(6, np.random.default_rng(1)), world)


@hot
def _everyone(state, rng, t, notes):
    return t % 3, 0


class Deaf(Wanderer):
    """Ask for arm t modulo 3, whoever is there."""

    name = "deaf"
    kernels = Wanderer.kernels._replace(ask=_everyone)


class PlainlyDeaf(Plain):
    """The same in plain Python."""

    name = "deaf"

    def choose(self, t):
        return t % 3, 0, ()


@pytest.mark.kernels
@pytest.mark.parametrize("kind", [Deaf, PlainlyDeaf])
def test_asking_for_an_absent_arm_is_an_error(kind):
    world = WithAbsences(make_world("named:rounds=100"), [(50, 2, False), (50, 4, False)])
    with pytest.raises(DriftduelError) as said:
        play(kind(6, np.random.default_rng(1)), world)
    assert str(said.value) == (
        "policy 'deaf' chose arms 2 and 0 in round 50; present are 0, 1, 3 and 5."
    )


def test_a_game_needs_a_policy_with_all_its_arms():
    policy = Wanderer(6, np.random.default_rng(1))
    policy.retire(2)
    with pytest.raises(DriftduelError, match="5 of them present"):
        play(policy, "named:rounds=100")


@pytest.mark.kernels
@pytest.mark.parametrize("spec", ["king", "dts", "anaconda:constant=0.1", "wsw"])
def test_a_coin_for_ties_is_the_game_with_their_preferences(spec):
    if not jit_enabled():
        pytest.skip("long without the compiler")
    inside = make_world("geometric-btl:arms=4,rounds=3000,phases=2", seed=1)
    tied = WithTies(inside, 0.4)
    policy = make_policy(spec, 4, 1, horizon=3000)
    policy.configure(ties="coin")
    one = play(policy, tied, seed=3)

    class Untied(WithTies):
        def chunk(self, first, end):
            return super().chunk(first, end)._replace(ties=np.empty(0))

    other = play(make_policy(spec, 4, 1, horizon=3000), Untied(inside, 0.4), seed=3)
    np.testing.assert_array_equal(one.plays, other.plays)
