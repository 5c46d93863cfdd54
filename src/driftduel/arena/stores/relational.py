"""What SQLite and PostgreSQL do alike: the statements, and what they mean."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from driftduel.arena.records import Record, decode_body, encode_body, ref_of
from driftduel.arena.stores.base import (
    PREFIX,
    SNAPSHOTS,
    Append,
    Hook,
    OptionText,
    StoreError,
    Token,
)
from driftduel.arena.stores.checks import Following, meant

__all__ = ["RelationalStore", "Run", "migrations"]

T = TypeVar("T")
Row = tuple[Any, ...]
_PUT_VOTER = (
    "INSERT INTO arena_voters (arena, voter, pseudonym) VALUES (?, ?, ?)"
    " ON CONFLICT (arena, voter) DO NOTHING"
)


class Run(Protocol):
    """Runs one statement of a transaction; question marks stand for values."""

    def __call__(self, sql: str, *values: Any) -> list[Row]:
        """Return the rows that it gives, if any."""


def migrations(dialect: str) -> list[str]:
    """Read the numbered SQL files in the words of one of the two; the first one is number 1."""
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
    """A store in a database. Subclasses know how to talk to theirs.

    Parameters
    ----------
    url
        What sentences call it.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    # What a database does in its own way.
    @abstractmethod
    def _read(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement that changes nothing."""

    @abstractmethod
    def _change(self, work: Callable[[Run], T]) -> T:
        """Do work in one transaction, durable when this returns; it may be done again."""

    @abstractmethod
    def _last_seqs(self, run: Run, arenas: Sequence[str]) -> dict[str, int]:
        """Return the place of the last record of those arenas that exist."""

    @abstractmethod
    def _run_many(self, run: Run, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for many rows."""

    @abstractmethod
    def _insert(self, run: Run, rows: Sequence[Row]) -> None:
        """Insert rows into the log."""

    # The log.
    def append(self, batch: Sequence[Append]) -> list[Exception | None]:
        """Append to any number of arenas in one transaction, durable when this returns."""
        if not batch:
            return []
        encoded = [list(_rows(entry.arena, entry.records)) for entry in batch]

        def work(run: Run) -> list[Exception | None]:
            follow = Following(
                self._last_seqs(run, list(dict.fromkeys(entry.arena for entry in batch)))
            )
            answers: list[Exception | None] = []
            rows: list[Row] = []
            voters: list[Row] = []
            snapshots: dict[str, list[tuple[int, bytes]]] = {}
            for entry, encoding in zip(batch, encoded, strict=True):
                answers.append(follow.check(entry))
                if answers[-1] is None:
                    rows += encoding
                    voters += [(entry.arena, *voter) for voter in entry.voters]
                    if entry.snapshot is not None:
                        snapshot = (follow.lasts[entry.arena], entry.snapshot)
                        snapshots.setdefault(entry.arena, []).append(snapshot)
            self._insert(run, rows)
            if voters:
                self._run_many(run, _PUT_VOTER, voters)
            for arena, states in snapshots.items():
                self._keep(run, arena, states[-SNAPSHOTS:])
            return answers

        return self._change(work)

    def _keep(self, run: Run, arena: str, states: list[tuple[int, bytes]]) -> None:
        """Keep new snapshots of an arena, and the newest of the old ones."""
        for seq, state in states:
            run(
                "INSERT INTO arena_snapshots (arena, seq, state) VALUES (?, ?, ?)"
                " ON CONFLICT (arena, seq) DO UPDATE SET state = excluded.state",
                arena,
                seq,
                state,
            )
        run(
            "DELETE FROM arena_snapshots WHERE arena = ? AND seq NOT IN"
            " (SELECT seq FROM arena_snapshots WHERE arena = ? ORDER BY seq DESC LIMIT ?)",
            arena,
            arena,
            SNAPSHOTS,
        )

    def records(self, arena: str, after: int = 0, limit: int = 10_000) -> list[Record]:
        """Read records that come after one, in order."""
        rows = self._read(
            "SELECT seq, at, kind, body FROM arena_log WHERE arena = ? AND seq > ?"
            " ORDER BY seq LIMIT ?",
            arena,
            after,
            max(limit, 0),
        )
        return [_record(row) for row in rows]

    def last_seq(self, arena: str) -> int:
        """Return the place of the newest record; 0 if there is none."""
        ((last,),) = self._read("SELECT max(seq) FROM arena_log WHERE arena = ?", arena)
        return last or 0

    def vote_of(self, arena: str, ref: int) -> Record | None:
        """Find the newest vote of a duel."""
        rows = self._read(
            "SELECT seq, at, kind, body FROM arena_log WHERE arena = ? AND ref = ?"
            " ORDER BY seq DESC LIMIT 1",
            arena,
            ref,
        )
        return _record(rows[0]) if rows else None

    def newest_snapshot(self, arena: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """Return the newest snapshot and the record it is of."""
        rows = self._read(
            "SELECT seq, state FROM arena_snapshots WHERE arena = ? AND seq <= ?"
            " ORDER BY seq DESC LIMIT 1",
            arena,
            2**63 - 1 if upto is None else upto,
        )
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    # Beside the log.
    def create(
        self, arena: str, secret: bytes, records: Sequence[Record], options: Sequence[OptionText]
    ) -> None:
        """Make an arena with its first records; its name must be free."""
        if (trouble := Following({arena: 0}).check(Append(arena, records))) is not None:
            raise trouble
        rows = list(_rows(arena, records))

        def work(run: Run) -> bool:
            made = run(
                "INSERT INTO arenas (name, secret) VALUES (?, ?)"
                " ON CONFLICT (name) DO NOTHING RETURNING name",
                arena,
                secret,
            )
            if made:
                self._insert(run, rows)
                _put_options(run, arena, options)
            return bool(made)

        if not self._change(work):
            raise StoreError(f"there is an arena {arena!r} already.")

    def arenas(self) -> list[str]:
        """Name all arenas, in order."""
        return sorted(name for (name,) in self._read("SELECT name FROM arenas"))

    def exists(self, arena: str) -> bool:
        """Tell whether there is an arena of this name."""
        return bool(self._read("SELECT 1 FROM arenas WHERE name = ?", arena))

    def secret(self, arena: str) -> bytes:
        """Return what the arena's duels are signed with."""
        rows = self._read("SELECT secret FROM arenas WHERE name = ?", arena)
        if not rows:
            raise StoreError(f"there is no arena {arena!r}.")
        return bytes(rows[0][0])

    def options(self, arena: str) -> list[OptionText]:
        """Return what people see of the options, in the order in which they came."""
        rows = self._read(
            "SELECT id, name, kind, content FROM arena_options WHERE arena = ? ORDER BY place",
            arena,
        )
        return [OptionText(*row) for row in rows]

    def put_options(self, arena: str, options: Sequence[OptionText]) -> None:
        """Add options, or change those that are there."""

        def work(run: Run) -> None:
            _known(run, arena)
            _put_options(run, arena, options)

        self._change(work)

    def put_token(self, digest: bytes, arena: str, scope: str, label: str) -> None:
        """Let the token with this digest do something in an arena, or in all of them."""
        self._change(
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
        """Return the arena and the scope of a token."""
        rows = self._read("SELECT arena, scope FROM arena_tokens WHERE digest = ?", digest)
        return (rows[0][0], rows[0][1]) if rows else None

    def tokens(self, arena: str) -> list[Token]:
        """List an arena's tokens."""
        rows = self._read("SELECT digest, scope, label FROM arena_tokens WHERE arena = ?", arena)
        return sorted(
            Token(bytes(digest).hex()[:PREFIX], scope, label) for digest, scope, label in rows
        )

    def drop_token(self, arena: str, prefix_or_label: str) -> int:
        """Forget tokens by their label, or by eight or more digits; return how many."""

        def work(run: Run) -> int:
            rows = run("SELECT digest, label FROM arena_tokens WHERE arena = ?", arena)
            gone = [d for d, label in rows if meant(bytes(d), label, prefix_or_label)]
            for digest in gone:
                run("DELETE FROM arena_tokens WHERE digest = ?", digest)
            return len(gone)

        return self._change(work)

    def voter(self, arena: str, key: bytes) -> str | None:
        """Return a voter's pseudonym."""
        sql = "SELECT pseudonym FROM arena_voters WHERE arena = ? AND voter = ?"
        rows = self._read(sql, arena, key)
        return rows[0][0] if rows else None

    def put_voter(self, arena: str, key: bytes, pseudonym: str) -> str:
        """Give a voter a pseudonym, and return it; one that it has already wins."""

        def work(run: Run) -> str:
            _known(run, arena)
            rows = run(
                "INSERT INTO arena_voters (arena, voter, pseudonym) VALUES (?, ?, ?)"
                " ON CONFLICT (arena, voter) DO UPDATE SET pseudonym = arena_voters.pseudonym"
                " RETURNING pseudonym",
                arena,
                key,
                pseudonym,
            )
            return str(rows[0][0])

        return self._change(work)

    def drop_voter(self, arena: str, key: bytes) -> bool:
        """Forget whose pseudonym it was; return whether it was known."""
        sql = "DELETE FROM arena_voters WHERE arena = ? AND voter = ? RETURNING 1"
        return bool(self._change(lambda run: run(sql, arena, key)))

    def put_hook(
        self, arena: str, url: str, secret: bytes, events: Sequence[str], done: int = 0
    ) -> str:
        """Have somebody told of what comes after record `done`; return the hook's id."""
        name = secrets.token_hex(8)

        def work(run: Run) -> None:
            _known(run, arena)
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

        self._change(work)
        return name

    def hooks(self, arena: str) -> list[Hook]:
        """List who is told of an arena."""
        rows = self._read(
            "SELECT id, arena, url, secret, events, done FROM arena_hooks WHERE arena = ?", arena
        )
        return sorted(
            Hook(name, whose, url, bytes(secret), tuple(events.split()), done)
            for name, whose, url, secret, events, done in rows
        )

    def drop_hook(self, arena: str, hook: str) -> bool:
        """Tell somebody no more; return whether there was such a hook."""
        sql = "DELETE FROM arena_hooks WHERE arena = ? AND id = ? RETURNING 1"
        return bool(self._change(lambda run: run(sql, arena, hook)))

    def hook_done(self, hook: str, seq: int) -> None:
        """Remember how far somebody was told; it never goes back."""
        sql = "UPDATE arena_hooks SET done = ? WHERE id = ? AND done < ?"
        self._change(lambda run: run(sql, seq, hook, seq))


def _rows(arena: str, records: Iterable[Record]) -> Iterable[Row]:
    """Write records as rows of the log."""
    for record in records:
        body = encode_body(record.body)
        yield arena, record.seq, record.at, record.kind, ref_of(record), body


def _record(row: Row) -> Record:
    seq, at, kind, body = row
    return Record(seq, at, kind, decode_body(body))


def _known(run: Run, arena: str) -> None:
    """Refuse to keep anything of an arena that is not there."""
    if not run("SELECT 1 FROM arenas WHERE name = ?", arena):
        raise StoreError(f"there is no arena {arena!r}.")


def _put_options(run: Run, arena: str, options: Sequence[OptionText]) -> None:
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
