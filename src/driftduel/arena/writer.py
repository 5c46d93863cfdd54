"""Group commit: all records that were queued during a commit are written by the next one.

A commit blocks on the disk, and takes as long for a thousand records as for one. One thread
therefore takes the whole queue, writes it in one transaction, and resolves the futures of all
waiting callers. Under load this multiplies the throughput; without load it costs nothing.
"""

import copy
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from driftduel.arena.records import Record
from driftduel.arena.stores.base import Append, ArenaStore, StoreError

__all__ = ["AppendHandle", "Writer"]


class AppendHandle:
    """The sequence of appends to one arena.

    Parameters
    ----------
    arena
        Name of the arena.

    Attributes
    ----------
    broken
        The error of an earlier append, or None. After an error later appends would follow records
        that do not exist, so all of them fail: reload the arena and create a new handle.
    """

    __slots__ = ("arena", "broken", "future", "upto")

    def __init__(self, arena: str) -> None:
        self.arena = arena
        self.broken: Exception | None = None
        self.future: Future[None] | None = None  # of the queued appends without a commit
        self.upto = 0  # sequence number of the last queued record


class _CommitFuture(Future[None]):
    """A future that wakes the writer when a caller blocks on it.

    Without this, a caller in the event loop's thread would deadlock: the commit is deferred until
    the loop continues, which waits for the commit.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__()
        self._wake = wake
        # Not cancellable: the state has changed, whether or not the caller still waits.
        self.set_running_or_notify_cancel()

    def result(self, timeout: float | None = None) -> None:
        """Wait for the commit; raise its error."""
        if not self.done():
            self._wake()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the commit; return its error or None."""
        if not self.done():
            self._wake()
        return super().exception(timeout)


class _QueuedAppend(NamedTuple):
    handle: AppendHandle
    entry: Append
    future: Future[None]


class Writer:
    """The thread that writes to a store. All methods are thread-safe.

    It does not retry, and it survives errors: the waiting callers get the error, and the next batch
    is tried.

    Parameters
    ----------
    store
        The store object; closing the writer does not close it.
    grouping
        Whether a commit takes the whole queue (the default), or one append, for comparison.
    """

    def __init__(self, store: ArenaStore, *, grouping: bool = True) -> None:
        self._store = store
        self._grouping = grouping
        self._queue: deque[_QueuedAppend] = deque()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._closed = False
        self._soon: Callable[[Callable[[], None]], object] | None = None
        self._loop: int | None = None
        self._thread = threading.Thread(target=self._run, name="arena-writer", daemon=True)
        self._thread.start()

    def defer_to_loop(self, soon: Callable[[Callable[[], None]], object] | None) -> None:
        """Start a commit only after the event loop's thread has run its current callbacks.

        Requests arrive in groups, because responses are sent in groups. If a commit started with
        the first append of a group, the other appends would wait for that commit and then for the
        next one.

        Parameters
        ----------
        soon
            Function that schedules a callback in this thread after the current ones
            (`loop.call_soon`); None: stop deferring.
        """
        with self._lock:
            self._soon, self._loop = soon, threading.get_ident()
            self._changed.notify()

    @property
    def queued(self) -> int:
        """Number of appends in the queue."""
        return len(self._queue)

    def append(
        self,
        handle: AppendHandle,
        records: Sequence[Record],
        snapshot: bytes | None = None,
        upto: int | None = None,
        voters: Sequence[tuple[bytes, str]] = (),
        events: Sequence[tuple[int, int, str]] = (),
    ) -> Future[None]:
        """Queue records; the future is resolved when they are durable or have failed.

        Parameters
        ----------
        handle
            The handle of the arena; its records follow those appended through it before.
        records, snapshot, upto, voters, events
            As in `Append`.
        """
        entry = Append(handle.arena, records, snapshot, upto, voters, events)
        with self._lock:
            trouble = handle.broken
            if trouble is None and self._closed:
                trouble = StoreError("the writer of the arena is closed; open the arena again.")
            if trouble is None:
                if not self._queue:  # otherwise the thread is writing, or a wake-up is pending
                    if self._soon is not None and threading.get_ident() == self._loop:
                        self._soon(self._wake)
                    else:
                        self._changed.notify()
                future = self._future(handle, records)
                self._queue.append(_QueuedAppend(handle, entry, future))
                return future
        future = _CommitFuture(self._wake)
        _fail(future, trouble)
        return future

    def _wake(self) -> None:
        with self._lock:
            self._changed.notify()

    def _future(self, handle: AppendHandle, records: Sequence[Record]) -> Future[None]:
        """Return the future of an append, shared by consecutive appends of one commit.

        They succeed or fail together, and one future each would cost more than the records.
        """
        future = handle.future
        if future is None or not records or records[0].seq != handle.upto + 1:
            future = _CommitFuture(self._wake)
        if records:
            handle.upto = records[-1].seq
            handle.future = future if self._grouping else None
        return future

    def close(self) -> None:
        """Write the queue, then stop the thread."""
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
                elif not each.future.done():  # queued before the handle was marked as broken
                    _fail(each.future, each.handle.broken)
            answers = self._write([each.entry for each in alive])
            futures: dict[Future[None], Exception | None] = {}
            for each, answer in zip(alive, answers, strict=True):
                if answer is not None and each.handle.broken is None:
                    each.handle.broken = answer
                if futures.get(each.future) is None:
                    futures[each.future] = answer
            # Resolve after all handles are marked: a woken caller may append through its handle.
            for future, trouble in futures.items():
                if trouble is None:
                    future.set_result(None)
                else:
                    _fail(future, trouble)

    def _next(self) -> list[_QueuedAppend]:
        """Block until the queue has an entry; return an empty list after `close`."""
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            if self._grouping:
                batch = list(self._queue)
                self._queue.clear()
                for each in batch:
                    each.handle.future = None
                return batch
            return [self._queue.popleft()] if self._queue else []

    def _write(self, batch: list[Append]) -> Sequence[Exception | None]:
        if not batch:
            return []
        try:
            return self._store.append(batch)
        except Exception as error:  # an unexpected error, too, must not end the thread
            return [error] * len(batch)


def _fail(future: Future[None], trouble: Exception) -> None:
    # One copy per future: raising an exception extends its traceback.
    future.set_exception(copy.copy(trouble).with_traceback(None))
