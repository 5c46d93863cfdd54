"""Forward requests for an arena to the server that owns it, and relay the responses.

The URL of the owner is in the database. A forwarded request carries a signed header, with a key
from the database, so that only servers can create it. The header contains the address of the
client, which the owner uses for rate limits, and a timestamp. A forwarded request is not forwarded
again: two servers that each regard the other as the owner would loop.
"""

import asyncio
import hashlib
import hmac
import ssl
import time
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

import httptools
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from driftduel.arena.addresses import parse_url
from driftduel.arena.stores import ArenaStore
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.problems import ProblemError

__all__ = ["FORWARDED", "Forwarder"]

HEADER = "x-driftduel-forward"
FORWARDED = "driftduel.forwarded"
"""The key in a request's scope that marks it as forwarded by another server."""
_CLOCK_SECONDS = 300.0
_OWNER_SECONDS = 1.0
_CONNECT_SECONDS = 3.0
#: Timeouts for the head of a response, to requests of voters and to others; and for a pause within
#: a response. Streams of boards have a heartbeat every 15 s.
_VOTE_SECONDS, _OTHER_SECONDS, _PAUSE_SECONDS = 10.0, 300.0, 120.0
#: Maximum number of idle connections per server, and their timeout; servers close them after 30 s.
_IDLE, _IDLE_SECONDS = 16, 10.0
_CHUNK = 1 << 16
_BROKEN = (OSError, httptools.HttpParserError)
_NOT_PASSED_ON = frozenset(
    (
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade", "content-length", "expect", "date", "server", "forwarded",
        "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip", HEADER,
    )
)  # fmt: skip


class _Reply:
    """Parser callbacks that collect one response."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        self.has_head = self.done = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.has_head = True

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)

    def on_message_complete(self) -> None:
        self.done = True


class _Link:
    """A connection to another server, used for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.used = time.monotonic()

    async def ask(self, request: bytes, seconds: float) -> _Reply:
        """Send a request; return the response as soon as its head has arrived."""
        self.reply = _Reply()
        self._parser = httptools.HttpResponseParser(self.reply)
        async with asyncio.timeout(seconds):
            self._writer.write(request)
            await self._writer.drain()
            while not self.reply.has_head:
                await self._read_more()
        return self.reply

    async def _read_more(self) -> None:
        async with asyncio.timeout(_PAUSE_SECONDS):
            data = await self._reader.read(_CHUNK)
        if not data:
            raise ConnectionResetError("the other server closed the connection")
        self._parser.feed_data(data)

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""
        while True:
            parts, self.reply.parts = self.reply.parts, []
            for part in parts:
                yield part
            if self.reply.done:
                return
            if not self.reply.parts:
                await self._read_more()

    @property
    def status(self) -> int:
        """The status of the response."""
        return int(self._parser.get_status_code())

    @property
    def can_be_reused(self) -> bool:
        """Whether the connection can be used for another request."""
        return self.reply.done and bool(self._parser.should_keep_alive())

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


