"""Model choice: the simplest model that predicts held-out votes about as well as the best.

Events are dealt into ten parts, held out two at a time. Evidence values are not comparable: models
are centred on the log's own rates, which favours the model with more parameters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry_fit import dispersion
from driftduel.logs.counts import PARTS, Counts
from driftduel.logs.segments import MODELS, Prior, Segmentation, affordable_bins, cuttings
from driftduel.logs.stretch import blend_of
from driftduel.logs.vote_model import PLAIN, VoteModel, vote_loss, votes_by_place
from driftduel.logs.walk import fit_walk

__all__ = ["KINDS", "ModelChoice", "choose", "predict"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = ("still", "utilities", "pairs", "walk")
"""Models from simple to rich: one stretch; stretches, cut where utilities differ or where pairs
do; a walk. All but the last use the same function for the preferences, see `stretch`."""
_HELD = 2  # parts at a time
_BINS = 64


@dataclass(frozen=True)
class ModelChoice:
    """The predictive quality of each model on held-out votes."""

    kind: str
    """The simplest model within one standard error of the best."""
    losses: dict[str, float]
    """The mean log-loss of a held-out vote."""
    errors: dict[str, float]
    """The standard error of the difference to the best."""


def choose(counts: Counts, phi: float | None = None, vote_model: VoteModel = PLAIN) -> ModelChoice:
    """Compare the models on held-out votes.

    Parameters
    ----------
    counts
        The log.
    phi
        The dispersion parameter; the default is estimated from the groups.
    vote_model
        First-place advantage and ties.
    """
    phi = dispersion(counts, vote_model) if phi is None else phi
    losses, votes = np.zeros((PARTS, len(KINDS))), np.zeros(PARTS)
    for held, parts, predicted in predict(counts, phi, KINDS, vote_model):
        for part, won in zip(held, parts, strict=True):
            votes[part] = won.sum()
            for k, P in enumerate(predicted):
                losses[part, k] = vote_loss(won, P, vote_model)
    total = losses.sum(axis=0) / max(votes.sum(), 1e-300)
    best = int(total.argmin())
    # Parts differ in size: a part's difference is weighted by its votes.
    apart = losses - losses[:, best : best + 1]
    apart = apart - votes[:, None] * (apart.sum(axis=0) / max(votes.sum(), 1e-300))
    error = np.sqrt((apart**2).sum(axis=0) * PARTS / (PARTS - 1)) / max(votes.sum(), 1e-300)
    near = total - total[best] <= error + 1e-12
    return ModelChoice(
        KINDS[int(near.argmax())],
        dict(zip(KINDS, total.tolist(), strict=True)),
        dict(zip(KINDS, error.tolist(), strict=True)),
    )


def predict(
    counts: Counts, phi: float, kinds: Sequence[str] = KINDS, vote_model: VoteModel = PLAIN
) -> Iterator[tuple[range, Floats, list[Floats]]]:
    """Hold out a few parts of the votes at a time, and predict them from all others.

    Yields
    ------
    range, (H, B, 2, K, K) array, list of (B, K, K) arrays
        The parts held out, their votes, and the expected preferences of each model.
    """
    grid = counts.grid(min(_BINS, affordable_bins(counts.options) // 2))
    starts = counts.coarse[grid[:-1]]
    wins = np.add.reduceat(counts.parts, starts, axis=1)
    ahead = np.add.reduceat(counts.parts_ahead, starts, axis=1) if counts.placed else wins * 0
    total = votes_by_place(wins.sum(axis=0), ahead.sum(axis=0))
    # The width parameter is estimated once, from all votes: a fifth of them hardly changes it.
    priors = {
        kind: cuttings(counts, grid, kind, phi, vote_model=vote_model).likely_priors()
        for kind in kinds
        if kind in MODELS
    }
    for first in range(0, PARTS, _HELD):
        held = range(first, first + _HELD)
        parts = votes_by_place(wins[first : first + _HELD], ahead[first : first + _HELD])
        seen = np.maximum(total - parts.sum(axis=0), 0.0)
        if seen.any():
            yield (
                held,
                parts,
                [
                    _expected_preferences(counts, grid, seen, phi, kind, priors, vote_model)
                    for kind in kinds
                ],
            )


def _expected_preferences(
    counts: Counts,
    grid: Ints,
    seen: Floats,
    phi: float,
    kind: str,
    priors: dict[str, list[Prior]],
    vote_model: VoteModel,
) -> Floats:
    """Return the (B, K, K) expected preferences of a model, given the votes in `seen`."""
    scaled = seen / phi
    if kind in MODELS:
        cut = cuttings(
            counts, grid, kind, phi, votes=seen, priors=priors[kind], vote_model=vote_model
        )
        return _of_pieces(cut, scaled, vote_model)
    if kind == "still":
        whole = scaled.sum(axis=0)
        expected = blend_of([whole], vote_model).expected_preferences(whole)
        return np.broadcast_to(expected, (len(seen), *expected.shape))
    # Empty bins are included: all of their votes may be held out.
    sizes = np.add.reduceat(counts.per_bin(), grid[:-1])
    places = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    return fit_walk(scaled, places, vote_model).preferences()


def _of_pieces(cut: Segmentation, scaled: Floats, vote_model: VoteModel) -> Floats:
    """Return the expected preferences, averaged over all stretches that contain a bin."""
    edges = [0, *cut.mode().tolist(), cut.bins] if cut.still < 0.5 else [0, cut.bins]
    stretches = [scaled[i:j].sum(axis=0) for i, j in pairwise(edges)]
    blend = blend_of(stretches, vote_model).most_probable()
    chances = cut.stretches.copy()
    chances[0, cut.bins] += cut.still
    likely = np.argwhere(chances > 1e-3)
    K = scaled.shape[-1]
    expected, weight = np.zeros((len(scaled), K, K)), np.zeros((cut.bins, 1, 1))
    for i, j in likely:
        chance = chances[i, j]
        expected[i:j] += chance * blend.expected_preferences(scaled[i:j].sum(axis=0))
        weight[i:j] += chance
    return expected / np.maximum(weight, 1e-12)
