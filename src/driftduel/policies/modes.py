"""Display modes: an arm may be shown alone, or each round has two different arms.

*Serve* mode is for traffic. A duel of an arm with itself means that this arm is shown alone without
a vote; most policies use it to exploit their best guess. *Panel* mode is for voters who compare:
each sees two different arms.

A policy without panel kernels gets *stand-ins*. If it chooses an arm's duel with itself, the second
arm is replaced by another one, drawn uniformly from the present arms. A policy with `any_duel`
learns the vote. Any other policy receives the result of serve mode, a coin flip for the duel with
itself; its state therefore follows a run in serve mode and does not depend on that vote. The
alternative, calling `ask` until two arms differ, would be a different algorithm: its clock would
count duels that were never shown.
"""

from functools import cache
from typing import Any

from driftduel._internal.compiler import hot
from driftduel._internal.kernel_random import uniform
from driftduel.policies.fields import Within

__all__ = [
    "COIN",
    "COUNTED",
    "MODES",
    "SAME",
    "STAND_IN",
    "PanelAdapter",
    "count_arms",
    "wrap_for_panel",
]

MODES = ("serve", "panel")
"""Names of the modes: an arm may be shown alone, or always two different arms."""

STAND_IN = Within(0, 2)
"""Range of the first note of a duel in panel mode: 0 for a duel that the policy chose, 1 or 2 for a
stand-in (2 if the coin gives the win of the self-duel to the first arm)."""
_OWN, _LOST = 0.0, 1.0

SAME = "nothing changes: it never asks for an arm's duel with itself"
COUNTED = (
    "a stand-in's answer is one more count, and the bounds on every pair hold; each costs "
    "the loss of the other arm, so regret grows with the rounds"
)
COIN = (
    "the run in serve mode keeps its guarantee, with coins for duels of an arm with "
    "itself; each stand-in teaches nothing and costs the loss of the other arm"
)


def count_arms(policy: Any) -> tuple[int, int]:
    """Return the arguments `arms` and `depth` of `wrap_for_panel` for a policy.

    A policy with a changing set of arms has a field `present` in its record or in the record of a
    wrapped policy; its kernels read the number of arms from there.
    """
    depth, record = 0, policy.state
    while record is not None:
        if hasattr(record, "present"):
            return 0, depth
        depth, record = depth + 1, getattr(record, "base", None)
    return policy.arms, 0


def _number_of_arms(arms: int, depth: int) -> Any:
    if arms:

        def count(state):  # type: ignore[no-untyped-def]
            return arms

    elif depth:
        inside = _number_of_arms(0, depth - 1)

        def count(state):  # type: ignore[no-untyped-def]
            return inside(state.base)

    else:

        def count(state):  # type: ignore[no-untyped-def]
            return len(state.present)

    return hot(count)


@cache
def wrap_for_panel(inner: Any, arms: int, depth: int = 0) -> Any:
    """Return kernels over the same record that choose two different arms in each round.

    The result is cached per combination of arguments.

    Parameters
    ----------
    inner
        The kernels in serve mode.
    arms, depth
        The number of arms; or 0 if it is the length of the field `present` of the record that is
        nested `depth` levels deep.
    """
    count = _number_of_arms(arms, depth)
    inner_ask, inner_tell, inner_present = inner.ask, inner.tell, inner.present
    any_duel, unanswered = inner.any_duel, inner.unanswered

    if inner_present is None:

        def other(state, rng, arm):  # type: ignore[no-untyped-def]
            place = int(uniform(rng) * (count(state) - 1))
            return place + int(place >= arm)

    else:

        def other(state, rng, arm):  # type: ignore[no-untyped-def]
            arms = count(state)
            others = 0
            for i in range(arms):
                others += int(i != arm and inner_present(state, i) != 0)
            if others == 0:
                return arm
            place, i = int(uniform(rng) * others), -1
            while place >= 0:
                i += 1
                place -= int(i != arm and inner_present(state, i) != 0)
            return i

    draw = hot(other)

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        first, second = inner_ask(state, rng, t, notes[1:])
        notes[0] = _OWN
        if first == second:
            second = draw(state, rng, first)
            if first != second:
                notes[0] = _LOST
                if not any_duel and uniform(rng) < 0.5:
                    notes[0] += 1.0
        return first, second

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        if notes[0] != _OWN:
            if not any_duel:  # the policy chose a self-duel; the coin in the note is its result
                second, won = first, int(notes[0] > _LOST)
            elif won < 0:
                second = first
        if won < 0 and not unanswered:
            return 0
        return inner_tell(state, t, first, second, won, notes[1:])

    return inner._replace(ask=hot(ask), tell=hot(tell), any_duel=False, unanswered=True)


class PanelAdapter:
    """The counterpart of `wrap_for_panel` for policies in plain Python.

    Parameters
    ----------
    policy
        The policy, in serve mode; its methods `choose` and `learn` are replaced by those of this
        object.
    """

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        self._choose, self._learn = policy.choose, policy.learn
        self._any_duel, self.unanswered = policy.any_duel, policy.unanswered

    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Return arms and notes of a round; the arms differ if at least two are present."""
        first, second, notes = self._choose(t)
        note = _OWN
        others = [arm for arm in self._policy.present if arm != first]
        if first == second and others:
            rng = self._policy.rng
            second = others[int(rng.random() * len(others))]
            note = _LOST + int(not self._any_duel and rng.random() < 0.5)
        return first, second, (note, *notes)

    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Convert a result to that of serve mode and pass it to the policy."""
        note, *own = notes
        if note != _OWN:
            if not self._any_duel:
                second, won = first, int(note > _LOST)
            elif won < 0:
                second = first
        if won < 0 and not self.unanswered:
            return 0
        return int(self._learn(t, first, second, won, tuple(own)))
