"""Group commit: whatever came while the last commit was on its way goes with the next one.

A commit waits for the disk, and takes as long for a thousand records as for one. So one thread
takes everything that is queued, writes it in one transaction, and then tells all who wait. Under
load this multiplies what a disk can take; without load it costs nothing.
"""

import copy
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

from driftduel.arena.records import Record
from driftduel.arena.stores.base import Append, Store, StoreError

__all__ = ["Handle", "Writer"]


class Handle:
    """An arena as one who appends to it knows it.

    Parameters
    ----------
    arena
        Its name.

    Attributes
    ----------
    broken
        Why nothing more can be appended through this handle: an earlier append failed, and what
        comes later would follow records that are not there. Reload the arena, take a new handle.
    """

    __slots__ = ("arena", "broken")

    def __init__(self, arena: str) -> None:
        self.arena = arena
        self.broken: Exception | None = None


class _Queued(NamedTuple):
    handle: Handle
    entry: Append
    future: Future[None]


class Writer:
    """The one thread that writes to a store.

    It never tries again and never dies: what failed is told to whoever waits for it, and the next
    batch is tried.

    Parameters
    ----------
    store
        The store; it stays open when the writer is closed.
    grouping
        Whether a commit takes all that is queued, or one event at a time, to compare with.
    """

    def __init__(self, store: Store, *, grouping: bool = True) -> None:
        self._store = store
        self._grouping = grouping
        self._queue: deque[_Queued] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="arena-writer", daemon=True)
        self._thread.start()

    @property
    def queued(self) -> int:
        """How many appends wait for the next commit."""
        return len(self._queue)

    def append(
        self,
        handle: Handle,
        records: Sequence[Record],
        snapshot: bytes | None = None,
        upto: int | None = None,
        voters: Sequence[tuple[bytes, str]] = (),
    ) -> Future[None]:
        """Queue records; the future is done when they are durable, or never will be.

        Parameters
        ----------
        handle
            Whose records these are; they follow those that were appended through it before.
        records, snapshot, upto, voters
            As in `Append`.
        """
        future: Future[None] = Future()
        # From now on nobody can cancel it: the state has moved on, whoever loses interest.
        future.set_running_or_notify_cancel()
        queued = _Queued(handle, Append(handle.arena, records, snapshot, upto, voters), future)
        with self._changed:
            trouble = handle.broken
            if trouble is None and self._closed:
                trouble = StoreError("nothing more is written: the arena's writer is closed.")
            if trouble is None:
                self._queue.append(queued)
                self._changed.notify()
        if trouble is not None:
            _fail(queued, trouble)
        return future

    def close(self) -> None:
        """Write what is queued, then end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while batch := self._next():
            alive = []
            for each in batch:
                if each.handle.broken is None:
                    alive.append(each)
                else:  # it was queued before anybody knew
                    _fail(each, each.handle.broken)
            answers = self._write([each.entry for each in alive])
            for each, answer in zip(alive, answers, strict=True):
                if answer is not None and each.handle.broken is None:
                    each.handle.broken = answer
            # Only now: whoever is told finds every handle as it will stay.
            for each, answer in zip(alive, answers, strict=True):
                if answer is None:
                    each.future.set_result(None)
                else:
                    _fail(each, answer)

    def _next(self) -> list[_Queued]:
        """Wait for something to write; return nothing when there never will be."""
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            if self._grouping:
                batch = list(self._queue)
                self._queue.clear()
                return batch
            return [self._queue.popleft()] if self._queue else []

    def _write(self, batch: list[Append]) -> Sequence[Exception | None]:
        if not batch:
            return []
        try:
            return self._store.append(batch)
        except Exception as error:  # a bug, too, must not end the thread
            return [error] * len(batch)


def _fail(queued: _Queued, trouble: Exception) -> None:
    # A copy each: who raises one adds to its traceback.
    queued.future.set_exception(copy.copy(trouble).with_traceback(None))
