"""Gaussian filters of the utilities' coefficients: project, update, discount.

The coefficients theta of K options are stacked option by option, D = K d numbers; option i has the
utility theta_i . x for the scaled request x. A filter is a mean (D,) and a factor S (D, D) of the
covariance S S^T, which is positive semidefinite whatever a damaged file contains. Nothing is ever
inverted. The prior has mean 0 and S = 2 I, so each utility has the standard deviation 2.

Sums run in a fixed order and the compiler may not reorder them (no fastmath): the loop of games,
calls of the live policy and a fold agree in the last bit.
"""

import math
from typing import Any

import numpy as np

from driftduel._internal.compiler import hot, kernel

__all__ = [
    "DEVIATION", "NO_MEMORY", "forget", "greatest", "leverage", "predict", "project_all", "update",
    "utility",
]  # fmt: skip

DEVIATION = 2.0
"""The prior's standard deviation of a coefficient."""
NO_MEMORY = 0.0
"""The memory value of a filter without a discount."""
_LEAST_VARIANCE = 1e-300
_LEAST_CURVATURE = 0.02
_LEAST_PROBABILITY = 1e-9


@hot
def _dot(x: Any, y: Any) -> float:
    """Return the inner product of two vectors; eight partial sums can be vectorised."""
    size = len(x)
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = size - size % 8
    for j in range(0, whole, 8):
        s0 += x[j] * y[j]
        s1 += x[j + 1] * y[j + 1]
        s2 += x[j + 2] * y[j + 2]
        s3 += x[j + 3] * y[j + 3]
        s4 += x[j + 4] * y[j + 4]
        s5 += x[j + 5] * y[j + 5]
        s6 += x[j + 6] * y[j + 6]
        s7 += x[j + 7] * y[j + 7]
    total = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
    for j in range(whole, size):
        total += x[j] * y[j]
    return total


@hot
def _absorb(
    mean: Any, factor: Any, work: Any, variance: float, curvature: float, step: float, scale: float
) -> None:
    """Learn along a direction z with S^T z in `work`, of which `variance` is the squared length.

    The factor is multiplied by `scale` first; `work` and `variance` include that. One pass over the
    rows: a row is read for its gain, and replaced.
    """
    size = len(work)
    den = 1.0 + curvature * variance
    shrink = (1.0 - 1.0 / math.sqrt(den)) / variance
    rate = step / den
    for i in range(size):
        row = factor[i]
        gain = scale * _dot(row, work)
        mean[i] += gain * rate
        gain *= shrink
        for j in range(size):
            row[j] = scale * row[j] - gain * work[j]


@hot
def utility(mean: Any, arm: int, x: Any) -> float:
    """Return the mean utility of an option for a request."""
    size = len(x)
    total = 0.0
    for k in range(size):
        total += mean[arm * size + k] * x[k]
    return total


@hot
def predict(
    mean: Any, factor: Any, work: Any, first: int, second: int, x: Any
) -> tuple[float, float]:
    """Return the predicted log-odds of a win of the first option, and their variance.

    The log-odds are shrunk by the variance. The projection S^T z is left in `work`.
    """
    size, d = len(work), len(x)
    for j in range(size):
        work[j] = 0.0
    difference = 0.0
    for k in range(d):
        up, down, at = factor[first * d + k], factor[second * d + k], x[k]
        difference += (mean[first * d + k] - mean[second * d + k]) * at
        for j in range(size):
            work[j] += at * (up[j] - down[j])
    variance = _dot(work, work)
    if variance <= _LEAST_VARIANCE:
        return 0.0, variance
    return difference / math.sqrt(1.0 + math.pi * variance / 8.0), variance


@kernel
def update(
    mean: Any, factor: Any, work: Any, first: int, second: int, x: Any, won: float, weight: float
) -> float:
    """Learn the outcome of a duel and return the log score of the prediction before it.

    Parameters
    ----------
    mean, factor
        The filter; changed.
    work
        (D,) scratch.
    first, second, x
        The two options and the scaled request.
    won
        1 if the first won, 0 if the second did.
    weight
        How many votes it counts for.
    """
    logit, variance = predict(mean, factor, work, first, second, x)
    if variance <= _LEAST_VARIANCE:
        return math.log(0.5)
    p = 1.0 / (1.0 + math.exp(-logit)) if logit >= 0.0 else 1.0 - 1.0 / (1.0 + math.exp(logit))
    score = math.log(max(_LEAST_PROBABILITY, p if won > 0.5 else 1.0 - p))
    curvature = weight * max(p * (1.0 - p), _LEAST_CURVATURE)
    _absorb(mean, factor, work, variance, curvature, weight * (won - p), 1.0)
    return score


@kernel
def forget(mean: Any, factor: Any, work: Any, memory: float, t: int) -> None:
    """Discount by one round: widen the covariance, and pull one coordinate towards the prior.

    Without the pull the covariance would grow without bound in directions that are never asked.
    A long memory does the same work in larger steps, every `pause` rounds.
    """
    size = len(work)
    if memory == NO_MEMORY:
        return
    pause = max(1, int(memory / (32.0 * size)))
    if t % pause != 0:
        return
    scale = math.exp(pause / (2.0 * memory))
    place = (t // pause) % size
    for j in range(size):
        work[j] = scale * factor[place, j]
    variance = _dot(work, work)
    if variance <= _LEAST_VARIANCE:
        for i in range(size):
            for j in range(size):
                factor[i, j] *= scale
        return
    curvature = (1.0 - math.exp(-pause / memory)) * size / (DEVIATION * DEVIATION)
    _absorb(mean, factor, work, variance, curvature, -curvature * mean[place], scale)


@kernel
def project_all(factor: Any, x: Any, spread: Any) -> None:
    """Write S^T phi_i for every option i into the rows of `spread` (K, D)."""
    d = len(x)
    for i in range(len(spread)):
        row = spread[i]
        for j in range(len(row)):
            row[j] = 0.0
        for k in range(d):
            source, at = factor[i * d + k], x[k]
            for j in range(len(row)):
                row[j] += at * source[j]


@hot
def leverage(spread: Any, first: int, second: int) -> float:
    """Return the variance of the difference of two utilities, after `project_all`."""
    one, other = spread[first], spread[second]
    total = 0.0
    for j in range(len(one)):
        total += (one[j] - other[j]) * (one[j] - other[j])
    return total


@hot
def greatest(values: Any, present: Any, without: int) -> int:
    """Return the present option with the greatest value, the lowest of several, but `without`.

    The function returns -1 if no other option is present.
    """
    best = -1
    top = -np.inf
    for i in range(len(values)):
        if present[i] and i != without and (best < 0 or values[i] > top):
            best, top = i, values[i]
    return best
