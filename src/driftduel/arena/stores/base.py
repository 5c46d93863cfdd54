"""What a store is: an append-only log for every arena, and what is kept beside it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from driftduel.arena.records import Record
from driftduel.errors import DriftduelError, LogError

__all__ = [
    "MOST_HOOKS",
    "PREFIX",
    "SNAPSHOTS",
    "Append",
    "ArenaStore",
    "Chain",
    "DamagedSnapshotError",
    "FencedError",
    "Hook",
    "OptionText",
    "OwnedElsewhereError",
    "StoreError",
    "Token",
    "require_storable",
    "take",
]

#: How many snapshots of an arena are kept.
SNAPSHOTS = 3
#: How many webhooks an arena can have.
MOST_HOOKS = 20
#: How many digits of a token's digest are shown.
PREFIX = 8


class StoreError(DriftduelError):
    """Say why a store did not do what it was asked to: full, read-only, gone, too slow.

    Nothing of the batch was acknowledged. Whether it was written is not known if the connection
    broke during the very commit: whoever reads the log again finds out.
    """


class FencedError(StoreError):
    """Say that somebody else has written these records: another process owns the arena now."""


class OwnedElsewhereError(StoreError):
    """Say which process owns an arena, so that this one may not."""


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
        Its name.
    records
        They follow the log's last one, without gaps.
    snapshot
        Of the state after the last of them.
    upto
        The record that the snapshot is of, where there are no records to append.
    voters
        Keys of voters that are new, and their pseudonyms; a key that is known keeps the one it has.
    events
        Events of the records: seq, place among those of one record, content.
    """

    arena: str
    records: Sequence[Record]
    snapshot: bytes | None = None
    upto: int | None = None
    voters: Sequence[tuple[bytes, str]] = ()
    events: Sequence[tuple[int, int, str]] = ()


class OptionText(msgspec.Struct, frozen=True):
    """What people see of an option; kept beside the log, so that it can be changed and erased.

    Parameters
    ----------
    id
        Its name in the log.
    name
        Its name on the board.
    kind
        What the content is: text, markdown or image.
    content
        What is shown.
    """

    id: str
    name: str
    kind: str = "text"
    content: str = ""

    def __post_init__(self) -> None:
        for text in (self.id, self.name, self.kind, self.content):
            require_storable(text)


class Token(NamedTuple):
    """What is known of a token: never the token itself.

    Parameters
    ----------
    prefix
        The first digits of its digest, by which its owner tells it from others.
    scope
        What it allows.
    label
        What its owner called it.
    """

    prefix: str
    scope: str
    label: str


class Hook(NamedTuple):
    """Somebody who is told what happens in an arena.

    Parameters
    ----------
    id
        By which it is dropped again.
    arena
        Whose events it is told of.
    url
        Where they are sent.
    secret
        With which they are signed.
    events
        Which ones.
    done
        The last record that was delivered.
    """

    id: str
    arena: str
    url: str
    secret: bytes
    events: tuple[str, ...]
    done: int


