"""Await the commits of the writer's thread in the event loop."""

import asyncio
import copy
from collections import deque
from concurrent.futures import Future
from typing import Any

__all__ = ["CommitNotifier"]


class CommitNotifier:
    """Wakes all tasks that await a group commit with one callback.

    `asyncio.wrap_future` would wake the event loop once per task, of which a commit has hundreds.
    It would also let a cancelled request cancel the future that others share.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Future[Any], list[asyncio.Future[None]]] = {}
        self._committed: deque[Future[Any]] = deque()
        self._waking = False

    async def of(self, future: "Future[Any]") -> None:
        """Return when the future is resolved; raise its exception."""
        if not future.done():
            waiter: asyncio.Future[None] = self._loop.create_future()
            waiting = self._waiting.get(future)
            if waiting is None:
                self._waiting[future] = [waiter]
                future.add_done_callback(self._land)
            else:
                waiting.append(waiter)
            await waiter
        trouble = future.exception()
        if trouble is not None:
            raise copy.copy(trouble)  # one copy per task: raising extends the traceback

    def _land(self, future: "Future[Any]") -> None:
        """Queue a resolved future; called in the writer's thread."""
        self._committed.append(future)
        if not self._waking:
            self._waking = True
            try:
                self._loop.call_soon_threadsafe(self._wake)
            except RuntimeError:  # the event loop is closed: no task waits any more
                self._committed.clear()

    def _wake(self) -> None:
        # Before emptying the queue: a future that is appended later must schedule a new wake-up.
        self._waking = False
        while self._committed:
            for waiter in self._waiting.pop(self._committed.popleft(), ()):
                if not waiter.done():  # otherwise its request was cancelled
                    waiter.set_result(None)
