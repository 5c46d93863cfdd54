"""Several servers on one PostgreSQL: each answers for every arena, whoever owns it."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from starlette.requests import Request

from driftduel.arena import ArenaError, ArenaManager, open_store
from driftduel.arena.client import ArenaClient
from driftduel.arena.replay import verify_log
from driftduel.arena.serving import in_background
from driftduel.arena.web.forwarding import FORWARDED, HEADER, Forwarder
from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.settings import Rate, ServerSettings
from driftduel.errors import DriftduelError
from tests.waiting import LONG, eventually, no_hanging

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
FREE = ServerSettings(per_address=Rate(0.0, 1), per_token=Rate(0.0, 1), private_hooks=True)
OPTIONS = {"grace": 1.0, "votes_a_day": 10**6}


@pytest.fixture
def two(postgres_url):
    """Two servers in this process, each with its own connections; the first owns the arena x."""
    from driftduel.arena.stores.postgres import PostgresStore

    with ExitStack() as stack:
        # However busy the machine: heartbeats are in time, a vote is undone within its grace.
        stores = [PostgresStore(postgres_url, heartbeat_timeout=2 * LONG) for _ in range(2)]
        halls = [ArenaManager(store) for store in stores]
        token = halls[0].create("x", ["a", "b", "c"], **OPTIONS | {"grace": LONG})
        halls[0].arena("x")
        urls = [stack.enter_context(in_background(manager, settings=FREE)) for manager in halls]
        yield halls, urls, token


def request(url, token, method, path, body=None, headers=()):
    """Return status, headers and body of an answer; nothing is repeated."""
    parts = urlsplit(url)
    with closing(
        http.client.HTTPConnection(parts.hostname, parts.port, timeout=LONG)
    ) as connection:
        said = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, said | dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


# -- any server answers


def test_any_server_answers_for_any_arena(two):
    (first, second), urls, token = two
    with ArenaClient(urls[1], token, arena="x") as arena:
        shown = arena.ask("ann")
        vote = arena.vote(shown.duel, "left")
        assert arena.vote(shown.duel, "left") == vote
        with pytest.raises(ArenaError, match="answered with 'left' before") as refused:
            arena.vote(shown.duel, "right")
        assert refused.value.problem == "already-answered"
        arena.undo(shown.duel)
        assert arena.vote(shown.duel, "right").counted
        assert arena.board()["votes"] == 1
        arena.join("d")
        assert arena.erase("ann") is True
    base = "/v1/arenas/x"
    status, _, hook = request(
        urls[1], token, "POST", f"{base}/hooks", {"url": "http://127.0.0.1:9/"}
    )
    assert status == 201
    path = f"{base}/hooks/{json.loads(hook)['id']}"
    assert request(urls[1], token, "DELETE", path)[0] == 204
    assert request(urls[1], token, "HEAD", f"{base}/board")[0] == 200
    status, headers, lines = request(
        urls[1], token, "GET", f"{base}/log", headers={"Accept": "application/x-ndjson"}
    )
    assert (status, headers["Content-Type"]) == (200, "application/x-ndjson")
    assert len(lines.splitlines()) == first.arena("x").seq
    for url in urls:  # the same headers, each once
        _, headers, _ = request(url, token, "GET", f"{base}/board")
        assert headers.get_all("Content-Security-Policy")[1:] == []
        assert headers.get_all("Content-Length")[1:] == headers.get_all("Date")[1:] == []
    status, _, said = request(urls[1], token, "POST", f"{base}/close")
    assert (status, json.loads(said)) == (200, {"closed": True})
    assert second.live("x") is None
    assert second.store.owned_arenas() == frozenset()


def test_live_boards_are_forwarded(two):
    (first, _), urls, token = two
    parts = urlsplit(urls[1])
    with (
        no_hanging(),
        closing(http.client.HTTPConnection(parts.hostname, parts.port)) as connection,
        ArenaClient(urls[0], token, arena="x") as arena,
    ):
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("GET", "/v1/arenas/x/board/events", headers=headers)
        answer = connection.getresponse()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        boards = (json.loads(line[6:]) for line in answer if line.startswith(b"data: "))
        assert next(boards)["votes"] == 0
        arena.vote(arena.ask("ann").duel, "left")
        while next(boards)["votes"] < 1:
            pass
        first.hand_over()  # its watchers are sent away, and come again
        assert list(boards) is not None


def test_a_request_is_forwarded_once(two, monkeypatch):
    (first, second), urls, token = two
    first.hand_over()
    first.stopping = False
    # Each takes the other for the owner; one of them is asked, and says that it is not.
    for manager, other in ((first, urls[1]), (second, urls[0])):
        monkeypatch.setattr(manager.store, "own", lambda arena: False)
        monkeypatch.setattr(manager.store, "owner_address", lambda *a, other=other: other)
    status, headers, said = request(urls[0], token, "GET", "/v1/arenas/x/board")
    assert (status, json.loads(said)["type"]) == (503, "/problems/owned-elsewhere")
    assert headers["Retry-After"] == "1"


# -- who may forward


def asked(headers, path="/v1/arenas/x/duels", client="127.0.0.1"):
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
             "query_string": b"next=1", "headers": raw, "client": (client, 5)}  # fmt: skip
    return Request(scope)


def signed(forwarder, client, **more):
    """Return the header that a server would send."""
    request = asked({}, **more)
    signature = forwarder._signature(request, "1000", client)
    return {HEADER: f"1000 {client} {signature}"}


def test_only_servers_can_say_where_a_request_comes_from():
    clock = [1000.0]
    ours, theirs = (Forwarder(None, key, lambda: clock[0]) for key in (b"k" * 32, b"l" * 32))
    good = signed(ours, "203.0.113.9")
    request = asked(good)
    assert ours.accept(request)
    assert request.client.host == "203.0.113.9"
    assert request.scope[FORWARDED]
    plain = asked({})
    assert not ours.accept(plain)
    assert plain.client.host == "127.0.0.1"
    for wrong in (
        asked(signed(theirs, "203.0.113.9")),
        asked({HEADER: good[HEADER].replace("203.0.113.9", "203.0.113.8")}),
        asked({HEADER: good[HEADER].replace("1000 ", "1001 ")}),
        asked(good, path="/v1/arenas/y/duels"),
        asked({HEADER: "x"}),
        asked({HEADER: ""}),
        asked({HEADER: "nan 1.2.3.4 é"}),
    ):
        with pytest.raises(ProblemError, match="signature of the header"):
            ours.accept(wrong)
        assert wrong.client.host == "127.0.0.1"
    clock[0] += 301
    with pytest.raises(ProblemError, match="too old"):
        ours.accept(asked(good))


def test_a_client_cannot_claim_to_be_a_server(two):
    _, urls, token = two
    forged = {HEADER: "1000 203.0.113.9 " + "0" * 48}
    for url in urls:
        status, _, said = request(url, token, "GET", "/v1/arenas/x/board", headers=forged)
        assert (status, json.loads(said)["type"]) == (403, "/problems/wrong-scope")


def test_the_owner_counts_by_the_client_and_not_by_the_other_server(two, monkeypatch):
    _, urls, token = two
    seen = []
    take = Forwarder.accept

    def accept(self, request):
        forwarded = take(self, request)
        seen.append((forwarded, request.client.host))
        return forwarded

    monkeypatch.setattr(Forwarder, "accept", accept)
    request(urls[1], token, "POST", "/v1/arenas/x/duels", {}, {"X-Forwarded-For": "203.0.113.9"})
    assert seen == [(False, "127.0.0.1"), (True, "127.0.0.1")]


# -- owners that stop, die or hang


def test_a_graceful_stop_hands_over(postgres_url):
    with ExitStack() as stack:
        first, second = (ArenaManager(open_store(postgres_url)) for _ in range(2))
        token = first.create("x", ["a", "b", "c"], **OPTIONS)
        other = stack.enter_context(in_background(second, settings=FREE))
        with in_background(first, settings=FREE) as url:
            with ArenaClient(url, token, arena="x") as arena:
                shown = arena.ask("ann")
            assert first.store.owned_arenas() == {"x"}
        with ArenaClient(other, token, arena="x") as arena:
            assert arena.vote(shown.duel, "left").counted
        assert second.store.owned_arenas() == {"x"}


def test_a_stopping_server_lets_another_one_answer(two):
    (first, second), urls, token = two
    first.hand_over()
    status, _, said = request(urls[0], token, "POST", "/v1/arenas/x/duels", {"voter": "ann"})
    assert (status, second.store.owned_arenas()) == (200, {"x"}), said


def test_what_may_have_been_done_is_not_done_again(two, monkeypatch):
    (first, second), urls, token = two
    with socket.create_server(("127.0.0.1", 0)) as broken:
        address = f"http://127.0.0.1:{broken.getsockname()[1]}"
        monkeypatch.setattr(second.store, "owner_address", lambda *a: address)

        def hang_up():
            for _ in range(1):
                connection, _ = broken.accept()
                connection.recv(10_000)
                connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        status, _, said = request(urls[1], token, "POST", "/v1/arenas/x/options", {"name": "d"})
        thread.join()
    assert (status, json.loads(said)["type"]) == (503, "/problems/store-trouble")
    assert "may have processed this" in json.loads(said)["detail"]
    assert len(first.arena("x").options()) == 3


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Process:
    """A server as users start it, at a port that it keeps when it is started again."""

    def __init__(self, store):
        self.port, self.store = free_port(), store
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        source = str(Path(sys.modules["driftduel"].__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "driftduel", "arena", "serve", "--store", self.store,
             "--port", str(self.port), "--behind-proxy"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": source, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        said = self.process.stdout.readline()
        assert said.startswith("The arena is at"), said + self.process.stdout.read()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def processes(store, count):
    made = []
    try:
        for _ in range(count):
            made.append(Process(store))  # noqa: PERF401 - those before one that fails are ended
        yield made
    finally:
        for each in made:
            if each.process.poll() is None:
                each.process.kill()
                each.process.wait()
            each.process.stdout.close()


def voted(url, token, voter):
    """Vote once; return whether it was taken."""
    try:
        with ArenaClient(url, token, arena="x") as arena:
            return arena.vote(arena.ask(voter).duel, "left").seq
    except DriftduelError:
        return None


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_another_server_takes_over_from_one_that_dies_or_hangs(postgres_url, how):
    manager = ArenaManager(open_store(postgres_url))
    token = manager.create("x", ["a", "b", "c"], **OPTIONS)
    manager.close()
    with processes(postgres_url, 2) as (first, second):
        assert voted(first.url, token, "ann")
        assert voted(second.url, token, "bob")  # forwarded
        first.process.send_signal(how)
        assert eventually(lambda: voted(second.url, token, "cleo"))
        if how == signal.SIGSTOP:  # it goes on, is fenced, and forwards
            first.process.send_signal(signal.SIGCONT)
            assert eventually(lambda: voted(first.url, token, "dan"))
    with closing(open_store(postgres_url)) as store:
        assert "all hashes are correct" in verify_log(store, "x")


# -- a rolling restart behind nginx


def documented_configuration():
    """Return the nginx configuration of the guide for several servers."""
    text = (ROOT / "docs" / "guide" / "arena-server.md").read_text("utf-8")
    (block,) = [part for part in text.split("```nginx\n")[1:] if "upstream arenas" in part]
    return block.partition("```")[0]


@contextmanager
def nginx(folder, ports):
    """Run nginx with the documented configuration, before servers at these ports."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed: apt-get install nginx-light")
    port, text = free_port(), documented_configuration()
    for documented, ours in zip(("10.0.0.1:8000", "10.0.0.2:8000"), ports, strict=True):
        assert text.count(documented) == 1
        text = text.replace(documented, f"127.0.0.1:{ours}")
    assert text.count("listen 443 ssl;") == 1
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
        text = f"{name.replace('body', 'client_body')}_temp_path {folder}/{name};\n" + text
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/errors.log warn; worker_processes 1;\n"
        + ("user root;\n" if os.getuid() == 0 else "")
        + f"events {{}}\nhttp {{\naccess_log off;\n{text}\n}}\n"
    )
    running = subprocess.Popen([program, "-c", str(config), "-e", f"{folder}/errors.log"])
    try:
        assert eventually(lambda: running.poll() is not None or _answers(port))
        assert running.poll() is None, (folder / "errors.log").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait()


