"""Boards, live: one computation for all who look, server-sent events for those who watch."""

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
    """One arena's board as it was last sent, and who waits for the next."""

    def __init__(self) -> None:
        self.seq, self.event = -1, b""
        self.watchers = 0
        self.changed = asyncio.Event()
        self.over = False
        self.task: asyncio.Task[None] | None = None


class Boards:
    """The boards of a server.

    A watcher has no queue: it is sent the newest board whenever it is ready for one, so one who
    reads slowly costs no memory and sees fewer boards.

    Parameters
    ----------
    settings
        How often, how many.
    find
        Gives the arena of a name.
    """

    def __init__(self, settings: ServerSettings, find: Find) -> None:
        self._settings, self._find = settings, find
        self._topics: dict[str, _Topic] = {}
        self._addresses: Counter[str] = Counter()
        self._computing: dict[str, tuple[int, asyncio.Task[bytes]]] = {}
        self.closing = asyncio.Event()

    @property
    def watchers(self) -> int:
        """How many watch now."""
        return self._addresses.total()

    @property
    def watched(self) -> int:
        """How many arenas are watched now."""
        return len(self._topics)

    async def json(self, arena: LiveArena) -> bytes:
        """Return the board as JSON; those who ask at once wait for one computation."""
        seq = arena.seq
        known = self._computing.get(arena.name)
        if known is None or known[0] != seq:
            task = asyncio.ensure_future(to_thread.run_sync(lambda: _encode(arena.board())))
            known = self._computing[arena.name] = (seq, task)
            task.add_done_callback(lambda _: self._on_computed(arena.name, seq))
        return await asyncio.shield(known[1])

    def _on_computed(self, name: str, seq: int) -> None:
        """Forget a computation that is done: a board also changes as time passes."""
        if self._computing.get(name, (None,))[0] == seq:
            del self._computing[name]

    def watch(
        self, name: str, address: str, allowed: Callable[[], Awaitable[bool]]
    ) -> StreamingResponse:
        """Return a response that sends the board whenever it has changed.

        `allowed` is asked now and then whether the watcher still may.
        """
        most = self._settings.listeners_per_address
        if self.watchers >= self._settings.listeners or self._addresses[address] >= most:
            raise ProblemError(
                "too-many", "Too many boards are watched at once; try again.", {"Retry-After": "30"}
            )
        return _BoardStream(self, name, address, self._events(name, allowed))

    def enter(self, name: str, address: str) -> None:
        """Count a watcher in; the first one of an arena sets its board going."""
        self._addresses[address] += 1
        topic = self._topics.setdefault(name, _Topic())
        topic.watchers += 1
        if topic.task is None:
            topic.task = asyncio.create_task(self._follow(name, topic))

    def leave(self, name: str, address: str) -> None:
        """Count a watcher out; with the last one its arena's board rests."""
        self._addresses -= Counter([address])  # drops what has come to 0
        topic = self._topics[name]
        topic.watchers -= 1
        if not topic.watchers:
            del self._topics[name]
            if topic.task is not None:
                topic.task.cancel()

    async def _follow(self, name: str, topic: _Topic) -> None:
        """Look at an arena as often as boards may be sent, and wake its watchers."""
        while not topic.over:
            try:
                arena = await self._find(name)
                if (seq := arena.seq) != topic.seq:
                    board = await self.json(arena)
                    topic.event = b"id: %d\nevent: board\ndata: %s\n\n" % (seq, board)
                    topic.seq = seq
                    topic.changed.set()
                    topic.changed = asyncio.Event()
            except Exception as error:  # a store in trouble: the next look may find it well
                # But who has the arena now is asked by those who come again.
                topic.over = getattr(error, "problem", "") == "owned-elsewhere"
                if topic.over:
                    topic.changed.set()
            await asyncio.sleep(self._settings.board_seconds)

    async def _events(
        self, name: str, allowed: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        topic, seen = self._topics[name], -1
        every, now = self._settings.heartbeat_seconds, asyncio.get_running_loop().time
        look = now() + every
        yield b"retry: 3000\n\n"
        while not (self.closing.is_set() or topic.over):
            if now() >= look:  # however much there is to send
                if not await allowed():
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
    """A response that counts itself in and out, whatever ends it."""

    def __init__(
        self, boards: Boards, name: str, address: str, events: AsyncIterator[bytes]
    ) -> None:
        # A proxy that collects answers before it passes them on would make it anything but live.
        super().__init__(
            events,
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )
        self._boards, self._name, self._address = boards, name, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_soon(message: Message) -> None:
            async with asyncio.timeout(_STALLED_SECONDS):  # who reads nothing holds no place
                await send(message)

        self._boards.enter(self._name, self._address)
        try:
            await super().__call__(scope, receive, send_soon)
        except* TimeoutError:
            pass
        finally:
            self._boards.leave(self._name, self._address)
