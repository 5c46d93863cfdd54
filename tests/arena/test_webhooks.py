"""Webhooks: who is told what, in order, at least once, signed, and never inside the house."""

import asyncio
import base64
import hashlib
import hmac
import json
import queue
import socket
from contextlib import suppress

import pytest

pytest.importorskip("anyio")
pytest.importorskip("starlette")
pytest.importorskip("httpx")

import msgspec

from driftduel.arena.addresses import Endpoint, is_public, parse_url, resolve_address
from driftduel.arena.board_fields import CertifiedChange
from driftduel.arena.http_post import post
from driftduel.arena.manager import ArenaManager
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.responses import wait_durable
from driftduel.arena.stores import Append, open_store
from driftduel.arena.webhook_events import events_of, has_events, message
from driftduel.arena.webhooks import EVENTS, WebhookDispatcher, format_secret, signature, verify
from driftduel.errors import DriftduelError
from tests.arena.served import Clock, problem, served
from tests.waiting import LONG

SOON = 0.002
URL = "http://192.0.2.1/hook"  # nobody's, and nothing is sent there: `send` is a test's


# -- what is news


FACTS = {"leader": 2, "previous": 0, "sure": False, "votes": 31}
NAMES = {
    arm: {"id": f"o{arm + 1}", "name": name} for arm, name in enumerate(["red", "green", "blue"])
}


@pytest.mark.parametrize(
    ("kind", "body", "events"),
    [
        ("asked", {"ref": 1}, []),
        ("told", {"ref": 1, "leads": 2, "sure": False}, ["changed"]),
        ("told", {"ref": 2, "alarm": True, "leads": 0}, ["alarm", "changed"]),
        ("told", {"ref": 2, "alarm": True}, ["alarm"]),
        ("told", {"ref": 3, "sure": True}, ["sure"]),
        ("told", {"ref": 3, "certified": [[0, 2, 5, 30]], "leads": 2}, ["certified", "changed"]),
        ("left", {"option": "o1", "leads": 2}, ["changed"]),
        ("closed", {}, ["closed"]),
    ],
)
def test_the_events_of_a_record(kind, body, events):
    found = events_of(kind, body, seq=7, at=9, **FACTS)
    assert [event.kind for event in found] == events
    assert has_events(kind, body) or not events
    for event in found:
        assert (event.seq, event.at, event.votes) == (7, 9, 31)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("told", {"leads": 2}, "colours: blue leads now, after 31 votes; before, it was red."),
        ("told", {"alarm": True},
         "colours: the leader was beaten, after 31 votes. blue leads now; before, it was red."),
        ("told", {"sure": True}, "colours: the board is sure of blue, after 31 votes."),
        ("told", {"certified": [[0, 2, 5, 30]]},
         "colours: Preferences between red and blue changed between vote 5 and vote 30 "
         "(certified): blue is preferred now."),
        ("closed", {},
         "colours is closed after 31 votes. blue leads; the board is not sure."),
    ],
)  # fmt: skip
def test_a_message_has_names_numbers_and_a_sentence(kind, body, text):
    (event,) = events_of(kind, body, seq=7, at=9, **FACTS)
    said = json.loads(message(event, "colours", NAMES))
    assert said["text"] == text
    assert said["leader"] == {"id": "o3", "name": "blue"}
    assert said["previous"] == {"id": "o1", "name": "red"}
    assert (said["sure"], said["votes"], said["seq"]) == (False, 31, 7)
    if "certified" in body:
        change = {"before": "red", "after": "blue", "from_vote": 5, "to_vote": 30, "level": 0.05,
                  "before_id": "o1", "after_id": "o3"}  # fmt: skip
        assert said["certified_changes"] == [change]
        # The names are those of the board, apart from where it stands in the log.
        assert change.keys() == set(CertifiedChange.__struct_fields__) - {"seq", "at"}


# -- signatures


