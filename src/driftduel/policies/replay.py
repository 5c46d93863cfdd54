"""Rebuild a policy from its event log: the state is a fold over the log, equal to the bit.

The log is the only record needed to recover a policy: replay it from the spec and the seed, or
replay the later events on a snapshot. `fold` asks the policy for each duel and compares it with
the log, so a log of another policy, seed or version raises `LogError`.

Compiled policies are replayed by a compiled loop; plain Python policies, rare kinds of events and
invalid events by `_replay_event`, which calls the public methods and is the reference
implementation of the loop.
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from driftduel._internal.kernel_random import address_of
from driftduel.errors import DriftduelError, LogError
from driftduel.policies._fold_loop import (
    DISAGREES,
    FINISHED,
    FULL,
    MUST_GROW,
    NEEDS_PYTHON,
    compiled_fold,
    from_ledger,
    make_room,
    to_ledger,
)
from driftduel.policies.base import KernelPolicy, Policy, no_such_arms
from driftduel.policies.events import Event, EventLog
from driftduel.policies.ledger import Duel
from driftduel.requests import ScaledRequest

__all__ = ["fold"]

_EVENTS_A_CALL = 1 << 13  # bounds a compiled call to a few milliseconds, so Ctrl-C is handled
_RESTARTS_A_CALL = 1024
_WITHOUT_DUEL = ("joined", "left", "heard", "priced")  # kinds without a duel


def fold(policy: Policy, log: EventLog | Iterable[EventLog]) -> Policy:
    """Return a copy of a policy after replaying an event log.

    Record, generators, pending duels and held answers are equal to the bit to those after the
    method calls that the log describes. The argument `policy` is not modified, also if an
    exception is raised.

    Parameters
    ----------
    policy
        A new instance, or one restored from a snapshot, with the settings (order, ties, mode)
        that were in use when the log was written.
    log
        The events since then; or an iterable of logs in order of time, for logs that exceed
        memory.

    Returns
    -------
    Policy
        A new instance of the same class.

    Raises
    ------
    LogError
        If an event is impossible or its duel differs from the policy's choice. The message has
        the index of the event, counted from 0 through all logs.

    Examples
    --------
    >>> from driftduel.policies import Event, make_policy
    >>> fresh = make_policy("dts", arms=3, seed=2)
    >>> first, second, _ = make_policy("dts", arms=3, seed=2).choose(1)
    >>> log = EventLog([Event("asked", 1, first, second), Event("told", 1, first)])
    >>> fold(fresh, log).get_state()["wins"].sum(), fresh.get_state()["wins"].sum()
    (np.float64(1.0), np.float64(0.0))
    """
    policy = deepcopy(policy)
    place = 0
    for part in (log,) if isinstance(log, EventLog) else log:
        (_fold_fast if _is_compiled(policy) else _fold_slowly)(policy, part, place)
        place += len(part)
    return policy


def _is_compiled(policy: Policy) -> bool:
    """Return whether all methods that `fold` replays are those of `KernelPolicy`, on duels."""
    methods = ("choose", "learn", "ask", "tell", "tell_first_won", "forget")
    return (
        isinstance(policy, KernelPolicy)
        and policy.slate == 2
        and all(getattr(type(policy), name) is getattr(KernelPolicy, name) for name in methods)
    )


def _fold_slowly(policy: Policy, log: EventLog, place: int) -> None:
    for at, event in enumerate(log, start=place):
        _replay_event(policy, event, at)


def _replay_event(policy: Policy, event: Event, place: int) -> None:
    """Replay one event with the policy's public methods."""
    kind, t, arm, other, won, notes = event
    ledger = policy.ledger
    try:
        if kind == "asked":
            _check_choice(event, place, _ask_again(policy, notes))
        elif kind == "joined":
            policy.admit(None if arm == policy.arms else arm)
        elif kind == "left":
            policy.retire(arm)
        elif kind == "heard":
            _repeat_vote(policy, arm, other, (other, arm, None)[won], notes)
        elif kind == "priced":
            policy.set_prices(notes)
        else:
            duel = ledger.open.get(t)
            if duel is None:
                said = "already answered" if t <= ledger.asked else "never asked for"
                raise DriftduelError(f"the duel of round {t} was {said}.")
            if kind == "forgotten":
                policy.forget(duel)
            elif kind == "decided":
                policy.tell_first_won(duel, won)
            elif kind == "ranked":
                arms: Any = [int(arm) if arm.is_integer() else arm for arm in notes]
                policy.tell(duel, ranking=arms)
            else:
                policy.tell(duel, arm if kind == "told" else None)
    except LogError:
        raise
    except DriftduelError as error:
        raise _event_error(event, place, error) from None


