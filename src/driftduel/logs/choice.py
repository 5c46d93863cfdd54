"""Which model fits a log: the simplest of those that predict held-out votes about as well.

Events are dealt into ten parts, held out two at a time. Evidence would not do: models are centred
on the log's own rates, which favours the one with more of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry import dispersion
from driftduel.logs.counts import PARTS, Counts
from driftduel.logs.segments import MODELS, Cuttings, affordable_bins, cuttings
from driftduel.logs.stretch import blend_of
from driftduel.logs.walk import fit_walk

__all__ = ["KINDS", "Choice", "choose", "predict"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = ("still", "utilities", "pairs", "walk")
"""From simple to rich: one stretch; stretches, cut where utilities differ or where pairs do; a
walk. What a stretch expects of a pair is the same in all but the last, see `stretch`."""
_HELD = 2  # parts at a time
_BINS = 64
_SURE = 1e-9


@dataclass(frozen=True)
class Choice:
    """How well each model predicts votes that it has not seen."""

    kind: str
    """The simplest within one standard error of the best."""
    losses: dict[str, float]
    """The mean log loss of a held-out vote."""
    errors: dict[str, float]
    """The standard error of the difference to the best."""


def choose(counts: Counts, phi: float | None = None) -> Choice:
    """Compare the models on held-out votes."""
    phi = dispersion(counts) if phi is None else phi
    losses, votes = np.zeros((PARTS, len(KINDS))), np.zeros(PARTS)
    for held, wins, predicted in predict(counts, phi):
        for part, won in zip(held, wins, strict=True):
            votes[part] = won.sum()
            for k, P in enumerate(predicted):
                losses[part, k] = -(won * np.log(np.clip(P, _SURE, 1))).sum()
    total = losses.sum(axis=0) / max(votes.sum(), 1e-300)
    best = int(total.argmin())
    # A part's share of the votes may be large or small: its difference counts by its votes.
    apart = losses - losses[:, best : best + 1]
    apart = apart - votes[:, None] * (apart.sum(axis=0) / max(votes.sum(), 1e-300))
    error = np.sqrt((apart**2).sum(axis=0) * PARTS / (PARTS - 1)) / max(votes.sum(), 1e-300)
    near = total - total[best] <= error + 1e-12
    return Choice(
        KINDS[int(near.argmax())],
        dict(zip(KINDS, total.tolist(), strict=True)),
        dict(zip(KINDS, error.tolist(), strict=True)),
    )


def predict(
    counts: Counts, phi: float, kinds: Sequence[str] = KINDS
) -> Iterator[tuple[range, Floats, list[Floats]]]:
    """Hold out a few parts of the votes at a time, and predict them from all others.

    Yields
    ------
    range, (H, B, K, K) array, list of (B, K, K) arrays
        The parts held out, their wins, and the preferences that each of the kinds expects.
    """
    grid = counts.grid(min(_BINS, affordable_bins(counts.options) // 2))
    parts = counts.parts_over(grid)
    # How wide priors are is told from all votes, once: it hardly depends on a fifth of them.
    priors = {
        kind: cuttings(counts, grid, kind, phi).likely_priors() for kind in kinds if kind in MODELS
    }
    for first in range(0, PARTS, _HELD):
        held = range(first, first + _HELD)
        seen = np.delete(parts, held, axis=0).sum(axis=0)
        if seen.any():
            yield (
                held,
                parts[first : first + _HELD],
                [_expected(counts, grid, seen, phi, kind, priors) for kind in kinds],
            )


def _expected(
    counts: Counts,
    grid: Ints,
    seen: Floats,
    phi: float,
    kind: str,
    priors: dict[str, list[float]],
) -> Floats:
    """Return the (B, K, K) preferences that a model expects after what was seen."""
    scaled = seen / phi
    if kind in MODELS:
        cut = cuttings(counts, grid, kind, phi, wins=seen, priors=priors[kind])
        return _of_pieces(cut, scaled)
    if kind == "still":
        whole = scaled.sum(axis=0)
        return np.broadcast_to(blend_of([whole]).expected(whole), seen.shape)
    # Empty bins have a place too: what was held out may be all of them.
    sizes = np.add.reduceat(counts.per_bin(), grid[:-1])
    places = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    return fit_walk(scaled, places).preferences()


def _of_pieces(cut: Cuttings, scaled: Floats) -> Floats:
    """Average over all stretches that a bin may lie in."""
    edges = [0, *cut.mode().tolist(), cut.bins] if cut.still < 0.5 else [0, cut.bins]
    blend = blend_of([scaled[i:j].sum(axis=0) for i, j in pairwise(edges)]).sharpened()
    chances = cut.stretches.copy()
    chances[0, cut.bins] += cut.still
    likely = np.argwhere(chances > 1e-3)
    expected, weight = np.zeros_like(scaled), np.zeros((cut.bins, 1, 1))
    for i, j in likely:
        chance = chances[i, j]
        expected[i:j] += chance * blend.expected(scaled[i:j].sum(axis=0))
        weight[i:j] += chance
    return expected / np.maximum(weight, 1e-12)
