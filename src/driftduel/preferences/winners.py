"""Find who wins: Condorcet, Borda, Copeland, the Smith set and von Neumann.

Plain functions of arrays, without checks; `Preferences` is the checked way in.
"""

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError, MissingExtraError
from driftduel.preferences.validation import TOLERANCE

__all__ = [
    "borda_scores",
    "condorcet_winners",
    "copeland_scores",
    "first_maximum",
    "smith_set",
    "von_neumann_winner",
]

#: What the linear programme is tried with: a factor on the payoffs (the solver takes those below
#: 1e-9 for zero) and the solver's tolerance (its default, 1e-7, is coarser than ours). The first
#: does for all but matrices whose gaps span some nine orders of magnitude.
_SOLVER_SETTINGS = ((1000.0, 1e-10), (10.0, 1e-10), (1.0, 1e-9))


def condorcet_winners(matrices: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find the Condorcet winner of every matrix in a stack.

    Arm a wins if P(a, b) > 1/2, strictly, for every other arm b (Section 2 of the paper).

    Parameters
    ----------
    matrices
        Preference matrices, shape (S, K, K); they are not checked.

    Returns
    -------
    NDArray[np.int64]
        The winner of each, shape (S,); -1 where there is none.

    Examples
    --------
    >>> clear, tied = [[0.5, 0.4], [0.6, 0.5]], [[0.5, 0.5], [0.5, 0.5]]
    >>> condorcet_winners(np.array([clear, tied]))
    array([ 1, -1])
    """
    wins = copeland_scores(matrices) == matrices.shape[-1] - 1
    return np.where(wins.any(axis=-1), wins.argmax(axis=-1), -1).astype(np.int64)


def borda_scores(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average each arm's chance to win over the other arms, shape (K,)."""
    scores: NDArray[np.float64] = (P.sum(axis=1) - P.diagonal()) / (len(P) - 1)
    return scores


def copeland_scores(P: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the arms that each arm beats; a stack (..., K, K) gives scores (..., K)."""
    beats = P > 0.5
    arms = np.arange(P.shape[-1])
    beats[..., arms, arms] = False  # an unchecked diagonal may be 1/2 and a little more
    scores: NDArray[np.int64] = beats.sum(axis=-1, dtype=np.int64)
    return scores


def first_maximum(scores: NDArray[np.float64]) -> int:
    """Return the lowest index among the maxima; a difference within `TOLERANCE` is none.

    Examples
    --------
    >>> first_maximum(np.array([0.3, 0.1 + 0.2]))
    0
    """
    return int(np.argmax(scores >= scores.max() - TOLERANCE))


def smith_set(P: NDArray[np.float64]) -> tuple[int, ...]:
    """Find the smallest non-empty set whose members each beat every arm outside it.

    The sets with that property are nested, and an arm that beats the most arms is in all of
    them: members of such a set S beat the K - |S| arms outside, which themselves beat fewer.
    So we start there and let in whoever some member does not beat, until nobody is left to
    let in.
    """
    beats = P > 0.5
    inside = np.zeros(len(P), dtype=np.bool_)
    inside[copeland_scores(P).argmax()] = True
    while True:
        grown = inside | ~beats[inside].all(axis=0)
        if grown.sum() == inside.sum():
            return tuple(int(arm) for arm in np.flatnonzero(inside))
        inside = grown


def von_neumann_winner(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve the symmetric zero-sum game with payoff P - 1/2 for a maximin mixed strategy.

    The linear programme: over distributions q and values v, maximise v subject to
    ``sum_a q(a) delta(a, b) >= v`` for every arm b. By symmetry the best v is 0; what is returned
    has been checked to reach it within `TOLERANCE`.

    Raises
    ------
    MissingExtraError
        If scipy is not installed.
    DriftduelError
        If the solver fails.
    """
    try:
        from scipy.optimize import linprog
    except ImportError as error:
        raise MissingExtraError("scipy", "lp", "The von Neumann winner") from error

    K = len(P)
    gaps = (P - P.T) / 2  # antisymmetric to the last bit, so that the value is 0
    for scale, tolerance in _SOLVER_SETTINGS:
        result = linprog(
            c=np.append(np.zeros(K), -1.0),
            A_ub=np.column_stack([-scale * gaps.T, np.ones(K)]),
            b_ub=np.zeros(K),
            A_eq=np.append(np.ones(K), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0.0, 1.0)] * K + [(-scale, scale)],
            method="highs",
            options={
                "primal_feasibility_tolerance": tolerance,
                "dual_feasibility_tolerance": tolerance,
            },
        )
        if result.x is not None:
            q = np.clip(np.asarray(result.x[:K], dtype=np.float64), 0.0, None)
            winner: NDArray[np.float64] = q / q.sum()
            if (winner @ gaps).min() >= -TOLERANCE:
                return winner
    raise DriftduelError(
        "The von Neumann winner was not found, though every preference matrix has one, as this "
        f"one's gaps are too different in size for the solver, which says: {result.message}"
    )
