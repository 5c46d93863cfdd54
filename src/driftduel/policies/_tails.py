"""Lazy sampling from beta distributions: decide first whether the value is above 1/2.

A posterior sample matters only if the weaker arm wins in it, which is rare after enough duels. The
density of Beta(a, b) with a < b falls from 1/2 on, at least as fast as the exponential that touches
it there (it is log-concave). So a uniform point under that exponential decides (rejection
sampling): if it lies under the density, too, its abscissa is the sampled value; otherwise the value
is below 1/2. The probability of such a point has an upper bound that costs one exponential
function, and most draws end there.
"""

import math
from typing import Any

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import beta, beta_above_half, uniform

__all__ = ["beats", "doubt", "resolve"]

_FEW = 54.0  # maximum a + b for which one 64-bit word of coin flips decides
_SMALL = 16.0  # from here on four terms of Stirling's series are exact in double precision
_LOG2 = math.log(2.0)
_TOUCH = 1.5 * _LOG2 - 0.5 * math.log(2.0 * math.pi)


@hot
def doubt(a: float, b: float) -> float:
    """Return an upper bound on P(Beta(a, b) > 1/2): the probability of the first coin.

    0.75 exp(-z^2 / 2) / z with z = (b - a) / sqrt(a + b - 2), or 1 if z is not above 1. The mass
    under the exponential is at most 0.73 exp(-z^2 / 2) / z, and 0.4 when a and b are large.
    """
    lead, n = b - a, a + b - 2.0
    if lead <= 0.0 or lead * lead <= n:
        return 1.0
    return 0.75 * math.sqrt(n) / lead * math.exp(-0.5 * lead * lead / n)


@kernel
def resolve(rng: Any, a: float, b: float, doubted: float) -> float:
    """Draw from Beta(a, b) after the coin of `doubt` showed heads; the value is exact above 1/2.

    For a value of at most 1/2 the result is any number of at most 1/2: the value itself if
    `doubted` is 1, else 0.
    """
    if doubted == 1.0:
        return beta(rng, a, b)
    if uniform(rng) * doubted >= _mass(a, b):
        return 0.0
    lead = b - a
    y = -math.log1p(-uniform(rng)) / lead
    if y >= 1.0:
        return 0.0
    fits = (a - 1.0) * math.log1p(y) + (b - 1.0) * math.log1p(-y) + lead * y
    return 0.5 + 0.5 * y if uniform(rng) < math.exp(fits) else 0.0


@kernel
def beats(rng: Any, a: float, b: float) -> bool:
    """Draw from Beta(a, b) and return whether the value is above 1/2, as a boolean."""
    if a + b <= _FEW:
        return beta_above_half(rng, a, b)
    low, high = min(a, b), max(a, b)
    doubted = doubt(low, high)
    if doubted == 1.0:
        return beta_above_half(rng, a, b)
    upset = uniform(rng) < doubted and resolve(rng, low, high, doubted) > 0.5
    return upset == (a < b)


@kernel
def _mass(a: float, b: float) -> float:
    """Return the mass under the exponential: the density at 1/2, divided by 2 (b - a)."""
    if a < _SMALL:
        log_density = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - (a + b - 2.0) * _LOG2
    else:  # the large terms of these three cancel and are omitted
        middle = 0.5 * (a + b)
        e = 0.5 * (b - a) / middle
        spread = middle * ((1.0 - e) * math.log1p(-e) + (1.0 + e) * math.log1p(e))
        log_density = (
            _TOUCH + 0.5 * math.log(middle) - spread + 0.5 * math.log1p(-e * e)
            + _rest(a + b) - _rest(a) - _rest(b)
        )  # fmt: skip
    return math.exp(log_density) / (2.0 * (b - a))


@hot
def _rest(x: float) -> float:
    """Return log Gamma(x) minus Stirling's formula."""
    square = 1.0 / (x * x)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
