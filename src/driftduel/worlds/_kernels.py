"""What compiled code needs of a world. Importing this imports the compiler."""

import math

from driftduel._compile import hot, kernel
from driftduel.worlds.base import LINK_CODES, NO_LINK

__all__ = ["link_value", "mirror", "probability", "walk"]

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
def probability(chunk, row, a, b):  # type: ignore[no-untyped-def]
    """Return P(a, b) in the rounds that use a row of a chunk."""
    if chunk.link == NO_LINK:
        return chunk.matrices[row, a, b]
    return link_value(chunk.link, chunk.utilities[row, a] - chunk.utilities[row, b])


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