def test_a_message_is_signed_as_the_standard_has_it():
    """An example that its libraries have in their tests."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def headers_of(secret, content, message="a.1.closed", seconds=1000):
    mac = hmac.new(secret, f"{message}.{seconds}.".encode() + content, hashlib.sha256)
    return {
        "webhook-id": message,
        "webhook-timestamp": str(seconds),
        "webhook-signature": "v1," + base64.b64encode(mac.digest()).decode(),
    }


def test_a_receiver_can_check_who_sent_a_message_and_when():
    secret, content = b"s" * 32, b'{"type":"closed"}'
    shown, headers = format_secret(secret), headers_of(secret, content)
    assert verify(shown, headers, content, 1000.0) == {"type": "closed"}
    two = headers | {"webhook-signature": "v1,AAAA " + headers["webhook-signature"]}
    assert verify(shown, two, content, 1299.0) == {"type": "closed"}  # while keys are changed
    for wrong, said in (
        (lambda: verify(shown, headers, content + b" ", 1000.0), "not right"),
        (lambda: verify(format_secret(b"t" * 32), headers, content, 1000.0), "not right"),
        (lambda: verify(shown, headers | {"webhook-id": "b"}, content, 1000.0), "not right"),
        (lambda: verify(shown, headers | {"webhook-timestamp": "1001"}, content, 1e3), "not ri"),
        (lambda: verify(shown, headers, content, 1301.0), "more than 300 s"),
        (lambda: verify(shown, headers, content, 699.0), "more than 300 s"),
        (lambda: verify(shown, {}, content, 1000.0), "not signed"),
        (lambda: verify(shown, headers | {"webhook-timestamp": "x"}, content, 1e3), "not signed"),
    ):
        with pytest.raises(DriftduelError, match=said):
            wrong()


# -- delivery


class Post:
    """Takes messages, or refuses them as a test says."""

    def __init__(self, *answers):
        self.answers, self.came, self.news = list(answers), [], asyncio.Event()

    async def __call__(self, place, address, headers, content):
        answer = self.answers.pop(0) if self.answers else 200
        self.came.append((headers["webhook-id"], answer))
        self.headers, self.content = headers, content
        self.news.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def until(self, count):
        """Wait for so many messages; return their ids."""
        while len(self.came) < count:
            self.news.clear()
            await self.news.wait()
        return [message for message, _ in self.came]


@pytest.fixture
def manager():
    made = ArenaManager(open_store("memory:"), Clock())
    made.create("colours", ["red", "green", "blue"], grace=0.0, seed=3)
    yield made
    made.close()


def hooked(manager, *events, done=1):
    return manager.store.put_hook("colours", URL, b"s" * 32, events or EVENTS, done)


def until_crowned(manager, times=1):
    """Let green win until the leader has changed so often; return those records' places."""
    live = manager.arena("colours")
    places = [r.seq for r in live.records() if "leads" in r.body]
    best = "green" if not places else "blue"
    for _ in range(5000):
        shown = live.ask().answer
        wait_durable(live.vote(shown.duel, "left" if shown.left.name == best else "right"))
        places = [r.seq for r in live.records() if "leads" in r.body]
        if len(places) >= times:
            return places[:times]
    raise AssertionError


def telling(manager, send, test, **settings):
    """Run a test while a messenger delivers."""

    async def run():
        dispatcher = WebhookDispatcher(
            manager, clock=Clock(), every=SOON, first_wait=SOON, send=send, private=True, **settings
        )
        task = asyncio.create_task(dispatcher.run())
        try:
            await test(dispatcher)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert asyncio.all_tasks() - {asyncio.current_task(), outer} == set()

    async def in_time():
        nonlocal outer
        outer = asyncio.current_task()
        await asyncio.wait_for(run(), LONG)

    outer = None
    asyncio.run(in_time())


def done(manager):
    return [hook.done for hook in manager.store.hooks("colours")]


def test_news_is_told_in_order_and_once(manager):
    hooked(manager)
    (crowned,) = until_crowned(manager)
    wait_durable(manager.arena("colours").end())
    end = manager.store.last_seq("colours")

    async def test(dispatcher):
        told = await send.until(2)
        assert told == [f"colours.{crowned}.changed", f"colours.{end}.closed"]
        said = verify(format_secret(b"s" * 32), send.headers, send.content, Clock().now)
        assert (said["type"], said["arena"], said["seq"]) == ("closed", "colours", end)
        assert said["votes"] == manager.arena("colours").state.tally.votes
        while done(manager) != [end]:
            await asyncio.sleep(SOON)

    send = Post()
    telling(manager, send, test)
    assert len(send.came) == 2


def test_who_leads_is_said_by_name(manager):
    hooked(manager, "changed")
    until_crowned(manager)

    async def test(dispatcher):
        await send.until(1)

    send = Post()
    telling(manager, send, test)
    (record,) = [r for r in manager.store.records("colours") if "leads" in r.body]
    place = record.body["leads"]
    expected = {"id": f"o{place + 1}", "name": ("red", "green", "blue")[place]}
    assert json.loads(send.content)["leader"] == expected


def test_only_what_was_asked_for_is_told(manager):
    hooked(manager, "closed")
    until_crowned(manager)
    wait_durable(manager.arena("colours").end())

    async def test(dispatcher):
        assert (await send.until(1))[0].endswith("closed")

    send = Post()
    telling(manager, send, test)
    assert len(send.came) == 1


