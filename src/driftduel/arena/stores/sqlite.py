"""A store in one SQLite file, for arenas on a single machine.

A commit is on the disk before it is acknowledged: each one syncs the write-ahead log (WAL,
``synchronous=FULL``). Readers do not block the writer.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from driftduel.arena.stores.base import ItemRow, OptionText, StoreError
from driftduel.arena.stores.filelock import FileLock
from driftduel.arena.stores.relational import RelationalStore, Row, RunSql, migrations

__all__ = ["SqliteStore", "open_shared"]

T = TypeVar("T")

#: Timeout for the write lock of another process, such as a command beside the server.
_SECONDS = 30.0
#: Time between two attempts to switch a new file to write-ahead logging.
_RETRY_SECONDS = 0.01
# FULL: each commit is synced. On macOS this requires fullfsync, too, which has no effect elsewhere.
_PRAGMAS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA fullfsync=ON",
    "PRAGMA checkpoint_fullfsync=ON",
    "PRAGMA secure_delete=ON",  # deleted values are overwritten
)
# "drfd": identifies files of driftduel before anything is written to them.
_APPLICATION = 0x64726664

# Each statement releases the GIL and has to acquire it again from a busy thread, which takes longer
# than the insertion of a row. Rows are therefore inserted in groups of these sizes; a vote without
# a grace, with its next duel, has three rows.
_INSERTS = tuple(
    (
        size,
        "INSERT INTO arena_log (arena, seq, at, kind, ref, body, hash) VALUES "
        + ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * size),
    )
    for size in (96, 48, 24, 12, 6, 3, 1)
)

_stores: dict[Path, "SqliteStore"] = {}
_stores_lock = threading.RLock()


def open_shared(path: str | Path) -> "SqliteStore":
    """Open a file, or return this process's store object of it with one more user."""
    with _stores_lock:
        key = Path(path).resolve()
        store = _stores.get(key)
        if store is not None and store.is_current():
            store.users += 1
        else:
            store = _stores[key] = SqliteStore(key)
        return store


