"""Restarted databases, cut links and clocks that jump: no acknowledged vote is lost."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

import numpy as np

from driftduel.arena import ArenaError, ArenaManager, open_store
from driftduel.arena.replay import verify_log
from driftduel.arena.responses import wait_durable
from driftduel.arena.serving import in_background
from driftduel.arena.web.settings import Rate, ServerSettings
from tests.arena.clock import Clock
from tests.arena.test_kills import Voter, verify, votes_of
from tests.waiting import LONG, eventually

ROOT = Path(__file__).parents[2]
FREE = ServerSettings(per_address=Rate(0.0, 1), per_token=Rate(0.0, 1))
OPTIONS = {"grace": 0.05, "lease": 1.0, "votes_a_day": 10**6}
#: How often; `make arena-outages` does it more often.
OUTAGES = int(os.environ.get("OUTAGES", "2"))


# -- the database restarts


@pytest.mark.long
def test_no_vote_is_lost_when_the_database_restarts(own_server):
    url, stop = own_server.get_uri(), threading.Event()
    manager = ArenaManager(open_store(url))
    token = manager.create("life", ["a", "b", "c", "d"], **OPTIONS)
    with in_background(manager, settings=FREE) as address:
        voters = [Voter(address, token, number, stop) for number in range(8)]
        for each in voters:
            each.start()

        def more():
            aim = votes_of(voters) + 40
            assert eventually(lambda: votes_of(voters) >= aim or any(v.trouble for v in voters))
            assert [each.trouble for each in voters] == [None] * len(voters)

        try:
            for number in range(OUTAGES):
                more()
                process = own_server.get_postmaster_info().process
                # In turns as if it crashed, and as an administrator stops it.
                process.send_signal(signal.SIGINT if number % 2 else signal.SIGQUIT)
                process.wait()
                own_server.ensure_postgres_running()
            more()
        finally:
            stop.set()
            for each in voters:
                each.join()
    acknowledged = [vote for each in voters for vote in each.acknowledged]
    verify(url, acknowledged)
    print(f"{OUTAGES} restarts of the database, {len(acknowledged):,} acknowledged, none lost")


# -- the link to the database is cut


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def namespace():
    """Make a network namespace with a link to this one; yield its name and our end of the link."""
    name, ours, theirs = f"dd{os.getpid()}", f"dda{os.getpid()}", f"ddb{os.getpid()}"
    if shutil.which("ip") is None:
        pytest.skip("network namespaces need the program ip (iproute2)")
    try:
        ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces need more rights: {error.stderr.decode().strip()}")
    try:
        ip("link", "add", ours, "type", "veth", "peer", "name", theirs)
        ip("link", "set", theirs, "netns", name)
        ip("addr", "add", "10.213.77.1/30", "dev", ours)
        ip("link", "set", ours, "up")
        for words in (
            ("addr", "add", "10.213.77.2/30", "dev", theirs),
            ("link", "set", theirs, "up"),
            ("link", "set", "lo", "up"),
        ):
            ip("-n", name, *words)
        yield name, ours
    finally:
        ip("netns", "del", name)  # its end of the link, and so the link, goes with it


@contextmanager
def relay(host, target):
    """Pass connections to a host's port on to a Unix socket; yield the port.

    PostgreSQL listens at a Unix socket in the tests, which no link can be cut from.
    """
    ready, made = threading.Event(), []

    async def passed(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def serve(reader, writer):
        sock = writer.get_extra_info("socket")
        # As PostgreSQL does where it is told to: a client that is gone is noticed.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 5000)
        try:
            inner = await asyncio.open_unix_connection(target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(passed(reader, inner[1]), passed(inner[0], writer))

    async def main():
        over = asyncio.Event()
        async with await asyncio.start_server(serve, host, 0) as server:
            made.extend((server.sockets[0].getsockname()[1], asyncio.get_running_loop(), over))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    try:
        assert ready.wait(LONG)
        yield made[0]
    finally:
        made[1].call_soon_threadsafe(made[2].set)
        thread.join()


class Far:
    """The server and the voters at the other end of the link."""

    def __init__(self, name, url, token):
        source = str(Path(sys.modules["driftduel"].__file__).parents[1])
        words = ["ip", "netns", "exec", name, sys.executable, "-m", "tests.arena.behind_link"]
        self.process = subprocess.Popen(
            [*words, url, token], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=ROOT, env={**os.environ, "PYTHONPATH": source},
        )  # fmt: skip

    def votes(self):
        self.process.stdin.write("votes\n")
        self.process.stdin.flush()
        count, troubles = json.loads(self.process.stdout.readline())
        assert troubles == []
        return count

    def more(self):
        aim = self.votes() + 30
        assert eventually(lambda: self.votes() >= aim)

    def end(self):
        out, _ = self.process.communicate("end\n")
        return [tuple(vote) for vote in json.loads(out)]


def voted_here(url, token):
    """Let a server at this end of the link own the arena and take a vote; return that."""
    from driftduel.arena.stores.postgres import PostgresStore

    manager = ArenaManager(PostgresStore(url, heartbeat_timeout=2.0))
    try:

        def vote():
            try:
                live = manager.arena("life")
            except ArenaError:  # the other one is not silent for long enough yet
                return None
            shown = wait_durable(live.ask("here"))
            ids = {"left": shown.left.id, "right": shown.right.id}
            taken = wait_durable(live.vote(shown.duel, "left"))
            return taken.seq, shown.duel, "left", ids, taken.late

        found = []
        assert eventually(lambda: found.append(vote()) or found[-1] is not None)
        return found[-1]
    finally:
        manager.close()


@pytest.mark.long
def test_no_vote_is_lost_when_the_link_to_the_database_is_cut(own_server):
    url = own_server.get_uri()
    manager = ArenaManager(open_store(url))
    token = manager.create("life", ["a", "b", "c", "d"], **OPTIONS)
    manager.close()
    (database,) = Path(own_server.pgdata).glob(".s.PGSQL.*[0-9]")
    here = []
    with namespace() as (name, link), relay("10.213.77.1", str(database)) as port:
        far = Far(name, f"postgresql://postgres@10.213.77.1:{port}/postgres", token)
        try:
            for number in range(OUTAGES):
                far.more()
                ip("link", "set", link, "down")
                if number % 2:
                    threading.Event().wait(0.5)  # short: nobody notices, packets are sent again
                else:  # long: a server at this end takes the arena over
                    here.append(voted_here(url, token))
                ip("link", "set", link, "up")
            far.more()
            acknowledged = far.end()
        finally:
            far.process.kill()
            far.process.wait()
            far.process.stdout.close()
    verify(url, [*acknowledged, *here])
    print(f"{OUTAGES} cut links, {len(acknowledged) + len(here):,} acknowledged, none lost")


# -- the clock jumps


@pytest.mark.parametrize("seed", range(5))
def test_a_clock_that_jumps_loses_nothing_and_stops_nothing(tmp_path, seed):
    rng, clock, path = np.random.default_rng(seed), Clock(), tmp_path / "arena.db"
    jumps = [-3 * 86_400.0, -3600.0, -1.0, 3600.0, 40 * 86_400.0]
    manager = ArenaManager(open_store(path), clock)
    manager.create("x", ["a", "b", "c"], grace=5.0, lease=60.0, votes_a_day=10**6)
    acknowledged = {}
    for step in range(150):
        clock.now += float(rng.choice(jumps)) if rng.random() < 0.1 else rng.exponential(2.0)
        if step % 50 == 49:  # another process, whose clock is behind the log
            manager.close()
            clock.now -= 7200.0
            manager = ArenaManager(open_store(path), clock)
        live = manager.arena("x")
        shown = wait_durable(live.ask(f"voter {rng.integers(5)}"))
        if rng.random() < 0.8:
            pick = str(rng.choice(["left", "right", "tie"]))
            acknowledged[wait_durable(live.vote(shown.duel, pick)).seq] = shown.duel, pick
        manager.tick()
    # Time goes on, at half its speed at least: every grace ends, and no vote waits for a lease.
    for _ in range(3):
        clock.now += 121.0
        manager.tick()
    assert not live.state.voted
    assert not live.state.held
    records = live.records(0, 10**6)
    assert all(a.at <= b.at for a, b in pairwise(records))
    voted = {r.seq: r.body for r in records if r.kind == "voted"}
    assert voted.keys() == acknowledged.keys()
    for seq, (duel, pick) in acknowledged.items():
        assert (voted[seq]["ref"], voted[seq]["pick"]) == (int(duel.partition("-")[0], 16), pick)
    assert "all hashes are correct" in verify_log(manager.store, "x")
    manager.close()
