"""Random numbers of numpy generators in compiled functions, without boxing.

Passing a `numpy.random.Generator` object to a compiled function costs ten microseconds per call,
more than a duel. Passing its two addresses costs nothing, and gives the same values.
"""

import ctypes
import math
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from driftduel._internal.compiler import hot, jit_enabled, kernel

__all__ = [
    "GeneratorAddress",
    "address_of",
    "beta",
    "beta_above_half",
    "gamma",
    "normal",
    "uniform",
]


GeneratorAddress = NDArray[np.int64]
"""The addresses of a generator's state and function; valid while the generator object exists."""


def address_of(rng: np.random.Generator) -> GeneratorAddress:
    """Return the addresses of a generator for kernels; the caller must keep the object alive."""
    interface = rng.bit_generator.ctypes
    function = ctypes.cast(interface.next_double, ctypes.c_void_p).value
    return np.array([interface.state_address, function], dtype=np.int64)


@intrinsic  # type: ignore[untyped-decorator]
def _next_double(typing_context: Any, function: Any, state: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.PointerType(ir.IntType(8))
        kind = ir.FunctionType(ir.DoubleType(), [pointer])
        address = builder.inttoptr(arguments[0], ir.PointerType(kind))
        return builder.call(address, [builder.inttoptr(arguments[1], pointer)])

    return types.float64(types.int64, types.int64), generate


@hot
def _compiled_uniform(rng: GeneratorAddress) -> float:
    return _next_double(rng[1], rng[0])


@cache
def _callable(address: int) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(address)


def _interpreted_uniform(rng: GeneratorAddress) -> float:
    return _callable(int(rng[1]))(int(rng[0]))


uniform = _compiled_uniform if jit_enabled() else _interpreted_uniform
"""Draw a number from [0, 1): the next value of the method ``Generator.random()``."""


@hot
def normal(rng: GeneratorAddress) -> float:
    """Draw from the standard normal distribution (Marsaglia's polar method)."""
    while True:
        x = 2.0 * uniform(rng) - 1.0
        y = 2.0 * uniform(rng) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@hot
def gamma(rng: GeneratorAddress, shape: float) -> float:
    """Draw from the gamma distribution with shape at least 1 (Marsaglia and Tsang, 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(rng)
        square = x * x
        # The first test, without a logarithm, nearly always accepts.
        if u < 1.0 - 0.0331 * square * square:
            return d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v


@kernel
def beta(rng: GeneratorAddress, a: float, b: float) -> float:
    """Draw from the beta distribution with both parameters at least 1."""
    x = gamma(rng, a)
    return x / (x + gamma(rng, b))


_WORD = 53  # fair coins in one uniform value
_MOST_COINS = 8 * _WORD


@kernel
def beta_above_half(rng: GeneratorAddress, a: float, b: float) -> bool:
    """Draw from the beta distribution, and return whether the value is above 1/2.

    For whole a and b, the probability equals that of at most a - 1 heads in a + b - 1 fair coins:
    counting the bits of a word or two is many times faster than drawing the value.
    """
    coins = int(a + b) - 1
    if a + b > _MOST_COINS or a != math.floor(a) or b != math.floor(b):
        return beta(rng, a, b) > 0.5
    heads = 0
    while coins > 0:
        word = int(uniform(rng) * 9007199254740992.0)  # 2^53
        if coins < _WORD:
            word &= (1 << coins) - 1
        heads += _ones(word)
        coins -= _WORD
    return heads < a


@hot
def _ones(word: int) -> int:
    """Return the number of ones among 53 bits (population count)."""
    word = (word & 0x5555555555555555) + ((word >> 1) & 0x5555555555555555)
    word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333)
    word = (word & 0x0F0F0F0F0F0F0F0F) + ((word >> 4) & 0x0F0F0F0F0F0F0F0F)
    word += word >> 8
    word += word >> 16
    word += word >> 32
    return word & 0x7F
