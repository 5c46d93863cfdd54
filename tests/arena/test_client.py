"""`ArenaClient` against a real server: the verbs of `Arena`, and connections that break."""

import http.client
import inspect
import socket
import threading
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import msgspec

from driftduel.arena.arena import Arena
from driftduel.arena.client import ArenaClient
from driftduel.arena.manager import ArenaManager
from driftduel.arena.problems import ArenaError
from driftduel.arena.serving import in_background
from driftduel.arena.stores import open_store
from driftduel.arena.web.settings import ServerSettings
from driftduel.errors import DriftduelError
from tests.arena.served import NO_LIMIT, Clock
from tests.waiting import no_hanging

UNLIMITED = {"per_address": NO_LIMIT, "per_token": NO_LIMIT}


@contextmanager
def server(**settings):
    clock = Clock()
    manager = ArenaManager(open_store("memory:"), clock)
    token = manager.create("colours", ["red", "green", "blue"], **({"grace": 5.0} | settings))
    with (
        no_hanging(),
        in_background(manager, settings=ServerSettings(clock=clock, **UNLIMITED)) as url,
    ):
        yield url, token, manager, clock


@pytest.fixture(scope="module")
def running():
    with server() as made:
        yield made


@pytest.fixture
def arena(running):
    url, token, *_ = running
    with ArenaClient(url, token) as client:
        yield client


def test_the_verbs_are_those_of_the_arena_in_process():
    def verbs(kind):
        return {
            name: inspect.signature(each).parameters
            for name, each in vars(kind).items()
            if callable(each) and not name.startswith("_")
        }

    here, there = verbs(Arena), verbs(ArenaClient)
    # Votes of the past are read from a file on the server; time passes there by itself.
    assert here.keys() - there.keys() == {"add_past_votes", "tick"}
    assert there == {name: here[name] for name in there}


def test_a_life_of_an_arena(running):
    with server() as (url, token, _, clock), ArenaClient(url, token) as arena:
        assert arena.name == "colours"
        shown = arena.ask("ann")
        assert shown.left.id != shown.right.id
        assert arena.ask("ann", resume=True) == shown
        vote = arena.vote(shown.duel, "left")
        assert arena.vote(shown.duel, "left") == vote
        assert arena.undo(shown.duel) > vote.seq
        assert arena.skip(shown.duel).counted is False
        second = arena.vote(arena.ask().duel, "tie")
        clock.now += 10
        assert arena.void([second.seq], "a test") == 1
        mauve = arena.join("mauve", "markdown", "*m*")
        assert (mauve.name, mauve.html) == ("mauve", "<p><em>m</em></p>")
        assert arena.leave("mauve").present is False
        assert arena.join("mauve") == mauve
        assert arena.leave(mauve.id).present is False
        assert arena.join(mauve.id).present is True
        open_duel = arena.ask("bob").duel
        assert arena.renew(open_duel) == clock.now + 60
        arena.release(open_duel)
        assert arena.renew(open_duel) == 0
        assert [option.name for option in arena.options()] == ["red", "green", "blue", "mauve"]
        assert arena.best() is None  # its only votes were a skip and one that is void
        assert arena.board().to_json()["voided"] == 1
        assert arena.erase("ann") is True
        assert arena.erase("ann") is False
        arena.end()
        with pytest.raises(ArenaError, match="closed") as closed:
            arena.ask()
        assert closed.value.problem == "closed"
        kinds = [record.kind for record in arena.records()]
        assert kinds[0] == "opened"
        assert kinds[-1] == "closed"
        assert [record.seq for record in arena.records(after=3, limit=2)] == [4, 5]


@pytest.mark.parametrize(
    "link", ["{url}", "{url}/", "{url}/vote/colours", "{url}/board/colours#token={token}",
             "{url}/v1/arenas/colours"]
)  # fmt: skip
def test_any_link_to_the_arena_will_do(running, link):
    url, token, *_ = running
    given = None if "{token}" in link else token
    with ArenaClient(link.format(url=url, token=token), given) as client:
        assert client.name == "colours"
        assert client.ask().duel


