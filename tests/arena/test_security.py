"""Who may do what, from which page, how often, and how much at once."""

import asyncio
import re
import threading

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from driftduel.arena.web.cookies import VOTER_COOKIE, token_cookie
from driftduel.arena.web.limits import RateLimiter, client_address
from driftduel.arena.web.security import Authenticator
from driftduel.arena.web.settings import Rate, ServerSettings
from tests.arena.served import problem, served
from tests.waiting import LONG, no_hanging

OURS = {"Origin": "http://testserver"}
THEIRS = {"Origin": "https://evil.example"}
FRIEND = "https://friend.example"
CSRF = {"X-Driftduel": "1"}


@pytest.fixture(scope="module")
def arena():
    with served(origins=[FRIEND]) as made:
        made.manager.create("other", ["a", "b"])
        made.other = made.manager.token("other", "own")
        yield made


@pytest.fixture
def browser(arena):
    """A client that has only cookies."""
    arena.client.cookies.set(token_cookie("vote", "colours"), arena.voting)
    arena.client.cookies.set(VOTER_COOKIE, "A" * 24)
    yield arena.client
    arena.client.cookies.clear()


# -- tokens and scopes


def every_operation():
    with served() as made:
        return [
            (each.method, re.sub(r"\{(\w+)(:\w+)?\}", _filled, each.path), each.scope, each.name)
            for each in made.client.app.operations
        ]


def _filled(found):
    return "colours" if found[1] == "arena" else "x"


OPERATIONS = every_operation()
GUARDED = [each for each in OPERATIONS if each[2] is not None]


def test_only_what_is_the_same_for_all_needs_no_token():
    assert {name for *_, scope, name in OPERATIONS if scope is None} == {
        "openapi",
        "health",
        "problem",
        "file",  # the id of a file is a keyed hash, which cannot be guessed
    }


@pytest.mark.parametrize(("method", "path", "scope", "name"), GUARDED, ids=str)
def test_every_operation_asks_for_a_token_and_its_scope(arena, method, path, scope, name):
    answer = arena.client.request(method, path)
    problem(answer, 401, "no-token")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    problem(arena.call(method, path, token="dd-own-guess"), 401, "no-token")
    basic = arena.client.request(method, path, headers={"Authorization": f"Basic {arena.own}"})
    problem(basic, 401, "no-token")
    if "colours" in path:
        problem(arena.call(method, path, token=arena.other), 403, "wrong-scope")
    lesser = {"vote": [arena.reading], "read": [arena.voting], "own": [arena.voting, arena.reading]}
    for token in lesser.get(scope, []):
        problem(arena.call(method, path, token=token), 403, "wrong-scope")


@pytest.mark.parametrize("word", ["bearer", "BEARER", "Bearer"])
def test_the_word_before_a_token_may_be_written_as_one_likes(arena, word):
    headers = {"Authorization": f"{word} {arena.reading}"}
    assert arena.client.get("/v1/arenas/colours/board", headers=headers).status_code == 200


@pytest.mark.parametrize("token", ["", " ", "x" * 10_000, "\x7f", "dd-own-é".encode(), "a b"])
def test_what_no_token_can_be_is_refused(arena, token):
    sent = token if isinstance(token, bytes) else token.encode()
    answer = arena.client.get("/v1/token", headers={"Authorization": b"Bearer " + sent})
    problem(answer, 401, "no-token")


def test_tokens_are_not_in_the_store(tmp_path):
    with served(f"sqlite:{tmp_path / 'a.db'}") as made:
        tokens = [made.own, made.voting, made.reading, made.making]
        assert made.call("GET", "board").status_code == 200
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    kept += b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"colours" in kept
    assert not [token for token in tokens if token.encode() in kept]


def test_a_token_that_was_dropped_ends(arena):
    token = arena.call("POST", "tokens", {"scope": "read", "label": "gone"}).json()["token"]
    assert arena.call("GET", "board", token=token).status_code == 200
    assert arena.manager.store.drop_token("colours", "gone") == 1
    arena.clock.now += 1
    problem(arena.call("GET", "board", token=token), 401, "no-token")


