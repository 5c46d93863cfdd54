"""Policies that take requests: the filters, the choices, the contract."""

import json
import math
import pickle
from copy import deepcopy

import numpy as np
import pytest

from driftduel import play
from driftduel.errors import DriftduelError, LogError
from driftduel.policies import (
    Duel,
    Event,
    EventLog,
    Recorder,
    _request_filters as filters,
    fold,
    make_policy,
    policy_from_bytes,
    policy_to_bytes,
)
from driftduel.requests import RequestShape, ScaledRequest
from driftduel.testing import assert_same
from tests.policies.request_reference import REFERENCES, ReferenceFilter

RIVALS = ("lin-ucb", "lin-ts", "colstim", "maxinp")
ALL = ("adaptive-logistic", *RIVALS)
# Each policy costs several seconds of compilation, in each of the two modes.
MOSTLY_LONG = [
    pytest.param(spec, marks=() if spec in ("adaptive-logistic", "lin-ucb") else pytest.mark.long)
    for spec in ALL
]


def random_request(rng, shape):
    if shape.one_hot:
        return np.eye(shape.features)[rng.integers(shape.features)].tolist()
    return rng.normal(size=shape.features).tolist()


# ---- filters ----


@pytest.mark.parametrize(("arms", "d"), [(2, 1), (3, 2), (5, 4), (4, 9)])
@pytest.mark.parametrize("memory", [0.0, 30.0, 40_000.0])
def test_a_filter_equals_the_reference_that_inverts_matrices(arms, d, memory):
    rng = np.random.default_rng([arms, d])
    size = arms * d
    mean, factor, work = np.zeros(size), 2.0 * np.eye(size), np.zeros(size)
    slow = ReferenceFilter(arms, d, memory)
    for t in range(1, 150):
        filters.forget(mean, factor, work, memory, t)
        slow.forget(t)
        first, second = (int(arm) for arm in rng.choice(arms, 2, replace=False))
        x = rng.normal(size=d)
        x /= np.linalg.norm(x)
        won, weight = float(rng.integers(2)), float(rng.choice([1.0, 0.5, 3.0]))
        score = filters.update(mean, factor, work, first, second, x, won, weight)
        assert score == pytest.approx(slow.update(first, second, x, won, weight), rel=1e-9)
        np.testing.assert_allclose(mean, slow.mean, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(factor @ factor.T, slow.covariance, rtol=1e-7, atol=1e-9)
        spread = np.zeros((arms, size))
        filters.project_all(factor, x, spread)
        variance = filters.leverage(spread, first, second)
        assert variance == pytest.approx(slow.variance(first, second, x), rel=1e-7)


def test_a_filter_that_is_never_asked_returns_to_the_prior():
    size, memory = 4, 40.0
    mean, factor, work = np.zeros(size), 2.0 * np.eye(size), np.zeros(size)
    x = np.ones(1)
    for _ in range(60):
        filters.update(mean, factor, work, 0, 1, x, 1.0, 1.0)
    assert mean[0] > 1.0
    for t in range(1, 4000):
        filters.forget(mean, factor, work, memory, t)
    assert abs(mean).max() < 0.02
    deviations = np.sqrt(np.diag(factor @ factor.T))
    assert 1.5 < deviations.min() <= deviations.max() < 2.5  # neither collapsed nor wound up


# ---- choices ----


@pytest.mark.parametrize("spec", MOSTLY_LONG)
@pytest.mark.parametrize(
    ("shape", "mode"),
    [
        (RequestShape(), "serve"),
        (RequestShape(3), "serve"),
        (RequestShape(3), "panel"),
        (RequestShape(3, one_hot=True), "serve"),
    ],
)
def test_choices_equal_the_reference(spec, shape, mode):
    """The reference inverts matrices, uses dictionaries, and follows the page step by step."""
    arms, rng = 4, np.random.default_rng(5)
    keys = {"features": shape.features, "one_hot": shape.one_hot}
    memory = None if spec == "adaptive-logistic" else 60.0
    policy = make_policy(spec, arms, 3, mode=mode, memory=memory, **keys)
    slow = REFERENCES[spec](arms, shape.size, memory, policy.parameters.get("width"), mode)
    draws = deepcopy(policy.rng)
    slow.draw = draws.random
    theta = rng.normal(size=(arms, shape.size)) * 2
    waiting = []
    seen = set()
    for t in range(1, 700):
        if t == 350:
            theta = -theta
        if t == 200:
            policy.retire(0)
            slow.present.discard(0)
        if t == 300:
            policy.admit(0)
            slow.present.add(0)
            slow.newcomers = (
                {} if spec == "adaptive-logistic" else {0: (slow.clock, slow.clock + 1)}
            )
        if t % 100 == 50:
            prices = rng.normal(size=arms) * 0.3
            policy.set_prices(prices)
            slow.prices = prices
        request = random_request(rng, shape)
        duel = policy.ask(request) if shape.features else policy.ask()
        assert duel.notes == shape.scale(request)
        assert (duel.first, duel.second) == slow.ask(np.array(duel.notes)), f"round {t}"
        seen.add(duel.alone)
        waiting.append(duel)
        while len(waiting) > t % 7:  # late answers
            duel = waiting.pop(0)
            x = np.array(duel.notes)
            p = 1 / (1 + math.exp(-(theta[duel.first] - theta[duel.second]) @ x))
            won = int(rng.random() < p) if rng.random() > 0.05 else -1
            policy.tell_first_won(duel, won)
            if won >= 0 and duel.first != duel.second:
                slow.tell(duel.first, duel.second, won, x)
    assert len(seen) == (1 if mode == "panel" else 2) or spec in ("colstim",)
    assert policy.best() in policy.present
    if spec == "adaptive-logistic":
        assert policy.state.numbers[0].alarms == slow.alarms
        np.testing.assert_allclose(policy.state.evidence, slow.evidence, atol=1e-6)


# ---- the contract ----


def lead_a_life(policy, rounds, seed, log=None):
    """Live with a policy as badly as it gets; return the recorder."""
    life, rng = Recorder(policy, log), np.random.default_rng(seed)
    shape = policy.request_shape
    waiting = []
    for _ in range(rounds):
        request = random_request(rng, shape) if shape.features else None
        what = rng.random()
        if what < 0.03:
            life.set_prices(rng.normal(size=policy.arms))
        elif what < 0.06:
            first, second = map(int, rng.choice(policy.arms, 2, replace=False))
            winner = (first, second, None)[int(rng.integers(3))]
            life.add_past_vote(first, second, winner, 0.5, request)
        elif what < 0.08 and len(policy.present) > 1:
            life.retire(int(rng.choice(policy.present)))
        elif what < 0.1 and len(policy.present) < policy.arms:
            life.admit(min(set(range(policy.arms)) - set(policy.present)))
        elif what < 0.105:
            life.admit()
        waiting.append(life.ask(request))
        while len(waiting) > 9 or (waiting and rng.random() < 0.5):
            duel = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.1:
                life.forget(duel)
            else:
                life.tell(duel, (duel.first, duel.second, None)[int(rng.integers(3))])
    return life


@pytest.mark.parametrize("spec", MOSTLY_LONG)
@pytest.mark.parametrize("keys", ["features=2", "features=3,one_hot=true", "features=0"])
def test_a_life_folds_saves_and_copies_to_the_bit(spec, keys):
    for settings in (
        {"order": "arrival", "mode": "serve", "ties": "skip"},
        {"order": "asked", "mode": "panel", "ties": "coin"},
    ):

        def fresh(settings=settings):
            return make_policy(f"{spec}:{keys}", 3, 7, prices=[0.1, 0.0, 0.2], **settings)

        life = lead_a_life(fresh(), 150, 1)
        lines = EventLog.from_lines("".join(life.log.to_lines()))
        assert lines == life.log
        assert {event.kind for event in lines} >= {"priced", "heard", "left", "joined"}
        assert_same(fold(fresh(), lines), life.policy)
        for copy in (
            policy_from_bytes(policy_to_bytes(life.policy)),
            deepcopy(life.policy),
            pickle.loads(pickle.dumps(life.policy)),
        ):
            assert_same(copy, life.policy)
            rest = lead_a_life(copy, 40, 2).log
            assert rest == lead_a_life(deepcopy(life.policy), 40, 2).log
            assert_same(fold(life.policy, rest), copy)


def test_a_duel_carries_its_request_through_json():
    policy = make_policy("adaptive-logistic:features=2", 3)
    duel = policy.ask([0.5, -7.0])
    assert duel.notes == RequestShape(2).scale([0.5, -3.0])
    again = Duel.from_json(duel.to_json())
    policy.ask([1.0, 1.0])
    policy.tell(again, again.first)
    assert again == duel


def test_prices_are_subtracted_and_never_learned():
    policies = [make_policy("adaptive-logistic", 3), make_policy("adaptive-logistic", 3)]
    policies[1].configure(prices=[9.0, 0.0, 0.0])
    assert [policy.ask().first for policy in policies] == [0, 1]
    for policy in policies:
        for _ in range(50):
            policy.add_past_vote(0, 1, 0)
            policy.add_past_vote(1, 2, 1)
    learned = ("mean", "factor", "evidence")
    one, other = (policy.get_state() for policy in policies)
    assert all((one[name] == other[name]).all() for name in learned)
    assert [policy.best() for policy in policies] == [0, 1]
    assert policies[1].best(prices=[0, 0, 0]) == 0
    assert policies[0].best(prices=[9, 9, 0]) == 2


def test_best_depends_on_the_request():
    policy = make_policy("adaptive-logistic:features=2,one_hot=true", 2)
    for _ in range(30):
        policy.add_past_vote(0, 1, 0, request=[1, 0])
        policy.add_past_vote(0, 1, 1, request=[0, 1])
    before = policy_to_bytes(policy)
    assert (policy.best([1, 0]), policy.best([0, 1])) == (0, 1)
    assert policy_to_bytes(policy) == before


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: p.ask(), "was built with features=2; pass the request, a list of 2 numbers"),
        (lambda p: p.ask([1.0]), "a request has 1 numbers where 2 are declared"),
        (lambda p: p.ask([1.0, float("nan")]), "a request has nan as number 2"),
        (lambda p: p.ask("ab"), "the request 'ab' must be a list of numbers"),
        (lambda p: p.ask([1, "x"]), "a request has 'x' as number 2"),
        (lambda p: p.ask(ScaledRequest((1.0, 1.0, 1.0))), "has the length 1.73205, not 1"),
        (lambda p: p.set_prices([1.0]), "prices=[1.0] must be 3 finite numbers in log-odds"),
        (lambda p: p.set_prices([1, 2, math.inf]), "must be 3 finite numbers"),
        (lambda p: p.add_past_vote(0, 1, 0), "pass the request"),
        (lambda p: make_policy("king", 3).ask([1.0]), "policy 'king' takes no request"),
        (lambda p: make_policy("king", 3).set_prices([1, 2, 3]), "'king' takes no prices"),
        (lambda p: make_policy("adaptive-logistic", 3).ask([1.0]), "build it with features="),
        (
            lambda p: make_policy("adaptive-logistic:one_hot=true,features=1", 3),
            "one_hot=true needs features=2 or more",
        ),
        (
            lambda p: make_policy("adaptive-logistic:features=63", 9),
            "9 options x 64 numbers of a scaled request are 576 coefficients, more than 512",
        ),
        (
            lambda p: make_policy("anew-adaptive-logistic:features=2", 3),
            "'anew-adaptive-logistic' passes no requests on",
        ),
        (
            lambda p: make_policy("lin-ucb:features=2,one_hot=true", 2).ask([1, 1]),
            "is not one-hot; exactly one number must be 1",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(call, said):
    policy = make_policy("adaptive-logistic:features=2", 3)
    before = policy_to_bytes(policy)
    with pytest.raises(DriftduelError) as error:
        call(policy)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert policy_to_bytes(policy) == before


BROKEN = [
    None, "", "abc", b"x", 7, 7.5, [], [[]], [[1, 2]], {}, {"a": 1}, {1, 2}, object(), [None, 1],
    [1, "1"], [math.nan, 0], [math.inf, 0], [10**400, 0], [1, 2, 3], [1j, 2], (), True,
    np.zeros((2, 2)), np.array([1.0]), np.array(["a", "b"]), np.array([None, 1]), range(3), "12",
    [1, [2]], ScaledRequest(()), ScaledRequest((1.0,)), ScaledRequest((math.nan, 0.0, 0.0)),
    ScaledRequest((2.0, 0.0, 0.0)), ScaledRequest((1e300, 1e300, 1e300)), np.float64(3),
]  # fmt: skip


def test_ten_thousand_broken_requests_are_one_sentence_each():
    rng = np.random.default_rng(1)
    policy = make_policy("adaptive-logistic:features=2", 3)
    hot = make_policy("adaptive-logistic:features=3,one_hot=true", 3)
    before = policy_to_bytes(policy), policy_to_bytes(hot)
    for number in range(10_000):
        broken = BROKEN[number % len(BROKEN)]
        if number >= 5 * len(BROKEN):  # lists of odd things and lengths
            things = [1.0, 0.0, -2, "x", None, math.nan, math.inf, 1e308, [], True, 10**400]
            broken = [things[i] for i in rng.integers(len(things), size=rng.integers(0, 6))]
            broken += [0.5] * (4 if len(broken) in (2, 3) else 0)  # no length that may be right
        for one in (policy, hot):
            with pytest.raises(DriftduelError) as error:
                one.ask(broken)
            assert "\n" not in str(error.value)
            assert len(str(error.value)) < 300
            assert str(error.value).endswith(".")
    assert (policy_to_bytes(policy), policy_to_bytes(hot)) == before


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event("asked", 1, 0, 1), "pass the request"),
        (Event("asked", 1, 0, 1, notes=(1.0,)), "a scaled request has 1 numbers where 3"),
        (Event("asked", 1, 0, 1, notes=(1.0, 1.0, 1.0)), "has the length"),
        (Event("asked", 1, 0, 1, notes=(math.nan, 1.0, 1.0)), "has the length nan"),
        (Event("heard", 0, 0, 1, 1, (1.0,)), "pass the request"),
        (Event("heard", 0, 0, 1, 1, (1.0, 0.5)), "a scaled request has 1 numbers where 3"),
        (Event("priced", notes=(1.0,)), "prices=[1.0] must be 3 finite"),
        (Event("priced", notes=(1.0, math.nan, 0.0)), "must be 3 finite"),
    ],
)
def test_a_log_with_a_damaged_request_is_refused(event, said):
    policy = make_policy("adaptive-logistic:features=2", 3)
    with pytest.raises(LogError) as error:
        fold(policy, EventLog([event]))
    assert said in str(error.value)
    assert error.value.place == 0


