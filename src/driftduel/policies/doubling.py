"""The doubling trick around a policy with a known horizon."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.errors import DriftduelError
from driftduel.policies.base import GROW, RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, MOST, ROUND, Named, Within, records
from driftduel.policies.wrapper import Wrapper, built_again, pass_on
from driftduel.specs import Range

__all__ = ["Doubling"]

Epoch = Annotated[int, Range(2), "rounds of the first epoch"]


class DoublingState(NamedTuple):
    """The wrapped policy, and the epoch."""

    base: Any
    """The state of the wrapped policy."""
    epoch: Annotated[Any, Named(start=ROUND, length=Within(2, MOST), over=CONSTANT)]
    """Its first round; its length, which is the horizon of the wrapped policy; and whether it is
    over: a new wrapped policy must be built."""


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell = inner.ask, inner.tell

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        return inner_ask(state.base, rng, max(1, t - state.epoch[0].start + 1), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        epoch = state.epoch[0]
        if t < epoch.start:
            return 0  # chosen in an earlier epoch
        flags = inner_tell(state.base, t - epoch.start + 1, first, second, won, notes)
        if t + 1 >= epoch.start + epoch.length:
            epoch.start = t + 1
            epoch.length *= 2
            epoch.over = 1
            flags |= GROW | RESTARTED  # `grow` (interpreted) builds the policy of the next epoch
        return flags

    passed = pass_on(inner)
    return Kernels(
        hot(ask), hot(tell), best_guess=passed["best_guess"], unanswered=passed["unanswered"]
    )


class Doubling(Wrapper):
    """Play epochs of doubling length, each with a new policy; its horizon is the length.

    A bound of order T^c for a known horizon becomes one for an unknown horizon, at the cost of a
    factor 1 / (1 - 2^-c).

    **Late answers** to duels from an epoch that is over are dropped.

    Parameters
    ----------
    base
        A new policy; its horizon is replaced by the length of the first epoch.
    epoch
        The length of the first epoch, an integer of at least 2. Default 1024.
    """

    prefix = "doubling"
    needs_reset = False
    supplies = "horizon"
    supplied_by = "epoch"
    guarantee = "that of the policy inside, up to a constant, without knowing T"
    source = "folklore; Auer et al., 1995"
    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def __init__(
        self, arms: int, rng: np.random.Generator, base: KernelPolicy, epoch: Epoch = 1024
    ) -> None:
        if "horizon" not in base.parameters:
            raise DriftduelError(
                f"{self.prefix!r} needs a policy with the key horizon; {base.name!r} has none."
            )
        if base.parameters["horizon"] != epoch:
            base = built_again(base, horizon=epoch)
        super().__init__(arms, rng, base)
        self.easy_rounds = 2 * base.easy_rounds  # type: ignore[misc]
        self.state = DoublingState(base.state, records(1, start=1, length=epoch, over=0))

    def began(self) -> int:
        """Return the first round of this epoch."""
        return int(self.state.epoch[0].start)

    def grow(self) -> None:
        """Build the policy of a new epoch, or grow the state of the wrapped policy."""
        epoch = self.state.epoch[0]
        if epoch.over == 1:
            epoch.over = 0
            self._make_base(int(epoch.length))
        else:
            super().grow()

    def _make_base(self, length: int) -> None:
        self.base = built_again(self.base, horizon=length)
        self.state = self.state._replace(base=self.base.state)

    def set_state(self, state: Any) -> None:
        """Replace the learned state by the result of `get_state`, after validation."""
        length = state.get("epoch.length")
        if length is not None and length.shape == (1,) and length.dtype == np.int64:
            doublings, rest = divmod(int(length[0]), self.parameters["epoch"])
            # An invalid length is rejected by the rules below; do not build a policy for it.
            self.require(rest == 0 and doublings.bit_count() == 1 and doublings <= MOST)
            self._make_base(int(length[0]))
        super().set_state(state)

    def rounds_inside(self, state: Any, rounds: int) -> int:
        """Return the rounds of this epoch."""
        return max(0, rounds - int(state.epoch[0].start) + 1)
