"""A store without persistence: for trials, for tests, and as a reference for benchmarks."""

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from driftduel.arena.records import Record, ref_of
from driftduel.arena.stores.base import (
    KEPT_EVENTS,
    PREFIX,
    SNAPSHOTS,
    Append,
    Chain,
    Hook,
    ItemRow,
    OptionText,
    StoreError,
    Token,
)
from driftduel.arena.stores.checks import SequenceChecker, matches_token, require_hook_capacity

__all__ = ["MemoryStore"]


@dataclass
class _ArenaData:
    """The data of one arena; access requires the lock of the store object."""

    secret: bytes
    log: list[Record] = field(default_factory=list)
    votes: dict[int, Record] = field(default_factory=dict)
    snapshots: list[tuple[int, bytes]] = field(default_factory=list)
    options: dict[str, OptionText] = field(default_factory=dict)
    items: dict[int, ItemRow] = field(default_factory=dict)
    numbers: dict[str, list[int]] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    page: str | None = None
    voters: dict[bytes, str] = field(default_factory=dict)
    events: list[tuple[int, str]] = field(default_factory=list)

    def extend(self, records: Iterable[Record]) -> None:
        for record in records:
            self.log.append(record)
            if (ref := ref_of(record)) is not None:
                self.votes[ref] = record


