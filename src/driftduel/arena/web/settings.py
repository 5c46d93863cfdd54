"""What whoever runs the server may set; the defaults suit an arena open to the world."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Rate", "ServerSettings"]


class Rate(NamedTuple):
    """So many requests a second, and so many at once before that counts; 0 a second: no limit."""

    per_second: float
    burst: int


_PER_ADDRESS, _PER_TOKEN = Rate(100.0, 400), Rate(2000.0, 4000)


@dataclass(frozen=True)
class ServerSettings:
    """Limits and addresses of one server.

    Parameters
    ----------
    body_bytes, request_seconds
        The longest body that is read, and how long a sender may take over a whole request.
    per_address, per_token
        How often one address, or one token, may ask. A vote page's token is shared by everybody
        who votes there, so its limit is the wider one.
    listeners, listeners_per_address
        How many boards may be watched live at once, by all and from one address.
    board_seconds, heartbeat_seconds
        A watched board is sent at most this often; a silent connection hears this often that it
        still stands.
    handover_seconds
        How long a request waits for an arena whose owner is changing.
    tick_seconds
        How often votes whose grace is over are told, and leases that are over are forgotten.
    frame_ancestors
        Who may show the pages in a frame, as Content-Security-Policy says it.
    secure_cookies
        Whether cookies are sent over HTTPS only; for servers behind a proxy that speaks it.
    private_hooks
        Whether webhooks may lead to loopback and private addresses.
    hooks
        Whether this server delivers webhooks at all.
    clock
        Seconds since 1970, for rates and signatures.
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