def test_many_requests_ask_the_store_for_a_token_once(arena):
    async def main():
        store = Slow()
        authenticator = Authenticator(store, ServerSettings(clock=lambda: store.now))
        first = [asyncio.create_task(authenticator.grant("x")) for _ in range(20)]
        while not store.asked:
            await asyncio.sleep(0)
        store.may.set()
        assert {grant.scope for grant in await asyncio.gather(*first)} == {"vote"}
        assert store.asked == 1
        store.may.clear()
        store.now += 0.6
        # It is good for a moment more: nobody waits while the store is asked again.
        assert [(await authenticator.grant("x")).scope for _ in range(5)] == ["vote"] * 5
        store.may.set()
        while store.asked < 2:
            await asyncio.sleep(0)
        store.now += 0.6
        assert (await authenticator.grant("x")).scope == "vote"

    with no_hanging():
        asyncio.run(main())


class Slow:
    """A store that knows one token, and says so when it may."""

    def __init__(self):
        self.asked, self.now, self.may = 0, 1000.0, threading.Event()

    def token(self, key):
        self.asked += 1
        assert self.may.wait(LONG)
        return "colours", "vote"


def test_a_token_that_was_dropped_ends_though_the_clock_is_set_back(arena):
    token = arena.call("POST", "tokens", {"scope": "read", "label": "gone"}).json()["token"]
    assert arena.call("GET", "board", token=token).status_code == 200
    assert arena.manager.store.drop_token("colours", "gone") == 1
    arena.clock.now -= 3600
    problem(arena.call("GET", "board", token=token), 401, "no-token")


def test_an_arena_that_is_not_there_cannot_be_told_from_one_of_others(arena):
    there = arena.call("GET", "/v1/arenas/other/board", token=arena.own)
    nowhere = arena.call("GET", "/v1/arenas/nowhere/board", token=arena.own)
    assert there.json() == nowhere.json()


def open_ones(arena, token, count):
    """Ask so often; return the answers."""
    return [arena.call("POST", "duels", {}, token) for _ in range(count)]


def is_open(arena, answer):
    return arena.manager.arena("colours").is_open(answer.json()["duel"])


def test_one_token_cannot_have_every_open_duel():
    with served(most_open=40) as arena:
        theirs = arena.call("POST", "duels", {}, arena.voting)
        mine = open_ones(arena, arena.own, 23)
        assert [each.status_code for each in mine] == [200] * 23
        assert [is_open(arena, each) for each in mine] == [False] * 3 + [True] * 20
        assert is_open(arena, theirs)  # a token evicts its own duels only
        duel = mine[3].json()["duel"]
        # An answered duel makes room for one.
        again = arena.call("POST", f"duels/{duel}/vote?next=1", {"pick": "left"}, arena.own)
        assert again.json()["next"]["duel"]
        assert is_open(arena, mine[4])
        assert arena.call("POST", f"duels/{duel}/undo").status_code == 200
        assert not is_open(arena, mine[4])
        assert len(arena.manager.arena("colours").state.open) == 21
        assert arena.vote(mine[0].json()["duel"]).json()["late"]


def test_one_address_cannot_have_every_open_duel_of_a_page():
    with served(most_open=40) as arena:
        mine = open_ones(arena, arena.voting, 6)
        assert [is_open(arena, each) for each in mine] == [False] * 2 + [True] * 4
        duel = mine[2].json()["duel"]
        assert arena.vote(duel).status_code == 200
        assert is_open(arena, open_ones(arena, arena.voting, 1)[0])
        assert is_open(arena, mine[3])


def test_a_voter_has_a_bounded_number_of_open_duels():
    with served(most_open_each=3) as made:
        anns = [made.call("POST", "duels", {"voter": "ann"}, made.voting) for _ in range(4)]
        bobs = made.call("POST", "duels", {"voter": "bob"}, made.voting)
        assert [is_open(made, each) for each in (*anns, bobs)] == [False] + [True] * 4


