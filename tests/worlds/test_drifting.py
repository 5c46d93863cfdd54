"""Drifting worlds: lazily evaluated, the same whatever the way to a round."""

import numpy as np
import pytest

from driftduel._compile import jit_enabled
from driftduel.preferences import LINKS, lone_winner, uniform_random
from driftduel.worlds import Interpolated, MatrixWalk, RandomWalk, Seasonal, make_world
from driftduel.worlds._kernels import link_value, probability
from driftduel.worlds._walk import Walk

pytestmark = pytest.mark.kernels
SPECS = ["random-walk", "seasonal", "interpolated", "saha-gupta-continuous"]


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
    walk = Walk(start, 0.3, seed=5, block_rounds=8, clip=clip)
    expected = naive_walk(start, 0.3, 5, 8, 60, clip)
    rng = np.random.default_rng(0)
    for _ in range(30):  # jumps forth and back
        first = int(rng.integers(1, 60))
        end = int(rng.integers(first + 1, 62))
        np.testing.assert_allclose(walk.rows(first, end), expected[first - 1 : end - 1], rtol=1e-12)


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
                    got = probability(chunk, row, a, b)
                    assert got == pytest.approx(matrices[row, a, b], abs=1e-14)


@pytest.mark.skipif(not jit_enabled(), reason="a million rounds are for compiled code")
def test_nothing_of_the_size_of_the_horizon_is_stored():
    world = RandomWalk(np.zeros(3), 0.01, rounds=10**9, seed=3)
    chunk = next(world.chunks(first=3_000_000))
    assert chunk.utilities.nbytes < 20e6
    assert len(world._walk._anchors) < 100
