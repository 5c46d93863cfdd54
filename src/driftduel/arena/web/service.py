"""What the handlers of one server share: arenas, doorman, meters, boards."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from anyio import to_thread

from driftduel.arena.hall import Hall
from driftduel.arena.live import Live
from driftduel.arena.said import Pending
from driftduel.arena.web.durable import Landing
from driftduel.arena.web.events import Boards
from driftduel.arena.web.limits import Meter
from driftduel.arena.web.open_duels import OpenDuels
from driftduel.arena.web.security import Doorman
from driftduel.arena.web.settings import ServerSettings
from driftduel.arena.webhooks import Messenger

__all__ = ["Service"]

Answer = TypeVar("Answer")
_LOG = logging.getLogger("driftduel.arena")


class Service:
    """One server's arenas, and what stands between them and the world."""

    boards: Boards
    messenger: Messenger
    _landing: Landing

    def __init__(self, hall: Hall, settings: ServerSettings) -> None:
        self.hall, self.settings = hall, settings
        self.doorman = Doorman(hall.store, settings)
        self.addresses = Meter(settings.per_address)
        self.tokens = Meter(settings.per_token)
        self.open_duels = OpenDuels()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Do what is to be done while the server runs; at the end, close the hall."""
        self._landing = Landing()
        self.hall.writer.let_finish(asyncio.get_running_loop().call_soon)
        self.boards = Boards(self.settings, self.arena)
        self.messenger = Messenger(
            self.hall, clock=self.settings.clock, private=self.settings.private_hooks
        )
        tasks = [asyncio.create_task(self._tick())]
        if self.settings.hooks:
            tasks.append(asyncio.create_task(self.messenger.run()))
        try:
            yield
        finally:
            self.boards.closing.set()
            self.hall.writer.let_finish(None)
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await to_thread.run_sync(self.hall.close)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self.settings.tick_seconds)
            try:
                await to_thread.run_sync(self.hall.tick)
            except Exception:  # a store in trouble; the next tick may find it well
                _LOG.exception("what time had made due could not be done")

    async def arena(self, name: str) -> Live:
        """Return an arena; one that is not in memory is read by another thread."""
        live = self.hall.live(name)
        return live if live is not None else await to_thread.run_sync(self.hall.arena, name)

    async def lasting(self, pending: Pending[Answer]) -> Answer:
        """Return an answer as soon as the log has what it rests on."""
        await self._landing.of(pending.lasting)
        return pending.answer

    async def done(self, work: Callable[[], Pending[Answer]], at_once: bool = False) -> Answer:
        """Do something, in another thread if it may have to wait, and return when it lasts."""
        return await self.lasting(work() if at_once else await to_thread.run_sync(work))
