"""SST, STI and the lemma they imply: which models satisfy them, and two gaps in the paper."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from driftduel.preferences import (
    LINKS,
    Preferences,
    check_link,
    from_utilities,
    geometric_btl,
    linear_order,
    named,
    total_order,
    uniform_random,
)

from . import naive
from .naive import matrices, mirrored, quick

utilities = st.lists(st.floats(-3, 3) | st.integers(-2, 2), min_size=2, max_size=7)
wild_utilities = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=7)


def cubic(x):
    return 0.5 + np.clip(x, -1, 1) ** 3 / 2


def staircase(x):
    return 0.5 + np.sign(x) * np.minimum(np.ceil(np.abs(x)), 4) / 8


def late(x):
    """Accelerate beyond 1, so it is convex on part of the positive side."""
    return 0.5 + np.sign(x) * np.minimum(np.abs(x) / 20 + np.maximum(np.abs(x) - 1, 0) / 4, 0.5)


@given(matrices())
@settings(quick, max_examples=200)
def test_violations_against_the_triple_loop(matrix):
    P = Preferences(matrix)
    assert P.sst_violation() == naive.sst_violation(P.matrix)
    assert P.sti_violation() == naive.sti_violation(P.matrix)


def test_violations_against_the_triple_loop_on_larger_matrices():
    rng = np.random.default_rng(11)
    found = set()
    for _ in range(20):
        # An order with noise: the first violation is not always at arm 0.
        base = from_utilities(rng.normal(size=9)).matrix
        noise = np.triu(rng.normal(scale=0.01, size=(9, 9)), 1)
        P = Preferences(np.clip(base + noise - noise.T, 0, 1))
        assert P.sst_violation() == naive.sst_violation(P.matrix)
        assert P.sti_violation() == naive.sti_violation(P.matrix)
        found |= {P.sst_violation(), P.sti_violation()}
    assert len({triple[0] for triple in found if triple}) > 1


@pytest.mark.parametrize(
    ("gap", "sst", "sti"),
    [
        (0.2 - 2e-9, (0, 1, 2), None),
        (0.2 - 5e-10, None, None),
        (0.3 + 5e-10, None, None),
        (0.3 + 2e-9, None, (0, 1, 2)),
    ],
)
def test_rounding_is_no_violation(gap, sst, sti):
    P = Preferences(mirrored([0.6, 0.5 + gap, 0.7], 3))
    assert (P.sst_violation(), P.sti_violation()) == (sst, sti)


@given(utilities | wild_utilities, st.sampled_from(sorted(LINKS)))
@settings(quick, max_examples=200)
def test_the_named_links_give_sst_sti_and_the_lemma(u, link):
    P = from_utilities(u, link)
    assert P.sst_violation() is None
    assert P.sti_violation() is None
    assert naive.lemma_violations(P) == []


@given(utilities | wild_utilities, st.sampled_from([cubic, staircase, late]))
@quick
def test_every_link_gives_sst(u, link):
    assert from_utilities(u, link).sst_violation() is None


@pytest.mark.parametrize(
    ("link", "u"), [(cubic, [1.0, 0.5, 0.0]), (late, [2.0, 1.0, 0.0])], ids=["cubic", "late"]
)
def test_an_increasing_symmetric_link_need_not_give_sti(link, u):
    """The paper's remark claims STI for every such link; it takes subadditivity."""
    check_link(link)
    P = from_utilities(u, link)
    assert P.sst_violation() is None
    assert P.sti_violation() == (0, 1, 2)
    assert naive.lemma_violations(P) == [(0, 1, 2)]


def bent(x):
    """Subadditive above 0, though not concave: its slope falls, then rises again."""
    rise = np.interp(np.abs(x), [0.0, 1.0, 2.0, 3.0], [0.0, 0.3, 0.33, 0.48])
    return 0.5 + np.sign(x) * rise


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=6))
@quick
def test_a_subadditive_link_gives_sti_though_it_is_not_concave(u):
    check_link(bent)
    slopes = np.diff(bent(np.array([0.0, 1.0, 2.0, 3.0])))
    assert slopes[2] > slopes[1]
    assert from_utilities(u, bent).sti_violation() is None


@given(st.lists(st.integers(1, 10), min_size=3, max_size=3))
@settings(quick, suppress_health_check=[HealthCheck.filter_too_much])
def test_a_chain_with_sst_and_sti_satisfies_the_lemma(twentieths):
    P = Preferences(mirrored([0.5 + n / 20 for n in twentieths], 3))
    assume(P.sst_violation() is None and P.sti_violation() is None)
    assert naive.lemma_violations(P) == []


@pytest.mark.parametrize(("arms", "draws", "at_least"), [(3, 1000, 80), (4, 3000, 4)])
def test_random_matrices_with_sst_and_sti_satisfy_the_lemma(arms, draws, at_least):
    rng = np.random.default_rng(5)
    passed = broken = 0
    for _ in range(draws):
        P = uniform_random(arms, rng)
        if P.sst_violation() is None and P.sti_violation() is None:
            passed += 1
            assert naive.lemma_violations(P) == []
        else:
            broken += bool(naive.lemma_violations(P))
    assert passed >= at_least
    assert broken > 0  # the lemma is no matter of course


def test_with_a_tie_the_lemma_can_fail_though_sst_and_sti_hold():
    """The proof treats "b beats c" and "c beats b" only; with a tie there is no chain."""
    P = Preferences(mirrored([0.51, 1.0, 0.5], 3))
    assert P.sst_violation() is None
    assert P.sti_violation() is None
    assert naive.lemma_violations(P) == [(0, 1, 2)]


@given(st.permutations(range(5)), st.floats(0.5, 1, exclude_min=True), st.floats(1.001, 50))
@quick
def test_models_of_an_order_satisfy_both(order, p, ratio):
    for P in (total_order(order, p), geometric_btl(order, ratio), linear_order(5, cap=p)):
        assert P.sst_violation() is None
        assert P.sti_violation() is None


@pytest.mark.parametrize(
    ("name", "sst", "sti"),
    [
        # delta(0,3) = .04 < delta(0,1) = .05; delta(0,4) = .11 > delta(0,2) + delta(2,4) = .06
        ("six-rankers", (0, 1, 3), (0, 2, 4)),
        ("cyclic", (0, 1, 2), None),
        ("arithmetic", None, None),
        ("linear-order", None, None),
        ("paper-two-arm-first", None, None),
        ("paper-background-odd", (0, 1, 2), None),
        ("paper-background-even", (0, 2, 1), None),
    ],
)
def test_named_matrices(name, sst, sti):
    assert (named(name).sst_violation(), named(name).sti_violation()) == (sst, sti)
