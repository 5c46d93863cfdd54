"""The compiled loop of `folding`: events in, a policy's record and its open duels out."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies.base import GROW, RESTARTED, Kernels
from driftduel.policies.ledger import UNANSWERED, Duel

__all__ = [
    "APART_OR_WRONG",
    "DISAGREES",
    "FULL",
    "NARROW",
    "THROUGH",
    "Rows",
    "compiled_fold",
    "from_ledger",
    "roomy",
    "to_ledger",
]

THROUGH, NARROW, FULL, APART_OR_WRONG, DISAGREES = range(5)
"""Why the loop returned: it is through, the policy needs room, there is no more room for restarts,
the event is not for it, the policy asks for another duel."""

_ASKED, _TOLD, _DECIDED, _TIED, _FORGOTTEN = range(5)  # kinds of events that it knows
_OPEN, _HELD, _DONE = range(3)  # a duel is not answered, to be learned in its turn, learned


# ---- duels between asking and learning ----


class Rows(NamedTuple):
    """Duels between asking and learning, in the order of asking: a ledger for the loop."""

    round: Any
    first: Any
    second: Any
    status: Any
    won: Any
    """Of an answer that waits for its turn."""
    notes: Any
    """(rows, notes)"""
    asked: Any
    """(1,) duels asked for so far."""
    due: Any
    """(1,) the round whose answer comes next in the order of asking."""
    used: Any
    """(1,) rows in use."""


def from_ledger(policy: Any) -> Rows:
    """Take the duels out of a policy's ledger."""
    ledger = policy.ledger
    waiting = {t: (duel, _OPEN, 0) for t, duel in ledger.open.items()}
    waiting |= {t: (duel, _HELD, won) for t, (duel, won) in ledger.held.items()}
    rows = _empty(max(1, len(waiting)), len(policy.notes))
    for row, t in enumerate(sorted(waiting)):
        duel, rows.status[row], rows.won[row] = waiting[t]
        rows.first[row], rows.second[row], rows.round[row], rows.notes[row] = duel
    rows.asked[0], rows.due[0], rows.used[0] = ledger.asked, ledger.due, len(waiting)
    return rows


def to_ledger(rows: Rows, policy: Any) -> None:
    """Put the duels back into a policy's ledger."""
    ledger = policy.ledger
    ledger.asked, ledger.due = int(rows.asked[0]), int(rows.due[0])
    ledger.open, ledger.held = {}, {}
    for row in np.flatnonzero(rows.status[: rows.used[0]] != _DONE).tolist():
        t, notes = int(rows.round[row]), tuple(rows.notes[row].tolist())
        duel = Duel(int(rows.first[row]), int(rows.second[row]), t, notes)
        if rows.status[row] == _OPEN:
            ledger.open[t] = duel
        else:
            ledger.held[t] = duel, int(rows.won[row])


def _empty(size: int, notes: int) -> Rows:
    columns = [np.zeros(size, np.int64) for _ in range(5)]
    numbers = [np.zeros(1, np.int64) for _ in range(3)]
    return Rows(*columns, np.zeros((size, notes)), *numbers)  # type: ignore[call-arg]


def roomy(rows: Rows, more: int) -> Rows:
    """Return rows with room for more of them, without those that are done with."""
    used = int(rows.used[0])
    if used + more <= len(rows.status):
        return rows
    live = np.flatnonzero(rows.status[:used] != _DONE)
    larger = _empty(2 * (len(live) + more), rows.notes.shape[1])
    for new, old in zip(larger[:6], rows[:6], strict=True):
        new[: len(live)] = old[live]
    larger.asked[:], larger.due[:], larger.used[:] = rows.asked, rows.due, len(live)
    return larger


@hot
def _note_down(rows: Any, row: int, t: int, first: int, second: int, notes: Any) -> None:
    """Write an open duel into a row."""
    rows.status[row] = _OPEN
    rows.round[row] = t
    rows.first[row] = first
    rows.second[row] = second
    for i in range(len(notes)):
        rows.notes[row, i] = notes[i]