def _ask_again(policy: Policy, notes: tuple[float, ...]) -> Duel:
    """Ask for a duel, with the request at the end of its notes if the policy takes one."""
    shape = policy.request_shape
    if not shape.features:
        return policy.ask()
    return policy.ask(ScaledRequest(notes[-shape.size :]) if notes else None)


def _repeat_vote(
    policy: Any, first: int, second: int, winner: int | None, notes: tuple[float, ...]
) -> None:
    weight, *request = notes
    if request or policy.request_shape.features:
        scaled = ScaledRequest(request) if request else None
        policy.scaled(scaled)  # a policy without requests refuses it here
        policy.add_past_vote(first, second, winner, weight, request=scaled)
    else:
        policy.add_past_vote(first, second, winner, weight)


def _event_error(event: Event, place: int, error: DriftduelError) -> LogError:
    return LogError(f"event {place} of the log ({event.kind}): {error}", place, event.round or None)


def _check_choice(event: Event, place: int, duel: Duel) -> None:
    """Raise LogError if the duel in the log differs from the policy's choice `duel`."""
    first, second, t, notes, _ = duel
    if event.round != t:
        raise LogError(
            f"event {place} of the log asks for round {event.round}; the expected round is {t}.",
            place,
            event.round,
        )
    logged, asked = (event.arm, event.other, event.notes), (first, second, notes)
    if logged[:2] != asked[:2]:
        what = f"the duel of {event.arm} and {event.other}", f"that of {first} and {second}"
    elif event.notes not in ((), notes):
        what = f"a duel with the notes {_text_of(event.notes)}", f"one with {_text_of(notes)}"
    else:
        return
    raise LogError(
        f"event {place} of the log has {what[0]} in round {t}; the policy asks for {what[1]}.",
        place,
        t,
        logged,
        asked,
    )


def _text_of(notes: tuple[float, ...]) -> str:
    return ", ".join(map(repr, notes[:4])) + (", ..." if len(notes) > 4 else "")


def _fold_fast(policy: Any, log: EventLog, place: int) -> None:
    """Replay in compiled code, in calls of at most `_EVENTS_A_CALL` events."""
    ledger = policy.ledger
    in_turn, flips = ledger.order == "asked", ledger.ties == "coin"
    coins = address_of(ledger.coins)
    restarts = np.empty(_RESTARTS_A_CALL, np.int64)
    rows = from_ledger(policy)
    size = policy.request_shape.size if policy.request_shape.features else 0
    for begin in range(0, len(log), _EVENTS_A_CALL):
        columns = log.columns(begin, begin + _EVENTS_A_CALL)
        until = columns.noted.cumsum()
        rows = make_room(rows, len(until))
        at, why = 0, FULL
        while why != FINISHED:
            at, why, seen, pair = compiled_fold(policy.kernels)(
                columns, until, at, rows, policy.state, policy.rng_address, policy.scratch,
                policy.arms, policy.unanswered, in_turn, flips, coins, restarts, size,
            )  # fmt: skip
            ledger.restarts.extend(restarts[:seen].tolist())
            if why == MUST_GROW:
                policy.grow()
            elif why == DISAGREES:
                notes = tuple(policy.scratch.tolist())
                duel = Duel(int(pair[0]), int(pair[1]), int(rows.asked[0]) + 1, notes)
                _check_compiled_choice(policy, log[begin + at], place + begin + at, duel)
            elif why == NEEDS_PYTHON:
                event = log[begin + at]
                if event.kind in _WITHOUT_DUEL:
                    ledger.asked = int(rows.asked[0])
                else:  # an invalid event: the public method raises the error that explains it
                    to_ledger(rows, policy)
                _replay_event(policy, event, place + begin + at)
                at += 1
    to_ledger(rows, policy)


def _check_compiled_choice(policy: Policy, event: Event, place: int, duel: Duel) -> None:
    if not (0 <= duel.first < policy.arms and 0 <= duel.second < policy.arms):
        error = no_such_arms(policy, duel.first, duel.second, duel.round)
        raise _event_error(event, place, error)
    _check_choice(event, place, duel)
