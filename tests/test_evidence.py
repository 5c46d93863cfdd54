"""The shared e-value against exact sums, integrals and martingale identities."""

import math
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("scipy")

from hypothesis import given, strategies as st
from scipy.integrate import quad
from scipy.stats import binom

from driftduel.evidence import ALPHA, log_e_value, log_stakes, starting_votes, threshold

few = st.integers(0, 400)
many = st.integers(0, 5_000_000)


def exact(wins, losses):
    """The e-value as a sum of binomials, in integers."""
    n = wins + losses
    total = sum(math.comb(n + 1, i) for i in range(wins + 1))
    value = Fraction(total, (n + 1) * math.comb(n, wins))
    return math.log(value.numerator) - math.log(value.denominator)


@given(few, few)
def test_equals_the_sum_of_binomials(wins, losses):
    assert log_e_value(wins, losses) == pytest.approx(exact(wins, losses), rel=0, abs=1e-11)


@pytest.mark.parametrize(("wins", "losses"), [(0.5, 0.5), (60.5, 20.5), (3.25, 7), (900.5, 1100)])
def test_fractions_equal_the_integral(wins, losses):
    integral = quad(lambda x: math.exp(wins * math.log1p(x) + losses * math.log1p(-x)), 0, 1)[0]
    assert math.exp(log_e_value(wins, losses)) == pytest.approx(integral, rel=1e-7)


@given(many, many)
def test_is_a_martingale_of_a_fair_coin(wins, losses):
    here = log_e_value(wins, losses)
    won, lost = log_e_value(wins + 1, losses), log_e_value(wins, losses + 1)
    assert np.logaddexp(won, lost) - math.log(2) == pytest.approx(here, rel=1e-14, abs=1e-4)
    assert lost < here < won


def test_extreme_counts_are_finite_and_arrays_broadcast():
    assert log_e_value(10**7, 0) == pytest.approx(10**7 * math.log(2) - math.log((10**7 + 1) / 2))
    assert log_e_value(0, 10**7) == pytest.approx(-math.log(10**7 + 1))
    table = log_e_value(np.array([[0.0], [1e6]]), np.array([1e6, 0.0]))
    assert table.shape == (2, 2)
    assert np.isfinite(table).all()
    assert table[0, 0] < -10 < 10 < table[1, 1]


@pytest.mark.parametrize("p", [0.5, 0.45, 0.3])
def test_expectation_is_at_most_one_without_an_advantage(p):
    wins = np.arange(31.0)
    mean = (binom.pmf(wins, 30, p) * np.exp(log_e_value(wins, 30 - wins))).sum()
    assert mean == pytest.approx(1.0) if p == 0.5 else mean < 1


def test_levels_of_all_stretches_sum_to_alpha():
    assert sum(1 / threshold(m) for m in range(1, 100_000)) == pytest.approx(ALPHA, rel=1e-4)


def test_starting_votes_do_not_depend_on_the_length_of_the_log():
    short, long = starting_votes(1_000), starting_votes(100_000)
    assert short.tolist() == long[: len(short)].tolist()
    assert log_stakes(1_000).tolist() == log_stakes(100_000)[: len(short)].tolist()
    assert (np.diff(long) > 0).all()
    assert long[-1] < 100_000
    assert np.exp(log_stakes(10**12)).sum() <= 1


def test_stakes_bound_the_error_over_starting_votes_and_looks():
    """A fair coin, evaluated after every vote from every starting vote: crossed in at most 5 %."""
    rng = np.random.default_rng(5)
    n, runs, crossed = 400, 400, 0
    starts, stakes = starting_votes(n).astype(int), log_stakes(n)
    for _ in range(runs):
        wins = np.concatenate(([0], np.cumsum(rng.random(n) < 0.5)))
        total = np.full(n + 1, -np.inf)
        for start, stake in zip(starts, stakes, strict=True):
            w = (wins[start:] - wins[start]).astype(float)
            total[start:] = np.maximum(total[start:], stake + log_e_value(w, np.arange(len(w)) - w))
        crossed += bool((total >= -math.log(ALPHA)).any())
    assert crossed / runs <= ALPHA
