"""The lines of an arena's files as types, from which their JSON Schemas are made."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from driftduel.arena.tags import LONGEST_REASON, LONGEST_TAG

__all__ = ["FILES", "ExportedVote", "ItemLine", "PreferencePair", "file_schema"]

Text = Annotated[str, Meta(max_length=100_000)]
Tag = Annotated[str, Meta(min_length=1, max_length=LONGEST_TAG)]
Moment = Annotated[str, Meta(description="ISO 8601, UTC, with milliseconds")]


class ItemLine(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An item: a line of the file for ``arena new --items`` and ``arena items``."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    """Unique in the arena."""
    answers: Annotated[dict[str, Text | dict[str, Text]], Meta(min_length=1)]
    """Answers by the name of the option: Markdown, ``{"image": URL}``, ``{"audio": URL}``, or an
    object with ``kind`` (text, markdown, image, audio) and ``content``."""
    prompt: Text | dict[str, Text] | None = None
    tags: dict[str, Tag | list[Tag]] = {}


class ExportedVote(Struct, forbid_unknown_fields=True):
    """A vote: a line of ``arena export`` as JSON lines."""

    seq: int
    """Record of the log."""
    time: Moment | None
    """Time of the vote; null if it was imported without one."""
    first: str | None
    """Option on the left; null for a slate."""
    second: str | None
    """Option on the right; null for a slate."""
    winner: str
    """One of the options, or ``tie``, also for "both bad"."""
    voter: str | None
    """Pseudonym; null for votes without a voter."""
    counted: bool
    """False beyond the voter's daily cap."""
    options: str | None
    """Options present from here on, as a JSON array, where they change."""
    duel: int | None
    """Number of the duel; null if the vote was imported."""
    item: str | None
    """Id of the item."""
    pick: Literal["left", "right", "tie", "both-bad", "ranked"]
    asked: Moment | None
    """Time at which the duel was asked for."""
    reason: Annotated[str, Meta(max_length=LONGEST_REASON)] | None
    tags: dict[str, str]
    """Tags of the vote and of its item; the vote's take precedence."""
    request: dict[str, str | float] = {}
    """The request by feature; only in arenas with features."""
    shown: list[str] | None = None
    """The options in the order of their cards; only in arenas with slates."""
    ranking: list[str] | None = None
    """The option that was picked, or those that were ranked, the best first; null for a tie; only
    in arenas with slates."""


class PreferencePair(Struct, forbid_unknown_fields=True):
    """A vote with a winner as a pair for training: ``arena export --kind preferences``."""

    prompt: Text
    chosen: Text
    rejected: Text
    chosen_option: str
    rejected_option: str
    item: str
    voter: str | None
    reason: Annotated[str, Meta(max_length=LONGEST_REASON)] | None
    tags: dict[str, str | list[str]]


FILES: dict[str, type[Struct]] = {
    "items": ItemLine,
    "votes": ExportedVote,
    "preferences": PreferencePair,
}
"""The type of a line, by kind of file."""


def file_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a line, of a kind in `FILES`."""
    schema = msgspec.json.schema(FILES[kind])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
