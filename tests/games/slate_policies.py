"""Policies that show random slates of different arms, compiled and in plain Python."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies import KernelPolicy, Kernels, Policy, uniform
from driftduel.policies.fields import ANY, COUNT, FLAG
from driftduel.policies.slates import Slate, other_notes


class _Record(NamedTuple):
    present: Annotated[Any, FLAG]
    log: Annotated[Any, COUNT]
    """All that it learned, as one number that any difference changes."""
    order: Annotated[Any, ANY]


@hot
def _note(state, number):
    state.log[0] = (state.log[0] * 31 + number) % 1_000_000_007


@hot
def _ask(state, rng, t, notes):
    order, count = state.order, 0
    for arm in range(len(order)):
        if state.present[arm]:
            order[count] = arm
            count += 1
    size = min(count, 1 + int(uniform(rng) * (len(notes) + 2)))
    for place in range(size):
        other = place + int(uniform(rng) * (count - place))
        order[place], order[other] = order[other], order[place]
    for k in range(len(notes)):
        notes[k] = order[k + 2] if k + 2 < size else -1
    return order[0], order[1 if size > 1 else 0]


@hot
def _tell(state, t, first, second, won, notes):
    _note(state, ((t * 16 + first) * 16 + second) * 3 + won + 1)
    for k in range(len(notes)):
        _note(state, int(notes[k]) + 1)
    return 2 * (state.log[0] % 97 == 0)


@hot
def _change(state, rng, t, arm, here):
    state.present[arm] = here
    _note(state, (t * 16 + arm) * 2 + here)


@hot
def _present(state, arm):
    return state.present[arm]


class Shower(KernelPolicy):
    """Show one to m random present arms; one alone is a duel with itself."""

    name = "shower"
    kernels = Kernels(_ask, _tell, change=_change, present=_present)

    def __init__(self, arms, rng, slate: Slate = 2):
        super().__init__(arms, rng)
        self.slate = slate
        self.notes = other_notes(slate)
        self.scratch = np.zeros(len(self.notes))
        self.state = _Record(
            np.ones(arms, np.int64), np.ones(1, np.int64), np.zeros(arms, np.int64)
        )


class Listener(Shower):
    """The same, and learn of slates without an answer, too."""

    name = "listener"
    kernels = Shower.kernels._replace(unanswered=True)


class Plain(Policy):
    """The same as a policy with kernels, in plain Python."""

    name = "plain"

    def __init__(self, inside):
        super().__init__(inside.arms, inside.rng)
        self.inside, self.slate, self.unanswered = inside, inside.slate, inside.unanswered

    def choose(self, t):
        return self.inside.choose(t)

    def learn(self, t, first, second, won, notes):
        return self.inside.learn(t, first, second, won, notes)

    @property
    def present(self):
        return self.inside.present

    @property
    def can_change(self):
        return True

    def change(self, arm, *, here):
        self.inside.ledger.asked = self.ledger.asked
        self.inside.change(arm, here=here)