class Forwarder:
    """Forwards requests to the servers that own the arenas.

    Parameters
    ----------
    store
        Store with the owners of arenas.
    key
        Key that all servers of the store share.
    clock
        Function that returns the seconds since 1970.
    """

    def __init__(self, store: ArenaStore, key: bytes, clock: Any) -> None:
        self._store, self._key, self._clock = store, key, clock
        self._owners: dict[str, tuple[float, str]] = {}
        self._idle: dict[str, list[_Link]] = {}

    def accept(self, request: Request) -> bool:
        """Return whether another server forwarded a request; set the client's address from it.

        Raises
        ------
        ProblemError
            ``wrong-scope``, if the header exists but is not signed by a server of this store.
        """
        value: str | None = request.headers.get(HEADER)
        if value is None:
            return False
        seconds, _, rest = value.partition(" ")
        client, _, signature = rest.rpartition(" ")
        wanted = self._signature(request, seconds, client)
        if not hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace")):
            raise ProblemError("wrong-scope", f"The signature of the header {HEADER} is wrong.")
        if abs(self._clock() - float(seconds)) > _CLOCK_SECONDS:
            raise ProblemError(
                "wrong-scope", f"The header {HEADER} is too old; compare the clocks."
            )
        request.scope["client"] = (client, 0) if client else None
        request.scope[FORWARDED] = True
        return True

    def _signature(self, request: Request, seconds: str, client: str) -> str:
        signed = "\0".join((seconds, request.method, _target(request), client))
        return hashlib.blake2b(signed.encode("utf-8", "replace"), key=self._key).hexdigest()[:48]

    async def address(self, arena: str, *, any_server: bool = False) -> str | None:
        """Return the URL of the server that owns an arena, if it is another one; cached for 1 s.

        With the argument `any_server`, the URL of some other server if the arena has no owner.
        """
        known = self._owners.get(arena)
        if known is not None and time.monotonic() - known[0] < _OWNER_SECONDS:
            return known[1]
        found = await to_thread.run_sync(self._store.owner_address, arena, any_server)
        if found is None:
            self._owners.pop(arena, None)
        else:
            self._owners[arena] = time.monotonic(), found
        return found

    def forget(self, arena: str) -> None:
        """Drop the cached owner of an arena: it did not respond, or it is not the owner."""
        self._owners.pop(arena, None)

    def knows(self, arena: str) -> bool:
        """Return whether the cache has a recent entry with another server as the owner."""
        known = self._owners.get(arena)
        return known is not None and time.monotonic() - known[0] < _OWNER_SECONDS

    async def answer(
        self, call: Call, arena: str, operation: Operation, *, any_server: bool = False
    ) -> Response | None:
        """Return the owner's response; None if the request was not processed, or may be repeated.

        Parameters
        ----------
        call
            The request, its body read.
        arena
            Name of the arena.
        operation
            The requested operation. Asking, voting and reading are safe to repeat: votes are
            idempotent, and a superfluous duel expires. For other operations a connection that
            breaks after the request was sent is an error, because the owner may have processed it.
        any_server
            Whether any other server may be asked if there is no owner.

        Raises
        ------
        ProblemError
            ``store-trouble``, if it is unknown whether the owner processed the request.
        """
        address = await self.address(arena, any_server=any_server)
        if address is None:
            return None
        repeatable = operation.scope in ("vote", "read")
        seconds = _VOTE_SECONDS if operation.scope == "vote" else _OTHER_SECONDS
        try:
            link = await self._ask(address, call, repeatable, seconds)
        except ConnectionRefusedError:
            self.forget(arena)
            return None
        except _BROKEN:  # TimeoutError is a subclass of OSError
            self.forget(arena)
            if repeatable:
                return None
            raise ProblemError(
                "store-trouble",
                "The server that owns the arena stopped responding, and may have processed this "
                "request; check its effect before you repeat it.",
                {"Retry-After": "1"},
            ) from None
        return await self._relay(link, address, arena, call.request.method == "HEAD")

    async def _ask(self, address: str, call: Call, repeatable: bool, seconds: float) -> _Link:
        request = self._request(call)
        idle = self._idle.get(address, [])
        # The owner may have closed an idle connection: use one for repeatable requests only.
        while repeatable and idle:
            link = idle.pop()
            if time.monotonic() - link.used > _IDLE_SECONDS:
                link.close()
                continue
            try:
                await link.ask(request, seconds)
            except BaseException as error:
                link.close()
                if isinstance(error, TimeoutError) or not isinstance(error, _BROKEN):
                    raise  # the owner hangs: every further connection would time out, too
            else:
                return link
        place = parse_url(address)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                link = _Link(
                    *await asyncio.open_connection(
                        place.host, place.port, ssl=_tls() if place.secure else None
                    )
                )
        except (OSError, TimeoutError):
            raise ConnectionRefusedError from None  # nothing was sent
        try:
            await link.ask(request, seconds)
        except BaseException:
            link.close()
            raise
        return link

    def _request(self, call: Call) -> bytes:
        request = call.request
        client, seconds = request.scope.get("client"), f"{self._clock():.0f}"
        address = str(client[0]) if client else ""
        signed = f"{seconds} {address} {self._signature(request, seconds, address)}"
        lines = [f"{request.method} {_target(request)} HTTP/1.1".encode("latin-1")]
        lines += [
            name + b": " + value
            for name, value in request.scope["headers"]
            if name.decode("latin-1") not in _NOT_PASSED_ON
        ]
        lines += [f"{HEADER}: {signed}".encode(), b"content-length: %d" % len(call.content)]
        return b"\r\n".join([*lines, b"", call.content])

    async def _relay(
        self, link: _Link, address: str, arena: str, head_only: bool
    ) -> Response | None:
        """Return another server's response as this one's; None if it does not own the arena."""
        headers = [
            (name, value)
            for name, value in link.reply.headers
            if name.decode("latin-1") not in _NOT_PASSED_ON
        ]
        length = dict(link.reply.headers).get(b"content-length")
        if head_only or (length is None and not link.reply.done):
            answer: Response = _Streamed(link, head_only)
        else:
            try:
                content = b"".join([part async for part in link.parts()])
            except OSError:
                link.close()
                self.forget(arena)
                raise ProblemError(
                    "no-answer",
                    "The connection to the owner of the arena broke; repeat the request.",
                ) from None
            self._keep(link, address)
            if link.status == 503 and b"/problems/owned-elsewhere" in content:
                self.forget(arena)
                return None
            answer = Response(content, link.status)
            headers.append((b"content-length", b"%d" % len(content)))
        answer.status_code = link.status
        answer.raw_headers = headers
        return answer

    def _keep(self, link: _Link, address: str) -> None:
        idle = self._idle.setdefault(address, [])
        if link.can_be_reused and len(idle) < _IDLE:
            link.used = time.monotonic()
            idle.append(link)
        else:
            link.close()

    def close(self) -> None:
        """Close all connections."""
        for links in self._idle.values():
            for link in links:
                link.close()
        self._idle.clear()


class _Streamed(StreamingResponse):
    """A response that is relayed as it arrives, such as the stream of a board."""

    def __init__(self, link: _Link, head_only: bool) -> None:
        async def parts() -> AsyncIterator[bytes]:
            try:
                if not head_only:
                    async for part in link.parts():
                        yield part
            except OSError:
                return  # the owner stopped; a browser that shows a board reconnects
            finally:
                link.close()

        super().__init__(parts())


def _target(request: Request) -> str:
    """Return path and query string as they were sent."""
    path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    query: bytes = request.scope["query_string"]
    return (path + (b"?" + query if query else b"")).decode("latin-1")


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
