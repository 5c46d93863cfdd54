"""The contract of all policies: ask, tell, late answers, errors that change nothing."""

import json
from copy import deepcopy

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.policies import Anaconda, Duel, Policy, load_policy, make_policy, save_policy
from driftduel.worlds import make_world
from tests.policies.runs import outcomes


class Recorder(Policy):
    """Plays (0, 1) and writes down what it learns."""

    name = "recorder"

    def __init__(self, arms, rng, in_order=False):
        type(self).in_order = in_order
        self.unanswered = in_order
        super().__init__(arms, rng)
        self.learned = []

    def choose(self, t):
        return 0, t % 2, (float(t), 0.5)

    def learn(self, t, first, second, won, notes):
        self.learned.append((t, first, second, won, notes))
        return 0


def recorder(*, in_order):
    return Recorder(2, np.random.default_rng(0), in_order)


def test_answers_may_come_late_and_out_of_order():
    policy = recorder(in_order=False)
    duels = [policy.ask() for _ in range(4)]
    for i in (2, 0, 3):
        policy.tell(duels[i], duels[i].second)
    assert [row[0] for row in policy.learned] == [3, 1, 4]
    assert [row[4] for row in policy.learned] == [duels[i].notes for i in (2, 0, 3)]


def test_a_policy_in_order_holds_answers_back():
    policy = recorder(in_order=True)
    duels = [policy.ask() for _ in range(5)]
    policy.tell(duels[2], duels[2].first)
    policy.tell(duels[1], duels[1].first)
    assert policy.learned == []
    policy.tell(duels[0], duels[0].first)
    assert [row[0] for row in policy.learned] == [1, 2, 3]
    policy.forget(duels[3])
    policy.tell(duels[4], duels[4].first)
    assert [(row[0], row[3]) for row in policy.learned[3:]] == [(4, -1), (5, policy.learned[-1][3])]


def test_a_forgotten_duel_is_nothing_to_a_policy_that_learns_at_once():
    policy = recorder(in_order=False)
    policy.forget(policy.ask())
    assert policy.learned == []


def test_the_number_of_arms_cannot_be_overwritten():
    policy = make_policy("king", 6)
    with pytest.raises(AttributeError):
        policy.arms = 7
    assert policy.arms == 6


def test_a_duel_travels_through_json():
    policy = make_policy("anaconda", 3, horizon=100)
    duels = [policy.ask() for _ in range(5)]
    assert Duel.from_json(duels[0].to_json()) == duels[0]
    assert duels[0].to_json() == json.dumps(duels[0])
    policy.tell(Duel.from_json(duels[0].to_json()), winner=duels[0].first)
    policy.tell(json.loads(json.dumps(duels[1])), winner=duels[1].first)
    policy.tell(Duel(*json.loads(json.dumps(duels[2]))), winner=duels[2].first)
    policy.tell_first_won(json.loads(json.dumps(duels[3])), 1)
    policy.forget(json.loads(json.dumps(duels[4])))
    assert policy.ledger.open == policy.ledger.held == {}


@pytest.mark.parametrize(
    "text",
    ["", "7", "null", "[]", "[0, 1, 2]", "[0, 1, 2, 3]", '["0", 1, 2, []]', "[true, 1, 2, []]",
     "[0.5, 1, 2, []]", '[0, 1, 2, ["x"]]', "[0, 1, 2, [[]]]", "{}", "[" * 100_000,
     f"[0, 1, 2, [1{'0' * 400}]]"],
)  # fmt: skip
def test_what_is_no_duel_in_json(text):
    with pytest.raises(DriftduelError) as error:
        Duel.from_json(text)
    assert len(str(error.value)) < 250


def test_winner_becomes_first_won():
    policy = recorder(in_order=False)
    duel = policy.ask()
    assert (duel.first, duel.second) == (0, 1)
    policy.tell(duel, winner=0)
    policy.ask()
    duel = policy.ask()
    policy.tell(duel, winner=1)
    assert [row[3] for row in policy.learned] == [1, 0]


def test_a_self_duel_is_a_fair_coin_of_its_own():
    policy = recorder(in_order=False)
    before = policy.rng.bit_generator.state
    fair = deepcopy(policy.ledger.coins).random(1000) < 0.5
    for _ in range(2000):
        duel = policy.ask()
        if duel.first == duel.second:
            policy.tell(duel, winner=0)
    won = [row[3] for row in policy.learned]
    assert won == fair.astype(int).tolist()
    assert policy.rng.bit_generator.state == before


