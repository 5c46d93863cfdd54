"""Every model against its formula, entry by entry, and every parameter it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from driftduel.errors import DriftduelError
from driftduel.preferences import (
    LINKS,
    Preferences,
    clash,
    cycle,
    cycle_on_top,
    from_utilities,
    geometric_btl,
    linear_order,
    lone_winner,
    random_condorcet,
    total_order,
    uniform_random,
)

from .naive import borda_scores, condorcet_winner, copeland_scores, quick, smith_set

orders = st.integers(2, 7).flatmap(lambda K: st.permutations(range(K)))
seeds = st.integers(0, 2**32)
better_than_half = st.floats(0.5, 1, exclude_min=True)


def assert_entries(P, arms, probability):
    """Compare with a function of two different arms."""
    assert isinstance(P, Preferences)
    assert P.arms == arms
    for a in range(arms):
        assert P.matrix[a, a] == 0.5
        for b in range(arms):
            if a != b:
                assert P.matrix[a, b] == pytest.approx(probability(a, b), abs=1e-12)
    # Not only within the tolerance: models sum to 1 to the last bit.
    np.testing.assert_array_equal(P.matrix + P.matrix.T, 1)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.sampled_from(sorted(LINKS)))
@quick
def test_from_utilities(u, link):
    P = from_utilities(u, link)
    assert_entries(P, len(u), lambda a, b: float(LINKS[link](u[a] - u[b])))
    assert from_utilities(np.array(u), LINKS[link]) == P


def test_from_utilities_ties_equal_utilities_exactly_and_defaults_to_logistic():
    def slightly_off(x):
        return 1 / (1 + np.exp(-x)) + 1e-12

    P = from_utilities([2, 1, 1], slightly_off)
    assert P.matrix[1, 2] == P.matrix[2, 1] == 0.5
    assert from_utilities([1, 0]).matrix[0, 1] == pytest.approx(1 / (1 + math.exp(-1)))


@pytest.mark.parametrize("link", sorted(LINKS))
def test_from_utilities_far_apart(link):
    assert from_utilities([1.7e308, -1.7e308], link).matrix.tolist() == [[0.5, 1], [0, 0.5]]


@given(orders, better_than_half)
@quick
def test_total_order(order, p):
    rank = {arm: i for i, arm in enumerate(order)}
    P = total_order(order, p)
    assert_entries(P, len(order), lambda a, b: p if rank[a] < rank[b] else 1 - p)
    assert P.condorcet_winner() == order[0]


@given(orders, st.floats(1.001, 100))
@quick
def test_geometric_btl(order, ratio):
    rank = {arm: i for i, arm in enumerate(order)}
    P = geometric_btl(order, ratio)
    assert_entries(P, len(order), lambda a, b: 1 / (1 + ratio ** (rank[a] - rank[b])))
    assert P.condorcet_winner() == order[0]


def test_geometric_btl_default_and_extreme():
    assert geometric_btl([1, 0, 2]).matrix[1].tolist() == [2 / 3, 0.5, 4 / 5]
    assert geometric_btl(range(200), 1e300).matrix[0, 199] == 1


@given(st.integers(2, 8), st.floats(0.5, 1), st.floats(0.01, 0.5), better_than_half)
@quick
def test_linear_order(arms, base, step, cap):
    P = linear_order(arms, base, step, cap)

    def forward(i, j):
        return min(cap, base + step * (j - i))

    assert_entries(P, arms, lambda a, b: forward(a, b) if a < b else 1 - forward(b, a))


def test_linear_order_defaults():
    row = linear_order(20).matrix[0]
    np.testing.assert_allclose(row[[1, 2, 17, 18, 19]], [0.62, 0.64, 0.94, 0.95, 0.95], atol=1e-12)


@given(st.integers(2, 7), seeds, st.floats(0.51, 0.99), st.data())
@quick
def test_random_condorcet(arms, seed, p_min, data):
    winner = data.draw(st.none() | st.integers(0, arms - 1))
    P = random_condorcet(arms, np.random.default_rng(seed), winner, p_min)
    best = P.condorcet_winner()
    assert best is not None
    assert winner is None or best == winner
    row = np.delete(P.matrix[best], best)
    assert row.min() == p_min
    assert (row == p_min).sum() == 1
    assert_entries(P, arms, lambda a, b: 1 - P.matrix[b, a])
    assert random_condorcet(arms, np.random.default_rng(seed), winner, p_min) == P


def test_random_condorcet_is_spread_as_it_says():
    rng = np.random.default_rng(3)
    drawn = [random_condorcet(4, rng) for _ in range(2000)]
    winners = np.array([P.condorcet_winner() for P in drawn])
    assert np.bincount(winners, minlength=4).min() > 400  # 500 expected, deviation 19
    rows = np.array([np.delete(P.matrix[w], w) for P, w in zip(drawn, winners, strict=True)])
    assert np.bincount(rows.argmin(axis=1), minlength=3).min() > 550  # 667 expected, deviation 21
    above = rows[rows > 0.55]
    assert above.size == 4000
    assert above.mean() == pytest.approx(0.775, abs=0.01)  # U(.55, 1), standard error 0.002
    rest = np.array(
        [
            np.delete(np.delete(P.matrix, w, 0), w, 1)[np.triu_indices(3, 1)]
            for P, w in zip(drawn, winners, strict=True)
        ]
    )
    quarters = np.histogram(rest, bins=4, range=(0, 1))[0]
    assert quarters.min() > 1350  # 1500 expected, deviation 34
    assert quarters.max() < 1650


@given(st.integers(2, 7), st.floats(0, 0.5, exclude_min=True), st.data())
@quick
def test_lone_winner(arms, eps, data):
    winner = data.draw(st.integers(0, arms - 1))
    P = lone_winner(arms, winner, eps)

    def probability(a, b):
        return 0.5 + eps * (a == winner) - eps * (b == winner)

    np.testing.assert_allclose(
        P.matrix,
        [[probability(a, b) for b in range(arms)] for a in range(arms)],
        rtol=0,
        atol=1e-12,
    )


def test_lone_winner_defaults():
    P = lone_winner(5)
    assert P.condorcet_winner() == 0
    assert P.matrix[0].tolist() == [0.5, 0.6, 0.6, 0.6, 0.6]


@given(st.integers(2, 7), seeds)
@quick
def test_uniform_random(arms, seed):
    P = uniform_random(arms, np.random.default_rng(seed))
    draws = iter(np.random.default_rng(seed).random(arms * (arms - 1) // 2))
    upper = {(a, b): next(draws) for a in range(arms) for b in range(a + 1, arms)}
    assert_entries(P, arms, lambda a, b: upper[a, b] if a < b else 1 - upper[b, a])


def test_uniform_random_has_a_condorcet_winner_only_sometimes():
    rng = np.random.default_rng(1)
    none = sum(uniform_random(3, rng).condorcet_winner() is None for _ in range(1000))
    assert 190 < none < 310  # of three arms, one draw in four is a cycle


@given(st.integers(1, 5).map(lambda n: 2 * n + 1), better_than_half)
@quick
def test_cycle(arms, p):
    P = cycle(arms, p)
    half = (arms - 1) // 2
    after = {a: [(a + k) % arms for k in range(1, half + 1)] for a in range(arms)}
    assert_entries(P, arms, lambda a, b: p if b in after[a] else 1 - p)
    assert P.condorcet_winner() is None
    assert P.smith_set() == tuple(range(arms))


@given(
    st.integers(3, 7).flatmap(lambda K: st.permutations(range(K))),
    st.tuples(better_than_half, better_than_half, better_than_half),
    better_than_half,
)
@quick
def test_cycle_on_top(order, strengths, over):
    P = cycle_on_top(order, strengths, over)
    first, second, third, *others = order
    beaten = {(first, second): strengths[0], (second, third): strengths[1]}
    beaten[third, first] = strengths[2]
    for i, a in enumerate(order):
        beaten |= {(a, b): over for b in order[max(3, i + 1) :]}
    assert_entries(P, len(order), lambda a, b: beaten.get((a, b), 1 - beaten.get((b, a), 0)))
    assert condorcet_winner(P.matrix) is None
    assert smith_set(P.matrix) == tuple(sorted((first, second, third)))
    assert len(others) == len(order) - 3


@given(
    st.integers(5, 8).flatmap(lambda K: st.permutations(range(K))),
    st.floats(0.501, 0.7),
    st.floats(0.01, 1),
)
@quick
def test_clash(order, narrow, share):
    K = len(order)
    least = 0.5 + (narrow - 0.5) * (K - 1) / (K - 3)
    wide = least + share * (1 - least)
    P = clash(order, narrow, wide)
    copeland, borda, *others, avenger, upset = order
    beaten = {(avenger, copeland): narrow, (upset, borda): narrow}
    beaten |= {(copeland, b): narrow for b in order if b not in (copeland, avenger)}
    beaten |= {(borda, b): wide for b in (*others, avenger)}
    rest = [*others, avenger, upset]
    beaten |= {(a, b): narrow for i, a in enumerate(rest) for b in rest[i + 1 :]}
    assert_entries(P, K, lambda a, b: beaten.get((a, b), 1 - beaten.get((b, a), 0)))
    assert condorcet_winner(P.matrix) is None
    majorities, scores = copeland_scores(P.matrix), borda_scores(P.matrix)
    assert [a for a in range(K) if majorities[a] == max(majorities)] == [copeland]
    assert [a for a in range(K) if scores[a] == max(scores)] == [borda]
    assert len(smith_set(P.matrix)) == K


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: from_utilities([1]),
            "utilities must be a list of at least two numbers; got shape (1,).",
        ),
        (
            lambda: from_utilities([[1, 2]]),
            "utilities must be a list of at least two numbers; got shape (1, 2).",
        ),
        (lambda: from_utilities([1, np.nan, 2]), "utilities must be finite; utilities[1] is nan."),
        (
            lambda: from_utilities([1, 2, -np.inf]),
            "utilities must be finite; utilities[2] is -inf.",
        ),
        (
            lambda: from_utilities(["a", "b"]),
            "utilities must be an array of numbers; got entries of type <U1.",
        ),
        (
            lambda: from_utilities([1, 2], "probitt"),
            "No link is called 'probitt'; did you mean 'probit' (known: linear, logistic, probit)?",
        ),
        (lambda: total_order([0, 1], 0.5), "p must be a number in (0.5, 1]; got 0.5."),
        (lambda: total_order([0, 1], 1.01), "p must be a number in (0.5, 1]; got 1.01."),
        (lambda: total_order([0, 1], np.nan), "p must be a number in (0.5, 1]; got nan."),
        (lambda: total_order([0, 1], "0.7"), "p must be a number in (0.5, 1]; got '0.7'."),
        (
            lambda: total_order([0, 0], 0.6),
            "order must name each of the arms 0..K-1 (K >= 2) exactly once, best first; got [0, "
            "0].",
        ),
        (lambda: total_order([0], 0.6), "exactly once, best first; got [0]."),
        (lambda: total_order([1, 2], 0.6), "exactly once, best first; got [1, 2]."),
        (lambda: total_order([0.0, 1.0], 0.6), "exactly once, best first; got [0.0, 1.0]."),
        (lambda: total_order([[0, 1]], 0.6), "exactly once, best first; got [[0, 1]]."),
        (lambda: total_order([[0], [1, 2]], 0.6), "exactly once, best first; got [[0], [1, 2]]."),
        (lambda: geometric_btl([2, 1]), "exactly once, best first; got [2, 1]."),
        (lambda: geometric_btl([0, 1], 1), "ratio must be a number in (1, inf); got 1.0."),
        (lambda: geometric_btl([0, 1], np.inf), "ratio must be a number in (1, inf); got inf."),
        (lambda: linear_order(1), "arms must be a whole number of at least 2; got 1."),
        (lambda: linear_order(2.0), "arms must be a whole number of at least 2; got 2.0."),
        (lambda: linear_order(3, base=0.4), "base must be a number in [0.5, 1]; got 0.4."),
        (lambda: linear_order(3, step=-0.1), "step must be a number in [0, 0.5]; got -0.1."),
        (lambda: linear_order(3, cap=0.5), "cap must be a number in (0.5, 1]; got 0.5."),
        (
            lambda: linear_order(3, base=0.5, step=0),
            "base + step must exceed 0.5, or no arm beats the next; got 0.5 + 0.0.",
        ),
        (lambda: random_condorcet(1, RNG), "arms must be a whole number of at least 2; got 1."),
        (
            lambda: random_condorcet(3, 7),
            "rng must be a numpy.random.Generator, such as numpy.random.default_rng(1); got 7.",
        ),
        (
            lambda: random_condorcet(3, RNG, 3),
            "winner must be an arm, a whole number in 0..2; got 3.",
        ),
        (
            lambda: random_condorcet(3, RNG, p_min=0.5),
            "p_min must be a number in (0.5, 1); got 0.5.",
        ),
        (lambda: random_condorcet(3, RNG, p_min=1), "p_min must be a number in (0.5, 1); got 1.0."),
        (lambda: lone_winner(0), "arms must be a whole number of at least 2; got 0."),
        (lambda: lone_winner(3, -1), "winner must be an arm, a whole number in 0..2; got -1."),
        (lambda: lone_winner(3, eps=0), "eps must be a number in (0, 0.5]; got 0.0."),
        (lambda: lone_winner(3, eps=0.51), "eps must be a number in (0, 0.5]; got 0.51."),
        (lambda: uniform_random("3", RNG), "arms must be a whole number of at least 2; got '3'."),
        (lambda: uniform_random(3, np.random), "rng must be a numpy.random.Generator, such as"),
        (lambda: cycle(1), "arms must be a whole number of at least 3; got 1."),
        (lambda: cycle(4), "arms must be odd, for a symmetric cycle; got 4."),
        (lambda: cycle_on_top([1, 0]), "arms must be a whole number of at least 3; got 2."),
        (lambda: cycle_on_top(range(4), [0.6, 0.7]), "strengths must be three numbers; got 2."),
        (
            lambda: cycle_on_top(range(4), [0.6, 0.5, 0.7]),
            "strengths[1] must be a number in (0.5, 1]; got 0.5.",
        ),
        (lambda: cycle_on_top(range(4), over=2), "over must be a number in (0.5, 1]; got 2.0."),
        (lambda: clash(range(4)), "arms must be a whole number of at least 5; got 4."),
        (lambda: clash(range(5), 0.5), "narrow must be a number in (0.5, 1]; got 0.5."),
        (
            lambda: clash(range(5), 0.6, 0.7),
            "wide must be above 0.7, or 5 arms with narrow wins of 0.6 do not clash; got 0.7.",
        ),
        (lambda: cycle(3, 0.5), "p must be a number in (0.5, 1]; got 0.5."),
    ],
)
def test_a_parameter_is_refused_by_name_value_and_range(make, message):
    with pytest.raises(DriftduelError) as caught:
        make()
    assert message in str(caught.value)
