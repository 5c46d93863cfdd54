"""The game solver: what it returns is beaten by nobody, whatever the matrix."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from driftduel._internal.minimax import least_exploited, solve, workspace

pytestmark = pytest.mark.kernels


def solved(gaps):
    """Return the mixture for a whole matrix."""
    mixture = np.empty(len(gaps))
    solve(gaps, len(gaps), *workspace(len(gaps)), mixture)
    return mixture


def antisymmetric(values):
    upper = np.triu(values, 1)
    return upper - upper.T


@given(st.integers(1, 12), st.integers(0, 2**32), st.sampled_from([1, 2, 10, 1000, 10**9]))
def test_nobody_beats_the_mixture(arms, seed, steps):
    rng = np.random.default_rng(seed)
    gaps = antisymmetric(np.round(rng.uniform(-0.5, 0.5, (arms, arms)) * steps) / steps)
    mixture = solved(gaps)
    assert (mixture >= 0).all()
    assert abs(mixture.sum() - 1) < 1e-12
    assert (gaps @ mixture).max() < 1e-9


def test_gaps_that_are_nearly_equal():
    """A pivot may then be nearly 0: about one order of the arms in a thousand fails."""
    rng = np.random.default_rng(0)
    for _ in range(4000):
        arms = rng.integers(2, 9)
        few = rng.choice([-0.5, -0.1, 0, 0.1, 0.5], (arms, arms))
        noise = rng.normal(0, 10.0 ** -rng.integers(6, 16), (arms, arms))
        gaps = antisymmetric(np.clip(few + noise, -0.5, 0.5))
        assert (gaps @ solved(gaps)).max() < 1e-9


@given(st.integers(2, 8), st.integers(0, 2**32))
def test_gaps_of_very_different_sizes(arms, seed):
    rng = np.random.default_rng(seed)
    gaps = antisymmetric(
        rng.choice([-1, 1], (arms, arms)) * 10.0 ** rng.uniform(-12, 0, (arms, arms))
    )
    assert (gaps @ solved(gaps)).max() < 1e-9


def test_a_winner_is_played_alone():
    gaps = antisymmetric(np.full((4, 4), 0.1))
    assert solved(gaps).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_skewed_cycle_has_the_weights_of_the_textbook():
    # Each arm weighs as much as the duel it is not in.
    a, b, c = 0.4, 0.1, 0.2
    gaps = np.array([[0, a, -c], [-a, 0, b], [c, -b, 0]])
    assert np.allclose(solved(gaps), np.array([b, c, a]) / (a + b + c))


def test_only_the_first_arms_are_read():
    gaps = np.full((5, 5), np.nan)
    gaps[:3, :3] = antisymmetric(np.array([[0, 1, -1], [0, 0, 1], [0, 0, 0]]) * 0.2)
    mixture = np.full(5, -7.0)
    solve(gaps, 3, *workspace(5), mixture)
    assert np.allclose(mixture, [1 / 3, 1 / 3, 1 / 3, -7, -7])


@given(st.integers(1, 10), st.integers(0, 2**32), st.sampled_from([1e-3, 1.0, 50.0]))
def test_of_any_payoffs_neither_side_can_do_better(arms, seed, debt):
    """What the rows get at most is what they can be sure of: the value of the game."""
    rng = np.random.default_rng(seed)
    payoffs = antisymmetric(rng.uniform(-0.5, 0.5, (arms, arms)))
    payoffs += debt * rng.uniform(-0.5, 0.5, (arms, 1))
    columns, rows = np.empty(arms), np.empty(arms)
    least_exploited(payoffs, arms, *workspace(arms), columns)
    least_exploited(-payoffs.T.copy(), arms, *workspace(arms), rows)
    for mixture in (columns, rows):
        assert (mixture >= 0).all()
        assert abs(mixture.sum() - 1) < 1e-12
    assert (payoffs @ columns).max() == pytest.approx((rows @ payoffs).min(), abs=1e-9)
