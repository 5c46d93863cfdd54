"""Compiled: the evidence of every stretch of bins, and sums over all ways to cut a log.

`wins` is (B, K, K), wins of the row over the column in each bin. A stretch (i, j) has the bins
i, ..., j - 1; a table of evidences is (B + 1, B + 1), with -inf where a stretch is not allowed.
"""

import math

import numpy as np
from numpy.typing import NDArray

from driftduel._compile import hot, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_STEPS = 60
_LONGEST_STEP = 3.0  # of a Newton step; beyond, the quadratic says little
_CLOSE = 1e-7  # a step this small is the last: the next would be its square


@hot
def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


@kernel
def likelihood(wins: Floats, u: Floats) -> float:
    """Return the log likelihood of wins (K, K) under Bradley and Terry's model."""
    total = 0.0
    for a in range(len(u)):
        for b in range(a):
            if wins[a, b] > 0.0 or wins[b, a] > 0.0:
                gap = u[a] - u[b]
                total -= wins[a, b] * _softplus(-gap) + wins[b, a] * _softplus(gap)
    return total


@hot
def _gather(sums: Floats, wins: Floats) -> None:
    for a in range(len(sums)):
        for b in range(len(sums)):
            sums[a, b] += wins[a, b]


@kernel
def _factor(H: Floats) -> None:
    """Replace the lower half of a positive definite matrix by its Cholesky factor."""
    K = len(H)
    for a in range(K):
        for b in range(a + 1):
            total = H[a, b]
            for c in range(b):
                total -= H[a, c] * H[b, c]
            if a == b:
                H[a, a] = math.sqrt(max(total, 1e-300))
            else:
                H[a, b] = total / H[b, b]


@kernel
def climb(
    wins: Floats, mean: Floats, precision: float, u: Floats, step: Floats, H: Floats
) -> float:
    """Move the utilities `u` to the mode of their posterior by Newton's method.

    The prior is normal around `mean` with one precision for all. `H` is left as the Cholesky
    factor of the posterior's precision at the mode. Returns the sum of the logs of its diagonal.
    """
    K = len(u)
    for _ in range(_MOST_STEPS):
        for a in range(K):
            step[a] = -precision * (u[a] - mean[a])
            H[a, a] = precision
        for a in range(K):
            for b in range(a):
                ahead, behind = wins[a, b], wins[b, a]
                H[a, b] = 0.0
                votes = ahead + behind
                if votes > 0.0:
                    p = 1.0 / (1.0 + math.exp(u[b] - u[a]))
                    slope = ahead - votes * p
                    step[a] += slope
                    step[b] -= slope
                    bend = votes * p * (1.0 - p)
                    H[a, b] = -bend
                    H[a, a] += bend
                    H[b, b] += bend
        _factor(H)
        for a in range(K):
            for b in range(a):
                step[a] -= H[a, b] * step[b]
            step[a] /= H[a, a]
        for a in range(K - 1, -1, -1):
            for b in range(a + 1, K):
                step[a] -= H[b, a] * step[b]
            step[a] /= H[a, a]
        size = 0.0
        for a in range(K):
            size = max(size, abs(step[a]))
        scale = min(1.0, _LONGEST_STEP / max(size, 1e-300))
        for a in range(K):
            u[a] += scale * step[a]
        if size < _CLOSE:
            break
    total = 0.0
    for a in range(K):
        total += math.log(H[a, a])
    return total


@kernel
def utilities_evidence(
    wins: Floats,
    units: Floats,
    fewest: float,
    mean: Floats,
    tau: float,
    out: Floats,
    sums: Floats,
    u: Floats,
    step: Floats,
    H: Floats,
) -> None:
    """Fill `out` with Laplace's approximation of the log evidence of every stretch.

    Utilities are normal around `mean` with standard deviation `tau`, anew in every stretch.
    """
    B, K = wins.shape[0], wins.shape[1]
    precision = 1.0 / (tau * tau)
    out[:] = -np.inf
    for i in range(B):
        sums[:] = 0.0
        for a in range(K):
            u[a] = mean[a]
        inside = 0.0
        for j in range(i, B):
            _gather(sums, wins[j])
            inside += units[j]
            if inside < fewest:
                continue
            root = climb(sums, mean, precision, u, step, H)
            away = 0.0
            for a in range(K):
                away += (u[a] - mean[a]) ** 2
            value = likelihood(sums, u) - 0.5 * precision * away
            out[i, j + 1] = value - K * math.log(tau) - root


