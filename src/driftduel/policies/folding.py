"""From a log to the policy that lived through it, to the bit: a state is a fold of its log.

A log that has all that happened needs no other truth: a policy that was lost is made again from
its spec, its seed and its log, or from a snapshot and the events since. Every duel is asked for
anew and compared with the log, so a log that does not belong to the policy is found out.

Kernels are folded in compiled code, everything else, and every event that is rare or wrong, by
`ask` and `tell` themselves: `_live` is what folding means, the compiled loop only does it faster.
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from driftduel._random import address_of
from driftduel.errors import DriftduelError, LogError
from driftduel.policies._fold_loop import (
    APART_OR_WRONG,
    DISAGREES,
    FULL,
    NARROW,
    THROUGH,
    compiled_fold,
    from_ledger,
    roomy,
    to_ledger,
)
from driftduel.policies.base import KernelPolicy, Policy, no_such_arms
from driftduel.policies.events import Event, Log
from driftduel.policies.ledger import Duel

__all__ = ["fold"]

_EVENTS_A_CALL = 1 << 13  # a few milliseconds, after which Ctrl-C is heard
_RESTARTS_A_CALL = 1024
_APART = ("joined", "left", "heard")  # kinds that are about no duel


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
    >>> fresh = make_policy("dts", arms=3, seed=2)
    >>> first, second, _ = make_policy("dts", arms=3, seed=2).choose(1)
    >>> log = Log([Event("asked", 1, first, second), Event("told", 1, first)])
    >>> fold(fresh, log).get_state()["wins"].sum(), fresh.get_state()["wins"].sum()
    (np.float64(1.0), np.float64(0.0))
    """
    policy = deepcopy(policy)
    place = 0
    for part in (log,) if isinstance(log, Log) else log:
        (_fold_fast if _made_of_kernels(policy) else _fold_slowly)(policy, part, place)
        place += len(part)
    return policy


def _made_of_kernels(policy: Policy) -> bool:
    """Tell whether kernels are all that asking and telling are."""
    methods = ("choose", "learn", "ask", "tell", "tell_first_won", "forget")
    return isinstance(policy, KernelPolicy) and all(
        getattr(type(policy), name) is getattr(KernelPolicy, name) for name in methods
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


def _fold_fast(policy: Any, log: Log, place: int) -> None:
    """Fold in compiled code, call by call."""
    ledger = policy.ledger
    in_turn, flips = ledger.order == "asked", ledger.ties == "coin"
    coins = address_of(ledger.coins)
    restarts = np.empty(_RESTARTS_A_CALL, np.int64)
    rows = from_ledger(policy)
    for begin in range(0, len(log), _EVENTS_A_CALL):
        columns = log.columns(begin, begin + _EVENTS_A_CALL)
        until = columns.noted.cumsum()
        rows = roomy(rows, len(until))
        at, why = 0, FULL
        while why != THROUGH:
            at, why, seen, pair = compiled_fold(policy.kernels)(
                columns, until, at, rows, policy.state, policy.rng_address, policy.scratch,
                policy.arms, policy.unanswered, in_turn, flips, coins, restarts,
            )  # fmt: skip
            ledger.restarts.extend(restarts[:seen].tolist())
            if why == NARROW:
                policy.grow()
            elif why == DISAGREES:
                notes = tuple(policy.scratch.tolist())
                duel = Duel(int(pair[0]), int(pair[1]), int(rows.asked[0]) + 1, notes)
                _agree_within(policy, log[begin + at], place + begin + at, duel)
            elif why == APART_OR_WRONG:
                event = log[begin + at]
                if event.kind in _APART:
                    ledger.asked = int(rows.asked[0])
                else:  # it cannot have happened, and the policy itself says why
                    to_ledger(rows, policy)
                _live(policy, event, place + begin + at)
                at += 1
    to_ledger(rows, policy)


def _agree_within(policy: Policy, event: Event, place: int, duel: Duel) -> None:
    if not (0 <= duel.first < policy.arms and 0 <= duel.second < policy.arms):
        error = no_such_arms(policy, duel.first, duel.second, duel.round)
        raise _impossible(event, place, error)
    _agree(event, place, duel)
