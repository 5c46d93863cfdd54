"""Statements that need no model: who beats whom however often one looks, and switches for certain.

If an option is the Condorcet winner throughout some time, each of its votes is won with probability
above 1/2, whatever else drifts. So too few wins over any one rival exclude it, and once everyone is
excluded the winner must have changed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.counts import Counts

__all__ = ["Certificate", "certify", "e_value", "pair_votes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MOST_BINS = 256


def e_value(wins: Floats | float, losses: Floats | float) -> Floats:
    """Return the log of the evidence against a pair in which the one is no better than the other.

    It is a bet that the one wins with a probability above 1/2, drawn from Jeffreys' prior. If it
    does not, the chance that this ever exceeds log 20, however often one looks, is at most 5%.
    Parts of votes are allowed: a tie is half a win.

    Examples
    --------
    >>> bool(e_value(60.0, 20.0) > np.log(20)), bool(e_value(40.0, 40.0) > 0)
    (True, False)
    """
    from scipy.special import betainc, betaln

    w, n = np.asarray(wins, np.float64), np.asarray(losses, np.float64)
    half = betainc(n + 0.5, w + 0.5, 0.5)  # P(Beta(w + 1/2, l + 1/2) > 1/2)
    bet = np.log(2) + betaln(w + 0.5, n + 0.5) - betaln(0.5, 0.5) + (w + n) * np.log(2)
    # So many losses that only what is next to 1/2 counts: the integral of exp(-2 (l - w) x).
    lost = np.log(2 / (np.pi * np.maximum(n - w, 1.0)))
    result: Floats = np.where(half > 1e-280, bet + np.log(np.maximum(half, 1e-300)), lost)
    return result


def pair_votes(counts: Counts, grid: Ints) -> Floats:
    """Return (B, K, K) wins of which each is independent of all others.

    All that one group says about a pair in a bin is one vote, which may be won in part.
    """
    groups = counts.groups
    if groups is None:
        return counts.over(grid) / max(1.0, counts.dispersion_of_weights)
    K, B = counts.options, len(grid) - 1
    place = np.searchsorted(grid, groups.bin, side="right") - 1
    low, high = np.minimum(groups.winner, groups.loser), np.maximum(groups.winner, groups.loser)
    about, spoken = np.unique((groups.group * K + low) * K + high, return_inverse=True)
    # A group that goes on for long speaks once about a pair, in the bin where it begins to.
    begins = np.full(len(about), B)
    np.minimum.at(begins, spoken, place)
    now = place == begins[spoken]
    total = np.bincount(spoken, np.where(now, groups.wins, 0.0), len(about))
    ahead = np.where(now & (groups.winner == low), groups.wins, 0.0)
    share = np.bincount(spoken, ahead, len(about)) / total
    a, b = about // K % K, about % K
    wins = np.zeros((B, K, K))
    np.add.at(wins, (begins, a, b), share)
    np.add.at(wins, (begins, b, a), 1 - share)
    return wins


@dataclass(frozen=True)
class Certificate:
    """Switches of the winner that are certain, up to one minus the level."""

    level: float
    switches: int
    """At least so many times the winner changed, if there was one throughout."""
    windows: list[tuple[float, float]]
    """Times between which each of them lies."""
    empty: int = 0
    """Further windows in which it changed, or in which nobody beat everybody for a while."""


def certify(counts: Counts, level: float = 0.95) -> Certificate:
    """Count switches of the winner without a model.

    Looks at all dyadic intervals of bins; every look at one option, one rival and one interval
    gets an equal part of the error that is allowed.
    """
    grid = counts.grid(_MOST_BINS)
    wins = pair_votes(counts, grid)
    B, K = wins.shape[:2]
    scales = int(np.floor(np.log2(B))) + 1
    whole = bool((wins == np.floor(wins)).all())
    ends = np.full((K, B), B + 1)  # where the first interval that begins here and excludes ends
    for scale in range(scales):
        size = 1 << scale
        starts = np.arange(0, B - size + 1, size)
        sums = np.add.reduceat(wins[: len(starts) * size], starts, axis=0)
        allowed = (1 - level) / (scales * len(starts) * (K - 1))
        excluded = np.atleast_2d(_too_few(sums, np.log(allowed), whole).any(axis=2))
        for i, start in enumerate(starts):
            ends[excluded[i], start] = np.minimum(ends[excluded[i], start], start + size)
    windows: list[tuple[float, float]] = []
    mark = 0
    while mark < B:
        soonest = ends[:, mark:].min(axis=1)  # each option's earliest exclusion since the mark
        end = int(soonest.max())
        if end > B:
            break
        windows.append((float(counts.first[grid[mark]]), float(counts.last[grid[end] - 1])))
        mark = end
    return Certificate(level, len(windows), windows)


def _too_few(wins: Floats, log_allowed: float, whole: bool) -> NDArray[np.bool_]:
    """Tell which wins over a rival are too few for an option that beats it all the time."""
    losses = wins.transpose(0, 2, 1)
    if not whole:
        return np.asarray(e_value(losses, wins) >= -log_allowed)
    from scipy.stats import binom

    return np.asarray(binom.logcdf(wins, wins + losses, 0.5) <= log_allowed)
