"""The compiled loop of `fold`: replays events on a policy's record and its pending duels."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import GROW, RESTARTED, Kernels
from driftduel.policies.ledger import UNANSWERED, Duel
from driftduel.requests import NORM_ERROR

__all__ = [
    "DISAGREES",
    "FINISHED",
    "FULL",
    "MUST_GROW",
    "NEEDS_PYTHON",
    "Rows",
    "compiled_fold",
    "from_ledger",
    "make_room",
    "to_ledger",
]

FINISHED, MUST_GROW, FULL, NEEDS_PYTHON, DISAGREES = range(5)
"""Exit codes of the loop: all events replayed; the state must grow; the array of restarts is full;
an event needs the Python code (a rare kind, or an invalid one); the policy chooses another duel."""

_ASKED, _TOLD, _DECIDED, _TIED, _FORGOTTEN = range(5)  # kinds of events replayed in compiled code
_OPEN, _HELD, _DONE = range(3)  # status of a duel: pending; answered but held; learned


# ---- duels between asking and learning ----


class Rows(NamedTuple):
    """Duels between choice and learning in order of rounds: the ledger as arrays of the loop."""

    round: Any
    first: Any
    second: Any
    status: Any
    won: Any
    """1, 0 or -1: the result of a held answer."""
    notes: Any
    """(rows, notes) float."""
    asked: Any
    """(1,) number of duels chosen so far."""
    due: Any
    """(1,) the next round to learn with ``order="asked"``."""
    used: Any
    """(1,) number of rows in use."""


def from_ledger(policy: Any) -> Rows:
    """Return the pending and held duels of a policy's ledger as arrays."""
    ledger = policy.ledger
    waiting = {t: (duel, _OPEN, 0) for t, duel in ledger.open.items()}
    waiting |= {t: (duel, _HELD, won) for t, (duel, won) in ledger.held.items()}
    rows = _empty(max(1, len(waiting)), len(policy.notes))
    for row, t in enumerate(sorted(waiting)):
        duel, rows.status[row], rows.won[row] = waiting[t]
        rows.first[row], rows.second[row], rows.round[row], rows.notes[row] = duel[:4]
    rows.asked[0], rows.due[0], rows.used[0] = ledger.asked, ledger.due, len(waiting)
    return rows


def to_ledger(rows: Rows, policy: Any) -> None:
    """Write the duels back to a policy's ledger."""
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


def make_room(rows: Rows, more: int) -> Rows:
    """Return rows with space for `more` duels; drops learned duels if the arrays must grow."""
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
def _write_row(rows: Any, row: int, t: int, first: int, second: int, notes: Any) -> None:
    """Write a pending duel to a row."""
    rows.status[row] = _OPEN
    rows.round[row] = t
    rows.first[row] = first
    rows.second[row] = second
    for i in range(len(notes)):
        rows.notes[row, i] = notes[i]


@hot
def _find(rounds: Any, used: int, asked: int, t: int) -> int:
    """Return the row of round t, or -1; `rounds` ascends, and dropped rounds leave gaps."""
    low = used - 1 - (asked - t)  # the row if there is no gap after it, otherwise a lower bound
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
    """Return whether the event `at` has the round, arms and notes that the policy chose."""
    known = columns.noted[at]
    same = columns.round[at] == t and columns.arm[at] == first and columns.other[at] == second
    same = same and known in (0, len(notes))
    for i in range(known if same else 0):
        same = same and columns.notes[until[at] - known + i] == notes[i]
    return same


@hot
def _copy_request(columns: Any, until: Any, at: int, size: int, notes: Any) -> bool:
    """Copy the request of an event to the end of the notes; return False if it is not one."""
    known = columns.noted[at]
    if known != len(notes):
        return False
    square = 0.0
    for i in range(known - size, known):
        notes[i] = columns.notes[until[at] - known + i]
        square += notes[i] * notes[i]
    return abs(square - 1.0) <= NORM_ERROR


@hot
def _outcome(columns: Any, at: int, first: int, second: int, flips: bool, coins: Any) -> int:
    """Return the result of a duel by its event: first arm won (1), lost (0) or UNANSWERED."""
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
    """Return the compiled loop that replays events on a policy with these kernels.

    The loop starts at the event with the index `at` and returns a tuple: index of the next event,
    exit code, number of restarts, and the pair of arms that the policy chose if it disagrees with
    the log. The argument `size` is the size of a scaled request, 0 if the policy takes none. The
    result is cached per instance of `Kernels`.
    """
    ask, tell, takes_requests = kernels.ask, kernels.tell, kernels.request

    @hot
    def learn(rows, row, state, notes, unanswered):  # type: ignore[no-untyped-def]
        """Call `tell` for a row; a missing result is passed only if `unanswered` is set."""
        rows.status[row] = _DONE
        won = rows.won[row]
        if won == UNANSWERED and not unanswered:
            return 0
        for i in range(len(notes)):
            notes[i] = rows.notes[row, i]
        return tell(state, rows.round[row], rows.first[row], rows.second[row], won, notes)

    def loop(  # type: ignore[no-untyped-def]
        columns, until, at, rows, state, rng, scratch,
        arms, unanswered, in_turn, flips, coins, restarts, size,
    ):  # fmt: skip
        asked, due, used = rows.asked[0], rows.due[0], rows.used[0]
        why = FINISHED
        seen = 0
        pair = (0, 0)
        row = -1  # index of the row to learn now, or -1
        while True:
            if in_turn and row < 0 and due <= asked:
                head = used - 1 - (asked - due)  # no gaps: all rounds from `due` on are present
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
                    why = MUST_GROW
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
                if (
                    takes_requests
                    and size > 0
                    and not _copy_request(columns, until, at, size, scratch)
                ):
                    why = NEEDS_PYTHON  # the public method raises the error
                    break
                first, second = ask(state, rng, t, scratch)
                there = 0 <= first < arms and 0 <= second < arms
                if not there or not _agrees(columns, until, at, t, first, second, scratch):
                    why, pair = DISAGREES, (int(first), int(second))
                    break
                _write_row(rows, used, t, first, second, scratch)
                asked = t
                used += 1
            else:
                which = _find(rows.round, used, asked, columns.round[at])
                if kind > _FORGOTTEN or which < 0 or rows.status[which] != _OPEN:
                    why = NEEDS_PYTHON
                    break
                first, second = rows.first[which], rows.second[which]
                if kind == _TOLD and columns.arm[at] not in (first, second):
                    why = NEEDS_PYTHON
                    break
                if kind == _DECIDED and columns.won[at] > 1:
                    why = NEEDS_PYTHON
                    break
                rows.won[which] = _outcome(columns, at, first, second, flips, coins)
                rows.status[which] = _HELD
                if not in_turn:
                    row = which
            at += 1
        rows.asked[0], rows.due[0], rows.used[0] = asked, due, used
        return at, why, seen, pair

    return kernel(loop)
