"""Compiled passes over the votes of a log with requests; the filters are those of policies.

In all functions `first`, `second`, `won` and `x` are the votes in order of time: two options,
whether the first one won, and the scaled request (n, d). Filters are given by their means (M, D)
and factors (M, D, D), which are changed.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import hot, kernel
from driftduel.policies import (
    forget as forget_round,
    predict as predict_vote,
    update as update_filter,
    utility,
)

__all__ = ["block_scores", "find_change", "follow_votes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MOST_LOGIT = 20.0


@hot
def _log_choices(size: int, wins: int) -> float:
    """Return the log of the number of subsets of `wins` of `size` votes."""
    return math.lgamma(size + 1.0) - math.lgamma(wins + 1.0) - math.lgamma(size - wins + 1.0)


@kernel
def block_scores(
    first: Ints, second: Ints, won: Ints, x: Floats, order: Ints, ends: Ints, mean: Any,
    factor: Any, work: Floats, odds: Floats, sums: Floats, scores: Floats,
) -> None:  # fmt: skip
    """Write the log e-value of each block, given the number of its wins, into `scores` (M, B).

    A filter learns the votes of a block after their prediction.

    Parameters
    ----------
    first, second, won, x, mean, factor
        See the module.
    order, ends
        The votes, block by block, and the end of each block in that order.
    work, odds, sums
        Scratch: (D,), the largest block, and one more than that.
    scores
        Output argument.
    """
    for m in range(len(mean)):
        begin = 0
        for block in range(len(ends)):
            size = ends[block] - begin
            sums[0] = 1.0
            score, wins = 0.0, 0
            for i in range(size):
                row = order[begin + i]
                logit = predict_vote(mean[m], factor[m], work, first[row], second[row], x[row])[0]
                logit = min(max(logit, -_MOST_LOGIT), _MOST_LOGIT)
                odds[i] = math.exp(logit)
                if won[row]:
                    score += logit
                    wins += 1
                sums[i + 1] = 0.0
                for j in range(i + 1, 0, -1):
                    sums[j] += odds[i] * sums[j - 1]
            scores[m, block] = score + _log_choices(size, wins) - math.log(sums[wins])
            for i in range(size):
                row = order[begin + i]
                update_filter(
                    mean[m], factor[m], work, first[row], second[row], x[row], float(won[row]), 1.0
                )
            begin = ends[block]


@kernel
def follow_votes(
    first: Ints, second: Ints, won: Ints, x: Floats, mean: Any, factor: Any, work: Floats,
    weights: Floats, utilities: Floats, scores: Floats,
) -> None:  # fmt: skip
    """Predict each vote from the earlier ones.

    Parameters
    ----------
    first, second, won, x, mean, factor
        See the module.
    work
        (D,) scratch.
    weights
        (M,) scratch: the log weight of each filter, its log score so far.
    utilities
        Output argument, (n, K): the utilities of all options for each request before its vote, the
        mean over the filters by weight. Not computed if it is empty.
    scores
        Output argument, (M, n): the log score of each vote.
    """
    for row in range(len(first)):
        if len(utilities):
            top, total = weights[0], 0.0
            for m in range(1, len(mean)):
                top = max(top, weights[m])
            for m in range(len(mean)):
                total += math.exp(weights[m] - top)
            for i in range(utilities.shape[1]):
                utilities[row, i] = 0.0
                for m in range(len(mean)):
                    share = math.exp(weights[m] - top) / total
                    utilities[row, i] += share * utility(mean[m], i, x[row])
        for m in range(len(mean)):
            scores[m, row] = update_filter(
                mean[m], factor[m], work, first[row], second[row], x[row], float(won[row]), 1.0
            )
            weights[m] += scores[m, row]


@kernel
def find_change(
    first: Ints, second: Ints, won: Ints, x: Floats, begin: int, stakes: Floats, bar: float,
    memories: Floats, mean: Any, factor: Any, work: Floats, scores: Floats, wealth: Floats,
    paths: Floats, starts: Ints,
) -> tuple[int, int, float]:  # fmt: skip
    """Return the first vote at which a filter with a discount predicts better by evidence `bar`.

    The last filter has no discount. Each other one bets against it from many votes on, with a stake
    each; the evidence is the mean wealth.

    Parameters
    ----------
    first, second, won, x, mean, factor
        See the module.
    begin
        The vote from which the filters learn.
    stakes
        (n - begin,) the stake that is laid before each vote; their sum is at most 1.
    bar
        The required evidence.
    memories
        (M,) memories of the filters, in votes.
    work, scores, wealth, paths, starts
        Scratch: (D,), and (M,) the log scores of a vote, the wealth of the stakes laid, the
        excursion of the log scores and its first vote.

    Returns
    -------
    tuple
        The vote or -1, the first vote of the excursion of the filter with most wealth, and the
        evidence.
    """
    last = len(mean) - 1
    laid = 0.0
    for m in range(len(mean)):
        wealth[m], paths[m], starts[m] = 0.0, 0.0, begin
    for row in range(begin, len(first)):
        laid += stakes[row - begin]
        for m in range(len(mean)):
            forget_round(mean[m], factor[m], work, memories[m], row - begin + 1)
            scores[m] = update_filter(
                mean[m], factor[m], work, first[row], second[row], x[row], float(won[row]), 1.0
            )
        best, total = 0, 0.0
        for m in range(last):
            gain = scores[m] - scores[last]
            wealth[m] = (wealth[m] + stakes[row - begin]) * math.exp(gain)
            paths[m] += gain
            if paths[m] <= 0.0:
                paths[m], starts[m] = 0.0, row + 1
            total += wealth[m]
            if wealth[m] > wealth[best]:
                best = m
        evidence = total / last + 1.0 - laid
        if evidence >= bar:
            return row, starts[best], evidence
    return -1, -1, 0.0