@kernel
def pairs_evidence(
    wins: Floats,
    units: Floats,
    fewest: float,
    rate: Floats,
    strength: float,
    out: Floats,
    sums: Floats,
) -> None:
    """Fill `out` with the log evidence of every stretch if each pair is by itself.

    A pair's preference is Beta around its `rate` in the whole log, worth `strength` votes, anew in
    every stretch.
    """
    B, K = wins.shape[0], wins.shape[1]
    out[:] = -np.inf
    none = math.lgamma(strength)
    for i in range(B):
        sums[:] = 0.0
        inside = 0.0
        for j in range(i, B):
            _gather(sums, wins[j])
            inside += units[j]
            if inside < fewest:
                continue
            total = 0.0
            for a in range(K):
                for b in range(a):
                    votes = sums[a, b] + sums[b, a]
                    if votes > 0.0:
                        ahead = strength * rate[a, b]
                        behind = strength * rate[b, a]
                        total += math.lgamma(ahead + sums[a, b]) - math.lgamma(ahead)
                        total += math.lgamma(behind + sums[b, a]) - math.lgamma(behind)
                        total += none - math.lgamma(strength + votes)
            out[i, j + 1] = total


@hot
def _add(x: float, y: float) -> float:
    """Add two numbers of which only the logs are known."""
    if x < y:
        x, y = y, x
    return x if y == -np.inf else x + math.log1p(math.exp(y - x))


@kernel
def sum_over_cuts(
    evidence: Floats, cut: Floats, stay: Floats, forward: Floats, backward: Floats
) -> float:
    """Sum over all ways to cut a log (Fearnhead's recursions).

    ``cut[k]`` is the log prior of a cut before bin k, ``stay[k]`` the sum of the logs of staying
    whole before the bins 1, ..., k. ``forward[k]`` becomes the log weight of all that lies before a
    cut at k, that cut included, ``backward[k]`` of all that lies behind it. Returns the log of the
    total over cuttings with at least one cut.
    """
    B = len(evidence) - 1
    forward[:] = -np.inf
    forward[0] = 0.0
    for j in range(1, B):
        best = -np.inf
        for i in range(j):
            best = max(best, forward[i] + evidence[i, j] - stay[i])
        if best == -np.inf:
            continue
        total = 0.0
        for i in range(j):
            total += math.exp(forward[i] + evidence[i, j] - stay[i] - best)
        forward[j] = best + math.log(total) + stay[j - 1] + cut[j]
    backward[:] = -np.inf
    backward[B] = 0.0
    for i in range(B - 1, -1, -1):
        best = -np.inf
        for j in range(i + 1, B + 1):
            best = max(best, evidence[i, j] + stay[j - 1] + cut[j] + backward[j])
        if best == -np.inf:
            continue
        total = 0.0
        for j in range(i + 1, B + 1):
            total += math.exp(evidence[i, j] + stay[j - 1] + cut[j] + backward[j] - best)
        backward[i] = best + math.log(total) - stay[i]
    whole = -np.inf
    for i in range(1, B):
        whole = _add(whole, forward[i] + evidence[i, B] + stay[B - 1] - stay[i])
    return whole


@kernel
def best_cuts(evidence: Floats, cut: Floats, stay: Floats, best: Floats, before: Ints) -> float:
    """Find the cutting of the largest weight; ``before[j]`` is where the stretch that ends begins.

    Returns the log of its weight.
    """
    B = len(evidence) - 1
    best[:] = -np.inf
    best[0] = 0.0
    for j in range(1, B + 1):
        for i in range(j):
            value = best[i] + evidence[i, j] + stay[j - 1] - stay[i] + cut[j]
            if value > best[j]:
                best[j] = value
                before[j] = i
    return float(best[B])
