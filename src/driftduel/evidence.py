"""Anytime-valid evidence that one option is preferred to another.

Arena boards and logs use the same e-value, the same error level and the same thresholds, so equal
counts give equal answers. Needs scipy (the extras ``logs`` and ``arena``).

The e-value of w wins and l losses is the uniform mixture of bets on p in (1/2, 1]:

    e(w, l) = integral over x in (0, 1) of (1 + x)^w (1 - x)^l dx

If option a wins at most half of its duels with b on average, e is at most a nonnegative martingale
that starts at 1. By Ville's inequality, the probability that e ever reaches 1 / alpha is at most
alpha, whenever and however often it is evaluated. This holds for pairs chosen from past votes.

The null hypothesis is weak: with mu_i = 2 p_i - 1 and Z_i = 1 for a win, -1 for a loss and 0 for a
tie, prod (1 + x Z_i) / (1 + x mu_i) is a martingale, and prod (1 + x mu_i) <= exp(x sum mu_i) <= 1
as long as the sum of mu_i is not positive. A tie has Z_i = 0 and therefore is not counted.

References
----------
J. Ville, Etude critique de la notion de collectif, 1939. H. Robbins, Statistical methods related
to the law of the iterated logarithm, Ann. Math. Statist. 41, 1970. G. Shafer, Testing by betting,
JRSS A 184, 2021. Y. J. Choe and A. Ramdas, Comparing sequential forecasters, Operations Research
72, 2024.
"""

import math
from functools import lru_cache
from importlib.util import find_spec
from typing import overload

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import MissingExtraError

if find_spec("scipy") is None:
    raise MissingExtraError("scipy", "logs", "evidence")

__all__ = ["ALPHA", "log_e_value", "log_stakes", "reaches", "starting_votes", "threshold"]

Floats = NDArray[np.float64]

ALPHA = 0.05
"""Probability that a statement called "sure" is ever made wrongly."""

_LOG_2PI = math.log(2 * math.pi)
_LOG_2 = math.log(2)
_ROUNDING = 1e-6  # exceeds the rounding error of the log-gamma function at a million votes
_UNDERFLOW = 1e-280
_GROWTH = 1.05  # ratio of successive starting votes


def threshold(stretch: int) -> float:
    """Return the threshold of the e-value in stretch number `stretch` (from 1), for every rival.

    Stretch m has the error level ALPHA / (m (m + 1)); the levels of all stretches sum to ALPHA.

    Examples
    --------
    >>> [round(threshold(stretch)) for stretch in (1, 2, 3)]
    [40, 120, 240]
    """
    return stretch * (stretch + 1) / ALPHA


@overload
def log_e_value(wins: float, losses: float) -> float: ...
@overload
def log_e_value(wins: Floats, losses: Floats) -> Floats: ...
def log_e_value(wins: Floats | float, losses: Floats | float) -> Floats | float:
    """Return the log of the evidence that wins are more probable than losses.

    Parameters
    ----------
    wins, losses
        Nonnegative numbers or arrays that broadcast; fractions are allowed.

    Examples
    --------
    >>> log_e_value(0, 0), round(math.exp(log_e_value(1, 0)), 9)
    (0.0, 1.5)
    >>> round(math.exp(log_e_value(40, 12)), 1)
    823.4
    """
    from scipy.special import betainc

    w, n = np.asarray(wins, np.float64), np.asarray(losses, np.float64)
    tail = betainc(n + 1, w + 1, 0.5)  # P(Beta(w + 1, l + 1) > 1/2)
    # Where the tail underflows, l exceeds w by far and the integrand is exp((w - l) x) near 0.
    small = np.log((n + 2) / ((n + 1) * np.maximum(n + 2 - w, 1.0)))
    log_e = np.where(
        tail > _UNDERFLOW, _log_both_halves(w, n) + np.log(np.maximum(tail, _UNDERFLOW)), small
    )
    log_e = np.where(w + n == 0, 0.0, log_e)
    return float(log_e) if log_e.ndim == 0 else log_e


