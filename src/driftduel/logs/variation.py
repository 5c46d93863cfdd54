"""A lower bound on V that the selection of changes cannot inflate.

Differences of noisy rates sum to a large value of V even in a stationary log. Therefore one part of
the events selects the cuts, and the pair and direction of each jump; the other part estimates the
size of the jumps. The second part was not used for the selection, so its estimates are unbiased,
and the jump of one pair is at most the largest jump, which V sums.
"""

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.counts import PARTS, Counts
from driftduel.logs.segments import affordable_bins, cuttings
from driftduel.logs.stretch import blend_of
from driftduel.logs.vote_model import PLAIN, VoteModel, net_wins, votes_by_place

__all__ = ["least_variation"]

Floats = NDArray[np.float64]
_BINS = 128
_ONE_SIDED = 1.645


def least_variation(counts: Counts, model: str, phi: float, vote_model: VoteModel = PLAIN) -> float:
    """Return a lower bound of V with 95% confidence.

    The value is the mean of two cross-validated estimates (each part estimates the changes that the
    other part selected), minus 1.645 standard errors.
    """
    grid = counts.grid(min(_BINS, affordable_bins(counts.options)))
    starts = counts.coarse[grid[:-1]]
    parts = votes_by_place(
        np.add.reduceat(counts.parts, starts, axis=1),
        np.add.reduceat(counts.parts_ahead, starts, axis=1),
    )
    halves = parts[0::2].sum(axis=0), parts[1::2].sum(axis=0)
    assert len(parts) == PARTS
    jumps = [
        _jumps(counts, grid, mine, other, model, phi, vote_model)
        for mine, other in (halves, halves[::-1])
        if mine.any() and other.any()
    ]
    if not jumps:
        return 0.0
    total, variance = np.mean(jumps, axis=0)
    return max(0.0, float(total - _ONE_SIDED * np.sqrt(phi * variance / len(jumps))))


def _jumps(
    counts: Counts,
    grid: NDArray[np.int64],
    mine: Floats,
    other: Floats,
    model: str,
    phi: float,
    vote_model: VoteModel,
) -> tuple[float, float]:
    """Return the sum of the jumps and its variance without the factor phi."""
    found = cuttings(counts, grid, model, phi, votes=mine, vote_model=vote_model)
    edges = [0, *(cut for cut, *_ in found.changes()), found.bins]
    if len(edges) == 2:
        return 0.0, 0.0
    mine, other = (np.add.reduceat(half, edges[:-1], axis=0) for half in (mine, other))
    blend = blend_of([votes / phi for votes in mine], vote_model)
    expected = np.stack([blend.expected_preferences(votes / phi) for votes in mine])
    P = np.clip(expected, 1e-9, 1 - 1e-9)
    other = net_wins(other, np.log(P / (1 - P)), vote_model)
    votes = other + other.transpose(0, 2, 1)
    total = variance = 0.0
    for s in range(len(expected) - 1):
        jump = expected[s + 1] - expected[s]
        # A pair without votes of the other part on both sides of a cut is not used.
        seen = (votes[s] > 0) & (votes[s + 1] > 0)
        if not seen.any():
            continue
        a, b = np.unravel_index(np.argmax(np.where(seen, jump, -1.0)), jump.shape)
        rates = [(other[t, a, b] + 0.5) / (votes[t, a, b] + 1) for t in (s, s + 1)]
        total += other[s + 1, a, b] / votes[s + 1, a, b] - other[s, a, b] / votes[s, a, b]
        variance += sum(
            rate * (1 - rate) / votes[t, a, b] for t, rate in zip((s, s + 1), rates, strict=True)
        )
    return float(total), float(variance)