class MemoryStore:
    """A store in memory, for one process. All methods are thread-safe."""

    url = "memory:"
    is_local = True

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._arenas: dict[str, _ArenaData] = {}
        self._tokens: dict[bytes, tuple[str, str, str]] = {}
        self._hooks: dict[str, Hook] = {}
        self._owned: set[str] = set()
        self._listeners: list[Callable[[str], None]] = []

    def append(self, batch: Sequence[Append]) -> list[Exception | None]:
        """Append to any number of arenas; return an error or None for each entry."""
        with self._lock:
            follow = SequenceChecker(
                {e.arena: len(self._arenas[e.arena].log) for e in batch if e.arena in self._arenas}
            )
            answers = [follow.check(entry) for entry in batch]
            for entry, answer in zip(batch, answers, strict=True):
                if answer is None:
                    self._append(entry)
        for entry, answer in zip(batch, answers, strict=True):
            if entry.events and answer is None:
                self._announce(entry.arena)
        return answers

    def _append(self, entry: Append) -> None:
        data = self._arenas[entry.arena]
        data.extend(entry.records)
        for key, pseudonym in entry.voters:
            data.voters.setdefault(key, pseudonym)
        data.events += [(seq, content) for seq, _, content in entry.events]
        if entry.snapshot is not None:
            others = [each for each in data.snapshots if each[0] != len(data.log)]
            data.snapshots = [*others, (len(data.log), entry.snapshot)][-SNAPSHOTS:]
            done = [hook.done for hook in self._hooks.values() if hook.arena == entry.arena]
            oldest = min(done, default=len(data.log)) - KEPT_EVENTS
            data.events = [event for event in data.events if event[0] > oldest]

    def records(
        self, arena: str, after: int = 0, limit: int = 10_000, *, verified: bool = False
    ) -> list[Record]:
        """Return records after a sequence number, in order; objects in memory have no hashes."""
        with self._lock:
            data = self._arenas.get(arena)
            return [] if data is None else data.log[max(after, 0) : max(after, 0) + max(limit, 0)]

    def chain(self, arena: str, upto: int) -> Chain:
        """Return an empty chain: objects in memory have no hashes."""
        return Chain(0, None)

    def last_seq(self, arena: str) -> int:
        """Return the sequence number of the newest record; 0 if there is none."""
        with self._lock:
            data = self._arenas.get(arena)
            return 0 if data is None else len(data.log)

    def vote_of(self, arena: str, ref: int) -> Record | None:
        """Return the newest record about a vote on a duel, or None."""
        with self._lock:
            data = self._arenas.get(arena)
            return None if data is None else data.votes.get(ref)

    def newest_snapshot(self, arena: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """Return sequence number and bytes of the newest snapshot, not newer than `upto`."""
        with self._lock:
            data = self._arenas.get(arena)
            for seq, state in reversed(data.snapshots if data else ()):
                if upto is None or seq <= upto:
                    return seq, state
            return None

    def create(
        self, arena: str, secret: bytes, records: Sequence[Record], options: Sequence[OptionText]
    ) -> None:
        """Create an arena with its first records; raise StoreError if the name is taken."""
        with self._lock:
            if arena in self._arenas:
                raise StoreError(f"arena {arena!r} exists already.")
            if (trouble := SequenceChecker({arena: 0}).check(Append(arena, records))) is not None:
                raise trouble
            data = self._arenas[arena] = _ArenaData(secret)
            data.extend(records)
            data.options.update((option.id, option) for option in options)

    def arenas(self) -> list[str]:
        """Return the names of all arenas, sorted."""
        with self._lock:
            return sorted(self._arenas)

    def exists(self, arena: str) -> bool:
        """Return whether an arena of this name exists."""
        with self._lock:
            return arena in self._arenas

    def secret(self, arena: str) -> bytes:
        """Return the key that signs the arena's duel ids."""
        with self._lock:
            return self._require_arena(arena).secret

    def _require_arena(self, arena: str) -> _ArenaData:
        if arena not in self._arenas:
            raise StoreError(f"arena {arena!r} does not exist.")
        return self._arenas[arena]

    def options(self, arena: str) -> list[OptionText]:
        """Return the texts of all options."""
        with self._lock:
            data = self._arenas.get(arena)
            return list(data.options.values()) if data else []

    def put_options(self, arena: str, options: Sequence[OptionText]) -> None:
        """Insert or update the texts of options."""
        with self._lock:
            self._require_arena(arena).options.update((option.id, option) for option in options)

    def put_items(self, arena: str, items: Sequence[ItemRow]) -> None:
        """Insert or update items."""
        with self._lock:
            data = self._require_arena(arena)
            for item in items:
                before = data.items.get(item.number)
                if before is not None:
                    data.numbers[before.id].remove(item.number)
                data.items[item.number] = item
                data.numbers.setdefault(item.id, []).append(item.number)

    def items(self, arena: str, after: int = 0, limit: int = 1000) -> list[ItemRow]:
        """Return items after a number, in order."""
        with self._lock:
            data = self._arenas.get(arena)
            numbers = sorted(number for number in (data.items if data else ()) if number > after)
            return [] if data is None else [data.items[each] for each in numbers[: max(limit, 0)]]

    def item(self, arena: str, number: int) -> ItemRow | None:
        """Return the item with this number, or None."""
        with self._lock:
            data = self._arenas.get(arena)
            return data.items.get(number) if data else None

    def items_at(self, arena: str, numbers: Sequence[int]) -> list[ItemRow]:
        """Return the items with these numbers in any order, without those that do not exist."""
        with self._lock:
            data = self._arenas.get(arena)
            items = {} if data is None else data.items
            return [items[number] for number in dict.fromkeys(numbers) if number in items]

    def item_numbers(self, arena: str, ids: Sequence[str]) -> list[tuple[str, int]]:
        """Return id and number of every version of these items, sorted by number."""
        with self._lock:
            data = self._arenas.get(arena)
            found = [
                (number, each)
                for each in set(ids)
                for number in (data.numbers if data else {}).get(each, ())
            ]
            return [(each, number) for number, each in sorted(found)]

    def put_file(self, arena: str, file: str, media: str, data: bytes) -> None:
        """Store a file; an existing id keeps its data."""
        with self._lock:
            self._require_arena(arena).files.setdefault(file, (media, data))

    def file(self, arena: str, file: str) -> tuple[str, bytes] | None:
        """Return media type and data of a file, or None."""
        with self._lock:
            data = self._arenas.get(arena)
            return data.files.get(file) if data else None

    def put_page(self, arena: str, settings: str) -> None:
        """Store the settings of the vote page."""
        with self._lock:
            self._require_arena(arena).page = settings

    def page(self, arena: str) -> str | None:
        """Return the settings of the vote page, or None."""
        with self._lock:
            data = self._arenas.get(arena)
            return data.page if data else None

    def put_token(self, digest: bytes, arena: str, scope: str, label: str) -> None:
        """Store a token's digest with a scope."""
        with self._lock:
            self._tokens[digest] = (arena, scope, label)

    def token(self, digest: bytes) -> tuple[str, str] | None:
        """Return the arena and the scope of a token; None if it is unknown."""
        with self._lock:
            found = self._tokens.get(digest)
            return None if found is None else found[:2]

    def tokens(self, arena: str) -> list[Token]:
        """Return the tokens of an arena as a list."""
        with self._lock:
            return sorted(
                Token(digest.hex()[:PREFIX], scope, label)
                for digest, (owner, scope, label) in self._tokens.items()
                if owner == arena
            )

    def drop_token(self, arena: str, prefix_or_label: str) -> int:
        """Delete tokens by label, or by at least eight digits; return their number."""
        with self._lock:
            gone = [
                digest
                for digest, (owner, _, label) in self._tokens.items()
                if owner == arena and matches_token(digest, label, prefix_or_label)
            ]
            for digest in gone:
                del self._tokens[digest]
            return len(gone)

    def voter(self, arena: str, key: bytes) -> str | None:
        """Return the pseudonym of a voter, or None."""
        with self._lock:
            data = self._arenas.get(arena)
            return data.voters.get(key) if data else None

    def put_voter(self, arena: str, key: bytes, pseudonym: str) -> str:
        """Store a pseudonym unless the key has one; return the stored value."""
        with self._lock:
            return self._require_arena(arena).voters.setdefault(key, pseudonym)

    def drop_voter(self, arena: str, key: bytes) -> bool:
        """Delete the pseudonym of a key; return whether there was one."""
        with self._lock:
            data = self._arenas.get(arena)
            return data is not None and data.voters.pop(key, None) is not None

    def put_hook(
        self, arena: str, url: str, secret: bytes, events: Sequence[str], done: int = 0
    ) -> str:
        """Register a webhook for events after record `done`; return its id."""
        with self._lock:
            self._require_arena(arena)
            require_hook_capacity(len(self.hooks(arena)))
            name = secrets.token_hex(8)
            self._hooks[name] = Hook(name, arena, url, secret, tuple(events), done)
        self._announce(arena)
        return name

    def hooks(self, arena: str) -> list[Hook]:
        """Return the webhooks of an arena as a list."""
        with self._lock:
            return sorted(hook for hook in self._hooks.values() if hook.arena == arena)

    def drop_hook(self, arena: str, hook: str) -> bool:
        """Delete a webhook; return whether it existed."""
        with self._lock:
            if hook not in self._hooks or self._hooks[hook].arena != arena:
                return False
            del self._hooks[hook]
        self._announce(arena)
        return True

    def events(self, arena: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Return seq and content of events after a record, in order; records are not split."""
        with self._lock:
            data = self._arenas.get(arena)
            found = [event for event in (data.events if data else ()) if event[0] > after]
            seqs = sorted({seq for seq, _ in found})[:limit]
            return [event for event in found if event[0] in seqs]

    def arenas_with_hooks(self) -> list[str]:
        """Return the names of the arenas that have webhooks."""
        with self._lock:
            return sorted({hook.arena for hook in self._hooks.values()})

    def arenas_behind(self) -> list[str]:
        """Return the names of the arenas with undelivered events."""
        with self._lock:
            return sorted(
                {h.arena for h in self._hooks.values() if self.events(h.arena, h.done, 1)}
            )

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Register a callback for new events and webhooks; return a function to cancel it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _announce(self, arena: str) -> None:
        for listener in list(self._listeners):
            listener(arena)

    def mark_delivered(self, hook: str, seq: int) -> None:
        """Store the last delivered record of a webhook; the value never decreases."""
        with self._lock:
            if hook in self._hooks and self._hooks[hook].done < seq:
                self._hooks[hook] = self._hooks[hook]._replace(done=seq)

    def own(self, arena: str) -> bool:
        """Take the ownership of an arena, which no other process can have."""
        self._owned.add(arena)
        return True

    def disown(self, arena: str) -> None:
        """Release the ownership of an arena."""
        self._owned.discard(arena)

    def owner(self, arena: str) -> str | None:
        """Return a description of the process that owns an arena, or None."""
        return "this process" if arena in self._owned else None

    def advertise(self, address: str) -> None:
        """Do nothing: there are no other servers."""

    def owner_address(self, arena: str, any_server: bool = False) -> str | None:
        """Return None: there are no other servers."""
        return None

    def cluster_key(self) -> bytes | None:
        """Return None: there are no other servers."""
        return None

    def owned_arenas(self) -> frozenset[str]:
        """Return the names of the arenas that this process owns."""
        return frozenset(self._owned)

    def close(self) -> None:
        """Release all ownerships; the data stay in the object."""
        self._owned.clear()
