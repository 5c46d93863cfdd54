"""Random numbers in kernels: numpy's own stream, and the distributions built on it."""

import math

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel._internal.kernel_random import (
    address_of,
    beta,
    beta_above_half,
    gamma,
    normal,
    uniform,
)

pytestmark = pytest.mark.kernels
DRAWS = 20_000 if jit_enabled() else 1_500


def test_uniform_is_the_generators_own_stream():
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    address = address_of(one)
    assert [uniform(address) for _ in range(100)] == other.random(100).tolist()
    assert one.random() == other.random()


def distance(sample, other):
    """Return the Kolmogorov-Smirnov distance of two samples, in units of its usual size."""
    both = np.sort(np.concatenate((sample, other)))
    first = np.searchsorted(np.sort(sample), both, side="right") / len(sample)
    second = np.searchsorted(np.sort(other), both, side="right") / len(other)
    return np.abs(first - second).max() * math.sqrt(
        len(sample) * len(other) / (len(sample) + len(other))
    )


# The distance exceeds 2.2 with probability 1e-4.
def test_normal():
    rng = np.random.default_rng(0)
    address = address_of(rng)
    sample = np.array([normal(address) for _ in range(DRAWS)])
    assert distance(sample, np.random.default_rng(1).normal(size=DRAWS)) < 2.2


@pytest.mark.parametrize("shape", [1.0, 1.3, 7.0, 5000.0])
def test_gamma(shape):
    rng = np.random.default_rng(0)
    address = address_of(rng)
    sample = np.array([gamma(address, shape) for _ in range(DRAWS)])
    assert distance(sample, np.random.default_rng(1).gamma(shape, size=DRAWS)) < 2.2


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 9.0), (30.0, 2.5), (400.0, 380.0)])
def test_beta(a, b):
    rng = np.random.default_rng(0)
    address = address_of(rng)
    sample = np.array([beta(address, a, b) for _ in range(DRAWS)])
    assert distance(sample, np.random.default_rng(1).beta(a, b, size=DRAWS)) < 2.2


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, 1), (2, 1), (1, 4), (20, 34), (27, 27), (60, 51), (200, 205), (900, 880), (1.5, 1.25)],
)
def test_beta_above_half(a, b):
    rng = np.random.default_rng(0)
    address = address_of(rng)
    share = np.mean([beta_above_half(address, float(a), float(b)) for _ in range(DRAWS)])
    if a == int(a):
        n = a + b - 1
        exact = sum(math.comb(n, k) for k in range(a)) / 2**n
    else:
        exact = (np.random.default_rng(1).beta(a, b, 10**6) > 0.5).mean()
    assert abs(share - exact) < 4.5 * math.sqrt(exact * (1 - exact) / DRAWS) + 1e-3 * (a != int(a))
