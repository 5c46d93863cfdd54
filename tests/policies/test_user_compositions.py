"""Compositions resolve for users' policies that qualify, and name the property that is missing."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from driftduel import play
from driftduel._internal.compiler import jit_enabled
from driftduel.authoring import (
    POLICIES,
    RESTARTED,
    DriftduelError,
    KernelPolicy,
    Kernels,
    Policy,
    Range,
    Wrapper,
    fields,
    inline_kernel,
    kernel,
    pass_on,
    register_wrapper,
    uniform,
)
from driftduel.policies import make_policy
from driftduel.testing import CHECKS, check_policy, check_twins

pytestmark = pytest.mark.kernels

WORLD = "total-order:arms=4,rounds=6000,phases=4,p=0.9,seed=3"
FORGETS = CHECKS["a sliding window forgets"]


class State(NamedTuple):
    wins: Annotated[Any, fields.COUNT]
    leader: Annotated[Any, fields.ARM]


@kernel
def leading(state):
    best, most = 0, -1.0
    for i in range(len(state.wins)):
        total = 0.0
        for j in range(len(state.wins)):
            total += state.wins[i, j] - state.wins[j, i]
        if i == 0 or total > most:
            best, most = i, total
    return best


@inline_kernel
def ask(state, rng, t, notes):
    state.leader[0] = leading(state)
    if uniform(rng) < 0.8:
        return state.leader[0], state.leader[0]
    return int(uniform(rng) * len(state.wins)), int(uniform(rng) * len(state.wins))


@inline_kernel
def tell(state, t, first, second, won, notes):
    if first != second:
        if won == 1:
            state.wins[first, second] += 1.0
        else:
            state.wins[second, first] += 1.0
    return 0


@kernel
def reset(state):
    state.wins[:] = 0.0
    state.leader[0] = 0


class Counting(KernelPolicy):
    """Play the arm with the most wins, and now and then a random pair."""

    kernels = Kernels(ask, tell, reset, leading, any_duel=True)
    transient = ("leader",)

    def __init__(self, arms, rng, horizon: Annotated[int, Range(1), "rounds"] = 100):
        super().__init__(arms, rng)
        self.state = State(np.zeros((arms, arms)), np.zeros(1, np.int64))


def without_horizon(self, arms, rng):
    Counting.__init__(self, arms, rng)


def register(kind, name="mine"):
    return POLICIES.register(name)(kind)


def variant(**attributes):
    """Return another class like Counting, with some attributes changed."""
    return type("Variant", (Counting,), attributes)


@pytest.fixture
def mine():
    with POLICIES.temporarily():
        yield register(variant())


@pytest.fixture(scope="module")
def mergerucb():
    """The example, which is outside of the package."""
    path = Path(__file__).parents[2] / "examples" / "mergerucb" / "mergerucb.py"
    spec = importlib.util.spec_from_file_location("mergerucb", path)
    module = importlib.util.module_from_spec(spec)
    with POLICIES.temporarily():
        sys.modules["mergerucb"] = module
        spec.loader.exec_module(module)
        yield module
        del sys.modules["mergerucb"]


@pytest.mark.parametrize(
    "prefix", ["sw", "discounted", "periodic", "oracle", "glr", "detect", "mdb", "doubling", "anew"]
)
def test_every_prefix_resolves_for_a_registered_policy(prefix, mine):
    name = f"{prefix}-mine"
    assert name in POLICIES
    assert POLICIES[name].name == name
    policy = make_policy(name, 4, 1, horizon=10**6, switches=1, at="300")
    assert policy.name == name
    assert name not in [entry.name for entry in POLICIES]
    for _ in range(20):
        duel = policy.ask()
        policy.tell(duel, min(duel.first, duel.second))


def test_a_window_around_a_user_policy_changes_its_games(mine):
    plain, windowed = (play(each, WORLD, seed=2) for each in ("mine", "sw-mine:window=200"))
    assert windowed.total < 0.7 * plain.total
    assert play("sw-mine:window=200", WORLD, seed=2).total == windowed.total


def test_doubling_builds_a_user_policy_for_each_epoch(mine):
    policy = make_policy("doubling-mine:epoch=32", 4, 1)
    for _ in range(230):
        duel = policy.ask()
        policy.tell(duel, min(duel.first, duel.second))
    assert policy.restarts == [32, 96, 224]
    assert policy.base.parameters["horizon"] == 256


def test_compositions_nest(mine):
    policy = make_policy("anew-sw-mine:window=50", 4, 1)
    policy.retire(2)
    assert policy.present == (0, 1, 3)
    assert make_policy("periodic-sw-mine", 4, 1).name == "periodic-sw-mine"
    assert "sw-sw-mine" not in POLICIES


@pytest.mark.parametrize(
    ("attributes", "prefixes", "missing"),
    [
        ({"kernels": Kernels(ask, tell, None, leading, any_duel=True)},
         ["periodic", "oracle", "glr", "detect", "mdb"], "no kernel `reset`"),
        ({"kernels": Kernels(ask, tell, reset, None, any_duel=True)}, ["detect"],
         "no kernel `best_guess`"),
        ({"kernels": Kernels(ask, tell, reset, leading)}, ["sw", "discounted", "glr"],
         "do not set `any_duel=True`"),
        ({"transient": ()}, ["sw", "discounted"], "keeps `leader` outside of `wins`"),
        ({"__init__": without_horizon}, ["doubling"], "no key `horizon`"),
    ],
)  # fmt: skip
def test_the_missing_property_is_named(attributes, prefixes, missing):
    known = {"horizon": 10**6, "switches": 1, "at": "300"}
    everything = {"sw", "discounted", "periodic", "oracle", "glr", "detect", "mdb", "doubling"}
    with POLICIES.temporarily():
        register(variant(**attributes))
        for prefix in prefixes:
            with pytest.raises(DriftduelError) as refused:
                make_policy(f"{prefix}-mine", 4, 1, **known)
            assert f"{prefix!r} cannot be put around policy 'mine': " in str(refused.value)
            assert missing in str(refused.value)
        for prefix in sorted(everything - {*prefixes}):
            make_policy(f"{prefix}-mine", 4, 1, **known)


def test_a_window_needs_win_counts():
    class Other(NamedTuple):
        counts: Annotated[Any, fields.COUNT]

    def init(self, arms, rng):
        KernelPolicy.__init__(self, arms, rng)
        self.state = Other(np.zeros((arms, arms)))

    with POLICIES.temporarily():
        register(variant(__init__=init))
        with pytest.raises(DriftduelError, match="no field `wins`"):
            make_policy("sw-mine", 4, 1)


def test_a_plain_policy_cannot_be_wrapped_by_kernels(mergerucb):
    assert "sw-plain-mergerucb" not in POLICIES
    with pytest.raises(DriftduelError, match="no compiled kernels; derive it from KernelPolicy"):
        make_policy("periodic-plain-mergerucb", 4, 1)
    assert make_policy("anew-plain-mergerucb", 4, 1).name == "anew-plain-mergerucb"


def test_an_unknown_name_inside_is_named():
    with pytest.raises(DriftduelError, match="no policy named 'rubc'; did you mean rucb"):
        make_policy("sw-rubc", 4)


# ---- a window forgets ----


def test_mergerucb_takes_no_window(mergerucb):
    for prefix in ("sw", "discounted"):
        with pytest.raises(DriftduelError, match="keeps `batch` outside of `wins`"):
            make_policy(f"{prefix}-mergerucb", 8)
    for prefix in ("periodic", "oracle", "glr", "detect", "mdb"):
        make_policy(f"{prefix}-mergerucb", 8, horizon=10**6, switches=1, at="300")


def test_the_check_finds_what_a_false_declaration_hides(mergerucb, monkeypatch):
    """With all fields declared transient the window is accepted, and has no effect."""
    fields_outside = ("batch", "numbers")
    monkeypatch.setattr(mergerucb.MergeRUCB, "transient", fields_outside)
    world = "total-order:arms=8,rounds=40000,phases=2,p=0.9,seed=1"
    totals = {play(each, world, seed=1).total for each in ("mergerucb", "sw-mergerucb:window=2000")}
    assert min(totals) > 2000  # with and without the window it keeps the first winner
    with pytest.raises(AssertionError, match="after the window was refilled it chose arms"):
        FORGETS("mergerucb")


def test_the_check_finds_a_memory_that_is_declared_as_scratch():
    class Scratch(NamedTuple):
        wins: Annotated[Any, fields.COUNT]
        leader: Annotated[Any, fields.ANY]

    def init(self, arms, rng):
        Counting.__init__(self, arms, rng)
        self.state = Scratch(*self.state)

    @inline_kernel
    def ask_leader(state, rng, t, notes):
        return state.leader[0], state.leader[0]

    biased = Kernels(ask_leader, tell_and_forget_nothing, reset, leading, any_duel=True)
    with POLICIES.temporarily():
        register(variant(kernels=biased, __init__=init, transient=()))
        with pytest.raises(AssertionError, match="after the window was refilled"):
            FORGETS("mine")


@inline_kernel
def tell_and_forget_nothing(state, t, first, second, won, notes):
    """Remember the highest arm that ever won as the first one."""
    if won == 1:
        state.leader[0] = max(state.leader[0], first)
    return tell(state, t, first, second, won, notes)


@pytest.mark.long
@pytest.mark.parametrize("name", ["rucb", "rcs", "dts", "dts-plus", "rmed1", "rmed2", "ccb"])
def test_a_window_forgets_around_every_listed_policy(name):
    FORGETS(f"sw-{name}")
    FORGETS(name)


def test_a_window_around_a_user_policy_forgets(mine):
    FORGETS("mine")
    FORGETS("sw-mine")


SCRIPT = """
from tests.policies.test_user_compositions import Counting, Kernels, POLICIES, fields, inline_kernel
from tests.policies.test_user_compositions import leading, np, play, reset, tell, uniform
from typing import Annotated, Any, NamedTuple

