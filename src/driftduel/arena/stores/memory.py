"""A store that forgets everything: for trying things, for tests, and as the yardstick of speed."""

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from driftduel.arena.records import Record, ref_of
from driftduel.arena.stores.base import (
    PREFIX,
    SNAPSHOTS,
    Append,
    Chain,
    Hook,
    OptionText,
    StoreError,
    Token,
)
from driftduel.arena.stores.checks import SequenceChecker, matches_token, require_hook_capacity

__all__ = ["MemoryStore"]


@dataclass
class _ArenaData:
    """What is kept of one arena."""

    secret: bytes
    log: list[Record] = field(default_factory=list)
    votes: dict[int, Record] = field(default_factory=dict)
    snapshots: list[tuple[int, bytes]] = field(default_factory=list)
    options: dict[str, OptionText] = field(default_factory=dict)
    voters: dict[bytes, str] = field(default_factory=dict)
    events: list[tuple[int, str]] = field(default_factory=list)

    def extend(self, records: Iterable[Record]) -> None:
        for record in records:
            self.log.append(record)
            if (ref := ref_of(record)) is not None:
                self.votes[ref] = record


class MemoryStore:
    """A store without a file."""

    url = "memory:"

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._arenas: dict[str, _ArenaData] = {}
        self._tokens: dict[bytes, tuple[str, str, str]] = {}
        self._hooks: dict[str, Hook] = {}
        self._owned: set[str] = set()
        self._listeners: list[Callable[[str], None]] = []

    def append(self, batch: Sequence[Append]) -> list[Exception | None]:
        """Append to any number of arenas, as far as they fit."""
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
        kept = self._arenas[entry.arena]
        kept.extend(entry.records)
        for key, pseudonym in entry.voters:
            kept.voters.setdefault(key, pseudonym)
        kept.events += [(seq, content) for seq, _, content in entry.events]
        if entry.snapshot is not None:
            others = [each for each in kept.snapshots if each[0] != len(kept.log)]
            kept.snapshots = [*others, (len(kept.log), entry.snapshot)][-SNAPSHOTS:]

    def records(
        self, arena: str, after: int = 0, limit: int = 10_000, *, verified: bool = False
    ) -> list[Record]:
        """Read records that come after one, in order; objects in memory need no hashes."""
        with self._lock:
            kept = self._arenas.get(arena)
            return [] if kept is None else kept.log[max(after, 0) : max(after, 0) + max(limit, 0)]

    def chain(self, arena: str, upto: int) -> Chain:
        """Return an empty chain: objects in memory need no hashes."""
        return Chain(0, None)

    def last_seq(self, arena: str) -> int:
        """Return the place of the newest record; 0 if there is none."""
        with self._lock:
            kept = self._arenas.get(arena)
            return 0 if kept is None else len(kept.log)

    def vote_of(self, arena: str, ref: int) -> Record | None:
        """Find the newest vote of a duel."""
        with self._lock:
            kept = self._arenas.get(arena)
            return None if kept is None else kept.votes.get(ref)

    def newest_snapshot(self, arena: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """Return the newest snapshot and the record it is of."""
        with self._lock:
            kept = self._arenas.get(arena)
            for seq, state in reversed(kept.snapshots if kept else ()):
                if upto is None or seq <= upto:
                    return seq, state
            return None

    def create(
        self, arena: str, secret: bytes, records: Sequence[Record], options: Sequence[OptionText]
    ) -> None:
        """Make an arena with its first records; its name must be free."""
        with self._lock:
            if arena in self._arenas:
                raise StoreError(f"there is an arena {arena!r} already.")
            if (trouble := SequenceChecker({arena: 0}).check(Append(arena, records))) is not None:
                raise trouble
            kept = self._arenas[arena] = _ArenaData(secret)
            kept.extend(records)
            kept.options.update((option.id, option) for option in options)

    def arenas(self) -> list[str]:
        """Name all arenas, in order."""
        with self._lock:
            return sorted(self._arenas)

    def exists(self, arena: str) -> bool:
        """Tell whether there is an arena of this name."""
        with self._lock:
            return arena in self._arenas

    def secret(self, arena: str) -> bytes:
        """Return what the arena's duels are signed with."""
        with self._lock:
            return self._require_arena(arena).secret

    def _require_arena(self, arena: str) -> _ArenaData:
        if arena not in self._arenas:
            raise StoreError(f"there is no arena {arena!r}.")
        return self._arenas[arena]

    def options(self, arena: str) -> list[OptionText]:
        """Return what people see of the options."""
        with self._lock:
            kept = self._arenas.get(arena)
            return list(kept.options.values()) if kept else []

    def put_options(self, arena: str, options: Sequence[OptionText]) -> None:
        """Add options, or change those that are there."""
        with self._lock:
            self._require_arena(arena).options.update((option.id, option) for option in options)

    def put_token(self, digest: bytes, arena: str, scope: str, label: str) -> None:
        """Let the token with this digest do something."""
        with self._lock:
            self._tokens[digest] = (arena, scope, label)

    def token(self, digest: bytes) -> tuple[str, str] | None:
        """Return the arena and the scope of a token."""
        with self._lock:
            found = self._tokens.get(digest)
            return None if found is None else found[:2]

    def tokens(self, arena: str) -> list[Token]:
        """List an arena's tokens."""
        with self._lock:
            return sorted(
                Token(digest.hex()[:PREFIX], scope, label)
                for digest, (whose, scope, label) in self._tokens.items()
                if whose == arena
            )

    def drop_token(self, arena: str, prefix_or_label: str) -> int:
        """Forget tokens by their label, or by eight or more digits."""
        with self._lock:
            gone = [
                digest
                for digest, (whose, _, label) in self._tokens.items()
                if whose == arena and matches_token(digest, label, prefix_or_label)
            ]
            for digest in gone:
                del self._tokens[digest]
            return len(gone)

    def voter(self, arena: str, key: bytes) -> str | None:
        """Return a voter's pseudonym."""
        with self._lock:
            kept = self._arenas.get(arena)
            return kept.voters.get(key) if kept else None

    def put_voter(self, arena: str, key: bytes, pseudonym: str) -> str:
        """Give a voter a pseudonym, and return it; one that it has already wins."""
        with self._lock:
            return self._require_arena(arena).voters.setdefault(key, pseudonym)

    def drop_voter(self, arena: str, key: bytes) -> bool:
        """Forget whose pseudonym it was."""
        with self._lock:
            kept = self._arenas.get(arena)
            return kept is not None and kept.voters.pop(key, None) is not None

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
        """List who is told of an arena."""
        with self._lock:
            return sorted(hook for hook in self._hooks.values() if hook.arena == arena)

    def drop_hook(self, arena: str, hook: str) -> bool:
        """Tell somebody no more."""
        with self._lock:
            if hook not in self._hooks or self._hooks[hook].arena != arena:
                return False
            del self._hooks[hook]
        self._announce(arena)
        return True

    def events(self, arena: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Return seq and content of events after a record, in order; all of a record or none."""
        with self._lock:
            kept = self._arenas.get(arena)
            found = [event for event in (kept.events if kept else ()) if event[0] > after]
            seqs = sorted({seq for seq, _ in found})[:limit]
            return [event for event in found if event[0] in seqs]

    def arenas_with_hooks(self) -> list[str]:
        """Name the arenas that have webhooks."""
        with self._lock:
            return sorted({hook.arena for hook in self._hooks.values()})

    def arenas_behind(self) -> list[str]:
        """Name the arenas with events that not all of their webhooks have been sent."""
        with self._lock:
            return sorted(
                {h.arena for h in self._hooks.values() if self.events(h.arena, h.done, 1)}
            )

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call a function when an arena has new events or other webhooks."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _announce(self, arena: str) -> None:
        for listener in list(self._listeners):
            listener(arena)

    def mark_delivered(self, hook: str, seq: int) -> None:
        """Remember how far somebody was told; it never goes back."""
        with self._lock:
            if hook in self._hooks and self._hooks[hook].done < seq:
                self._hooks[hook] = self._hooks[hook]._replace(done=seq)

    def own(self, arena: str) -> bool:
        """Own an arena: nobody else could."""
        self._owned.add(arena)
        return True

    def disown(self, arena: str) -> None:
        """Let others own it."""
        self._owned.discard(arena)

    def owner(self, arena: str) -> str | None:
        """Say which process owns an arena."""
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
        """Name the arenas that this process owns."""
        return frozenset(self._owned)

    def close(self) -> None:
        """Disown everything; who still holds the store may go on with it."""
        self._owned.clear()
