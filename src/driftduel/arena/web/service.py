"""Objects that the handlers of one server share: arenas, authentication, limits, boards."""

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
#: Maximum number of arenas that are loaded at the same time.
_OPENERS = 4
_COMPARERS = 2
_STORE_SECONDS = 1.0
_RETRY_SECONDS = 0.05
_LOG = logging.getLogger("driftduel.arena")


class Service:
    """The shared objects of one server. Instances belong to one event loop."""

    boards: Boards
    dispatcher: WebhookDispatcher
    _commits: CommitNotifier
    _openers: CapacityLimiter
    comparers: CapacityLimiter
    """Limits the threads that read votes by tag, so that they cannot delay other requests."""

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
        """Run the background tasks of the server; at the end, close the manager."""
        self._commits = CommitNotifier()
        key = await to_thread.run_sync(self.manager.store.cluster_key)
        if key is not None:
            self._forwarder = Forwarder(self.manager.store, key, self.settings.clock)
        self._openers = CapacityLimiter(_OPENERS)
        self.comparers = CapacityLimiter(_COMPARERS)
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
            except Exception:  # the store failed: the next tick may succeed
                _LOG.exception("processing of expired graces and leases failed")

    async def arena(self, name: str) -> LiveArena:
        """Return an arena; load it in a worker thread if it is not in memory.

        Requests for the same arena share one thread, and loading has a dedicated thread pool: many
        requests for an arena that is not loaded must not starve those for other arenas.
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
            task.exception()  # mark it as retrieved: the waiting requests raise it

    async def read_store(self) -> None:
        """Raise StoreError if the store cannot be read; checked at most once a second."""
        now = asyncio.get_running_loop().time()
        if now - self._store_read > _STORE_SECONDS:
            await to_thread.run_sync(self.manager.store.exists, "")
            self._store_read = now

    def was_forwarded(self, request: Request) -> bool:
        """Return whether another server forwarded a request; raise if the signature is wrong."""
        return self._forwarder is not None and self._forwarder.accept(request)

    async def at_owner(self, call: Call, name: str, operation: Operation) -> Struct | Response:
        """Run an operation where its arena is: here, or on the server that owns it.

        While the ownership changes, for example because a server stops, wait for the next owner.
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
                retried = True  # race: the idle arena was released after it was fetched
                continue
            if trouble is not None and (forwarder is None or loop.time() > end):
                raise trouble
            await asyncio.sleep(_RETRY_SECONDS)

    async def hand_over(self) -> None:
        """Release all arenas if another server can take them."""
        if self._forwarder is None:
            return
        with suppress(DriftduelError):
            if await to_thread.run_sync(self.manager.store.owner_address, "", True) is not None:
                await to_thread.run_sync(self.manager.hand_over)

    async def wait_durable(self, pending: DurableReply[Answer]) -> Answer:
        """Return a reply as soon as its records are durable."""
        await self._commits.of(pending.durable)
        return pending.answer

    async def run_durably(
        self, work: Callable[[], DurableReply[Answer]], inline: bool = False
    ) -> Answer:
        """Call a function, in a worker thread unless `inline`; return its durable reply.

        The argument `inline` is the value of `LiveArena.can_run_inline`.
        """
        return await self.wait_durable(work() if inline else await to_thread.run_sync(work))


def _is_elsewhere(error: DriftduelError) -> bool:
    """Return whether a request failed because another process owns the arena."""
    return isinstance(error, FencedError) or getattr(error, "problem", "") == "owned-elsewhere"
