"""What compiled code needs of a world. Importing this imports the compiler."""

import math

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.worlds.base import LINK_CODES, NO_LINK

__all__ = ["TIE", "UNKNOWN", "decide", "link_value", "mirror", "probability", "walk"]

TIE = -1
"""Neither arm of a duel won."""
UNKNOWN = -2
"""Nobody knows who won: the world has NaN for P."""

_LOGISTIC = LINK_CODES["logistic"]
_PROBIT = LINK_CODES["probit"]


@hot
def link_value(link, x):  # type: ignore[no-untyped-def]
    """Turn a difference of utilities into a probability, as `preferences.links` does."""
    if link == _LOGISTIC:
        if x >= 0:
            return 1.0 / (1.0 + math.exp(-x))
        return 1.0 - 1.0 / (1.0 + math.exp(x))
    if link == _PROBIT:
        return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))
    return min(1.0, max(0.0, 0.5 + 0.5 * x))


@hot
def probability(values, link, arms, a, b):  # type: ignore[no-untyped-def]
    """Return P(a, b) in a row of a chunk, given its `Chunk.row_values`."""
    if link == NO_LINK:
        return values[np.uint64(a * arms + b)]  # one index is faster than two, and not negative
    return link_value(link, values[a] - values[b])


@hot
def decide(values, link, arms, a, b, luck, half_tie, ties, unknown):  # type: ignore[no-untyped-def]
    """Decide a duel by a number between 0 and 1, `luck`, below which a wins: the one place for it.

    Returns 1 if a wins, 0 if b does, `TIE` or `UNKNOWN`. Whether there are `ties`, of which
    `half_tie` is half the probability, and `unknown` answers are constants where this is compiled
    into a loop. Without `ties` the same number decides what would have been a tie, as a fair coin:
    P lies in the middle of it.
    """
    p = probability(values, link, arms, a, b)
    if unknown and math.isnan(p):
        return UNKNOWN
    if ties and a != b and p - half_tie <= luck < p + half_tie:
        return TIE
    return int(luck < p)


@kernel
def walk(anchor, steps, clip):  # type: ignore[no-untyped-def]
    """Replace the steps by the places they lead to."""
    for column in range(steps.shape[1]):
        place = anchor[column]
        for t in range(steps.shape[0]):
            place += steps[t, column]
            if clip:
                place = min(1.0, max(0.0, place))
            steps[t, column] = place


@kernel
def mirror(entries, matrices):  # type: ignore[no-untyped-def]
    """Write matrices from their entries above the diagonal, row by row."""
    arms = matrices.shape[1]
    for t in range(len(entries)):
        entry = 0
        for i in range(arms):
            matrices[t, i, i] = 0.5
            for j in range(i + 1, arms):
                matrices[t, i, j] = entries[t, entry]
                matrices[t, j, i] = 1.0 - entries[t, entry]
                entry += 1
