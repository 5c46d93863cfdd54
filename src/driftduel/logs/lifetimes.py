"""When options and groups of votes are present.

An option is present from its first vote to its last. It is also present at the end of a log if the
log records it, or if its last vote is not unusually long ago: at its previous rate, it would have
had a vote since with a probability of at most 0.999. The same rule applies at the start.
"""

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.counts import Counts

__all__ = ["presence", "present_at_end", "units_of_stretches", "winners_among"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_AT_ONCE = 64  # matrices
_MISSED = 7.0  # expected votes since the last one; exp(-7) = 0.001


def _lifetimes(counts: Counts) -> tuple[Bools, Bools, Bools]:
    """Return (F, K) votes in a fine bin; (K,) present from the start; (K,) present at the end.

    An option with a first vote that is not unusually late was present from the start; likewise at
    the end.
    """
    votes: Floats = counts.wins.sum(axis=1) + counts.wins.sum(axis=2)
    some = votes > 0
    first, last = some.argmax(axis=0), len(votes) - 1 - some[::-1].argmax(axis=0)
    done = np.concatenate(([0.0], np.cumsum(counts.per_bin())))
    # Votes have no position within the first and last bin of an option: neither bin is a gap.
    span = np.maximum(done[last + 1] - done[first], 1e-300)
    rate = votes.sum(axis=0) / span
    seen = some.any(axis=0)
    early: Bools = seen & (rate * done[first] <= _MISSED)
    late: Bools = seen & (rate * (done[-1] - done[last + 1]) <= _MISSED)
    return some, early, late


def present_at_end(counts: Counts) -> Bools:
    """Return whether each option is present at the end of the log, a boolean array (K,).

    The log's own record of the present options, if it has one, takes precedence.
    """
    if counts.present is not None:
        return np.array([name in counts.present for name in counts.names])
    return _lifetimes(counts)[2]


def presence(counts: Counts, grid: Ints) -> Bools:
    """Return whether each option is present in each bin of a grid, a boolean array (B, K).

    An option is present from its first vote, or from the start of the log, to its last vote, or to
    the end of the log. The last bin has those of `present_at_end`.
    """
    some, early, late = _lifetimes(counts)
    some = np.logical_or.reduceat(some, grid[:-1], axis=0)
    begun = np.logical_or.accumulate(some, axis=0)
    to_come = np.logical_or.accumulate(some[::-1], axis=0)[::-1]
    at_end = present_at_end(counts)
    present: Bools = (begun | early) & (to_come | late | at_end)
    present[-1] = at_end if at_end.any() else some[-1]
    return present


def units_of_stretches(counts: Counts, grid: Ints) -> Floats:
    """Return the number of groups with a vote in each stretch of a grid: (B + 1, B + 1).

    Entry (i, j) is about the bins i, ..., j - 1. Without groups, all entries are 0.

    A group counts in each stretch in which it has a vote, so that voters who return do not forbid
    a cut. In the stretch (i, j) these are the bins b of a group with i <= b < j whose previous bin
    of the same group lies before i.
    """
    B = len(grid) - 1
    units = np.zeros((B + 1, B + 1))
    groups = counts.groups
    if groups is None:
        return units
    place = np.searchsorted(grid, groups.bin, side="right") - 1
    cells = np.unique(groups.group * B + place)
    group, place = cells // B, cells % B
    previous = np.full(len(cells), -1)
    same = group[1:] == group[:-1]
    previous[1:][same] = place[:-1][same]
    table = np.zeros((B + 1, B))  # previous bin + 1, bin
    np.add.at(table, (previous + 1, place), 1.0)
    # Sum over previous bins before i and over bins before j, then subtract the bins before i.
    summed = np.cumsum(np.cumsum(table, axis=0), axis=1)
    for i in range(B):
        before = summed[i, i - 1] if i else 0.0
        units[i, i + 1 :] = summed[i, i:] - before
    return units / groups.share


def winners_among(beats: Bools, present: Bools) -> Ints:
    """Return the Condorcet winner among the present options, or -1: (N, B).

    Parameters
    ----------
    beats
        (N, K, K) whether the row's option beats the column's.
    present
        (B, K) the present options in each bin.
    """
    unique, which = np.unique(present, axis=0, return_inverse=True)
    N, K = beats.shape[:2]
    beats = beats & ~np.eye(K, dtype=np.bool_)
    winners = np.empty((N, len(unique)), np.int64)
    # An option wins if it beats as many present options as there are others.
    others = unique.sum(axis=1) - 1
    weight = unique.T.astype(np.float32)
    for start in range(0, N, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        beaten = beats[some].astype(np.float32) @ weight
        wins = (beaten == others) & unique.T
        winners[some] = np.where(wins.any(axis=1), wins.argmax(axis=1), -1)
    return winners[:, which.ravel()]