class State(NamedTuple):
    wins: Annotated[Any, fields.COUNT]
    leader: Annotated[Any, fields.ARM]

@inline_kernel
def ask(state, rng, t, notes):
    if uniform(rng) < {share}:
        return leading(state), leading(state)
    return int(uniform(rng) * len(state.wins)), 0

@POLICIES.register("of-a-script")
class OfAScript(Counting):
    kernels = Kernels(ask, tell, reset, leading, any_duel=True)

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.state = State(*self.state)

print(play("sw-of-a-script:window=50", "two-arm", seed=1).total)
"""


@pytest.mark.long
@pytest.mark.skipif(not jit_enabled(), reason="nothing is compiled")
def test_a_script_can_change_a_kernel_inside_a_wrapper(tmp_path):
    """The wrapper's own kernels are in the cache, for the record of an earlier process."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    script = tmp_path / "script.py"
    for share in (0.5, 0.6):
        script.write_text(SCRIPT.format(share=share))
        out = subprocess.run(
            [sys.executable, str(script)],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert out.returncode == 0, out.stderr


# ---- wrappers of one's own ----


def test_a_wrapper_of_the_user_goes_around_all_that_qualify(mine):
    class Twice(NamedTuple):
        base: Any
        left: Annotated[Any, fields.COUNT]

    def around(inner):
        inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset

        def ask_inside(state, rng, t, notes):
            return inner_ask(state.base, rng, t, notes)

        def tell_inside(state, t, first, second, won, notes):
            flags = inner_tell(state.base, t, first, second, won, notes)
            state.left[0] += 1
            if state.left[0] == 100:
                state.left[0] = 0
                inner_reset(state.base)
                flags |= RESTARTED
            return flags

        return Kernels(inline_kernel(ask_inside), inline_kernel(tell_inside), **pass_on(inner))

    class Hundred(Wrapper):
        """Restart every hundred answers."""

        prefix = "hundred"
        wrap = staticmethod(around)

        def __init__(self, arms, rng, base):
            super().__init__(arms, rng, base)
            self.state = Twice(base.state, np.zeros(1, np.int64))

    register_wrapper(Hundred, ["dts"])
    try:
        assert [entry.name for entry in POLICIES if entry.name.startswith("hundred-")] == [
            "hundred-dts"
        ]
        game = play("hundred-mine", "total-order:arms=3,rounds=1000,seed=1", seed=1)
        assert game.restarts == list(range(100, 1001, 100))
        assert "hundred-anaconda" not in POLICIES
    finally:
        del POLICIES._prefixes["hundred"]


# ---- twins ----


def test_twins_agree(mergerucb):
    check_twins("plain-mergerucb:alpha=0.6,size=3", "mergerucb:alpha=0.6,size=3", rounds=400)


def test_check_twins_names_the_first_difference(mergerucb):
    with pytest.raises(AssertionError, match=r"2 arms, seed 0, round \d+: .* chose arms"):
        check_twins("plain-mergerucb:alpha=0.6", "mergerucb:alpha=0.61")
    with POLICIES.temporarily():

        @POLICIES.register("wasteful")
        class Wasteful(mergerucb.PlainMergeRUCB):
            def choose(self, t):
                chosen = super().choose(t)
                self.rng.random()
                return chosen

        with pytest.raises(AssertionError, match="drew different numbers of random numbers"):
            check_twins("wasteful", "mergerucb")


@pytest.mark.long
def test_the_example_passes_all_checks(mergerucb):
    check_policy("mergerucb")
    check_policy("periodic-mergerucb:period=50000")
    check_twins("plain-mergerucb", "mergerucb")


def test_a_plain_policy_keeps_its_contract():
    def init(self, arms, rng):
        Policy.__init__(self, arms, rng)
        self.stage = 1

    def init_arms(self, arms, rng):
        Policy.__init__(self, arms, rng)
        self.arms = arms

    with POLICIES.temporarily():
        with pytest.raises(DriftduelError, match=r"`self.stage = ...`, which would hide Policy.st"):
            register(type("Mine", (Counting,), {"__init__": init}))
        with pytest.raises(DriftduelError, match=r"`best = 3`, which would hide KernelPolicy.best"):
            register(variant(best=3))
        assert "mine" not in POLICIES
        with pytest.raises(DriftduelError, match=r"self.arms = ...`, which would hide Policy.arms"):
            POLICIES.admit(type("Mine", (Counting,), {"__init__": init_arms}))


def test_records_take_any_name_that_numpy_allows():
    assert fields.records(1, self=4, rules=2)[0].rules == 2
    with pytest.raises(DriftduelError, match="no field of records can be named 'size'"):
        fields.records(1, size=4)
    assert fields.Named(self=fields.ARM).rules == {"self": fields.ARM}
