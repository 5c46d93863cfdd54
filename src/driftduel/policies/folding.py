"""From a log to the policy that lived through it, to the bit: a state is a fold of its log.

A log that has all that happened needs no other truth: a policy that was lost is made again from
its spec, its seed and its log, or from a snapshot and the events since. Every duel is asked for
anew and compared with the log, so a log that does not belong to the policy is found out.

Kernels are folded in compiled code, everything else, and every event that is rare or wrong, by
`ask` and `tell` themselves: `_live` is what folding means, the compiled loop only does it faster.
"""

from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import bits, uniform
from driftduel.errors import DriftduelError, LogError
from driftduel.policies.base import GROW, RESTARTED, KernelPolicy, Kernels, Policy, no_such_arms
from driftduel.policies.events import Event, Log
from driftduel.policies.ledger import UNANSWERED, Duel

__all__ = ["fold"]

_EVENTS_A_CALL = 1 << 13  # a few milliseconds, after which Ctrl-C is heard
_RESTARTS_A_CALL = 1024
_ASKED, _TOLD, _DECIDED, _TIED, _FORGOTTEN = range(5)  # kinds that the compiled loop knows
_APART = ("joined", "left", "heard")  # kinds that are about no duel

# A duel in `_Rows`: not answered, to be learned when its turn comes, learned.
_OPEN, _HELD, _DONE = range(3)

# Why the compiled loop returned: it is through, the policy needs room, there is no more room for
# restarts, the event is not for it, the policy asks for another duel.
_THROUGH, _NARROW, _FULL, _APART_OR_WRONG, _DISAGREES = range(5)


def fold(policy: Policy, log: Log | Iterable[Log]) -> Policy:
    """Return the policy that a policy becomes by living through a log.

    Its record, its generators, its open duels and the answers that it holds back are to the bit
    those of asking, telling, forgetting, retiring, admitting and hearing what the log says. The
    policy that was given stays as it is, whatever happens.

    Parameters
    ----------
    policy
        A fresh one, or one that was restored from a snapshot; with the settings (order, ties) with
        which the log was written.
    log
        What happened since; or several logs, one after the other, of a life that is too long to be
        held in memory.

    Raises
    ------
    LogError
        If the log has a duel that the policy would not have asked for, or anything else that
        cannot have happened. It says the event's place, counted from 0 through all logs.

    Examples
    --------
    >>> from driftduel.policies import Event, make_policy
    >>> fresh = make_policy("dts", arms=3, seed=4)
    >>> first, second, _ = make_policy("dts", arms=3, seed=4).choose(1)
    >>> log = Log([Event("asked", 1, first, second), Event("told", 1, first)])
    >>> fold(fresh, log).get_state()["wins"].sum(), fresh.get_state()["wins"].sum()
    (np.float64(1.0), np.float64(0.0))
    """
    policy = deepcopy(policy)
    place = 0
    for each in (log,) if isinstance(log, Log) else log:
        (_fold_fast if _made_of_kernels(policy) else _fold_slowly)(policy, each, place)
        place += len(each)
    return policy


def _made_of_kernels(policy: Policy) -> bool:
    """Tell whether kernels are all that asking and telling are."""
    methods = ("choose", "learn", "ask", "tell", "tell_first_won", "forget")
    return isinstance(policy, KernelPolicy) and all(
        getattr(type(policy), each) is getattr(KernelPolicy, each) for each in methods
    )


def _fold_slowly(policy: Policy, log: Log, place: int) -> None:
    for at, event in enumerate(log, start=place):
        _live(policy, event, at)


def _live(policy: Policy, event: Event, place: int) -> None:
    """Live through one event by the policy's own methods."""
    kind, t, arm, other, won, notes = event
    ledger = policy.ledger
    try:
        if kind == "asked":
            _agree(event, place, policy.ask())
        elif kind == "joined":
            policy.admit(None if arm == policy.arms else arm)
        elif kind == "left":
            policy.retire(arm)
        elif kind == "heard":
            policy.hear(arm, other, (other, arm, None)[won], notes[0])
        else:
            duel = ledger.open.get(t)
            if duel is None:
                said = "already answered" if t <= ledger.asked else "never asked for"
                raise DriftduelError(f"the duel of round {t} was {said}.")
            if kind == "forgotten":
                policy.forget(duel)
            elif kind == "decided":
                policy.tell_first_won(duel, won)
            else:
                policy.tell(duel, arm if kind == "told" else None)
    except LogError:
        raise
    except DriftduelError as error:
        raise _impossible(event, place, error) from None


def _impossible(event: Event, place: int, error: DriftduelError) -> LogError:
    return LogError(f"event {place} of the log ({event.kind}): {error}", place, event.round or None)


def _agree(event: Event, place: int, duel: Duel) -> None:
    """Refuse a duel of the log that is not the one that the policy asks for."""
    first, second, t, notes = duel
    if event.round != t:
        raise LogError(
            f"event {place} of the log asks for round {event.round}; after all before it, round "
            f"{t} comes next.",
            place,
            event.round,
        )
    logged, asked = (event.arm, event.other, event.notes), (first, second, notes)
    if logged[:2] != asked[:2]:
        what = f"the duel of {event.arm} and {event.other}", f"that of {first} and {second}"
    elif event.notes not in ((), notes):
        what = f"a duel with the notes {_few(event.notes)}", f"one with {_few(notes)}"
    else:
        return
    raise LogError(
        f"event {place} of the log says that round {t} was {what[0]}; the policy asks for "
        f"{what[1]}.",
        place,
        t,
        logged,
        asked,
    )


def _few(notes: tuple[float, ...]) -> str:
    return ", ".join(map(repr, notes[:4])) + (", ..." if len(notes) > 4 else "")


