"""Webhooks: an address is sent the events of an arena, signed, at least once, in order.

Events are stored in the transaction of their records, and the store knows up to which record each
address was sent them, so no crash loses one. Messages are signed as https://www.standardwebhooks.com
specifies, so that any of its libraries can check them; `verified` does so here.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any

import msgspec
from anyio import to_thread

from driftduel.arena.addresses import parse_url, resolve_address
from driftduel.arena.http_post import post
from driftduel.arena.manager import ArenaManager
from driftduel.arena.problems import ArenaError
from driftduel.arena.stores import Hook
from driftduel.arena.webhook_events import EVENTS, ArenaEvent, message
from driftduel.errors import DriftduelError

__all__ = ["EVENTS", "WebhookDispatcher", "format_secret", "signature", "verify"]

_LOG = logging.getLogger("driftduel.arena")
_PREFIX = "whsec_"
_BATCH = 100
_LONGEST_WAIT = 600.0
#: Without a notification the store is read this often: another process may have added a webhook
#: to a SQLite file, or ended without delivering.
_POLL_SECONDS = 30.0
_OLD = 300.0


def format_secret(secret: bytes) -> str:
    """Write a hook's secret as its receiver has to know it."""
    return _PREFIX + base64.b64encode(secret).decode()


def signature(secret: bytes, message: str, seconds: int, content: bytes) -> str:
    """Sign a message: its id, the time at which it is sent, and what it says."""
    signed = f"{message}.{seconds}.".encode() + content
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def verify(secret: str, headers: Mapping[str, str], content: bytes, now: float) -> dict[str, Any]:
    """Return what a message says, or refuse one that is not ours, or old.

    Parameters
    ----------
    secret
        What the hook was made with.
    headers
        The request's; their names in small letters.
    content
        The request's body.
    now
        Seconds since 1970.
    """
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        seconds = int(headers["webhook-timestamp"])
        wanted = signature(key, headers["webhook-id"], seconds, content)
        given = headers["webhook-signature"].split(" ")
    except (KeyError, ValueError):
        raise DriftduelError("the message is not signed.") from None
    if not any(hmac.compare_digest(wanted.encode(), each.encode()) for each in given):
        raise DriftduelError("the message's signature is not right.")
    if abs(now - seconds) > _OLD:
        raise DriftduelError(f"the message is of {seconds}, which is too long ago.")
    said: dict[str, Any] = msgspec.json.decode(content)
    return said


