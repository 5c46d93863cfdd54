"""Connections of those who send slowly, or without end, where no proxy keeps them away."""

import asyncio
import json
import logging
import re
import socket
from collections import Counter
from contextlib import ExitStack, closing, suppress
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from driftduel.arena.manager import ArenaManager
from driftduel.arena.serving import in_background
from driftduel.arena.stores import open_store
from driftduel.arena.web.connection import _LONGEST_HEAD, Connection, _CoalescingTransport
from driftduel.arena.web.settings import ServerSettings
from tests.fuzz.inputs import damaged
from tests.waiting import no_hanging


@pytest.fixture(scope="module")
def impatient():
    """A server that gives up at its next look on whatever is not whole by then."""
    manager = ArenaManager(open_store("memory:"))
    token = manager.create("colours", ["red", "green"])
    with no_hanging(), in_background(manager, settings=ServerSettings(request_seconds=0.0)) as url:
        yield url, token


def connected(url):
    parts = urlsplit(url)
    return closing(socket.create_connection((parts.hostname, parts.port)))


def all_of(connection):
    """Read until the other side closes."""
    read = b""
    while part := connection.recv(65536):
        read += part
    return read


def said(answer, status, problem):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), head
    assert b"connection: close" in head.lower()
    assert b"content-type: application/problem+json" in head.lower()
    assert json.loads(body)["type"] == f"/problems/{problem}"


def test_who_does_not_finish_a_request_is_sent_away(impatient):
    url, token = impatient
    whole = (
        b"POST /v1/arenas/colours/duels HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        + token.encode()
        + b'\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"voter": "ann"}'
    )
    with ExitStack() as stack:
        connections = []
        for length in (0, 1, 60, whole.index(b"{"), len(whole) - 5):
            connections.append(stack.enter_context(connected(url)))
            connections[-1].sendall(whole[:length])
        for connection in connections:
            said(all_of(connection), 408, "too-slow")


def test_who_has_an_answer_and_goes_on_sending_hears_nothing_more(impatient):
    with connected(impatient[0]) as connection:
        connection.sendall(
            b"POST /v1/arenas/colours/duels HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: 99\r\n\r\n{"
        )
        answer = all_of(connection)  # no token: it is refused before its body is read
        assert answer.count(b"HTTP/1.1 ") == 1


def test_a_head_without_an_end_is_not_read_for_ever():
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: "
    manager = ArenaManager(open_store("memory:"))
    with no_hanging(), in_background(manager) as url, connected(url) as connection:
        connection.sendall(head.ljust(_LONGEST_HEAD, b"x"))
        connection.sendall(b"x")  # one more than there may be
        said(all_of(connection), 413, "too-large")


def test_a_long_body_that_arrives_with_its_head_is_no_long_head(monkeypatch):
    """Chunks of any size give the same: a busy server receives head and body in one call."""
    manager = ArenaManager(open_store("memory:"))
    token = manager.create("models", ["a", "b"], items=True)
    items = [{"id": f"p{n}", "answers": {"a": "x" * 20_000, "b": "y"}} for n in range(20)]
    body = json.dumps({"items": items}).encode()
    head = (
        b"POST /v1/arenas/models/items HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        + token.encode()
        + b"\r\nContent-Type: application/json\r\n"
    )
    whole = b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body)
    long = head + b"X-Long: " + b"x" * 3 * _LONGEST_HEAD + b"\r\nContent-Length: 0\r\n\r\n"
    receive, held = Connection.data_received, {}

    def in_one_call(self, data):
        held[self] = held.get(self, b"") + data
        if len(held[self]) == length:
            receive(self, held.pop(self))

    monkeypatch.setattr(Connection, "data_received", in_one_call)
    with no_hanging(), in_background(manager) as url:
        for sent, statuses in (
            (whole, [201]),
            (whole + whole.replace(b"/items", b"/items?", 1), [409, 409]),
            (long, [413]),
            (b"nonsense" + whole, [400]),
        ):
            length = len(sent)
            with connected(url) as connection:
                connection.sendall(sent)
                answer = b""
                while answer.count(b"HTTP/1.1 ") < len(statuses) and (
                    part := connection.recv(65536)
                ):
                    answer += part
            assert [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+)", answer)] == statuses


def test_a_live_board_may_last(impatient):
    url, token = impatient
    with connected(url) as board, connected(url) as slow:
        board.sendall(
            b"GET /v1/arenas/colours/board/events HTTP/1.1\r\nHost: localhost\r\n"
            b"Authorization: Bearer " + token.encode() + b"\r\n\r\n"
        )
        read = b""
        while b"data: " not in read:
            read += board.recv(65536)
        said(all_of(slow), 408, "too-slow")  # the server has looked meanwhile
        board.setblocking(False)
        with suppress(BlockingIOError):  # nothing new, and it stands
            assert board.recv(65536)


class Notes:
    """A transport that notes what it is told."""

    def __init__(self):
        self.said = []

    def writelines(self, parts):
        self.said.append(b"".join(parts))

    def close(self):
        self.said.append("closed")

    def is_closing(self):
        return "closed" in self.said


def test_an_answer_is_sent_in_one_go():
    async def main():
        below = Notes()
        above = _CoalescingTransport(below, asyncio.get_running_loop())
        above.write(b"head ")
        above.write(b"body")
        assert below.said == []
        await asyncio.sleep(0)
        assert below.said == [b"head body"]
        above.write(b"last words")
        above.close()
        await asyncio.sleep(0)
        assert below.said == [b"head body", b"last words", "closed"]
        assert above.is_closing()

    asyncio.run(main())


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_whatever_comes_the_server_stands(seed, caplog):
    """Bytes that are hardly HTTP any more: an answer, or none, but never a mistake of ours."""
    rng = np.random.default_rng(seed)
    manager = ArenaManager(open_store("memory:"))
    token = manager.create("colours", ["red", "green"])
    whole = (
        "POST /v1/arenas/colours/duels HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        'Content-Length: 16\r\n\r\n{"voter": "ann"}'
    ).encode()
    chunked = whole.replace(b"Content-Length: 16", b"Transfer-Encoding: chunked").replace(
        b'{"voter": "ann"}', b'8\r\n{"voter"\r\n8\r\n: "ann"}\r\n0\r\n\r\n'
    )
    upgrade = whole.replace(b"Expect: 100-continue", b"Connection: Upgrade\r\nUpgrade: websocket")
    answers = Counter()
    with no_hanging(), in_background(manager) as url:
        for sent in (whole, chunked, upgrade):
            with connected(url) as connection:
                connection.sendall(sent)
                read = b""
                while b'"expires"' not in read:
                    part = connection.recv(65536)
                    assert part
                    read += part
        for number in range(200):
            sent = damaged(rng, (whole, chunked, upgrade, whole + whole)[number % 4])
            with connected(url) as connection, suppress(ConnectionError):
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                for line in all_of(connection).splitlines():
                    if line.startswith(b"HTTP/1.1 "):
                        answers[int(line.split()[1])] += 1
        with connected(url) as connection:
            connection.sendall(
                b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            assert b'{"ok":true,' in all_of(connection)
    assert answers[400]
    assert not [status for status in answers if status >= 500]
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]
