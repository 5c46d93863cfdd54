"""Every notion of regret against its definition, one duel at a time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel.errors import DriftduelError
from driftduel.preferences import Preferences, uniform_random
from driftduel.regret import (
    KINDS,
    NoWinnerError,
    chunk_losses,
    duel_regret,
    exploitability,
    last_rounds,
    log_rounds,
    phase_curves,
    phase_starts,
    regret,
    regret_curve,
)
from driftduel.worlds import Piecewise, WithAbsences, make_world
from tests.games.test_presence import random_events
from tests.preferences import naive

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
    against, x, y = "", 0.0, 0.0
    if kind.startswith("borda"):
        scores = [sum(p.matrix[i, j] for j in range(K) if j != i) / (K - 1) for i in range(K)]
        against, x, y = "borda", max(scores) - scores[a], max(scores) - scores[b]
    elif kind.startswith("copeland"):
        scores = [sum(p.matrix[i, j] > 0.5 for j in range(K)) / (K - 1) for i in range(K)]
        against, x, y = "copeland", max(scores) - scores[a], max(scores) - scores[b]
    elif kind.startswith("von-neumann"):
        gaps = naive.von_neumann(p.matrix) @ (p.matrix - 0.5)
        against, x, y = "von-neumann", gaps[a], gaps[b]
    else:
        w = p.condorcet_winner()
        x, y = p.gap(w, a), p.gap(w, b)
    return {
        "": (x + y) / 2,
        "dynamic": (x + y) / 2,
        "weak": min(x, y),
        "strong": max(x, y),
        "binary-weak": float(x > 1e-12 and y > 1e-12),
        "binary-strong": float(x > 1e-12 or y > 1e-12),
    }[kind.removeprefix(against).removeprefix("-")]


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
    for kind in ("borda", "copeland", "von-neumann"):
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
    """Try every arm that is there for every stretch."""
    found = []
    for first, end in zip(starts, [*starts[1:], len(a) + 1], strict=True):
        wins = [
            sum(
                (p[arm, a[t - 1]] + p[arm, b[t - 1]] - 1) / 2
                for t in range(first, end)
                for p in [world.preferences(t).matrix]
            )
            for arm in range(world.arms)
            if all(arm in world.present(t) for t in range(first, end))
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
        ([10], [1], "the plays up to round 5, after which preferences may change, are missing"),
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


def chunk_of(matrices, present=None):
    world = Piecewise(matrices, np.arange(len(matrices)) + 1, len(matrices), present=present)
    (chunk,) = world.chunks()
    return chunk


@given(st.integers(2, 6), st.integers(0, 10**6), st.booleans())
@settings(max_examples=60)
def test_von_neumann_losses_are_those_of_the_linear_programme(arms, seed, some_are_away):
    linprog = pytest.importorskip("scipy.optimize").linprog
    rng = np.random.default_rng(seed)
    stack = np.array([uniform_random(arms, rng).matrix for _ in range(5)])
    present = rng.random((5, arms)) < 0.7
    present[np.arange(5), rng.integers(arms, size=5)] = True
    chunk = chunk_of(stack, present if some_are_away else None)
    losses = chunk_losses(chunk, "von-neumann")
    for P, row, there in zip(stack, losses, present, strict=True):
        here = np.flatnonzero(there) if some_are_away else np.arange(arms)
        gaps = P[np.ix_(here, here)] - 0.5
        ones = np.ones((1, len(here)))
        found = linprog(np.zeros(len(here)), -gaps.T, np.zeros(len(here)), ones, [1.0])
        np.testing.assert_allclose(row[here], np.maximum(found.x @ gaps, 0), atol=1e-8)
        assert np.isnan(np.delete(row, here)).all()
        assert row[here].min() == 0  # exactly: who is in the mixture loses nothing


@given(st.lists(naive.matrices(4, 4), min_size=1, max_size=5))
@settings(max_examples=60)
def test_against_a_condorcet_winner_von_neumann_is_the_papers_loss_to_the_bit(stack):
    chunk = chunk_of(stack)
    with_winner = chunk.row_winners() >= 0
    losses = chunk_losses(chunk, "von-neumann")
    assert (losses >= 0).all()
    assert losses.min(axis=1).max() == 0
    if with_winner.any():
        paper = chunk_losses(chunk_of(np.array(stack)[with_winner]))
        np.testing.assert_array_equal(losses[with_winner], paper)


def test_a_winner_by_a_hair_is_a_winner_beside_rows_without_one():
    hair = np.full((3, 3), 0.5)
    hair[0, 1:], hair[1:, 0] = 0.5 + 2e-10, 0.5 - 2e-10
    chunk = chunk_of([hair, make_world("cycle:arms=3,seed=1").preferences(1)])
    losses = chunk_losses(chunk, "von-neumann")
    np.testing.assert_array_equal(losses[0], hair[0] - 0.5)
    assert losses[0, 1] > 0
    np.testing.assert_array_equal(losses[1], 0)


def test_utilities_lose_to_the_best_of_them_even_if_two_are_best():
    world = make_world("seasonal:arms=4,rounds=200")
    for chunk in world.chunks():
        np.testing.assert_array_equal(chunk_losses(chunk, "von-neumann"), chunk_losses(chunk))
        tied = chunk._replace(utilities=np.array([[1.0, 3.0, 3.0, 2.0]]), rows=chunk.rows * 0)
        (row,) = chunk_losses(tied, "von-neumann")
        assert row[1] == row[2] == 0
        assert min(row[0], row[3]) > 0
        away = tied._replace(present=np.array([[True, False, False, True]]))
        (row,) = chunk_losses(away, "von-neumann")
        assert np.isnan(row[1:3]).all()
        assert row[3] == 0 < row[0]


def random_phases(rng, arms, ordered):
    """Draw a world whose phases, some alike, have an order by strength, or none."""
    stack = []
    for _ in range(int(rng.integers(1, 5))):
        P = uniform_random(arms, rng).matrix
        if ordered:
            strength = rng.uniform(-2, 2, arms)
            P = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        stack += [P] * int(rng.integers(1, 3))
    starts = np.concatenate(([1], 1 + np.cumsum(rng.integers(arms, 20, len(stack) - 1))))
    rounds = int(starts[-1] + rng.integers(20, 40))
    world = Piecewise(stack, starts, rounds)
    if rng.random() < 0.5:
        return world
    return WithAbsences(world, random_events(world, int(rng.integers(99))))


def literal_phases(world):
    """Say where the preferences between those there, or who is there, change."""
    found = [1]
    for t in range(2, world.rounds + 1):
        here, P, Q = world.present(t), world.preferences(t).matrix, world.preferences(t - 1).matrix
        same = here == world.present(t - 1)
        if not same or (P != Q)[np.ix_(here, here)].any():
            found.append(t)
    return found


@pytest.mark.long
@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=60)
def test_exploitability_over_phases_is_its_definition(seed, ordered):
    rng = np.random.default_rng(seed)
    world = random_phases(rng, 4, ordered)
    starts = phase_starts_of(world)
    assert starts.tolist() == literal_phases(world)
    played = int(rng.integers(1, world.rounds + 1))
    here = [world.present(t) for t in range(1, played + 1)]
    a, b = np.transpose([rng.choice(arms, 2) for arms in here])
    more = rng.integers(1, played + 1, size=5)
    at = np.unique(np.concatenate((starts[1:][starts[1:] <= played] - 1, more, [played])))
    curves = phase_curves(world, starts, at, counted(4, a, b, at))
    for i, t in enumerate(at):
        begun = [first for first in starts.tolist() if first <= t]
        expected = literal_exploitability(world, a[:t], b[:t], begun)
        assert curves["exploitability"][i] == pytest.approx(sum(expected), abs=1e-9)
        for kind in ("borda", "copeland"):
            summed = regret(world, a[:t], b[:t], kind).sum()
            assert curves[kind][i] == pytest.approx(summed, abs=1e-9)
    neumann = regret(world, a, b, "von-neumann").sum()
    assert curves["exploitability"][-1] >= neumann - 1e-9
    if ordered:  # the winner beats everyone by the most, so all three are one
        assert curves["exploitability"][-1] == pytest.approx(regret(world, a, b).sum(), abs=1e-9)
        assert neumann == regret(world, a, b).sum()


def phase_starts_of(world):
    """Find the phases of a world that may be too short for most purposes."""
    try:
        return phase_starts(world)
    except DriftduelError:
        return np.array(literal_phases(world))


def test_who_beats_an_arm_by_more_than_the_winner_exploits_it_more():
    """Then exploitability exceeds the paper's regret although there is a winner."""
    P = Preferences([[0.5, 0.6, 0.6], [0.4, 0.5, 0.9], [0.4, 0.1, 0.5]])
    world = Piecewise([P], [1], 10)
    only_the_last = np.array([[0, 0, 20]])
    curves = phase_curves(world, phase_starts(world), np.array([10]), only_the_last)
    assert curves["exploitability"].tolist() == pytest.approx([4.0])
    assert regret(world, [2] * 10, [2] * 10).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "spec", ["seasonal:rounds=500", "alternating:rounds=500", "fleeting:rounds=2000"]
)
def test_what_never_stands_still_has_no_phases(spec):
    with pytest.raises(DriftduelError, match="--benchmark von-neumann has a meaning there"):
        phase_starts(make_world(spec))


def test_a_phase_goes_on_from_one_chunk_to_the_next():
    world = make_world("rps-top:rounds=900,phases=3")
    world.chunk_rounds = 100
    assert len(list(world.chunks())) == 9
    assert phase_starts(world).tolist() == [1, 301, 601]


def test_the_error_names_the_benchmark_that_the_world_has():
    said = str(NoWinnerError("the world", make_world("cycle:rounds=50"), 7))
    assert "no Condorcet winner in round 7" in said
    assert '--benchmark exploitability (in Python and in a sweep: benchmark="expl' in said
    drifting = make_world("saha-gupta-continuous:rounds=100")
    assert "--benchmark von-neumann (" in str(NoWinnerError("the world", drifting, 1))