def test_errors_are_those_of_the_arena(arena):
    duel = arena.ask().duel
    arena.vote(duel, "left")
    for call, problem, status in (
        (lambda: arena.vote(duel, "right"), "already-answered", 409),
        (lambda: arena.vote("nothing at all?", "right"), "no-such-duel", 404),
        (lambda: arena.vote(duel, "up"), "bad-request", 422),
        (lambda: arena.leave("o99"), "no-such-option", 404),
        (lambda: arena.join("red"), "name-taken", 409),
        (lambda: arena.join("re\u200bd"), "bad-request", 422),
        (lambda: arena.void([1], ""), "bad-request", 422),
    ):
        with pytest.raises(ArenaError) as raised:
            call()
        assert (raised.value.problem, raised.value.status) == (problem, status)
        assert str(raised.value).endswith(".")


def test_a_token_that_is_wrong_is_said(running):
    with (
        ArenaClient(running[0], "dd-own-no", arena="colours") as client,
        pytest.raises(ArenaError, match="token is unknown") as raised,
    ):
        client.ask()
    assert raised.value.problem == "no-token"


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000", "ftp://x", "http://", "http://[", "http://x:99999999"]
)
def test_what_is_no_address_is_said(url):
    with pytest.raises(DriftduelError, match="url="):
        ArenaClient(url, "token")


def test_a_token_that_cannot_be_one_is_said():
    for token in ("a\r\nb", "é", "\x00"):
        with pytest.raises(DriftduelError, match="token"):
            ArenaClient("http://127.0.0.1:1", token)


def test_a_server_that_is_not_there_is_said():
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with (
        ArenaClient(f"http://127.0.0.1:{port}", "x", arena="a") as client,
        pytest.raises(ArenaError, match="does not respond") as raised,
    ):
        client.ask()
    assert raised.value.problem == "no-answer"


