"""Who owns which arena, where several processes share a PostgreSQL.

A process has one session that holds one advisory lock for as long as it lives, however many arenas
it owns (the server has room for a few thousand locks). The lock suffices for processes that end or
die: their arenas are free immediately. It does not for one that hangs or whose link is cut, which
keeps its session; so there is also a heartbeat, and the arenas of an owner with an expired one are
taken, and its connections ended. It may still believe that it owns them: the log's key (arena, seq)
is the fencing, not this.
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

#: How often a process says that it lives, as a part of the silence that ends its ownership.
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
    """What this process owns.

    Parameters
    ----------
    connect
        Makes a connection.
    process
        The name of this process; its connections are called "driftduel NAME".
    silence
        How many seconds an owner may be silent.
    """

    def __init__(
        self, connect: Callable[[], Connection], process: str, heartbeat_timeout: float
    ) -> None:
        self._connect, self._process, self._heartbeat_timeout = connect, process, heartbeat_timeout
        self._lock = threading.RLock()  # one statement at a time
        self._names_lock = threading.Lock()  # held for a moment only, whatever the database does
        self._names: set[str] = set()
        self._connection: Connection | None = None
        self._key = 0
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._address: str | None = None

    def own(self, arena: str) -> bool:
        """Become the owner of an arena, or stay it; return whether this process is."""
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
        """Note where other servers reach this process, which from now on has a heartbeat."""
        with self._lock:
            self._address = address
            self._with_retry(self._write_heartbeat)
            # Rows of processes that were killed long ago and owned nothing.
            self._with_retry(
                lambda session: session.execute(
                    "DELETE FROM arena_processes WHERE beat < clock_timestamp() - interval '1 day'"
                    " AND process NOT IN (SELECT process FROM arena_owners)"
                )
            )
            self._start_heartbeats()

    def address(self, arena: str, any_server: bool) -> str | None:
        """Return the address of the owner of an arena, if that is another, living process.

        With `any_server`, that of some other living process if the arena has no living owner.
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
        """Return the process that was the owner up to now if this one may be; else None."""
        with session.transaction():
            self._write_heartbeat(session)
            session.execute(
                "INSERT INTO arena_owners (arena, process) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (arena, self._process),
            )
            row = session.execute(
                "SELECT process FROM arena_owners WHERE arena = %s FOR UPDATE", (arena,)
            ).fetchone()
            if row is None:  # it was disowned between the two: the next to ask gets it
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
        """Return description and address of a process that lives and has a recent heartbeat."""
        row = session.execute(_ALIVE, (self._heartbeat_timeout, process)).fetchone()
        if row is None:
            return None
        said, address, silent, holds = row
        return None if silent or not holds else (str(said), address)

    def _end(self, process: str) -> None:
        """End what a silent process has open: it may hold a lock in the middle of a commit."""
        with suppress(psycopg.Error):  # another user's, perhaps: then the key must do
            self._session().execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s AND pid <> pg_backend_pid()",
                (f"driftduel {process}",),
            )

    def disown(self, arena: str) -> None:
        """Let others own it."""
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
        """Say which process owns an arena; None if none does."""

        def look(session: Connection) -> str | None:
            row = session.execute(
                "SELECT process FROM arena_owners WHERE arena = %s", (arena,)
            ).fetchone()
            found = None if row is None else self._live_process(session, row[0])
            return None if found is None else found[0]

        with self._lock:
            return self._with_retry(look)

    def owned_arenas(self) -> frozenset[str]:
        """Name the arenas that this process owns, as of its last sign of life."""
        with self._names_lock:
            return frozenset(self._names)

    def close(self) -> None:
        """Disown everything."""
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
        """Do something; once more if the connection broke while nobody used it."""
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
        """Return the session; a new one takes a new lock, because the old may still be held."""
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
        """Say that this process lives, and see what it still owns."""
        while not self._over.wait(self._heartbeat_timeout / _HEARTBEATS):
            with self._lock, suppress(psycopg.Error):  # the next one may get through
                self._with_retry(self._heartbeat)

    def _write_heartbeat(self, session: Connection) -> None:
        """Give a sign of life."""
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
