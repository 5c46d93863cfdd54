"""Drifting worlds: lazily evaluated, the same whatever the way to a round."""

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.measures import measure
from driftduel.preferences import LINKS, lone_winner, uniform_random
from driftduel.worlds import (
    Interpolated,
    MatrixDrift,
    MatrixWalk,
    RandomWalk,
    Seasonal,
    make_world,
)
from driftduel.worlds._kernels import link_value, probability
from driftduel.worlds._walk import BlockWalk, SpendingWalk

pytestmark = pytest.mark.kernels
SPECS = [
    "random-walk", "seasonal", "interpolated", "saha-gupta-static", "saha-gupta-continuous",
]  # fmt: skip


def naive_walk(start, sd, seed, size, rounds, clip):
    """Take one step after the other from the blocks' streams."""
    places = [np.asarray(start, dtype=float)]
    for t in range(2, rounds + 1):
        block, inside = divmod(t - 1, size)
        stream = np.random.SeedSequence(seed, spawn_key=(block,))
        steps = np.random.Generator(np.random.PCG64(stream)).normal(0, sd, (size, len(start)))
        place = places[-1] + steps[inside]
        places.append(np.clip(place, 0, 1) if clip else place)
    return np.array(places)


@pytest.mark.parametrize("clip", [False, True])
def test_walk_equals_one_step_after_the_other(clip):
    start = np.array([0.1, 0.9, 0.5])
    walk = BlockWalk(start, 0.3, seed=5, block_rounds=8, clip=clip)
    expected = naive_walk(start, 0.3, 5, 8, 60, clip)
    rng = np.random.default_rng(0)
    for _ in range(30):  # jumps forth and back
        first = int(rng.integers(1, 60))
        end = int(rng.integers(first + 1, 62))
        np.testing.assert_allclose(walk.rows(first, end), expected[first - 1 : end - 1], rtol=1e-12)


