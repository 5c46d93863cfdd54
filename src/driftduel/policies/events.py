"""Event log of a policy: plain columns, for arrays, a database or lines of JSON.

| kind | round | arm | other | won | notes |
|---|---|---|---|---|---|
| ``asked`` | its number, from 1 | the first | the second | | the duel's; empty: not recorded |
| ``told`` | of the duel | that won | | | |
| ``decided`` | of the duel | | | 1: the first, 0: the second | |
| ``tied`` | of the duel | | | | |
| ``forgotten`` | of the duel | | | | |
| ``joined`` | | added | | | |
| ``left`` | | removed | | | |
| ``heard`` | | one of two | the other | 1: the one, 0: the other, -1: a tie | weight, request |
| ``priced`` | | | | | the price of each arm |
| ``ranked`` | of the duel | | | | arms of the slate, the best first |

``told`` is a call of `Policy.tell`: the policy flips its separate coin for a duel of an arm with
itself; ``ranked`` is one with a ranking. ``decided`` is a call of `Policy.tell_first_won`: the
caller flipped the coin; of a slate, `won` is the code of the pick (`driftduel.policies.slates`).
``heard`` is a call of `Policy.add_past_vote`, ``priced`` one of `Policy.set_prices`. The notes of a
duel with a request end with the scaled request; such a duel cannot be asked again without them. The
notes of a slate end with its other arms. Unused fields have the default value: 0 for the round, -1
for the others. `driftduel.policies.fold` rebuilds the policy from its log.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel._internal.reading import parse_json
from driftduel.errors import DriftduelError, LogError
from driftduel.policies.base import Policy
from driftduel.policies.fields import MOST
from driftduel.policies.ledger import UNANSWERED, Duel
from driftduel.policies.slates import MOST_SHOWN, places_of
from driftduel.requests import MOST_FEATURES

__all__ = ["KINDS", "Columns", "Event", "EventLog", "Recorder"]

KINDS = (
    "asked",
    "told",
    "decided",
    "tied",
    "forgotten",
    "joined",
    "left",
    "heard",
    "priced",
    "ranked",
)
"""Kinds of events; the column `kind` holds indices into this tuple."""
_MOST_ARMS = 1 << 31
_MOST_NOTES = 1000


class Event(NamedTuple):
    """An event of a policy; the table in the module docstring lists the fields of each kind."""

    kind: str
    round: int = 0
    arm: int = -1
    other: int = -1
    won: int = -1
    notes: tuple[float, ...] = ()

    def to_json(self) -> str:
        """Return the event as one line of JSON: its kind and the fields that this kind uses."""
        said = {"kind": self.kind}
        said |= {key: getattr(self, key) for key in _BOUNDS[self.kind]}
        return json.dumps({**said, "notes": self.notes} if self.notes else said)

    @classmethod
    def from_json(cls, text: str) -> "Event":
        """Parse a line written by `to_json`; other keys of the object are ignored.

        Raises
        ------
        DriftduelError
            If the text is not a JSON object with a valid kind and the fields of that kind.
        """
        said = parse_json(text)
        if not isinstance(said, dict) or said.get("kind") not in KINDS:
            raise DriftduelError(f"an event's kind must be one of {', '.join(KINDS)}.")
        kind, notes = said["kind"], said.get("notes", ())
        missing = [key for key in _BOUNDS[kind] if key not in said]
        if missing:
            raise DriftduelError(f"an event of the kind {kind!r} must have the key {missing[0]!r}.")
        if not isinstance(notes, list | tuple):
            raise DriftduelError("an event's notes must be a list of numbers.")
        used = {key: said[key] for key in _BOUNDS[kind]}
        return cls(kind, **used, notes=tuple(notes))


_UNUSED = {"round": 0, "arm": -1, "other": -1, "won": -1}
_ROUND, _ARM = (1, MOST), (0, _MOST_ARMS - 1)
# The fields that each kind uses, with the range of their values (both ends included).
_BOUNDS: dict[str, dict[str, tuple[int, int]]] = {
    "asked": {"round": _ROUND, "arm": _ARM, "other": _ARM},
    "told": {"round": _ROUND, "arm": _ARM},
    "decided": {"round": _ROUND, "won": (0, MOST_SHOWN - 1)},
    "tied": {"round": _ROUND},
    "forgotten": {"round": _ROUND},
    "joined": {"arm": _ARM},
    "left": {"arm": _ARM},
    "heard": {"arm": _ARM, "other": _ARM, "won": (-1, 1)},
    "priced": {},
    "ranked": {"round": _ROUND},
}
# The minimum and maximum number of notes of each kind.
_NOTES = dict.fromkeys(KINDS, (0, 0)) | {
    "asked": (0, _MOST_NOTES),
    "heard": (1, 2 + MOST_FEATURES),
    "priced": (1, _MOST_NOTES),
    "ranked": (2, MOST_SHOWN),
}


class Columns(NamedTuple):
    """Events as parallel arrays with one value per event, except for the flat array of notes."""

    kind: NDArray[np.int8]
    """Index of the kind in `KINDS`."""
    round: NDArray[np.int64]
    arm: NDArray[np.int32]
    other: NDArray[np.int32]
    won: NDArray[np.int8]
    noted: NDArray[np.int64]
    """Number of notes of the event."""
    notes: NDArray[np.float64]
    """The notes of all events, concatenated."""


class EventLog:
    """An append-only list of events in order of time, stored as compact arrays.

    Instances are not thread-safe.

    Parameters
    ----------
    events
        The initial events; empty by default.

    Examples
    --------
    >>> log = EventLog([Event("asked", round=1, arm=0, other=2), Event("told", round=1, arm=2)])
    >>> print(*log.to_lines(), sep="")
    {"kind": "asked", "round": 1, "arm": 0, "other": 2}
    {"kind": "told", "round": 1, "arm": 2}
    <BLANKLINE>
    >>> EventLog.from_lines(log.to_lines()) == log
    True
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._kind, self._round = array("b"), array("q")
        self._arm, self._other, self._won = array("i"), array("i"), array("b")
        self._until, self._notes = array("q"), array("d")  # end index of each event's notes; notes
        self.extend(events)

    def __len__(self) -> int:
        return len(self._kind)

    def __getitem__(self, place: int) -> Event:
        place = range(len(self))[place]
        begin = self._until[place - 1] if place else 0
        return Event(
            KINDS[self._kind[place]],
            self._round[place],
            self._arm[place],
            self._other[place],
            self._won[place],
            tuple(self._notes[begin : self._until[place]]),
        )

    def __iter__(self) -> Iterator[Event]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventLog) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment] # mutable

    def __repr__(self) -> str:
        return f"EventLog({len(self)} events)"

    def append(self, event: Event) -> None:
        """Append an event after validation; raise LogError if it is invalid."""
        kind, *numbers, notes = event
        if kind not in KINDS:
            raise self._error(f"has the kind {kind!r:.40}; it must be one of {', '.join(KINDS)}")
        bounds = _BOUNDS[kind]
        for (key, unused), number in zip(_UNUSED.items(), numbers, strict=True):
            low, high = bounds.get(key, (unused, unused))
            if not isinstance(number, int | np.integer) or isinstance(number, bool):
                raise self._error(f"has {key}={number!r:.40}; it must be a whole number")
            if not low <= number <= high:
                raise self._error(_outside(kind, key, int(number), low, high))
        low, high = _NOTES[kind]
        if not low <= len(notes) <= high:
            raise self._error(_outside(kind, "notes", len(notes), low, high))
        if not all(type(note) is float or _is_number(note) for note in notes):
            raise self._error(f"has the notes {str(notes)[:40]}; they must be numbers")
        self._kind.append(KINDS.index(kind))
        self._round.append(numbers[0])
        self._arm.append(numbers[1])
        self._other.append(numbers[2])
        self._won.append(numbers[3])
        self._notes.extend(notes)
        self._until.append(len(self._notes))

    def extend(self, events: Iterable[Event]) -> None:
        """Append events in order; if one raises LogError, the events before it are kept."""
        for event in events:
            self.append(event)

    def _error(self, said: str) -> LogError:
        return LogError(f"event {len(self)} of the log {said}.", len(self))

    def columns(self, begin: int = 0, end: int | None = None) -> Columns:
        """Return the events with index `begin` to `end` (excluded) as new arrays."""
        begin, end, _ = slice(begin, end).indices(len(self))
        kind, round_, arm, other, won, until = (
            np.array(column[begin:end], np.dtype(column.typecode))
            for column in (self._kind, self._round, self._arm, self._other, self._won, self._until)
        )
        first = self._until[begin - 1] if begin else 0
        last = int(until[-1]) if len(until) else first
        noted = np.diff(until, prepend=first)
        notes = np.array(self._notes[first:last], np.float64)
        return Columns(kind, round_, arm, other, won, noted, notes)

    @classmethod
    def from_columns(
        cls,
        kind: ArrayLike,
        round: ArrayLike,  # noqa: A002
        arm: ArrayLike,
        other: ArrayLike,
        won: ArrayLike,
        noted: ArrayLike = (),
        notes: ArrayLike = (),
    ) -> "EventLog":
        """Return the log with the given columns, the inverse of `columns`.

        Parameters
        ----------
        kind, round, arm, other, won
            Arrays of integers, one value per event. Values in unused fields are ignored.
        noted, notes
            The number of notes of each event, and all notes concatenated. Default: no notes.

        Raises
        ------
        DriftduelError
            If lengths or types differ from this. `LogError`, a subclass, for an invalid event.
        """
        whole = {"kind": kind, "round": round, "arm": arm, "other": other, "won": won}
        columns = {key: _whole(key, values) for key, values in whole.items()}
        size = len(columns["kind"])
        columns["noted"] = _whole("noted", noted)
        if not len(columns["noted"]):
            columns["noted"] = np.zeros(size, np.int64)
        for key, column in columns.items():
            if len(column) != size:
                raise DriftduelError(
                    f"the column {key!r} of a log has {len(column)} numbers, 'kind' {size}."
                )
        flat = np.asarray(notes, np.float64).ravel()
        _check(columns)
        if columns["noted"].sum() != len(flat):
            raise DriftduelError(
                f"a log has {len(flat)} notes; by its column 'noted' it has "
                f"{columns['noted'].sum()}."
            )
        log = cls()
        for target, values in (
            (log._kind, columns["kind"]),
            (log._round, columns["round"]),
            (log._arm, columns["arm"]),
            (log._other, columns["other"]),
            (log._won, columns["won"]),
            (log._until, columns["noted"].cumsum()),
            (log._notes, flat),
        ):
            target.frombytes(values.astype(np.dtype(target.typecode)).tobytes())
        return log

    def to_lines(self) -> Iterator[str]:
        """Yield one line of JSON per event, each with a newline at the end."""
        return (f"{event.to_json()}\n" for event in self)

    @classmethod
    def from_lines(cls, lines: str | Iterable[str]) -> "EventLog":
        """Parse lines of JSON, for example an open text file; empty lines are skipped.

        Parameters
        ----------
        lines
            The result of `to_lines`, as an iterable of lines or as one string.

        Raises
        ------
        LogError
            If a line is invalid; the message has the index of the event, from 0.
        """
        log = cls()
        for line in lines.splitlines() if isinstance(lines, str) else lines:
            if line.strip():
                try:
                    event = Event.from_json(line)
                except LogError:
                    raise
                except DriftduelError as error:
                    raise LogError(f"event {len(log)} of the log: {error}", len(log)) from None
                log.append(event)
        return log


