"""Winners of a preference matrix: Condorcet, Borda, Copeland, Smith set and von Neumann.

Plain functions of arrays, without validation; the class `Preferences` validates its argument.
"""

import numpy as np
from numpy.typing import NDArray

from driftduel.preferences.validation import TOLERANCE

__all__ = [
    "borda_scores",
    "condorcet_winners",
    "copeland_scores",
    "first_maximum",
    "smith_set",
    "von_neumann_winner",
]


def condorcet_winners(matrices: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the Condorcet winner of every matrix in a stack.

    Arm a wins if P(a, b) > 1/2, strictly, for every other arm b (Section 2 of the paper).

    Parameters
    ----------
    matrices
        Preference matrices, shape (S, K, K); they are not checked.

    Returns
    -------
    NDArray[np.int64]
        The winner of each matrix, shape (S,); the value -1 means no winner.

    Examples
    --------
    >>> clear, tied = [[0.5, 0.4], [0.6, 0.5]], [[0.5, 0.5], [0.5, 0.5]]
    >>> condorcet_winners(np.array([clear, tied]))
    array([ 1, -1])
    """
    wins = copeland_scores(matrices) == matrices.shape[-1] - 1
    return np.where(wins.any(axis=-1), wins.argmax(axis=-1), -1).astype(np.int64)


def borda_scores(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean probability of each arm to beat the other arms, shape (K,)."""
    scores: NDArray[np.float64] = (P.sum(axis=1) - P.diagonal()) / (len(P) - 1)
    return scores


def copeland_scores(P: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of arms that each arm beats; a stack (..., K, K) gives (..., K)."""
    beats = P > 0.5
    arms = np.arange(P.shape[-1])
    beats[..., arms, arms] = False  # the diagonal of an unvalidated matrix may exceed 1/2 slightly
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
    """Return the smallest non-empty set of arms that all beat every arm outside it.

    The sets with that property are nested, and an arm that beats the most arms is in all of
    them: members of such a set S beat the K - |S| arms outside, which themselves beat fewer.
    So the search starts with such an arm and adds every arm that some member does not beat, until
    no arm is added.
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
    """Return an unbeaten mixture: a solution of the symmetric zero-sum game P - 1/2."""
    from driftduel._internal.minimax import solve, workspace

    gaps = (P - P.T) / 2  # antisymmetric to the last bit, so that the value of the game is 0
    mixture = np.empty(len(P))
    solve(gaps, len(P), *workspace(len(P)), mixture)
    return mixture
