"""Pages as they are sent: what they weigh and allow, where tokens go, what is escaped."""

import asyncio
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("jinja2")

import httpx
from starlette.applications import Starlette

from driftduel.arena.web.cookies import VOTER_COOKIE
from driftduel.arena.web.pages import routes
from driftduel.arena.web.static_files import url_of
from driftduel.figures.lines import LINE_COLOURS
from tests.arena.xss import CORPUS

MOST_BYTES = 40_000
STATIC = files("driftduel.arena.web") / "static"


class Client:
    """A browser that keeps cookies and follows nothing."""

    def __init__(self, root_path="", **settings):
        app = Starlette(routes=routes(**settings))
        self.transport = httpx.ASGITransport(app, root_path=root_path)
        self.cookies = httpx.Cookies()

    def get(self, path, **request):
        async def ask():
            async with httpx.AsyncClient(
                transport=self.transport, base_url="http://testserver", cookies=self.cookies
            ) as client:
                answer = await client.get(path, **request)
                self.cookies = client.cookies
                return answer

        return asyncio.run(ask())


@pytest.fixture
def client():
    return Client()


class Page(HTMLParser):
    """Tags of a page, with their attributes as a browser reads them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.words = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words += data

    def loads(self):
        """Return what the page fetches by itself."""
        return [
            value
            for tag, attributes in self.tags
            for name, value in attributes.items()
            if (tag, name) in {("script", "src"), ("link", "href"), ("img", "src")}
            if not value.startswith("data:")
        ]


def test_the_vote_page_is_light(client):
    page = client.get("/vote/headlines").text
    loaded = [client.get(path).content for path in Page(page).loads()]
    assert len(loaded) == 2
    assert len(page.encode()) + sum(map(len, loaded)) <= MOST_BYTES


@pytest.mark.parametrize("path", ["/", "/vote/headlines", "/board/headlines", "/own/headlines"])
def test_pages_fetch_only_hashed_files_of_their_own_server(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    page = Page(answer.text)
    assert page.loads()
    for loaded in page.loads():
        assert re.fullmatch(r"/static/[\w-]+\.[0-9a-f]{16}\.(js|css)", loaded)
        assert client.get(loaded).status_code == 200
    assert not any("style" in attributes for _, attributes in page.tags)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert all("src" in attributes for tag, attributes in page.tags if tag == "script")
    assert "style" not in {tag for tag, _ in page.tags}


def test_a_file_is_kept_for_ever_under_its_hash_and_for_minutes_under_its_name(client):
    for entry in STATIC.iterdir():
        if entry.name.endswith((".js", ".css")):
            answer = client.get(url_of(entry.name))
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers["x-content-type-options"] == "nosniff"
    widget = client.get("/static/drift-duel.js")
    assert widget.content == (STATIC / "drift-duel.js").read_bytes()
    assert widget.headers["cache-control"] == "public, max-age=300"
    assert widget.headers["cross-origin-resource-policy"] == "cross-origin"
    again = client.get("/static/drift-duel.js", headers={"If-None-Match": widget.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


def test_other_files_are_not_served(client):
    for path in ("board.js", "uplot.LICENSE.txt", "..%2Fpages.py", "board.0123456789abcdef.js", ""):
        assert client.get(f"/static/{path}").status_code == 404


def test_modules_import_each_other_by_hashed_names(client):
    seen, todo = set(), [url_of("board.js")]
    while todo:
        path = todo.pop()
        seen.add(path)
        text = client.get(path).text
        names = re.findall(r'from "\./([^"]+)"', text)
        assert len(names) == len(re.findall(r"^import ", text, re.MULTILINE))
        todo += [f"/static/{name}" for name in names if f"/static/{name}" not in seen]
    assert len(seen) >= 4
    assert all(client.get(path).status_code == 200 for path in seen)


@pytest.mark.parametrize("page", ["vote", "board", "own"])
def test_a_token_in_the_query_is_refused_with_the_remedy(client, page):
    answer = client.get(f"/{page}/headlines?token=abc-_1")
    assert answer.status_code == 400
    words = " ".join(Page(answer.text).words.split())
    assert f"/{page}/headlines#token=" in words
    assert "driftduel arena link headlines" in words
    assert "abc-_1" not in answer.text + str(answer.headers)


def test_a_voters_cookie_can_be_for_https_alone():
    (cookie,) = Client(secure=True).get("/vote/a").headers.get_list("set-cookie")
    assert "; secure" in cookie.lower()


def test_a_voter_is_somebody_once(client):
    """The cookie is Lax: a link from elsewhere must not make a new voter of an old one."""
    first = client.get("/vote/a").headers["set-cookie"]
    assert first.startswith(f"{VOTER_COOKIE}=")
    assert "samesite=lax" in first.lower()
    assert "httponly" in first.lower()
    assert "set-cookie" not in client.get("/vote/a").headers
    client.cookies.clear()
    assert client.get("/vote/a").headers["set-cookie"] != first
    assert "set-cookie" not in client.get("/board/a").headers


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize("page", ["vote", "board", "own"])
def test_a_hostile_name_of_an_arena_is_only_a_name(client, page, name):
    if "/" in name:  # that is another path, which no page has
        name = name.replace("/", "∕")
    answer = client.get(f"/{page}/{percent(name)}")
    innocent = client.get(f"/{page}/innocent")
    tags = [tag for tag, _ in Page(answer.text).tags]
    assert tags == [tag for tag, _ in Page(innocent.text).tags]
    names = [each for _, attributes in Page(answer.text).tags for each in attributes]
    assert names == [each for _, attributes in Page(innocent.text).tags for each in attributes]
    assert name in Page(answer.text).words


def percent(text):
    return "".join(f"%{byte:02X}" for byte in text.encode())


def test_the_plain_page_says_what_this_is_and_lists_nothing(client):
    page = Page(client.get("/").text)
    assert "Arenas are not listed here" in page.words
    assert [a["href"] for tag, a in page.tags if tag == "a"] == ["#main", "/v1/openapi.json"]


def test_a_server_below_a_path_names_it():
    page = Page(Client(root_path="/arena").get("/arena/board/a").text)
    assert all(path.startswith("/arena/static/") for path in page.loads())
    assert ("div", "/arena") in [(tag, a.get("data-root")) for tag, a in page.tags]


def test_lines_have_the_colours_of_the_house():
    text = (STATIC / "board.css").read_text("utf-8")
    found = re.findall(r"--line-(\d): (#\w{6})", text)
    light, dark = zip(*LINE_COLOURS, strict=True)
    assert found == [(str(i % len(light)), each) for i, each in enumerate((*light, *dark))]


def test_the_charting_library_has_its_licence_beside_it():
    assert "leeoniya/uPlot" in (STATIC / "uplot.js").read_text("utf-8")[:100]
    licence = (STATIC / "uplot.LICENSE.txt").read_text("utf-8")
    assert "MIT" in licence
    assert "Leon Sorokin" in licence
