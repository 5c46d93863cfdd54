"""A sliding window around a policy that keeps win counts."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import COUNT, Within
from driftduel.policies.wrapper import Wrapper, pass_on
from driftduel.specs import Range, need_room

__all__ = ["SlidingWindow"]

Window = Annotated[int, Range(1), "answers that count"]


class WindowState(NamedTuple):
    """The wrapped policy, and the last duels."""

    base: Any
    """The state of the wrapped policy."""
    ring: Annotated[Any, Within(-1, lambda scope: scope.arms**2 - 1)]
    """(W,) ring buffer of the last answers as winner * K + loser, -1 for one without a result."""
    place: Annotated[Any, COUNT]
    """(1,) index of the next answer, which replaces the oldest."""


@hot
def _local(state: Any, t: int) -> int:
    """Convert a round for the wrapped policy: its clock stops when the window is full."""
    return min(t, len(state.ring))


@hot
def _enter(state: Any, answer: int) -> None:
    """Store an answer that was counted over the oldest one, and subtract that one's count."""
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
    inner_add_past_vote = inner.add_past_vote

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        return inner_ask(state.base, rng, _local(state, t), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        wins = state.base.wins
        arms = wins.shape[0]
        with_itself = wins[first, first]
        flags = inner_tell(state.base, _local(state, t), first, second, won, notes)
        if won < 0:
            return flags  # no answer
        if first == second:  # self-duels are rarely counted
            _enter(state, first * arms + first if wins[first, first] > with_itself else -1)
        elif won == 1:
            _enter(state, first * arms + second)
        else:
            _enter(state, second * arms + first)
        return flags

    def add_past_vote(state, winner, loser, weight):  # type: ignore[no-untyped-def]
        for _ in range(int(min(weight, float(len(state.ring))))):
            inner_add_past_vote(state.base, winner, loser, 1.0)
            _enter(state, winner * state.base.wins.shape[0] + loser)

    def reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)
        state.ring[:] = -1
        state.place[0] = 0

    passed = {
        **pass_on(inner, _local),
        "add_past_vote": inner_add_past_vote and kernel(add_past_vote),
    }
    return Kernels(hot(ask), hot(tell), kernel(reset) if inner_reset else None, **passed)


class SlidingWindow(Wrapper):
    """Count only the last answers: a sliding window.

    We have no guarantee; with a window tuned to the world it is the strongest simple baseline.
    Prior knowledge: the window. Confidence bounds that grow with time stop growing when the window
    is full. Only policies without learned values besides their win counts can be wrapped. Around
    `rcs` one counter remains: the number of rounds as champion, which matters only if the sample
    has no Condorcet winner.

    **Late answers** enter the window on arrival. So does a past vote, once per unit of its weight;
    a tie is half an answer for each arm and is accepted only if its weight is even. Answers about
    an absent arm stay in the window like all others.

    Parameters
    ----------
    window
        The number of answers that count.
    """

    prefix = "sw"
    needs_reset = False
    needs_wins = True
    needs_counts_only = True
    adds_prior_knowledge = ("window",)
    guarantee = "none known to us"
    source = "folklore; Garivier and Moulines, ALT 2011, for ordinary bandits"
    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def __init__(
        self, arms: int, rng: np.random.Generator, base: KernelPolicy, window: Window = 5000
    ) -> None:
        need_room(f"sw-{base.name}: window={window}: as many answers", window)
        super().__init__(arms, rng, base)
        self.state = WindowState(base.state, np.full(window, -1), np.zeros(1, np.int64))

    def add_past_vote(
        self, first: int, second: int, winner: int | None, weight: float = 1.0
    ) -> None:
        """Add a past vote to the window, once per unit of its weight."""
        if weight != weight // 1:
            raise DriftduelError(
                f"weight={weight!r} must be a whole number: {self.name!r} counts answers."
            )
        super().add_past_vote(first, second, winner, weight)

    def enlarge_state(self, state: Any, fresh: Any) -> Any:
        """Return the record for one more arm, with the answers encoded for K + 1."""
        ring, arms = state.ring, self.arms
        codes = np.where(ring < 0, -1, ring // arms * (arms + 1) + ring % arms)
        return super().enlarge_state(state._replace(ring=codes), fresh)

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError for uncounted answers, which would cause negative counts."""
        answers = np.bincount(state.ring[state.ring >= 0], minlength=self.arms**2)
        counted = (state.base.wins.ravel() >= answers).all()
        self.require(counted and state.place[0] < len(state.ring))
