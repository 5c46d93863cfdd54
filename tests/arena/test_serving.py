"""A server as a process: where it listens, what it says, and how it ends."""

import http.client
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from driftduel.arena.client import ArenaClient
from driftduel.arena.manager import ArenaManager
from driftduel.arena.replay import load_state
from driftduel.arena.serving import is_loopback, serve
from driftduel.arena.stores import open_store
from driftduel.errors import DriftduelError
from tests.waiting import eventually, no_hanging

PROGRAM = """
import sys
from driftduel.arena.manager import ArenaManager
from driftduel.arena.serving import serve
from driftduel.arena.stores import open_store

echo = lambda text: print(text, flush=True)
serve(ArenaManager(open_store(sys.argv[1])), host=sys.argv[2], port=0, echo=echo)
print("ended", flush=True)
"""


@contextmanager
def process(store, host="127.0.0.1"):
    """Serve a store in a process of its own; give it, its address, and what it said first."""
    source = str(Path(sys.modules["driftduel"].__file__).parents[1])
    running = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, store, host],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
    try:
        with no_hanging():
            said = running.stdout.readline()
            assert said.startswith("The arena is at http://"), said + running.stdout.read()
            yield running, said.split()[4]
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


@pytest.fixture
def store(tmp_path):
    url = f"sqlite:{tmp_path / 'arena.db'}"
    manager = ArenaManager(open_store(url))
    token = manager.create("colours", ["red", "green"], grace=0.0)
    manager.close()
    return url, token


def stream(url, token):
    """Watch the board; return the connection and its answer, of which one board was read."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port)
    connection.request(
        "GET", "/v1/arenas/colours/board/events", headers={"Authorization": f"Bearer {token}"}
    )
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    while not (line := answer.readline()).startswith(b"data: "):
        assert line
    return connection, answer


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)]
)
def test_told_to_stop_it_ends_well_though_boards_are_watched(store, number):
    where, token = store
    with process(where) as (running, url), ArenaClient(url, token) as arena:
        vote = arena.vote(arena.ask("ann").duel, "left")
        connection, answer = stream(url, token)
        with closing(connection):
            running.send_signal(number)
            assert answer.read() is not None  # the stream ends
        assert running.stdout.read() == "ended\n"
        assert running.wait() == 0
    kept = open_store(where)
    try:
        records = kept.records("colours")
        assert [record.kind for record in records if record.seq == vote.seq] == ["voted"]
        state, snapshot = load_state(kept, "colours")
        assert state.seq == snapshot == records[-1].seq  # a snapshot: it is here again at once
        assert kept.own("colours")  # and nobody's
    finally:
        kept.close()


@pytest.mark.long
def test_a_watcher_that_vanishes_is_let_go(store):
    where, token = store
    with process(where) as (running, url):
        folder = Path(f"/proc/{running.pid}/fd")
        if not folder.exists():
            pytest.skip("needs /proc")
        first, _ = stream(url, token)
        first.close()
        before = len(list(folder.iterdir()))
        for _ in range(20):
            connection, answer = stream(url, token)
            answer.close()
            connection.close()
        assert eventually(lambda: len(list(folder.iterdir())) <= before)


@pytest.mark.long
def test_it_says_when_others_can_reach_it(store):
    with process(store[0], "0.0.0.0") as (running, url):
        assert "0.0.0.0" in url
        warned = running.stdout.readline()
        assert "It listens at 0.0.0.0" in warned
        assert "token" in warned


def test_what_is_loopback():
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("::")
    assert not is_loopback("example.org")


def test_a_port_that_is_taken_is_said():
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        manager = ArenaManager(open_store("memory:"))
        with pytest.raises(DriftduelError, match=f"port {port}.*--port"):
            serve(manager, port=port)
        manager.close()


@pytest.mark.parametrize("host", ["no such host", "999.1.1.1", "192.0.2.1"])
def test_an_address_that_is_not_ours_is_said(host):
    manager = ArenaManager(open_store("memory:"))
    with pytest.raises(DriftduelError, match="cannot listen"):
        serve(manager, host=host, port=0)
    manager.close()


@pytest.mark.long
def test_a_broken_request_is_refused_and_the_server_goes_on(store):
    where, token = store
    with process(where) as (_, url):
        parts = urlsplit(url)
        for said in (b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00\xff" * 50 + b"\r\n\r\n",
                     b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n"):  # fmt: skip
            with socket.create_connection((parts.hostname, parts.port)) as raw:
                raw.sendall(said)
                answer = raw.recv(4096)
                assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
        with ArenaClient(url, token) as arena:
            assert arena.ask().duel