class ArenaStore(Protocol):
    """A place for logs. All methods may be called from any thread.

    Attributes
    ----------
    url
        What `open_store` was given, without a password.
    """

    url: str

    # The log.
    def append(self, batch: Sequence[Append]) -> list[Exception | None]:
        """Append to any number of arenas in one transaction, durable when this returns.

        Returns an answer for every entry: None, or why this one was not written while the others
        were, `FencedError` above all. Raises `StoreError` if none of them could be.
        """

    def records(
        self, arena: str, after: int = 0, limit: int = 10_000, *, verified: bool = False
    ) -> list[Record]:
        """Read records that come after one, in order.

        With `verified`, raises LogError at the first record whose hash is wrong.
        """

    def chain(self, arena: str, upto: int) -> Chain:
        """Return how much of the log up to a record carries hashes, and the hash of that record."""

    def last_seq(self, arena: str) -> int:
        """Return the place of the newest record; 0 if there is none."""

    def vote_of(self, arena: str, ref: int) -> Record | None:
        """Find the newest vote of a duel (`ref_of`)."""

    def newest_snapshot(self, arena: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """Return the newest snapshot and the record it is of; not newer than `upto`.

        Raises
        ------
        DamagedSnapshotError
            If its checksum is wrong.
        """

    # Beside the log: each call is a durable transaction of its own.
    def create(
        self, arena: str, secret: bytes, records: Sequence[Record], options: Sequence[OptionText]
    ) -> None:
        """Make an arena with its first records; its name must be free."""

    def arenas(self) -> list[str]:
        """Name all arenas, in order."""

    def exists(self, arena: str) -> bool:
        """Tell whether there is an arena of this name."""

    def secret(self, arena: str) -> bytes:
        """Return what the arena's duels are signed with."""

    def options(self, arena: str) -> list[OptionText]:
        """Return what people see of the options, in the order in which they came."""

    def put_options(self, arena: str, options: Sequence[OptionText]) -> None:
        """Add options, or change those that are there."""

    def put_token(self, digest: bytes, arena: str, scope: str, label: str) -> None:
        """Let the token with this digest do something in an arena, or in all of them (``*``)."""

    def token(self, digest: bytes) -> tuple[str, str] | None:
        """Return the arena and the scope of a token."""

    def tokens(self, arena: str) -> list[Token]:
        """List an arena's tokens."""

    def drop_token(self, arena: str, prefix_or_label: str) -> int:
        """Forget tokens by their label, or by eight or more digits; return how many."""

    def voter(self, arena: str, key: bytes) -> str | None:
        """Return a voter's pseudonym."""

    def put_voter(self, arena: str, key: bytes, pseudonym: str) -> str:
        """Give a voter a pseudonym, and return it; one that it has already wins."""

    def drop_voter(self, arena: str, key: bytes) -> bool:
        """Forget whose pseudonym it was; return whether it was known."""

    def put_hook(
        self, arena: str, url: str, secret: bytes, events: Sequence[str], done: int = 0
    ) -> str:
        """Register a webhook for events after record `done`; return its id.

        Raises ArenaError (``too-many``) if the arena has `MOST_HOOKS`.
        """

    def hooks(self, arena: str) -> list[Hook]:
        """List who is told of an arena."""

    def drop_hook(self, arena: str, hook: str) -> bool:
        """Tell somebody no more; return whether there was such a hook."""

    def mark_delivered(self, hook: str, seq: int) -> None:
        """Remember how far somebody was told; it never goes back."""

    def events(self, arena: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Return seq and content of events after a record, in order; all of a record or none."""

    def arenas_with_hooks(self) -> list[str]:
        """Name the arenas that have webhooks."""

    def arenas_behind(self) -> list[str]:
        """Name the arenas with events that not all of their webhooks have been sent."""

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call a function, in any thread, when an arena has new events or other webhooks.

        It gets the arena's name, or an empty string if all arenas have to be looked at. Returns a
        function that ends this. Changes by other processes are noticed on PostgreSQL only.
        """

    # Ownership.
    def own(self, arena: str) -> bool:
        """Become the owner of an arena, or stay it; return whether this process is."""

    def disown(self, arena: str) -> None:
        """Let others own it."""

    def owner(self, arena: str) -> str | None:
        """Say which process owns an arena, in words; None if none does."""

    def advertise(self, address: str) -> None:
        """Note where other servers reach this process; without effect for a single server."""

    def owner_address(self, arena: str, any_server: bool = False) -> str | None:
        """Return the address of the process that owns an arena, if it is another one.

        With `any_server`, the address of some other process if the arena has no owner.
        """

    def cluster_key(self) -> bytes | None:
        """Return the key with which servers authenticate; None if there can be only one server."""

    def owned_arenas(self) -> frozenset[str]:
        """Name the arenas that this process owns, as far as it knows."""

    def close(self) -> None:
        """Disown everything, and let go of files and connections."""


def take(store: ArenaStore, arena: str) -> None:
    """Become the owner of an arena, or say who is."""
    if not store.own(arena):
        who = store.owner(arena) or "another process, which just ended"
        raise OwnedElsewhereError(
            f"arena {arena!r} in {store.url} is owned by {who}; end that one first, or talk to it."
        )


def require_storable(text: str) -> None:
    """Refuse what some stores cannot keep, so that all keep the same."""
    try:
        text.encode()
    except UnicodeEncodeError:
        sound = False
    else:
        sound = "\0" not in text
    if not sound:
        raise DriftduelError(
            f"{text[:40]!r} has a character that is no text (NUL, or half a character)."
        )