def test_a_log_with_requests_for_a_policy_without_is_refused():
    x = RequestShape(2).scale([1.0, 0.0])
    king = make_policy("king", 3)
    for event in (
        Event("heard", 0, 0, 1, 1, (1.0, *x)),
        Event("priced", notes=(1.0, 0.0, 0.0)),
    ):
        with pytest.raises(LogError, match=r"takes no|scaled request"):
            fold(king, EventLog([event]))


def test_scaling_one_request_equals_scaling_many():
    rng = np.random.default_rng(0)
    for features in (0, 1, 4, 17, 63):
        shape = RequestShape(features)
        rows = 2 * rng.normal(size=(50, features))
        many = shape.scale_all(rows)
        one = np.array([shape.scale(row) for row in rows])
        assert (many == one).all()
        np.testing.assert_allclose((many**2).sum(axis=1), 1.0, rtol=1e-12)
        c = np.hstack((np.full((50, 1), 0.7 * math.sqrt(features + 1)), rows.clip(-3, 3)))
        np.testing.assert_allclose(many, c / np.linalg.norm(c, axis=1)[:, None], rtol=1e-12)
    with pytest.raises(DriftduelError, match="a request has 3 numbers"):
        RequestShape(2).scale_all(np.zeros((4, 3)))
    with pytest.raises(DriftduelError, match="not one-hot"):
        RequestShape(2, one_hot=True).scale_all([[1, 0], [1, 1]])


