"""The board and the widget in a real browser: sentences, news, pictures, pages of others."""

import copy
import math
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from driftduel._internal import wording
from tests.arena.boards import some_board
from tests.arena.browser.axe import violations
from tests.arena.fake_server import serving
from tests.arena.xss import CORPUS
from tests.waiting import eventually

pytestmark = pytest.mark.long


@pytest.fixture
def board(fake, visits):
    fake.board = some_board()

    def opened(**settings):
        visit = visits(fake.url, **settings).open("/board/headlines#token=abc")
        visit.page.wait_for_selector("#board:not([hidden])")
        return visit.page

    return opened


def test_the_headline_says_who_leads_and_how_sure(fake, board):
    page = board()
    claim, doubt = page.locator("#claim"), page.locator("#doubt")
    expect(claim).to_have_text("“Sea levels: new numbers” leads; it took the lead 310 votes ago.")
    expect(page.locator("#since")).to_contain_text("Since 13 Nov 2025, ")
    expect(doubt).to_have_text(fake.board["says"]["doubt"])
    expect(page.locator("#verdict.sure")).to_be_visible()
    assert page.locator("#evidence tbody").inner_text().count("enough") == 4
    fake.board = some_board(sure=False)
    expect(doubt).to_contain_text("it has not beaten “The coast in 2050” often enough.")
    expect(page.locator("#verdict.sure")).to_have_count(0)
    assert page.locator("#evidence tbody").inner_text().count("enough") == 3
    assert page.locator("#evidence tbody").inner_text().count("48% of the way") == 1
    fake.board = some_board(sure=False, leader=None, since=None, evidence=[])
    expect(claim).to_contain_text("No leader yet")
    expect(page.locator("#evidence-part")).to_be_hidden()
    expect(page.locator("#waiting")).to_be_hidden()
    fake.board = some_board(sure=False, held=355, held_by=13)
    expect(page.locator("#waiting")).to_have_text(
        "355 votes wait for 13 open duels, at most 60 s longer than their pages stay open."
    )
    fake.board = some_board(closed=True)
    expect(claim).to_contain_text("led when the arena was closed")
    expect(page.locator("#closed")).to_be_visible()


def test_it_is_live(fake, board):
    page = board()
    expect(page.locator("#live")).to_have_text("Live: this page changes by itself.")
    assert page.locator("#changes-list li").count() == 3  # two of the lead, one certified
    later = copy.deepcopy(fake.board)
    later["seq"] += 1
    later["changes"].append({**later["changes"][1], "vote": 2300})
    fake.board = later
    expect(page.locator("#changes-list li")).to_have_count(4)


def test_where_nothing_can_be_pushed_it_asks(fake, visits):
    fake.board, fake.push = some_board(), False
    visit = visits(fake.url)
    visit.page.clock.install()
    page = visit.open("/board/headlines").page
    expect(page.locator("#live")).to_contain_text("Asked every 5 s")
    expect(page.locator("#doubt")).to_contain_text("Sure, from 58 voters")
    fake.board = some_board(sure=False)
    page.clock.run_for(6000)
    expect(page.locator("#doubt")).to_contain_text("Not sure yet")


@pytest.mark.parametrize(("status", "said"), [(404, "no arena of this name"), (403, "a new link")])
def test_what_cannot_be_seen_is_said(fake, visits, status, said):
    from tests.arena.fake_server import problem

    visit = visits(fake.url)
    fake.refusal = problem("x", status)
    page = visit.open("/board/headlines").page
    expect(page.locator("#trouble")).to_contain_text(said)
    assert page.locator("#board").is_hidden()


def test_the_parts_of_the_board(fake, board):
    page = board()
    text = page.locator("main").inner_text()
    says = fake.board["says"]
    for said in (
        *(says[key] for key in says if key != "certified"),
        fake.board["guarantee"],
        "“What rising water means for you” took the lead from “Why the sea",
        "half of them gave at most 12 votes; the most were 80",
        "one in ten took longer than 9.0 s",
        "1 certified change of preferences:",
        "Preferences changed between vote 1,700 and vote 2,060 (certified): “What rising water",
        "The last 310 votes, as in the ranking",
        "king",
    ):
        assert said in text
    assert page.locator("#evidence tbody tr").count() == 4
    assert page.locator("#ranking tbody tr").count() == 5
    assert page.locator("#ranking tbody").inner_text().count("has left") == 1
    assert page.locator("#pairs tbody td").count() == 25
    first = page.locator("#pairs tbody td").nth(1).inner_text().split("\n")
    wins = some_board()["pairs"]["wins"]
    won, lost = wins[0][1], wins[1][0]
    assert first[0] == wording.share(won / (won + lost))
    assert first[1] == f"{won} : {lost}"


