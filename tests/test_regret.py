"""Every notion of regret against its definition, one duel at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftduel.errors import DriftduelError
from driftduel.preferences import uniform_random
from driftduel.regret import (
    KINDS,
    duel_regret,
    exploitability,
    last_rounds,
    log_rounds,
    regret,
    regret_curve,
)
from driftduel.worlds import Piecewise, make_world

WORLDS_TO_TRY = [
    "random-condorcet:arms=4,rounds=40,phases=5",
    "alternating:rounds=30",
    "seasonal:arms=3,rounds=50",
    "random-walk:arms=3,rounds=30,sd=0.5",
]


def literal(world, t, a, b, kind, arm):
    """Write each definition down for one duel."""
    p = world.preferences(t)
    K = p.arms
    if kind == "static":
        return (p.gap(arm, a) + p.gap(arm, b)) / 2
    if kind == "borda":
        scores = [sum(p.matrix[i, j] for j in range(K) if j != i) / (K - 1) for i in range(K)]
        return max(scores) - (scores[a] + scores[b]) / 2
    if kind == "copeland":
        scores = [sum(p.matrix[i, j] > 0.5 for j in range(K)) / (K - 1) for i in range(K)]
        return max(scores) - (scores[a] + scores[b]) / 2
    w = p.condorcet_winner()
    x, y = p.gap(w, a), p.gap(w, b)
    return {
        "dynamic": (x + y) / 2,
        "weak": min(x, y),
        "strong": max(x, y),
        "binary-weak": float(w not in (a, b)),
        "binary-strong": float(not a == b == w),
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", WORLDS_TO_TRY)
def test_a_sequence_of_duels(spec, kind):
    world = make_world(spec)
    rng = np.random.default_rng(1)
    a, b = rng.integers(world.arms, size=(2, world.rounds))
    got = regret(world, a, b, kind, arm=1)
    expected = [literal(world, t, a[t - 1], b[t - 1], kind, 1) for t in range(1, world.rounds + 1)]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    at, curve = regret_curve(world, a, b, kind, arm=1, points=7)
    np.testing.assert_allclose(curve, np.cumsum(expected)[at - 1], atol=1e-10)
    one = duel_regret(world.preferences(3), a[2], b[2], kind, arm=1)
    assert one == pytest.approx(expected[2], abs=1e-12)


@given(st.integers(0, 10**6))
@settings(max_examples=50)
def test_borda_and_copeland_need_no_condorcet_winner(seed):
    p = uniform_random(4, np.random.default_rng(seed))
    world = Piecewise([p], [1], 1)
    for kind in ("borda", "copeland"):
        losses = [duel_regret(p, a, a, kind) for a in range(4)]
        assert min(losses) == pytest.approx(0)
        assert losses == pytest.approx([literal(world, 1, a, a, kind, None) for a in range(4)])


def test_the_papers_two_arm_example():
    """Any fixed arm has constant static and linear dynamic regret."""
    for rounds in (100, 1000, 10_000):
        world = make_world(f"two-arm:rounds={rounds}")
        for played in (0, 1):
            duels = np.full(rounds, played)
            for fixed in (0, 1):
                assert abs(regret(world, duels, duels, "static", arm=fixed).sum()) <= 0.5
            assert regret(world, duels, duels).sum() == rounds / 4


def test_no_winner_is_an_error_that_names_the_round():
    world = Piecewise(
        [make_world("named").preferences(1), make_world("cycle:arms=3").preferences(1)][1:], [1], 9
    )
    with pytest.raises(DriftduelError, match="round 1 has no Condorcet winner"):
        regret(world, [0], [1])
    mixed = Piecewise(
        [make_world("alternating").preferences(1), make_world("cycle:arms=3").preferences(1)],
        [1, 6], 9,
    )  # fmt: skip
    assert regret(mixed, [0] * 5, [0] * 5).sum() == 0
    with pytest.raises(DriftduelError, match="round 6 has no Condorcet winner"):
        regret(mixed, [0] * 6, [0] * 6)


@pytest.mark.parametrize(
    ("firsts", "seconds", "kind", "arm", "said"),
    [
        ([0], [0, 1], "dynamic", None, "1 first arms do not match 2"),
        ([0, 3], [0, 0], "dynamic", None, "round 2 plays arm 3; arms are 0 to 1"),
        ([-1], [0], "dynamic", None, "plays arm -1"),
        ([0] * 6, [0] * 6, "dynamic", None, "6 duels are more than the 5 rounds"),
        ([0], [0], "weakk", None, "did you mean weak"),
        ([0], [0], "static", None, "arm=None must be between 0 and 1"),
        ([0], [0], "static", 2, "arm=2 must be between 0 and 1"),
    ],
)
def test_bad_input(firsts, seconds, kind, arm, said):
    with pytest.raises(DriftduelError) as error:
        regret(make_world("two-arm:rounds=5"), firsts, seconds, kind, arm)
    assert said in str(error.value)


@given(st.integers(1, 10**9), st.integers(1, 300))
def test_log_rounds_ascend_from_one_to_the_last(rounds, points):
    at = log_rounds(rounds, points)
    assert at[0] == 1
    assert at[-1] == rounds
    assert (np.diff(at) > 0).all()
    assert len(at) <= max(2, points) + 2


def literal_exploitability(world, a, b, starts):
    """Try every arm for every stretch."""
    found = []
    for first, end in zip(starts, [*starts[1:], len(a) + 1], strict=True):
        wins = [
            sum(
                (p[arm, a[t - 1]] + p[arm, b[t - 1]] - 1) / 2
                for t in range(first, end)
                for p in [world.preferences(t).matrix]
            )
            for arm in range(world.arms)
        ]
        found.append(max(wins))
    return found


def counted(arms, a, b, at):
    """Count the plays of each arm up to some rounds."""
    both = np.concatenate((a, b)), np.tile(np.arange(1, len(a) + 1), 2)
    return np.array([np.bincount(both[0][both[1] <= t], minlength=arms) for t in at])


@given(st.sampled_from([*WORLDS_TO_TRY, "saha-gupta-switching:arms=4,rounds=50,phases=6",
                        "saha-gupta-static:arms=3,rounds=40,sd=0.1",
                        "saha-gupta-continuous:arms=3,rounds=30"]),
       st.integers(0, 10**6))  # fmt: skip
@settings(max_examples=60)
def test_exploitability_is_its_definition(spec, seed):
    rng = np.random.default_rng(seed)
    world = make_world(spec, seed)
    rounds = int(rng.integers(1, world.rounds + 1)) if seed % 2 else world.rounds
    a, b = rng.integers(world.arms, size=(2, rounds))
    ends = last_rounds(world)
    more = rng.choice(np.arange(1, rounds + 1), size=rng.integers(rounds + 1))
    at = np.unique(np.concatenate((ends[ends < rounds], more, [rounds])))
    changes = at[:-1][rng.random(len(at) - 1) < rng.random()] + 1
    for starts in ([1], [1, *changes.tolist()], [1, *(at[:-1] + 1).tolist()]):
        got = exploitability(world, at, counted(world.arms, a, b, at), starts)
        expected = literal_exploitability(world, a, b, starts)
        np.testing.assert_allclose(got, expected, atol=1e-9)


def test_exploitability_of_one_arm_is_the_largest_static_regret():
    world = make_world("saha-gupta-static:arms=4,rounds=30,sd=0.1")
    a, b = np.random.default_rng(0).integers(4, size=(2, 30))
    at = np.arange(1, 31)
    static = [regret(world, a, b, "static", arm).sum() for arm in range(4)]
    assert exploitability(world, at, counted(4, a, b, at)).sum() == pytest.approx(max(static))


@pytest.mark.parametrize(
    ("at", "starts", "said"),
    [
        ([10], [1], "the plays up to round 5, after which something may change, are not known"),
        ([5, 10], [1, 4], "the plays up to round 3, after"),
        ([5, 10], [2], "the starts must ascend from round 1 to at most 10"),
        ([5, 10], [1, 6, 6], "must ascend"),
        ([5], [1, 6], "at most 5"),
    ],
)
def test_exploitability_refuses_what_it_cannot_know(at, starts, said):
    world = make_world("two-arm:rounds=10")
    at = np.array(at)
    plays = np.stack((at, at), axis=1)
    with pytest.raises(DriftduelError) as error:
        exploitability(world, at, plays, starts)
    assert said in str(error.value)
