"""A policy that cannot change its set of arms is started anew at every change."""

import copy

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.policies import (
    POLICIES,
    Policy,
    RestartOnChange,
    load_policy,
    make_policy,
    save_policy,
)
from driftduel.worlds import make_world
from tests.policies.test_saving import rewrite, set_cell, set_key


def script(seed, arms, rounds):
    """Draw who leaves (-1 - arm) or comes (arm), by the round before which it happens."""
    rng = np.random.default_rng(seed)
    here, events = set(range(arms)), {}
    for t in sorted(rng.integers(1, rounds, 12).tolist()):
        away = sorted(set(range(arms)) - here)
        if away and (len(here) == 1 or rng.random() < 0.5):
            arm = away[int(rng.integers(len(away)))]
            here.add(arm)
            events.setdefault(t, []).append(arm)
        elif len(here) > 1:
            arm = sorted(here)[int(rng.integers(len(here)))]
            here.remove(arm)
            events.setdefault(t, []).append(-1 - arm)
    return events


@pytest.mark.long
@pytest.mark.parametrize("name", ["wsw", "rex3", "anaconda", "king", "periodic-btw"])
@pytest.mark.parametrize("mode", ["serve", "panel"])
def test_it_plays_the_duels_of_a_fresh_policy_for_the_arms_that_are_there(name, mode):
    """The twin makes a new policy of the name itself by hand, and translates the arms."""
    K, rounds = 4, 240
    known = {"horizon": 500}
    for seed in range(3):
        policy = make_policy(f"anew-{name}", K, seed, mode=mode, **known)
        rng = np.random.default_rng(seed)
        here = list(range(K))
        twin = make_policy(name, K, rng, mode=mode, **known)
        luck, restarts = np.random.default_rng(seed), []
        for t in range(1, rounds + 1):
            for event in script(seed, K, rounds).get(t, []):
                if event < 0:
                    policy.retire(-1 - event)
                    here.remove(-1 - event)
                else:
                    policy.admit(event)
                    here = sorted([*here, event])
                twin = None
                if len(here) > 1:
                    twin = make_policy(name, len(here), rng, mode=mode, **known)
                if t > 1 and restarts[-1:] != [t - 1]:
                    restarts.append(t - 1)
            assert policy.present == tuple(here)
            duel = policy.ask()
            won = int(luck.random() < 0.5 + 0.3 * np.sign(duel.second - duel.first))
            if twin is None:
                assert duel[:2] == (here[0], here[0])
                assert duel.alone
                assert policy.best() == here[0]
            else:
                other = twin.ask()
                assert duel[:2] == (here[other.first], here[other.second]), f"round {t}"
                before = len(twin.restarts)
                twin.tell_first_won(other, won)
                restarts += [t] * (len(twin.restarts) - before)
            policy.tell_first_won(duel, won)
            if twin is not None:
                best = twin.best()
                assert policy.best() == (None if best is None else here[best])
            assert policy.restarts == restarts
        assert policy.info().episode_start is not None
        assert len(restarts) > 2


def test_answers_from_before_a_change_are_dropped():
    policy = make_policy("anew-dts", 3, 0)
    old = policy.ask()
    policy.retire(2)
    policy.tell_first_won(old, 1)
    state = policy.get_state()
    assert state["inside.wins"].shape == (2, 2)
    assert state["inside.wins"].sum() == 0
    policy.tell(policy.ask(), None)
    duel = next(duel for duel in iter(policy.ask, None) if not duel.alone)
    policy.tell_first_won(duel, 1)
    assert policy.get_state()["inside.wins"].sum() == 1


def test_keys_and_prior_knowledge_are_those_of_the_wrapped_policy():
    policy = make_policy("anew-rex3", 3, horizon=100)
    assert (
        policy.prior_knowledge
        == make_policy("rex3", 3, horizon=100).prior_knowledge
        == ("horizon",)
    )
    assert policy.ledger.ties == make_policy("rex3", 3, horizon=100).ledger.ties
    assert make_policy("anew-anaconda", 3, horizon=100).ledger.order == "asked"
    with pytest.raises(DriftduelError, match="needs the key horizon"):
        POLICIES.build("anew-rex3", arms=3, rng=np.random.default_rng(0))
    with pytest.raises(DriftduelError, match="no policy named 'dst'; did you mean dts"):
        make_policy("anew-dst", 3)
    with pytest.raises(DriftduelError, match="'anew-dts' has no key 'alhpa'; did you mean alpha"):
        make_policy("anew-dts:alhpa=1", 3)
    assert "anew-dts" in POLICIES
    assert "anew-dst" not in POLICIES
    assert "anew-anew-dts" not in POLICIES
    assert all(not entry.name.startswith("anew-") for entry in POLICIES)