@hot
def _find(rounds: Any, used: int, asked: int, t: int) -> int:
    """Return the row of a round, or -1; rows ascend, and the rounds that are gone are gaps."""
    low = used - 1 - (asked - t)  # if there are no gaps after it
    if t > asked or t < 1:
        return -1
    if low >= 0 and rounds[low] == t:
        return low
    low, high = max(low, 0), used
    while low < high:
        middle = (low + high) // 2
        if rounds[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low if low < used and rounds[low] == t else -1


# ---- events ----


@hot
def _agrees(columns: Any, until: Any, at: int, t: int, first: int, second: int, notes: Any) -> bool:
    """Tell whether an event asks for what the policy asks for in round t."""
    known = columns.noted[at]
    same = columns.round[at] == t and columns.arm[at] == first and columns.other[at] == second
    same = same and known in (0, len(notes))
    for i in range(known if same else 0):
        same = same and columns.notes[until[at] - known + i] == notes[i]
    return same


@hot
def _outcome(columns: Any, at: int, first: int, second: int, flips: bool, coins: Any) -> int:
    """Return whether the first arm won the duel that an event is about, or UNANSWERED."""
    kind = columns.kind[at]
    if kind == _DECIDED:
        return int(columns.won[at])
    if kind == _FORGOTTEN:
        return UNANSWERED
    if first == second or (kind == _TIED and flips):
        return int(uniform(coins) < 0.5)
    if kind == _TIED:
        return UNANSWERED
    return int(columns.arm[at] == first)


@cache
def compiled_fold(kernels: Kernels) -> Any:
    """Return the loop that folds events into a policy made of these kernels.

    It goes on from the event `at` of some columns and returns the event that comes next, why it
    returned, how many restarts it saw, and the duel that the policy asks for instead of the log's.
    """
    ask, tell = kernels.ask, kernels.tell

    @hot
    def learn(rows, row, state, notes, unanswered):  # type: ignore[no-untyped-def]
        """Learn the answer of a row, unless there is none and the policy does not hear of that."""
        rows.status[row] = _DONE
        won = rows.won[row]
        if won == UNANSWERED and not unanswered:
            return 0
        for i in range(len(notes)):
            notes[i] = rows.notes[row, i]
        return tell(state, rows.round[row], rows.first[row], rows.second[row], won, notes)

    def loop(  # type: ignore[no-untyped-def]
        columns, until, at, rows, state, rng, scratch,
        arms, unanswered, in_turn, flips, coins, restarts,
    ):  # fmt: skip
        asked, due, used = rows.asked[0], rows.due[0], rows.used[0]
        why = THROUGH
        seen = 0
        pair = (0, 0)
        row = -1  # what is to be learned now
        while True:
            if in_turn and row < 0 and due <= asked:
                head = used - 1 - (asked - due)  # all since then are there
                if rows.status[head] == _HELD:
                    row = head
                    due += 1
            if row >= 0:
                flags = learn(rows, row, state, scratch, unanswered)
                if flags & RESTARTED:
                    restarts[seen] = rows.round[row]
                    seen += 1
                row = -1
                if flags & GROW:
                    why = NARROW
                    break
                if seen == len(restarts):
                    why = FULL
                    break
                continue
            if at == len(until):
                break
            kind = columns.kind[at]
            if kind == _ASKED:
                t = asked + 1
                first, second = ask(state, rng, t, scratch)
                there = 0 <= first < arms and 0 <= second < arms
                if not there or not _agrees(columns, until, at, t, first, second, scratch):
                    why, pair = DISAGREES, (int(first), int(second))
                    break
                _note_down(rows, used, t, first, second, scratch)
                asked = t
                used += 1
            else:
                which = _find(rows.round, used, asked, columns.round[at])
                if kind > _FORGOTTEN or which < 0 or rows.status[which] != _OPEN:
                    why = APART_OR_WRONG
                    break
                first, second = rows.first[which], rows.second[which]
                if kind == _TOLD and columns.arm[at] not in (first, second):
                    why = APART_OR_WRONG
                    break
                rows.won[which] = _outcome(columns, at, first, second, flips, coins)
                rows.status[which] = _HELD
                if not in_turn:
                    row = which
            at += 1
        rows.asked[0], rows.due[0], rows.used[0] = asked, due, used
        return at, why, seen, pair

    return kernel(loop)
