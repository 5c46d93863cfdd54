"""Where a server may be sent by what a user typed: not into its own network."""

import asyncio
import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from driftduel.arena.problems import ArenaError

__all__ = ["Place", "place_of", "resolved"]

_LONGEST = 500


class Place(NamedTuple):
    """A URL, taken apart."""

    secure: bool
    host: str
    port: int
    target: str
    """Path and query."""

    @property
    def authority(self) -> str:
        """What the request's ``Host`` says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.secure else 80
        return host if self.port == usual else f"{host}:{self.port}"


def place_of(url: str) -> Place:
    """Take a URL apart; refuse one that is none of ours to call."""

    def wrong(why: str) -> ArenaError:
        return ArenaError("bad-address", f"{url[:80]!r} {why}.")

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong("is no address") from None
    if len(url) > _LONGEST or not url.isascii() or not url.isprintable() or " " in url:
        raise wrong("is no address: letters of ASCII, and not too many")
    if parts.scheme not in ("http", "https") or not host:
        raise wrong("must begin with https:// or http:// and a host")
    if parts.username is not None or parts.password is not None:
        raise wrong("must have no user in it")
    secure = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Place(secure, host, port or (443 if secure else 80), target)


async def resolved(place: Place, private: bool) -> str:
    """Return the IP address to connect to, looked up once, or refuse.

    Whoever connects must use this very address: a name that is looked up again may lead elsewhere.
    All that a name stands for must be allowed, so that luck does not decide.

    Parameters
    ----------
    place
        Where to.
    private
        Whether the server's own networks are allowed.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        raise ArenaError("bad-address", f"{place.host!r} is not known.") from None
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not private:
        for address in addresses:
            if not is_public(address):
                raise ArenaError(
                    "bad-address",
                    f"{place.host!r} is {address}, which is not an address of the open Internet; "
                    "whoever runs the server can allow it.",
                )
    return addresses[0]


def is_public(address: str) -> bool:
    """Tell whether an IP address belongs to the open Internet, whatever it is wrapped in."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
