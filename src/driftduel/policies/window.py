"""A sliding window around a policy that keeps win counts."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.policies.around import Around, suspect_inside
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import COUNT, Within
from driftduel.specs import Range, need_room

__all__ = ["SlidingWindow"]


class State(NamedTuple):
    """The policy inside, and the last duels."""

    base: Any
    """The state of the policy inside."""
    ring: Annotated[Any, Within(-1, lambda scope: scope.arms**2 - 1)]
    """(W,) the last answers as winner * K + loser, -1 for one that says nothing."""
    place: Annotated[Any, COUNT]
    """(1,) where the next answer goes, over the oldest."""


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        # To the policy inside, time stands still once the window is full.
        return inner_ask(state.base, rng, min(t, len(state.ring)), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        wins, ring = state.base.wins, state.ring
        arms = wins.shape[0]
        with_itself = wins[first, first]
        flags = inner_tell(state.base, min(t, len(state.ring)), first, second, won, notes)
        place = state.place[0]
        oldest = ring[place]
        if oldest >= 0:
            wins[oldest // arms, oldest % arms] -= 1.0
        if first == second:  # few policies count these
            ring[place] = first * arms + first if wins[first, first] > with_itself else -1
        elif won == 1:
            ring[place] = first * arms + second
        else:
            ring[place] = second * arms + first
        state.place[0] = place + 1 if place + 1 < len(ring) else 0
        return flags

    def reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)
        state.ring[:] = -1
        state.place[0] = 0

    return Kernels(
        hot(ask),
        hot(tell),
        kernel(reset) if inner_reset else None,
        suspect_inside(inner),
        inner.any_duel,
    )


class SlidingWindow(Around):
    """Count only the last answers.

    No guarantee is known to us; with a window that fits the world it is the strongest simple
    rival there is, and the window is what it must be told. Confidence bounds that grow with time
    stop growing when the window is full.

    **Late answers** enter the window when they come.

    Parameters
    ----------
    arms, rng, base
        The number of arms K, the randomness, and the policy inside.
    window
        How many answers count.
    """

    prefix = "sw"
    needs_wins = True
    tells = ("window",)
    guarantee = "none known to us"
    source = "folklore; Garivier and Moulines, ALT 2011, for ordinary bandits"
    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        base: KernelPolicy,
        window: Annotated[int, Range(1), "answers that count"] = 5000,
    ) -> None:
        need_room(f"sw-{base.name}: window={window}: as many answers", window)
        super().__init__(arms, rng, base)
        self.state = State(base.state, np.full(window, -1), np.zeros(1, np.int64))

    def check_state(self, state: Any) -> None:
        """Refuse answers that were not counted: forgetting them would make the counts negative."""
        answers = np.bincount(state.ring[state.ring >= 0], minlength=self.arms**2)
        counted = (state.base.wins.ravel() >= answers).all()
        self.require(counted and state.place[0] < len(state.ring))
