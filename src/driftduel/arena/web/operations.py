"""What can be done over HTTP: one table, from which routes and the OpenAPI document are made."""

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
    """One request, once it is known who asks for what."""

    request: Request
    path: dict[str, str]
    """What the names in the path stand for."""
    grant: Grant = field(init=False)
    """Of the operations that need a token."""
    arena: LiveArena = field(init=False)
    """Of the operations that are `live`."""
    query: Any = None
    body: Any = None
    content: bytes = b""
    """The body as it was sent, for another server."""


Handler = Callable[[Call], Awaitable[Struct | Response]]


@dataclass(frozen=True)
class Operation:
    """A method and a path, what they take and give, and who may."""

    name: str
    method: str
    path: str
    about: str
    handler: Handler
    gives: type[Struct] | None
    """None: an answer of another kind, which `media` names."""
    scope: str | None = None
    """What the token must allow; None: no token is needed."""
    takes: type[Struct] | None = None
    query: type[Struct] = NoQuery
    status: int = 200
    problems: tuple[str, ...] = ()
    """What can go wrong apart from what always can."""
    media: str = "application/json"
    other_media: tuple[str, ...] = ()
    """What is sent to those who accept only that."""
    live: bool = True
    """Whether the handler needs the arena itself, apart from its name."""
    every_arena: bool = False
    """Whether a token of no one arena is needed."""
    body_optional: bool = False
    beacon: bool = False
    """Whether a cookie suffices without the header that `sendBeacon` cannot send: for bodies that
    name signed duels, which no other site knows."""
