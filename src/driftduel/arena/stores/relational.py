"""The common part of the SQLite and PostgreSQL stores: their statements."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from driftduel.arena.records import Record, decode_body, encode_body, ref_of
from driftduel.arena.stores.base import (
    KEPT_EVENTS,
    PREFIX,
    SNAPSHOTS,
    Append,
    Chain,
    DamagedSnapshotError,
    Hook,
    ItemRow,
    OptionText,
    StoreError,
    Token,
)
from driftduel.arena.stores.chain import checksum, genesis, link, missing, verify
from driftduel.arena.stores.checks import SequenceChecker, matches_token, require_hook_capacity

__all__ = ["RelationalStore", "RunSql", "migrations"]

T = TypeVar("T")
Row = tuple[Any, ...]
_PUT_VOTER = (
    "INSERT INTO arena_voters (arena, voter, pseudonym) VALUES (?, ?, ?)"
    " ON CONFLICT (arena, voter) DO NOTHING"
)
_PUT_ITEM = (
    "INSERT INTO arena_items (arena, number, id, content) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (arena, number) DO UPDATE SET id = excluded.id, content = excluded.content"
)
_PUT_EVENT = "INSERT INTO arena_events (arena, seq, place, content) VALUES (?, ?, ?, ?)"


# Maximum number of placeholders of a statement; SQLite before 3.32 allows 999.
_MOST_VALUES = 500


class RunSql(Protocol):
    """Runs one statement of a transaction; question marks are placeholders for values."""

    def __call__(self, sql: str, *values: Any) -> list[Row]:
        """Return the rows of the result as a list."""


def migrations(dialect: str) -> list[str]:
    """Return the numbered SQL scripts for one dialect; the first one has number 1."""
    folder = files("driftduel.arena.stores") / "sql"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    mark = f"-- {dialect}:"
    return [
        "\n".join(
            line.removeprefix(mark) for line in (folder / name).read_text("utf-8").splitlines()
        )
        for name in names
    ]


class RelationalStore(ABC):
    """Base class of stores in a relational database.

    Subclasses implement the abstract methods: connections, transactions and notifications.

    Parameters
    ----------
    url
        Name of the store in messages.
    """

    is_local = False

    def __init__(self, url: str) -> None:
        self.url = url
        self._listeners: list[Callable[[str], None]] = []

    # Methods that depend on the database.
    @abstractmethod
    def _read(self, sql: str, *values: Any) -> list[Row]:
        """Run one read-only statement with placeholder values; return its rows."""

    @abstractmethod
    def _transact(self, work: Callable[[RunSql], T]) -> T:
        """Run a function in one transaction, durable when this returns.

        The function must be idempotent: it is called again after a conflict.
        """

    @abstractmethod
    def _last_records(
        self, run: RunSql, arenas: Sequence[str]
    ) -> dict[str, tuple[int, bytes | None]]:
        """Return seq and hash of the last record, for those arenas that exist."""

    @abstractmethod
    def _run_many(self, run: RunSql, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for many rows of values."""

    @abstractmethod
    def _insert(self, run: RunSql, rows: Sequence[Row]) -> None:
        """Insert rows into the log."""

    @abstractmethod
    def _notify(self, run: RunSql, arena: str) -> None:
        """Notify other processes, at the commit, of new events or webhooks of an arena."""

    # The log.
    def append(self, batch: Sequence[Append]) -> list[Exception | None]:
        """Append to any number of arenas in one transaction, durable when this returns."""
        if not batch:
            return []
        encoded = [list(_rows(entry.arena, entry.records)) for entry in batch]

        def work(run: RunSql) -> list[Exception | None]:
            lasts = self._last_records(run, list(dict.fromkeys(entry.arena for entry in batch)))
            follow = SequenceChecker({arena: seq for arena, (seq, _) in lasts.items()})
            heads = {arena: head for arena, (_, head) in lasts.items()}
            answers: list[Exception | None] = []
            rows: list[Row] = []
            voters: list[Row] = []
            events: list[Row] = []
            snapshots: dict[str, list[tuple[int, bytes, bytes]]] = {}
            for entry, encoding in zip(batch, encoded, strict=True):
                answers.append(follow.check(entry))
                if answers[-1] is None:
                    # Inside the transaction, so that the chain continues the stored record.
                    heads[entry.arena] = _chain(entry.arena, heads[entry.arena], encoding, rows)
                    voters += [(entry.arena, *voter) for voter in entry.voters]
                    events += [(entry.arena, *event) for event in entry.events]
                    if (state := entry.snapshot) is not None:
                        seq, sum_ = follow.lasts[entry.arena], checksum(heads[entry.arena], state)
                        snapshots.setdefault(entry.arena, []).append((seq, state, sum_))
            self._insert(run, rows)
            if voters:
                self._run_many(run, _PUT_VOTER, voters)
            if events:
                self._run_many(run, _PUT_EVENT, events)
                for arena in dict.fromkeys(event[0] for event in events):
                    self._notify(run, arena)
            for arena, states in snapshots.items():
                self._put_snapshots(run, arena, states[-SNAPSHOTS:])
            return answers

        answers = self._transact(work)
        for entry, answer in zip(batch, answers, strict=True):
            if entry.events and answer is None:
                self._announce(entry.arena)
        return answers

    def _announce(self, arena: str) -> None:
        """Call the listeners of this process; overridden where the database notifies them."""
        for listener in list(self._listeners):
            listener(arena)

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Register a callback for new events and webhooks; return a function to cancel it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def events(self, arena: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Return seq and content of events after a record, in order; records are not split."""
        return [
            (seq, content)
            for seq, content in self._read(
                "SELECT seq, content FROM arena_events WHERE arena = ? AND seq IN"
                " (SELECT DISTINCT seq FROM arena_events WHERE arena = ? AND seq > ?"
                "  ORDER BY seq LIMIT ?) ORDER BY seq, place",
                arena,
                arena,
                after,
                limit,
            )
        ]

    def arenas_with_hooks(self) -> list[str]:
        """Return the names of the arenas that have webhooks."""
        return sorted(name for (name,) in self._read("SELECT DISTINCT arena FROM arena_hooks"))

    def arenas_behind(self) -> list[str]:
        """Return the names of the arenas with undelivered events."""
        rows = self._read(
            "SELECT DISTINCT arena FROM arena_hooks WHERE EXISTS (SELECT 1 FROM arena_events"
            " WHERE arena_events.arena = arena_hooks.arena AND seq > done)"
        )
        return sorted(name for (name,) in rows)

    def _put_snapshots(
        self, run: RunSql, arena: str, states: list[tuple[int, bytes, bytes]]
    ) -> None:
        """Insert snapshots of an arena; delete all but the newest, and events past their use."""
        for seq, state, sum_ in states:
            run(
                "INSERT INTO arena_snapshots (arena, seq, state, checksum) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (arena, seq) DO UPDATE SET"
                " state = excluded.state, checksum = excluded.checksum",
                arena,
                seq,
                state,
                sum_,
            )
        run(
            "DELETE FROM arena_snapshots WHERE arena = ? AND seq NOT IN"
            " (SELECT seq FROM arena_snapshots WHERE arena = ? ORDER BY seq DESC LIMIT ?)",
            arena,
            arena,
            SNAPSHOTS,
        )
        run(
            "DELETE FROM arena_events WHERE arena = ? AND seq <= (SELECT coalesce(min(done), ?)"
            " FROM arena_hooks WHERE arena = ?) - ?",
            arena,
            max(seq for seq, *_ in states),
            arena,
            KEPT_EVENTS,
        )

    def records(
        self, arena: str, after: int = 0, limit: int = 10_000, *, verified: bool = False
    ) -> list[Record]:
        """Return records after a sequence number, in order."""
        after = max(after, 0)
        rows: Iterable[Row] = self._read(
            "SELECT seq, at, kind, ref, body, hash FROM arena_log WHERE arena = ? AND seq > ?"
            " ORDER BY seq LIMIT ?",
            arena,
            after - 1 if verified else after,  # the chain starts with the hash of record `after`
            max(limit, 0) + (verified and after > 0),
        )
        if verified:
            rows = verify(arena, rows, after)
        return [_record(seq, at, kind, body) for seq, at, kind, _, body, _ in rows]

    def chain(self, arena: str, upto: int) -> Chain:
        """Return the number of records up to `upto` without a hash, and the hash of that record."""
        ((unhashed,),) = self._read(
            "SELECT count(*) FROM arena_log WHERE arena = ? AND seq <= ? AND hash IS NULL",
            arena,
            upto,
        )
        rows = self._read("SELECT hash FROM arena_log WHERE arena = ? AND seq = ?", arena, upto)
        head = rows[0][0] if rows else None
        return Chain(unhashed, None if head is None else bytes(head))

    def last_seq(self, arena: str) -> int:
        """Return the sequence number of the newest record; 0 if there is none."""
        ((last,),) = self._read("SELECT max(seq) FROM arena_log WHERE arena = ?", arena)
        return last or 0

    def vote_of(self, arena: str, ref: int) -> Record | None:
        """Return the newest record about a vote on a duel, or None."""
        rows = self._read(
            "SELECT seq, at, kind, body FROM arena_log WHERE arena = ? AND ref = ?"
            " ORDER BY seq DESC LIMIT 1",
            arena,
            ref,
        )
        return _record(*rows[0]) if rows else None

    def newest_snapshot(self, arena: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """Return sequence number and bytes of the newest snapshot, not newer than `upto`.

        Raises
        ------
        DamagedSnapshotError
            If its checksum is wrong.
        """
        # A snapshot without a checksum has the format of an earlier version, which is not read.
        rows = self._read(
            "SELECT s.seq, s.state, s.checksum, l.seq, l.hash FROM arena_snapshots s"
            " LEFT JOIN arena_log l ON l.arena = s.arena AND l.seq = s.seq"
            " WHERE s.arena = ? AND s.seq <= ? AND s.checksum IS NOT NULL"
            " ORDER BY s.seq DESC LIMIT 1",
            arena,
            2**63 - 1 if upto is None else upto,
        )
        if not rows:
            return None
        seq, state, stored, record, head = rows[0]
        if record is None:
            raise missing(arena, seq)
        if checksum(None if head is None else bytes(head), bytes(state)) != bytes(stored):
            raise DamagedSnapshotError(arena, seq)
        return seq, bytes(state)

    # Tables beside the log.
    def create(
        self, arena: str, secret: bytes, records: Sequence[Record], options: Sequence[OptionText]
    ) -> None:
        """Create an arena with its first records; raise StoreError if the name is taken."""
        if (trouble := SequenceChecker({arena: 0}).check(Append(arena, records))) is not None:
            raise trouble
        rows = list(_rows(arena, records))

        def work(run: RunSql) -> bool:
            made = run(
                "INSERT INTO arenas (name, secret) VALUES (?, ?)"
                " ON CONFLICT (name) DO NOTHING RETURNING name",
                arena,
                secret,
            )
            if made:
                hashed: list[Row] = []
                _chain(arena, None, rows, hashed)
                self._insert(run, hashed)
                _put_options(run, arena, options)
            return bool(made)

        if not self._transact(work):
            raise StoreError(f"arena {arena!r} exists already.")

    def arenas(self) -> list[str]:
        """Return the names of all arenas, sorted."""
        return sorted(name for (name,) in self._read("SELECT name FROM arenas"))

    def exists(self, arena: str) -> bool:
        """Return whether an arena of this name exists."""
        return bool(self._read("SELECT 1 FROM arenas WHERE name = ?", arena))

    def secret(self, arena: str) -> bytes:
        """Return the key that signs the arena's duel ids."""
        rows = self._read("SELECT secret FROM arenas WHERE name = ?", arena)
        if not rows:
            raise StoreError(f"arena {arena!r} does not exist.")
        return bytes(rows[0][0])

    def options(self, arena: str) -> list[OptionText]:
        """Return the texts of all options, in the order of joining."""
        rows = self._read(
            "SELECT id, name, kind, content FROM arena_options WHERE arena = ? ORDER BY place",
            arena,
        )
        return [OptionText(*row) for row in rows]

    def put_options(self, arena: str, options: Sequence[OptionText]) -> None:
        """Insert or update the texts of options."""

        def work(run: RunSql) -> None:
            _require_arena(run, arena)
            _put_options(run, arena, options)

        self._transact(work)

    def put_items(self, arena: str, items: Sequence[ItemRow]) -> None:
        """Insert or update items."""

        def work(run: RunSql) -> None:
            _require_arena(run, arena)
            self._run_many(run, _PUT_ITEM, [(arena, *item) for item in items])

        if items:
            self._transact(work)

    def items(self, arena: str, after: int = 0, limit: int = 1000) -> list[ItemRow]:
        """Return items after a number, in order."""
        rows = self._read(
            "SELECT number, id, content FROM arena_items WHERE arena = ? AND number > ?"
            " ORDER BY number LIMIT ?",
            arena,
            after,
            max(limit, 0),
        )
        return [ItemRow(*row) for row in rows]

    def item(self, arena: str, number: int) -> ItemRow | None:
        """Return the item with this number, or None."""
        sql = "SELECT number, id, content FROM arena_items WHERE arena = ? AND number = ?"
        rows = self._read(sql, arena, number)
        return ItemRow(*rows[0]) if rows else None

    def items_at(self, arena: str, numbers: Sequence[int]) -> list[ItemRow]:
        """Return the items with these numbers in any order, without those that do not exist."""
        found: list[ItemRow] = []
        for start in range(0, len(numbers), _MOST_VALUES):
            some = numbers[start : start + _MOST_VALUES]
            marks = ", ".join("?" * len(some))
            rows = self._read(
                "SELECT number, id, content FROM arena_items"
                f" WHERE arena = ? AND number IN ({marks})",
                arena,
                *some,
            )
            found += [ItemRow(*row) for row in rows]
        return found

    def item_numbers(self, arena: str, ids: Sequence[str]) -> list[tuple[str, int]]:
        """Return id and number of every version of these items, sorted by number."""
        found: list[Row] = []
        wanted = list(dict.fromkeys(ids))
        for start in range(0, len(wanted), _MOST_VALUES):
            some = wanted[start : start + _MOST_VALUES]
            marks = ", ".join("?" * len(some))
            found += self._read(
                f"SELECT number, id FROM arena_items WHERE arena = ? AND id IN ({marks})",
                arena,
                *some,
            )
        return [(each, number) for number, each in sorted(found)]

    def put_file(self, arena: str, file: str, media: str, data: bytes) -> None:
        """Store a file; an existing id keeps its data."""

        def work(run: RunSql) -> None:
            _require_arena(run, arena)
            run(
                "INSERT INTO arena_files (arena, id, media, data) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (arena, id) DO NOTHING",
                arena,
                file,
                media,
                data,
            )

        self._transact(work)

    def file(self, arena: str, file: str) -> tuple[str, bytes] | None:
        """Return media type and data of a file, or None."""
        rows = self._read(
            "SELECT media, data FROM arena_files WHERE arena = ? AND id = ?", arena, file
        )
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def put_page(self, arena: str, settings: str) -> None:
        """Store the settings of the vote page."""

        def work(run: RunSql) -> None:
            _require_arena(run, arena)
            run(
                "INSERT INTO arena_pages (arena, settings) VALUES (?, ?)"
                " ON CONFLICT (arena) DO UPDATE SET settings = excluded.settings",
                arena,
                settings,
            )

        self._transact(work)

    def page(self, arena: str) -> str | None:
        """Return the settings of the vote page, or None."""
        rows = self._read("SELECT settings FROM arena_pages WHERE arena = ?", arena)
        return rows[0][0] if rows else None

    def put_token(self, digest: bytes, arena: str, scope: str, label: str) -> None:
        """Store a token's digest with a scope, for one arena or for all (``*``)."""
        self._transact(
            lambda run: run(
                "INSERT INTO arena_tokens (digest, arena, scope, label) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (digest) DO UPDATE SET"
                " arena = excluded.arena, scope = excluded.scope, label = excluded.label",
                digest,
                arena,
                scope,
                label,
            )
        )

    def token(self, digest: bytes) -> tuple[str, str] | None:
        """Return the arena and the scope of a token; None if it is unknown."""
        rows = self._read("SELECT arena, scope FROM arena_tokens WHERE digest = ?", digest)
        return (rows[0][0], rows[0][1]) if rows else None

    def tokens(self, arena: str) -> list[Token]:
        """Return the tokens of an arena as a list."""
        rows = self._read("SELECT digest, scope, label FROM arena_tokens WHERE arena = ?", arena)
        return sorted(
            Token(bytes(digest).hex()[:PREFIX], scope, label) for digest, scope, label in rows
        )

    def drop_token(self, arena: str, prefix_or_label: str) -> int:
        """Delete tokens by label, or by at least eight digits; return their number."""

        def work(run: RunSql) -> int:
            rows = run("SELECT digest, label FROM arena_tokens WHERE arena = ?", arena)
            gone = [d for d, label in rows if matches_token(bytes(d), label, prefix_or_label)]
            for digest in gone:
                run("DELETE FROM arena_tokens WHERE digest = ?", digest)
            return len(gone)

        return self._transact(work)

    def voter(self, arena: str, key: bytes) -> str | None:
        """Return the pseudonym of a voter, or None."""
        sql = "SELECT pseudonym FROM arena_voters WHERE arena = ? AND voter = ?"
        rows = self._read(sql, arena, key)
        return rows[0][0] if rows else None

    def put_voter(self, arena: str, key: bytes, pseudonym: str) -> str:
        """Store a pseudonym unless the key has one; return the stored value."""

        def work(run: RunSql) -> str:
            _require_arena(run, arena)
            rows = run(
                "INSERT INTO arena_voters (arena, voter, pseudonym) VALUES (?, ?, ?)"
                " ON CONFLICT (arena, voter) DO UPDATE SET pseudonym = arena_voters.pseudonym"
                " RETURNING pseudonym",
                arena,
                key,
                pseudonym,
            )
            return str(rows[0][0])

        return self._transact(work)

    def drop_voter(self, arena: str, key: bytes) -> bool:
        """Delete the pseudonym of a key; return whether there was one."""
        sql = "DELETE FROM arena_voters WHERE arena = ? AND voter = ? RETURNING 1"
        return bool(self._transact(lambda run: run(sql, arena, key)))

    def put_hook(
        self, arena: str, url: str, secret: bytes, events: Sequence[str], done: int = 0
    ) -> str:
        """Register a webhook for events after record `done`; return its id."""
        name = secrets.token_hex(8)

        def work(run: RunSql) -> None:
            _require_arena(run, arena)
            ((hooks,),) = run("SELECT count(*) FROM arena_hooks WHERE arena = ?", arena)
            require_hook_capacity(hooks)
            run(
                "INSERT INTO arena_hooks (id, arena, url, secret, events, done)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                name,
                arena,
                url,
                secret,
                " ".join(events),
                done,
            )
            self._notify(run, arena)

        self._transact(work)
        self._announce(arena)
        return name

    def hooks(self, arena: str) -> list[Hook]:
        """Return the webhooks of an arena as a list."""
        rows = self._read(
            "SELECT id, arena, url, secret, events, done FROM arena_hooks WHERE arena = ?", arena
        )
        return sorted(
            Hook(name, owner, url, bytes(secret), tuple(events.split()), done)
            for name, owner, url, secret, events, done in rows
        )

    def drop_hook(self, arena: str, hook: str) -> bool:
        """Delete a webhook; return whether it existed."""

        def work(run: RunSql) -> bool:
            sql = "DELETE FROM arena_hooks WHERE arena = ? AND id = ? RETURNING 1"
            self._notify(run, arena)
            return bool(run(sql, arena, hook))

        dropped = self._transact(work)
        self._announce(arena)
        return dropped

    def mark_delivered(self, hook: str, seq: int) -> None:
        """Store the last delivered record of a webhook; the value never decreases."""
        sql = "UPDATE arena_hooks SET done = ? WHERE id = ? AND done < ?"
        self._transact(lambda run: run(sql, seq, hook, seq))


def _rows(arena: str, records: Iterable[Record]) -> Iterable[Row]:
    """Yield records as rows of the log, without their hashes."""
    for record in records:
        body = encode_body(record.body)
        yield arena, record.seq, record.at, record.kind, ref_of(record), body


def _chain(arena: str, head: bytes | None, rows: Iterable[Row], hashed: list[Row]) -> bytes | None:
    """Append rows with their hashes to `hashed`; return the hash of the last record."""
    for row in rows:
        head = link(head or genesis(arena), *row[1:])
        hashed.append((*row, head))
    return head


def _record(seq: int, at: int, kind: str, body: str) -> Record:
    return Record(seq, at, kind, decode_body(body))


def _require_arena(run: RunSql, arena: str) -> None:
    """Raise StoreError if an arena does not exist."""
    if not run("SELECT 1 FROM arenas WHERE name = ?", arena):
        raise StoreError(f"arena {arena!r} does not exist.")


def _put_options(run: RunSql, arena: str, options: Sequence[OptionText]) -> None:
    ((last,),) = run("SELECT coalesce(max(place), 0) FROM arena_options WHERE arena = ?", arena)
    for place, option in enumerate(options, last + 1):
        run(
            "INSERT INTO arena_options (arena, id, place, name, kind, content)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (arena, id) DO UPDATE SET"
            " name = excluded.name, kind = excluded.kind, content = excluded.content",
            arena,
            option.id,
            place,
            option.name,
            option.kind,
            option.content,
        )