@pytest.mark.parametrize("spec", ["anaconda"])
def test_mistakes_are_said_and_change_nothing(spec):
    policy = make_policy(spec, 3, horizon=100)
    duel, other = policy.ask(), policy.ask()
    state = {name: array.copy() for name, array in policy.get_state().items()}
    stranger = duel._replace(round=99)
    forged = duel._replace(notes=(77.0,))
    with pytest.raises(DriftduelError, match="never asked for"):
        policy.tell(stranger, duel.first)
    with pytest.raises(DriftduelError, match="never asked for"):
        policy.tell(forged, duel.first)
    with pytest.raises(DriftduelError, match="never asked for"):
        policy.forget(stranger)
    with pytest.raises(DriftduelError, match="winner=7 cannot have won"):
        policy.tell(duel, 7)
    with pytest.raises(DriftduelError, match="winner=True cannot have won"):
        policy.tell(duel, True)
    with pytest.raises(DriftduelError, match=r"won=2 must be 1 \(the first arm won\), 0"):
        policy.tell_first_won(duel, 2)
    with pytest.raises(DriftduelError, match="None is not a duel"):
        policy.tell(None, 0)
    for name, array in policy.get_state().items():
        np.testing.assert_array_equal(array, state[name])
    policy.tell(duel, duel.first)
    with pytest.raises(DriftduelError, match="round 1 was already answered"):
        policy.tell(duel, duel.first)
    with pytest.raises(DriftduelError, match="already answered"):
        policy.forget(duel)
    policy.tell(other, other.second)


def test_late_answers_keep_their_weights():
    """Told late and shuffled, ANACONDA eliminates whom the duels' own weights eliminate."""
    rng = np.random.default_rng(4)
    K, T, C = 3, 2500, 0.45
    world = make_world(f"total-order:arms={K},rounds={T},phases=1,p=1", 1)
    outcome = outcomes(world, 3)
    policy = make_policy(f"anaconda:constant={C}", K, 5, horizon=T)
    told, pending = [], []
    for t in range(1, T + 1):
        duel = policy.ask()
        pending.append(duel)
        told.append((duel, outcome(t, duel.first, duel.second)))
        while pending and rng.random() < 0.5:
            answered = pending.pop(int(rng.integers(len(pending))))
            policy.tell_first_won(answered, told[answered.round - 1][1])
    sizes = {duel.notes for duel, _ in told}
    for duel in pending:
        policy.tell_first_won(duel, told[duel.round - 1][1])
    assert policy.ledger.due == T + 1
    assert policy.ledger.held == policy.ledger.open == {}
    assert policy.restarts == []
    sums = np.zeros((T + 1, K, K))
    for t, (duel, won) in enumerate(told, start=1):
        sums[t] = sums[t - 1] - 0.5
        sums[t, duel.first, duel.second] += won * duel.notes[0]
    eliminated = set()
    for t in range(2, T + 1):
        starts = np.arange(1, t)
        limit = C * np.log(T) * K * np.sqrt(np.maximum(t - starts, K**2))
        fires = (sums[t] - sums[starts - 1]).max(axis=1) > limit[:, None]
        eliminated |= set(np.flatnonzero(fires.any(axis=0)).tolist())
    assert eliminated == set(range(K)) - set(policy.info().good)
    assert len(eliminated) == 2
    assert len(sizes) > 1  # weights differed while answers were under way


def test_answers_from_before_a_restart_are_of_no_use():
    policy = make_policy("anaconda:constant=0.02", 2, 0, horizon=1000)
    duels = [policy.ask() for _ in range(60)]
    for duel in duels[:40]:
        policy.tell_first_won(duel, 1)
    assert policy.restarts
    assert policy.restarts[-1] <= 40
    policy.ask()
    assert policy.info().episode_start == 61
    won = policy.state.pairs["won"].copy()
    for duel in duels[40:]:
        policy.tell_first_won(duel, 1)
    np.testing.assert_array_equal(policy.state.pairs["won"], won)


