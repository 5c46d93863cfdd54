"""What goes around a policy plays the duels of its twin, and its constants are the formulas'."""

import math
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel.errors import DriftduelError, WeakSpotWarning
from driftduel.policies import (
    POLICIES,
    Detect,
    KernelPolicy,
    Kernels,
    SlidingWindow,
    hot,
    make_policy,
)
from tests.policies import twins

pytestmark = pytest.mark.kernels

COUNTING = ["rucb", "rcs", "dts", "dts-plus", "rmed1", "rmed2", "ccb", "ttts"]

INNER = {
    "rucb": twins.Rucb,
    "dts": twins.Dts,
    "dts-plus": lambda K: twins.Dts(K, plus=True),
    "ttts": twins.Ttts,
    "btw": twins.BeatTheWinner,
    "btwr": lambda K: twins.BeatTheWinner(K, resets=True),
    "wsw": twins.WinnerStays,
    "wss": lambda K: twins.WinnerStays(K, beta=1.05),
}


def made(spec, K, seed, **known):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSpotWarning)
        return make_policy(spec, K, seed, **known)


def random_world(rng, K, every):
    """Return (t, a, b) -> the chance that a wins; all of it is drawn anew every so many rounds."""
    worlds = {}

    def chance(t, a, b):
        if t // every not in worlds:
            p = rng.choice([0.05, 0.2, 0.5, 0.8, 0.95], (K, K))
            worlds[t // every] = np.triu(p, 1) + np.tril(1 - p.T, -1) + np.diag([0.5] * K)
        return worlds[t // every][a, b]

    return chance


def same_game(policy, twin, seed, rounds, chance, late=False):
    """Play both; return the rounds of the restarts. Late answers come in any order, or never."""
    luck, draw = np.random.default_rng([seed, 1]), np.random.default_rng(seed).random
    restarts, pending = [], []
    for t in range(1, rounds + 1):
        duel = policy.ask()
        assert (duel.first, duel.second) == twin.ask(t, draw), f"round {t}"
        assert policy.kernels.best_guess(policy.state) == twin.best_guess(), f"round {t}"
        pending.append(duel)
        while len(pending) > (12 if late else 0) or (late and pending and luck.random() < 0.4):
            duel = pending.pop(int(luck.integers(len(pending))))
            won = int(luck.random() < chance(t, duel.first, duel.second))
            if late and luck.random() < 0.05:
                policy.forget(duel)
                continue
            policy.tell_first_won(duel, won)
            if twin.tell(duel.round, duel.first, duel.second, won):
                restarts.append(duel.round)
            assert policy.restarts == restarts, f"round {t}"
    return restarts


@pytest.mark.long
@pytest.mark.parametrize("name", INNER)
def test_a_policy_to_go_inside_plays_like_its_twin(name):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        K = int(rng.integers(2, 6))
        twin = twins.Plain(INNER[name](K))
        same_game(made(name, K, seed), twin, seed, 600, random_world(rng, K, 200))


def mdb(name, rng, seed, K):
    T, switches = int(rng.integers(150, 600)), int(rng.integers(0, 3))
    delta = float(rng.uniform(0.85, 0.99))
    policy = made(f"mdb-{name}:delta={delta!r}", K, seed, horizon=T, switches=switches)
    return policy, twins.Mdb(INNER[name](K), T, switches + 1, delta)


def detect(setting, name, rng, seed, K):
    T, delta = int(rng.integers(100, 600)), float(rng.uniform(0.85, 0.99))
    p_min = float(rng.uniform(0.9, 0.99))
    spec = f"detect-{name}:delta={delta!r},p_min={p_min!r},setting={setting}"
    return made(spec, K, seed, horizon=T), twins.Detect(INNER[name](K), T, delta, p_min, setting)


def glr(name, rng, seed, K):
    explore, delta = float(rng.uniform(0, 0.5)), float(rng.uniform(0.001, 0.5))
    policy = made(f"glr-{name}:explore={explore!r},delta={delta!r}", K, seed)
    return policy, twins.Glr(INNER[name](K), explore, delta)


def periodic(name, rng, seed, K):
    period = int(rng.integers(1, 200))
    policy = made(f"periodic-{name}:period={period}", K, seed)
    return policy, twins.Scheduled(INNER[name](K), period)


def oracle(name, rng, seed, K):
    at = sorted({int(t) for t in rng.integers(2, 1000, rng.integers(0, 6))})
    policy = made(f"oracle-{name}", K, seed, at="+".join(map(str, at)))
    return policy, twins.Scheduled(INNER[name](K), at=at)


def window(name, rng, seed, K):
    W = int(rng.integers(1, 80))
    return made(f"sw-{name}:window={W}", K, seed), twins.Window(INNER[name](K), W)


def discounted(name, rng, seed, K):
    discount = float(rng.uniform(0.5, 0.999))
    policy = made(f"discounted-{name}:discount={discount!r}", K, seed)
    return policy, twins.Discount(INNER[name](K), discount)


CASES = {  # what, inside, rounds, games, restarts in all of them at least
    "mdb-rucb": (mdb, "rucb", 2500, 6, 12),
    "mdb-wss": (mdb, "wss", 2500, 3, 6),
    "mdb-btw": (mdb, "btw", 2500, 3, 6),
    "detect-rucb:setting=1": (partial(detect, "1"), "rucb", 2000, 4, 8),
    "detect-rucb": (partial(detect, "2"), "rucb", 2000, 4, 8),
    "detect-btw": (partial(detect, "2"), "btw", 2000, 4, 8),
    "detect-wsw": (partial(detect, "2"), "wsw", 2000, 4, 8),
    "detect-wss:setting=1": (partial(detect, "1"), "wss", 2000, 2, 4),
    "glr-rucb": (glr, "rucb", 1000, 8, 20),
    "periodic-rucb": (periodic, "rucb", 1000, 6, 30),
    "periodic-btwr": (periodic, "btwr", 1000, 3, 15),
    "oracle-rucb": (oracle, "rucb", 1000, 6, 10),
    "sw-rucb": (window, "rucb", 500, 8, 0),
    "discounted-rucb": (discounted, "rucb", 400, 8, 0),
}
# The twins of those who play matches know nothing of late answers.
PLAYED = [
    pytest.param(
        case, late, marks=() if case in ("glr-rucb", "sw-rucb") and not late else pytest.mark.long
    )
    for late in (False, True)
    for case in CASES
    if "rucb" in case or not late
]


@pytest.mark.parametrize(("case", "late"), PLAYED)
def test_it_plays_like_its_twin(case, late):
    make, name, rounds, games, least = CASES[case]
    restarts = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, 7])
        K = int(rng.integers(2, 5))
        policy, twin = make(name, rng, seed, K)
        chance = random_world(rng, K, every=rounds // 5)
        restarts += len(same_game(policy, twin, seed, rounds, chance, late))
    assert restarts >= least


def test_restarts_by_the_clock_are_in_their_rounds():
    for spec, known, expected in [
        ("periodic-rucb:period=30", {}, [30, 60, 90]),
        ("oracle-rucb", {"at": "2+31+32+80"}, [1, 30, 31, 79]),
        ("oracle-rucb", {"at": ""}, []),
    ]:
        policy = make_policy(spec, 3, 0, **known)
        for _ in range(99):
            policy.tell_first_won(policy.ask(), 1)
        assert policy.restarts == expected


@pytest.mark.parametrize("at", ["1+30", "30+30", "30+20", "0"])
def test_an_oracle_restarts_from_the_second_round_on_and_never_goes_back(at):
    with pytest.raises(DriftduelError, match="must be rounds from 2 on, ascending"):
        make_policy("oracle-rucb", 3, 0, at=at)


class Counted(NamedTuple):
    wins: Any


def _only_arm_0(state, rng, t, notes):
    return 0, 0


def _count_any(state, t, first, second, won, notes):
    state.wins[first, second] += 1.0
    return 0


class CountsSelfDuels(KernelPolicy):
    name = "counts-self-duels"
    kernels = Kernels(hot(_only_arm_0), hot(_count_any), any_duel=True)

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.state = Counted(np.zeros((arms, arms)))


def test_a_window_forgets_self_duels_that_were_counted():
    rng = np.random.default_rng(0)
    policy = SlidingWindow(2, rng, CountsSelfDuels(2, rng), window=3)
    counts = []
    for _ in range(6):
        policy.tell_first_won(policy.ask(), 1)
        counts.append(policy.state.base.wins[0, 0])
    assert counts == [1, 2, 3, 3, 3, 3]


def test_glr_keeps_64_splits_evenly_spaced():
    policy, twin = made("glr-rucb:explore=1", 2, 0), twins.Glr(twins.Rucb(2), 1, 0.001)
    won = 0
    before = []
    for n in range(1, 1001):
        duel = policy.ask()
        won += n % 2
        before.append(won)
        policy.tell(duel, 1 - n % 2)
        count = policy.state.pairs[0].kept
        splits, wins = policy.state.splits[0, :count].T.tolist()
        assert splits == list(twin.kept(n + 1))
        assert wins == [before[k - 1] for k in splits]
    assert policy.restarts == []


# ---- constants ----

told = {
    "K": st.integers(2, 12),
    "T": st.integers(30, 10**7),
    "delta": st.floats(0.2, 0.95),
}


@settings(max_examples=60)
@given(M=st.integers(1, 30), **told)
def test_the_constants_of_mdb(K, T, M, delta):
    policy = made(f"mdb-wss:delta={delta!r}", K, 0, horizon=T, switches=M - 1)
    C = math.log((4 * T + 2) * T**0.5 / (M**0.5 * K))
    w = policy.state.windows.shape[1]
    assert w % 2 == 0
    assert w - 2 < 8 * C / delta**2 <= w
    assert policy.state.numbers[0].limit == pytest.approx((w * C / 2) ** 0.5, rel=1e-12)
    gamma = (K - 1) / 2 * (M * w / T) ** 0.5
    cycle = policy.state.numbers[0].cycle
    assert cycle == max(1, math.floor(K * (K - 1) / 2 / gamma))
    assert policy.state.windows.shape[0] == K * (K - 1) // 2


@settings(max_examples=60)
@given(p_min=st.floats(0.55, 0.95), **told)
def test_the_constants_of_detect(K, T, delta, p_min):
    m = (2 * p_min - 1) ** 2
    for setting in "12":
        spec = f"detect-btw:delta={delta!r},p_min={p_min!r},setting={setting}"
        policy = made(spec, K, 0, horizon=T)
        w, explore = policy.state.windows.shape[1], policy.state.numbers[0].explore
        if setting == "1":
            assert explore == math.ceil(
                (math.log(T / (1 - math.exp(-m)) / math.log(T)) / m + K - 1) ** 2
            )
            least, limit = (16 * math.log(T) + 6) / delta**2, w * (math.log(T) + 0.375)
        else:
            assert explore - 1 < math.sqrt(T) <= explore
            # log(2T / x), x = e^(-(T^(1/4) - K + 1) m) / (1 - e^-m)
            L = math.log(2 * T) + (T**0.25 - K + 1) * m + math.log(1 - math.exp(-m))
            least, limit = 8 * max(1, L) / delta**2, w * max(1, L) / 2
        assert w % 2 == 0
        assert w - 2 < least * (1 + 1e-12)
        assert least <= w * (1 + 1e-12)
        assert policy.state.numbers[0].limit == pytest.approx(math.sqrt(limit), rel=1e-12)


def test_the_numbers_of_the_authors_configuration():
    """T = 1e6, K = 10, p_min = 0.55, delta = 0.3, as computed from their program's formulas."""
    policy = made("mdb-rucb:delta=0.3", 10, 0, horizon=10**6, switches=9)
    assert policy.state.windows.shape == (45, 1660)
    assert policy.state.numbers[0].limit == pytest.approx(124.4, abs=0.05)
    assert policy.state.numbers[0].cycle == 77  # floor(45 / 0.58)
    policy = made("detect-btw:delta=0.3,p_min=0.55", 10, 0, horizon=10**6)
    assert policy.state.numbers[0].explore == 1000
    assert policy.state.windows.shape[1] == 900
    assert policy.state.numbers[0].limit == pytest.approx(67.5, abs=0.05)
    policy = made("detect-btw:delta=0.3,p_min=0.55,setting=1", 10, 0, horizon=10**6)
    assert policy.state.numbers[0].explore == pytest.approx(2.5e6, rel=0.02)


@pytest.mark.parametrize(
    ("spec", "T", "K", "share"),
    [("mdb-rucb", 10**6, 10, "58%"), ("mdb-rucb", 1000, 3, "100%")],
)
def test_mdb_warns_when_monitoring_takes_a_quarter(spec, T, K, share):
    with pytest.warns(WeakSpotWarning, match=f"MDB monitors {share} of the rounds"):
        make_policy(spec, K, 0, horizon=T, switches=9)


def test_weak_spots_begin_where_it_is_said():
    def warned(spec, **known):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            policy = make_policy(spec, 3, 0, **known)
        return policy, [each.category for each in caught] == [WeakSpotWarning]

    for T in range(2000, 6000, 100):
        policy, said = warned("mdb-rucb:delta=0.9", horizon=T, switches=1)
        w = policy.state.windows.shape[1]
        assert said == (math.sqrt(2 * w / T) > 0.25)
    for T in range(100, 2000, 20):
        policy, said = warned("detect-btw:p_min=0.8,setting=1", horizon=T)
        assert said == (twins.Detect(INNER["btw"](3), T, 0.3, 0.8, "1").T_ > T / 2)


# ---- who is suspected ----


@pytest.mark.parametrize("spec", [*COUNTING, "btw", "btwr", "wsw", "wss", "king"])
@pytest.mark.long
def test_suspecting_changes_nothing_and_names_an_arm(spec):
    policy = make_policy(spec, 4, 3)
    luck = np.random.default_rng(0)
    for _ in range(300):
        before = {name: array.copy() for name, array in policy.get_state().items()}
        stream = policy.rng.bit_generator.state
        arm = policy.kernels.best_guess(policy.state)
        assert 0 <= arm < 4
        assert policy.rng.bit_generator.state == stream
        for name, array in policy.get_state().items():
            np.testing.assert_array_equal(array, before[name])
        duel = policy.ask()
        low = min(duel.first, duel.second)
        policy.tell(duel, low if luck.random() < 0.9 else max(duel.first, duel.second))
    assert arm == 0  # it beats everyone


def test_the_king_is_whom_king_suspects():
    policy = make_policy("king", 5, 0)
    for _ in range(500):
        duel = policy.ask()
        assert policy.kernels.best_guess(policy.state) == duel.first
        policy.tell_first_won(duel, int(duel.first < duel.second))


def test_of_equals_the_suspect_was_in_the_last_duel():
    policy = make_policy("wsw", 4, 0)
    best_guess = policy.kernels.best_guess
    assert best_guess(policy.state) == 0  # before the first duel, anyone
    policy.state.score[:] = [2, 2, 2, 0]
    policy.state.last[:] = 3, 2
    assert best_guess(policy.state) == 2
    policy.state.last[:] = 1, 2
    assert best_guess(policy.state) == 1
    policy.state.last[:] = 3, -1
    assert best_guess(policy.state) == 0


def test_detect_requires_best_guess():
    with pytest.raises(
        DriftduelError, match=r"'detect' .* policy 'uniform': .* kernel `best_guess`"
    ):
        Detect(3, np.random.default_rng(0), make_policy("uniform", 3), horizon=100)


def test_what_the_authors_put_inside_can_be_put_inside():
    for name in ("detect-btw", "detect-wsw", "mdb-wss", "mdb-rucb"):
        assert name in POLICIES
    assert make_policy("mdb", 3, horizon=10**6, switches=0).name == "mdb-rucb"
    assert make_policy("detect", 3, horizon=10**6).name == "detect-wsw"
