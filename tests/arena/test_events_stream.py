"""Boards that are watched live: sent when something changed, to many, and nobody is kept."""

import asyncio
import json

import pytest

pytest.importorskip("starlette")

from driftduel.arena.problems import ArenaError
from driftduel.arena.web.events import Boards
from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.settings import ServerSettings
from tests.waiting import LONG

SOON = 0.005
NEVER = 2.0 * LONG


class Counted:
    """An arena whose board is how often somebody looked."""

    name = "colours"

    def __init__(self):
        self.seq, self.looks = 1, 0
        self.trouble = None

    def board(self):
        self.looks += 1
        return {"seq": self.seq, "looks": self.looks}


class Watcher:
    """Somebody with a connection, which a test reads from and cuts."""

    def __init__(self, boards, allowed=True, address="a", reads=True):
        self.sent: asyncio.Queue[bytes] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.reads = asyncio.Event()
        if reads:
            self.reads.set()

        async def may():
            return allowed

        self.response = boards.watch("colours", address, may)
        self.task = asyncio.create_task(self._run())

    async def _run(self):
        async def receive():
            await self.gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            await self.reads.wait()
            if message["type"] == "http.response.body":
                await self.sent.put(message["body"])

        scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
        await self.response(scope, receive, send)

    async def next(self, kind="board"):
        """Return the next message of a kind: a board's number, or a ping."""
        while True:
            text = (await self.sent.get()).decode()
            if kind == "ping" and text == ": ping\n\n":
                return text
            if kind == "board" and "event: board\n" in text:
                lines = dict(line.split(": ", 1) for line in text.strip().splitlines())
                board = json.loads(lines["data"])
                assert lines["id"] == str(board["seq"])
                return board["seq"]

    async def leave(self):
        self.gone.set()
        await self.task


def watching(test, **settings):
    """Run a test with boards, an arena and enough time."""
    arena = Counted()

    async def find(name):
        if arena.trouble:
            raise arena.trouble
        return arena

    async def run():
        usual = {"board_seconds": SOON, "heartbeat_seconds": NEVER}
        boards = Boards(ServerSettings(**(usual | settings)), find)
        await test(boards, arena)
        assert (boards.watchers, boards.watched) == (0, 0)
        while asyncio.all_tasks() != {asyncio.current_task(), outer}:  # none is left for good
            await asyncio.sleep(SOON)

    async def in_time():
        nonlocal outer
        outer = asyncio.current_task()
        await asyncio.wait_for(run(), LONG)

    outer = None
    asyncio.run(in_time())


def test_a_board_is_sent_at_once_and_when_something_changed():
    async def test(boards, arena):
        watcher = Watcher(boards)
        assert await watcher.next() == 1
        arena.seq = 2
        assert await watcher.next() == 2
        await watcher.leave()

    watching(test)


def test_nothing_is_computed_while_nothing_changes_and_once_for_all():
    async def test(boards, arena):
        watchers = [Watcher(boards) for _ in range(20)]
        for watcher in watchers:
            assert await watcher.next() == 1
        for _ in range(20):
            await asyncio.sleep(SOON)
        assert arena.looks == 1
        arena.seq = 7
        for watcher in watchers:
            assert await watcher.next() == 7
        assert arena.looks == 2
        assert boards.watched == 1
        for watcher in watchers:
            await watcher.leave()

    watching(test)


def test_many_changes_at_once_are_one_board():
    async def test(boards, arena):
        watcher = Watcher(boards)
        assert await watcher.next() == 1
        for seq in range(2, 500):
            arena.seq = seq
        assert await watcher.next() == 499
        assert watcher.sent.empty()
        await watcher.leave()

    watching(test)


def test_one_who_reads_slowly_gets_the_newest_and_holds_nobody_up():
    async def test(boards, arena):
        slow, quick = Watcher(boards, reads=False), Watcher(boards)
        for seq in range(1, 6):
            arena.seq = seq
            assert await quick.next() == seq
        slow.reads.set()
        assert await slow.next() == 5
        assert slow.sent.empty()
        await slow.leave()
        await quick.leave()

    watching(test)


def test_a_silent_connection_hears_that_it_still_stands():
    async def test(boards, arena):
        watcher = Watcher(boards)
        for _ in range(3):
            assert await watcher.next("ping")
        await watcher.leave()

    watching(test, heartbeat_seconds=SOON)


def test_who_may_no_longer_watch_is_sent_away():
    async def test(boards, arena):
        await Watcher(boards, allowed=False).task

    watching(test, heartbeat_seconds=SOON)


def test_who_may_no_longer_watch_is_sent_away_though_there_is_always_news():
    async def test(boards, arena):
        watcher = Watcher(boards, allowed=False)
        while not watcher.task.done():  # each board is followed by another, long before a ping
            arena.seq += 1
            await asyncio.sleep(SOON)
        assert watcher.sent.qsize() > 3

    watching(test, heartbeat_seconds=200 * SOON)


@pytest.mark.parametrize("limit", [{"listeners": 3}, {"listeners_per_address": 3}])
def test_so_many_may_watch_and_no_more(limit):
    async def test(boards, arena):
        watchers = [Watcher(boards) for _ in range(3)]
        for watcher in watchers:
            await watcher.next()
        with pytest.raises(ProblemError, match="maximum number") as refused:
            Watcher(boards)
        assert refused.value.headers["Retry-After"]
        await watchers.pop().leave()
        watchers.append(Watcher(boards))
        assert await watchers[-1].next() == 1
        for watcher in watchers:
            await watcher.leave()

    watching(test, **limit)


def test_a_vanished_client_leaves_nothing_behind():
    async def test(boards, arena):
        for number in range(50):
            watcher = Watcher(boards)
            if number % 2:
                await watcher.next()
            watcher.task.cancel()
            await asyncio.gather(watcher.task, return_exceptions=True)

    watching(test)


def test_watching_goes_on_after_trouble_with_the_store():
    async def test(boards, arena):
        arena.trouble = RuntimeError()
        watcher = Watcher(boards)
        await asyncio.sleep(10 * SOON)
        arena.trouble = None
        assert await watcher.next() == 1
        await watcher.leave()

    watching(test)


def test_an_arena_that_another_process_took_is_watched_there():
    async def test(boards, arena):
        watcher = Watcher(boards)
        assert await watcher.next() == 1
        arena.trouble = ArenaError("owned-elsewhere", "another process has it.")
        await watcher.task  # it asks again, and hears where

    watching(test)


def test_the_end_of_the_server_ends_all_streams():
    async def test(boards, arena):
        watchers = [Watcher(boards) for _ in range(5)]
        for watcher in watchers:
            await watcher.next()
        boards.closing.set()
        await asyncio.gather(*(watcher.task for watcher in watchers))

    watching(test)


def test_those_who_ask_at_once_wait_for_one_computation():
    async def test(boards, arena):
        answers = await asyncio.gather(*(boards.json(arena) for _ in range(30)))
        assert set(answers) == {b'{"seq":1,"looks":1}'}
        assert await boards.json(arena) == b'{"seq":1,"looks":2}'

    watching(test)