@pytest.mark.parametrize(
    ("arms", "parameters", "said"),
    [
        (1, {}, "arms=1 must be"),
        (2.5, {}, "arms=2.5 must be"),
        (3, {"horizon": 1}, "horizon=1 must be"),
        (3, {"constant": 0.0}, "anaconda: constant=0.0 must be a number above 0"),
        (3, {"constant": -1.0}, "constant=-1.0 must be"),
        (3, {"constant": float("nan")}, "constant=nan must be"),
        (3, {"replay_rate": 0.0}, "replay_rate=0.0 must be"),
        (3, {"rule": "x"}, "rule=x must be one of paper, freedman, calibrated"),
        (3, {"estimate": "x"}, "estimate=x must be one of paper, symmetric"),
    ],
)
def test_bad_parameters_get_one_sentence(arms, parameters, said):
    with pytest.raises(DriftduelError) as error:
        Anaconda(arms, np.random.default_rng(0), **parameters)
    assert said in str(error.value)
    if parameters:
        keys = ",".join(f"{key}={value}" for key, value in parameters.items())
        with pytest.raises(DriftduelError):
            make_policy(f"anaconda:{keys}", arms)


def test_saving_a_base_policy_raises(tmp_path):
    from driftduel.policies import save_policy

    with pytest.raises(DriftduelError, match="cannot be saved"):
        save_policy(recorder(in_order=False), tmp_path / "p.npz")
    assert list(tmp_path.iterdir()) == []


def test_warming_up_compiles_and_changes_nothing():
    cold, warm = (make_policy("king", 4, seed=3) for _ in range(2))
    warm.warm()
    assert [cold.ask() for _ in range(50)] == [warm.ask() for _ in range(50)]


def test_replaced_state_is_recompiled():
    """What is called directly must never meet arrays of another layout than it was made for."""
    policy, other = (make_policy("btw", 4, seed=3) for _ in range(2))
    assert policy.ask() == other.ask()
    spread = np.repeat(policy.state.order, 2)[::2]  # the same numbers, not side by side
    policy.state = policy.state._replace(order=spread)
    assert [policy.ask() for _ in range(20)] == [other.ask() for _ in range(20)]


def test_a_tie_is_nothing_to_some_policies_and_a_coin_to_others():
    skips, flips = recorder(in_order=False), recorder(in_order=False)
    flips.configure(ties="coin")
    for policy in (skips, flips):
        for _ in range(40):
            policy.tell(policy.ask(), None)
    # Duels of an arm with itself are decided by the coin whatever a tie means.
    assert [row[:3] for row in skips.learned] == [(t, 0, 0) for t in range(2, 41, 2)]
    assert len(flips.learned) == 40
    assert {row[3] for row in flips.learned} == {0, 1}
    assert make_policy("king", 3).ledger.ties == "skip"
    assert make_policy("exp3s", 3, horizon=10, switches=1).ledger.ties == "coin"
    assert make_policy("sw-dts", 3, ties="coin").ledger.ties == "coin"


def test_the_order_of_learning_can_be_chosen():
    policy = make_policy("dts", 3, order="asked")
    duels = [policy.ask() for _ in range(3)]
    before = policy.get_state()["wins"].copy()
    policy.tell_first_won(duels[2], 1)
    assert np.array_equal(policy.get_state()["wins"], before)
    assert list(policy.ledger.held) == [3]
    policy.forget(duels[0])
    policy.tell(duels[1], None)
    assert policy.ledger.held == policy.ledger.open == {}


def test_a_duel_that_is_refused_flips_no_coin():
    policy = recorder(in_order=False)
    duel = next(each for each in iter(policy.ask, None) if each.first == each.second)
    policy.tell(duel, duel.first)
    before = policy.ledger.coins.bit_generator.state
    with pytest.raises(DriftduelError, match="already answered"):
        policy.tell(duel, duel.first)
    assert policy.ledger.coins.bit_generator.state == before


@pytest.mark.parametrize(
    ("spec", "settings", "said"),
    [
        ("king", {"order": "newest"}, "order='newest' must be asked or arrival"),
        ("king", {"ties": "maybe"}, "ties='maybe' must be skip or coin"),
        ("anaconda", {"order": "arrival"}, "which learns in the order of asking"),
    ],
)
def test_settings_that_make_no_sense_are_refused(spec, settings, said):
    with pytest.raises(DriftduelError, match=said):
        make_policy(spec, 3, **settings)


def test_settings_are_kept_in_a_file_and_cannot_change_later(tmp_path):
    policy = make_policy("dts", 3, order="asked", ties="coin")
    duels = [policy.ask() for _ in range(2)]
    policy.tell(duels[1], None)
    save_policy(policy, tmp_path / "p.npz")
    again = load_policy(tmp_path / "p.npz")
    assert (again.ledger.order, again.ledger.ties) == ("asked", "coin")
    assert again.ledger.held == policy.ledger.held
    with pytest.raises(DriftduelError, match="before the first duel; 2 duels were already"):
        again.configure(ties="skip")
