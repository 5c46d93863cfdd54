"""Send one HTTP POST request to a given IP address, and read the status of the response only.

`http.client` would resolve the host name again, and a slow receiver could block its thread.
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from functools import lru_cache

from driftduel.arena.addresses import Endpoint

__all__ = ["post"]

_SECONDS = 10.0
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r\n]")


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


async def post(
    place: Endpoint,
    address: str,
    headers: Mapping[str, str],
    content: bytes,
    seconds: float = _SECONDS,
) -> int:
    """Send content to an endpoint at an IP address; return the status. No redirect is followed.

    Raises
    ------
    TimeoutError, OSError
        If the receiver does not respond within `seconds`, or the connection fails.
    ValueError
        If the response is not HTTP.
    """
    async with asyncio.timeout(seconds):
        # The connection goes to the IP address, but the certificate must match the host name.
        reader, writer = await asyncio.open_connection(
            address,
            place.port,
            ssl=_tls() if place.secure else None,
            server_hostname=place.host if place.secure else None,
            limit=4096,
        )
        try:
            lines = [
                f"POST {place.target} HTTP/1.1",
                f"Host: {place.authority}",
                f"Content-Length: {len(content)}",
                "Connection: close",
                *(f"{name}: {value}" for name, value in headers.items()),
            ]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
            await writer.drain()
            line = await reader.readuntil(b"\n")
        except (asyncio.LimitOverrunError, asyncio.IncompleteReadError):
            raise ValueError("the response is not HTTP") from None
        finally:
            writer.close()
    found = _STATUS.match(line)
    if found is None:
        raise ValueError("the response is not HTTP")
    return int(found.group(1))