class _Rows(NamedTuple):
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


def _fold_fast(policy: Any, log: Log, place: int) -> None:
    """Fold in compiled code, call by call."""
    ledger = policy.ledger
    in_turn, flips = ledger.order == "asked", ledger.ties == "coin"
    coins = bits(ledger.coins)
    restarts = np.empty(_RESTARTS_A_CALL, np.int64)
    rows = _opened(policy)
    for begin in range(0, len(log), _EVENTS_A_CALL):
        columns = log.columns(begin, begin + _EVENTS_A_CALL)
        until = columns.noted.cumsum()
        rows = _roomy(rows, len(until))
        at, why = 0, _FULL
        while why != _THROUGH:
            at, why, seen, pair = _compiled_fold(policy.kernels)(
                columns, until, at, rows, policy.state, policy.bits, policy.scratch,
                policy.arms, policy.unanswered, in_turn, flips, coins, restarts,
            )  # fmt: skip
            ledger.restarts.extend(restarts[:seen].tolist())
            if why == _NARROW:
                policy.grow()
            elif why == _DISAGREES:
                notes = tuple(policy.scratch.tolist())
                duel = Duel(int(pair[0]), int(pair[1]), int(rows.asked[0]) + 1, notes)
                _agree_within(policy, log[begin + at], place + begin + at, duel)
            elif why == _APART_OR_WRONG:
                event = log[begin + at]
                if event.kind in _APART:
                    ledger.asked = int(rows.asked[0])
                else:  # it cannot have happened, and the policy itself says why
                    _close(rows, policy)
                _live(policy, event, place + begin + at)
                at += 1
    _close(rows, policy)


def _agree_within(policy: Policy, event: Event, place: int, duel: Duel) -> None:
    if not (0 <= duel.first < policy.arms and 0 <= duel.second < policy.arms):
        error = no_such_arms(policy, duel.first, duel.second, duel.round)
        raise _impossible(event, place, error)
    _agree(event, place, duel)


def _opened(policy: Any) -> _Rows:
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


def _close(rows: _Rows, policy: Any) -> None:
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


def _empty(size: int, notes: int) -> _Rows:
    columns = [np.zeros(size, np.int64) for _ in range(5)]
    numbers = [np.zeros(1, np.int64) for _ in range(3)]
    return _Rows(*columns, np.zeros((size, notes)), *numbers)  # type: ignore[call-arg]


def _roomy(rows: _Rows, more: int) -> _Rows:
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


@cache
def _compiled_fold(kernels: Kernels) -> Any:
    """Return the loop that folds events into a policy made of these kernels.

    It goes on from the event `at` of some columns and returns the event that comes next, why it
    returned, how many restarts it saw, and the duel that the policy asks for instead of the log's.
    """
    ask, tell = kernels.ask, kernels.tell

    def loop(  # type: ignore[no-untyped-def]
        columns, until, at, rows, state, rng, scratch,
        arms, unanswered, in_turn, flips, coins, restarts,
    ):  # fmt: skip
        width = len(scratch)
        status = rows.status
        asked, due, used = rows.asked[0], rows.due[0], rows.used[0]
        why = _THROUGH
        seen = 0
        pair = (0, 0)
        row = -1  # what is to be learned now
        while True:
            if in_turn and row < 0 and due <= asked:
                head = used - 1 - (asked - due)  # all since then are there
                if status[head] == _HELD:
                    row = head
                    due += 1
            if row >= 0:
                status[row] = _DONE
                if rows.won[row] != UNANSWERED or unanswered:
                    t = rows.round[row]
                    for i in range(width):
                        scratch[i] = rows.notes[row, i]
                    first, second = rows.first[row], rows.second[row]
                    flags = tell(state, t, first, second, rows.won[row], scratch)
                    if flags != 0:
                        if flags & RESTARTED:
                            restarts[seen] = t
                            seen += 1
                        if flags & GROW:
                            why = _NARROW
                            break
                        if seen == len(restarts):
                            why = _FULL
                            break
                row = -1
                continue
            if at == len(until):
                break
            kind = columns.kind[at]
            t = columns.round[at]
            arm = columns.arm[at]
            if kind == _ASKED:
                first, second = ask(state, rng, asked + 1, scratch)
                known = columns.noted[at]
                same = t == asked + 1 and first == arm and second == columns.other[at]
                same = same and 0 <= first < arms and 0 <= second < arms
                same = same and known in (0, width)
                for i in range(known if same else 0):
                    logged = columns.notes[until[at] - known + i]
                    same = same and logged == scratch[i]
                if not same:
                    why, pair = _DISAGREES, (int(first), int(second))
                    break
                asked += 1
                at += 1
                status[used] = _OPEN
                rows.round[used] = asked
                rows.first[used] = first
                rows.second[used] = second
                for i in range(width):
                    rows.notes[used, i] = scratch[i]
                used += 1
                continue
            found = _find(rows.round, used, asked, t)
            if kind > _FORGOTTEN or found < 0 or status[found] != _OPEN:
                why = _APART_OR_WRONG
                break
            first, second = rows.first[found], rows.second[found]
            if kind == _TOLD and arm not in (first, second):
                why = _APART_OR_WRONG
                break
            if kind == _DECIDED:
                won = int(columns.won[at])
            elif kind == _FORGOTTEN:
                won = UNANSWERED
            elif first == second or (kind == _TIED and flips):
                won = int(uniform(coins) < 0.5)
            elif kind == _TIED:
                won = UNANSWERED
            else:
                won = int(arm == first)
            at += 1
            status[found] = _HELD
            rows.won[found] = won
            if not in_turn:
                row = found
        rows.asked[0], rows.due[0], rows.used[0] = asked, due, used
        return at, why, seen, pair

    return kernel(loop)


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