class WebhookDispatcher:
    """Sends the events of the arenas that this process owns.

    Each hook has its own task, so that an address that does not answer delays no other. A message
    that is not accepted is sent again, with growing pauses, and those after it wait. The store
    notifies when there is something to send; nothing is polled per hook.

    Parameters
    ----------
    hall
        The arenas.
    clock
        Seconds since 1970, which messages are stamped with.
    private
        Whether addresses of the server's own networks may be told.
    every
        How often it is checked, in memory, which arenas this process owns, in seconds.
    first_wait
        After how many seconds a message that was not taken is sent again; then after twice that.
    send
        Sends one message; returns the answer's status.
    """

    def __init__(
        self,
        manager: ArenaManager,
        *,
        clock: Callable[[], float],
        private: bool = False,
        every: float = 1.0,
        first_wait: float = 1.0,
        send: Callable[..., Awaitable[int]] = post,
    ) -> None:
        self._manager, self._clock, self._private, self._every = manager, clock, private, every
        self._first_wait, self._send = first_wait, send
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hooks: dict[str, list[Hook]] = {}
        self._wakes: dict[str, asyncio.Event] = {}
        self._hooked: set[str] = set()
        self._changed: set[str] = set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        loop = asyncio.get_running_loop()
        self._stir = asyncio.Event()

        def notify(arena: str) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._on_notification, arena)

        end, poll = self._manager.store.subscribe(notify), 0.0
        try:
            while True:
                self._stir.clear()
                if "" in self._changed or loop.time() >= poll:
                    self._changed.discard("")
                    poll = loop.time() + _POLL_SECONDS
                    await self._read_all()
                await self._look()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stir.wait(), self._every)
        finally:
            end()
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _on_notification(self, arena: str) -> None:
        """Note that an arena has new events or other hooks; an empty name stands for all."""
        self._changed.add(arena)
        self._stir.set()

    async def _read_all(self) -> None:
        """Find all arenas with hooks; open those with events that were not delivered.

        Their owner may have died; if it lives, it delivers.
        """
        store = self._manager.store
        with suppress(DriftduelError):
            self._hooked = set(await to_thread.run_sync(store.arenas_with_hooks))
            self._changed |= self._hooked
            for arena in await to_thread.run_sync(store.arenas_behind):
                if self._manager.live(arena) is None:
                    with suppress(DriftduelError):
                        await to_thread.run_sync(self._manager.arena, arena)

    async def _look(self) -> None:
        """Start tasks for new hooks, wake those with news, end those of hooks that are gone."""
        owned = self._manager.store.owned_arenas()
        changed, self._changed = self._changed - {""}, self._changed & {""}
        self._hooked |= changed
        for arena in owned & self._hooked & (changed | (self._hooked - self._hooks.keys())):
            try:
                self._hooks[arena] = await to_thread.run_sync(self._manager.store.hooks, arena)
            except DriftduelError:
                self._changed.add(arena)  # again at the next look
                continue
            if not self._hooks[arena]:
                self._hooked.discard(arena)
        for arena in self._hooks.keys() - (owned & self._hooked):
            del self._hooks[arena]
        wanted = {hook.id: hook for hooks in self._hooks.values() for hook in hooks}
        for known in [known for known in self._tasks if known not in wanted]:
            self._tasks.pop(known).cancel()
            del self._wakes[known]
        for known, hook in wanted.items():
            if known not in self._tasks:
                wake = self._wakes[known] = asyncio.Event()
                self._tasks[known] = asyncio.create_task(self._serve(hook, wake))
            elif hook.arena in changed:
                self._wakes[known].set()

    async def _serve(self, hook: Hook, wake: asyncio.Event) -> None:
        """Send one address everything, in order."""
        store, done = self._manager.store, hook.done
        while True:
            wake.clear()  # before the store is read: an event after that wakes again
            try:
                while found := await to_thread.run_sync(store.events, hook.arena, done, _BATCH):
                    for seq, of_record in groupby(found, key=lambda each: each[0]):
                        for _, content in of_record:
                            event = msgspec.json.decode(content, type=ArenaEvent)
                            if event.kind in hook.events:
                                await self._deliver(hook, event)
                        # Only now: a record may hold two events.
                        done = seq
                        await to_thread.run_sync(store.mark_delivered, hook.id, done)
            except DriftduelError as error:  # the store is in trouble; try again
                _LOG.warning("webhook %s waits: %s", hook.id, error)
                await asyncio.sleep(self._first_wait)
                continue
            await wake.wait()

    async def _deliver(self, hook: Hook, event: ArenaEvent) -> None:
        """Send a message until it is taken."""
        wait = self._first_wait
        options = await to_thread.run_sync(self._manager.store.options, hook.arena)
        names = {arm: {"id": each.id, "name": each.name} for arm, each in enumerate(options)}
        content = message(event, hook.arena, names)
        option_id = f"{hook.arena}.{event.seq}.{event.kind}"
        while True:
            try:
                status = await self._once(hook, option_id, content)
                if 200 <= status < 300:
                    return
                why = f"it answered with {status}"
            except (ArenaError, OSError, TimeoutError, EOFError, ValueError) as error:
                why = str(error) or type(error).__name__
            _LOG.warning("webhook %s was not told of %s: %s", hook.id, option_id, why)
            # Not all at once when an address that many are told at comes back.
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, _LONGEST_WAIT)

    async def _once(self, hook: Hook, message: str, content: bytes) -> int:
        place = parse_url(hook.url)
        address = await resolve_address(place, self._private)
        seconds = int(self._clock())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "driftduel",
            "webhook-id": message,
            "webhook-timestamp": str(seconds),
            "webhook-signature": signature(hook.secret, message, seconds, content),
        }
        return await self._send(place, address, headers, content)