def test_a_connection_stays_open_and_each_thread_has_its_own(running, monkeypatch):
    url, token, *_ = running
    made = []
    connect = http.client.HTTPConnection.connect
    monkeypatch.setattr(
        http.client.HTTPConnection, "connect", lambda self: made.append(self) or connect(self)
    )
    with ArenaClient(url, token, arena="colours") as client:
        for _ in range(5):
            client.ask()
        assert len(made) == 1
        threads = [threading.Thread(target=client.ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4
    with pytest.raises(DriftduelError, match="closed"):
        client.ask()


class Cutting:
    """A way to the server that is cut after a request, or after half an answer, on request."""

    def __init__(self, port):
        self.port = port
        self.cut = []
        """For each connection that comes: how many bytes of the answers it lets through."""
        self.requests = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(near,), daemon=True).start()

    def _pass(self, near):
        left = self.cut.pop(0) if self.cut else None
        with near, socket.create_connection(("127.0.0.1", self.port)) as far:
            asking = threading.Thread(target=self._ask, args=(near, far), daemon=True)
            asking.start()
            with suppress(OSError):
                while said := far.recv(65536):
                    near.sendall(said if left is None else said[:left])
                    if left is not None and (left := left - len(said)) <= 0:
                        break
            with suppress(OSError):
                near.shutdown(socket.SHUT_RDWR)  # wakes whoever reads there
            asking.join()

    def _ask(self, near, far):
        with suppress(OSError):
            while asked := near.recv(65536):
                self.requests += asked.count(b" HTTP/1.1\r\n")
                far.sendall(asked)
            far.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def cutting(running):
    made = Cutting(int(running[0].rpartition(":")[2]))
    yield made
    made.listener.close()


@pytest.mark.parametrize("left", [0, 20, 200])
def test_a_vote_whose_answer_is_lost_is_sent_again_and_is_one_vote(running, cutting, left):
    _, token, manager, _ = running
    with ArenaClient(cutting.url, token, arena="colours") as client:
        cutting.cut = [None]
        duel = client.ask().duel
        client._drop_connection()
        before = manager.live("colours").seq
        cutting.cut, cutting.requests = [left, left], 0
        vote = client.vote(duel, "left")
        assert cutting.requests == 3
        assert vote.seq == before + 1
        kinds = [record.kind for record in manager.store.records("colours", before)]
        assert kinds.count("voted") == 1


def test_what_cannot_be_repeated_is_not(running, cutting):
    _, token, *_ = running
    with ArenaClient(cutting.url, token, arena="colours") as client:
        client.ask()
        cutting.cut, cutting.requests = [0], 0
        with pytest.raises(ArenaError, match="does not respond"):
            client.void([10**9], "never")
        assert cutting.requests == 1


def test_a_connection_that_the_server_closed_meanwhile_is_made_again(running, cutting):
    _, token, *_ = running
    with ArenaClient(cutting.url, token, arena="colours") as client:
        for _ in range(3):
            client.ask()
            client._connection().sock.shutdown(socket.SHUT_RDWR)
        assert client.ask().duel


BUSY = {"type": "/problems/too-many", "title": "", "status": 429, "detail": "Wait."}


class Busy(BaseHTTPRequestHandler):
    """Refuses some requests for a while, then answers."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar = []

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, body = self.answers.pop(0)
        content = msgspec.json.encode(body)
        self.send_response(status)
        for name, value in ({"Content-Length": len(content)} | headers).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def busy():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    waits = []
    url = f"http://127.0.0.1:{server.server_port}"
    with ArenaClient(url, "x", arena="a", sleep=waits.append) as client:
        yield client, waits
    server.shutdown()
    thread.join()
    server.server_close()


def refusals(*waits, status=429):
    return [(status, {} if wait is None else {"Retry-After": wait}, BUSY) for wait in waits]


VOTED = (200, {}, {"seq": 7, "undo_until": 1.0})


@pytest.mark.parametrize("status", [429, 503])
def test_the_client_waits_as_long_as_the_server_asks_for(busy, status):
    client, waits = busy
    Busy.answers = [*refusals(1, 3600, 2, status=status), VOTED]
    assert client.vote("d", "left").seq == 7
    assert waits == [1.0, 30.0, 2.0]


def test_the_client_gives_up_after_three_waits(busy):
    client, waits = busy
    Busy.answers = refusals(1, 1, 1, 1)
    with pytest.raises(ArenaError, match="Wait") as raised:
        client.vote("d", "left")
    assert raised.value.problem == "too-many"
    assert waits == [1.0] * 3
    assert Busy.answers == []


@pytest.mark.parametrize("wait", [None, "", "Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1e9"])
def test_the_client_waits_for_seconds_only(busy, wait):
    client, waits = busy
    Busy.answers = refusals(wait)
    with pytest.raises(ArenaError, match="Wait"):
        client.vote("d", "left")
    assert waits == []


def test_what_cannot_be_repeated_waits_for_429_only(busy):
    client, waits = busy
    Busy.answers = [*refusals(1), (200, {}, {"voided": 1})]
    assert client.void([1], "a test") == 1
    Busy.answers = refusals(1, status=503)
    with pytest.raises(ArenaError):
        client.void([1], "a test")
    assert waits == [1.0]


class Odd:
    """A server that says something else."""

    def __init__(self, answer):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.answer = answer
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            with near:
                near.recv(65536)
                near.sendall(self.answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 418 No\r\nContent-Length: 43\r\n\r\n"
        b'{"type": "/problems/tea", "detail": "Tea."} ',
        b"\xff\xfe\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"",
    ],
)
def test_whatever_answers_a_sentence_comes_out(answer):
    odd = Odd(answer)
    try:
        with ArenaClient(odd.url, "x", arena="a") as client, pytest.raises(ArenaError) as raised:
            client.ask()
    finally:
        odd.listener.close()
    assert raised.value.problem == "no-answer"
    assert str(raised.value).endswith(".")
