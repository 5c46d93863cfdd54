"""Compiled functions of worlds. Importing this module imports the compiler."""

import math

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.worlds.base import LINK_CODES, NO_LINK

__all__ = [
    "TIE", "UNKNOWN", "decide", "decide_slate", "link_value", "mirror", "outcome", "probability",
    "walk",
]  # fmt: skip

TIE = -1
"""Neither arm of a duel won."""
UNKNOWN = -2
"""The outcome is missing: the value of P is NaN."""

_LOGISTIC = LINK_CODES["logistic"]
_PROBIT = LINK_CODES["probit"]


@hot
def link_value(link, x):  # type: ignore[no-untyped-def]
    """Return the probability for a difference of utilities, the function in `preferences.links`."""
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
def decide(values, link, arms, a, b, draw, half_tie, ties, unknown):  # type: ignore[no-untyped-def]
    """Return the outcome of a duel of arms a and b; with `outcome` the only implementation.

    Returns 1 if a wins, 0 if b does, `TIE` or `UNKNOWN`. The argument `draw` is the outcome draw, a
    uniform value in [0, 1); a wins if it is below P(a, b). The flags `ties` (with `half_tie`, half
    the probability of a tie) and `unknown` are compile-time constants of a loop. Without `ties` the
    same draw decides a tied duel like a fair coin, because P lies in the middle of the tie
    interval.
    """
    return outcome(probability(values, link, arms, a, b), a, b, draw, half_tie, ties, unknown)


@hot
def outcome(p, a, b, draw, half_tie, ties, unknown):  # type: ignore[no-untyped-def]
    """Return the outcome of a duel in which a wins with probability p, see `decide`."""
    if unknown and math.isnan(p):
        return UNKNOWN
    if ties and a != b and p - half_tie <= draw < p + half_tie:
        return TIE
    return int(draw < p)


@hot
def decide_slate(utilities, shown, count, draws, at, nothing, ranked, coin, weights):  # type: ignore[no-untyped-def]
    """Return the code of the answer to a slate; see `driftduel.policies.slates`.

    It is that of Plackett and Luce with weights exp(utility). For a slate of two arms it is the
    outcome of a duel: 1 if ``draw < P(first, second)``, else 0.

    Parameters
    ----------
    utilities
        (K,) the utilities of the arms.
    shown
        The arms by place; the first `count` are used. Equal first two are an arm alone, whose
        answer is a fair coin, as in a duel.
    count
        The number of arms shown.
    draws
        Uniform numbers in [0, 1), those of this slate from the index `at` on. A pick uses one, a
        ranking one for each place but the last.
    at
        The index of the first draw.
    nothing
        The probability that nothing is picked. The first draw decides this, too: its upper end
        picks nothing, and the part below is scaled to [0, 1).
    ranked
        Whether the answer is a ranking of all arms shown.
    coin
        Whether a fair pick replaces an answer without one.
    weights
        Scratch, at least `count` values.
    """
    draw = draws[at]
    if shown[0] == shown[1]:
        return int(draw < 0.5)
    if nothing > 0.0:
        decided = 1.0 - nothing
        if draw >= decided:
            if not coin:
                return TIE
            place = min(count - 1, int((draw - decided) / nothing * count))
            return 1 - place if place < 2 else place
        draw /= decided
    place = _pick(utilities, shown, count, 0, count, draw, weights)
    if count == 2 or not ranked:
        return 1 - place if place < 2 else place
    code, taken, shift = (place + 1) << 4, 1 << place, 8
    for left in range(count - 1, 0, -1):
        if left > 1:
            draw = draws[at + count - left]
        place = _pick(utilities, shown, count, taken, left, draw, weights)
        code |= (place + 1) << shift
        taken |= 1 << place
        shift += 4
    return code


@hot
def _pick(utilities, shown, count, taken, left, draw, weights):  # type: ignore[no-untyped-def]
    """Return the place picked, of the `left` places that have no bit in `taken`."""
    first, last, top = -1, -1, -np.inf
    for place in range(count):
        if (taken >> place) & 1 == 0:
            first = place if first < 0 else first
            last = place
            top = max(top, utilities[shown[place]])
    if left == 2:
        p = link_value(_LOGISTIC, utilities[shown[first]] - utilities[shown[last]])
        return first if draw < p else last
    total = 0.0
    for place in range(count):
        if (taken >> place) & 1 == 0:
            # Relative to the best of those left: the weights of a ranking's end do not vanish.
            weights[place] = math.exp(utilities[shown[place]] - top)
            total += weights[place]
    limit, reached = draw * total, 0.0
    for place in range(count):
        if (taken >> place) & 1 == 0:
            reached += weights[place]
            if limit < reached:
                return place
    return last


@kernel
def walk(anchor, steps, clip):  # type: ignore[no-untyped-def]
    """Replace the steps by their cumulative sums, in place."""
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
