"""Events of an arena that webhooks deliver, with the facts as of their record."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from driftduel._internal import wording
from driftduel.evidence import ALPHA

__all__ = ["EVENTS", "ArenaEvent", "events_of", "has_events", "message"]

EVENTS: tuple[Literal["alarm", "certified", "changed", "sure", "closed"], ...]
EVENTS = ("alarm", "certified", "changed", "sure", "closed")
"""All events, in the order in which those of one record are sent."""
_KEYS = frozenset(("alarm", "certified", "leads", "sure"))


class ArenaEvent(msgspec.Struct, frozen=True):
    """An event of an arena. Options are stored as indices, because their names can change.

    Instances are immutable; the values are those after the record `seq`.
    """

    kind: str
    seq: int
    at: int
    """Milliseconds since 1970."""
    leader: int | None
    previous: int | None
    """The option that led before the last change of the leader."""
    sure: bool
    votes: int
    changes: list[list[int]] = []
    """For ``certified``: per change the options before and after, first and last vote."""


def has_events(kind: str, body: Mapping[str, Any]) -> bool:
    """Return whether a record may hold an event; a cheap test, called for every record."""
    return not _KEYS.isdisjoint(body) or kind == "closed"


def events_of(
    kind: str,
    body: Mapping[str, Any],
    *,
    seq: int,
    at: int,
    leader: int | None,
    previous: int | None,
    sure: bool,
    votes: int,
) -> list[ArenaEvent]:
    """Return the events of a record; the keyword arguments are values of the state after it."""
    happened = {
        "alarm": body.get("alarm"),
        "certified": body.get("certified"),
        "changed": "leads" in body,
        "sure": body.get("sure"),
        "closed": kind == "closed",
    }
    return [
        ArenaEvent(each, seq, at, leader, previous, sure, votes,
              body["certified"] if each == "certified" else [])
        for each in EVENTS if happened[each]
    ]  # fmt: skip


def message(event: ArenaEvent, arena: str, names: Mapping[int, Mapping[str, str]]) -> bytes:
    """Return the JSON body of a webhook request.

    Parameters
    ----------
    event, arena
        The event, and the name of its arena.
    names
        Dict with id and name of every option, by its index.
    """

    def option(arm: int | None) -> Mapping[str, str] | None:
        return None if arm is None else names.get(arm)

    body: dict[str, Any] = {
        "type": event.kind,
        "arena": arena,
        "seq": event.seq,
        "at": event.at,
        "leader": option(event.leader),
        "previous": option(event.previous),
        "sure": event.sure,
        "votes": event.votes,
        "text": _text(event, arena, names),
    }
    if event.changes:
        body["certified_changes"] = [
            {
                "before": names[before]["name"], "after": names[after]["name"],
                "from_vote": first, "to_vote": last, "level": ALPHA,
                "before_id": names[before]["id"], "after_id": names[after]["id"],
            }
            for before, after, first, last in event.changes
        ]  # fmt: skip
    return msgspec.json.encode(body)


def _text(event: ArenaEvent, arena: str, names: Mapping[int, Mapping[str, str]]) -> str:
    """Return a sentence about an event, for chat programs."""

    def name(arm: int | None) -> str:
        return names[arm]["name"] if arm is not None and arm in names else "no option"

    leader, votes = name(event.leader), f"after {wording.counted(event.votes, 'vote')}"
    before = f"; before, it was {name(event.previous)}" if event.previous is not None else ""
    match event.kind:
        case "alarm":
            return f"{arena}: the leader was beaten, {votes}. {leader} leads now{before}."
        case "certified":
            return f"{arena}: " + " ".join(
                f"Preferences between {name(old)} and {name(new)} changed between vote {first:,} "
                f"and vote {last:,} (certified): {name(new)} is preferred now."
                for old, new, first, last in event.changes
            )
        case "changed":
            return f"{arena}: {leader} leads now, {votes}{before}."
        case "sure":
            return f"{arena}: the board is sure of {leader}, {votes}."
    certainty = "sure" if event.sure else "not sure"
    return f"{arena} is closed {votes}. {leader} leads; the board is {certainty}."
