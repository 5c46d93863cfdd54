"""Observers of a game: measures beside regret that read a policy in every round.

An observer wraps the kernels of a policy, so that a game without one runs the unchanged loop.
"""

from functools import cache
from typing import Any, NamedTuple

from driftduel._internal.compiler import hot
from driftduel.policies import Duel, KernelPolicy, Kernels, Policy
from driftduel.worlds import Chunk

__all__ = ["Observer"]


class _Observed(NamedTuple):
    """The record of an observed policy, and the arrays of its observer."""

    base: Any
    seen: Any


class Observer:
    """A measure of one game, called in every round.

    A subclass sets `seen`, a NamedTuple of arrays, and kernels over it. They are called from
    the compiled loop and, for policies in plain Python, from the loop by ask and tell.

    - ``note(seen, t, leader)`` before the duel of round t is chosen; the leader is that of
      `Policy.best`, -1 for None. None: not called.
    - ``count(seen, first, second, won)`` for every answer that the policy receives, after it.
      None: not called.
    - ``declare(seen, t, arm)`` before the duel of round t is chosen, for policies that declare a
      best arm (`Policy.declared`), -1 before they do. None: not called.
    """

    note: Any = None
    count: Any = None
    declare: Any = None
    seen: Any

    def expect(self, chunk: Chunk) -> None:
        """Prepare for the rounds of a chunk, before they are played."""

    def finish(self, policy: Policy) -> None:
        """Take the final measurement, after the last round."""

    def kernels(self, policy: KernelPolicy) -> Kernels:
        """Return the kernels of a policy, wrapped."""
        return _wrap(policy.kernels, self.note, self.count, self.declare)

    def record(self, policy: KernelPolicy) -> _Observed:
        """Return the record that the wrapped kernels work on."""
        return _Observed(policy.state, self.seen)

    def before(self, policy: Policy, t: int) -> None:
        """Observe a policy in plain Python before it chooses the duel of round `t`."""
        if self.note is not None:
            self.note(self.seen, t, leader_of(policy))
        if self.declare is not None:
            arm = policy.declared()
            self.declare(self.seen, t, -1 if arm is None else arm)

    def after(self, duel: Duel, won: int) -> None:
        """Observe an answer that a policy in plain Python has received."""
        if self.count is not None:
            self.count(self.seen, duel.first, duel.second, won)


def leader_of(policy: Policy) -> int:
    """Return the arm that a policy names as the best, -1 for None."""
    leader = policy.best()
    return -1 if leader is None else leader


@hot
def _no_leader(state):  # type: ignore[no-untyped-def]
    """Stand in for the kernel `best_guess` of a policy that names no arm."""
    return -1


@cache
def _wrap(inner: Kernels, note: Any, count: Any, declare: Any) -> Kernels:
    """Return kernels over `_Observed` that call those of a policy and those of an observer."""
    inner_ask, inner_tell = inner.ask, inner.tell
    best_guess = _no_leader if inner.best_guess is None else inner.best_guess
    declared = inner.declared
    noted, counted = note is not None, count is not None
    declares = declare is not None and declared is not None

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        if noted:
            note(state.seen, t, int(best_guess(state.base)))
        if declares:
            declare(state.seen, t, int(declared(state.base)))
        return inner_ask(state.base, rng, t, notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        flags = inner_tell(state.base, t, first, second, won, notes)
        if counted:
            count(state.seen, first, second, won)
        return flags

    wrapped = inner._replace(ask=hot(ask), tell=hot(tell), reset=None, best_guess=None, panel=None)
    if inner.change is None:
        return wrapped
    inner_change, inner_present = inner.change, inner.present

    def change(state, rng, t, arm, here):  # type: ignore[no-untyped-def]
        inner_change(state.base, rng, t, arm, here)

    def present(state, arm):  # type: ignore[no-untyped-def]
        return inner_present(state.base, arm)

    return wrapped._replace(change=hot(change), present=hot(present))
