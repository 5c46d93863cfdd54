"""The pages with the real server behind them: what a browser does arrives in the log."""

import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from driftduel.arena.manager import ArenaManager
from driftduel.arena.responses import wait_durable
from driftduel.arena.stores import open_store
from driftduel.arena.web import ServerSettings, make_app
from tests.arena.fake_server import serving
from tests.waiting import eventually

pytestmark = pytest.mark.long

READY = "drift-duel[data-ready]"
GRACE = 3600.0  # nothing here depends on how fast it is


class Whole:
    """A server with an arena, and what its log says."""

    def __init__(self, url, manager, own):
        self.url, self.manager, self.own = url, manager, own
        self.voting = manager.token("colours", "vote", "page")
        self.reading = manager.token("colours", "read", "board")

    def picks(self):
        """Return the votes in the log, but for those that were undone."""
        picks = {}
        for record in self.manager.arena("colours").records(0, 10_000):
            if record.kind == "voted":
                picks[record.body["ref"]] = record.body["pick"]
            elif record.kind == "undone":
                del picks[record.body["ref"]]
        return list(picks.values())


class Later:
    """The time at which a test began, and as much later as it lets pass."""

    def __init__(self):
        self.began, self.seconds = time.time(), 0.0

    def __call__(self):
        return self.began + self.seconds


@pytest.fixture
def later():
    return Later()


@pytest.fixture
def whole(later):
    options = ["red", {"name": "green", "kind": "markdown", "content": "**green**"}, "blue"]
    manager = ArenaManager(open_store("memory:"), later)
    own = manager.create("colours", options, grace=GRACE, seed=3, votes_a_day=100)
    with serving(make_app(manager, settings=ServerSettings(clock=later))) as url:
        yield Whole(url, manager, own)


def note(page):
    return page.locator("#note")


def test_a_link_a_vote_an_undo_and_the_log(whole, visits):
    page = visits(whole.url).open(f"/vote/colours#token={whole.voting}").page
    page.wait_for_selector(READY)
    assert page.url == f"{whole.url}/vote/colours"
    said = {"ArrowLeft": "Saved: left.", "ArrowDown": "Saved: equal.", "s": "Skipped."}
    said |= {"u": "Undone. Choose again.", "ArrowRight": "Saved: right."}
    for key, text in said.items():
        page.wait_for_selector(READY)
        page.keyboard.press(key)
        expect(note(page)).to_have_text(text)
    assert whole.picks() == ["left", "tie", "right"]


def forgotten(whole):
    return [
        record.body["why"]
        for record in whole.manager.arena("colours").records(0, 10_000)
        if record.kind == "forgot"
    ]


def test_a_closed_tab_releases_its_pair_with_one_beacon(whole, visits, later):
    visit = visits(whole.url).open(f"/vote/colours#token={whole.voting}")
    page = visit.page
    page.wait_for_selector(READY)
    live = whole.manager.arena("colours")
    (ref,) = live.state.open
    page.close(run_before_unload=True)
    assert eventually(lambda: ref in live.state.leaving)  # one beacon has arrived
    later.seconds += 5  # after which a reload would have come back
    assert eventually(lambda: forgotten(whole) == ["released"])
    assert not live.state.open


def test_a_reload_keeps_the_pair(whole, visits, later):
    visit = visits(whole.url).open(f"/vote/colours#token={whole.voting}")
    page = visit.page
    page.wait_for_selector(READY)
    live = whole.manager.arena("colours")
    (ref,) = live.state.open
    page.reload()
    page.wait_for_selector(READY)
    assert eventually(lambda: not live.state.leaving)
    later.seconds += 30
    wait_durable(live.tick())
    assert list(live.state.open) == [ref]
    assert forgotten(whole) == []


def test_a_visible_page_keeps_its_pair_beyond_the_lease(whole, visits, later):
    """Time passes in the browser and on the server, 20 seconds at a time, for three minutes."""
    visit = visits(whole.url)
    visit.page.clock.install()
    page = visit.open(f"/vote/colours#token={whole.voting}").page
    page.wait_for_selector(READY)
    live = whole.manager.arena("colours")
    (ref,) = live.state.open
    wait_durable(live.ask("another"))
    for _ in range(9):
        page.keyboard.press("Shift")  # a sign of the voter
        later.seconds += 20.5
        page.clock.fast_forward(20_500)
        due = 1000 * (later() + 55)
        assert eventually(lambda due=due: live.state.open[ref].until > due)
    wait_durable(live.tick())
    assert ref in live.state.open
    page.wait_for_selector(READY)
    page.keyboard.press("ArrowLeft")
    expect(note(page)).to_have_text("Saved: left.")
    assert whole.picks() == ["left"]


