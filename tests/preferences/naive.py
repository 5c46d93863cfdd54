"""The slow, obvious twins of the room's functions, and the inputs to compare them on."""

from itertools import combinations, permutations

import numpy as np
from hypothesis import settings, strategies as st

from driftduel.preferences import Preferences

TOLERANCE = 1e-9

#: For properties of one small matrix, of which there are many.
quick = settings(max_examples=80)


def mirrored(upper, arms):
    """Fill a matrix from its upper triangle, row by row."""
    P = np.full((arms, arms), 0.5)
    for (a, b), p in zip(combinations(range(arms), 2), upper, strict=True):
        P[a, b], P[b, a] = p, 1 - p
    return P


@st.composite
def matrices(draw, min_arms=2, max_arms=6):
    """Draw a preference matrix; on the coarse grid, ties and equal gaps are common."""
    arms = draw(st.integers(min_arms, max_arms))
    pairs = arms * (arms - 1) // 2
    coarse = st.integers(0, 10).map(lambda n: n / 10)
    entry = draw(st.sampled_from([coarse, st.floats(0, 1)]))
    return mirrored(draw(st.lists(entry, min_size=pairs, max_size=pairs)), arms)


def beats(P, a, b):
    return P[a, b] > 0.5


def condorcet_winner(P):
    arms = range(len(P))
    winners = [a for a in arms if all(beats(P, a, b) for b in arms if b != a)]
    return winners[0] if winners else None


def borda_scores(P):
    arms = range(len(P))
    return [sum(P[a, b] for b in arms if b != a) / (len(P) - 1) for a in arms]


def copeland_scores(P):
    arms = range(len(P))
    return [sum(1 for b in arms if b != a and beats(P, a, b)) for a in arms]


def von_neumann(P):
    """Try all supports, the smallest first, with shares that make everyone in it even."""
    for size in range(1, len(P) + 1):
        for inside in combinations(range(len(P)), size):
            gaps = P[np.ix_(inside, inside)] - 0.5
            even = np.vstack((gaps, np.ones(size)))
            shares = np.linalg.lstsq(even, np.eye(size + 1)[-1], rcond=None)[0]
            mixture = np.zeros(len(P))
            mixture[list(inside)] = shares
            fits = np.abs(gaps @ shares).max() < 1e-9 and abs(shares.sum() - 1) < 1e-9
            if fits and shares.min() > -1e-12 and (mixture @ (P - 0.5)).min() > -1e-9:
                return mixture
    raise AssertionError


def smith_set(P):
    """Try all subsets, the smallest first."""
    arms = range(len(P))
    for size in range(1, len(P) + 1):
        for inside in combinations(arms, size):
            outside = [b for b in arms if b not in inside]
            if all(beats(P, a, b) for a in inside for b in outside):
                return inside
    raise AssertionError("the set of all arms always qualifies")


def chains(P):
    """List all (a, b, c) with a beating b and b beating c, in lexicographic order."""
    return [
        (a, b, c) for a, b, c in permutations(range(len(P)), 3) if beats(P, a, b) and beats(P, b, c)
    ]


def sst_violation(P):
    delta = P - 0.5
    for a, b, c in chains(P):
        if delta[a, c] < max(delta[a, b], delta[b, c]) - TOLERANCE:
            return a, b, c
    return None


def sti_violation(P):
    delta = P - 0.5
    for a, b, c in chains(P):
        if delta[a, c] > delta[a, b] + delta[b, c] + TOLERANCE:
            return a, b, c
    return None


def lemma_violations(P: Preferences):
    """List all (a, b, c), a beating b and c, with delta(a,c) > 2 delta(a,b) + delta(b,c)."""
    delta = P.gaps
    return [
        (a, b, c)
        for a, b, c in permutations(range(P.arms), 3)
        if delta[a, b] > 0
        and delta[a, c] > 0
        and delta[a, c] > 2 * delta[a, b] + delta[b, c] + TOLERANCE
    ]
