"""Piecewise worlds: the right matrix in every round, at no cost per round."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel.errors import DriftduelError
from driftduel.preferences import cycle, lone_winner, uniform_random
from driftduel.worlds import Piecewise


@st.composite
def worlds(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    phases = draw(st.integers(1, 6))
    rounds = draw(st.integers(phases, 60))
    starts = np.concatenate(([1], np.sort(rng.choice(np.arange(2, rounds + 1), phases - 1, False))))
    matrices = [uniform_random(3, rng) for _ in range(phases)]
    period = rounds if draw(st.booleans()) else None
    total = rounds * draw(st.integers(1, 4)) if period else rounds
    return Piecewise(matrices, starts, total, period)


def literal_matrix(world, t):
    """Walk through the starts, round by round."""
    local = t if world.period is None else (t - 1) % world.period + 1
    phase = max(i for i, start in enumerate(world.starts) if start <= local)
    return world.matrices[phase]


@given(worlds(), st.data())
@settings(max_examples=300)
def test_every_round_of_every_chunk_has_its_matrix(world, data):
    first = data.draw(st.integers(1, world.rounds))
    end = data.draw(st.integers(first + 1, world.rounds + 1))
    chunk = world.chunk(first, end)
    assert chunk.starts[0] == first
    assert chunk.end == end
    assert (np.diff(chunk.starts) > 0).all()
    for t in range(first, end):
        segment = np.searchsorted(chunk.starts, t, side="right") - 1
        got = chunk.matrices[chunk.rows[segment]]
        np.testing.assert_array_equal(got, literal_matrix(world, t))
        np.testing.assert_array_equal(world.preferences(t).matrix, got)


@given(worlds(), st.integers(1, 70))
@settings(max_examples=100)
def test_chunks_cover_all_rounds_once(world, limit):
    ends = [1]
    for chunk in world.chunks(limit=limit):
        assert chunk.starts[0] == ends[-1]
        assert chunk.end - chunk.starts[0] <= limit
        ends.append(chunk.end)
    assert ends[-1] == world.rounds + 1


@given(worlds())
@settings(max_examples=100)
def test_winners_over_time_are_those_of_every_round(world):
    stretches = world.condorcet_winners()
    expected = []
    for t in range(1, world.rounds + 1):
        winner = world.preferences(t).condorcet_winner()
        if not expected or expected[-1][1] != winner:
            expected.append((t, winner))
    assert stretches == expected


def test_a_billion_rounds_cost_as_much_as_their_phases():
    tracemalloc.start()
    world = Piecewise(
        [lone_winner(10, winner=i) for i in range(5)], np.arange(5) * 10**8 + 1, 10**9
    )
    assert world.condorcet_winners() == [(i * 10**8 + 1, i) for i in range(5)]
    assert world.preferences(10**9).condorcet_winner() == 4
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("matrices", "starts", "rounds", "said"),
    [
        ([], [], 10, "at least one matrix"),
        ([lone_winner(2)], [1], 0, "rounds=0 must be at least 1"),
        ([lone_winner(2)], [2], 10, "starts in round 2; it must start in 1"),
        ([lone_winner(2)] * 2, [1], 10, "2 matrices but 1 starts"),
        ([lone_winner(2)] * 2, [1, np.nan], 10, "must be a list of whole numbers"),
        ([lone_winner(2)] * 3, [1, 5, 5], 10, "phase 3 starts in round 5, not after phase 2"),
        ([lone_winner(2)] * 2, [1, 11], 10, "phase 2 starts in round 11, after the last round 10"),
        ([lone_winner(2), lone_winner(3)], [1, 5], 10, "phase 2 has 3 arms"),
        ([[[0.5, 0.6], [0.6, 0.5]]], [1], 10, "matrix of phase 1"),
        ([lone_winner(2)] * 2, [1, 2.5], 10, "whole numbers"),
        ([lone_winner(2)] * 2, ["a", "b"], 10, "whole numbers"),
    ],
)
def test_bad_input_gets_one_sentence(matrices, starts, rounds, said):
    with pytest.raises(DriftduelError) as error:
        Piecewise(matrices, starts, rounds)
    assert said in str(error.value)


def test_a_round_outside_is_an_error():
    world = Piecewise([cycle(3)], [1], 5)
    for t in (0, 6):
        with pytest.raises(DriftduelError, match="between 1 and 5"):
            world.preferences(t)
    assert world.condorcet_winners() == [(1, None)]
