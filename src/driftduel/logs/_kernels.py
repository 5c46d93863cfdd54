"""Compiled functions: the evidence of every stretch of bins, and sums over all segmentations.

Votes of a stretch are (2, K, K): wins of the row's option over the column's while the row's was
shown first, and all its other wins (see `vote_model`). A stretch (i, j) has the bins i, ..., j - 1;
a table of evidences is (B + 1, B + 1), with the value -inf where a stretch is not allowed. The
argument `units` is a table of the same shape: the number of independent groups with a vote in each
stretch.
"""

import math

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import hot, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_STEPS = 60
_LONGEST_STEP = 3.0  # of a Newton step; the quadratic approximation is poor beyond it
_CLOSE = 1e-7  # convergence is quadratic: the step after one of this size is its square


@hot
def _log_total(gap: float, nu: float) -> float:
    """Return log(exp(gap / 2) + exp(-gap / 2) + nu) without overflow."""
    size = abs(gap)
    return 0.5 * size + math.log1p(math.exp(-size) + nu * math.exp(-0.5 * size))


@hot
def _moments(gap: float, nu: float) -> tuple[float, float]:
    """Return mean and variance of a vote: 1 for a win, 1/2 for a tie."""
    up = math.exp(0.5 * min(max(gap, -80.0), 80.0))
    total = up + 1.0 / up + nu
    mean = (up + 0.5 * nu) / total
    return mean, max((up + 0.25 * nu) / total - mean * mean, 0.0)


@hot
def _add(x: float, y: float) -> float:
    """Return log(exp(x) + exp(y))."""
    if x < y:
        x, y = y, x
    return x if y == -np.inf else x + math.log1p(math.exp(y - x))


@kernel
def likelihood(votes: Floats, h: float, nu: float, u: Floats) -> float:
    """Return the log likelihood of votes (2, K, K) as a function of `u`, without tie constants."""
    total = 0.0
    for a in range(len(u)):
        for b in range(a):
            first = votes[0, a, b] + votes[1, b, a]
            second = votes[0, b, a] + votes[1, a, b]
            if first + second > 0.0:
                gap = u[a] - u[b]
                total += 0.5 * gap * (votes[0, a, b] + votes[1, a, b])
                total -= 0.5 * gap * (votes[0, b, a] + votes[1, b, a])
                if h == 0.0:
                    total -= (first + second) * _log_total(gap, nu)
                else:
                    total += 0.5 * h * (votes[0, a, b] - votes[1, b, a])
                    total += 0.5 * h * (votes[0, b, a] - votes[1, a, b])
                    total -= first * _log_total(gap + h, nu)
                    total -= second * _log_total(gap - h, nu)
    return total


@hot
def _gather(sums: Floats, votes: Floats) -> None:
    """Add votes (2, K, K) to the argument `sums`, in place."""
    for side in range(2):
        for a in range(sums.shape[1]):
            for b in range(sums.shape[1]):
                sums[side, a, b] += votes[side, a, b]


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
def solve_lower(L: Floats, X: Floats) -> None:
    """Replace X (K, N) by the solution of L Y = X for a lower triangular L.

    LAPACK's routine starts threads for any size, which costs milliseconds on a busy machine.
    """
    for a in range(len(L)):
        for b in range(a):
            for n in range(X.shape[1]):
                X[a, n] -= L[a, b] * X[b, n]
        for n in range(X.shape[1]):
            X[a, n] /= L[a, a]


@kernel
def solve_lower_transposed(L: Floats, X: Floats) -> None:
    """Replace X (K, N) by the solution of L^T Y = X for a lower triangular L."""
    for a in range(len(L) - 1, -1, -1):
        for n in range(X.shape[1]):
            X[a, n] /= L[a, a]
        for b in range(a):
            for n in range(X.shape[1]):
                X[b, n] -= L[a, b] * X[a, n]


