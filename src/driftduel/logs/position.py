"""Estimate of the first-place advantage."""

import math

import numpy as np

from driftduel.logs.counts import Counts

__all__ = ["first_advantage"]


def first_advantage(counts: Counts, z: float = 1.96) -> tuple[float, float, float] | None:
    """Return the share of wins of the first of two equal options, and its 95% interval.

    Each pair is compared with itself in the other order (Mantel and Haenszel's odds ratio, with the
    variance of Robins, Breslow and Greenland), so unequal numbers of the two orders cause no bias.
    The return value is None if the log does not record the option shown first, or if no pair was
    shown in both orders.

    Parameters
    ----------
    counts
        The log.
    z
        Half-width of the interval in standard errors; the default gives 95%.

    Examples
    --------
    >>> from driftduel.logs.counts import counts_from_votes
    >>> first = np.repeat([0, 1], 100)
    >>> won = np.tile(np.arange(100) < 60, 2)  # 60% for the first
    >>> [round(p, 2) for p in first_advantage(counts_from_votes(first, 1 - first, won))]
    [0.6, 0.53, 0.67]
    """
    low, high = np.triu_indices(counts.options, 1)
    shown, won = counts.shown, counts.shown_wins
    # The option with the lower number: shown first, second.
    a, c = (
        won[low, high],
        (shown - won)[high, low],
    )
    b, d = (shown - won)[low, high], won[high, low]
    both = (shown[low, high] > 0) & (shown[high, low] > 0)
    if not both.any():
        return None
    a, b, c, d = (part[both] for part in (a, b, c, d))
    n = a + b + c + d
    R, S = a * d / n, b * c / n
    if R.sum() <= 0 or S.sum() <= 0:
        return None
    P, Q = (a + d) / n, (b + c) / n
    variance = (
        (P * R).sum() / (2 * R.sum() ** 2)
        + (P * S + Q * R).sum() / (2 * R.sum() * S.sum())
        + (Q * S).sum() / (2 * S.sum() ** 2)
    ) * counts.dispersion_of_weights
    half = math.log(R.sum() / S.sum()) / 2  # once for each order
    error = z * math.sqrt(variance) / 2
    estimate, below, above = (
        0.5 * (1 + math.tanh(x / 2)) for x in (half, half - error, half + error)
    )
    return estimate, below, above
