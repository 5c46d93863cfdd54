"""Models of preference matrices: from utilities, from an order, at random, or by design.

A function with an argument `rng` draws from it in the order given in its docstring, and uses no
other source of randomness.
"""

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.preferences import _parameters as check
from driftduel.preferences.links import Link, resolve_link
from driftduel.preferences.matrix import Preferences

__all__ = [
    "clash",
    "cycle",
    "cycle_on_top",
    "from_utilities",
    "geometric_btl",
    "linear_order",
    "lone_winner",
    "random_condorcet",
    "total_order",
    "uniform_random",
]


def from_utilities(utilities: ArrayLike, link: str | Link = "logistic") -> Preferences:
    """Return P(a, b) = sigma(u(a) - u(b)) for one utility value per arm.

    Parameters
    ----------
    utilities
        The utilities u, K >= 2 finite numbers.
    link
        The name of a link, or a function that `check_link` accepts.

    Notes
    -----
    Every link function gives strong stochastic transitivity, and the three named ones give the
    stochastic triangle inequality, too. A user-defined link need not, contrary to the paper's
    remark: the docstring of `check_link` has a counterexample.

    Examples
    --------
    >>> from_utilities([0.5, 0.0], link="linear").matrix
    array([[0.5 , 0.75],
           [0.25, 0.5 ]])
    """
    sigma = resolve_link(link)
    u = check.finite_vector("utilities", utilities)
    with np.errstate(over="ignore"):  # an overflowing difference has the value of infinity
        difference = u[:, None] - u[None, :]
    # Only the larger side is evaluated by the link: 1 - s is exact for s >= 1/2, so P(a, b) and
    # P(b, a) sum to exactly 1, and equal utilities tie exactly.
    s = np.asarray(sigma(np.abs(difference)), dtype=np.float64)
    worse = np.where(difference < 0, 1.0 - s, 0.5)
    return Preferences(np.where(difference > 0, s, worse))


def total_order(order: ArrayLike, p: float) -> Preferences:
    """Return a matrix in which a better rank always wins with the same probability.

    Parameters
    ----------
    order
        The arms 0..K-1, best first.
    p
        The probability, in (1/2, 1].

    Examples
    --------
    >>> total_order([1, 0], p=0.75).matrix
    array([[0.5 , 0.25],
           [0.75, 0.5 ]])
    """
    ranked = check.arm_order(order)
    p = check.number("p", p, 0.5, 1, "(]")
    return _by_rank(ranked, np.full((ranked.size, ranked.size), p))


def geometric_btl(order: ArrayLike, ratio: float = 2.0) -> Preferences:
    """Return a matrix in which rank i beats rank j with probability 1 / (1 + ratio^(i - j)).

    This is the Bradley-Terry-Luce model; strengths fall by the factor `ratio` per rank.

    Parameters
    ----------
    order
        The arms 0..K-1, best first.
    ratio
        A finite number above 1.

    Examples
    --------
    >>> geometric_btl([0, 1, 2], ratio=3).matrix[0]
    array([0.5 , 0.75, 0.9 ])
    """
    ranked = check.arm_order(order)
    ratio = check.number("ratio", ratio, 1, np.inf, "()")
    rank = np.arange(ranked.size)
    distance = np.abs(rank[None, :] - rank[:, None])
    return _by_rank(ranked, 1.0 / (1.0 + ratio ** -distance.astype(np.float64)))


def linear_order(
    arms: SupportsIndex, base: float = 0.6, step: float = 0.02, cap: float = 0.95
) -> Preferences:
    """Return a matrix with P(i, j) = min(cap, base + step * (j - i)) for j > i.

    Parameters
    ----------
    arms
        The number of arms K, at least 2.
    base, step, cap
        In [1/2, 1], [0, 1/2] and (1/2, 1]; base + step must exceed 1/2.

    Examples
    --------
    >>> linear_order(3, base=0.5, step=0.25, cap=0.9).matrix[0]
    array([0.5 , 0.75, 0.9 ])
    """
    K = check.number_of_arms(arms)
    base = check.number("base", base, 0.5, 1)
    step = check.number("step", step, 0, 0.5)
    cap = check.number("cap", cap, 0.5, 1, "(]")
    if base + step <= 0.5:
        raise DriftduelError(
            f"base + step must exceed 0.5, or no arm beats the next; got {base} + {step}."
        )
    rank = np.arange(K)
    return _by_rank(rank, np.minimum(cap, base + step * (rank[None, :] - rank[:, None])))


