"""PostgreSQL: for an arena that several machines serve.

A connection that broke is opened again by whoever needs it next. What was being written when it
broke is an error to whoever waits for it; nobody is told that it was kept.
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

#: How long an answer may take.
_SECONDS = 30.0
#: A process that said nothing for so long may be replaced.
_HEARTBEAT_TIMEOUT = 10.0
#: Held by whoever makes or changes the tables.
_MIGRATING = 0x647266640001
#: Notifications of new events and webhooks; they carry the arena's name.
_CHANNEL = "driftduel_arena"
_LISTEN_SECONDS = 0.5
#: Connections that are kept for reading.
_IDLE = 4
#: Somebody else wrote the same records meanwhile; the next try sees them.
_RACES = (errors.UniqueViolation, errors.DeadlockDetected)
_TRIES = 10


class PostgresStore(RelationalStore):
    """A store in PostgreSQL.

    Parameters
    ----------
    url
        ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``, with any parameters of libpq.
    seconds
        How long the database may take for one answer.
    silence
        How long an owner may be silent before another process may take its arenas.
    """

    def __init__(
        self, url: str, *, seconds: float = _SECONDS, heartbeat_timeout: float = _HEARTBEAT_TIMEOUT
    ) -> None:
        super().__init__(_without_password(url))
        try:
            conninfo_to_dict(url)
        except psycopg.Error:  # what it says may have the password in it
            raise StoreError(
                f"{self.url} is no address of a database; write "
                "postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
            ) from None
        self._conninfo = url
        self._seconds = seconds
        self._process = secrets.token_hex(8)
        self._lock = threading.Lock()  # one transaction at a time
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
            autocommit=True,  # transactions begin where we say so
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
            # Whatever the database's default: a commit that was told of is on the disk.
            connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, run: RunSql) -> None:
        """Bring the tables up to date, in one transaction; others wait."""
        run("SELECT pg_advisory_xact_lock(?)", _MIGRATING)
        version = 0
        if run("SELECT to_regclass('arena_schema')") != [(None,)]:
            ((version,),) = run("SELECT coalesce(max(number), 0) FROM arena_schema")
        known = migrations("postgresql")
        if version > len(known):
            raise StoreError(
                f"{self.url} was written by a newer driftduel (its tables are number {version}, "
                f"this one knows {len(known)}); update driftduel."
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
            raise StoreError(f"others write the same records into {self.url} all the time.")

    def _begin(self) -> Connection:
        """Begin a transaction; a connection that broke since the last one is replaced."""
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
                        continue  # it broke while nobody used it
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
        assert self._writer is not None  # `run` is a statement of its transaction
        with self._writer.cursor() as cursor:
            cursor.executemany(_to_psycopg(sql), rows)

    def _insert(self, run: RunSql, rows: Sequence[Row]) -> None:
        assert self._writer is not None  # `run` is a statement of its transaction
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
        """Notify all processes, this one included, at the commit."""
        run("SELECT pg_notify(?, ?)", _CHANNEL, arena)

    def _announce(self, arena: str) -> None:
        """Do nothing: the listeners of this process are notified by the database, too."""

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call a function when an arena has new events or other webhooks."""
        end = super().subscribe(listener)
        with self._lock:
            if self._listening is None and not self._closed:
                self._listening = threading.Thread(
                    target=self._listen, name="arena-listen", daemon=True
                )
                self._listening.start()
        return end

    def _listen(self) -> None:
        """Wait for notifications; after a lost connection anything may have been missed."""
        while not self._over.is_set():
            with suppress(psycopg.Error), closing(self._connect()) as connection:
                connection.execute(f"LISTEN {_CHANNEL}")
                super()._announce("")
                while not self._over.is_set():
                    # The timeout is for `close` only; waiting sends nothing to the database.
                    for notice in connection.notifies(timeout=_LISTEN_SECONDS):
                        super()._announce(notice.payload)
            self._over.wait(_LISTEN_SECONDS)

    @contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        """Say what went wrong in one sentence."""
        try:
            yield
        except psycopg.Error as error:
            raise StoreError(self._error_message(error)) from error

    def _error_message(self, error: psycopg.Error) -> str:
        said = " ".join(str(error).split()) or type(error).__name__
        match error:
            case errors.QueryCanceled() | errors.LockNotAvailable():
                return f"{self.url} did not answer within {self._seconds:g} s."
            case errors.DiskFull():
                return f"the disk is full: {self.url} takes nothing more until there is room."
            case errors.ReadOnlySqlTransaction():
                return f"{self.url} cannot be written: it is read-only."
            case errors.InsufficientPrivilege():
                return f"{self.url} does not let this user do that ({said})."
            case psycopg.OperationalError():
                return f"the connection to {self.url} is lost, or cannot be made ({said})."
        return f"{self.url} did not take it: {said}."

    def own(self, arena: str) -> bool:
        """Become the owner of an arena, or stay it; return whether this process is."""
        with self._wrap_errors():
            if self._closed:
                raise StoreError(f"the store {self.url} is closed.")
            return self._ownership.own(arena)

    def disown(self, arena: str) -> None:
        """Let others own it."""
        with self._wrap_errors():
            self._ownership.disown(arena)

    def owner(self, arena: str) -> str | None:
        """Say which process owns an arena."""
        with self._wrap_errors():
            return self._ownership.owner(arena)

    def advertise(self, address: str) -> None:
        """Note where other servers reach this process."""
        with self._wrap_errors():
            self._ownership.advertise(address)

    def owner_address(self, arena: str, any_server: bool = False) -> str | None:
        """Return the address of the process that owns an arena, if it is another one."""
        with self._wrap_errors():
            return self._ownership.address(arena, any_server)

    def cluster_key(self) -> bytes:
        """Return the key with which servers authenticate to each other."""
        ((key,),) = self._read("SELECT key FROM arena_cluster")
        return bytes(key)

    def owned_arenas(self) -> frozenset[str]:
        """Name the arenas that this process owns, as far as it knows."""
        return self._ownership.owned_arenas()

    def close(self) -> None:
        """Disown everything, and close the connections."""
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
        # Without values it goes as it is, so that a script may have several statements.
        cursor = connection.execute(_to_psycopg(sql), values or None)
        return cursor.fetchall() if cursor.description else []

    return run


@cache
def _to_psycopg(sql: str) -> bytes:
    """Write a statement in psycopg's words."""
    return sql.replace("?", "%s").encode()


def _without_password(url: str) -> str:
    """Return a URL that may be shown to anybody."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")
        user = host[0].partition(":")[0]
    except ValueError:
        return "postgresql://"
    return f"postgresql://{user}{host[1]}{host[2]}{parts.path}"
