"""One HTTP request to one IP address; of the answer only its status is read.

http.client would look the name up again, and a slow receiver could hold its thread for ever.
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
    """Send content to a place at an address; return the status. Redirects are not followed."""
    async with asyncio.timeout(seconds):
        # The certificate must be the name's, though it is the address that is connected to.
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
            raise ValueError("it did not answer in HTTP") from None
        finally:
            writer.close()
    found = _STATUS.match(line)
    if found is None:
        raise ValueError("it did not answer in HTTP")
    return int(found.group(1))