def _answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Voter(threading.Thread):
    """Votes in one arena until told to stop; notes what was acknowledged, and when."""

    def __init__(self, url, token, arena, stop):
        super().__init__(daemon=True)
        self.url, self.token, self.arena, self.stop = url, token, arena, stop
        self.acknowledged, self.refused, self.trouble = [], [], None
        self.last, self.longest = time.monotonic(), 0.0

    def run(self):
        base, number = f"/v1/arenas/{self.arena}/duels", 0
        while not self.stop.is_set():
            number += 1
            try:
                shown = self._post(base, {"voter": f"voter {number}"})
                if shown is not None:
                    vote = self._post(f"{base}/{shown['duel']}/vote", {"pick": "left"})
                    if vote is not None:
                        ids = shown["left"]["id"], shown["right"]["id"]
                        self.acknowledged.append((vote["seq"], shown["duel"], ids))
                        now = time.monotonic()
                        self.longest, self.last = max(self.longest, now - self.last), now
            except BaseException as error:
                self.trouble = error
                return
            self.stop.wait(0.25)  # all come from one address, which may ask 100 times a second

    def _post(self, path, body):
        status, _, said = request(self.url, self.token, "POST", path, body)
        if status == 200:
            return json.loads(said)
        self.refused.append((status, said[:300]))
        return None


