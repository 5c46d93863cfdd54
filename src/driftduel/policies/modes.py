"""Two modes: an arm may be shown alone, or two different ones are shown in every round.

*Serve* is for traffic. An arm's duel with itself means that it is shown alone and nobody is asked
anything; that is how most policies play what they take for the winner. *Panel* is for people who
came to compare: each of them sees two different arms, and votes.

A policy without a panel form of its own gets *stand-ins*. Where it asks for an arm's duel with
itself, the arm meets another one, drawn uniformly from those present. One that takes any duel is
told the answer. Any other is told what it would have been told in serve mode, a coin that decides
the duel with itself; so what happens inside is a run in serve mode, whatever people vote. Asking
again until two arms differ would be another policy, whose clock runs on through duels that nobody
sees.
"""

from functools import cache
from typing import Any

from driftduel._compile import hot
from driftduel._random import uniform
from driftduel.policies.fields import Within

__all__ = ["COIN", "COUNTED", "MODES", "SAME", "STAND_IN", "StandIns", "count_arms", "standing_in"]

MODES = ("serve", "panel")
"""How duels are shown: an arm alone where a policy asks for that, or always two different arms."""

STAND_IN = Within(0, 2)
"""The first note of a duel in panel mode: 0 for one that the policy asked for, 1 or 2 for a
stand-in (2 if the coin says that the arm won its duel with itself)."""
_OWN, _LOST = 0.0, 1.0

SAME = "nothing changes: it never asks for an arm's duel with itself"
COUNTED = (
    "a stand-in's answer is one more that it counts, and its bounds on every pair hold; each costs "
    "what the other arm loses, so regret grows with the rounds"
)
COIN = (
    "what it would play in serve mode keeps its guarantee, with coins for duels of an arm with "
    "itself; each stand-in teaches nothing and costs what the other arm loses"
)


def count_arms(policy: Any) -> tuple[int, int]:
    """Return how kernels find the number of arms: what `standing_in` takes.

    Whoever can change the set of arms has a field `present`, in its own record or in that of a
    policy inside, and its kernels serve any number.
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
def standing_in(inner: Any, arms: int, depth: int = 0) -> Any:
    """Make the kernels of a policy that shows two different arms, over the same record.

    Parameters
    ----------
    inner
        Its kernels in serve mode.
    arms, depth
        The number of arms, or 0 if it is the length of the field `present` that many records down.
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
            if not any_duel:  # its question was another, and the coin has answered it
                second, won = first, int(notes[0] > _LOST)
            elif won < 0:
                second = first
        if won < 0 and not unanswered:
            return 0
        return inner_tell(state, t, first, second, won, notes[1:])

    return inner._replace(ask=hot(ask), tell=hot(tell), any_duel=False, unanswered=True)


class StandIns:
    """The same for a policy in plain Python: what chooses and learns in its place.

    Parameters
    ----------
    policy
        The policy, in serve mode.
    """

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        self._choose, self._learn = policy.choose, policy.learn
        self._any_duel, self.unanswered = policy.any_duel, policy.unanswered

    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Pick two different arms, if there are two."""
        first, second, notes = self._choose(t)
        note = _OWN
        others = [arm for arm in self._policy.present if arm != first]
        if first == second and others:
            rng = self._policy.rng
            second = others[int(rng.random() * len(others))]
            note = _LOST + int(not self._any_duel and rng.random() < 0.5)
        return first, second, (note, *notes)

    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Pass on what the answer means to the policy."""
        note, *own = notes
        if note != _OWN:
            if not self._any_duel:
                second, won = first, int(note > _LOST)
            elif won < 0:
                second = first
        if won < 0 and not self.unanswered:
            return 0
        return int(self._learn(t, first, second, won, tuple(own)))