# -- cookies and other sites


def ask(client, **headers):
    return client.post("/v1/arenas/colours/duels", headers=headers, json={"resume": True})


def test_a_cookie_lets_a_page_ask_and_vote(browser):
    shown = ask(browser, **CSRF, **OURS).json()
    assert ask(browser, **CSRF).json() == shown  # the voter is the cookie's
    answer = browser.post(
        f"/v1/arenas/colours/duels/{shown['duel']}/vote", json={"pick": "tie"}, headers=CSRF
    )
    assert answer.status_code == 200


def test_a_cookie_alone_changes_nothing(browser):
    problem(ask(browser), 403, "cross-site")
    problem(ask(browser, **OURS), 403, "cross-site")
    problem(ask(browser, **{"X-Driftduel": "0"}), 403, "cross-site")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://testserver.evil.example", "",
               "http://testserver:81", "testserver", "http://[", "file://testserver/x"]
)  # fmt: skip
def test_a_cookie_from_another_sites_page_changes_nothing(browser, origin):
    problem(ask(browser, **CSRF, Origin=origin), 403, "cross-site")


def test_a_cookie_names_no_voter(browser):
    answer = browser.post("/v1/arenas/colours/duels", headers=CSRF, json={"voter": "somebody"})
    problem(answer, 422, "bad-request")


def test_a_cookie_of_one_arena_opens_no_other(browser):
    answer = browser.post("/v1/arenas/other/duels", headers=CSRF, json={})
    problem(answer, 401, "no-token")


def test_a_cookie_allows_what_its_token_allows(browser, arena):
    problem(browser.get("/v1/arenas/colours/board"), 403, "wrong-scope")
    browser.cookies.set(token_cookie("board", "colours"), arena.reading)
    assert browser.get("/v1/arenas/colours/board").status_code == 200
    assert ask(browser, **CSRF).status_code == 200  # with the other one


def test_pages_of_other_sites_ask_only_where_the_arena_names_them(arena):
    problem(arena.call("POST", "duels", {}, headers=THEIRS), 403, "cross-site")
    answer = arena.call("POST", "duels", {}, headers={"Origin": FRIEND})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == FRIEND
    assert "Origin" in answer.headers["vary"]
    assert "Retry-After" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in answer.headers
    own = arena.call("POST", "duels", {}, headers=OURS)
    assert "access-control-allow-origin" not in own.headers
    path = "/v1/arenas/other/duels"
    problem(
        arena.call("POST", path, {}, arena.other, headers={"Origin": FRIEND}), 403, "cross-site"
    )
    for path in ("/v1/token", "/v1/voters/ann", "/v1/arenas"):
        problem(arena.call("GET", path, headers={"Origin": FRIEND}), 403, "cross-site")


def test_a_page_that_is_named_hears_why_it_was_refused(arena):
    answer = arena.call("POST", "duels", {}, token="none", headers={"Origin": FRIEND})
    problem(answer, 401, "no-token")
    assert answer.headers["access-control-allow-origin"] == FRIEND


def test_a_browser_may_ask_beforehand(arena):
    def preflight(origin):
        headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        return arena.client.options("/v1/arenas/colours/duels", headers=headers)

    allowed = preflight(FRIEND)
    assert allowed.status_code == 204
    assert allowed.headers["access-control-allow-origin"] == FRIEND
    assert "authorization" in allowed.headers["access-control-allow-headers"].lower()
    assert "x-driftduel" not in allowed.headers["access-control-allow-headers"].lower()
    refused = preflight(THEIRS["Origin"])
    problem(refused, 403, "cross-site")
    assert "access-control-allow-origin" not in refused.headers


def test_anybodys_page_may_read_the_document(arena):
    answer = arena.client.get("/v1/openapi.json", headers=THEIRS)
    assert answer.headers["access-control-allow-origin"] == "*"