def test_a_rolling_restart_behind_nginx_loses_no_vote(postgres_url, tmp_path):
    manager = ArenaManager(open_store(postgres_url))
    names = [f"arena-{number}" for number in range(8)]
    tokens = {name: manager.create(name, ["a", "b", "c"], **OPTIONS) for name in names}
    manager.close()
    stop = threading.Event()
    with (
        processes(postgres_url, 2) as servers,
        nginx(tmp_path, [each.port for each in servers]) as url,
    ):
        voters = [Voter(url, tokens[name], name, stop) for name in names]
        for each in voters:
            each.start()

        def all_vote(more=8):
            aims = [len(each.acknowledged) + more for each in voters]
            assert eventually(
                lambda: (
                    any(each.trouble for each in voters)
                    or all(len(v.acknowledged) >= aim for v, aim in zip(voters, aims, strict=True))
                )
            )
            assert [each.trouble for each in voters] == [None] * len(voters)

        all_vote()
        for server in servers:
            server.stop()
            all_vote()  # in every arena, though one server is gone
            server.start()
            all_vote()
        stop.set()
        for each in voters:
            each.join()
    refused = [each for voter in voters for each in voter.refused]
    votes = sum(len(each.acknowledged) for each in voters)
    longest = max(each.longest for each in voters)
    print(f"rolling restart: {votes} votes, {len(refused)} refused, longest gap {longest:.2f} s")
    assert refused == []
    with closing(open_store(postgres_url)) as store:
        for voter in voters:
            asked, found = {}, {}
            for record in store.records(voter.arena, 0, 10**6):
                if record.kind == "asked":
                    asked[record.body["ref"]] = record.body
                elif record.kind == "voted":
                    found[record.seq] = record.body
            for seq, duel, (left, right) in voter.acknowledged:
                body, ref = found[seq], int(duel.partition("-")[0], 16)
                assert (body["ref"], body["pick"]) == (ref, "left")
                assert [f"o{arm + 1}" for arm in body["shown"]] == [left, right]
            assert "all hashes are correct" in verify_log(store, voter.arena)
