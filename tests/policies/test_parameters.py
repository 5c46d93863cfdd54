"""What a policy was built with is kept by itself, and loaded again."""

from typing import Annotated

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.policies import (
    POLICIES,
    Doubling,
    Dts,
    Policy,
    Rmed2Fh,
    SlidingWindow,
    load_policy,
    make_policy,
    save_policy,
)
from driftduel.specs import Range
from driftduel.testing import CHECKS, check_policy
from driftduel.worlds import make_world


class Plain(Policy):
    """Plays the first two arms, and can be saved."""

    def __init__(self, arms, rng, streak: Annotated[int, Range(1), "wins it takes"] = 3):
        super().__init__(arms, rng)
        self.streak = streak

    def choose(self, t):
        return 0, 1 if self.rng.random() < 0.5 else 0, ()

    def learn(self, t, first, second, won, notes):
        return 0

    def get_state(self):
        return {}

    def set_state(self, state):
        pass


def saved_and_loaded(policy, tmp_path):
    save_policy(policy, tmp_path / "p.npz")
    return load_policy(tmp_path / "p.npz")


def test_user_policy_is_loaded_with_its_parameters(registered, tmp_path):
    made = registered("plain")(type("Own", (Plain,), {}))
    rng = np.random.default_rng(0)
    for policy in (make_policy("plain:streak=9", 3), made(3, rng, 9), made(3, rng, streak="9")):
        assert policy.name == "plain"
        assert policy.parameters == {"streak": 9}
        again = saved_and_loaded(policy, tmp_path)
        assert again.streak == policy.streak == 9
    assert make_policy("plain", 3).parameters == {"streak": 3}
    with pytest.raises(DriftduelError, match="plain: streak=0 must be a whole number at least 1"):
        made(3, rng, streak=0)


def test_a_class_made_out_of_a_registered_one_keeps_its_own(registered, tmp_path):
    registered("plain")(type("Own", (Plain,), {}))

    @registered("slower")
    class Slower(POLICIES["plain"].factory):
        def __init__(self, arms, rng, factor: Annotated[int, Range(1), "times"] = 2):
            super().__init__(arms, rng, streak=3 * factor)

    policy = make_policy("slower:factor=5", 3)
    assert policy.parameters == {"factor": 5}
    again = saved_and_loaded(policy, tmp_path)
    assert type(again) is Slower
    assert again.streak == 15


def test_compositions_keep_the_keys_of_both(tmp_path):
    rng = np.random.default_rng(0)
    by_hand = SlidingWindow(4, rng, Dts(4, rng, alpha=0.7), window=20)
    by_name = make_policy("sw-dts:alpha=0.7,window=20", 4)
    assert by_hand.parameters == by_name.parameters == {"alpha": 0.7, "window": 20}
    again = saved_and_loaded(by_hand, tmp_path)
    assert again.parameters == by_hand.parameters
    assert len(again.state.ring) == 20
    inside = Rmed2Fh(4, rng, horizon=100, weight=0.5)
    assert Doubling(4, rng, inside, epoch=100).parameters == {
        "weight": 0.5, "alpha": inside.parameters["alpha"], "epoch": 100,
    }  # fmt: skip
    with pytest.raises(DriftduelError, match="window=0 must be a whole number at least 1"):
        SlidingWindow(4, rng, Dts(4, rng), window=0)


@pytest.mark.long
@pytest.mark.parametrize("told", [64, 5000])
def test_a_doubling_built_by_hand_is_the_one_built_by_name(told, tmp_path):
    """Whatever horizon the policy inside was told, and also when it goes on from a file."""
    rng = np.random.default_rng(3)
    by_hand = Doubling(4, rng, Rmed2Fh(4, rng, horizon=told, weight=0.5), epoch=64)
    by_name = make_policy("doubling-rmed2fh:weight=0.5,epoch=64", 4, np.random.default_rng(3))
    world = make_world("total-order:arms=4,rounds=300,phases=2", 1)
    games = [play(policy, world, seed=2, points=50) for policy in (by_hand, by_name)]
    assert games[0].restarts == games[1].restarts == [64, 192]
    np.testing.assert_array_equal(games[0].plays, games[1].plays)
    assert by_hand.base.parameters == by_name.base.parameters
    assert by_hand.base.parameters["horizon"] == 256
    again = saved_and_loaded(by_hand, tmp_path)
    assert again.base.parameters == by_name.base.parameters
    assert again.ask() == by_name.ask()


def test_doubling_needs_a_policy_that_asks_for_the_horizon():
    rng = np.random.default_rng(0)
    with pytest.raises(DriftduelError, match="needs a policy with the key horizon; 'dts' has none"):
        Doubling(4, rng, Dts(4, rng))


def test_the_checks_notice_parameters_that_are_lost(registered):
    @registered("forgetful")
    class Forgetful(Plain):
        def __init__(self, arms, rng, streak: Annotated[int, Range(1), "wins it takes"] = 3):
            super().__init__(arms, rng, streak)
            self.parameters = {}

    with pytest.raises(AssertionError, match=r"it keeps the parameters \{\}; it was given"):
        CHECKS["it knows its parameters"]("forgetful")


def test_the_checks_notice_a_seed_that_is_ignored(registered):
    @registered("same-king")
    class SameKing(POLICIES["king"].factory):
        def __init__(self, arms, rng):
            super().__init__(arms, np.random.default_rng(0))

    check_policy("king", skip=set(CHECKS) - {"a seed fixes the run"})
    with pytest.raises(AssertionError, match="all seeds gave the same duels"):
        CHECKS["a seed fixes the run"]("same-king")
