"""Ownership of arenas among the processes that share a PostgreSQL database.

A process has one session with one advisory lock, however many arenas it owns (the server has
capacity for a few thousand locks). If a process ends, its lock is released, and its arenas are free
immediately. A process that hangs, or that lost its network link, keeps its session; so each process
also writes a heartbeat. If the heartbeat of an owner has expired, another process takes its arenas
and terminates its connections. The old owner may still believe that it owns them: the primary key
(arena, seq) of the log is the fence, not this module.
"""

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import psycopg

from driftduel.arena.stores.filelock import describe_process

__all__ = ["Ownership"]

T = TypeVar("T")
Connection = psycopg.Connection[Any]

#: Number of heartbeats per timeout.
_HEARTBEATS = 5

_ALIVE = """
    SELECT about, address,
        beat < clock_timestamp() - make_interval(secs => %s),
        EXISTS (
            SELECT FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (classid::bigint << 32 | objid::bigint) = lock
        )
    FROM arena_processes WHERE process = %s
"""


class Ownership:
    """The arenas that this process owns. Thread-safe.

    Parameters
    ----------
    connect
        Function that returns a new connection.
    process
        Name of this process; its connections have the application name "driftduel NAME".
    heartbeat_timeout
        Seconds after which the heartbeat of an owner expires.
    """

    def __init__(
        self, connect: Callable[[], Connection], process: str, heartbeat_timeout: float
    ) -> None:
        self._connect, self._process, self._heartbeat_timeout = connect, process, heartbeat_timeout
        self._lock = threading.RLock()  # serialises statements; held while the database responds
        self._names_lock = threading.Lock()  # guards `_names`; never held during a statement
        self._names: set[str] = set()
        self._connection: Connection | None = None
        self._key = 0
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._address: str | None = None

    def own(self, arena: str) -> bool:
        """Take or keep the ownership of an arena; return whether this process has it."""
        with self._lock:
            replaced = self._with_retry(lambda session: self._take(session, arena))
            if replaced is not None and replaced != self._process:
                self._end(replaced)
            if replaced is not None:
                with self._names_lock:
                    self._names.add(arena)
            self._start_heartbeats()
            return replaced is not None

    def _start_heartbeats(self) -> None:
        if self._thread is None and not self._over.is_set():
            self._thread = threading.Thread(
                target=self._heartbeat_loop, name="arena-owner", daemon=True
            )
            self._thread.start()

    def advertise(self, address: str) -> None:
        """Store the URL of this server, and start its heartbeat."""
        with self._lock:
            self._address = address
            self._with_retry(self._write_heartbeat)
            # Delete the rows of processes that were killed long ago and owned no arena.
            self._with_retry(
                lambda session: session.execute(
                    "DELETE FROM arena_processes WHERE beat < clock_timestamp() - interval '1 day'"
                    " AND process NOT IN (SELECT process FROM arena_owners)"
                )
            )
            self._start_heartbeats()

    def address(self, arena: str, any_server: bool) -> str | None:
        """Return the URL of the owner of an arena, if that is another running process.

        With the argument `any_server`, the URL of some other running process if there is no owner.
        """

        def look(session: Connection) -> str | None:
            row = session.execute(
                "SELECT process FROM arena_owners WHERE arena = %s", (arena,)
            ).fetchone()
            owner = None if row is None else str(row[0])
            if owner == self._process:
                return None
            found = None if owner is None else self._live_process(session, owner)
            if found is not None or not any_server:
                return None if found is None else found[1]
            others = session.execute(
                "SELECT process FROM arena_processes WHERE process <> %s AND address IS NOT NULL"
                " ORDER BY beat DESC",
                (self._process,),
            ).fetchall()
            for (process,) in others:
                if (found := self._live_process(session, process)) is not None:
                    return found[1]
            return None

        with self._lock:
            return self._with_retry(look)

    def _take(self, session: Connection, arena: str) -> str | None:
        """Return the previous owner if this process is the owner now; else None."""
        with session.transaction():
            self._write_heartbeat(session)
            session.execute(
                "INSERT INTO arena_owners (arena, process) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (arena, self._process),
            )
            row = session.execute(
                "SELECT process FROM arena_owners WHERE arena = %s FOR UPDATE", (arena,)
            ).fetchone()
            if row is None:  # race: disowned between the two statements; the caller tries again
                return None
            before: str = row[0]
            if before == self._process:
                return before
            if self._live_process(session, before) is not None:
                return None
            session.execute(
                "UPDATE arena_owners SET process = %s WHERE arena = %s", (self._process, arena)
            )
            session.execute(
                "DELETE FROM arena_processes WHERE process = %s"
                " AND NOT EXISTS (SELECT FROM arena_owners WHERE process = %s)",
                (before, before),
            )
            return before

    def _live_process(self, session: Connection, process: str) -> tuple[str, str | None] | None:
        """Return description and URL of a process with a lock and a recent heartbeat, or None."""
        row = session.execute(_ALIVE, (self._heartbeat_timeout, process)).fetchone()
        if row is None:
            return None
        about, address, expired, holds_lock = row
        return None if expired or not holds_lock else (str(about), address)

    def _end(self, process: str) -> None:
        """Terminate the connections of a process; one of them may hold a lock inside a commit."""
        with suppress(psycopg.Error):  # no permission: the fence still protects the log
            self._session().execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s AND pid <> pg_backend_pid()",
                (f"driftduel {process}",),
            )

    def disown(self, arena: str) -> None:
        """Release the ownership of an arena."""
        with self._lock:
            with self._names_lock:
                if arena not in self._names:
                    return
                self._names.discard(arena)
            self._with_retry(
                lambda session: session.execute(
                    "DELETE FROM arena_owners WHERE arena = %s AND process = %s",
                    (arena, self._process),
                )
            )

    def owner(self, arena: str) -> str | None:
        """Return a description of the process that owns an arena, or None."""

        def look(session: Connection) -> str | None:
            row = session.execute(
                "SELECT process FROM arena_owners WHERE arena = %s", (arena,)
            ).fetchone()
            found = None if row is None else self._live_process(session, row[0])
            return None if found is None else found[0]

        with self._lock:
            return self._with_retry(look)

    def owned_arenas(self) -> frozenset[str]:
        """Return the names of the arenas that this process owns, as of its last heartbeat."""
        with self._names_lock:
            return frozenset(self._names)

    def close(self) -> None:
        """Release all ownerships, and stop the heartbeat."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            if self._connection is not None:
                with suppress(psycopg.Error):
                    mine = (self._process,)
                    self._connection.execute("DELETE FROM arena_owners WHERE process = %s", mine)
                    self._connection.execute("DELETE FROM arena_processes WHERE process = %s", mine)
                self._connection.close()
                self._connection = None
            with self._names_lock:
                self._names.clear()

    def _with_retry(self, work: Callable[[Connection], T]) -> T:
        """Run a function with the session; retry once if an idle connection was lost."""
        fresh = self._connection is None
        try:
            return work(self._session())
        except psycopg.OperationalError:
            self._drop()
            if fresh:
                raise
        try:
            return work(self._session())
        except psycopg.OperationalError:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _session(self) -> Connection:
        """Return the session. A new one takes a new lock: the server may still hold the old one."""
        if self._connection is None:
            connection = self._connect()
            self._key = secrets.randbits(62)
            try:
                connection.execute("SELECT pg_advisory_lock(%s)", (self._key,))
                self._write_heartbeat(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _heartbeat_loop(self) -> None:
        """Write a heartbeat at regular intervals, and reload the arenas this process owns."""
        while not self._over.wait(self._heartbeat_timeout / _HEARTBEATS):
            with self._lock, suppress(psycopg.Error):  # the next heartbeat may succeed
                self._with_retry(self._heartbeat)

    def _write_heartbeat(self, session: Connection) -> None:
        """Insert or update the row of this process, with the current time of the database."""
        session.execute(
            "INSERT INTO arena_processes (process, lock, about, beat, address)"
            " VALUES (%s, %s, %s, clock_timestamp(), %s) ON CONFLICT (process) DO UPDATE"
            " SET lock = excluded.lock, beat = excluded.beat, address = excluded.address",
            (self._process, self._key, describe_process(), self._address),
        )

    def _heartbeat(self, session: Connection) -> None:
        self._write_heartbeat(session)
        row = session.execute(
            "SELECT count(*) FROM arena_owners WHERE process = %s", (self._process,)
        ).fetchone()
        with self._names_lock:
            known = len(self._names)
        if row is not None and row[0] != known:
            rows = session.execute(
                "SELECT arena FROM arena_owners WHERE process = %s", (self._process,)
            ).fetchall()
            with self._names_lock:
                self._names &= {name for (name,) in rows}
