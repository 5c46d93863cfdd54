"""Limits per client: the length of a body, and the rate of requests."""

import ipaddress
import math
from collections import OrderedDict

from starlette.requests import Request

from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.settings import Rate, ServerSettings

__all__ = ["RateLimiter", "client_address", "read_body"]

_MOST_KEYS = 100_000


class RateLimiter:
    """A rate limiter per key (generic cell rate algorithm), with one value per key.

    The value is the time at which the burst of the key has drained. A key with a value in the past
    is equivalent to a new key, so it can be dropped, which bounds the memory.
    """

    def __init__(self, rate: Rate, most: int = _MOST_KEYS) -> None:
        self._gap = 1.0 / rate.per_second if rate.per_second > 0 else 0.0
        self._slack = self._gap * rate.burst
        self._drained: OrderedDict[object, float] = OrderedDict()
        self._most = most

    def wait(self, key: object, now: float) -> float:
        """Count a request and return 0, or return the seconds to wait; then it is not counted."""
        if not self._gap:
            return 0.0
        before = self._drained.get(key, now)
        if before > now + self._slack:
            # The clock was set back: do not wait until it has caught up.
            before = self._drained[key] = now + self._slack
        drained = max(before, now) + self._gap
        if drained - now > self._slack:
            return drained - now - self._slack
        self._drained[key] = drained
        self._drained.move_to_end(key)
        while len(self._drained) > self._most:
            self._drained.popitem(last=False)
        return 0.0

    def check(self, key: object, now: float, subject: str) -> None:
        """Raise ProblemError if a request comes too early; `subject` begins the message."""
        if wait := self.wait(key, now):
            raise ProblemError(
                "too-many",
                f"{subject} exceeds its rate limit; try again in {math.ceil(wait)} s.",
                {"Retry-After": str(math.ceil(wait))},
            )


def client_address(host: str | None) -> str:
    """Return the rate-limiting key of a client: its IPv4 address, or its IPv6 /64 network."""
    if host and ":" in host:
        try:
            return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))
        except ValueError:
            return host
    return host or ""


async def read_body(
    request: Request, settings: ServerSettings, most_bytes: int | None = None
) -> bytes:
    """Return the body; raise ProblemError as soon as its length exceeds the maximum."""
    most = settings.body_bytes if most_bytes is None else most_bytes
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 15 or int(declared) > most):
        raise _too_large(most)
    parts, size, more = [], 0, True
    while more:  # terminates: `Connection` closes slow connections
        message = await request.receive()
        if message["type"] == "http.disconnect":  # the client does not read this response
            raise ProblemError("bad-request", "The body ended before its declared length.")
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(most: int) -> ProblemError:
    return ProblemError("too-large", f"The body is longer than {most:,} bytes.")
