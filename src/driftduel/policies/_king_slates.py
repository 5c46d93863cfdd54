"""King's slates: the king and up to m - 1 challengers at once.

The kernels of duels choose the first challenger, so a slate is shown when a duel would be. The
other places get, in serve mode, the further open matches, and then matches that are not due yet. A
match that shares a slate costs less than one with separate duels, because regret is the mean over
the arms shown; so each of these is charged to the account of due matches with half a match, and
arms are compared more often than with duels. In panel mode the other places get the next rivals by
the same criterion as the first.

An answer is a decided duel of the king and each challenger that it orders against the king; for the
others the duel is like a tie, which moves no match. Given the past and that a duel of the king and
a challenger is decided, it has the law of a plain duel if choices follow Plackett and Luce. So the
evidence of every match is a nonnegative supermartingale under the same hypothesis as with duels,
and the bounds on false alarms hold with the same numbers. The matches of a slate depend on each
other, but the bounds add up probabilities of single matches, which needs no independence.
"""

from functools import cache
from typing import Any

from driftduel._internal.compiler import hot
from driftduel.policies._king_evidence import begin
from driftduel.policies._king_matches import open_match
from driftduel.policies._king_panel import most_promising
from driftduel.policies.base import Kernels
from driftduel.policies.slates import result_of_pair

__all__ = ["on_slates"]

_CHARGE = 0.5
_LEAST_DUE = -1.0  # no match is opened early while the account is below this value


@cache
def on_slates(duels: Kernels, slate: int, next_one: Any) -> Kernels:
    """Return the kernels for slates of at most `slate` >= 3 arms.

    Parameters
    ----------
    duels
        The kernels for duels, with a panel form.
    slate
        The largest number of arms shown.
    next_one
        Kernel ``(state, t)``: the challenger of the next match of serve mode.
    """
    panel = duels.panel
    return duels._replace(
        ask=_ask(duels.ask, _companions(next_one), slate - 2),
        tell=_tell(duels.tell, slate - 2),
        panel=panel._replace(
            ask=_ask(panel.ask, _next_in_line, slate - 2), tell=_tell(panel.tell, slate - 2)
        ),
    )


def _ask(duel_ask: Any, companion: Any, more: int) -> Any:
    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        for k in range(more):
            notes[k] = -1.0
        king, j = duel_ask(state, rng, t, notes)
        if king == j:
            return king, king
        for k in range(more):
            i = companion(state, t, j, notes, k)
            if i < 0:
                break
            notes[k] = i
        return king, j

    return hot(ask)


def _tell(duel_tell: Any, more: int) -> Any:
    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        if first == second:
            return 0
        flags, j = 0, second
        for k in range(more + 1):
            flags |= duel_tell(state, t, first, j, result_of_pair(won, 0, k + 1), notes)
            j = int(notes[k]) if k < more else -1
            if j < 0:
                break
        return flags

    return hot(tell)


def _companions(next_one: Any) -> Any:
    """Return a kernel for the next challenger of a slate in serve mode, or -1."""

    def companion(state, t, j, notes, k):  # type: ignore[no-untyped-def]
        numbers, arms = state.numbers[0], state.arms
        i = j
        for _ in range(len(arms)):
            i = i + 1 if i + 1 < len(arms) else 0
            rival = arms[i]
            # Arms of this slate were asked in this round already.
            if rival.on and rival.asked != t and rival.lead >= 0 and rival.out <= 2 * rival.lead:
                rival.asked = t
                rival.out += 1
                return i
        if numbers.open >= numbers.here - 1 or numbers.due < _LEAST_DUE:
            return -1
        numbers.due -= _CHARGE
        i = open_match(state, t, next_one(state, t))
        begin(state, i)
        return i

    return hot(companion)


@hot
def _next_in_line(state: Any, t: int, j: int, notes: Any, k: int) -> int:
    """Return the next rival of a slate in panel mode, or -1."""
    king = state.numbers[0].king
    i = most_promising(state, j, notes, k)
    if i >= 0:
        state.pending[king, i] += 1
        state.pending[i, king] += 1
    return i
