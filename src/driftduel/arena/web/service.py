"""What the handlers of one server share: arenas, doorman, meters, boards."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from driftduel.arena.live import LiveArena
from driftduel.arena.manager import ArenaManager
from driftduel.arena.responses import DurableReply
from driftduel.arena.stores import FencedError
from driftduel.arena.web.commit_notifier import CommitNotifier
from driftduel.arena.web.events import Boards
from driftduel.arena.web.forwarding import FORWARDED, Forwarder
from driftduel.arena.web.limits import RateLimiter
from driftduel.arena.web.open_duels import OpenDuels
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.security import Authenticator
from driftduel.arena.web.settings import ServerSettings
from driftduel.arena.webhooks import WebhookDispatcher
from driftduel.errors import DriftduelError

__all__ = ["Service"]

Answer = TypeVar("Answer")
#: Arenas that are read from the store at the same time.
_OPENERS = 4
_STORE_SECONDS = 1.0
_RETRY_SECONDS = 0.05
_LOG = logging.getLogger("driftduel.arena")


class Service:
    """One server's arenas, and what stands between them and the world."""

    boards: Boards
    dispatcher: WebhookDispatcher
    _commits: CommitNotifier
    _openers: CapacityLimiter

    def __init__(self, manager: ArenaManager, settings: ServerSettings) -> None:
        self.manager, self.settings = manager, settings
        self.authenticator = Authenticator(manager.store, settings)
        self.addresses = RateLimiter(settings.per_address)
        self.tokens = RateLimiter(settings.per_token)
        self.open_duels = OpenDuels()
        self._opening: dict[str, asyncio.Future[LiveArena]] = {}
        self._store_read = -math.inf
        self._forwarder: Forwarder | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Do what is to be done while the server runs; at the end, close the hall."""
        self._commits = CommitNotifier()
        key = await to_thread.run_sync(self.manager.store.cluster_key)
        if key is not None:
            self._forwarder = Forwarder(self.manager.store, key, self.settings.clock)
        self._openers = CapacityLimiter(_OPENERS)
        self.manager.writer.defer_to_loop(asyncio.get_running_loop().call_soon)
        self.boards = Boards(self.settings, self.arena)
        self.dispatcher = WebhookDispatcher(
            self.manager, clock=self.settings.clock, private=self.settings.private_hooks
        )
        tasks = [asyncio.create_task(self._tick())]
        if self.settings.hooks:
            tasks.append(asyncio.create_task(self.dispatcher.run()))
        try:
            yield
        finally:
            self.boards.closing.set()
            self.manager.writer.defer_to_loop(None)
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            if self._forwarder is not None:
                self._forwarder.close()
            await to_thread.run_sync(self.manager.close)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self.settings.tick_seconds)
            try:
                await to_thread.run_sync(self.manager.tick)
            except Exception:  # a store in trouble; the next tick may find it well
                _LOG.exception("what time had made due could not be done")

    async def arena(self, name: str) -> LiveArena:
        """Return an arena; one that is not in memory is read by another thread.

        Requests for the same arena share one thread, and reading has threads of its own: a
        thousand requests for a cold arena must not starve those for the others.
        """
        live = self.manager.live(name)
        if live is not None:
            return live
        opening = self._opening.get(name)
        if opening is None:
            opening = self._opening[name] = asyncio.ensure_future(
                to_thread.run_sync(self.manager.arena, name, limiter=self._openers)
            )
            opening.add_done_callback(lambda task: self._on_opened(name, task))
        return await asyncio.shield(opening)

    def _on_opened(self, name: str, task: "asyncio.Future[LiveArena]") -> None:
        del self._opening[name]
        if not task.cancelled():
            task.exception()  # the requests that wait for it raise it

    async def read_store(self) -> None:
        """Raise StoreError if the store cannot be read; asked at most once a second."""
        now = asyncio.get_running_loop().time()
        if now - self._store_read > _STORE_SECONDS:
            await to_thread.run_sync(self.manager.store.exists, "")
            self._store_read = now

    def was_forwarded(self, request: Request) -> bool:
        """Return whether another server forwarded a request; raise if that is not true."""
        return self._forwarder is not None and self._forwarder.accept(request)

    async def at_owner(self, call: Call, name: str, operation: Operation) -> Struct | Response:
        """Do an operation where its arena is: here, or on the server that owns it.

        While the owner changes, for instance because a server stops, it waits for the next one.
        """
        forwarder = None if FORWARDED in call.request.scope else self._forwarder
        loop = asyncio.get_running_loop()
        end = loop.time() + self.settings.handover_seconds
        retried = False
        while True:
            trouble: DriftduelError | None = None
            if (
                forwarder is None
                or self.manager.live(name) is not None
                or not forwarder.knows(name)
            ):
                try:
                    call.arena = await self.arena(name)
                    return await operation.handler(call)
                except DriftduelError as error:
                    if not _is_elsewhere(error):
                        raise
                    trouble = error
            if forwarder is not None:
                answer = await forwarder.answer(
                    call, name, operation, any_server=self.manager.stopping
                )
                if answer is not None:
                    return answer
            elif self.manager.live(name) is None and not self.manager.stopping and not retried:
                retried = True  # it was idle, and released at this very moment
                continue
            if trouble is not None and (forwarder is None or loop.time() > end):
                raise trouble
            await asyncio.sleep(_RETRY_SECONDS)

    async def hand_over(self) -> None:
        """Release all arenas if there is another server to take them."""
        if self._forwarder is None:
            return
        with suppress(DriftduelError):
            if await to_thread.run_sync(self.manager.store.owner_address, "", True) is not None:
                await to_thread.run_sync(self.manager.hand_over)

    async def wait_durable(self, pending: DurableReply[Answer]) -> Answer:
        """Return an answer as soon as the log has what it rests on."""
        await self._commits.of(pending.durable)
        return pending.answer

    async def run_durably(
        self, work: Callable[[], DurableReply[Answer]], can_run_inline: bool = False
    ) -> Answer:
        """Do something, in another thread if it may have to wait, and return when it lasts."""
        return await self.wait_durable(work() if can_run_inline else await to_thread.run_sync(work))


def _is_elsewhere(error: DriftduelError) -> bool:
    """Return whether nothing was done because another process owns the arena."""
    return isinstance(error, FencedError) or getattr(error, "problem", "") == "owned-elsewhere"
