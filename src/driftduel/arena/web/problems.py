"""Error responses as ``application/problem+json``: name, title, status, and one sentence."""

import http
import logging
from collections.abc import Mapping

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from driftduel.arena.problems import PROBLEMS
from driftduel.arena.responses import trouble
from driftduel.arena.stores import StoreError
from driftduel.errors import DriftduelError, LogError

__all__ = [
    "MEDIA",
    "ProblemDetails",
    "ProblemError",
    "early_refusal",
    "handlers",
    "internal_error",
    "refusal",
]

MEDIA = "application/problem+json"
_LONGEST = 1000
_LOG = logging.getLogger("driftduel.arena")


class ProblemError(Exception):
    """An error response; `name` is one of the keys of `PROBLEMS`."""

    def __init__(self, name: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.name, self.detail = name, detail
        self.headers = dict(headers or {})


class ProblemDetails(msgspec.Struct):
    """An error response as RFC 9457 defines it."""

    type: str
    title: str
    status: int
    detail: str


def _answer(
    name: str, detail: str, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response for a problem."""
    usual, title = PROBLEMS[name]
    status = status or usual
    content = msgspec.json.encode(ProblemDetails(f"/problems/{name}", title, status, _line(detail)))
    return Response(content, status, dict(headers or {}), MEDIA)


def _line(detail: str) -> str:
    """Return a message as one printable line of bounded length, whatever the request contained."""
    plain = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in detail
    )
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 4]} ..."


def refusal(error: ProblemError | DriftduelError) -> Response:
    """Return the response for a refused request; an ArenaError determines its own status."""
    if isinstance(error, ProblemError):
        return _answer(error.name, error.detail, headers=error.headers)
    if isinstance(error, StoreError):
        error = trouble(error)
    if isinstance(error, LogError):
        _LOG.error("damaged log: %s", error)
        detail = f"{error} Run 'driftduel arena check NAME', and restore a backup."
        return _answer("damaged-log", detail)
    name, status = getattr(error, "problem", "bad-request"), getattr(error, "status", None)
    headers = {"Retry-After": "1"} if status in (429, 503) else None
    return _answer(name, str(error), status, headers)


def early_refusal(problem: str, detail: str) -> bytes:
    """Return a complete response as bytes, for a request that is not read to its end."""
    answer = _answer(problem, detail, headers={"Connection": "close"})
    phrase = http.HTTPStatus(answer.status_code).phrase
    head = [f"HTTP/1.1 {answer.status_code} {phrase}".encode()]
    head += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join([*head, b"", bytes(answer.body)])


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError | DriftduelError)
    return refusal(error)


async def _on_http_error(request: Request, error: Exception) -> Response:
    """Handle an error of Starlette: unknown path, method not allowed, malformed request."""
    assert isinstance(error, HTTPException)
    status, path = error.status_code, request.scope["path"]
    names = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}
    details = {
        404: f"The path {path[:200]!r} does not exist; /v1/openapi.json lists all paths.",
        405: f"{path[:200]!r} does not support {request.method}.",
    }
    name = names.get(status, "bad-request" if status < 500 else "broken")
    detail = details.get(status, f"{http.HTTPStatus(status).phrase}.")
    return _answer(name, detail, status, error.headers)


async def internal_error(request: Request, error: Exception) -> Response:
    """Handle an unexpected exception: log the traceback, respond with status 500."""
    _LOG.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
    return _answer(
        "broken", "The request failed with an internal error; the log of the server has details."
    )


handlers = {
    ProblemError: _on_refusal,
    DriftduelError: _on_refusal,
    HTTPException: _on_http_error,
    Exception: internal_error,
}
