"""A sliding window around a policy that keeps win counts."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies.around import Around, pass_on
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import COUNT, Within
from driftduel.specs import Range, need_room

__all__ = ["SlidingWindow"]

Window = Annotated[int, Range(1), "answers that count"]


class State(NamedTuple):
    """The policy inside, and the last duels."""

    base: Any
    """The state of the policy inside."""
    ring: Annotated[Any, Within(-1, lambda scope: scope.arms**2 - 1)]
    """(W,) the last answers as winner * K + loser, -1 for one that says nothing."""
    place: Annotated[Any, COUNT]
    """(1,) where the next answer goes, over the oldest."""


@hot
def _local(state: Any, t: int) -> int:
    """Let time stand still, to the policy inside, once the window is full."""
    return min(t, len(state.ring))


@hot
def _enter(state: Any, answer: int) -> None:
    """Put an answer that was counted in the place of the oldest, which no longer counts."""
    wins, ring = state.base.wins, state.ring
    arms = wins.shape[0]
    place = state.place[0]
    oldest = ring[place]
    if oldest >= 0:
        wins[oldest // arms, oldest % arms] -= 1.0
    ring[place] = answer
    state.place[0] = place + 1 if place + 1 < len(ring) else 0


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset
    inner_hear = inner.hear

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        return inner_ask(state.base, rng, _local(state, t), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        wins = state.base.wins
        arms = wins.shape[0]
        with_itself = wins[first, first]
        flags = inner_tell(state.base, _local(state, t), first, second, won, notes)
        if won < 0:
            return flags  # no answer
        if first == second:  # few policies count these
            _enter(state, first * arms + first if wins[first, first] > with_itself else -1)
        elif won == 1:
            _enter(state, first * arms + second)
        else:
            _enter(state, second * arms + first)
        return flags

    def hear(state, winner, loser, weight):  # type: ignore[no-untyped-def]
        for _ in range(int(min(weight, float(len(state.ring))))):
            inner_hear(state.base, winner, loser, 1.0)
            _enter(state, winner * state.base.wins.shape[0] + loser)

    def reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)
        state.ring[:] = -1
        state.place[0] = 0

    passed = {**pass_on(inner, _local), "hear": inner_hear and kernel(hear)}
    return Kernels(hot(ask), hot(tell), kernel(reset) if inner_reset else None, **passed)


class SlidingWindow(Around):
    """Count only the last answers.

    No guarantee is known to us; with a window that fits the world it is the strongest simple
    rival there is, and the window is what it must be told. Confidence bounds that grow with time
    stop growing when the window is full. Only policies whose memory is their win counts can be
    wrapped. Around `rcs` one counter stays: how often each arm was champion, which decides only
    rounds whose sample has no Condorcet winner.

    **Late answers** enter the window when they come. So does a vote of the past when it is heard,
    as often as its weight says; a tie, which would be half an answer for each, does not, unless its
    weight is even. Answers about an arm that is away stay in the window like all others.

    Parameters
    ----------
    window
        How many answers count.
    """

    prefix = "sw"
    needs_reset = False
    needs_wins = True
    needs_counts_only = True
    tells = ("window",)
    guarantee = "none known to us"
    source = "folklore; Garivier and Moulines, ALT 2011, for ordinary bandits"
    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def __init__(
        self, arms: int, rng: np.random.Generator, base: KernelPolicy, window: Window = 5000
    ) -> None:
        need_room(f"sw-{base.name}: window={window}: as many answers", window)
        super().__init__(arms, rng, base)
        self.state = State(base.state, np.full(window, -1), np.zeros(1, np.int64))

    def hear(self, first: int, second: int, winner: int | None, weight: float = 1.0) -> None:
        """Let a vote of the past enter the window, as often as its weight says."""
        if weight != weight // 1:
            raise DriftduelError(
                f"weight={weight!r} must be a whole number: {self.name!r} counts answers."
            )
        super().hear(first, second, winner, weight)

    def enlarged(self, state: Any, fresh: Any) -> Any:
        """Return the record of one more arm, in which winner and loser have another code."""
        ring, arms = state.ring, self.arms
        codes = np.where(ring < 0, -1, ring // arms * (arms + 1) + ring % arms)
        return super().enlarged(state._replace(ring=codes), fresh)

    def check_state(self, state: Any) -> None:
        """Refuse answers that were not counted: forgetting them would make the counts negative."""
        answers = np.bincount(state.ring[state.ring >= 0], minlength=self.arms**2)
        counted = (state.base.wins.ravel() >= answers).all()
        self.require(counted and state.place[0] < len(state.ring))
