"""Authentication and authorisation, cross-site checks, and security headers."""

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
"""The arena of tokens that may create arenas."""
_CONTAINS = {"vote": {"vote"}, "read": {"read"}, "own": {"vote", "read", "own"}}
_SAFE = ("GET", "HEAD", "OPTIONS")
_MOST_KEPT = 10_000
_LONGEST_TOKEN = 200


class Grant(NamedTuple):
    """The permissions of a token."""

    arena: str
    scope: str
    key: bytes
    """Digest of the token, the key of its rate limit."""
    by_cookie: bool = False


class Authenticator:
    """Finds the permissions of tokens, with a cache in front of the store.

    A deleted token stays valid for at most `_SECONDS`. The methods must be called in the thread of
    the event loop.
    """

    _SECONDS = 1.0

    def __init__(self, store: ArenaStore, settings: ServerSettings) -> None:
        self._store, self._clock = store, settings.clock
        self._grants: OrderedDict[bytes, tuple[float, Grant]] = OrderedDict()
        self._fetching: dict[bytes, asyncio.Task[Grant | None]] = {}
        self._origins: OrderedDict[str, frozenset[str]] = OrderedDict()

    async def grant(self, token: str, by_cookie: bool = False) -> Grant | None:
        """Return the permissions of a token, or None if it is unknown."""
        if not token or len(token) > _LONGEST_TOKEN:
            return None
        key, now = hash_token(token), self._clock()
        grant = None
        kept = self._grants.get(key)
        if kept is not None and 0.0 <= (age := now - kept[0]) < self._SECONDS:
            grant = kept[1]
            if age > self._SECONDS / 2:  # refresh early: no request waits for a token in use
                self._refresh_grant(key, now)
        else:
            grant = await asyncio.shield(self._refresh_grant(key, now))
        return grant._replace(by_cookie=True) if by_cookie and grant is not None else grant

    def _refresh_grant(self, key: bytes, now: float) -> "asyncio.Task[Grant | None]":
        """Return a task that reads a token from the store, shared by concurrent requests."""
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
        """Return whether the token of a grant still exists; this bypasses the cache."""
        return await to_thread.run_sync(self._store.token, grant.key) is not None

    async def authorise(
        self, request: Request, arena: str | None, scope: str, *, beacon: bool = False
    ) -> Grant:
        """Return the grant of a request.

        Parameters
        ----------
        request
            Request with a bearer token, or a cookie of the arena.
        arena
            Required arena of the token; None: any.
        scope
            Required scope; empty string: any.
        beacon
            Whether a cookie suffices without the header X-Driftduel, which protects from CSRF.

        Raises
        ------
        ProblemError
            ``no-token``, ``wrong-scope`` or ``cross-site``.
        """
        word, _, bearer = request.headers.get("authorization", "").partition(" ")
        by_cookie = not word
        if by_cookie:
            tokens = tokens_in(request, arena) if arena is not None else []
        else:
            tokens = [bearer.strip()] if word.lower() == "bearer" else []
        grants = [found for token in tokens if (found := await self.grant(token, by_cookie))]
        if not grants:
            fault = "The token is unknown" if tokens else "The request has no token"
            raise ProblemError(
                "no-token",
                f"{fault}; send 'Authorization: Bearer TOKEN'.",
                {"WWW-Authenticate": 'Bearer realm="driftduel"'},
            )
        here = [grant for grant in grants if arena in (None, grant.arena)]
        if not here:
            raise ProblemError("wrong-scope", "The token belongs to another arena.")
        able = [grant for grant in here if not scope or scope in _CONTAINS[grant.scope]]
        if not able:
            raise ProblemError(
                "wrong-scope", f"The token has the scope {here[0].scope!r}; this needs {scope!r}."
            )
        ours = beacon or request.method in _SAFE or request.headers.get("x-driftduel") == "1"
        if by_cookie and not ours:
            raise ProblemError(
                "cross-site", "A request with a cookie needs the header 'X-Driftduel: 1'."
            )
        return able[0]

    async def origins(self, arena: str) -> frozenset[str]:
        """Return the allowed origins of an arena; they are in its first record and never change."""
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
    """Return whether the header Origin names another site."""
    origin = headers.get("origin")
    if origin is None:
        return False
    # The scheme is not compared, because a proxy may terminate TLS.
    ours = headers.get("host", "").lower()
    return origin.lower() not in (f"http://{ours}", f"https://{ours}")


class SafeHeaders:
    """Adds default security headers to responses that do not set them."""

    def __init__(self, settings: ServerSettings) -> None:
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; "
            "img-src 'self' data: https:; media-src 'self' https:; connect-src 'self'; "
            f"base-uri 'none'; form-action 'none'; frame-ancestors {settings.frame_ancestors}"
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
        # Pages of other sites load the widget's script.
        self._static = {**self._usual, b"access-control-allow-origin": b"*"}

    async def send_json(
        self, send: Send, content: bytes, more: Iterable[tuple[bytes, bytes]], status: int = 200
    ) -> None:
        """Send a JSON response with the default headers and `more`."""
        length = (b"content-length", b"%d" % len(content))
        headers = [*self._of_json, length, *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def around(self, send: Send, path: str, more: Iterable[tuple[bytes, bytes]] = ()) -> Send:
        """Return a `send` function that adds the default headers and the argument `more`."""
        wanted = self._static if path.startswith("/static/") else self._usual

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"] = list(message.get("headers", ()))
                there = {name.lower() for name, _ in headers}
                headers += [pair for pair in wanted.items() if pair[0] not in there]
                headers += more
            await send(message)

        return send_safely