@kernel
def climb(
    votes: Floats,
    h: float,
    nu: float,
    mean: Floats,
    precision: Floats,
    u: Floats,
    step: Floats,
    H: Floats,
) -> float:
    """Set the argument `u` to the mode of the utilities' posterior by Newton's method.

    The prior is normal around `mean` with a precision for each option. `H` is left as the Cholesky
    factor of the posterior's precision at the mode. Returns the sum of the logs of its diagonal.
    """
    K = len(u)
    for _ in range(_MOST_STEPS):
        for a in range(K):
            step[a] = -precision[a] * (u[a] - mean[a])
            H[a, a] = precision[a]
        for a in range(K):
            for b in range(a):
                H[a, b] = 0.0
                first = votes[0, a, b] + votes[1, b, a]
                second = votes[0, b, a] + votes[1, a, b]
                if first + second > 0.0:
                    gap = u[a] - u[b]
                    slope = votes[0, a, b] + votes[1, a, b]
                    if h == 0.0:  # both places have the same value: one exponential instead of two
                        first, second = first + second, 0.0
                    expected, variance = _moments(gap + h, nu)
                    slope -= first * expected
                    bend = first * variance
                    if second > 0.0:
                        expected, variance = _moments(gap - h, nu)
                        slope -= second * expected
                        bend += second * variance
                    step[a] += slope
                    step[b] -= slope
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
    votes: Floats,
    units: Floats,
    fewest: float,
    h: float,
    nu: float,
    mean: Floats,
    tau: float,
    out: Floats,
    sums: Floats,
    u: Floats,
    step: Floats,
    H: Floats,
    precision: Floats,
) -> None:
    """Set `out` to the Laplace approximation of the log evidence of every stretch.

    In every stretch, utilities are drawn from a normal around `mean` with standard deviation `tau`.
    An option without votes in a stretch keeps its prior and contributes the value 0.
    """
    B, K = votes.shape[0], votes.shape[2]
    precision[:] = 1.0 / (tau * tau)
    out[:] = -np.inf
    for i in range(B):
        sums[:] = 0.0
        for a in range(K):
            u[a] = mean[a]
        for j in range(i, B):
            _gather(sums, votes[j])
            if units[i, j + 1] < fewest:
                continue
            root = climb(sums, h, nu, mean, precision, u, step, H)
            away = 0.0
            for a in range(K):
                away += (u[a] - mean[a]) ** 2
            value = likelihood(sums, h, nu, u) - 0.5 * away / (tau * tau)
            out[i, j + 1] = value - K * math.log(tau) - root


@kernel
def sparse_evidence(
    scores: Floats,
    information: Floats,
    base: Floats,
    units: Floats,
    fewest: float,
    tau: float,
    share: float,
    out: Floats,
    sums: Floats,
    known: Floats,
) -> None:
    """Set `out` to the log evidence of every stretch, for the case that few options change.

    `scores` and `information` are (B, K): wins above expectation and their variance, for each
    option, at the utilities of the whole log, under which the votes of each bin have the log
    likelihood `base`. In every stretch an option keeps its utility or, with probability `share`,
    moves by a normal step of standard deviation `tau`; options are treated as independent, which is
    accurate if each has many opponents.
    """
    B, K = scores.shape
    stay, move = math.log(1.0 - share), math.log(share)
    out[:] = -np.inf
    for i in range(B):
        sums[:] = 0.0
        known[:] = 0.0
        total = 0.0
        for j in range(i, B):
            total += base[j]
            value = total
            for a in range(K):
                sums[a] += scores[j, a]
                known[a] += information[j, a]
                if known[a] > 0.0:
                    grown = 1.0 + tau * tau * known[a]
                    log = 0.5 * (sums[a] * sums[a] * tau * tau / grown - math.log(grown))
                    value += _add(stay, move + log)
            if units[i, j + 1] >= fewest:
                out[i, j + 1] = value


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
    """Set `out` to the log evidence of every stretch; each pair has an independent parameter.

    `wins` is (B, K, K). In every stretch a pair's preference is drawn from a Beta around its `rate`
    in the whole log, worth `strength` votes.
    """
    B, K = wins.shape[0], wins.shape[1]
    out[:] = -np.inf
    none = math.lgamma(strength)
    for i in range(B):
        sums[:] = 0.0
        for j in range(i, B):
            for a in range(K):
                for b in range(K):
                    sums[a, b] += wins[j, a, b]
            if units[i, j + 1] < fewest:
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


@kernel
def sum_over_cuts(
    evidence: Floats, cut: Floats, stay: Floats, forward: Floats, backward: Floats
) -> float:
    """Return the log of the sum over all segmentations with a cut (Fearnhead's recursions).

    ``cut[k]`` is the log prior of a cut before bin k, ``stay[k]`` the sum of the log probabilities
    of no cut before the bins 1, ..., k. The arrays `forward` and `backward` are output arguments:
    ``forward[k]`` is set to the log weight of everything before a cut at k including that cut,
    ``backward[k]`` to the log weight of everything after it.
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
    """Find the segmentation with the largest weight and return the log of that value.

    ``before[j]`` is set to the first bin of the stretch that ends at j.
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


@kernel
def select_wins(size: Ints, total: Ints, uniform: Floats, out: Floats) -> None:
    """Choose which votes of each stratum are won, by selection sampling.

    The argument ``size`` is (S, B), the votes of a stratum in each bin; ``total`` is (S,), its
    wins; `uniform` has one value for each vote. ``out`` (S, B), initially zero, is set to the wins.
    """
    at = 0
    for s in range(len(size)):
        wins, votes = total[s], 0
        for b in range(size.shape[1]):
            votes += size[s, b]
        for b in range(size.shape[1]):
            for _ in range(size[s, b]):
                if uniform[at] * votes < wins:
                    out[s, b] += 1.0
                    wins -= 1
                votes -= 1
                at += 1
