"""Settings of a server; the defaults suit an arena on the public Internet."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Rate", "ServerSettings"]


class Rate(NamedTuple):
    """A rate limit in requests per second, and the size of a burst; 0 per second: no limit."""

    per_second: float
    burst: int


_PER_ADDRESS, _PER_TOKEN = Rate(100.0, 400), Rate(2000.0, 4000)


@dataclass(frozen=True)
class ServerSettings:
    """Limits and addresses of one server; instances are immutable.

    Parameters
    ----------
    body_bytes, request_seconds
        Maximum length of a body, and timeout for receiving a whole request.
    per_address, per_token
        Rate limits of one address and of one token. All voters of a vote page share its token,
        so its default value is higher.
    listeners, listeners_per_address
        Maximum number of board streams, in total and per address.
    board_seconds, heartbeat_seconds
        Minimum interval between boards of a stream, and interval of its heartbeats.
    handover_seconds
        Maximum time that a request waits for an arena without an owner.
    tick_seconds
        Interval in which expired graces and leases are processed.
    frame_ancestors
        Sites that may show the pages in a frame, as in Content-Security-Policy; none by default.
    secure_cookies
        Whether cookies are sent over HTTPS only; for servers behind a TLS proxy.
    private_hooks
        Whether webhooks may use loopback and private addresses; not by default.
    hooks
        Whether this server delivers webhooks.
    clock
        Function that returns the seconds since 1970, for rate limits and signatures.
    """

    body_bytes: int = 64 * 1024
    request_seconds: float = 15.0
    per_address: Rate = _PER_ADDRESS
    per_token: Rate = _PER_TOKEN
    listeners: int = 2000
    listeners_per_address: int = 50
    board_seconds: float = 1.0
    heartbeat_seconds: float = 15.0
    handover_seconds: float = 5.0
    tick_seconds: float = 0.5
    frame_ancestors: str = "'none'"
    secure_cookies: bool = False
    private_hooks: bool = False
    hooks: bool = True
    clock: Callable[[], float] = time.time
