"""Webhooks: an address is told what happens in an arena, signed, at least once, in order.

What happens is read from the log, so nothing is forgotten whatever ends the server: the store
knows up to which record each address was told. Messages are signed as https://www.standardwebhooks.com
has it, so that any of its libraries can check them; `verified` does so here.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from anyio import to_thread

from driftduel.arena.addresses import place_of, resolved
from driftduel.arena.hall import Hall
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.sending import post
from driftduel.arena.stores import Hook
from driftduel.errors import DriftduelError

__all__ = ["EVENTS", "Messenger", "events_in", "shown_secret", "signature", "verified"]

EVENTS = ("alarm", "crowned", "sure", "closed")
_LOG = logging.getLogger("driftduel.arena")
_PREFIX = "whsec_"
_AT_ONCE = 1000
_LONGEST_WAIT = 600.0
_OLD = 300.0


class Event(NamedTuple):
    """Something that happened in an arena."""

    kind: str
    record: Record

    def content(self, arena: str, names: Mapping[int, dict[str, str]]) -> bytes:
        """Return the message: what happened, where, and by which record of the log."""
        said: dict[str, Any] = {
            "type": self.kind,
            "arena": arena,
            "seq": self.record.seq,
            "at": self.record.at,
        }
        if self.kind == "crowned":
            said["leader"] = names.get(self.record.body["leads"])
        return msgspec.json.encode(said)


def events_in(records: Iterable[Record]) -> list[Event]:
    """Return what records say that others may want to hear, in order."""
    found = []
    for record in records:
        body = record.body
        if body.get("alarm"):
            found.append(Event("alarm", record))
        if "leads" in body:
            found.append(Event("crowned", record))
        if body.get("sure"):
            found.append(Event("sure", record))
        if record.kind == "closed":
            found.append(Event("closed", record))
    return found


def shown_secret(secret: bytes) -> str:
    """Write a hook's secret as its receiver has to know it."""
    return _PREFIX + base64.b64encode(secret).decode()


def signature(secret: bytes, message: str, seconds: int, content: bytes) -> str:
    """Sign a message: its id, the time at which it is sent, and what it says."""
    signed = f"{message}.{seconds}.".encode() + content
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def verified(secret: str, headers: Mapping[str, str], content: bytes, now: float) -> dict[str, Any]:
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


class Messenger:
    """Tells addresses what happens in the arenas that this process has in its hands.

    Each hook has a task of its own, so that an address that does not answer keeps nobody else
    waiting. A message that is not taken is sent again, later and later, and those after it wait.

    Parameters
    ----------
    hall
        The arenas.
    clock
        Seconds since 1970, which messages are stamped with.
    private
        Whether addresses of the server's own networks may be told.
    every
        How often logs are looked at, in seconds.
    first_wait
        After how many seconds a message that was not taken is sent again; then after twice that.
    send
        Sends one message; returns the answer's status.
    """

    def __init__(
        self,
        hall: Hall,
        *,
        clock: Callable[[], float],
        private: bool = False,
        every: float = 1.0,
        first_wait: float = 1.0,
        send: Callable[..., Awaitable[int]] = post,
    ) -> None:
        self._hall, self._clock, self._private, self._every = hall, clock, private, every
        self._first_wait, self._send = first_wait, send
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hooks: dict[str, list[Hook]] = {}
        self._again: set[str] = set()

    def look_again(self, arena: str) -> None:
        """Note that an arena's hooks have changed."""
        self._again.add(arena)

    async def run(self) -> None:
        """Deliver until cancelled."""
        try:
            await self._take_up()
            while True:
                await self._look()
                await asyncio.sleep(self._every)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _take_up(self) -> None:
        """Open the arenas of which somebody was not told everything when the last server ended."""
        store = self._hall.store

        def behind() -> list[str]:
            return [
                arena
                for arena in store.arenas()
                if any(hook.done < store.last_seq(arena) for hook in store.hooks(arena))
            ]

        with suppress(DriftduelError):
            for arena in await to_thread.run_sync(behind):
                with suppress(DriftduelError):  # it is another server's, which tells for it
                    await to_thread.run_sync(self._hall.arena, arena)

    async def _look(self) -> None:
        """Start tasks for hooks that are new here, and end those of hooks that are gone."""
        owned = self._hall.store.owned()
        for arena in (owned - self._hooks.keys()) | (self._again & owned):
            self._again.discard(arena)
            with suppress(DriftduelError):
                self._hooks[arena] = await to_thread.run_sync(self._hall.store.hooks, arena)
        for arena in self._hooks.keys() - owned:
            del self._hooks[arena]
        wanted = {hook.id: hook for hooks in self._hooks.values() for hook in hooks}
        for known in [known for known in self._tasks if known not in wanted]:
            self._tasks.pop(known).cancel()
        for known, hook in wanted.items():
            if known not in self._tasks:
                self._tasks[known] = asyncio.create_task(self._serve(hook))

    async def _serve(self, hook: Hook) -> None:
        """Tell one address of everything, in order."""
        store, done = self._hall.store, hook.done
        while True:
            try:
                records = await to_thread.run_sync(store.records, hook.arena, done, _AT_ONCE)
                for record in records:
                    events = [event for event in events_in([record]) if event.kind in hook.events]
                    for event in events:
                        await self._deliver(hook, event)
                    if events:  # only now: a record may say two things, an alarm and who leads
                        await to_thread.run_sync(store.hook_done, hook.id, record.seq)
                if records:
                    done = records[-1].seq
                    if len(records) == _AT_ONCE:  # a long stretch without news is not read again
                        await to_thread.run_sync(store.hook_done, hook.id, done)
                        continue
            except DriftduelError as error:  # the store is in trouble; it may be well again
                _LOG.warning("webhook %s waits: %s", hook.id, error)
            await asyncio.sleep(self._every)

    async def _deliver(self, hook: Hook, event: Event) -> None:
        """Send a message until it is taken."""
        record, wait = event.record, self._first_wait
        options = await to_thread.run_sync(self._hall.store.options, hook.arena)
        names = {arm: {"id": each.id, "name": each.name} for arm, each in enumerate(options)}
        content = event.content(hook.arena, names)
        message = f"{hook.arena}.{record.seq}.{event.kind}"
        while True:
            try:
                status = await self._once(hook, message, content)
                if 200 <= status < 300:
                    return
                why = f"it answered with {status}"
            except (ArenaError, OSError, TimeoutError, EOFError, ValueError) as error:
                why = str(error) or type(error).__name__
            _LOG.warning("webhook %s was not told of %s: %s", hook.id, message, why)
            # Not all at once when an address that many are told at comes back.
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, _LONGEST_WAIT)

    async def _once(self, hook: Hook, message: str, content: bytes) -> int:
        place = place_of(hook.url)
        address = await resolved(place, self._private)
        seconds = int(self._clock())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "driftduel",
            "webhook-id": message,
            "webhook-timestamp": str(seconds),
            "webhook-signature": signature(hook.secret, message, seconds, content),
        }
        return await self._send(place, address, headers, content)