# -- headers


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/vote/colours"), ("GET", "/board/colours"), ("GET", "/nowhere"),
     ("GET", "/vote/colours?token=x"), ("POST", "/v1/arenas/colours/leases"),
     ("PUT", "/healthz"), ("GET", "/healthz"),
     ("GET", "/v1/arenas/colours/board"), ("GET", "/static/drift-duel.js"), ("GET", "/static/no")],
)  # fmt: skip
def test_every_answer_has_the_headers_that_keep_browsers_safe(arena, method, path):
    answer = arena.client.request(method, path, follow_redirects=False)
    headers = answer.headers
    policy = dict(
        part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["img-src"] == "'self' data: https:"
    assert policy["media-src"] == "'self' https:"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    names = [name.lower() for name, _ in answer.headers.multi_items() if name != "set-cookie"]
    assert len(names) == len(set(names))


def test_who_may_frame_the_pages_can_be_set():
    with served(limits={"frame_ancestors": "https://friend.example"}) as made:
        policy = made.client.get("/vote/colours").headers["content-security-policy"]
        assert policy.endswith("frame-ancestors https://friend.example")


def log_in(arena, token, page="vote", **headers):
    headers = {"Authorization": f"Bearer {token}", **headers}
    return arena.client.post(f"/v1/arenas/colours/session?page={page}", headers=headers)


@pytest.mark.parametrize("page", ["vote", "board", "own"])
def test_a_token_becomes_a_cookie_that_no_script_reads(arena, page):
    token = {"vote": arena.voting, "board": arena.reading, "own": arena.own}[page]
    answer = log_in(arena, token, page, **OURS)
    assert answer.status_code == 204
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith(f"{token_cookie(page, 'colours')}={token};")
    assert re.search(r"; HttpOnly(;|$)", cookie)
    assert re.search(r"(?i); SameSite=Strict(;|$)", cookie)
    assert "secure" not in cookie.lower()
    assert ("max-age" in cookie.lower()) == (page != "own")  # an owner's ends with the session
    if page == "vote":
        assert ask(arena.client, **CSRF).status_code == 200
    else:
        assert arena.client.get("/v1/arenas/colours/board").status_code == 200
    arena.client.cookies.clear()


def test_a_token_that_opens_no_such_page_becomes_no_cookie(arena):
    problem(log_in(arena, arena.reading, "vote"), 403, "wrong-scope")
    problem(log_in(arena, arena.voting, "board"), 403, "wrong-scope")
    problem(log_in(arena, arena.other), 403, "wrong-scope")
    problem(log_in(arena, "dd-vote-guess"), 401, "no-token")
    assert not arena.client.cookies


@pytest.mark.parametrize("origin", [THEIRS["Origin"], FRIEND])
def test_no_other_site_chooses_by_which_token_a_browser_votes(arena, origin):
    problem(log_in(arena, arena.voting, Origin=origin), 403, "cross-site")
    assert not arena.client.cookies


def test_a_cookie_does_not_renew_itself(browser):
    problem(browser.post("/v1/arenas/colours/session", headers=CSRF), 401, "no-token")


def test_cookies_can_be_for_https_alone():
    with served(limits={"secure_cookies": True}) as made:
        (cookie,) = log_in(made, made.voting).headers.get_list("set-cookie")
        assert "; secure" in cookie.lower()


# -- leases: a beacon has a cookie and no header


def lease(client, duel, release=True, **headers):
    body = {"duels": [duel], "release": release}
    return client.post("/v1/arenas/colours/leases", json=body, headers=headers)


def test_a_beacon_releases_what_the_page_was_shown(browser, arena):
    duel = ask(browser, **CSRF).json()["duel"]
    problem(lease(browser, duel, Origin=THEIRS["Origin"]), 403, "cross-site")
    problem(lease(browser, duel, Origin="null"), 403, "cross-site")
    form = browser.post(
        "/v1/arenas/colours/leases",
        content=f'{{"duels": ["{duel}"], "release": true}}',
        headers={"Content-Type": "text/plain"},
    )
    problem(form, 415, "wrong-media-type")  # what a form of another site could send
    problem(lease(browser, f"{duel[:-1]}!"), 404, "no-such-duel")
    assert arena.manager.arena("colours").is_open(duel)
    assert lease(browser, duel, **OURS).json() == {"expires": [0.0]}
    assert not arena.manager.arena("colours").is_open(duel)


# -- how much, how often


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_that_is_too_long_is_refused(arena, declared):
    content = b'{"name": "' + b"x" * 70_000 + b'"}'
    headers = {"Authorization": f"Bearer {arena.own}", "Content-Type": "application/json"}
    answer = arena.client.post(
        "/v1/arenas/colours/options",
        content=content if declared else iter([content[:40_000], content[40_000:]]),
        headers=headers,
    )
    assert "65,536 bytes" in problem(answer, 413, "too-large")


@pytest.mark.parametrize("media", ["text/plain", "", "application/x-www-form-urlencoded", "json"])
def test_a_body_must_say_that_it_is_json(arena, media):
    headers = {"Authorization": f"Bearer {arena.own}", "Content-Type": media}
    answer = arena.client.post("/v1/arenas/colours/options", content=b"{}", headers=headers)
    problem(answer, 415, "wrong-media-type")


def test_one_address_may_ask_so_often_and_no_more():
    with served(limits={"per_address": Rate(2.0, 4)}) as made:
        answers = [made.client.get("/v1/openapi.json") for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
        problem(answers[-1], 429, "too-many")
        assert answers[-1].headers["retry-after"] == "1"
        assert "content-security-policy" in answers[-1].headers
        assert made.client.get("/healthz").status_code == 200  # whoever watches it is let in
        made.clock.now += 0.5
        assert made.client.get("/v1/openapi.json").status_code == 200
        assert made.client.get("/v1/openapi.json").status_code == 429


def test_one_token_may_ask_so_often_and_no_more():
    with served(limits={"per_token": Rate(1.0, 3)}) as made:
        codes = [made.call("GET", "/v1/token").status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        assert made.call("GET", "/v1/token", token=made.reading).status_code == 200
        assert made.call("GET", "/v1/token", token="unknown").status_code == 401


def test_a_meter_lets_the_rate_through_and_the_burst_before_it():
    meter, now, taken = RateLimiter(Rate(10.0, 5)), 100.0, 0
    for step in range(1000):  # 100 a second, for 10 seconds
        taken += not meter.wait("a", now + step / 100)
    assert 5 + 99 <= taken <= 5 + 101
    assert meter.wait("b", now + 9.99) == 0
    assert meter.wait("a", now + 9.99) == pytest.approx(0.1, abs=0.1)


def test_a_clock_that_is_set_back_keeps_nobody_out():
    meter = RateLimiter(Rate(8.0, 4))
    assert not any(meter.wait("a", 10_000.0) for _ in range(4))
    assert 0.0 < meter.wait("a", 10_000.0 - 3600.0) < 1.0  # and not an hour
    assert not meter.wait("a", 10_000.0 - 3599.0)


def test_a_meter_remembers_only_so_many():
    meter = RateLimiter(Rate(1.0, 1), most=10)
    assert not any(meter.wait(key, 0.0) for key in range(1000))
    assert meter.wait(999, 0.0)
    assert not meter.wait(0, 0.0)  # forgotten
    assert not any(RateLimiter(Rate(0, 0)).wait("a", 0.0) for _ in range(1000))


def test_addresses_are_counted_by_who_has_them():
    assert client_address("192.0.2.7") == "192.0.2.7"
    assert client_address("2001:db8::1") == client_address("2001:db8::ffff:2")
    assert client_address("2001:db8::1") != client_address("2001:db8:0:1::1")
    assert client_address("fe80::1%eth0") == "fe80::/64"
    assert client_address("unix:") == "unix:"
    assert client_address(None) == ""


def test_a_websocket_is_refused(arena):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), arena.client.websocket_connect("/v1/x"):
        pass
