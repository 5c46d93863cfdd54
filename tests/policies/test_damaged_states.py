"""No saved state, however damaged, leads a kernel out of its arrays, astray or round in circles."""

import re
import subprocess
import sys
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.policies import POLICIES, KernelPolicy, load_policy, make_policy, save_policy
from driftduel.policies.fields import (
    ANY,
    ARM,
    ARM_OR_NONE,
    CONSTANT,
    COUNT,
    ORDER,
    ROUND,
    SHARES,
    Each,
    Growing,
    Named,
    Scope,
    Within,
    records,
    rules_of,
)
from tests.policies.test_conformance import OF_EACH_KIND
from tests.policies.test_saving import rewrite, set_cell, set_key

WITH_COMPILER = pytest.mark.skipif(not jit_enabled(), reason="it is about compiled kernels")


WITH_FEATURES = ("adaptive-logistic:features=2", "lin-ts:features=3,one_hot=true")
WITH_SLATES = ("self-sparring:slate=3", "multi-dueling:slate=4", "maxmin-ucb:slate=8")


def survived(tmp_path, states, first=0, specs=()):
    """Try damages in a process of its own, and return how many states were refused and played."""
    log = tmp_path / "damage.txt"
    command = [sys.executable, "-m", "tests.policies.damaged", "--log", str(log)]
    command += ["--states", str(states), "--first", str(first), *sorted(specs)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    last = log.read_text() if log.exists() else "nothing"
    assert run.returncode == 0, f"it ended with {run.returncode} after {last}\n{run.stdout[-4000:]}"
    refused, played = map(int, re.findall(r"\d+", run.stdout.splitlines()[-1]))
    assert refused + played == states
    return refused, played


@pytest.mark.long
@WITH_COMPILER
def test_damaged_states_are_refused_or_harmless(tmp_path):
    specs = {*OF_EACH_KIND, *WITH_FEATURES, *WITH_SLATES, "anew-exp3s"}
    refused, played = survived(tmp_path, 1000, specs=specs)
    assert refused > 300
    assert played > 100  # a flag or a count that could be right is right


@WITH_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_damaged_states_of_all_policies_and_compositions(tmp_path, part):
    """20,000 in all; run by `make test-states`."""
    survived(tmp_path, 2000, first=10_000 + 2000 * part)


@WITH_COMPILER
@pytest.mark.parametrize(
    ("spec", "change", "said"),
    [
        ("vdb", set_cell("numbers.shared", 0, -2000), "numbers of 'vdb' has (-2000, 0, 2.0); its"),
        ("rmed1", set_cell("numbers.tolerance", 0, -1e9), "of 'rmed1' has -1000000000.0; its"),
        ("oracle-rmed2", set_cell("base.numbers.alpha", 0, -1e9), "of 'rmed2' has -1000000000.0"),
        (
            "uniform",
            set_cell("arms", 0, 99),
            "arms of 'uniform' has 99; it must be between 0 and 3",
        ),
        ("dts", set_cell("wins", (0, 1), np.nan), "wins of 'dts' has nan; it must be between 0"),
        ("sw-dts", set_cell("ring", 0, 5), "is inconsistent"),
        ("king", set_cell("order", 0, 3), "order of 'king' must have every arm once"),
        (
            "king",
            set_cell("numbers.crowned", 0, 2**40),
            "numbers of 'king' has 1099511627776; it must be between 0 and 21 (crowned)",
        ),
        ("court", set_cell("shares", 0, 0.5), "shares of 'court' must be probabilities that add"),
        ("court", set_cell("known", slice(None), 0), "is inconsistent"),
        ("court", set_cell("numbers.seats", 0, 2), "is inconsistent"),
        ("court", set_cell("numbers.here", 0, 3), "is inconsistent"),
        ("court", set_cell("wins", (0, 1), np.nan), "wins of 'court' has nan; it must be between"),
        (
            "borda-king",
            set_cell("numbers.rival", 0, 4),
            "of 'borda-king' has 4; it must be",
        ),
        ("borda-king", set_key("pending", [[0, 1, 20, [3.0, 0.0]]]), "'borda-king' has 3.0"),
        ("exp3s", set_cell("weights", (0, 0), 0.9), "must be probabilities that add up to 1"),
        ("exp3s", set_key("pending", [[0, 1, 20, [0.0, 0.5]]]), "note of a duel of 'exp3s' has 0"),
        ("exp3s", set_key("pending", [[0, 1, 20, [0.5]]]), "has 2 notes, not 1"),
        ("mdb", set_key("pending", [[0, 1, 20, [99.0]]]), "has 99.0; it must be between -1 and 5"),
        (
            "anaconda",
            set_cell("numbers.episode", 0, 10**15),
            "numbers of 'anaconda' has 1000000000000000",
        ),
        ("dts", set_key("arms", 10**12), "its arms is 1000000000000; it must be from 2 to 1000"),
        ("dts", set_key("asked", 2**63), "number of rounds is 9223372036854775808"),
        ("dts", set_key("asked", -1), "number of rounds is -1"),
        ("dts", set_key("restarts", [99]), "restart is 99; it must be from 1 to 20"),
        ("dts", set_key("rng", "[" * 100_000), "not a state of numpy's PCG64"),
        ("dts", set_key("policy", "x" * 100_000), "damaged saved policy: there is no policy"),
        ("sw-dts", set_key("parameters", {"window": 10**12}), "window=1000000000000"),
        ("dts", set_key("parameters", {"alpha": 10**400}), "alpha=1000"),
        ("dts", set_key("pending", [[0, 1, 99, []]]), "round is 99; it must be from 1 to 20"),
        ("dts", set_key("pending", 2 * [[0, 1, 20, []]]), "two duels of one round"),
        ("dts", set_key("held", [[[0, 1, 20, []], 1]]), "holds answers that are due"),
        ("anaconda", set_key("next", 5), "lacks duels that are pending"),
        (
            "anaconda",
            lambda header, _: header.update(next=20, held=[[[0, 1, 20, [16.0]], 1]]),
            "holds answers that are due",
        ),
    ],
)
def test_damaged_headers_raise_with_message(tmp_path, spec, change, said):
    policy = make_policy(spec, 4, 1, horizon=500, switches=1, at="300")
    for t in range(20):
        policy.tell_first_won(policy.ask(), t % 2)
    path = tmp_path / "p.npz"
    save_policy(policy, path)
    assert load_policy(path).info() == policy.info()
    rewrite(path, change)
    with pytest.raises(DriftduelError) as error:
        load_policy(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 700


def test_every_field_of_every_policy_is_declared():
    for entry in POLICIES:
        policy = make_policy(entry.name, 4, horizon=500, switches=1, at="300")
        while policy is not None:
            for name, rule in rules_of(type(policy.state)).items():
                assert rule is not None or name == "base", f"{entry.name}: {name}"
            policy = getattr(policy, "base", None)


class Undeclared(NamedTuple):
    count: Annotated[Any, COUNT]
    forgotten: Any


class Forgetful(KernelPolicy):
    """Has a field that nobody said anything of."""

    name = "forgetful"
    kernels = POLICIES["uniform"].factory.kernels

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.state = Undeclared(np.zeros(1), np.zeros(1))


def test_a_field_that_is_not_declared_is_neither_saved_nor_loaded(tmp_path):
    policy = Forgetful(3, np.random.default_rng(0))
    said = (
        "the state of policy 'forgetful' cannot be loaded: declare the values of 'forgotten' in "
        "its State, for example 'forgotten: Annotated"
    )
    with pytest.raises(DriftduelError, match=re.escape(said)):
        policy.set_state({"count": np.ones(1), "forgotten": np.ones(1)})
    with pytest.raises(DriftduelError, match=re.escape(said)):
        save_policy(policy, tmp_path / "p.npz")
    assert list(tmp_path.iterdir()) == []


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("rule", "right", "wrong"),
    [
        (ANY, [-(2**63), 5], []),
        (ARM, [0, 3], [-1, 4, -2000, 2**62]),
        (ARM_OR_NONE, [-1, 0, 3], [-2, 4]),
        (COUNT, [0, 2**53], [-1, 2**53 + 2, -(2**63)]),
        (COUNT, [0.0, 0.5, 2.0**53], [-0.1, NAN, INF, -INF, 1e308]),
        (ROUND, [0, 11], [-1, 12]),
        (CONSTANT, [7], [6, 8]),
        (Within(-1, 1), [-1, 0, 1], [-2, 2]),
    ],
)
def test_rules(rule, right, wrong):
    scope = Scope(arms=4, rounds=10)
    fresh = np.full(1, 7)
    for value in right:
        assert rule.wrong(np.array([value]), fresh, scope) is None
        assert Growing(Each(ANY, rule)).wrong(np.array([[9, value]]), fresh, scope) is None
        one = records(1, king=0, it=value)
        assert Named(king=ARM, it=rule).wrong(one, records(1, king=0, it=7), scope) is None
    for value in wrong:
        assert str(value) in rule.wrong(np.array([value]), fresh, scope)
        one = records(1, king=0, it=value)
        assert "(it)" in Named(king=ARM, it=rule).wrong(one, records(1, king=0, it=7), scope)
        assert "are declared" in Named(it=rule).wrong(one, one, scope)
        said = Each(ANY, rule).wrong(np.array([[9, value]]), np.array([[9, 7]]), scope)
        assert "(place 1)" in said


def test_rules_about_rows():
    scope = Scope(arms=3, rounds=10)
    for order, sound in (([2, 0, 1], True), ([2, 0, 0], False), ([1, 2, 3], False)):
        assert (ORDER.wrong(np.array(order), None, scope) is None) is sound
    for row, sound in (([0.5, 0.5], True), ([0.5, 0.4], False), ([1.5, -0.5], False)):
        assert (SHARES.wrong(np.array([[0.5, 0.5], row]), None, scope) is None) is sound
    assert "3 places; 2 are declared" in Each(ANY, ANY).wrong(np.zeros(3), np.zeros(3), scope)


def test_a_field_cannot_have_a_name_that_means_something_else_without_the_compiler():
    assert records(2, lap=3)[1].lap == 3
    with pytest.raises(ValueError, match="no field of records can be named 'round'"):
        records(1, round=3)
