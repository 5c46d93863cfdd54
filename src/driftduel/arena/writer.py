"""Group commit: whatever came while the last commit was on its way goes with the next one.

A commit waits for the disk, and takes as long for a thousand records as for one. So one thread
takes everything that is queued, writes it in one transaction, and then tells all who wait. Under
load this multiplies what a disk can take; without load it costs nothing.
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

    __slots__ = ("arena", "broken", "future", "upto")

    def __init__(self, arena: str) -> None:
        self.arena = arena
        self.broken: Exception | None = None
        self.future: Future[None] | None = None  # of what is queued and has no commit yet
        self.upto = 0  # the last record that was queued


class _CommitFuture(Future[None]):
    """A future that wakes the writer if somebody stands and waits for it.

    Who stands in the loop's own thread would else wait for what the loop does when it goes on.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__()
        self._wake = wake
        # From now on nobody can cancel it: the state has moved on, whoever loses interest.
        self.set_running_or_notify_cancel()

    def result(self, timeout: float | None = None) -> None:
        """Wait for it; raise what it was resolved with."""
        if not self.done():
            self._wake()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for it; return what it was resolved with."""
        if not self.done():
            self._wake()
        return super().exception(timeout)


class _QueuedAppend(NamedTuple):
    handle: AppendHandle
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
        """Let this thread, which is an event loop's, append all that it has before a commit begins.

        Requests come together, because answers went out together. A commit that began with the
        first of them would have all others wait for it, and then for their own.

        Parameters
        ----------
        soon
            Calls a function in this thread when it has done what it is about to do now; None:
            nobody is waited for any more.
        """
        with self._lock:
            self._soon, self._loop = soon, threading.get_ident()
            self._changed.notify()

    @property
    def queued(self) -> int:
        """How many appends wait for the next commit."""
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
        """Queue records; the future is done when they are durable, or never will be.

        Parameters
        ----------
        handle
            Whose records these are; they follow those that were appended through it before.
        records, snapshot, upto, voters, events
            As in `Append`.
        """
        entry = Append(handle.arena, records, snapshot, upto, voters, events)
        with self._lock:
            trouble = handle.broken
            if trouble is None and self._closed:
                trouble = StoreError("nothing more is written: the arena's writer is closed.")
            if trouble is None:
                if not self._queue:  # else the thread is at work, or will soon be woken
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
        """Return the future of an append: one for all that follow each other into a commit.

        They last, or do not, at once; and a future for each costs more than the records do.
        """
        future = handle.future
        if future is None or not records or records[0].seq != handle.upto + 1:
            future = _CommitFuture(self._wake)
        if records:
            handle.upto = records[-1].seq
            handle.future = future if self._grouping else None
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
                elif not each.future.done():  # it was queued before anybody knew
                    _fail(each.future, each.handle.broken)
            answers = self._write([each.entry for each in alive])
            futures: dict[Future[None], Exception | None] = {}
            for each, answer in zip(alive, answers, strict=True):
                if answer is not None and each.handle.broken is None:
                    each.handle.broken = answer
                if futures.get(each.future) is None:
                    futures[each.future] = answer
            # Only now: whoever is told finds every handle as it will stay.
            for future, trouble in futures.items():
                if trouble is None:
                    future.set_result(None)
                else:
                    _fail(future, trouble)

    def _next(self) -> list[_QueuedAppend]:
        """Wait for something to write; return nothing when there never will be."""
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
        except Exception as error:  # a bug, too, must not end the thread
            return [error] * len(batch)


def _fail(future: Future[None], trouble: Exception) -> None:
    # A copy each: who raises one adds to its traceback.
    future.set_exception(copy.copy(trouble).with_traceback(None))