def random_condorcet(
    arms: SupportsIndex,
    rng: np.random.Generator,
    winner: SupportsIndex | None = None,
    p_min: float = 0.55,
) -> Preferences:
    """Draw a random matrix with a Condorcet winner.

    The upper triangle is uniform on [0, 1), row by row; then the winner, uniform if not given;
    then the winner's row, uniform on [p_min, 1); then the one opponent with a value of
    exactly p_min.

    Parameters
    ----------
    arms
        The number of arms K, at least 2.
    rng
        The source of randomness.
    winner
        The Condorcet winner; by default it is drawn.
    p_min
        The winner's probability against the opponent closest to it, in (1/2, 1).

    Examples
    --------
    >>> random_condorcet(4, np.random.default_rng(1), winner=2)
    Preferences(arms=4, condorcet_winner=2)
    [[0.5    0.5118 0.45   0.1442]
     [0.4882 0.5    0.2659 0.3118]
     [0.55   0.7341 0.5    0.7973]
     [0.8558 0.6882 0.2027 0.5   ]]
    """
    K, rng = check.number_of_arms(arms), check.generator(rng)
    p_min = check.number("p_min", p_min, 0.5, 1, "()")
    if winner is not None:
        winner = check.arm_index("winner", winner, K)
    P = uniform_random(K, rng).matrix.copy()
    best = int(rng.integers(K)) if winner is None else winner
    row = rng.uniform(p_min, 1.0, size=K - 1)
    row[rng.integers(K - 1)] = p_min
    others = np.delete(np.arange(K), best)
    P[best, others] = row
    P[others, best] = 1.0 - row
    return Preferences(P)


def lone_winner(arms: SupportsIndex, winner: SupportsIndex = 0, eps: float = 0.1) -> Preferences:
    """Return a matrix in which one arm beats all others by eps, and all others are tied.

    Parameters
    ----------
    arms
        The number of arms K, at least 2.
    winner
        The arm that wins.
    eps
        The value of its gap, in (0, 1/2].

    Examples
    --------
    >>> lone_winner(3, winner=2, eps=0.25).matrix[2]
    array([0.75, 0.75, 0.5 ])
    """
    K = check.number_of_arms(arms)
    best = check.arm_index("winner", winner, K)
    eps = check.number("eps", eps, 0, 0.5, "(]")
    P = np.full((K, K), 0.5)
    P[best, :] += eps
    P[:, best] -= eps  # leaves P(winner, winner) at 1/2
    return Preferences(P)


