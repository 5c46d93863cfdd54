"""A policy's life as a log of events: plain columns, for an array, a database or lines of JSON.

| kind | round | arm | other | won | notes |
|---|---|---|---|---|---|
| ``asked`` | its number, from 1 | the first | the second | | the duel's; none: not known |
| ``told`` | of the duel | that won | | | |
| ``decided`` | of the duel | | | 1: the first, 0: the second | |
| ``tied`` | of the duel | | | | |
| ``forgotten`` | of the duel | | | | |
| ``joined`` | | that came | | | |
| ``left`` | | that left | | | |
| ``heard`` | | one of two | the other | 1: the one, 0: the other, -1: a tie | the vote's weight |

``told`` is `Policy.tell`: the policy flips a coin of its own if the duel was an arm's with itself.
``decided`` is `Policy.tell_first_won`: whoever keeps the log flipped it. What a kind has no use for
is 0 for a round and -1 for the others. `driftduel.policies.folding` turns a log into a policy.
"""

import json
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel._reading import parse_json
from driftduel.errors import DriftduelError, LogError
from driftduel.policies.base import Policy
from driftduel.policies.fields import MOST
from driftduel.policies.ledger import UNANSWERED, Duel

__all__ = ["KINDS", "Columns", "Event", "Log", "Recorder"]

KINDS = ("asked", "told", "decided", "tied", "forgotten", "joined", "left", "heard")
"""What can happen; in the column `kind`, by its place here."""
_MOST_ARMS = 1 << 31
_MOST_NOTES = 1000


class Event(NamedTuple):
    """One thing that happened; the module's table says what each kind has a use for."""

    kind: str
    round: int = 0
    arm: int = -1
    other: int = -1
    won: int = -1
    notes: tuple[float, ...] = ()

    def to_json(self) -> str:
        """Write it as one line of JSON: its kind, and what the kind has a use for."""
        said = {"kind": self.kind}
        said |= {key: getattr(self, key) for key in _BOUNDS[self.kind]}
        return json.dumps({**said, "notes": self.notes} if self.notes else said)

    @classmethod
    def from_json(cls, text: str) -> "Event":
        """Read what `to_json` wrote; whatever else the line says is not looked at."""
        said = parse_json(text)
        if not isinstance(said, dict) or said.get("kind") not in KINDS:
            raise DriftduelError(f"an event's kind must be one of {', '.join(KINDS)}.")
        kind, notes = said["kind"], said.get("notes", ())
        missing = [key for key in _BOUNDS[kind] if key not in said]
        if missing:
            raise DriftduelError(f"an event of the kind {kind!r} must say its {missing[0]}.")
        if not isinstance(notes, list | tuple):
            raise DriftduelError("an event's notes must be a list of numbers.")
        used = {key: said[key] for key in _BOUNDS[kind]}
        return cls(kind, **used, notes=tuple(notes))


_UNUSED = {"round": 0, "arm": -1, "other": -1, "won": -1}
_ROUND, _ARM = (1, MOST), (0, _MOST_ARMS - 1)
# What each kind has a use for, and the numbers that it may be.
_BOUNDS: dict[str, dict[str, tuple[int, int]]] = {
    "asked": {"round": _ROUND, "arm": _ARM, "other": _ARM},
    "told": {"round": _ROUND, "arm": _ARM},
    "decided": {"round": _ROUND, "won": (0, 1)},
    "tied": {"round": _ROUND},
    "forgotten": {"round": _ROUND},
    "joined": {"arm": _ARM},
    "left": {"arm": _ARM},
    "heard": {"arm": _ARM, "other": _ARM, "won": (-1, 1)},
}
# How many notes each kind may have.
_NOTES = dict.fromkeys(KINDS, (0, 0)) | {"asked": (0, _MOST_NOTES), "heard": (1, 1)}


class Columns(NamedTuple):
    """Events as arrays, one number an event but for the notes."""

    kind: NDArray[np.int8]
    """Place of its kind in `KINDS`."""
    round: NDArray[np.int64]
    arm: NDArray[np.int32]
    other: NDArray[np.int32]
    won: NDArray[np.int8]
    noted: NDArray[np.int64]
    """How many notes it has."""
    notes: NDArray[np.float64]
    """The notes of all events, one after the other."""