def test_what_happened_before_is_no_news(manager):
    until_crowned(manager)
    hooked(manager, done=manager.store.last_seq("colours"))

    async def test(dispatcher):
        wait_durable(manager.arena("colours").end())
        assert (await send.until(1))[0].endswith("closed")

    send = Post()
    telling(manager, send, test)


@pytest.mark.parametrize("answer", [500, 301, 404, 199, OSError("no route"), TimeoutError()])
def test_what_is_not_taken_is_sent_again_and_the_rest_waits(manager, answer):
    hooked(manager)
    until_crowned(manager)
    wait_durable(manager.arena("colours").end())

    async def test(dispatcher):
        told = await send.until(4)
        assert told[0] == told[1] == told[2]
        assert told[0].endswith("changed")
        assert told[3].endswith("closed")

    send = Post(answer, answer)
    telling(manager, send, test)


def test_what_a_server_did_not_get_told_the_next_one_tells(tmp_path):
    path = f"sqlite:{tmp_path / 'a.db'}"
    first = ArenaManager(open_store(path), Clock())
    first.create("colours", ["red", "green", "blue"], grace=0.0, seed=3)
    hooked(first)
    until_crowned(first)
    wait_durable(first.arena("colours").end())

    async def refused(dispatcher):
        await never.until(3)

    never = Post(*[500] * 100_000)
    telling(first, never, refused)
    assert done(first) == [1]
    first.close()

    async def taken(dispatcher):
        told = await send.until(2)
        assert told[0] == never.came[0][0]
        assert told[1].endswith("closed")
        while len(set(done(second))) != 1 or done(second)[0] == 1:
            await asyncio.sleep(SOON)

    second, send = ArenaManager(open_store(path), Clock()), Post()
    try:
        assert second.live("colours") is None  # nobody asked for it: it is opened for its news
        telling(second, send, taken)
    finally:
        second.close()


def two_events(manager):
    """Append a record with two events behind the back of the arena; return its seq."""
    live = manager.arena("colours")
    wait_durable(live.tick())
    body = {"alarm": True, "leads": 1}
    both = Record(live.seq + 1, live.state.at, "told", body)
    events = [
        (both.seq, place, msgspec.json.encode(event).decode())
        for place, event in enumerate(events_of("told", body, seq=both.seq, at=0, **FACTS))
    ]
    assert manager.store.append([Append("colours", (both,), events=events)]) == [None]
    return both


def test_a_record_with_two_events_is_told_whole(manager):
    both = two_events(manager)
    hooked(manager)

    async def ended_in_between(dispatcher):
        await first.until(3)

    first = Post(200, *[500] * 100_000)  # the alarm is taken, who leads is not
    telling(manager, first, ended_in_between)
    assert done(manager) == [1]

    async def taken(dispatcher):
        told = await second.until(2)
        assert told == [f"colours.{both.seq}.alarm", f"colours.{both.seq}.changed"]
        while done(manager) != [both.seq]:
            await asyncio.sleep(SOON)

    second = Post()
    telling(manager, second, taken)


def test_hooks_come_and_go_while_it_runs(manager):
    live = manager.arena("colours")

    async def test(dispatcher):
        known = hooked(manager, done=live.seq)
        until_crowned(manager)
        await send.until(1)
        assert manager.store.drop_hook("colours", known)
        other = hooked(manager, "closed", done=live.seq)
        wait_durable(live.end())
        told = await send.until(2)
        assert told[1].endswith("closed")
        assert [hook.id for hook in manager.store.hooks("colours")] == [other]

    send = Post()
    telling(manager, send, test)


def test_the_store_is_read_when_there_is_news_not_on_a_schedule(manager):
    """Thousands of looks, and the store is read as often as it notified."""
    hooked(manager)
    until_crowned(manager)
    store, reads = manager.store, []
    for name in ("events", "hooks", "arenas_with_hooks", "arenas_behind"):
        read = getattr(store, name)
        setattr(store, name, lambda *a, read=read: reads.append(read.__name__) or read(*a))

    async def test(dispatcher):
        await send.until(1)
        looks, owned = [], store.owned_arenas
        store.owned_arenas = lambda: looks.append(1) or owned()
        while len(looks) < 50:
            await asyncio.sleep(SOON)
        assert len(reads) < 10, reads
        wait_durable(manager.arena("colours").end())
        await send.until(2)

    send = Post()
    telling(manager, send, test)


