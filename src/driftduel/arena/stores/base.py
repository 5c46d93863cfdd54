"""The interface of stores: the class `ArenaStore`, its value classes and its errors."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from driftduel.arena.records import Record
from driftduel.errors import DriftduelError, LogError

__all__ = [
    "KEPT_EVENTS",
    "MOST_HOOKS",
    "PREFIX",
    "SNAPSHOTS",
    "Append",
    "ArenaStore",
    "Chain",
    "DamagedSnapshotError",
    "FencedError",
    "Hook",
    "ItemRow",
    "OptionText",
    "OwnedElsewhereError",
    "StoreError",
    "Token",
    "require_storable",
    "take",
]

#: Number of snapshots kept per arena.
SNAPSHOTS = 3
#: Number of newest records whose events are kept after delivery, for webhooks that are being
#: registered: a new one starts at a record that was the newest shortly before.
KEPT_EVENTS = 1_000
#: Maximum number of webhooks per arena.
MOST_HOOKS = 20
#: Number of digits of a token's digest that are shown.
PREFIX = 8


class StoreError(DriftduelError):
    """Raised when a store fails: full, read-only, unreachable or too slow.

    No entry of the batch was acknowledged. If the connection broke during the commit, the entries
    may have been written; reading the log shows it.
    """


class FencedError(StoreError):
    """Raised when another process has taken ownership and written these records (fencing)."""


class OwnedElsewhereError(StoreError):
    """Raised when another process owns an arena."""


class DamagedSnapshotError(LogError):
    """Raised when the checksum of a snapshot is wrong; the log itself may be intact."""

    def __init__(self, arena: str, seq: int) -> None:
        super().__init__(
            f"the snapshot of record {seq} of arena {arena!r} is damaged: its checksum differs.",
            seq,
        )


class Chain(NamedTuple):
    """The state of the hash chain of a log up to a record.

    Parameters
    ----------
    unhashed
        Number of records without a hash, all at the beginning: an earlier version wrote them.
    head
        Hash of the record; None if it has none.
    """

    unhashed: int
    head: bytes | None


class Append(NamedTuple):
    """Records to append to one arena.

    Parameters
    ----------
    arena
        Name of the arena.
    records
        Records that follow the last one of the log, without gaps.
    snapshot
        Snapshot of the state after the last of them.
    upto
        Sequence number of the snapshot, if there are no records to append.
    voters
        Keys of new voters and their pseudonyms; an existing key keeps its pseudonym.
    events
        Events of the records: seq, index within the record, content.
    """

    arena: str
    records: Sequence[Record]
    snapshot: bytes | None = None
    upto: int | None = None
    voters: Sequence[tuple[bytes, str]] = ()
    events: Sequence[tuple[int, int, str]] = ()


class OptionText(msgspec.Struct, frozen=True):
    """The texts of an option; stored beside the log, so that they can be changed and erased.

    Parameters
    ----------
    id
        Id of the option in the log.
    name
        Its name on the board.
    kind
        Kind of the content: text, markdown or image.
    content
        The content.
    """

    id: str
    name: str
    kind: str = "text"
    content: str = ""

    def __post_init__(self) -> None:
        for text in (self.id, self.name, self.kind, self.content):
            require_storable(text)


class ItemRow(NamedTuple):
    """The stored contents of an item.

    Parameters
    ----------
    number
        Its number in the log, from 1.
    id
        Its id, chosen by the owner; replaced versions have the same id.
    content
        Prompt, answers by option id, and tags, as a JSON object.
    """

    number: int
    id: str
    content: str


class Token(NamedTuple):
    """The stored attributes of a token, without the token itself.

    Parameters
    ----------
    prefix
        First digits of its digest, which identify it for its owner.
    scope
        Its scope.
    label
        A label chosen by the owner.
    """

    prefix: str
    scope: str
    label: str


class Hook(NamedTuple):
    """A webhook of an arena.

    Parameters
    ----------
    id
        Its id.
    arena
        Name of the arena.
    url
        URL of the receiver.
    secret
        Key of the signatures.
    events
        Names of the events to send.
    done
        Sequence number of the last delivered record.
    """

    id: str
    arena: str
    url: str
    secret: bytes
    events: tuple[str, ...]
    done: int


class ArenaStore(Protocol):
    """The interface of a store of arena logs. All methods are thread-safe.

    A class implements it by having these methods; no base class is required.

    Attributes
    ----------
    url
        The argument of `open_store`, without a password.
    is_local
        Whether a row is read without a network: within microseconds.
    """

    url: str
    is_local: bool

    # The log.
    def append(self, batch: Sequence[Append]) -> list[Exception | None]:
        """Append to any number of arenas in one transaction, durable when this returns.

        Returns
        -------
        For each entry None, or the exception that prevented it (for example `FencedError`) while
        the other entries were written.

        Raises
        ------
        StoreError
            If no entry could be written.
        """

    def records(
        self, arena: str, after: int = 0, limit: int = 10_000, *, verified: bool = False
    ) -> list[Record]:
        """Return at most `limit` records after a sequence number, in order.

        The default arguments return the first 10,000 records.

        Raises
        ------
        LogError
            With the argument `verified`, at the first record with a wrong hash.
        """

    def chain(self, arena: str, upto: int) -> Chain:
        """Return the number of records up to `upto` without a hash, and the hash of that record."""

    def last_seq(self, arena: str) -> int:
        """Return the sequence number of the newest record; 0 if there is none."""

    def vote_of(self, arena: str, ref: int) -> Record | None:
        """Return the newest record about a vote on a duel (`ref_of`), or None."""

    def newest_snapshot(self, arena: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """Return sequence number and bytes of the newest snapshot, not newer than `upto`.

        The default of `upto` is the end of the log.

        Raises
        ------
        DamagedSnapshotError
            If the value of its checksum is wrong.
        """

    # Tables beside the log: each call is a separate durable transaction.
    def create(
        self, arena: str, secret: bytes, records: Sequence[Record], options: Sequence[OptionText]
    ) -> None:
        """Create an arena with its first records; raise StoreError if the name is taken."""

    def arenas(self) -> list[str]:
        """Return the names of all arenas, sorted."""

    def exists(self, arena: str) -> bool:
        """Return whether an arena of this name exists."""

    def secret(self, arena: str) -> bytes:
        """Return the key that signs the arena's duel ids."""

    def options(self, arena: str) -> list[OptionText]:
        """Return the texts of all options, in the order of joining."""

    def put_options(self, arena: str, options: Sequence[OptionText]) -> None:
        """Insert or update the texts of options; the key is the attribute `id`."""

    def put_items(self, arena: str, items: Sequence[ItemRow]) -> None:
        """Insert or update items; the key is the attribute `number`."""

    def items(self, arena: str, after: int = 0, limit: int = 1000) -> list[ItemRow]:
        """Return at most `limit` items after a number, in order."""

    def item(self, arena: str, number: int) -> ItemRow | None:
        """Return the item with this number, or None."""

    def items_at(self, arena: str, numbers: Sequence[int]) -> list[ItemRow]:
        """Return the items with these numbers in any order, without those that do not exist."""

    def item_numbers(self, arena: str, ids: Sequence[str]) -> list[tuple[str, int]]:
        """Return id and number of every version of these items, sorted by number."""

    def put_file(self, arena: str, file: str, media: str, data: bytes) -> None:
        """Store a file; an existing id keeps its data. Idempotent."""

    def file(self, arena: str, file: str) -> tuple[str, bytes] | None:
        """Return media type and data of a file, or None."""

    def put_page(self, arena: str, settings: str) -> None:
        """Store the settings of the vote page, a JSON object."""

    def page(self, arena: str) -> str | None:
        """Return the settings of the vote page, or None."""

    def put_token(self, digest: bytes, arena: str, scope: str, label: str) -> None:
        """Store a token's digest with a scope; the argument `arena` is ``*`` for all arenas."""

    def token(self, digest: bytes) -> tuple[str, str] | None:
        """Return the arena and the scope of a token; None if it is unknown."""

    def tokens(self, arena: str) -> list[Token]:
        """Return the tokens of an arena as a list."""

    def drop_token(self, arena: str, prefix_or_label: str) -> int:
        """Delete tokens by label, or by at least eight digits; return their number.

        The argument is compared with both attributes.
        """

    def voter(self, arena: str, key: bytes) -> str | None:
        """Return the pseudonym of a voter, or None."""

    def put_voter(self, arena: str, key: bytes, pseudonym: str) -> str:
        """Store a pseudonym unless the key has one; return the stored value. Idempotent."""

    def drop_voter(self, arena: str, key: bytes) -> bool:
        """Delete the pseudonym of a key; return whether there was one."""

    def put_hook(
        self, arena: str, url: str, secret: bytes, events: Sequence[str], done: int = 0
    ) -> str:
        """Register a webhook for events after record `done`; return its id.

        Raises
        ------
        ArenaError
            ``too-many``, if the arena has `MOST_HOOKS`.
        """

    def hooks(self, arena: str) -> list[Hook]:
        """Return the webhooks of an arena as a list."""

    def drop_hook(self, arena: str, hook: str) -> bool:
        """Delete a webhook; return whether it existed."""

    def mark_delivered(self, hook: str, seq: int) -> None:
        """Store the last delivered record of a webhook; the value never decreases."""

    def events(self, arena: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Return seq and content of events after a record, in order; records are not split.

        Each snapshot deletes the events that no webhook still needs, except for those of the
        newest `KEPT_EVENTS` records.
        """

    def arenas_with_hooks(self) -> list[str]:
        """Return the names of the arenas that have webhooks."""

    def arenas_behind(self) -> list[str]:
        """Return the names of the arenas with undelivered events."""

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Register a callback function for new events and webhooks; return a function to cancel it.

        The callback runs in any thread. Its argument is the name of the arena, or an empty string
        if all arenas have to be examined. Changes by other processes are noticed on PostgreSQL
        only.
        """

    # Ownership.
    def own(self, arena: str) -> bool:
        """Take or keep the ownership of an arena; return whether this process has it."""

    def disown(self, arena: str) -> None:
        """Release the ownership of an arena."""

    def owner(self, arena: str) -> str | None:
        """Return a description of the process that owns an arena, or None."""

    def advertise(self, address: str) -> None:
        """Store the URL of this server for other servers; no effect for a single server."""

    def owner_address(self, arena: str, any_server: bool = False) -> str | None:
        """Return the URL of the server that owns an arena, if it is another process.

        With the argument `any_server`, the URL of some other server if the arena has no owner.
        """

    def cluster_key(self) -> bytes | None:
        """Return the key with which servers authenticate; None if there can be only one server."""

    def owned_arenas(self) -> frozenset[str]:
        """Return the names of the arenas that this process owns, as of its last heartbeat."""

    def close(self) -> None:
        """Release all ownerships, files and connections."""


def take(store: ArenaStore, arena: str) -> None:
    """Take the ownership of an arena; raise OwnedElsewhereError if another process has it."""
    if not store.own(arena):
        owner = store.owner(arena) or "another process, which has just ended"
        raise OwnedElsewhereError(
            f"arena {arena!r} in {store.url} is owned by {owner}; stop that process, or use its "
            "HTTP interface."
        )


def require_storable(text: str) -> None:
    """Raise DriftduelError if a string cannot be stored by every kind of store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        valid = False
    else:
        valid = "\0" not in text
    if not valid:
        raise DriftduelError(
            f"{text[:40]!r} has a character that cannot be stored (NUL or a lone surrogate); "
            "remove it."
        )