def test_strengths_are_drawn_and_can_be_taken_out(board):
    page = board()
    assert page.locator("#strengths canvas").bounding_box()["width"] > 700
    ink = """() => { const c = document.querySelector('#strengths canvas');
      const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      return d.reduce((sum, each, i) => sum + (i % 4 === 3 && each > 200), 0); }"""
    before = page.evaluate(ink)
    assert before > 3000
    button = page.locator("#strengths-legend button").first
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    expect(page.locator("#strengths-legend button").first).to_have_attribute(
        "aria-pressed", "false"
    )
    assert eventually(lambda: 0 < page.evaluate(ink) < before)
    box = page.locator("#strengths canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    expect(page.locator("#strengths-says")).to_contain_text("votes,")


def test_a_table_stays_sorted_when_news_come(fake, board):
    page = board()
    page.locator("#ranking th", has_text="won").click()
    won = page.locator("#ranking tbody tr td:nth-child(4)")
    order = [int(each) for each in won.all_inner_texts()]
    assert order == sorted(order)
    later = copy.deepcopy(fake.board)
    later["seq"] += 1
    later["ranking"][0]["wins"] = 999
    fake.board = later
    expect(won.last).to_have_text("999")


def test_an_arena_without_votes_is_shown(fake, visits):
    nothing = {"share": None, "low": None, "high": None}
    empty = some_board(
        votes=0, sure=False, leader=None, since=None, evidence=[], challenger=None,
        changes=[], lead_changes=0, alarms=0, false_alarms_at_most=None, left=nothing,
        history={"votes": [], "at": [], "series": []}, lateness={"median": None, "p90": None},
        votes_per_voter={"median": None, "most": None},
    )  # fmt: skip
    for each in empty["ranking"]:
        each |= {"strength": None, "low": None, "high": None, "rank": None, "duels": 0, "wins": 0}
    fake.board = empty
    page = visits(fake.url).open("/board/headlines").page
    expect(page.locator("#claim")).to_contain_text("No leader yet")
    expect(page.locator("#strengths-says")).to_contain_text("After some more votes")
    assert page.locator("#ranking tbody tr").count() == 5
    assert "NaN" not in page.locator("main").inner_text()
    assert "undefined" not in page.locator("main").inner_text()


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_wider_than_the_page(board, width):
    page = board(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in page.locator("main section").all():
        box = name.bounding_box()
        if box:
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_paper_cuts_nothing_off(fake, visits):
    fake.board = some_board([f"an option of many, number {i}" for i in range(12)])
    fake.board["changes"] *= 20
    page = visits(fake.url, width=700).open("/board/headlines").page
    page.wait_for_selector("#board:not([hidden])")
    cut = """() => [...document.querySelectorAll('main *')].filter((e) => e.offsetParent
      && !e.closest('.uplot, #reigns')
      && ['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)
      && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)).length"""
    assert page.evaluate(cut) >= 2  # on a screen one scrolls the list and the table of pairs
    page.emulate_media(media="print")
    assert page.evaluate(cut) == 0
    assert page.locator("[data-kind]").first.is_hidden()


def test_dark_and_light(board):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (board(scheme=scheme).evaluate(background) for scheme in ("light", "dark"))
    assert light == "rgb(255, 255, 255)"
    assert dark == "rgb(20, 24, 28)"


@pytest.mark.long
def test_hostile_names_run_no_code(fake, board):
    count = "() => [...document.querySelectorAll('*')].map((e) => e.localName).sort().join(' ')"
    fake.board = some_board([f"name {i}" for i in range(len(CORPUS))])
    page = board()
    page.wait_for_selector("#pairs tbody tr:nth-child(40)")
    innocent = page.evaluate(count)
    fake.board = some_board(CORPUS, warnings=list(CORPUS), mode=CORPUS[5])
    expect(page.locator("#about")).to_contain_text(CORPUS[5])
    expect(page.locator("#warnings p")).to_have_count(len(CORPUS))
    fake.board = some_board(CORPUS, policy=CORPUS[4], warnings=[])
    expect(page.locator("#about")).to_contain_text(CORPUS[4])
    names = page.locator("#ranking tbody th").all_text_contents()
    assert {name.removesuffix(" has left") for name in names} == set(CORPUS)
    assert page.evaluate(count) == innocent
    assert page.evaluate("window.hacked") is None


def test_the_log_can_be_had(fake, board):
    page = board()
    for words, kind in (("CSV", "text/csv"), ("JSON lines", "application/x-ndjson")):
        with page.expect_download() as started:
            page.get_by_role("button", name=words).click()
        got = started.value
        assert kind in Path(got.path()).read_text("utf-8")
        assert got.suggested_filename.startswith("headlines.")


def test_numbers_look_as_the_house_writes_them(fake, board):
    page = board()
    source = page.locator("script[type=module]").get_attribute("src")
    numbers = [0, 1, 2.5, 3.5, -0.2, 0.0004321, 0.01234, 0.09996, 1.5, 9.96, 41.26, 99.96, 412.3]
    numbers += [999.5, 1234567.8, -1234.5, 75, 200, 7000, 200_000, 1e9, 0.5]
    numbers += [math.exp(0.37 * i) / 50 for i in range(60)]
    text = page.evaluate(
        """async ([board, numbers]) => {
        const text = await (await fetch(board)).text();
        const words = await import(`/static/${text.match(/wording\\.[^"]+/)[0]}`);
        return numbers.map((x) => [words.number(x), words.whole(x), words.share(x),
            words.share(x, 1), words.short(x), words.duration(Math.abs(x)),
            words.counted(Math.round(Math.abs(x)), 'vote'), words.interval(x, 2 * x)]);
        }""",
        [source, numbers],
    )
    for value, said in zip(numbers, text, strict=True):
        size = abs(value)
        assert said == [
            wording.number(value), wording.whole(value), wording.share(value),
            wording.share(value, 1), wording.short(value),
            wording.duration(size), wording.counted(int(size + 0.5), "vote"),
            wording.interval(value, 2 * value),
        ], value  # fmt: skip


def test_the_widget_works_on_other_peoples_pages(fake, visits):
    async def page_(request):
        tag = f'<drift-duel arena="headlines" server="{fake.url}" token="secret"></drift-duel>'
        script = f'<script src="{fake.url}/static/drift-duel.js" async></script>'
        form = '<input id="theirs"><p id="after">theirs</p>'
        return HTMLResponse(f"<!doctype html><title>x</title>{script}{tag}{form}")

    with serving(Starlette(routes=[Route("/page", page_)])) as elsewhere:
        visit = visits(elsewhere)
        page = visit.open("/page").page
        page.wait_for_selector("drift-duel[data-ready]")
        assert page.locator("#left").inner_text() == "Beta"
        page.keyboard.press("ArrowLeft")  # the page's own keys stay the page's
        page.locator("#theirs").press("ArrowLeft")
        assert fake.answers == []
        page.get_by_role("button", name="This one is better (left)").click()
        expect(page.locator("#note")).to_have_text("Saved: left.")
        page.wait_for_selector("drift-duel[data-ready]")
        page.get_by_role("button", name="This one is better (left)").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#note")).to_have_text("Saved: equal.")
        assert [pick for _, pick in fake.answers] == ["left", "tie"]
        sent = [each for each in fake.headers if "authorization" in each]
        assert len(sent) == 3
        for headers in sent:
            assert headers["authorization"] == "Bearer secret"
            assert "x-driftduel" not in headers
            assert "cookie" not in headers
        (voter,) = set(fake.duels.values())
        assert len(voter) > 15
        page.reload()
        page.wait_for_selector("drift-duel[data-ready]")
        assert set(fake.duels.values()) == {voter}
        visit.requests = [each for each in visit.requests if not each.startswith(fake.url)]


def test_items_both_bad_and_judges_are_shown_where_there_are_any(fake, board):
    page = board()
    expect(page.locator("#judges-part")).to_be_hidden()
    assert "Both bad" not in page.locator("#numbers").inner_text()
    judge = {"judge": "<b>J</b>", "votes": 120, "shared": 80, "agreement": 0.75, "low": 0.65,
             "high": 0.84, "chance": 0.5, "both_orders": 0, "consistent": None,
             "first_share": 0.6, "first_low": 0.51, "first_high": 0.69}  # fmt: skip
    items = {"count": 60, "retired": 2, "balance": "lang", "fewest": 4, "most": 6}
    fake.board = {**fake.board, "seq": fake.board["seq"] + 1, "both_bad": 7, "judges": [judge],
                  "items": items}  # fmt: skip
    row = page.locator("#judges tbody tr")
    expect(row).to_have_count(1)
    cells = [" ".join(text.split()) for text in row.locator("th, td").all_inner_texts()]
    assert cells == ["<b>J</b>", "120", "80", "75% 65% to 84%", "50%", "-", "60% 51% to 69%"]
    said = page.locator("#numbers").inner_text()
    assert "each was shown 4 to 6 times; 2 more were retired or replaced; values of the tag" in said
    assert "7" in said.partition("Both bad")[2][:5]
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_on_the_board(board, width, scheme):
    page = board(width=width, scheme=scheme)
    assert violations(page) == []
