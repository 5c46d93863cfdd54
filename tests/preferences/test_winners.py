"""Every notion of a winner against its obvious twin."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel.preferences import Preferences, condorcet_winners, cycle, named, uniform_random

from . import naive
from .naive import matrices, quick


@given(matrices())
@quick
def test_condorcet_winner(matrix):
    P = Preferences(matrix)
    assert P.condorcet_winner() == naive.condorcet_winner(P.matrix)


@given(st.integers(2, 4).flatmap(lambda K: st.lists(matrices(K, K), min_size=1, max_size=6)))
@quick
def test_condorcet_winners_of_a_stack(stack):
    winners = condorcet_winners(np.array(stack))
    expected = [naive.condorcet_winner(matrix) for matrix in stack]
    assert winners.dtype == np.int64
    assert winners.tolist() == [-1 if winner is None else winner for winner in expected]


def test_condorcet_winners_of_an_empty_stack():
    winners = condorcet_winners(np.empty((0, 3, 3)))
    assert winners.shape == (0,)
    assert winners.dtype == np.int64


def test_condorcet_winners_leave_the_diagonal_and_the_input_alone():
    stack = np.array([[[0.5 + 1e-12, 0.4], [0.6, 0.5]], [[0.5 + 1e-12, 0.5], [0.5, 0.5 + 1e-12]]])
    before = stack.copy()
    assert condorcet_winners(stack).tolist() == [1, -1]
    np.testing.assert_array_equal(stack, before)


@given(matrices())
@quick
def test_borda(matrix):
    P = Preferences(matrix)
    scores = naive.borda_scores(P.matrix)
    np.testing.assert_allclose(P.borda_scores(), scores, rtol=0, atol=1e-12)
    best = max(scores)
    assert P.borda_winner() == next(a for a in range(P.arms) if scores[a] >= best - 1e-9)


def test_borda_winner_is_the_lowest_index_even_if_the_sums_are_rounded_apart():
    circles = [cycle(arms, p) for arms in range(3, 31, 2) for p in (0.55, 0.6, 0.7, 0.9)]
    assert any(P.borda_scores().argmax() != 0 for P in circles)
    assert all(P.borda_winner() == 0 for P in circles)


def test_borda_winner_of_equals_further_down():
    P = [[0.5, 0.7, 0.2, 0.1], [0.3, 0.5, 0.1, 0.6], [0.8, 0.9, 0.5, 0.3], [0.9, 0.4, 0.7, 0.5]]
    assert Preferences(P).borda_winner() == 2


@given(matrices())
@quick
def test_copeland(matrix):
    P = Preferences(matrix)
    scores = naive.copeland_scores(P.matrix)
    assert P.copeland_scores().tolist() == scores
    assert P.copeland_scores().dtype == np.int64
    assert P.copeland_winners() == tuple(
        arm for arm, score in enumerate(scores) if score == max(scores)
    )


@given(matrices(max_arms=5))
@settings(quick, max_examples=200)
def test_smith_set_against_all_subsets(matrix):
    P = Preferences(matrix)
    assert P.smith_set() == naive.smith_set(P.matrix)


def test_smith_set_of_nested_cycles():
    # Arms 1, 3, 5 form a cycle that beats the cycle 0, 2, 4.
    P = np.full((6, 6), 0.5)
    for circle in ([1, 3, 5], [0, 2, 4]):
        for a, b in zip(circle, circle[1:] + circle[:1], strict=True):
            P[a, b], P[b, a] = 0.8, 0.2
    P[np.ix_([1, 3, 5], [0, 2, 4])] = 0.6
    P[np.ix_([0, 2, 4], [1, 3, 5])] = 0.4
    assert Preferences(P).smith_set() == (1, 3, 5)


def test_winners_can_disagree():
    P = named("paper-background-odd")
    assert (P.condorcet_winner(), P.borda_winner(), P.copeland_winners()) == (0, 1, (0,))


@given(matrices())
@quick
def test_no_arm_beats_the_von_neumann_winner(matrix):
    P = Preferences(matrix)
    q = P.von_neumann_winner()
    assert q.shape == (P.arms,)
    assert (q >= 0).all()
    assert q.sum() == pytest.approx(1, abs=1e-12)
    assert (q @ P.gaps).min() >= -1e-9


@given(st.lists(st.floats(0.01, 0.5), min_size=3, max_size=3))
@quick
def test_von_neumann_winner_of_a_three_cycle_has_a_closed_form(gaps):
    x, y, z = gaps  # delta(0,1), delta(1,2), delta(2,0)
    P = Preferences([[0.5, 0.5 + x, 0.5 - z], [0.5 - x, 0.5, 0.5 + y], [0.5 + z, 0.5 - y, 0.5]])
    # Each arm weighs as much as the duel it is not in.
    np.testing.assert_allclose(
        P.von_neumann_winner(), np.array([y, z, x]) / (x + y + z), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("arms", [3, 6])
def test_von_neumann_winner_stays_in_the_smith_set(arms):
    rng = np.random.default_rng(7)
    smaller = 0
    for _ in range(20):
        P = uniform_random(arms, rng)
        inside = list(P.smith_set())
        smaller += len(inside) < arms
        assert P.von_neumann_winner()[inside].sum() == pytest.approx(1, abs=1e-9)
        if P.condorcet_winner() is not None:
            assert P.von_neumann_winner()[P.condorcet_winner()] == pytest.approx(1, abs=1e-9)
    assert smaller > 0  # else the loop has shown nothing


@pytest.mark.parametrize("arms", [2, 3, 5, 10, 40])
def test_von_neumann_winner_is_that_of_a_linear_programme(arms):
    """Random entries make it unique, so another solver must find the same."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    rng = np.random.default_rng(arms)
    for _ in range(10):
        P = uniform_random(arms, rng)
        result = linprog(
            c=np.append(np.zeros(arms), -1.0),
            A_ub=np.column_stack([-P.gaps.T, np.ones(arms)]),
            b_ub=np.zeros(arms),
            A_eq=np.append(np.ones(arms), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0.0, 1.0)] * arms + [(-1.0, 1.0)],
            method="highs",
        )
        np.testing.assert_allclose(P.von_neumann_winner(), result.x[:arms], atol=1e-7)


def test_von_neumann_winner_of_gaps_of_very_different_size():
    rng = np.random.default_rng(1)
    for _ in range(40):
        gaps = np.triu(rng.uniform(-0.5, 0.5, (20, 20)), 1)
        gaps *= 10.0 ** -rng.integers(0, 13, size=gaps.shape)
        P = Preferences(0.5 + gaps - gaps.T)
        assert (P.von_neumann_winner() @ P.gaps).min() >= -1e-9