class Stubborn(Policy):
    """In plain Python, with one number to save."""

    name = "stubborn"

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.favourite = int(rng.integers(arms))

    def choose(self, t):
        return self.favourite, int(self.rng.integers(self.arms)), ()

    def learn(self, t, first, second, won, notes):
        return 0

    def best(self):
        return self.favourite

    def get_state(self):
        return {"favourite": np.array([self.favourite])}

    def set_state(self, state):
        self.favourite = int(state["favourite"][0])


@pytest.fixture
def stubborn(registered):
    registered("stubborn")(Stubborn)


@pytest.mark.parametrize("spec", ["anew-stubborn", "anew-wsw", "anew-king", "anew-exp3s"])
def test_saved_between_two_changes_it_goes_on_to_the_bit(spec, tmp_path, stubborn):
    policy = make_policy(spec, 4, 5, horizon=500, switches=2)
    luck = np.random.default_rng(1)
    for t in range(60):
        if t in (10, 20, 30):
            policy.retire(t // 10)
        if t == 40:
            assert policy.present == (0,)
            policy.admit()
            policy.admit(2)
        policy.tell_first_won(policy.ask(), int(luck.random() < 0.5))
        if t % 7 == 0 or t == 39:
            policy.ask()  # and is never heard of again
        save_policy(policy, tmp_path / "p.npz")
        again = load_policy(tmp_path / "p.npz")
        assert again.info() == policy.info()
        assert again.arms == policy.arms
        copied = copy.deepcopy(policy)
        for _ in range(3):
            duel = again.ask()
            assert duel == copied.ask()
            for each in (again, copied):
                each.tell_first_won(duel, 1)
        assert again.rng.bit_generator.state == copied.rng.bit_generator.state


def test_votes_of_the_past_reach_the_policy_inside():
    policy = make_policy("anew-rmed1", 4, 0)
    policy.retire(1)
    for other in (0, 2):
        policy.add_past_vote(3, other, 3, weight=5)
    policy.add_past_vote(3, 1, 1, weight=100)  # who is away
    assert policy.best() == 3
    with pytest.raises(DriftduelError, match="winner=1 cannot have won a vote between 3 and 0"):
        policy.add_past_vote(3, 0, 1)
    policy.retire(2)
    assert policy.get_state()["inside.wins"].sum() == 0
    with pytest.raises(DriftduelError, match="'wsw' can learn only from duels that"):
        make_policy("anew-wsw", 3).add_past_vote(0, 1, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_cell("present", 0, 2), "present of 'anew-exp3s' must be 1 for present arms"),
        (set_cell("present", 3, 1), "of 'exp3s' has"),
        (set_cell("began", 0, 0), "began of 'anew-exp3s' has 0; rounds begin at 1"),
        (set_cell("began", 0, 99), "began of 'anew-exp3s' has 99; it must be between 0 and 21"),
        (set_cell("inside.weights", (0, 0), 0.9), "must be probabilities that add up to 1"),
        (set_key("pending", [[0, 3, 20, [0.5, 0.5]]]), "it has a duel of arms 0 and 3 in round 20"),
        (set_key("pending", [[0, 9, 20, [0.5, 0.5]]]), "it has a duel of arms 0 and 9"),
        (set_key("pending", [[0, 1, 20, [0.0, 0.5]]]), "a note of a duel of 'exp3s' has 0"),
        (lambda _, content: content.pop("state_present"), "must have 4 present"),
        (lambda _, content: content.pop("state_inside.weights"), "the saved state of 'exp3s' must"),
    ],
)
def test_a_damaged_state_is_refused(tmp_path, change, said):
    policy = make_policy("anew-exp3s", 4, 1, horizon=500, switches=1)
    for t in range(20):
        if t == 10:
            policy.retire(3)
        policy.tell_first_won(policy.ask(), t % 2)
    path = tmp_path / "p.npz"
    save_policy(policy, path)
    rewrite(path, change)
    with pytest.raises(DriftduelError) as error:
        load_policy(path)
    assert said in str(error.value)


def test_games_in_which_arms_come_and_go():
    world = make_world("sleeping:arms=4,rounds=3000", seed=3)
    game = play("anew-wsw", world, seed=1)
    assert isinstance(game.policy, RestartOnChange)
    assert game.finished
    assert len(game.restarts) > 3
    assert game.total < play("uniform", world, seed=1).total
    with pytest.raises(DriftduelError, match="anew-wsw"):
        play("wsw", world, seed=1)
