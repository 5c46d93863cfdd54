"""Restarts around any policy: periodic, or by an oracle at the changes of the world."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, ROUND
from driftduel.policies.wrapper import Wrapper, pass_on
from driftduel.specs import Range

__all__ = ["Oracle", "Periodic"]

Period = Annotated[int, Range(1), "rounds between restarts"]
At = Annotated[str, "rounds of the switches, joined by +"]

_NEVER = 1 << 62


class RestartState(NamedTuple):
    """The wrapped policy, and the rounds of its restarts."""

    base: Any
    """The state of the wrapped policy."""
    start: Annotated[Any, ROUND]
    """(1,) the round that the wrapped policy counts as 1."""
    period: Annotated[Any, CONSTANT]
    """(1,) rounds between restarts, or a number beyond all rounds."""
    at: Annotated[Any, CONSTANT]
    """(n + 1,) rounds of restarts, ascending; the last is beyond all rounds."""


@hot
def _local(state: Any, t: int) -> int:
    return max(1, t - state.start[0] + 1)


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        return inner_ask(state.base, rng, _local(state, t), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        start = state.start[0]
        if t < start:
            return 0  # chosen before the restart
        flags = inner_tell(state.base, t - start + 1, first, second, won, notes)
        due = start + state.period[0]
        for i in range(len(state.at)):
            if state.at[i] > start:
                due = min(due, state.at[i])
                break
        if t + 1 >= due:
            inner_reset(state.base)
            state.start[0] = t + 1
            flags |= RESTARTED
        return flags

    def reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)
        state.start[0] = 1

    return Kernels(hot(ask), hot(tell), kernel(reset), **pass_on(inner, _local))


class _Restarted(Wrapper):
    """The base class of wrappers that restart the wrapped policy in given rounds."""

    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def began(self) -> int:
        """Return the round of the last restart."""
        return int(self.state.start[0])

    def _set(self, period: int, at: list[int]) -> None:
        self.state = RestartState(
            self.base.state,
            start=np.ones(1, np.int64),
            period=np.array([period], dtype=np.int64),
            at=np.array([*at, _NEVER], dtype=np.int64),
        )


class Periodic(_Restarted):
    """Restart the wrapped policy periodically.

    **Late answers** to duels from before a restart are dropped.

    Parameters
    ----------
    period
        Rounds between two restarts.
    """

    prefix = "periodic"
    adds_prior_knowledge = ("period",)
    guarantee = "that of the policy inside, period by period"
    source = "folklore; Besbes et al., 2014, for ordinary bandits"

    def __init__(
        self, arms: int, rng: np.random.Generator, base: KernelPolicy, period: Period = 10_000
    ) -> None:
        super().__init__(arms, rng, base)
        self._set(period, [])


class Oracle(_Restarted):
    """Restart exactly when the Condorcet winner changes, by prior knowledge of an oracle.

    This knowledge is not available in practice; the policy is a benchmark for perfect detection.

    **Late answers** to duels from before a restart are dropped.

    Parameters
    ----------
    at
        The rounds in which the winner changes, joined by ``+``; ``play`` fills them in.
    """

    prefix = "oracle"
    adds_prior_knowledge = ("at",)
    guarantee = "that of the policy inside, phase by phase"
    source = "a benchmark, not an algorithm"

    def __init__(self, arms: int, rng: np.random.Generator, base: KernelPolicy, at: At) -> None:
        super().__init__(arms, rng, base)
        try:
            rounds = [int(part) for part in at.split("+") if part]
        except ValueError:
            raise DriftduelError(f"at={at} must be rounds joined by +, as in 501+1001.") from None
        if rounds != sorted(set(rounds)) or (rounds and not 2 <= rounds[0] <= rounds[-1] < _NEVER):
            raise DriftduelError(f"at={at} must be rounds from 2 on, ascending.")
        self._set(_NEVER >> 1, rounds)
