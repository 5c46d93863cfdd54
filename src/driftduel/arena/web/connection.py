"""uvicorn's connection class, with limits for slow senders and long heads.

A client that opens connections and sends a byte now and then would keep them open for ever. A
request must therefore arrive completely within a number of seconds after its first byte, and the
length of its head is bounded.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from driftduel.arena.web.problems import early_refusal

__all__ = ["Connection"]

_LONGEST_HEAD = 64 * 1024


class _CoalescingTransport:
    """A transport that sends all data written in one iteration of the event loop in one call.

    uvicorn writes head and body of a response separately: two system calls, and two packets.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self.wrote = False
        """Whether data were written since this attribute was last reset."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Queue data for the end of this iteration."""
        self.wrote = True
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)

    def close(self) -> None:
        """Flush the buffer, and close the transport."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():  # otherwise the client has disconnected
            self._transport.writelines(held)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol class, which also keeps the start time of the current request."""

    transport: Any

    def connection_made(self, transport: Any) -> None:
        """Start to wait for a request."""
        self._began: float | None = self.loop.time()
        self._head: int | None = 0  # bytes of the head so far; None: it is complete
        super().connection_made(_CoalescingTransport(transport, self.loop))  # type: ignore[arg-type]

    def data_received(self, data: bytes) -> None:
        """Pass data to the parser, unless the head of the request is too long.

        Data may hold the end of a head and the body behind it, or several requests. The parser
        therefore gets no more than the rest of the longest head while a head is incomplete.
        """
        while self._head is not None and self._head + len(data) > _LONGEST_HEAD:
            rest = _LONGEST_HEAD - self._head
            self._head = _LONGEST_HEAD
            if rest:
                super().data_received(data[:rest])
            if self.transport.is_closing():
                return
            if self._head == _LONGEST_HEAD:  # otherwise the parser has seen the end of the head
                self._refuse(
                    "too-large", f"The head of the request is longer than {_LONGEST_HEAD:,} bytes."
                )
                return
            data = data[rest:]
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Store the time of the first byte of a request."""
        self._began = self.loop.time()
        self.transport.wrote = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Mark the head as complete."""
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Mark the request as complete."""
        self._began, self._head = None, 0  # further bytes belong to the next request
        super().on_message_complete()

    def end_if_slow(self, seconds: float) -> None:
        """Close the connection if the current request takes longer than `seconds` to arrive."""
        if self._began is not None and self.loop.time() - self._began > seconds:
            self._began = None
            self._refuse("too-slow", f"The request did not arrive within {seconds:g} s.")

    def _refuse(self, problem: str, detail: str) -> None:
        if not self.transport.is_closing():
            if not self.transport.wrote:  # otherwise a response was sent before
                self.transport.write(early_refusal(problem, detail))
            self.transport.close()