def uniform_random(arms: SupportsIndex, rng: np.random.Generator) -> Preferences:
    """Draw the upper triangle uniform on [0, 1), row by row; it may have no Condorcet winner.

    Parameters
    ----------
    arms
        The number of arms K, at least 2.
    rng
        The source of randomness.
    """
    K, rng = check.number_of_arms(arms), check.generator(rng)
    upper = np.zeros((K, K))
    upper[np.triu_indices(K, 1)] = rng.random(K * (K - 1) // 2)
    return _by_rank(np.arange(K), upper)


def cycle(arms: SupportsIndex, p: float = 0.6) -> Preferences:
    """Return a cycle: each arm beats the next (K - 1) / 2 arms; there is no Condorcet winner.

    Parameters
    ----------
    arms
        The number of arms K, odd and at least 3.
    p
        The probability with which an arm beats those after it, in (1/2, 1].

    Examples
    --------
    >>> cycle(3, p=0.75).matrix
    array([[0.5 , 0.75, 0.25],
           [0.25, 0.5 , 0.75],
           [0.75, 0.25, 0.5 ]])
    """
    K = check.number_of_arms(arms, low=3)
    if K % 2 == 0:
        raise DriftduelError(f"arms must be odd, for a symmetric cycle; got {K}.")
    p = check.number("p", p, 0.5, 1, "(]")
    arm = np.arange(K)
    ahead = (arm[None, :] - arm[:, None]) % K
    return Preferences(np.select([ahead == 0, ahead <= K // 2], [0.5, p], 1.0 - p))


def cycle_on_top(
    order: ArrayLike, strengths: ArrayLike = (0.7, 0.7, 0.7), over: float = 0.8
) -> Preferences:
    """Return a matrix with a cycle of three arms that beat all others.

    The first of the order beats the second, the second the third, the third the first. They are the
    Smith set. Of the others, the better-ranked wins.

    Parameters
    ----------
    order
        The arms 0..K-1, three at least; the first three form the cycle.
    strengths
        The three probabilities of winning along the cycle, in (1/2, 1].
    over
        The probability with which the three beat the others, and these each other, in (1/2, 1].

    Examples
    --------
    >>> cycle_on_top([0, 1, 2, 3], [0.9, 0.6, 0.7], over=0.75).matrix[0]
    array([0.5 , 0.9 , 0.3 , 0.75])
    """
    ranked = check.arm_order(order)
    check.number_of_arms(ranked.size, low=3)
    circle = check.finite_vector("strengths", strengths)
    if circle.size != 3:
        raise DriftduelError(f"strengths must be three numbers; got {circle.size}.")
    first, second, third = (
        check.number(f"strengths[{i}]", p, 0.5, 1, "(]") for i, p in enumerate(circle)
    )
    upper = np.full((ranked.size, ranked.size), check.number("over", over, 0.5, 1, "(]"))
    upper[0, 1], upper[1, 2], upper[0, 2] = first, second, 1.0 - third
    return _by_rank(ranked, upper)


def clash(order: ArrayLike, narrow: float = 0.55, wide: float = 0.95) -> Preferences:
    """Return a matrix in which the Borda and the Copeland winner differ.

    The first of the order, the only Copeland winner, beats all but the last but one, and narrowly.
    The second, the Borda winner, loses narrowly to the first and to the last, and beats the others
    widely. Of these, the better-ranked wins narrowly. There is no Condorcet winner.

    Parameters
    ----------
    order
        The arms 0..K-1, five at least.
    narrow, wide
        Probabilities of winning narrowly and widely, in (1/2, 1]; after subtracting 1/2,
        the second must exceed (K - 1) / (K - 3) times the first.

    Examples
    --------
    >>> matrix = clash(range(6))
    >>> matrix.copeland_winners(), matrix.borda_winner()
    ((0,), 1)
    """
    ranked = check.arm_order(order)
    K = check.number_of_arms(ranked.size, low=5)
    narrow = check.number("narrow", narrow, 0.5, 1, "(]")
    wide = check.number("wide", wide, 0.5, 1, "(]")
    least = 0.5 + (narrow - 0.5) * (K - 1) / (K - 3)
    if wide <= least:
        raise DriftduelError(
            f"wide must be above {least:g}, or {K} arms with narrow wins of {narrow:g} do not "
            f"clash; got {wide:g}."
        )
    upper = np.full((K, K), narrow)
    upper[1] = wide
    upper[0, K - 2] = upper[1, K - 1] = 1.0 - narrow
    return _by_rank(ranked, upper)


def _by_rank(order: NDArray[np.intp], upper: NDArray[np.float64]) -> Preferences:
    """Return the matrix with P(order[i], order[j]) = upper[i, j] for i < j."""
    U = np.triu(upper, 1)
    P = np.empty_like(U)
    P[np.ix_(order, order)] = U + np.tril(1.0 - U.T, -1) + np.eye(len(U)) / 2
    return Preferences(P)