def reaches(wins: int, losses: int, log_bar: float) -> bool:
    """Return whether ``log_e_value(wins, losses) >= log_bar``, for a positive `log_bar`.

    Bounds decide nearly all cases in about a microsecond; only between them the e-value is
    evaluated. The integrand is at most its maximum, and with more wins than losses at least half
    of the integral over (-1, 1) lies in (0, 1).

    Examples
    --------
    >>> reaches(8, 0, math.log(40)), reaches(7, 0, math.log(40))
    (True, False)
    """
    if wins <= losses:
        return False
    total = wins + losses
    largest = wins * math.log(2 * wins / total)
    if losses:
        largest += losses * math.log(2 * losses / total)
    if largest < log_bar - _ROUNDING:
        return False
    both = math.lgamma(wins + 1) + math.lgamma(losses + 1) - math.lgamma(total + 2)
    if total * _LOG_2 + both >= log_bar + _ROUNDING:
        return True
    return log_e_value(wins, losses) >= log_bar


def _log_both_halves(w: Floats, n: Floats) -> Floats:
    """Return the log of 2^(w + l + 1) B(w + 1, l + 1), the integral over x in (-1, 1).

    Log-gamma functions of large counts differ by less than their rounding errors, so Stirling's
    formula is subtracted analytically (Loader 2000).
    """
    total = w + n
    safe = np.maximum(total, 1.0)
    lead = np.where(total > 0, (w - n) / safe, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        won = np.where(w > 0, w * np.log1p(lead), 0.0)
        lost = np.where(n > 0, n * np.log1p(-lead), 0.0)
    size = _log_size(w) + _log_size(n) - _log_size(total)
    result: Floats = np.log(2 / (total + 1)) + won + lost + size
    return result


def _log_size(count: Floats) -> Floats:
    """Return log Gamma(count + 1) - count log(count) + count."""
    from scipy.special import gammaln, xlogy

    c = np.maximum(count, 16.0)
    s = 1.0 / (c * c)
    series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / c
    large = series + (np.log(c) + _LOG_2PI) / 2
    small = gammaln(count + 1) - xlogy(count, count) + count
    result: Floats = np.where(count >= 16, large, small)
    return result


@lru_cache(maxsize=8)
def _starting_votes(votes: int) -> tuple[Floats, Floats]:
    """Return the starting votes below `votes`, and the log stakes on them."""
    steps = math.ceil(math.log(max(votes, 2)) / math.log(_GROWTH)) + 1
    starts = np.unique(np.ceil(_GROWTH ** np.arange(1, steps + 1)))
    k = np.arange(1, len(starts) + 1)
    stakes = np.log(0.5 / _sum_of_stakes()) - np.log(k) - 2 * np.log(np.log(k + 1))
    keep = starts < max(votes, 1)
    return np.append(0.0, starts[keep]), np.append(math.log(0.5), stakes[keep])


@lru_cache(maxsize=1)
def _sum_of_stakes() -> float:
    """Return the sum of 1 / (k log(k + 1)^2) over all k: a million terms and an upper bound."""
    k = np.arange(1, 1_000_001, dtype=np.float64)
    terms: Floats = 1 / (k * np.log(k + 1) ** 2)
    return float(terms.sum()) + 1 / math.log(1_000_001.0)


def starting_votes(votes: int) -> Floats:
    """Return the votes, from 0, after which evidence may start in a log of `votes` votes.

    They do not depend on the length of the log: a longer log adds starting votes at its end only.
    """
    return _starting_votes(votes)[0]


def log_stakes(votes: int) -> Floats:
    """Return the log stake on each of `starting_votes`.

    Half of the stake is on the whole log, the rest is shared over all other starting votes. The
    stakes sum to at most 1, so that a mixture over starting votes is an e-process.

    Examples
    --------
    >>> bool(np.exp(log_stakes(10**9)).sum() <= 1)
    True
    """
    return _starting_votes(votes)[1]