class Log:
    """Events in the order in which they happened.

    Parameters
    ----------
    events
        What happened so far.

    Examples
    --------
    >>> log = Log([Event("asked", round=1, arm=0, other=2), Event("told", round=1, arm=2)])
    >>> print(*log.to_lines(), sep="")
    {"kind": "asked", "round": 1, "arm": 0, "other": 2}
    {"kind": "told", "round": 1, "arm": 2}
    <BLANKLINE>
    >>> Log.from_lines(log.to_lines()) == log
    True
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._kind, self._round = array("b"), array("q")
        self._arm, self._other, self._won = array("i"), array("i"), array("b")
        self._until, self._notes = array("q"), array("d")  # where an event's notes end, all notes
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
        return isinstance(other, Log) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment] # it grows

    def __repr__(self) -> str:
        return f"Log({len(self)} events)"

    def append(self, event: Event) -> None:
        """Write down one more event, after checking that it can be one."""
        kind, *numbers, notes = event
        if kind not in KINDS:
            raise self._refused(f"has the kind {kind!r:.40}; it must be one of {', '.join(KINDS)}")
        bounds = _BOUNDS[kind]
        for (key, unused), number in zip(_UNUSED.items(), numbers, strict=True):
            low, high = bounds.get(key, (unused, unused))
            if not isinstance(number, int | np.integer) or isinstance(number, bool):
                raise self._refused(f"has {key}={number!r:.40}; it must be a whole number")
            if not low <= number <= high:
                raise self._refused(_outside(kind, key, int(number), low, high))
        low, high = _NOTES[kind]
        if not low <= len(notes) <= high:
            raise self._refused(_outside(kind, "notes", len(notes), low, high))
        if not all(type(note) is float or _is_number(note) for note in notes):
            raise self._refused(f"has the notes {str(notes)[:40]}; they must be numbers")
        self._kind.append(KINDS.index(kind))
        self._round.append(numbers[0])
        self._arm.append(numbers[1])
        self._other.append(numbers[2])
        self._won.append(numbers[3])
        self._notes.extend(notes)
        self._until.append(len(self._notes))

    def extend(self, events: Iterable[Event]) -> None:
        """Write down more events; those before one that cannot be are kept."""
        for event in events:
            self.append(event)

    def _refused(self, said: str) -> LogError:
        return LogError(f"event {len(self)} of the log {said}.", len(self))

    def columns(self, begin: int = 0, end: int | None = None) -> Columns:
        """Return the events from `begin` up to `end` as arrays of their own."""
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
    ) -> "Log":
        """Make the log of which these are the columns, as `columns` returns them.

        Parameters
        ----------
        kind, round, arm, other, won
            A number for every event. What a kind has no use for may be anything.
        noted, notes
            How many notes each event has, and all notes; left out if none has.
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
        """Yield a line of JSON for every event."""
        return (f"{event.to_json()}\n" for event in self)

    @classmethod
    def from_lines(cls, lines: str | Iterable[str]) -> "Log":
        """Read lines of JSON, such as an open file has; empty ones are left out.

        Parameters
        ----------
        lines
            What `to_lines` gave, as lines or as one text.
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
        raise DriftduelError(f"the column {key!r} of a log must be whole numbers in a row.")
    return column.astype(np.int64)


def _check(columns: dict[str, NDArray[np.int64]]) -> None:
    """Refuse the first event that cannot be one; set what a kind has no use for."""
    kinds = columns["kind"]
    bad = (kinds < 0) | (kinds >= len(KINDS))
    trouble = []  # an event and what is wrong with it
    if bad.any():
        place = int(bad.argmax())
        trouble.append((place, f"has the kind {kinds[place]}; it must be from 0 to 7"))
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
        return f"has {key}={number}; the kind {kind!r} has no use for it"
    return f"has {key}={number}; for the kind {kind!r} it must be from {low} to {high}"


def _is_number(note: Any) -> bool:
    return type(note) is int and abs(note) <= MOST


class _Writes(Protocol):
    def append(self, event: Event) -> None: ...


class Recorder:
    """Live with a policy and write down every event.

    What is written down is what a policy that did the same would be by `fold`. A call that is
    refused writes nothing.

    Parameters
    ----------
    policy
        Who lives; it is at hand as `policy`.
    log
        Where events are written: anything with a method `append`, such as one that writes into a
        database.

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
        self.log: Any = Log() if log is None else log

    def ask(self) -> Duel:
        """Ask for the next duel."""
        duel = self.policy.ask()
        self.log.append(Event("asked", duel.round, duel.first, duel.second, notes=duel.notes))
        return duel

    def tell(self, duel: Duel, winner: int | None) -> None:
        """Tell which arm won a duel, or that neither did."""
        self.policy.tell(duel, winner)
        t = Duel.of(duel).round
        self.log.append(Event("tied", t) if winner is None else Event("told", t, int(winner)))

    def tell_first_won(self, duel: Duel, won: int) -> None:
        """Tell whether the first arm won (1) or lost (0); for self-duels this is the coin."""
        self.policy.tell_first_won(duel, won)
        t = Duel.of(duel).round
        unknown = won == UNANSWERED
        self.log.append(Event("forgotten", t) if unknown else Event("decided", t, won=int(won)))

    def forget(self, duel: Duel) -> None:
        """Give up on a duel whose answer will never come."""
        self.policy.forget(duel)
        self.log.append(Event("forgotten", Duel.of(duel).round))

    def admit(self, arm: int | None = None) -> int:
        """Let an arm take part, again or for the first time; return it."""
        arm = self.policy.admit(arm)
        self.log.append(Event("joined", arm=arm))
        return arm

    def retire(self, arm: int) -> None:
        """Take an arm away."""
        self.policy.retire(arm)
        self.log.append(Event("left", arm=int(arm)))

    def hear(self, first: int, second: int, winner: int | None, weight: float = 1.0) -> None:
        """Learn from a vote that nobody asked this policy for."""
        self.policy.hear(first, second, winner, weight)
        won = -1 if winner is None else int(winner == first)
        self.log.append(Event("heard", 0, int(first), int(second), won, (float(weight),)))
