"""How much one client may ask: bodies of a bounded length, requests at a bounded rate."""

import ipaddress
import math
from collections import OrderedDict

from starlette.requests import Request

from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.settings import Rate, ServerSettings

__all__ = ["RateLimiter", "client_address", "read_body"]

_MOST_KEYS = 100_000


class RateLimiter:
    """Let every key have its rate: the generic cell rate algorithm, one number a key.

    The number is when the key's burst will have drained. A key whose number has passed is like a
    new one, so it can be forgotten, and memory is bounded whoever asks.
    """

    def __init__(self, rate: Rate, most: int = _MOST_KEYS) -> None:
        self._gap = 1.0 / rate.per_second if rate.per_second > 0 else 0.0
        self._slack = self._gap * rate.burst
        self._drained: OrderedDict[object, float] = OrderedDict()
        self._most = most

    def wait(self, key: object, now: float) -> float:
        """Count a request; return 0, or in how many seconds it may come (it is not counted)."""
        if not self._gap:
            return 0.0
        before = self._drained.get(key, now)
        if before > now + self._slack:
            # The clock was set back: nobody shall wait for the hours that it repeats.
            before = self._drained[key] = now + self._slack
        drained = max(before, now) + self._gap
        if drained - now > self._slack:
            return drained - now - self._slack
        self._drained[key] = drained
        self._drained.move_to_end(key)
        while len(self._drained) > self._most:
            self._drained.popitem(last=False)
        return 0.0

    def check(self, key: object, now: float, whose: str) -> None:
        """Refuse a request that comes too soon."""
        if wait := self.wait(key, now):
            raise ProblemError(
                "too-many",
                f"{whose} asks too often; it may ask again in {math.ceil(wait)} s.",
                {"Retry-After": str(math.ceil(wait))},
            )


def client_address(host: str | None) -> str:
    """Return what a client is counted by: its address, or an IPv6 customer's network."""
    if host and ":" in host:
        try:
            return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))
        except ValueError:
            return host
    return host or ""


async def read_body(request: Request, settings: ServerSettings) -> bytes:
    """Return the body; refuse one that is too long as soon as that is known."""
    most = settings.body_bytes
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 15 or int(declared) > most):
        raise _too_large(most)
    parts, size, more = [], 0, True
    while more:  # not for ever: `Connection` closes what is too slow
        message = await request.receive()
        if message["type"] == "http.disconnect":  # nobody reads this answer
            raise ProblemError("bad-request", "The body ended before it was whole.")
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(most: int) -> ProblemError:
    return ProblemError("too-large", f"The body may have {most:,} bytes at most.")