def test_the_bound_counts_the_starts_of_all_excursions():
    policy = make_policy("adaptive-logistic", 3)
    assert policy.false_alarms_at_most() == 0.0
    for _ in range(5):
        policy.tell(policy.ask(), 0)
    starts = policy.state.starts[-1]
    assert 6 <= starts <= 30  # six shorter filters, five answers
    assert policy.false_alarms_at_most() == pytest.approx(2 * math.log(1 + starts / 100))


def test_json_of_a_log_has_the_request():
    life = lead_a_life(make_policy("lin-ucb:features=2", 3), 5, 3)
    asked = [json.loads(line) for line in life.log.to_lines() if '"asked"' in line]
    assert all(len(event["notes"]) == 3 for event in asked)


@pytest.mark.long
@pytest.mark.parametrize("key", ["", ",delay=30", ",ties=0.3"])
def test_false_alarms_in_stationary_worlds_are_within_the_bound(key):
    """The record has 1,000 worlds of each kind; see docs/research/requests.md."""
    alarms, bounds = [], []
    for seed in range(60):
        features = ("features=2", "features=3,categories=3,spread=1.7", "features=0,spread=1")
        world = f"routing:arms=4,rounds=2000,phases=1,{features[seed % 3]}{key}"
        game = play("adaptive-logistic", world, 500 + seed, points=2)
        alarms.append(len(game.restarts))
        bounds.append(game.policy.false_alarms_at_most())
    assert np.mean(alarms) < 0.25 * np.mean(bounds)
