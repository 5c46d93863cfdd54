"""Wait in the event loop for what a writer's thread puts on the disk."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["Landing"]


class Landing:
    """Wakes whoever waits, all of a group commit at once.

    `asyncio.wrap_future` wakes the loop once for every future; a commit resolves hundreds. And it
    would let a request that is given up cancel what the writer has begun.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._landed: deque[Callable[[], None]] = deque()
        self._waking = False

    async def of(self, future: "Future[Any]") -> None:
        """Return when the future is resolved; raise what it was resolved with."""
        if not future.done():
            waiter: asyncio.Future[None] = self._loop.create_future()

            def wake() -> None:
                if not waiter.done():
                    waiter.set_result(None)

            future.add_done_callback(lambda _: self._land(wake))
            await waiter
        future.result()

    def _land(self, wake: Callable[[], None]) -> None:
        """Note that a future is resolved; called in the writer's thread."""
        self._landed.append(wake)
        if not self._waking:
            self._waking = True
            try:
                self._loop.call_soon_threadsafe(self._wake)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._landed.clear()

    def _wake(self) -> None:
        self._waking = False  # before the deque is emptied: who comes later wakes again
        while self._landed:
            self._landed.popleft()()
