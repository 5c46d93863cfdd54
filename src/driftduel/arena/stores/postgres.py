"""A store in PostgreSQL, for arenas that several servers share.

A broken connection is replaced at its next use. If it breaks during a write, the waiting caller
gets an error: no write is acknowledged before its commit.
"""

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from driftduel.arena.stores.base import StoreError
from driftduel.arena.stores.ownership import Ownership
from driftduel.arena.stores.relational import RelationalStore, Row, RunSql, migrations

__all__ = ["PostgresStore"]

T = TypeVar("T")
Connection = psycopg.Connection[Row]

#: Timeout of a statement, in seconds.
_SECONDS = 30.0
#: Seconds after which the heartbeat of a process expires.
_HEARTBEAT_TIMEOUT = 10.0
#: Key of the advisory lock that a migration holds.
_MIGRATING = 0x647266640001
#: Channel for notifications of new events and webhooks; the payload is the arena's name.
_CHANNEL = "driftduel_arena"
_LISTEN_SECONDS = 0.5
#: Maximum number of idle connections kept for reading.
_IDLE = 4
#: Errors of a race with another process that writes the same records; a retry sees them.
_RACES = (errors.UniqueViolation, errors.DeadlockDetected)
_TRIES = 10


class PostgresStore(RelationalStore):
    """A store in PostgreSQL. All methods are thread-safe.

    Parameters
    ----------
    url
        ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``, with any parameters of libpq.
    seconds
        Timeout of a statement.
    heartbeat_timeout
        Seconds after which the heartbeat of an owner expires, and others may take its arenas.
    """

    def __init__(
        self, url: str, *, seconds: float = _SECONDS, heartbeat_timeout: float = _HEARTBEAT_TIMEOUT
    ) -> None:
        super().__init__(_without_password(url))
        try:
            conninfo_to_dict(url)
        except psycopg.Error:  # its message may contain the password
            raise StoreError(
                f"{self.url} is not a valid URL of a database; pass "
                "postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
            ) from None
        self._conninfo = url
        self._seconds = seconds
        self._process = secrets.token_hex(8)
        self._lock = threading.Lock()  # serialises write transactions
        self._writer: Connection | None = None
        self._idle: list[Connection] = []
        self._closed = False
        self._over = threading.Event()
        self._listening: threading.Thread | None = None
        self._ownership = Ownership(self._connect, self._process, heartbeat_timeout)
        try:
            self._transact(self._migrate)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Connection:
        milliseconds = max(1, int(self._seconds * 1000))
        connection: Connection = psycopg.connect(
            self._conninfo,
            autocommit=True,  # transactions begin with an explicit BEGIN
            application_name=f"driftduel {self._process}",
            connect_timeout=max(2, int(self._seconds)),
            keepalives_idle=5,
            keepalives_interval=2,
            keepalives_count=3,
            tcp_user_timeout=milliseconds,
        )
        try:
            for name in (
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
            ):
                connection.execute("SELECT set_config(%s, %s, false)", (name, str(milliseconds)))
            # Override an asynchronous default: an acknowledged commit must be on the disk.
            connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, run: RunSql) -> None:
        """Apply missing migrations in one transaction; concurrent processes wait for the lock."""
        run("SELECT pg_advisory_xact_lock(?)", _MIGRATING)
        version = 0
        if run("SELECT to_regclass('arena_schema')") != [(None,)]:
            ((version,),) = run("SELECT coalesce(max(number), 0) FROM arena_schema")
        known = migrations("postgresql")
        if version > len(known):
            raise StoreError(
                f"{self.url} was written by a newer version of driftduel (schema {version}, this "
                f"version supports {len(known)}); update driftduel."
            )
        if version == 0:
            run("CREATE TABLE arena_schema (number BIGINT PRIMARY KEY)")
        for number, script in enumerate(known[version:], version + 1):
            run(script)
            run("INSERT INTO arena_schema (number) VALUES (?)", number)
        if not run("SELECT 1 FROM arena_cluster"):
            run("INSERT INTO arena_cluster (key) VALUES (?)", secrets.token_bytes(32))

    def _transact(self, work: Callable[[RunSql], T]) -> T:
        with self._lock, self._wrap_errors():
            for _ in range(_TRIES):
                connection = self._begin()
                try:
                    result = work(_runner(connection))
                    connection.execute("COMMIT")
                except BaseException as error:
                    self._roll_back(connection)
                    if isinstance(error, _RACES):
                        continue
                    raise
                return result
            raise StoreError(
                f"a write to {self.url} conflicted with other processes {_TRIES} times; try again."
            )

    def _begin(self) -> Connection:
        """Begin a transaction; replace a connection that broke since the last one."""
        if self._closed:
            raise StoreError(f"the store {self.url} is closed.")
        if self._writer is not None:
            try:
                self._writer.execute("BEGIN")
            except psycopg.Error:
                self._roll_back(self._writer)
            else:
                return self._writer
        if self._writer is None:
            self._writer = self._connect()
        self._writer.execute("BEGIN")
        return self._writer

    def _roll_back(self, connection: Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self._writer = None
            connection.close()

    def _read(self, sql: str, *values: Any) -> list[Row]:
        with self._wrap_errors():
            while True:
                if self._closed:
                    raise StoreError(f"the store {self.url} is closed.")
                try:
                    connection, fresh = self._idle.pop(), False
                except IndexError:
                    connection, fresh = self._connect(), True
                try:
                    rows = _runner(connection)(sql, *values)
                except BaseException as error:
                    connection.close()
                    if isinstance(error, psycopg.OperationalError) and not fresh:
                        continue  # the connection was lost while idle
                    raise
                if self._closed or len(self._idle) >= _IDLE:
                    connection.close()
                else:
                    self._idle.append(connection)
                return rows

    def _last_records(
        self, run: RunSql, arenas: Sequence[str]
    ) -> dict[str, tuple[int, bytes | None]]:
        rows = run(
            "SELECT name, seq, hash FROM arenas LEFT JOIN arena_log ON arena = name AND seq ="
            " (SELECT max(seq) FROM arena_log WHERE arena = name) WHERE name = ANY(?)",
            list(arenas),
        )
        return {name: (last or 0, head) for name, last, head in rows}

    def _run_many(self, run: RunSql, sql: str, rows: Sequence[Row]) -> None:
        assert self._writer is not None  # `run` belongs to its transaction
        with self._writer.cursor() as cursor:
            cursor.executemany(_to_psycopg(sql), rows)

    def _insert(self, run: RunSql, rows: Sequence[Row]) -> None:
        assert self._writer is not None  # `run` belongs to its transaction
        if not rows:
            return
        with (
            self._writer.cursor() as cursor,
            cursor.copy(
                "COPY arena_log (arena, seq, at, kind, ref, body, hash) FROM STDIN"
            ) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def _notify(self, run: RunSql, arena: str) -> None:
        """Notify all processes, with this one, when the transaction commits."""
        run("SELECT pg_notify(?, ?)", _CHANNEL, arena)

    def _announce(self, arena: str) -> None:
        """Do nothing: the database notifies the listeners of this process, too."""

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Register a callback for new events and webhooks; return a function to cancel it."""
        end = super().subscribe(listener)
        with self._lock:
            if self._listening is None and not self._closed:
                self._listening = threading.Thread(
                    target=self._listen, name="arena-listen", daemon=True
                )
                self._listening.start()
        return end

    def _listen(self) -> None:
        """Wait for notifications; after a reconnect announce all arenas, as some may be missed."""
        while not self._over.is_set():
            with suppress(psycopg.Error), closing(self._connect()) as connection:
                connection.execute(f"LISTEN {_CHANNEL}")
                super()._announce("")
                while not self._over.is_set():
                    # The timeout lets `close` stop the thread; waiting sends no statements.
                    for notice in connection.notifies(timeout=_LISTEN_SECONDS):
                        super()._announce(notice.payload)
            self._over.wait(_LISTEN_SECONDS)

    @contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        """Convert an error of psycopg to a one-line StoreError."""
        try:
            yield
        except psycopg.Error as error:
            raise StoreError(self._error_message(error)) from error

    def _error_message(self, error: psycopg.Error) -> str:
        detail = " ".join(str(error).split()) or type(error).__name__
        match error:
            case errors.QueryCanceled() | errors.LockNotAvailable():
                return f"{self.url} did not respond within {self._seconds:g} s."
            case errors.DiskFull():
                return f"the disk of {self.url} is full; free some space."
            case errors.ReadOnlySqlTransaction():
                return f"{self.url} cannot be written: it is read-only."
            case errors.InsufficientPrivilege():
                return f"the user of {self.url} lacks a privilege ({detail})."
            case psycopg.OperationalError():
                return f"the connection to {self.url} failed ({detail})."
        return f"a statement on {self.url} failed: {detail}."

    def own(self, arena: str) -> bool:
        """Take or keep the ownership of an arena; return whether this process has it."""
        with self._wrap_errors():
            if self._closed:
                raise StoreError(f"the store {self.url} is closed.")
            return self._ownership.own(arena)

    def disown(self, arena: str) -> None:
        """Release the ownership of an arena."""
        with self._wrap_errors():
            self._ownership.disown(arena)

    def owner(self, arena: str) -> str | None:
        """Return a description of the process that owns an arena, or None."""
        with self._wrap_errors():
            return self._ownership.owner(arena)

    def advertise(self, address: str) -> None:
        """Store the URL of this server for other servers."""
        with self._wrap_errors():
            self._ownership.advertise(address)

    def owner_address(self, arena: str, any_server: bool = False) -> str | None:
        """Return the URL of the server that owns an arena, if it is another process."""
        with self._wrap_errors():
            return self._ownership.address(arena, any_server)

    def cluster_key(self) -> bytes:
        """Return the key with which servers authenticate to each other."""
        ((key,),) = self._read("SELECT key FROM arena_cluster")
        return bytes(key)

    def owned_arenas(self) -> frozenset[str]:
        """Return the names of the arenas that this process owns, as of its last heartbeat."""
        return self._ownership.owned_arenas()

    def close(self) -> None:
        """Release all ownerships, and close the connections."""
        self._closed = True
        self._over.set()
        self._ownership.close()
        if self._listening is not None:
            self._listening.join()
        with self._lock:
            while self._idle:
                self._idle.pop().close()
            if self._writer is not None:
                with suppress(psycopg.Error):
                    self._writer.close()
                self._writer = None


def _runner(connection: Connection) -> RunSql:
    def run(sql: str, *values: Any) -> list[Row]:
        # Without values the simple protocol is used, which allows several statements.
        cursor = connection.execute(_to_psycopg(sql), values or None)
        return cursor.fetchall() if cursor.description else []

    return run


@cache
def _to_psycopg(sql: str) -> bytes:
    """Convert the placeholders of a statement to those of psycopg."""
    return sql.replace("?", "%s").encode()


def _without_password(url: str) -> str:
    """Return a URL without its password, for messages."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")
        user = host[0].partition(":")[0]
    except ValueError:
        return "postgresql://"
    return f"postgresql://{user}{host[1]}{host[2]}{parts.path}"
