"""Streams of boards: one computation for all readers, and server-sent events for watchers."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from anyio import to_thread
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from driftduel.arena.live import LiveArena
from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.settings import ServerSettings

__all__ = ["Boards"]

_STALLED_SECONDS = 60.0
_encode = msgspec.json.Encoder().encode
Find = Callable[[str], Awaitable[LiveArena]]


class _Topic:
    """The last board of an arena that was sent, and an event that wakes its watchers."""

    def __init__(self) -> None:
        self.seq, self.event = -1, b""
        self.watchers = 0
        self.changed = asyncio.Event()
        self.over = False
        self.task: asyncio.Task[None] | None = None


class Boards:
    """The board streams of a server. Methods must be called in the thread of the event loop.

    A watcher has no queue: it is sent the newest board whenever it is ready for one. A slow reader
    therefore costs no memory, and sees fewer boards.

    Parameters
    ----------
    settings
        Intervals and limits.
    find
        Function that returns the object of an arena, given its name.
    """

    def __init__(self, settings: ServerSettings, find: Find) -> None:
        self._settings, self._find = settings, find
        self._topics: dict[str, _Topic] = {}
        self._addresses: Counter[str] = Counter()
        self._computing: dict[str, tuple[int, asyncio.Task[bytes]]] = {}
        self.closing = asyncio.Event()

    @property
    def watchers(self) -> int:
        """Number of watchers."""
        return self._addresses.total()

    @property
    def watched(self) -> int:
        """Number of watched arenas."""
        return len(self._topics)

    async def json(self, arena: LiveArena) -> bytes:
        """Return the board as JSON; concurrent requests share one computation."""
        seq = arena.seq
        known = self._computing.get(arena.name)
        if known is None or known[0] != seq:
            task = asyncio.ensure_future(to_thread.run_sync(lambda: _encode(arena.board())))
            known = self._computing[arena.name] = (seq, task)
            task.add_done_callback(lambda _: self._on_computed(arena.name, seq))
        return await asyncio.shield(known[1])

    def _on_computed(self, name: str, seq: int) -> None:
        """Drop a finished computation: a board also changes as time passes."""
        if self._computing.get(name, (None,))[0] == seq:
            del self._computing[name]

    def watch(
        self, name: str, address: str, is_allowed: Callable[[], Awaitable[bool]]
    ) -> StreamingResponse:
        """Return a response that streams the board whenever it has changed.

        `is_allowed` is called at each heartbeat; the stream ends when it returns False.
        """
        most = self._settings.listeners_per_address
        if self.watchers >= self._settings.listeners or self._addresses[address] >= most:
            raise ProblemError(
                "too-many",
                "The maximum number of board streams is reached; try again in 30 s.",
                {"Retry-After": "30"},
            )
        return _BoardStream(self, name, address, self._events(name, is_allowed))

    def enter(self, name: str, address: str) -> None:
        """Count a watcher; the first one of an arena starts its task."""
        self._addresses[address] += 1
        topic = self._topics.setdefault(name, _Topic())
        topic.watchers += 1
        if topic.task is None:
            topic.task = asyncio.create_task(self._follow(name, topic))

    def leave(self, name: str, address: str) -> None:
        """Remove a watcher; the last one of an arena cancels its task."""
        self._addresses -= Counter([address])  # this drops keys with a count of 0
        topic = self._topics[name]
        topic.watchers -= 1
        if not topic.watchers:
            del self._topics[name]
            if topic.task is not None:
                topic.task.cancel()

    async def _follow(self, name: str, topic: _Topic) -> None:
        """Poll an arena at the rate of boards, and wake its watchers after a change."""
        while not topic.over:
            try:
                arena = await self._find(name)
                if (seq := arena.seq) != topic.seq:
                    board = await self.json(arena)
                    topic.event = b"id: %d\nevent: board\ndata: %s\n\n" % (seq, board)
                    topic.seq = seq
                    topic.changed.set()
                    topic.changed = asyncio.Event()
            except Exception as error:  # the store failed: the next attempt may succeed
                # After a change of the owner the stream ends; browsers reconnect to the new one.
                topic.over = getattr(error, "problem", "") == "owned-elsewhere"
                if topic.over:
                    topic.changed.set()
            await asyncio.sleep(self._settings.board_seconds)

    async def _events(
        self, name: str, is_allowed: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        topic, seen = self._topics[name], -1
        every, now = self._settings.heartbeat_seconds, asyncio.get_running_loop().time
        look = now() + every
        yield b"retry: 3000\n\n"
        while not (self.closing.is_set() or topic.over):
            if now() >= look:  # also while boards are sent without a pause
                if not await is_allowed():
                    return
                look = now() + every
            if topic.seq != seen:
                seen = topic.seq
                yield topic.event
                continue
            waits = [asyncio.ensure_future(event.wait()) for event in (topic.changed, self.closing)]
            try:
                done, _ = await asyncio.wait(
                    waits,
                    timeout=every,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                for wait in waits:
                    wait.cancel()
            if not done:
                yield b": ping\n\n"


class _BoardStream(StreamingResponse):
    """A response that counts itself as a watcher from its start to its end."""

    def __init__(
        self, boards: Boards, name: str, address: str, events: AsyncIterator[bytes]
    ) -> None:
        # X-Accel-Buffering: a proxy must not buffer the stream.
        super().__init__(
            events,
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )
        self._boards, self._name, self._address = boards, name, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_soon(message: Message) -> None:
            async with asyncio.timeout(_STALLED_SECONDS):  # a stalled reader must not count on
                await send(message)

        self._boards.enter(self._name, self._address)
        try:
            await super().__call__(scope, receive, send_soon)
        except* TimeoutError:
            pass
        finally:
            self._boards.leave(self._name, self._address)
