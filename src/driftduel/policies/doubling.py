"""Doubling around a policy that must be told the horizon."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel.policies.around import Around, pass_on
from driftduel.policies.base import GROW, RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, MOST, ROUND, Each, Within
from driftduel.specs import Range

__all__ = ["Doubling"]

Epoch = Annotated[int, Range(2), "rounds of the first epoch"]

# Places in `State.ints`.
_START = 0  # the first round of the epoch
_LENGTH = 1  # its length, which is what the policy inside is told
_OVER = 2  # 1 when the policy inside is to be made anew


class State(NamedTuple):
    """The policy inside, and the epoch."""

    base: Any
    """The state of the policy inside."""
    ints: Annotated[Any, Each(ROUND, Within(2, MOST), CONSTANT)]
    """(3,) numbers named above."""


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell = inner.ask, inner.tell

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        return inner_ask(state.base, rng, max(1, t - state.ints[_START] + 1), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        ints = state.ints
        if t < ints[_START]:
            return 0  # asked for in an epoch that is over
        flags = inner_tell(state.base, t - ints[_START] + 1, first, second, won, notes)
        if t + 1 >= ints[_START] + ints[_LENGTH]:
            ints[_START] = t + 1
            ints[_LENGTH] *= 2
            ints[_OVER] = 1
            flags |= GROW | RESTARTED  # a longer epoch takes a new policy, which Python makes
        return flags

    passed = pass_on(inner)
    return Kernels(hot(ask), hot(tell), suspect=passed["suspect"], unanswered=passed["unanswered"])


class Doubling(Around):
    """Play epochs of doubling length, each with a policy that is told its length.

    A bound of order T^c for a known horizon becomes one for an unknown horizon, at the cost of a
    factor 1 / (1 - 2^-c).

    **Late answers** to duels from an epoch that is over are dropped.

    Parameters
    ----------
    epoch
        The length of the first epoch.
    """

    prefix = "doubling"
    supplies = "horizon"
    guarantee = "that of the policy inside, up to a constant, without knowing T"
    source = "folklore; Auer et al., 1995"
    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def __init__(
        self, arms: int, rng: np.random.Generator, base: KernelPolicy, epoch: Epoch = 1024
    ) -> None:
        super().__init__(arms, rng, base)
        self.easy_rounds = 2 * base.easy_rounds  # type: ignore[misc]
        self.state = State(base.state, np.array([1, epoch, 0], dtype=np.int64))

    def began(self) -> int:
        """Return the first round of this epoch."""
        return int(self.state.ints[_START])

    def grow(self) -> None:
        """Make the policy of a new epoch, or room for the one inside."""
        if self.state.ints[_OVER] == 1:
            self.state.ints[_OVER] = 0
            self._make_base(int(self.state.ints[_LENGTH]))
        else:
            super().grow()

    def _make_base(self, length: int) -> None:
        self.base = self.remake(length)
        self.state = self.state._replace(base=self.base.state)

    def set_state(self, state: Any) -> None:
        """Take back what `get_state` returned, after checking that it fits."""
        ints = state.get("ints")
        if ints is not None and ints.shape == (3,) and ints.dtype == np.int64:
            doublings, rest = divmod(int(ints[_LENGTH]), self.parameters["epoch"])
            # Else the rules refuse it; but a policy that is told another length must not be made.
            self.require(rest == 0 and doublings.bit_count() == 1 and doublings <= MOST)
            self._make_base(int(ints[_LENGTH]))
        super().set_state(state)

    def rounds_inside(self, state: Any, rounds: int) -> int:
        """Return the rounds of this epoch."""
        return max(0, rounds - int(state.ints[_START]) + 1)
