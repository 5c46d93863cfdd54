"""Rolling forecasts of a log, beside those of ratings.

The log is cut into blocks of about equal votes. Before each block the model is fitted to all votes
before it and predicts the votes of the block; ratings do the same. The half-life of the decayed
Bradley-Terry model and the step of Elo are those with the lowest log-loss in the blocks before.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.wording import decimals, whole
from driftduel.errors import DriftduelError
from driftduel.logs.counts import Counts
from driftduel.logs.forecast import scores_when_first
from driftduel.logs.posterior import fit
from driftduel.logs.ratings import HALF_LIVES, Elo, Rating, log_loss, rate
from driftduel.logs.reading import Log
from driftduel.logs.vote_model import votes_by_place

__all__ = ["BLOCKS", "OURS", "Evaluation", "evaluate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OURS = "driftduel"
BLOCKS = 12
"""The default number of predicted blocks."""
_PREDICTED = 0.6  # share of the log; the rate parameters of ratings are chosen on the part before
_FEWEST_VOTES = 200
_PLACE = " + first place"


@dataclass(frozen=True)
class Evaluation:
    """Mean log-loss of votes that were predicted one block ahead."""

    votes: float
    """The total weight of the predicted votes."""
    starts: tuple[float, ...]
    """The start time of each predicted block."""
    losses: dict[str, float]
    """Mean log-loss of a vote, by model; a tie counts half for each side."""
    apart: dict[str, float]
    """Loss of our model minus the loss of each rating; negative: ours is better."""
    errors: dict[str, float]
    """Standard error of each difference, over blocks."""
    slates: bool = False
    """Whether votes are those of the pairs of slates."""

    @property
    def best(self) -> str:
        """The rating with the lowest loss."""
        return min(self.apart, key=lambda name: self.losses[name])

    @property
    def sentence(self) -> str:
        """One sentence: our model beside the best rating."""
        best = self.best
        apart, error = self.apart[best], self.errors[best]
        verdict = "better than" if apart < 0 else "worse than"
        if abs(apart) <= 2 * error:
            verdict = "about as well as"
        return (
            f"driftduel predicts the next block of votes {verdict} the best rating, {best}: "
            f"log-loss {decimals(self.losses[OURS], 4)} and {decimals(self.losses[best], 4)} a "
            f"vote, difference {apart:+.4f} with standard error {error:.4f} over "
            f"{len(self.starts)} blocks."
        )

    @property
    def remarks(self) -> list[str]:
        """Sentences that explain the numbers."""
        of_pairs = (
            "Votes are those of the pairs of each slate, with the weights of the fit; their sum is "
            "the number of votes."
        )
        return [
            *([of_pairs] if self.slates else []),
            f"Mean log-loss of {whole(self.votes)} votes in the last {len(self.starts)} blocks, "
            f"each predicted from all votes before it; ties count half. Ratings have a ridge "
            f"penalty of 1, and their half-life or step is the best one of earlier blocks.",
            "The best rating is chosen with hindsight, so the comparison favours the ratings.",
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the table as plain data: one row for each model, the best first."""
        rows = [
            {
                "model": name,
                "log_loss": loss,
                "difference": self.apart.get(name),
                "standard_error": self.errors.get(name),
            }
            for name, loss in sorted(self.losses.items(), key=lambda item: item[1])
        ]
        return {"blocks": len(self.starts), "votes_predicted": self.votes, "models": rows}


