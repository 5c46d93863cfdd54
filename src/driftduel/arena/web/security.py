"""Who may do what: tokens and scopes, requests of other sites, and headers for every answer."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from anyio import to_thread
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Send

from driftduel.arena.access import hash_token
from driftduel.arena.stores import ArenaStore
from driftduel.arena.web.cookies import tokens_in
from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.settings import ServerSettings

__all__ = ["EVERY_ARENA", "Authenticator", "Grant", "SafeHeaders", "is_foreign"]

EVERY_ARENA = "*"
"""What a token belongs to that may make arenas."""
_CONTAINS = {"vote": {"vote"}, "read": {"read"}, "own": {"vote", "read", "own"}}
_SAFE = ("GET", "HEAD", "OPTIONS")
_MOST_KEPT = 10_000
_LONGEST_TOKEN = 200


class Grant(NamedTuple):
    """What a token allows."""

    arena: str
    scope: str
    key: bytes
    """The token's digest: what its requests are counted by."""
    by_cookie: bool = False


class Authenticator:
    """Looks at tokens, and remembers them for a moment so that a slow store is asked rarely.

    A token that is dropped is good for `_SECONDS` more.
    """

    _SECONDS = 1.0

    def __init__(self, store: ArenaStore, settings: ServerSettings) -> None:
        self._store, self._clock = store, settings.clock
        self._grants: OrderedDict[bytes, tuple[float, Grant]] = OrderedDict()
        self._fetching: dict[bytes, asyncio.Task[Grant | None]] = {}
        self._origins: OrderedDict[str, frozenset[str]] = OrderedDict()

    async def grant(self, token: str, by_cookie: bool = False) -> Grant | None:
        """Return what a token allows, or None if it is none of ours."""
        if not token or len(token) > _LONGEST_TOKEN:
            return None
        key, now = hash_token(token), self._clock()
        grant = None
        kept = self._grants.get(key)
        if kept is not None and 0.0 <= (age := now - kept[0]) < self._SECONDS:
            grant = kept[1]
            if age > self._SECONDS / 2:  # nobody waits for the store while a token is in use
                self._refresh_grant(key, now)
        else:
            grant = await asyncio.shield(self._refresh_grant(key, now))
        return grant._replace(by_cookie=True) if by_cookie and grant is not None else grant

    def _refresh_grant(self, key: bytes, now: float) -> "asyncio.Task[Grant | None]":
        """Ask the store for a token; once, however many requests bring it at the same time."""
        looking = self._fetching.get(key)
        if looking is None:
            looking = self._fetching[key] = asyncio.create_task(self._fetch_grant(key, now))
            looking.add_done_callback(lambda task: task.cancelled() or task.exception())
        return looking

    async def _fetch_grant(self, key: bytes, now: float) -> Grant | None:
        try:
            found = await to_thread.run_sync(self._store.token, key)
        finally:
            del self._fetching[key]
        if found is None:
            self._grants.pop(key, None)
            return None
        grant = Grant(*found, key)
        self._grants[key] = (now, grant)
        if len(self._grants) > _MOST_KEPT:
            self._grants.popitem(last=False)
        return grant

    async def is_still_valid(self, grant: Grant) -> bool:
        """Tell whether what a token allowed is allowed still."""
        return await to_thread.run_sync(self._store.token, grant.key) is not None

    async def authorise(
        self, request: Request, arena: str | None, scope: str, *, beacon: bool = False
    ) -> Grant:
        """Return the grant of a request, or refuse it.

        Parameters
        ----------
        request
            Has a bearer token, or a cookie of the arena.
        arena
            What the token must belong to; None: whichever it belongs to.
        scope
            What it must allow; empty: anything.
        beacon
            Whether a cookie suffices, without the header that keeps other sites' forms out.
        """
        word, _, bearer = request.headers.get("authorization", "").partition(" ")
        by_cookie = not word
        if by_cookie:
            tokens = tokens_in(request, arena) if arena is not None else []
        else:
            tokens = [bearer.strip()] if word.lower() == "bearer" else []
        grants = [found for token in tokens if (found := await self.grant(token, by_cookie))]
        if not grants:
            said = "This token is not known" if tokens else "No token came with the request"
            raise ProblemError(
                "no-token",
                f"{said}; send 'Authorization: Bearer TOKEN'.",
                {"WWW-Authenticate": 'Bearer realm="driftduel"'},
            )
        here = [grant for grant in grants if arena in (None, grant.arena)]
        if not here:
            raise ProblemError("wrong-scope", "This token belongs to another arena.")
        able = [grant for grant in here if not scope or scope in _CONTAINS[grant.scope]]
        if not able:
            raise ProblemError(
                "wrong-scope", f"This token may {here[0].scope!r}; {scope!r} is needed here."
            )
        ours = beacon or request.method in _SAFE or request.headers.get("x-driftduel") == "1"
        if by_cookie and not ours:
            raise ProblemError(
                "cross-site", "A request that changes something by cookie needs 'X-Driftduel: 1'."
            )
        return able[0]

    async def origins(self, arena: str) -> frozenset[str]:
        """Return whose pages may ask an arena; they are written in its first record, for good."""
        kept = self._origins.get(arena)
        if kept is None:
            first = await to_thread.run_sync(self._store.records, arena, 0, 1)
            if not first:
                return frozenset()
            kept = frozenset(first[0].body.get("settings", {}).get("origins", ()))
            self._origins[arena] = kept
            if len(self._origins) > _MOST_KEPT:
                self._origins.popitem(last=False)
        return kept


def is_foreign(headers: Headers) -> bool:
    """Tell whether a browser says that another site's page sends this."""
    origin = headers.get("origin")
    if origin is None:
        return False
    # A proxy may have taken the TLS off, so the scheme is not compared.
    ours = headers.get("host", "").lower()
    return origin.lower() not in (f"http://{ours}", f"https://{ours}")


class SafeHeaders:
    """Gives every answer the headers that keep browsers safe, unless it brings its own."""

    def __init__(self, settings: ServerSettings) -> None:
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; "
            "img-src 'self' data: https:; connect-src 'self'; base-uri 'none'; "
            f"form-action 'none'; frame-ancestors {settings.frame_ancestors}"
        )
        self._usual = {
            b"content-security-policy": policy.encode(),
            b"x-content-type-options": b"nosniff",
            b"referrer-policy": b"no-referrer",
            b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
            b"cross-origin-opener-policy": b"same-origin",
            b"cross-origin-resource-policy": b"same-origin",
            b"cache-control": b"no-store",
        }
        if settings.secure_cookies:
            self._usual[b"strict-transport-security"] = b"max-age=31536000"
        self._of_json = [(b"content-type", b"application/json"), *self._usual.items()]
        # The widget is a script that other people's pages load.
        self._static = {**self._usual, b"access-control-allow-origin": b"*"}

    async def send_json(
        self, send: Send, content: bytes, more: Iterable[tuple[bytes, bytes]], status: int = 200
    ) -> None:
        """Send an answer that has no headers of its own, with them and `more`."""
        length = (b"content-length", b"%d" % len(content))
        headers = [*self._of_json, length, *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def around(self, send: Send, path: str, more: Iterable[tuple[bytes, bytes]] = ()) -> Send:
        """Return a `send` that adds them, and `more`, to the answer of a path."""
        wanted = self._static if path.startswith("/static/") else self._usual

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"] = list(message.get("headers", ()))
                there = {name.lower() for name, _ in headers}
                headers += [pair for pair in wanted.items() if pair[0] not in there]
                headers += more
            await send(message)

        return send_safely
