"""Ratings to compare forecasts with: Bradley-Terry, decayed Bradley-Terry and Elo.

Votes are arrays (..., 2, K, K): wins of the row's option over the column's while it was shown
first, and all other wins. A tie is half a win for each side. A rating is a vector of utilities and
an advantage h of the first place (0 if the place is ignored): the option shown first wins with
probability 1 / (1 + exp(-(u_first - u_second + h))).

References
----------
R. A. Bradley and M. E. Terry, Rank analysis of incomplete block designs, Biometrika 39, 1952.
A. E. Elo, The Rating of Chessplayers, 1978.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["HALF_LIVES", "RIDGE", "STEPS", "Elo", "Rating", "log_loss", "rate"]

Floats = NDArray[np.float64]

HALF_LIVES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.30, 0.60, 2.0)
"""Values of the half-life of a vote, as shares of the votes of the whole log."""
STEPS = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6)
"""Values of the step parameter of Elo, in logits."""
RIDGE = 1.0
"""Precision of the normal prior of each utility and of the advantage."""
_MOST_NEWTON_STEPS = 100
_MOST_BATCHES = 20_000  # updates of Elo in a whole log
_LEAST = 1e-9  # probability


@dataclass(frozen=True)
class Rating:
    """Utilities of options and the advantage of the first place, both as logits."""

    utilities: Floats
    first_place: float = 0.0

    def when_first(self) -> Floats:
        """Return (K, K) the probability that the row's option wins when it is shown first."""
        gaps = self.utilities[:, None] - self.utilities[None, :] + self.first_place
        return _sigmoid(gaps)


def _sigmoid(gaps: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-np.clip(gaps, -500.0, 500.0)))
    return result


def log_loss(votes: Floats, when_first: Floats) -> float:
    """Return the total log-loss of votes (2, K, K) under P(row's option wins | shown first).

    Examples
    --------
    >>> votes = np.zeros((2, 2, 2))
    >>> votes[0, 0, 1] = 3.0
    >>> round(log_loss(votes, np.full((2, 2), 0.5)), 4)
    2.0794
    """
    chance = np.clip(when_first, _LEAST, 1 - _LEAST)
    return -float((votes[0] * np.log(chance)).sum() + (votes[1] * np.log(1 - chance.T)).sum())


def rate(
    votes: Floats, *, placed: bool, ridge: float = RIDGE, start: Rating | None = None
) -> Rating:
    """Fit a Bradley-Terry model with a ridge penalty by Newton's method.

    Parameters
    ----------
    votes
        (2, K, K) by place.
    placed
        Whether to estimate the advantage of the first place.
    ridge
        Precision of the normal prior of each parameter.
    start
        Initial value; the result does not depend on it.

    Examples
    --------
    >>> votes = np.zeros((2, 2, 2))
    >>> votes[1] = [[0, 30], [10, 0]]
    >>> found = rate(votes, placed=False, ridge=1e-9)
    >>> round(float(np.exp(found.utilities[0] - found.utilities[1])), 6)
    3.0
    """
    K = votes.shape[-1]
    if placed:
        won, shown = votes[0], votes[0] + votes[1].T
    else:
        won = shown = votes.sum(axis=0)  # without places, the winner of each vote is listed first
    x = np.zeros(K + 1)
    if start is not None:
        x[:K], x[K] = start.utilities, start.first_place if placed else 0.0

    def value(x: Floats) -> float:
        gaps = x[:K, None] - x[None, :K] + x[K]
        # log sigma(g) = -log(1 + exp(-g)), for wins and losses of the option shown first
        gain = won * np.logaddexp(0, -gaps) + (shown - won) * np.logaddexp(0, gaps)
        return -float(gain.sum()) - ridge * float(x @ x) / 2

    now = value(x)
    for _ in range(_MOST_NEWTON_STEPS):
        chance = _sigmoid(x[:K, None] - x[None, :K] + x[K])
        rest, bend = won - shown * chance, shown * chance * (1 - chance)
        slope = np.append(rest.sum(axis=1) - rest.sum(axis=0), rest.sum()) - ridge * x
        curve = np.zeros((K + 1, K + 1))
        curve[:K, :K] = np.diag(bend.sum(axis=0) + bend.sum(axis=1)) - bend - bend.T
        curve[K, :K] = curve[:K, K] = bend.sum(axis=1) - bend.sum(axis=0)
        curve[K, K] = bend.sum()
        curve[np.diag_indices(K + 1)] += ridge
        if not placed:
            slope[K], curve[K, :K], curve[:K, K] = 0.0, 0.0, 0.0
        step = np.linalg.solve(curve, slope)
        while (new := value(x + step)) < now - 1e-9 * abs(now):
            step /= 2
        x, now = x + step, new
        if np.abs(step).max() < 1e-8:
            break
    return Rating(x[:K], float(x[K]))


class Elo:
    """Elo ratings with several step sizes at the same time.

    The order of votes within a fine bin is not known. Each bin is divided into batches of about
    as many votes as there are options, in proportion, and a batch is one update.

    Parameters
    ----------
    options
        The number of options.
    votes
        The number of votes of the whole log, which determines the size of a batch.
    steps
        Values of the step parameter.
    """

    def __init__(self, options: int, votes: float, steps: tuple[float, ...] = STEPS) -> None:
        self.steps = np.array(steps)
        self.utilities = np.zeros((len(steps), options))
        self._batch = max(float(options), votes / _MOST_BATCHES)

    def add(self, votes: Floats, first_place: float = 0.0) -> None:
        """Add the votes of one bin: (2, K, K) by place."""
        size = float(votes.sum())
        if size <= 0:
            return
        batches = max(1, round(size / self._batch))
        won = votes[0] / batches
        shown = won + votes[1].T / batches
        for _ in range(batches):
            gaps = self.utilities[:, :, None] - self.utilities[:, None, :] + first_place
            rest = won - shown * _sigmoid(gaps)
            self.utilities += self.steps[:, None] * (rest.sum(axis=2) - rest.sum(axis=1))

    def ratings(self, first_place: float = 0.0) -> list[Rating]:
        """Return the current rating for each value of the step parameter."""
        return [Rating(utilities, first_place) for utilities in self.utilities.copy()]
