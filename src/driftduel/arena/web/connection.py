"""A connection, as uvicorn has it, and what uvicorn leaves to a proxy: limits for slow senders.

Whoever opens connections and sends a byte now and then would keep them for ever: a request must
be here, as a whole, within some seconds of its first byte, and its head must not be too long.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from driftduel.arena.web.problems import early_refusal

__all__ = ["Connection"]

_LONGEST_HEAD = 64 * 1024


class _CoalescingTransport:
    """A transport that sends what is written in one turn of the loop in one go.

    uvicorn writes an answer's head and its body one after the other: two system calls, and two
    packets for the other side to wake up for.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self.wrote = False
        """Whether anything was written since this was last set."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send this soon."""
        self.wrote = True
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)

    def close(self) -> None:
        """Send what is to be sent, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():  # or nobody is there to read it
            self._transport.writelines(held)


class Connection(HttpToolsProtocol):
    """uvicorn's, which knows when the request that it reads began."""

    transport: Any

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        self._began: float | None = self.loop.time()
        self._head: int | None = 0  # bytes so far; None: it is complete
        super().connection_made(_CoalescingTransport(transport, self.loop))  # type: ignore[arg-type]

    def data_received(self, data: bytes) -> None:
        """Take what came, unless it is a head without an end."""
        if self._head is not None:
            self._head += len(data)
            if self._head > _LONGEST_HEAD:
                self._refuse("too-large", f"A head has {_LONGEST_HEAD:,} bytes at most.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Note when the first byte of a request came."""
        self._began = self.loop.time()
        self.transport.wrote = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head is here."""
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the request is here."""
        self._began, self._head = None, 0  # what comes now is the next one's
        super().on_message_complete()

    def end_if_slow(self, seconds: float) -> None:
        """Close it if the request that it reads takes longer than this."""
        if self._began is not None and self.loop.time() - self._began > seconds:
            self._began = None
            self._refuse("too-slow", f"The request did not arrive within {seconds:g} s.")

    def _refuse(self, problem: str, said: str) -> None:
        if not self.transport.is_closing():
            if not self.transport.wrote:  # else it has its answer, and does not listen
                self.transport.write(early_refusal(problem, said))
            self.transport.close()
