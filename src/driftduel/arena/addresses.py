"""Functions that validate URLs from users: a server must not call its own network (SSRF)."""

import asyncio
import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from driftduel.arena.problems import ArenaError

__all__ = ["Endpoint", "parse_url", "resolve_address"]

_LONGEST = 500


class Endpoint(NamedTuple):
    """The parts of a URL that a request needs."""

    secure: bool
    host: str
    port: int
    target: str
    """Path and query string."""

    @property
    def authority(self) -> str:
        """The value of the ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.secure else 80
        return host if self.port == usual else f"{host}:{self.port}"


def parse_url(url: str) -> Endpoint:
    """Split a URL into its parts.

    Raises
    ------
    ArenaError
        ``bad-address``, if the string is not an http or https URL without user information.
    """

    def wrong(why: str) -> ArenaError:
        return ArenaError("bad-address", f"{url[:80]!r} {why}.")

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong("is not a valid URL; pass https://HOST/PATH") from None
    if len(url) > _LONGEST or not url.isascii() or not url.isprintable() or " " in url:
        raise wrong(
            f"is not a valid URL: it must have at most {_LONGEST} printable ASCII characters"
        )
    if parts.scheme not in ("http", "https") or not host:
        raise wrong("must begin with https:// or http:// and a host")
    if parts.username is not None or parts.password is not None:
        raise wrong("must not contain a user name or password")
    secure = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(secure, host, port or (443 if secure else 80), target)


async def resolve_address(place: Endpoint, private: bool) -> str:
    """Return the IP address to connect to, resolved once.

    The caller must connect to this address, not to the host name: a second lookup may return
    another address (DNS rebinding). If a name resolves to several addresses, all of them must be
    allowed; otherwise the result would depend on their order.

    Parameters
    ----------
    place
        The endpoint.
    private
        Whether addresses of the server's own networks are allowed.

    Raises
    ------
    ArenaError
        ``bad-address``, if the host name is unknown or the address is not allowed.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        raise ArenaError(
            "bad-address", f"the host name {place.host!r} cannot be resolved; check its spelling."
        ) from None
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not private:
        for address in addresses:
            if not is_public(address):
                raise ArenaError(
                    "bad-address",
                    # Without the IP address, which would reveal the internal network.
                    f"{place.host!r} is not, or not only, an address of the public Internet; the "
                    "server's operator can allow it with --private-hooks.",
                )
    return addresses[0]


def is_public(address: str) -> bool:
    """Return whether an IP address is public; the function unwraps embedded IPv4 addresses."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not any(ip in each for each in _DENIED)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Networks for which `is_global` is true in some version of Python, and tunnels to IPv4 addresses
# that cannot be decoded from the IPv6 address.
_DENIED = [
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared address space (carrier-grade NAT)
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local; metadata services of clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT relays
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "::/96",  # IPv4-compatible, unspecified, loopback
        "64:ff9b:1::/48",  # NAT64 for local use
        "100::/64",  # discard
        "2001::/23",  # IETF protocol assignments
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # unique local
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local
        "ff00::/8",  # multicast
    )
]