def evaluate(
    log: Log | Counts,
    blocks: int = BLOCKS,
    *,
    kind: str = "auto",
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Compare rolling forecasts of the last 60% of a log with ratings.

    Parameters
    ----------
    log
        The log, or its counts.
    blocks
        The number of blocks to predict.
    kind
        Same argument as of `fit`; with the default ``auto`` the model is chosen again before each
        block.
    seed        Seed of the posterior draws.
    progress
        Function called with a short description before each block.

    Raises
    ------
    DriftduelError
        If the log has fewer than 200 votes, or fewer different times than blocks.
    """
    counts = log if isinstance(log, Counts) else log.counts
    edges = _edges(counts, blocks)
    say = progress or (lambda _: None)
    votes = np.stack(
        [votes_by_place(counts.wins[i:j].sum(axis=0), counts.ahead[i:j].sum(axis=0))
         for i, j in pairwise(edges)]
    )  # fmt: skip
    predicted = range(len(edges) - 1 - blocks, len(edges) - 1)
    losses: dict[str, Floats] = {OURS: np.zeros(blocks)}
    for number, block in enumerate(predicted):
        say(f"block {number + 1} of {blocks}")
        found = fit(counts.between(0, int(edges[block])), kind, seed=seed)
        # The length of a block is fixed in advance and may be used; its votes may not (leakage).
        scores = scores_when_first(found, ahead=float(votes[block].sum()))
        losses[OURS][number] = log_loss(votes[block], scores)
    say("ratings")
    for name, all_losses in _losses_of_ratings(counts, edges, votes).items():
        losses[name] = all_losses[predicted.start :]
    return _summary(losses, votes[predicted.start :].sum(axis=(1, 2, 3)), counts, edges, blocks)


def _edges(counts: Counts, blocks: int) -> Ints:
    """Return the fine bins at which blocks begin, and one past the last."""
    if blocks < 2:
        raise DriftduelError(f"blocks={blocks} must be at least 2.")
    if counts.votes < _FEWEST_VOTES:
        raise DriftduelError(
            f"{counts.votes:,} votes are too few to predict some from the others; "
            f"at least {_FEWEST_VOTES} are needed."
        )
    edges = counts.grid(max(blocks + 1, round(blocks / _PREDICTED)))
    if len(edges) - 1 <= blocks:
        raise DriftduelError(
            f"the log cannot be cut into {blocks} blocks and votes before them: it has "
            f"{int(counts.events.sum()):,} different times; choose fewer --blocks."
        )
    return edges


def _losses_of_ratings(counts: Counts, edges: Ints, votes: Floats) -> dict[str, Floats]:
    """Return the total loss of each rating in each block."""
    losses: dict[str, list[float]] = {}
    for placed in (False, True) if counts.placed else (False,):
        families: dict[str, list[Floats]] = {}
        for block, ratings in enumerate(_ratings(counts, edges, placed)):
            for name, found in ratings.items():
                lost = np.array([log_loss(votes[block], one.when_first()) for one in found])
                before = families.setdefault(name, [])
                total = np.sum(before, axis=0) if before else np.zeros(len(lost))
                # There is no loss before the first block: use the middle value of the rate.
                chosen = int(total.argmin()) if before else len(lost) // 2
                before.append(lost)
                title = name + (_PLACE if placed else "")
                losses.setdefault(title, []).append(float(lost[chosen]))
    return {name: np.array(values) for name, values in losses.items()}


def _ratings(counts: Counts, edges: Ints, placed: bool) -> Iterator[dict[str, list[Rating]]]:
    """Yield the ratings before each block, one for each value of the rate parameter."""
    K = counts.options
    fine = votes_by_place(counts.wins, counts.ahead)
    sizes = counts.per_bin()
    done = np.cumsum(sizes)
    middle = done - sizes / 2
    elo = Elo(K, float(done[-1]))
    static: Rating | None = None
    decayed: list[Rating | None] = [None] * len(HALF_LIVES)
    for i, j in pairwise(edges):
        static = rate(fine[:i].sum(axis=0), placed=placed, start=static)
        for which, half_life in enumerate(HALF_LIVES):
            age = (done[i - 1] if i else 0.0) - middle[:i]
            weights = 0.5 ** (age / (half_life * done[-1]))
            kept = np.flatnonzero(weights > 1e-6)
            summed = np.tensordot(weights[kept], fine[kept], axes=1)
            decayed[which] = rate(summed, placed=placed, start=decayed[which])
        advantage = static.first_place
        yield {
            "static Bradley-Terry": [static],
            "decayed Bradley-Terry": [one for one in decayed if one is not None],
            "Elo": elo.ratings(advantage),
        }
        for votes in fine[i:j]:
            elo.add(votes if placed else np.stack((votes.sum(axis=0), np.zeros((K, K)))), advantage)


def _summary(
    losses: dict[str, Floats], votes: Floats, counts: Counts, edges: Ints, blocks: int
) -> Evaluation:
    """Return the mean losses, and the standard errors of their differences."""
    total = float(votes.sum())
    apart, errors = {}, {}
    for name, lost in losses.items():
        if name == OURS:
            continue
        gap = losses[OURS] - lost
        mean = float(gap.sum()) / total
        apart[name] = mean
        # Blocks differ in size: the standard error of a ratio of sums.
        rest = gap - votes * mean
        errors[name] = float(np.sqrt((rest**2).sum() * blocks / (blocks - 1)) / total)
    starts = tuple(float(counts.first[edge]) for edge in edges[-blocks - 1 : -1])
    means = {name: float(lost.sum()) / total for name, lost in losses.items()}
    return Evaluation(total, starts, means, apart, errors, bool(counts.slates))
