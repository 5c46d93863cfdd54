"""Games on worlds with requests: the compiled loop equals ask and tell, and what is refused."""

import numpy as np
import pytest

from driftduel import play
from driftduel.errors import DriftduelError
from driftduel.games import trace
from driftduel.policies import POLICIES, Policy
from driftduel.worlds import World, make_world

WORLDS = (
    "routing:arms=4,features=2,rounds=1500,prices=0+0.5+0+1",
    "routing:arms=3,features=3,categories=3,rounds=1500,ties=0.3,delay=9",
    "routing:arms=3,features=0,rounds=1500,spread=1",
)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(
    "policy",
    [
        "adaptive-logistic",
        "king",
        pytest.param("lin-ucb:memory=300", marks=pytest.mark.long),
        pytest.param("lin-ts:memory=300", marks=pytest.mark.long),
        pytest.param("colstim", marks=pytest.mark.long),
        pytest.param("maxinp", marks=pytest.mark.long),
        pytest.param("adaptive-logistic:features=0", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("mode", ["serve", pytest.param("panel", marks=pytest.mark.long)])
def test_the_loop_equals_ask_and_tell(policy, world, mode):
    game = play(policy, world, seed=3, mode=mode)
    rows = trace(policy, world, seed=3, mode=mode)
    assert game.restarts == rows.policy.restarts
    for name, array in rows.policy.get_state().items():
        assert np.array_equal(array, game.policy.get_state()[name]), name
    assert game.policy.ledger.open == rows.policy.ledger.open or game.world.delay
    losses = np.concatenate([chunk.losses for chunk in game.world.request_chunks()])
    t = np.arange(len(rows))
    regret = (losses[t, rows.first] + losses[t, rows.second]).sum() / 2
    assert game.total == pytest.approx(regret)
    if game.world.category_names:
        assert list(game.categories) == list(game.world.category_names)
        assert sum(regret for regret, _ in game.categories.values()) == pytest.approx(regret)
        assert sum(rounds for _, rounds in game.categories.values()) == 1500


class DuelView(World):
    """A world with requests, as a plain world."""

    def __init__(self, world):
        self.arms, self.rounds, self.chunk_rounds = world.arms, world.rounds, world.chunk_rounds
        self.world = world

    def chunk(self, first, end):
        return self.world.chunk(first, end)


@pytest.mark.parametrize("ties", ["", ",ties=0.4,delay=5"])
def test_a_policy_without_features_plays_the_duel_view(ties):
    world = make_world(f"routing:rounds=3000{ties}", seed=1)
    game, plain = play("king", world, seed=2), play("king", DuelView(world), seed=2)
    assert game.restarts == plain.restarts
    np.testing.assert_allclose(game.curve, plain.curve, rtol=1e-9)
    assert (game.plays == plain.plays).all()


class Plain(Policy):
    """In plain Python: shows the option with the number of the largest feature, and the next."""

    name = "plain"

    def __init__(self, arms, rng, features=0):
        super().__init__(arms, rng)
        from driftduel.requests import RequestShape

        self.request_shape = RequestShape(features)

    def choose(self, t):
        first = int(np.argmax(self.request[1:])) % self.arms
        return first, (first + 1) % self.arms, self.request

    def learn(self, t, first, second, won, notes):
        assert first == int(np.argmax(notes[1:])) % self.arms
        return 0


def test_a_policy_in_plain_python_gets_the_request():
    world = make_world("routing:arms=3,features=3,rounds=500,delay=3", seed=1)
    game = play(Plain(3, np.random.default_rng(0), 3), world, seed=1)
    assert game.finished
    requests = world.request_chunk(1, 501).requests
    wanted = np.bincount(np.concatenate([c := requests[:, 1:].argmax(axis=1), (c + 1) % 3]))
    assert game.plays[-1].tolist() == wanted.tolist()


def test_what_does_not_fit_is_refused_in_one_sentence():
    for policy, world, keys, said in (
        ("adaptive-logistic:features=3", "two-arm", {}, "this world has none; leave out features="),
        (
            "adaptive-logistic:features=3",
            "routing:rounds=10",
            {},
            "was built with features=3, and the requests of this world have features=4",
        ),
        ("king", "routing:rounds=10", {"benchmark": "borda"}, "benchmark='borda' is not defined"),
    ):
        with pytest.raises(DriftduelError, match=said) as error:
            play(policy, world, **keys)
        assert "\n" not in str(error.value)


def test_features_help_where_the_best_option_depends_on_the_request():
    world = "routing:arms=5,features=3,rounds=6000,phases=2"
    regret = {
        policy: sum(play(policy, world, seed).total for seed in range(3))
        for policy in ("adaptive-logistic", "adaptive-logistic:features=0", "uniform")
    }
    routed, single, uniform = regret.values()
    assert routed < 0.6 * single < 0.6 * uniform


def test_prices_of_the_world_are_set_and_counted():
    free = make_world("routing:arms=2,features=0,rounds=2000,phases=1,spread=1", seed=1)
    best = int(free.request_chunk(1, 2).utilities.argmax())
    prices = "+".join("9" if arm == best else "0" for arm in range(2))
    dear = make_world(f"{free.spec},prices={prices}")
    games = [play("adaptive-logistic", world, 1) for world in (free, dear)]
    assert [game.policy.best() for game in games] == [best, 1 - best]
    assert [game.policy.state.prices.max() for game in games] == [0, 9]
    assert games[1].total < 30  # it asks about the dear option without choosing it


def test_every_policy_of_features_is_registered():
    keys = {e.name for e in POLICIES if any(p.name == "features" for p in e.parameters)}
    keys = {name for name in keys if not name.startswith("anew-")}
    assert keys == {"adaptive-logistic", "lin-ucb", "lin-ts", "colstim", "maxinp"}
