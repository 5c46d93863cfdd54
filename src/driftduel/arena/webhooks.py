"""Webhooks: deliver the events of an arena to URLs, signed, in order, at least once.

Events are stored in the transaction of their records (an outbox), and the store keeps the last
delivered record of each webhook, so that a crash loses no event. Messages are signed as
https://www.standardwebhooks.com specifies; any of its libraries can verify them, and so can
`verify`.
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
#: Interval in which the store is polled without a notification: another process may have added a
#: webhook to a SQLite file, or ended without delivering.
_POLL_SECONDS = 30.0
_OLD = 300.0


def format_secret(secret: bytes) -> str:
    """Return a webhook's secret as a string for its receiver."""
    return _PREFIX + base64.b64encode(secret).decode()


def signature(secret: bytes, message: str, seconds: int, content: bytes) -> str:
    """Return the signature of a message: of its id, its timestamp and its content."""
    signed = f"{message}.{seconds}.".encode() + content
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def verify(secret: str, headers: Mapping[str, str], content: bytes, now: float) -> dict[str, Any]:
    """Return the decoded content of a message after checking signature and age.

    Parameters
    ----------
    secret
        The string that `format_secret` returned for the webhook.
    headers
        Headers of the request; the keys in lower case.
    content
        Body of the request.
    now
        Seconds since 1970.

    Raises
    ------
    DriftduelError
        If the signature is missing or wrong, or the timestamp is more than 300 s away.
    """
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        seconds = int(headers["webhook-timestamp"])
        wanted = signature(key, headers["webhook-id"], seconds, content)
        given = headers["webhook-signature"].split(" ")
    except (KeyError, ValueError):
        raise DriftduelError(
            "the message is not signed: a webhook header is missing or malformed."
        ) from None
    if not any(hmac.compare_digest(wanted.encode(), each.encode()) for each in given):
        raise DriftduelError("the signature of the message is not right; check the secret.")
    if abs(now - seconds) > _OLD:
        raise DriftduelError(
            f"the timestamp {seconds} of the message is more than {_OLD:.0f} s from the clock "
            "of this machine."
        )
    decoded: dict[str, Any] = msgspec.json.decode(content)
    return decoded


class WebhookDispatcher:
    """Delivers the events of the arenas that this process owns.

    Each webhook has a separate task, so that an unresponsive receiver does not delay the others. A
    message that is not accepted is sent again with growing pauses, and later messages wait. The
    store notifies the dispatcher of new events; webhooks are not polled.

    Parameters
    ----------
    manager
        The arenas.
    clock
        Function that returns the seconds since 1970, for timestamps of messages.
    private
        Whether addresses of the server's own networks are allowed.
    every
        Interval in seconds in which the set of owned arenas is read, from memory.
    first_wait
        Seconds before a message is sent again for the first time; the pause then doubles.
    send
        Function that sends one message and returns the status of the response.
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
        """Mark an arena with new events or changed webhooks; an empty name means all arenas."""
        self._changed.add(arena)
        self._stir.set()

    async def _read_all(self) -> None:
        """Find all arenas with webhooks; open those with undelivered events.

        Their owner may have died. If it is alive, opening fails and the owner delivers.
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
        """Start tasks of new webhooks, wake those with events, cancel those of deleted webhooks."""
        owned = self._manager.store.owned_arenas()
        changed, self._changed = self._changed - {""}, self._changed & {""}
        self._hooked |= changed
        for arena in owned & self._hooked & (changed | (self._hooked - self._hooks.keys())):
            try:
                self._hooks[arena] = await to_thread.run_sync(self._manager.store.hooks, arena)
            except DriftduelError:
                self._changed.add(arena)  # retry at the next call
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
        """Deliver all events of one webhook, in order."""
        store, done = self._manager.store, hook.done
        while True:
            wake.clear()  # before reading the store: otherwise a wake-up in between is lost
            try:
                while found := await to_thread.run_sync(store.events, hook.arena, done, _BATCH):
                    for seq, of_record in groupby(found, key=lambda each: each[0]):
                        for _, content in of_record:
                            event = msgspec.json.decode(content, type=ArenaEvent)
                            if event.kind in hook.events:
                                await self._deliver(hook, event)
                        # After the last event of the record: a record may hold several.
                        done = seq
                        await to_thread.run_sync(store.mark_delivered, hook.id, done)
            except DriftduelError as error:  # the store failed; try again
                _LOG.warning("webhook %s: store error, retrying: %s", hook.id, error)
                await asyncio.sleep(self._first_wait)
                continue
            await wake.wait()

    async def _deliver(self, hook: Hook, event: ArenaEvent) -> None:
        """Send a message until the receiver accepts it."""
        wait = self._first_wait
        options = await to_thread.run_sync(self._manager.store.options, hook.arena)
        names = {arm: {"id": each.id, "name": each.name} for arm, each in enumerate(options)}
        content = message(event, hook.arena, names)
        message_id = f"{hook.arena}.{event.seq}.{event.kind}"
        while True:
            try:
                status = await self._once(hook, message_id, content)
                if 200 <= status < 300:
                    return
                why = f"status {status}"
            except (ArenaError, OSError, TimeoutError, EOFError, ValueError) as error:
                why = str(error) or type(error).__name__
            _LOG.warning("webhook %s: message %s not delivered: %s", hook.id, message_id, why)
            # Jitter: many webhooks of one receiver must not retry at the same moment.
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
