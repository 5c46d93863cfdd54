"""The bounds: values worked out by hand, and how they relate to each other."""

import dataclasses
import math

import pytest
from hypothesis import given, strategies as st

from driftduel.errors import DriftduelError
from driftduel.measures.bounds import bounds

UPPER = ("phases", "switches", "significant_phases", "significant_switches", "variation")


def test_by_hand():
    # Phases of 9, 16 and 75 rounds; significant ones of 36 and 64; K T = 400.
    found = bounds(4, 101, [10, 26], [37], 0.0, logs=False)
    assert found.phases == pytest.approx(4 * (3 + 4 + math.sqrt(75)))
    assert found.switches == pytest.approx(4 * math.sqrt(303))
    assert found.significant_phases == 4 * (6 + 8)
    assert found.significant_switches == pytest.approx(4 * math.sqrt(202))
    assert found.variation == pytest.approx(4 * math.sqrt(101))
    assert found.lower == pytest.approx(math.sqrt(808))


def test_variation_by_hand():
    # K T = 1000, so (K T)^(2/3) = 100; the cube root of 8 is 2.
    assert bounds(10, 100, [], [], 8.0, logs=False).variation == pytest.approx(10 * 10 + 2 * 100)


def test_without_switches_there_is_one_phase():
    found = bounds(2, 101, [], [], 0.0, logs=False)
    assert found.phases == found.significant_phases == 20.0
    assert found.lower == pytest.approx(math.sqrt(202))  # as with one switch


def test_a_single_round():
    assert set(dataclasses.astuple(bounds(3, 1, [], [], 0.0))[:-1]) == {0.0}


@st.composite
def worlds(draw):
    arms, rounds = draw(st.integers(2, 50)), draw(st.integers(2, 10**9))
    switches = st.lists(st.integers(2, rounds), max_size=20, unique=True).map(sorted)
    return arms, rounds, draw(switches), draw(switches), draw(st.floats(0, rounds))


@given(worlds())
def test_jensen(world):
    found = bounds(*world)
    assert found.phases <= found.switches * (1 + 1e-12)
    assert found.significant_phases <= found.significant_switches * (1 + 1e-12)


@given(worlds())
def test_logs_are_one_factor(world):
    _, rounds, *_ = world
    with_logs, without = bounds(*world), bounds(*world, logs=False)
    for name in UPPER:
        expected = math.log(rounds) ** 3 * getattr(without, name)
        assert getattr(with_logs, name) == pytest.approx(expected)
    assert with_logs.lower == without.lower <= without.switches


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 10, [], [], 0.0), "arms=0 and rounds=10 must be at least 1"),
        ((2, 10, [5, 4], [], 0.0), "must ascend between 1 and 10"),
        ((2, 10, [], [11], 0.0), "must ascend between 1 and 10"),
        ((2, 10, [], [], -1.0), "condorcet_variation=-1.0 must be at least 0"),
        ((2, 10, [], [], math.nan), "condorcet_variation=nan must be at least 0"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(DriftduelError, match=message):
        bounds(*arguments)