@pytest.mark.long
def test_postgresql_notifies_other_processes(postgres_url):
    first, second = open_store(postgres_url), open_store(postgres_url)
    heard = queue.Queue()
    try:
        end = first.subscribe(heard.put)
        assert heard.get(timeout=LONG) == ""  # connected: anything may have been missed
        second.create("a", b"x" * 32, [Record(1, 0, "opened", {})], [])
        hook = second.put_hook("a", URL, b"s", EVENTS, 1)
        assert heard.get(timeout=LONG) == "a"
        events = [(2, 0, "{}")]
        entry = Append("a", [Record(2, 0, "told", {})], events=events)
        assert second.append([entry]) == [None]
        assert heard.get(timeout=LONG) == "a"
        assert (first.arenas_with_hooks(), first.arenas_behind(), first.events("a", 1, 9)) == (
            ["a"],
            ["a"],
            [(2, "{}")],
        )
        first.mark_delivered(hook, 2)
        assert first.arenas_behind() == []
        import psycopg

        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            )
        assert heard.get(timeout=LONG) == ""  # it listens again
        assert second.drop_hook("a", hook)
        assert heard.get(timeout=LONG) == "a"
        end()
    finally:
        first.close()
        second.close()


def test_one_who_does_not_answer_keeps_nobody_waiting(manager):
    hooked(manager)
    other = "http://192.0.2.2/hook"
    manager.store.put_hook("colours", other, b"t" * 32, EVENTS, 1)
    wait_durable(manager.arena("colours").end())

    async def test(dispatcher):
        await taken.wait()

    taken = asyncio.Event()

    async def send(place, address, headers, content):
        if place.host == "192.0.2.1":
            await asyncio.Event().wait()
        taken.set()
        return 200

    telling(manager, send, test)


def test_an_address_of_the_house_is_not_told(manager):
    manager.store.put_hook("colours", "http://127.0.0.1:9/x", b"s" * 32, EVENTS, 1)
    wait_durable(manager.arena("colours").end())

    async def run():
        dispatcher = WebhookDispatcher(
            manager, clock=Clock(), every=SOON, first_wait=SOON, send=send
        )
        task = asyncio.create_task(dispatcher.run())
        await asyncio.sleep(50 * SOON)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    send = Post()
    asyncio.run(run())
    assert send.came == []
    assert done(manager) == [1]


# -- addresses


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://a/", "http://", "https:///x", "http://a b/", "http://user@host/",
            "http://u:p@host/", "http://[::1", "http://h:99999/", "http://h/\r\nX: y", "http://é/",
            "http://h/" + "x" * 600, "//host/", "http://h\0/"]
)  # fmt: skip
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ArenaError) as raised:
        parse_url(url)
    assert raised.value.problem == "bad-address"


def test_an_address_is_taken_apart():
    assert parse_url("https://h.example/a?b=1#c") == Endpoint(True, "h.example", 443, "/a?b=1")
    assert parse_url("http://[2001:db8::1]:81").authority == "[2001:db8::1]:81"
    assert parse_url("http://h:80").authority == "h"


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
     "0.0.0.0", "100.64.0.1", "224.0.0.1", "255.255.255.255", "192.0.2.1", "::1", "::",
     "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
     "2002:7f00:1::", "fe80::1%eth0", "240.0.0.1", "2001:0:4136:e378:8000:63bf:80ff:fffe",
     "fec0::1", "::7f00:1", "::8.8.8.8", "64:ff9b:1::1", "192.0.0.8", "192.0.0.9", "198.18.0.1",
     "192.88.99.1", "192.175.48.1", "2001:db8::1", "3fff::1", "100::1", "2001:2::1", "5f00::1"],
)  # fmt: skip
def test_addresses_that_are_not_of_the_open_internet(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_addresses_of_the_open_internet(address):
    assert is_public(address)


def found(monkeypatch, *answers):
    """Let names stand for these addresses, another list each time one is looked up."""
    lists = [list(answer) for answer in answers]

    async def look(self, host, port, **_):
        return [(socket.AF_INET, 1, 6, "", (address, port)) for address in lists.pop(0)]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", look)
    return lists


def test_a_name_is_looked_up_once_and_that_address_is_used(monkeypatch, manager):
    """A name that leads elsewhere the second time (DNS rebinding) leads nowhere."""
    left = found(monkeypatch, ["8.8.8.8"], ["127.0.0.1"])
    used = []

    async def send(place, address, headers, content):
        used.append((place.host, address))
        return 200

    manager.store.put_hook("colours", "http://rebinding.example/", b"s" * 32, EVENTS, 1)
    wait_durable(manager.arena("colours").end())

    async def run():
        dispatcher = WebhookDispatcher(manager, clock=Clock(), every=SOON, send=send)
        task = asyncio.create_task(dispatcher.run())
        while not used:
            await asyncio.sleep(SOON)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(run(), LONG))
    assert used == [("rebinding.example", "8.8.8.8")]
    assert len(left) == 1