def _whole(key: str, values: ArrayLike) -> NDArray[np.int64]:
    column = np.asarray(values)
    if column.ndim != 1 or (len(column) and column.dtype.kind not in "iu"):
        raise DriftduelError(f"the column {key!r} of a log must be a 1-D integer array.")
    return column.astype(np.int64)


def _check(columns: dict[str, NDArray[np.int64]]) -> None:
    """Raise LogError for the first invalid event; set unused fields to their default."""
    kinds = columns["kind"]
    bad = (kinds < 0) | (kinds >= len(KINDS))
    trouble = []  # (index of the event, message)
    if bad.any():
        place = int(bad.argmax())
        trouble.append(
            (place, f"has the kind {kinds[place]}; it must be from 0 to {len(KINDS) - 1}")
        )
    for code, kind in enumerate(KINDS):
        mine = kinds == code
        bounds = {**_BOUNDS[kind], "noted": _NOTES[kind]}
        for key, unused in (*_UNUSED.items(), ("noted", 0)):
            column = columns[key]
            if key not in bounds:
                columns[key] = np.where(mine, unused, column)
                continue
            low, high = bounds[key]
            bad = mine & ((column < low) | (column > high))
            if bad.any():
                place = int(bad.argmax())
                what = "notes" if key == "noted" else key
                trouble.append((place, _outside(kind, what, int(column[place]), low, high)))
    if trouble:
        place, said = min(trouble)
        raise LogError(f"event {place} of the log {said}.", place)


