"""Wait in the event loop for what a writer's thread puts on the disk."""

import asyncio
import copy
from collections import deque
from concurrent.futures import Future
from typing import Any

__all__ = ["CommitNotifier"]


class CommitNotifier:
    """Wakes whoever waits, all of a group commit at once.

    `asyncio.wrap_future` wakes the loop once for each who waits; a commit has hundreds. And it
    would let a request that is given up cancel what the writer has begun.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Future[Any], list[asyncio.Future[None]]] = {}
        self._landed: deque[Future[Any]] = deque()
        self._waking = False

    async def of(self, future: "Future[Any]") -> None:
        """Return when the future is resolved; raise what it was resolved with."""
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
            raise copy.copy(trouble)  # others wait for it, too, and each adds to its traceback

    def _land(self, future: "Future[Any]") -> None:
        """Note that a future is resolved; called in the writer's thread."""
        self._landed.append(future)
        if not self._waking:
            self._waking = True
            try:
                self._loop.call_soon_threadsafe(self._wake)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._landed.clear()

    def _wake(self) -> None:
        self._waking = False  # before the deque is emptied: who comes later wakes again
        while self._landed:
            for waiter in self._waiting.pop(self._landed.popleft(), ()):
                if not waiter.done():  # or it was given up
                    waiter.set_result(None)