@pytest.mark.long
def test_reload_and_two_tabs(whole, visits):
    visit = visits(whole.url).open(f"/vote/colours#token={whole.voting}")
    one, other = visit.page, visit.tab()
    visit.open("/vote/colours", other)
    duel = "document.querySelector('drift-duel').duel.duel"
    for page in (one, other):
        page.wait_for_selector(READY)
    assert one.evaluate(duel) == other.evaluate(duel)
    one.keyboard.press("ArrowLeft")
    expect(note(one)).to_have_text("Saved: left.")
    other.bring_to_front()
    other.keyboard.press("ArrowRight")
    expect(note(other)).to_contain_text("You had answered that pair already")
    other.wait_for_selector(READY)
    assert one.evaluate(duel) == other.evaluate(duel)
    other.reload()
    other.wait_for_selector(READY)
    assert one.evaluate(duel) == other.evaluate(duel)
    assert whole.picks() == ["left"]


def test_offline_and_back(whole, visits):
    visit = visits(whole.url).open(f"/vote/colours#token={whole.voting}")
    visit.page.wait_for_selector(READY)
    visit.context.set_offline(True)
    visit.page.keyboard.press("ArrowLeft")
    expect(note(visit.page)).to_contain_text("You are offline")
    assert whole.picks() == []
    visit.context.set_offline(False)
    expect(note(visit.page)).to_have_text("Saved: left.")
    assert whole.picks() == ["left"]


def test_without_a_token_there_is_no_vote_and_no_board(whole, visits):
    visit = visits(whole.url).open("/vote/colours")
    expect(note(visit.page)).to_contain_text("does not let you vote")
    visit.open("/board/colours")
    expect(visit.page.locator("#trouble")).to_contain_text("does not let you see")
    visit.open(f"/board/colours#token={whole.voting}")
    expect(visit.page.locator("#trouble")).to_contain_text("does not let you see")


def test_a_closed_arena_says_thanks(whole, visits):
    visit = visits(whole.url).open(f"/vote/colours#token={whole.voting}")
    visit.page.wait_for_selector(READY)
    answer = visit.context.request.post(
        f"{whole.url}/v1/arenas/colours/close", headers={"Authorization": f"Bearer {whole.own}"}
    )
    assert answer.ok
    visit.page.keyboard.press("ArrowLeft")  # the pair was out before, so its answer is taken
    expect(note(visit.page)).to_contain_text("This arena is closed. Thank you")
    assert whole.picks() == ["left"]
    visit.page.reload()
    expect(note(visit.page)).to_contain_text("This arena is closed. Thank you")


@pytest.mark.long
def test_the_board_hears_of_votes(whole, visits):
    visit = visits(whole.url).open(f"/board/colours#token={whole.reading}")
    board, voting = visit.page, visit.tab()
    expect(board.locator("#claim")).to_contain_text("No leader yet")
    expect(board.locator("#live")).to_contain_text("Live")
    visit.open(f"/vote/colours#token={whole.voting}", voting)
    for _ in range(3):
        voting.wait_for_selector(READY)
        voting.keyboard.press("ArrowLeft")
        expect(note(voting)).to_have_text("Saved: left.")
    expect(board.locator("#numbers dd").first).to_contain_text("3")
    assert "undefined" not in board.locator("main").inner_text()
    assert "NaN" not in board.locator("main").inner_text()
    with board.expect_download() as started:
        board.get_by_role("button", name="JSON lines").click()
    assert started.value.suggested_filename == "colours.ndjson"


@pytest.mark.parametrize(("show", "said"), [(2, "Saved: left."), (3, "Saved: option 1.")])
def test_the_widget_asks_from_another_origin(visits, show, said):
    """Which origin that is is known once its server runs, and an arena's never change."""
    token = []

    async def theirs(request):
        tag = f'<drift-duel arena="colours" server="{whole.url}" token="{token[0]}"></drift-duel>'
        script = f'<script src="{whole.url}/static/drift-duel.js" async></script>'
        return HTMLResponse(f"<!doctype html><title>x</title>{script}{tag}")

    with serving(Starlette(routes=[Route("/page", theirs)])) as elsewhere:
        manager = ArenaManager(open_store("memory:"))
        own = manager.create(
            "colours", ["red", "green", "blue"], grace=GRACE, origins=[elsewhere], show=show
        )
        with serving(make_app(manager, settings=ServerSettings())) as url:
            whole = Whole(url, manager, own)
            token.append(whole.voting)
            visit = visits(elsewhere)
            page = visit.open("/page").page
            page.wait_for_selector(READY)
            page.get_by_role("button", name="This one is be").first.click()
            expect(note(page)).to_have_text(said)
            assert eventually(lambda: whole.picks() == ["left" if show == 2 else "ranked"])
            visit.requests = [each for each in visit.requests if not each.startswith(url)]