def _outside(kind: str, key: str, number: int, low: int, high: int) -> str:
    if key == "notes":
        return f"has {number} notes; one of the kind {kind!r} has from {low} to {high}"
    if low == high:
        return f"has {key}={number}; the kind {kind!r} does not use this field"
    return f"has {key}={number}; for the kind {kind!r} it must be from {low} to {high}"


def _is_number(note: Any) -> bool:
    return type(note) is int and abs(note) <= MOST


class _Writes(Protocol):
    def append(self, event: Event) -> None: ...


class Recorder:
    """A policy together with the log of its events: each method call appends one event.

    `fold` on a new policy with this log gives a policy in the same state. A call that raises an
    exception appends nothing. Instances are not thread-safe.

    Parameters
    ----------
    policy
        The policy to call; the attribute `policy` refers to it.
    log
        The destination: an object with a method ``append(event)``, for example one that writes to
        a database. Default: a new `EventLog`.

    Examples
    --------
    >>> from driftduel.policies import fold, make_policy
    >>> live = Recorder(make_policy("king", arms=3, seed=1))
    >>> for _ in range(100):
    ...     duel = live.ask()
    ...     live.tell(duel, max(duel.first, duel.second))
    >>> fold(make_policy("king", arms=3, seed=1), live.log).best() == live.policy.best()
    True
    """

    def __init__(self, policy: Policy, log: _Writes | None = None) -> None:
        self.policy = policy
        self.log: Any = EventLog() if log is None else log

    def ask(self, request: Any = None) -> Duel:
        """Choose and return the next duel."""
        duel = self.policy.ask() if request is None else self.policy.ask(request)
        self.log.append(Event("asked", duel.round, duel.first, duel.second, notes=duel.notes))
        return duel

    @overload
    def tell(self, duel: Duel, winner: int | None) -> None: ...

    @overload
    def tell(self, duel: Duel, *, ranking: Sequence[int]) -> None: ...

    def tell(self, duel: Duel, winner: Any = ..., *, ranking: Sequence[int] | None = None) -> None:
        """Learn the winner of a pending duel, or a tie; of a slate also a ranking."""
        policy: Any = self.policy
        given = {} if winner is ... else {"winner": winner}
        policy.tell(duel, **given, **({} if ranking is None else {"ranking": ranking}))
        t = Duel.of(duel).round
        if ranking is not None:
            self._append_ranking(t, list(ranking))
        else:
            self.log.append(Event("tied", t) if winner is None else Event("told", t, int(winner)))

    def tell_first_won(self, duel: Duel, won: int) -> None:
        """Learn the result of a pending duel as a number, as `Policy.tell_first_won` does."""
        self.policy.tell_first_won(duel, won)
        duel = Duel.of(duel)
        places = places_of(won)
        if len(places) > 1:
            self._append_ranking(duel.round, [duel.shown[place] for place in places])
            return
        t, unknown = duel.round, won == UNANSWERED
        self.log.append(Event("forgotten", t) if unknown else Event("decided", t, won=int(won)))

    def _append_ranking(self, t: int, arms: list[int]) -> None:
        if len(arms) == 1:
            self.log.append(Event("told", t, int(arms[0])))
        else:
            self.log.append(Event("ranked", t, notes=tuple(float(arm) for arm in arms)))

    def forget(self, duel: Duel) -> None:
        """Drop a pending duel without a result."""
        self.policy.forget(duel)
        self.log.append(Event("forgotten", Duel.of(duel).round))

    def admit(self, arm: int | None = None) -> int:
        """Add a new arm or restore a retired one; return its index."""
        arm = self.policy.admit(arm)
        self.log.append(Event("joined", arm=arm))
        return arm

    def retire(self, arm: int) -> None:
        """Remove an arm."""
        self.policy.retire(arm)
        self.log.append(Event("left", arm=int(arm)))

    def set_prices(self, prices: ArrayLike) -> None:
        """Replace the prices of all arms."""
        self.policy.set_prices(prices)
        notes = np.asarray(prices, np.float64).tolist()
        self.log.append(Event("priced", notes=tuple(notes)))

    def add_past_vote(
        self,
        first: int,
        second: int,
        winner: int | None,
        weight: float = 1.0,
        request: Any = None,
    ) -> None:
        """Learn from a vote on a pair that this policy did not choose."""
        scaled: tuple[float, ...] = ()
        policy: Any = self.policy
        if policy.request_shape.features or request is not None:
            scaled = policy.scaled(request)
            policy.add_past_vote(first, second, winner, weight, request=scaled)
        else:
            policy.add_past_vote(first, second, winner, weight)
        won = -1 if winner is None else int(winner == first)
        self.log.append(Event("heard", 0, int(first), int(second), won, (float(weight), *scaled)))
