"""`Preferences`: what it accepts, what it refuses and how, and that it cannot change."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from driftduel.errors import DriftduelError
from driftduel.preferences import Preferences, named

from .naive import matrices, quick

GOOD = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.8], [0.3, 0.2, 0.5]]


def changed(*entries):
    P = np.array(GOOD)
    for a, b, value in entries:
        P[a, b] = value
    return P


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (0.5, "must have two dimensions; got 0 (shape ())."),
        ([0.5, 0.5], "must have two dimensions; got 1 (shape (2,))."),
        ([GOOD, GOOD], "must have two dimensions; got 3 (shape (2, 3, 3))."),
        ([[0.5, 0.6, 0.7], [0.4, 0.5, 0.8]], "must be square; got shape (2, 3)."),
        ([[0.5]], "must have at least two arms; got K = 1."),
        (np.empty((0, 0)), "must have at least two arms; got K = 0."),
        ([[0.5, 0.6], [0.4]], "must be an array of numbers; numpy error: "),
        ([[0.5, {}], [0.4, 0.5]], "must be an array of numbers; numpy error: "),
        ([["0.5", "0.6"], ["0.4", "0.5"]], "must be an array of numbers; got entries of type <U3."),
        ([[0.5, 0.6j], [0.4, 0.5]], "must be an array of numbers; got entries of type complex128."),
        (changed((1, 2, np.nan), (2, 0, np.nan)), "P[1,2] = nan; it must be a number in [0, 1]."),
        (changed((2, 0, -np.inf)), "P[2,0] = -inf; it must be a number in [0, 1]."),
        (changed((0, 1, 1.25), (1, 0, -0.25)), "P[0,1] = 1.25; a probability must lie in [0, 1]."),
        (
            changed((2, 1, -2e-9), (1, 2, 1)),
            "P[2,1] = -2e-09; a probability must lie in [0, 1].",
        ),
        (changed((1, 1, 0.6), (2, 2, 0.6)), "P[1,1] = 0.6; an arm against itself must have 1/2."),
        (
            changed((2, 2, 0.5 + 2e-9)),
            "P[2,2] = 0.500000002; an arm against itself must have 1/2.",
        ),
        (
            changed((2, 0, 0.4), (2, 1, 0.4)),
            "P[0,2] = 0.7 and P[2,0] = 0.4 sum to 1.1; they must sum to 1.",
        ),
        (
            changed((2, 1, 0.2 + 2e-9)),
            "P[1,2] = 0.8 and P[2,1] = 0.200000002 sum to 1.000000002; they must sum to 1.",
        ),
    ],
)
def test_what_is_no_preference_matrix_is_refused_by_entry_and_value(matrix, message):
    with pytest.raises(DriftduelError) as caught:
        Preferences(matrix)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "matrix",
    [
        GOOD,
        tuple(map(tuple, GOOD)),
        np.array(GOOD, order="F"),
        [[Fraction(1, 2), 1], [0, Fraction(1, 2)]],
        named("cyclic"),
    ],
)
def test_anything_array_like_is_accepted_and_kept_to_the_bit(matrix):
    P = Preferences(matrix)
    assert P.matrix.dtype == np.float64
    assert P.arms == len(np.asarray(matrix))
    np.testing.assert_array_equal(P.matrix, np.asarray(matrix, dtype=np.float64))


def test_deviations_within_the_tolerance_are_mended():
    P = Preferences(
        [
            [0.5 + 5e-10, 1 + 5e-10, 0.5 + 4e-10],
            [-5e-10, 0.5 - 5e-10, 0.5 - 4e-10],
            [0.5 + 4e-10, 0.5 - 4e-10, 0.5],
        ]
    )
    # Arms 0 and 2 would each beat the other, arms 1 and 2 would each lose: both pairs are tied.
    np.testing.assert_array_equal(P.matrix, [[0.5, 1, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0.5]])


def mended(matrix):
    """Copy a valid matrix by the rules, one entry after the other."""
    P = np.clip(np.array(matrix), 0.0, 1.0)
    expected = P.copy()
    for a in range(len(P)):
        for b in range(len(P)):
            if (P[a, b] - 0.5) * (P[b, a] - 0.5) > 0:
                expected[a, b] = 0.5
    return expected + 0.0


def test_matrices_are_mended_whether_their_entries_sum_to_exactly_1_or_not():
    rng = np.random.default_rng(0)
    tiny = np.array([0.0, -0.0, 2.0**-53, 2.0**-54, -(2.0**-54), 1e-10, -1e-10])
    exact = 0
    for _ in range(2000):
        arms = int(rng.integers(2, 5))
        P = np.where(rng.random((arms, arms)) < 0.3, 0.5, rng.choice([0.0, 0.25, 1.0, 0.7]))
        upper = np.triu_indices(arms, 1)
        P[upper[::-1]] = 1.0 - P[upper]
        np.fill_diagonal(P, 0.5)
        P += rng.choice(tiny, P.shape) * rng.integers(2)
        exact += bool((P + P.T == 1).all())
        assert Preferences(P).matrix.tobytes() == mended(P).tobytes()
    assert 400 < exact < 1600


def test_gaps_of_opposite_sign_are_kept_however_small():
    P = Preferences([[0.5, 0.5 + 4e-10], [0.5 - 4e-10, 0.5]])
    assert P.condorcet_winner() == 0
    assert P.gap(0, 1) == pytest.approx(4e-10, rel=1e-6)


@given(matrices())
@quick
def test_gaps_are_the_matrix_less_one_half(matrix):
    P = Preferences(matrix)
    for a in range(P.arms):
        for b in range(P.arms):
            assert P.gap(a, b) == P.gaps[a, b] == P.matrix[a, b] - 0.5


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (3, 0, "a must be an arm, a whole number in 0..2; got 3."),
        (0, -1, "b must be an arm, a whole number in 0..2; got -1."),
        (0, 1.0, "b must be an arm, a whole number in 0..2; got 1.0."),
    ],
)
def test_gap_refuses_what_is_no_arm(a, b, message):
    with pytest.raises(DriftduelError) as caught:
        Preferences(GOOD).gap(a, b)
    assert str(caught.value) == message


def test_gap_takes_numpy_integers():
    assert Preferences(GOOD).gap(np.int64(0), np.int8(1)) == pytest.approx(0.1)


def test_nothing_can_change_it():
    source = np.array(GOOD)
    P = Preferences(source)
    source[0, 1] = 0.9
    assert P.matrix[0, 1] == 0.6
    with pytest.raises(ValueError, match="read-only"):
        P.matrix[0, 1] = 0.9
    with pytest.raises(FrozenInstanceError):
        P.matrix = source
    P.gaps[0, 1] = 0.3  # a fresh array each time
    assert P.gap(0, 1) == 0.6 - 0.5


def test_equality_and_hash_go_by_the_entries():
    P = Preferences(GOOD)
    assert Preferences(np.array(GOOD)) == P
    assert hash(P) == hash(Preferences(GOOD))
    assert Preferences(changed((0, 1, 0.65), (1, 0, 0.35))) != P
    assert Preferences([[0.5, 0.6], [0.4, 0.5]]) != P
    assert P != GOOD
    assert len({P, Preferences(GOOD), named("cyclic")}) == 2


def test_a_negative_zero_is_a_zero_for_equality_and_for_the_hash():
    plain = Preferences([[0.5, 0.0], [1.0, 0.5]])
    negative = Preferences([[0.5, -0.0], [1.0, 0.5]])
    assert plain == negative
    assert hash(plain) == hash(negative)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda P: pickle.loads(pickle.dumps(P))]
)
def test_copies_and_pickles_are_equal_and_still_read_only(again):
    P = again(Preferences(GOOD))
    assert Preferences(GOOD) == P
    assert not P.matrix.flags.writeable


def test_repr_is_short():
    title, *rows = repr(Preferences(GOOD)).splitlines()
    assert title == "Preferences(arms=3, condorcet_winner=0)"
    assert len(rows) == 3
    tied = repr(Preferences(np.full((9, 9), 0.5)))
    assert tied.startswith("Preferences(arms=9, condorcet_winner=None)\n")


def test_numpy_takes_it_as_an_array():
    P = Preferences(GOOD)
    assert np.asarray(P) is P.matrix
    assert np.asarray(P, dtype=np.float32).dtype == np.float32
    own = np.array(P)
    own[0, 1] = 0.9
    assert P.matrix[0, 1] == 0.6
    with pytest.raises(ValueError, match="copy"):
        np.array(P, dtype=np.float32, copy=False)
