"""Operations of the HTTP interface: one list, from which routes and OpenAPI are generated."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from driftduel.arena.live import LiveArena
from driftduel.arena.web.messages import NoQuery
from driftduel.arena.web.security import Grant

__all__ = ["Call", "Handler", "Operation"]


@dataclass
class Call:
    """One request after its path, token and body were checked."""

    request: Request
    path: dict[str, str]
    """Values of the path parameters."""
    grant: Grant = field(init=False)
    """The token's grant; set for operations with a `scope`."""
    arena: LiveArena = field(init=False)
    """The arena object; set for operations with the attribute `live`."""
    query: Any = None
    body: Any = None
    content: bytes = b""
    """The body as received, for forwarding to another server."""


Handler = Callable[[Call], Awaitable[Struct | Response]]


@dataclass(frozen=True)
class Operation:
    """An operation: HTTP method, path, classes of request and response, and the required scope."""

    name: str
    method: str
    path: str
    about: str
    handler: Handler
    gives: type[Struct] | None
    """Class of the response body; None for another media type, the value of `media`."""
    scope: str | None = None
    """Required scope of the token; None: no token is required."""
    takes: type[Struct] | None = None
    query: type[Struct] = NoQuery
    status: int = 200
    problems: tuple[str, ...] = ()
    """Problems in addition to those that every operation can have."""
    media: str = "application/json"
    other_media: tuple[str, ...] = ()
    """Alternative media types, selected by the header Accept."""
    live: bool = True
    """Whether the handler needs the arena object, not only its name."""
    every_arena: bool = False
    """Whether a token for all arenas (``*``) is required."""
    body_optional: bool = False
    body_bytes: int | None = None
    """Maximum length of the body, if it is not that of the server."""
    file: bool = False
    """Whether the body is the content of a file of any media type, in place of JSON."""
    beacon: bool = False
    """Whether a cookie suffices without the header X-Driftduel, which `sendBeacon` cannot send.
    Safe for bodies with signed duel ids, which other sites do not have."""