class SqliteStore(RelationalStore):
    """A store in an SQLite file. `open_store` shares one object per file and process.

    Parameters
    ----------
    path
        Path of the file; created if it is missing.
    seconds
        Timeout for the write lock of other processes.
    """

    is_local = True

    def __init__(self, path: str | Path, *, seconds: float = _SECONDS) -> None:
        self.path = Path(path).absolute()
        super().__init__(f"sqlite:{self.path}")
        self._seconds = seconds
        self._lock = threading.Lock()  # serialises write transactions
        self._idle: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._wal_has_deleted = False  # whether the WAL still holds deleted values
        self._closed = False
        self.users = 1  # number of `close` calls until the file is closed
        self._file_lock = FileLock(Path(f"{self.path}-lock"))
        self._owned: set[str] = set()
        try:
            self._transact(self._migrate)
            # If an earlier process died of a failed sync, its last commits may be in the page
            # cache only. A checkpoint writes them to the file before anything depends on them.
            self._read("PRAGMA wal_checkpoint(PASSIVE)")
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._seconds, isolation_level=None, check_same_thread=False
        )
        try:
            self._enter_wal(connection)
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    def _enter_wal(self, connection: sqlite3.Connection) -> None:
        """Switch the file to write-ahead logging, or confirm that it uses it.

        If several processes create a file at the same time, SQLite reports the lock of another one
        immediately, without the timeout of the connection, because waiting could be a deadlock.
        """
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() >= deadline:
                    raise
            time.sleep(_RETRY_SECONDS)

    def _migrate(self, run: RunSql) -> None:
        """Apply missing migrations in one transaction."""
        ((version,),) = run("PRAGMA user_version")
        ((application,),) = run("PRAGMA application_id")
        if application != _APPLICATION and run("SELECT 1 FROM sqlite_master LIMIT 1"):
            raise StoreError(
                f"{str(self.path)!r} is the database of another program; choose a new file."
            )
        known = migrations("sqlite")
        if version > len(known):
            raise StoreError(
                f"{str(self.path)!r} was written by a newer version of driftduel (schema "
                f"{version}, this version supports {len(known)}); update driftduel."
            )
        for number, script in enumerate(known[version:], version + 1):
            for statement in _statements(script):
                run(statement)
            run(f"PRAGMA user_version = {number}")
        if version == 0:
            run(f"PRAGMA application_id = {_APPLICATION}")

    def _transact(self, work: Callable[[RunSql], T]) -> T:
        with self._lock, self._wrap_errors():
            connection = self._write_connection()

            def run(sql: str, *values: Any) -> list[Row]:
                return connection.execute(sql, values).fetchall()

            try:
                run("BEGIN IMMEDIATE")
                result = work(run)
                run("COMMIT")
            except BaseException:
                self._roll_back(connection)
                raise
            if self._wal_has_deleted:
                self._truncate_wal(connection)
        return result

    def drop_voter(self, arena: str, key: bytes) -> bool:
        """Delete the pseudonym of a key, in the files, too; return whether there was one."""
        self._wal_has_deleted = True
        return super().drop_voter(arena, key)

    def put_options(self, arena: str, options: Sequence[OptionText]) -> None:
        """Insert or update the texts of options; old texts are removed from the files."""
        self._wal_has_deleted = True
        super().put_options(arena, options)

    def put_items(self, arena: str, items: Sequence[ItemRow]) -> None:
        """Insert or update items; old contents are removed from the files."""
        self._wal_has_deleted = True
        super().put_items(arena, items)

    def _truncate_wal(self, connection: sqlite3.Connection) -> None:
        """Truncate the write-ahead log, which still holds overwritten values.

        This is not possible while a reader uses it. It does not block for that: the next commit
        tries again.
        """
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA busy_timeout=0")
            ((busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._wal_has_deleted = bool(busy)
        connection.execute(f"PRAGMA busy_timeout={round(1000 * self._seconds)}")

    def _write_connection(self) -> sqlite3.Connection:
        """Return the writer's connection; raise StoreError if the file was removed or replaced."""
        self._require_open()
        if self._writer is None:
            self._writer = self._connect()
            self._file = _identity(self.path)
        elif _identity(self.path) != self._file:
            # Otherwise votes would be acknowledged into a deleted file.
            raise StoreError(
                f"{str(self.path)!r} was removed or replaced while open; restart the process."
            )
        return self._writer

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        """End a failed transaction, so that the next one can begin.

        The connection is kept if possible. After a failed sync the written pages may be in the page
        cache, but not on the disk. This connection treats them as invalid, and overwrites
        them; a new connection would read them and continue from them.
        """
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._writer = None
            with suppress(sqlite3.Error):
                connection.close()

    def _read(self, sql: str, *values: Any) -> list[Row]:
        with self._wrap_errors():
            self._require_open()
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                rows = connection.execute(sql, values).fetchall()
            except BaseException:
                connection.close()
                raise
            if self._closed:
                connection.close()
            else:
                self._idle.append(connection)
            return rows

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"the store {str(self.path)!r} is closed.")

    def _last_records(
        self, run: RunSql, arenas: Sequence[str]
    ) -> dict[str, tuple[int, bytes | None]]:
        found: dict[str, tuple[int, bytes | None]] = {}
        for arena in arenas:
            rows = run(
                "SELECT seq, hash FROM arenas LEFT JOIN arena_log ON arena = name AND seq ="
                " (SELECT max(seq) FROM arena_log WHERE arena = name) WHERE name = ?",
                arena,
            )
            if rows:
                found[arena] = rows[0][0] or 0, rows[0][1]
        return found

    def _run_many(self, run: RunSql, sql: str, rows: Sequence[Row]) -> None:
        assert self._writer is not None  # `run` belongs to its transaction
        self._writer.executemany(sql, rows)

    def _notify(self, run: RunSql, arena: str) -> None:
        """Do nothing: one process serves the file, and calls its listeners itself."""

    def _insert(self, run: RunSql, rows: Sequence[Row]) -> None:
        start = 0
        for size, statement in _INSERTS:
            while len(rows) - start >= size:
                run(statement, *chain.from_iterable(rows[start : start + size]))
                start += size

    @contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        """Convert an error of SQLite or the system to a one-line StoreError."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(self._error_message(error)) from error
        except OSError as error:
            raise StoreError(f"{str(self.path)!r}: {error.strerror or error}.") from error

    def _error_message(self, error: sqlite3.Error) -> str:
        place = repr(str(self.path))
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_FULL:
                return f"the disk is full: {place} cannot grow; free some space."
            case sqlite3.SQLITE_READONLY:
                return f"{place} cannot be written: it is read-only."
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return f"{place} was locked by another process for {self._seconds:g} s."
            case sqlite3.SQLITE_CANTOPEN:
                return f"{place} cannot be opened: {_why_not(self.path)}."
            case sqlite3.SQLITE_NOTADB:
                return f"{place} is not an SQLite database; choose a new file."
            case sqlite3.SQLITE_CORRUPT:
                return f"{place} is damaged ({error}); restore a backup."
            case sqlite3.SQLITE_IOERR:
                return f"{place} could not be read or written ({error}); check the disk."
        return f"a statement on {place} failed: {error}."

    def own(self, arena: str) -> bool:
        """Take the ownership of an arena, by locking the file for this process."""
        with self._lock, self._wrap_errors():
            self._require_open()
            if not self._file_lock.take():
                return False
            self._owned.add(arena)
            return True

    def disown(self, arena: str) -> None:
        """Release the ownership of an arena; with the last one the file lock is released."""
        with self._lock:
            self._owned.discard(arena)
            if not self._owned:
                self._file_lock.release()

    def owner(self, arena: str) -> str | None:
        """Return a description of the process that owns the file with all its arenas, or None."""
        return self._file_lock.holder()

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
        with self._lock:
            return frozenset(self._owned)

    def is_current(self) -> bool:
        """Return whether the path still leads to the file that was opened."""
        return not self._closed and self._file == _identity(self.path)

    def close(self) -> None:
        """Release all ownerships; close the file if this object has no other user."""
        with _stores_lock:
            self.users -= 1
            if self.users > 0:
                return
            if _stores.get(self.path) is self:
                del _stores[self.path]
        with self._lock:
            self._closed = True
            self._owned.clear()
            self._file_lock.release()
            while self._idle:
                self._idle.pop().close()
            if self._writer is not None:
                self._writer.close()  # the last connection: closing it runs a checkpoint
                self._writer = None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _why_not(path: Path) -> str:
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"the folder {str(path.parent)!r} does not exist"
    if not os.access(path.parent, os.W_OK):
        return f"the folder {str(path.parent)!r} is not writable"
    return "it is not readable and writable"


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements; `executescript` would commit before it runs."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