def test_one_private_address_among_many_is_too_many(monkeypatch):
    found(monkeypatch, ["8.8.8.8", "10.0.0.1"], ["8.8.8.8", "10.0.0.1"])
    place = parse_url("http://both.example/")
    with pytest.raises(ArenaError, match=r"'both\.example' is not, or not only") as refused:
        asyncio.run(resolve_address(place, private=False))
    assert "10.0.0.1" not in str(refused.value)
    assert asyncio.run(resolve_address(place, private=True)) == "8.8.8.8"


@pytest.mark.parametrize("host", ["localhost", "0x7f000001", "2130706433", "127.1", "[::1]"])
def test_the_house_by_other_names(host):
    """Whatever the machine's resolver makes of them."""
    with pytest.raises(ArenaError) as raised:
        asyncio.run(resolve_address(parse_url(f"http://{host}/"), private=False))
    assert raised.value.problem == "bad-address"


# -- on the wire


def exchanged(answer, path="/a?b=1", **more):
    """Send a message to a server that says one thing; return the status and what it was sent."""

    async def run():
        heard = asyncio.Queue()

        async def serve(reader, writer):
            answering.append(asyncio.current_task())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await heard.put(head + await reader.readexactly(length))
            if answer is None:
                await gone.wait()
            writer.write(answer or b"")
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

        gone, answering = asyncio.Event(), []
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        place = parse_url(f"http://name.example:{port}{path}")
        try:
            status = await post(place, "127.0.0.1", {"X-A": "1"}, b"{}", **more)
            return status, await heard.get(), heard.qsize(), port
        finally:
            gone.set()
            server.close()
            await asyncio.gather(*answering)

    return asyncio.run(run())


def test_a_message_goes_to_the_address_under_the_name():
    status, heard, _, port = exchanged(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert status == 204
    head, _, body = heard.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /a?b=1 HTTP/1.1\r\n")
    assert f"Host: name.example:{port}".encode() in head
    assert body == b"{}"


def test_a_redirect_is_not_followed():
    answer = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"
    assert exchanged(answer)[::2] == (302, 0)


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0\r\n", b"x" * 10_000, b"HTTP/1.1 20\r\n"])
def test_what_is_no_answer_is_an_error(answer):
    with pytest.raises((ValueError, OSError)):
        exchanged(answer)


def test_one_who_never_answers_is_not_waited_for():
    with pytest.raises(TimeoutError):
        exchanged(None, seconds=0.05)


# -- the API


def test_hooks_over_http():
    with served(limits={"private_hooks": True}) as arena:
        made = arena.call("POST", "hooks", {"url": URL, "events": ["closed", "closed"]})
        assert made.status_code == 201
        said = made.json()
        assert said["secret"].startswith("whsec_")
        (shown,) = arena.call("GET", "hooks").json()["hooks"]
        assert shown == {"id": said["id"], "url": URL, "events": ["closed"], "done": shown["done"]}
        assert said["secret"] not in arena.call("GET", "hooks").text
        assert shown["done"] == arena.manager.live("colours").seq
        assert arena.call("DELETE", f"hooks/{said['id']}").status_code == 204
        problem(arena.call("DELETE", f"hooks/{said['id']}"), 404, "no-such-hook")
        problem(arena.call("POST", "hooks", {"url": URL, "events": ["all"]}), 422, "bad-request")
        old = arena.call("POST", "hooks", {"url": URL, "events": ["crowned", "changed"]}).json()
        (shown,) = arena.call("GET", "hooks").json()["hooks"]
        assert (shown["id"], shown["events"]) == (old["id"], ["changed"])


def test_an_arena_has_a_limited_number_of_hooks():
    with served(limits={"private_hooks": True}) as arena:
        made = [arena.call("POST", "hooks", {"url": URL}) for _ in range(20)]
        assert {each.status_code for each in made} == {201}
        said = problem(arena.call("POST", "hooks", {"url": URL}), 429, "too-many")
        assert "20 webhooks" in said
        assert arena.call("DELETE", f"hooks/{made[0].json()['id']}").status_code == 204
        assert arena.call("POST", "hooks", {"url": URL}).status_code == 201


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://localhost:8000/", "http://[::1]/"])
def test_a_hook_into_the_house_is_refused_when_it_is_made(url):
    with served() as arena:
        problem(arena.call("POST", "hooks", {"url": url}), 422, "bad-address")
        assert arena.call("GET", "hooks").json() == {"hooks": []}