def naive_spending(start, variation, rounds, seed, size):
    """Take one step after the other, with the numbers of the blocks' streams."""
    places, left = [np.asarray(start, dtype=float)], 1.0
    for block in range(-(-rounds // size)):
        stream = np.random.SeedSequence(seed, spawn_key=(block,))
        rng = np.random.Generator(np.random.PCG64(stream))
        steps = [t for t in range(block * size + 1, (block + 1) * size + 1) if 1 < t <= rounds]
        if not steps:
            continue
        waits = rng.exponential(size=len(steps))
        later = rounds - steps[-1]
        taken = left * (rng.beta(len(steps), later) if later else 1.0)
        left -= taken
        for wait in waits:
            way = rng.normal(size=len(start))
            largest = variation * taken * wait / sum(waits)
            places.append(np.clip(places[-1] + largest * way / max(abs(way)), 0, 1))
    return np.array(places)


@pytest.mark.parametrize("blocks", [(3, 0, 5), (2, 1, 0, 4, 5), (0, 1, 2, 0, 3, 4, 7)])
def test_a_walk_that_went_back_goes_on_where_it_was(blocks):
    walk = BlockWalk(np.array([0.1, 0.9]), 0.3, seed=5, block_rounds=8, clip=True)
    expected = naive_walk([0.1, 0.9], 0.3, 5, 8, 64, True)
    for block in blocks:
        first = 8 * block + 1
        np.testing.assert_array_equal(walk.rows(first, first + 8), expected[first - 1 : first + 7])


@pytest.mark.parametrize("rounds", [1, 2, 8, 9, 60])
def test_spending_walk_equals_one_step_after_the_other(rounds):
    start = np.array([0.1, 0.9, 0.5])
    expected = naive_spending(start, 7.0, rounds, 5, 8)
    walk = SpendingWalk(start, 7.0, rounds, seed=5, block_rounds=8)
    rng = np.random.default_rng(0)
    for _ in range(30):  # jumps forth and back
        first = int(rng.integers(1, rounds + 1))
        end = int(rng.integers(first + 1, rounds + 2))
        np.testing.assert_allclose(walk.rows(first, end), expected[first - 1 : end - 1], atol=1e-12)


def test_what_a_spending_walk_spends_is_uniform_on_the_simplex():
    """Dirichlet(1, ..., 1) over 19 steps: any has mean 1/19 and any two the same covariance."""
    parts = np.empty((4000, 19))
    for seed in range(len(parts)):
        walk = SpendingWalk(np.array([0.5, 0.5]), 1e-3, 20, seed, block_rounds=8)
        parts[seed] = np.abs(np.diff(walk.rows(1, 21), axis=0)).max(axis=1) / 1e-3
    np.testing.assert_allclose(parts.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(parts.mean(axis=0) * 19, 1, atol=0.08)
    moments = parts.T @ parts / len(parts)  # (1 + [i = j]) / (19 * 20)
    np.testing.assert_allclose(moments * 19 * 20, 1 + np.eye(19), atol=0.2)
    for first, end in ((0, 7), (7, 15), (15, 19)):  # the blocks: Beta(n, 19 - n)
        n = end - first
        spread = parts[:, first:end].sum(axis=1).var()
        assert spread == pytest.approx(n * (19 - n) / (19**2 * 20), rel=0.1)


@pytest.mark.parametrize("spec", SPECS)
def test_any_way_to_a_round_gives_the_same_matrix(spec):
    make = lambda: make_world(f"{spec}:arms=3,rounds=40000,seed=7")  # noqa: E731
    walked, jumped = make(), make()
    t = 39_500
    last = None
    for chunk in walked.chunks(limit=1000):
        if chunk.starts[0] <= t < chunk.end:
            last = chunk.row_matrices()[chunk.rows[t - chunk.starts[0]]]
    np.testing.assert_array_equal(jumped.preferences(t).matrix, last)
    np.testing.assert_array_equal(jumped.preferences(1).matrix, walked.preferences(1).matrix)


def test_seasonal_is_its_formula():
    world = Seasonal([0.0, 1.0], [1.0, 0.5], [0.0, 0.25], period=40, rounds=100)
    for t in (1, 10, 77):
        u = [np.sin(2 * np.pi * t / 40), 1 + 0.5 * np.sin(2 * np.pi * (t / 40 + 0.25))]
        expected = 1 / (1 + np.exp(u[1] - u[0]))
        assert world.preferences(t).matrix[0, 1] == pytest.approx(expected, abs=1e-12)


def test_of_equal_utilities_none_is_the_winners():
    still = np.zeros(3)
    for level, winner in (([1.0, 0.0, 1.0], None), ([1.0, 0.0, 1.5], 2)):
        world = Seasonal(level, still, still, period=40, rounds=10)
        assert world.condorcet_winners() == [(1, winner)]
        assert world.preferences(5).condorcet_winner() == winner


def test_interpolated_hits_its_knots():
    knots = [lone_winner(3, winner=i, eps=0.2) for i in range(3)]
    world = Interpolated(knots, rounds=101)
    for t, knot in ((1, knots[0]), (51, knots[1]), (101, knots[2])):
        np.testing.assert_allclose(world.preferences(t).matrix, knot.matrix, atol=1e-12)
    middle = (knots[0].matrix + knots[1].matrix) / 2
    np.testing.assert_allclose(world.preferences(26).matrix, middle, atol=1e-12)


def test_matrix_walk_stays_a_preference_matrix():
    world = MatrixWalk(uniform_random(4, np.random.default_rng(0)), sd=0.2, rounds=300, seed=1)
    for t in range(1, 301, 7):
        world.preferences(t)  # validates
    entries = np.array([world.preferences(t).matrix[0, 1] for t in range(1, 301)])
    assert len(np.unique(entries)) > 100
    assert {0.0, 1.0} & set(entries)  # it was clipped somewhere


def test_matrix_drift_spends_its_variation_and_clips():
    calm = MatrixDrift(lone_winner(4), variation=0.3, rounds=200, seed=2)
    assert measure(calm, significance=None).total_variation == pytest.approx(0.3)
    wild = MatrixDrift(uniform_random(4, np.random.default_rng(0)), 40.0, rounds=200, seed=2)
    assert 25 < measure(wild, significance=None).total_variation < 40


def test_saha_guptas_continuous_world_hardly_moves():
    """Steps of either sign cancel: V = 10 moves an entry by about 0.06 in 10,000 rounds.

    So by about 0.006 in a million, as the page on reproducing says.
    """
    world = make_world("saha-gupta-continuous:rounds=10000", seed=1)
    moved = world.preferences(10_000).matrix - world.preferences(1).matrix
    assert moved[np.triu_indices(10, 1)].std() == pytest.approx(0.06, rel=0.3)


@pytest.mark.parametrize("link", LINKS)
def test_compiled_links_equal_those_for_arrays(link):
    differences = np.linspace(-8, 8, 401)
    code = list(LINKS).index(link)
    compiled = np.array([link_value(code, x) for x in differences])
    np.testing.assert_allclose(compiled, LINKS[link](differences), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("spec", [*SPECS, "geometric-btl:phases=3"])
def test_compiled_probability_is_the_matrix(spec):
    world = make_world(spec + (":" if ":" not in spec else ",") + "arms=4,rounds=50")
    for chunk in world.chunks(limit=20):
        matrices = chunk.row_matrices()
        for row in set(chunk.rows.tolist()):
            for a in range(4):
                for b in range(4):
                    got = probability(chunk.row_values(row), chunk.link, 4, a, b)
                    assert got == pytest.approx(matrices[row, a, b], abs=1e-14)


@pytest.mark.skipif(not jit_enabled(), reason="a million rounds are for compiled code")
def test_nothing_of_the_size_of_the_horizon_is_stored():
    world = RandomWalk(np.zeros(3), 0.01, rounds=10**9, seed=3)
    chunk = next(world.chunks(first=3_000_000))
    assert chunk.utilities.nbytes < 20e6
    assert len(world._walk._anchors) < 100
