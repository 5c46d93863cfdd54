"""The ASGI application: checks of every request, then the operation it names."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from driftduel.arena.manager import ArenaManager
from driftduel.arena.web import pages
from driftduel.arena.web.limits import client_address, read_body
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.problems import ProblemError, handlers, internal_error, refusal
from driftduel.arena.web.routes_items import item_operations
from driftduel.arena.web.routes_open import is_open, public_operations
from driftduel.arena.web.routes_owning import owner_operations
from driftduel.arena.web.routes_reading import reader_operations
from driftduel.arena.web.routes_voting import voter_operations
from driftduel.arena.web.security import EVERY_ARENA, SafeHeaders, is_foreign
from driftduel.arena.web.service import Service
from driftduel.arena.web.settings import ServerSettings
from driftduel.errors import DriftduelError

__all__ = ["ArenaApp", "make_app"]

_ARENA_PATH = re.compile(r"/v1/arenas/([^/]+)/")
_SHORT = 40
_encode = msgspec.json.Encoder().encode


class _CachedHeaders(Headers):
    """Headers that are decoded once, because a request is examined by several functions."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope=scope)
        pairs = reversed(self.raw)  # of two headers with one name the first one wins
        self._first = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a header, or the default."""
        return self._first.get(key.lower(), default)


class CachedRequest(Request):
    """A request with cached headers."""

    @property
    def headers(self) -> Headers:
        """The headers of the request."""
        if not hasattr(self, "_headers"):
            self._headers = _CachedHeaders(self.scope)
        return self._headers


class ArenaApp(Starlette):
    """A Starlette application that checks limits and origins, and adds security headers."""

    def __init__(self, manager: ArenaManager, settings: ServerSettings) -> None:
        self.service = Service(manager, settings)
        # Votes first: the table is searched in order.
        table = [
            *voter_operations(self.service),
            *reader_operations(self.service),
            *owner_operations(self.service),
            *item_operations(self.service),
        ]
        self.operations: list[Operation] = [*table, *public_operations(self.service, table)]
        self.table = _table(self.service, self.operations)
        super().__init__(
            routes=pages.routes(secure=settings.secure_cookies),
            exception_handlers=dict(handlers),
            lifespan=self._lifespan,
        )
        self.router.redirect_slashes = False
        self._headers = SafeHeaders(settings)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with self.service.running():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or an event of the ASGI lifespan."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await super().__call__(scope, receive, send)
            return
        request = CachedRequest(scope, receive)
        more: list[tuple[bytes, bytes]] = []  # further response headers (CORS)
        try:
            answer: Struct | Response | None = await self._check_request(request, more)
            status = 200
            if answer is None:
                answer, status = await self._operate(request)
        except (ProblemError, DriftduelError) as error:
            answer = refusal(error)
        except Exception as error:
            answer = await internal_error(request, error)
        if isinstance(answer, Struct):
            await self._headers.send_json(send, _encode(answer), more, status)
            return
        safely = self._headers.around(send, scope["path"], more)
        await (answer or super().__call__)(scope, receive, safely)

    async def _check_request(
        self, request: "CachedRequest", more: list[tuple[bytes, bytes]]
    ) -> Response | None:
        """Enforce the rate limit of the address, and the arena's list of allowed origins.

        Returns a response for a CORS preflight request, otherwise None.

        Raises
        ------
        ProblemError
            ``too-many`` or ``cross-site``.
        """
        service, scope, headers = self.service, request.scope, request.headers
        path: str = scope["path"]
        if service.was_forwarded(request):  # the forwarding server has made these checks
            return None
        if path != "/healthz":
            client = scope.get("client")
            address = client_address(client[0] if client else None)
            service.addresses.check(address, service.settings.clock(), "This address")
        if not path.startswith("/v1/") or not is_foreign(headers):
            return None
        if is_open(path):
            more.append((b"access-control-allow-origin", b"*"))
            return None
        origin, arena = headers["origin"], _ARENA_PATH.match(path)
        if arena is None or origin not in await service.authenticator.origins(arena.group(1)):
            raise ProblemError(
                "cross-site",
                f"The origin {origin[:200]!r} is not allowed; create the arena with --origin.",
            )
        more += [
            (b"access-control-allow-origin", origin.encode()),
            (b"access-control-expose-headers", b"Date, Retry-After"),
            (b"vary", b"Origin"),
        ]
        if scope["method"] != "OPTIONS":
            return None
        allowed = {
            "Access-Control-Allow-Methods": "GET, POST",
            "Access-Control-Allow-Headers": "Authorization, Content-Type",
            "Access-Control-Max-Age": "600",
        }
        return Response(status_code=204, headers=allowed)

    async def _operate(self, request: "CachedRequest") -> tuple[Struct | Response | None, int]:
        """Run the operation of a request; return its response and status, or None for other paths.

        Pages and unknown paths are left to Starlette's router, which takes about as long as a vote.
        """
        scope = request.scope
        path, root = scope["path"], scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :]
        for entry in self.table:
            found = entry.pattern.match(path)
            if found is None:
                continue
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            if method not in entry.methods:
                allowed = sorted({*entry.methods, *(("HEAD",) if "GET" in entry.methods else ())})
                raise ProblemError(
                    "method-not-allowed",
                    f"{path[:200]!r} does not support {scope['method']}; see the header Allow.",
                    {"Allow": ", ".join(allowed)},
                )
            do, status = entry.methods[method]
            scope["path_params"] = found.groupdict()
            return await do(request), status
        return None, 200


class RouteEntry(NamedTuple):
    """A path, and for each method a tuple of its handler function and its response status."""

    path: str
    pattern: re.Pattern[str]
    methods: dict[str, tuple["_Handler", int]]


def _table(service: Service, operations: Sequence[Operation]) -> list[RouteEntry]:
    """Return one entry per path, in the order of the operations."""
    table: dict[str, RouteEntry] = {}
    for operation in operations:
        path = operation.path
        entry = table.setdefault(path, RouteEntry(path, compile_path(path)[0], {}))
        entry.methods[operation.method] = _make_handler(service, operation), operation.status
    return list(table.values())


def make_app(manager: ArenaManager, *, settings: ServerSettings | None = None) -> ArenaApp:
    """Return the application that serves the arenas of a manager, which it closes at shutdown.

    Parameters
    ----------
    manager
        The arenas.
    settings
        Limits and addresses; None: the defaults, for an arena on the public Internet.
    """
    return ArenaApp(manager, settings or ServerSettings())


_Handler = Callable[[Request], Awaitable[Struct | Response]]


def _make_handler(service: Service, operation: Operation) -> _Handler:
    """Return the handler of an operation: authorisation, validation, then the operation."""
    settings, scope = service.settings, operation.scope
    decoder = None if operation.takes is None else msgspec.json.Decoder(operation.takes)

    async def do(request: Request) -> Struct | Response:
        path: dict[str, str] = request.path_params
        name = path.get("arena")
        call = Call(request, path)
        if scope is not None:
            wanted = EVERY_ARENA if operation.every_arena else name
            call.grant = await service.authenticator.authorise(
                request, wanted, scope, beacon=operation.beacon
            )
            service.tokens.check(call.grant.key, settings.clock(), "This token")
        call.query = _query(request, operation.query)
        if decoder is not None:
            call.content = await read_body(request, settings, operation.body_bytes)
            call.body = _body(request, operation, decoder, call.content)
        elif operation.file:
            call.content = await read_body(request, settings, operation.body_bytes)
        if not operation.live:
            return await operation.handler(call)
        return await service.at_owner(call, name or call.grant.arena, operation)

    return do


def _query(request: Request, wanted: type[Struct]) -> Struct:
    """Validate the query parameters of a request."""
    raw: bytes = request.scope["query_string"]
    if not raw and not _has_required(wanted):
        return wanted()
    return _short_query(raw, wanted) if len(raw) <= _SHORT else _read_query(raw, wanted)


@lru_cache(maxsize=64)
def _has_required(wanted: type[Struct]) -> bool:
    return any(each.required for each in msgspec.structs.fields(wanted))


def _read_query(raw: bytes, wanted: type[Struct]) -> Struct:
    pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True)
    given = dict(pairs)
    if len(given) != len(pairs):
        raise ProblemError("bad-request", "A query parameter occurs twice; send it once.")
    try:
        return msgspec.convert(given, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise ProblemError("bad-request", f"A query parameter is not valid: {error}.") from None


_short_query = lru_cache(maxsize=256)(_read_query)  # most requests have the query ``next=1``


def _body(
    request: Request, operation: Operation, decoder: "msgspec.json.Decoder[Any]", content: bytes
) -> Any:
    """Validate the body of a request; return the decoded value."""
    if not content and operation.body_optional:
        return None
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise ProblemError("wrong-media-type", "Send the body as 'Content-Type: application/json'.")
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProblemError("bad-request", f"The body is not valid: {str(error)[:500]}.") from None
    except RecursionError:
        raise ProblemError("bad-request", "The body is nested too deeply.") from None
