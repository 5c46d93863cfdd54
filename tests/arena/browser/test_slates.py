"""The vote page with three to six cards: pick and rank, by mouse, keys and fingers, on a phone."""

import json
import re
from itertools import pairwise

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import expect

from driftduel.arena import ArenaManager, open_store
from driftduel.arena.items import check_items
from driftduel.arena.responses import wait_durable
from driftduel.arena.serving import in_background
from driftduel.arena.translations import languages, words_of
from tests.arena.browser.axe import violations
from tests.arena.xss import CORPUS

pytestmark = pytest.mark.long

READY = "drift-duel[data-ready]"
NAMES = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta"]
LONG = (
    "# Answer\n\n" + "A long **answer** with `code`. " * 60 + "\n\n| a | b |\n|---|---|\n| 1 | 2 |"
)


@pytest.fixture
def arenas():
    """Serve arenas of four options, to pick from and to rank."""
    manager = ArenaManager(open_store("memory:"))
    for feedback in ("pick", "ranking"):
        manager.create(feedback, NAMES, show=4, feedback=feedback, seed=2, grace=3600.0)
    with in_background(manager) as manager.url:
        yield manager


def link(arenas, name):
    return f"/vote/{name}#token={arenas.token(name, 'vote')}"


def ready(page):
    page.wait_for_selector(READY)
    return page.evaluate("document.querySelector('drift-duel').duel")


def note(page):
    return page.locator("#note")


def votes(arenas, name):
    records = [each for each in arenas.arena(name).records() if each.kind in ("voted", "undone")]
    return [
        (each.body.get("pick", each.kind), tuple(each.body.get("ranking", ()))) for each in records
    ]


def arms(duel, cards):
    return tuple(int(duel["options"][card - 1]["id"][1:]) - 1 for card in cards)


def test_a_four_card_page_by_keyboard(arenas, visits):
    page = visits(arenas.url).open(link(arenas, "pick")).page
    first = ready(page)
    expect(page.get_by_role("heading", name="Which one is best?")).to_be_visible()
    groups = page.get_by_role("group", name=re.compile(r"Option \d of 4"))
    expect(groups).to_have_count(4)
    for card, option in enumerate(first["options"]):
        expect(groups.nth(card)).to_contain_text(option["name"])
    expect(page.locator("#announcement")).to_have_text(
        re.compile(r"New options\. Option 1: \w+\. Option 2: \w+\. Option 3: \w+\. Option 4: \w+")
    )
    page.keyboard.press("ArrowLeft")  # no vote: that is a key of pairs
    page.keyboard.press("5")  # there is no fifth card
    page.keyboard.press("Control+2")
    page.keyboard.press("2")
    expect(note(page)).to_have_text("Saved: option 2.")
    second = ready(page)
    assert second["duel"] != first["duel"]
    assert page.evaluate("document.querySelector('drift-duel').root.activeElement.id") == "question"
    for _ in range(3):  # to the button of the third card
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(note(page)).to_have_text("Saved: option 3.")
    third = ready(page)
    for key, said in (("0", "Saved: equal."), ("s", "Skipped.")):
        page.keyboard.press(key)
        expect(note(page)).to_have_text(said)
        ready(page)
    page.keyboard.press("u")
    expect(note(page)).to_have_text("Undone. Choose again.")
    ready(page)
    page.keyboard.press("1")
    expect(note(page)).to_have_text("Saved: option 1.")
    assert third["duel"] != second["duel"]
    ranked = votes(arenas, "pick")
    assert ranked[:3] == [
        ("ranked", arms(first, [2])), ("ranked", arms(second, [3])), ("tie", ()),
    ]  # fmt: skip
    assert [pick for pick, _ in ranked[3:]] == ["skip", "undone", "ranked"]


def test_a_click_picks(arenas, visits):
    page = visits(arenas.url).open(link(arenas, "pick")).page
    duel = ready(page)
    page.get_by_role("button", name="This one is best (option 4)").click()
    expect(note(page)).to_have_text("Saved: option 4.")
    assert votes(arenas, "pick") == [("ranked", arms(duel, [4]))]


def places(page):
    return [text.strip() for text in page.locator(".cards .place").all_inner_texts()]


def test_a_ranking_by_keyboard(arenas, visits):
    page = visits(arenas.url).open(link(arenas, "ranking")).page
    duel = ready(page)
    expect(page.get_by_role("heading", name="Put them in order, the best first.")).to_be_visible()
    send = page.get_by_role("button", name="Send this order")
    expect(send).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Enter")  # nothing is ranked yet
    for key in "314":
        page.keyboard.press(key)
    assert places(page) == ["Place 2", "", "Place 1", "Place 3"]
    expect(page.locator("#announcement")).to_have_text("Option 4: place 3.")
    expect(page.locator("#order li")).to_have_text(["1.Option 3", "2.Option 1", "3.Option 4"])
    page.keyboard.press("Backspace")
    page.keyboard.press("3")  # takes its place away
    assert places(page) == ["Place 1", "", "", ""]
    page.get_by_role("button", name="Put in place 2 (option 2)").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Place 2 (option 2)")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("Alt+ArrowUp")
    assert places(page) == ["Place 2", "Place 1", "", ""]
    page.keyboard.press("Alt+ArrowDown")
    page.keyboard.press("Alt+ArrowDown")  # beyond the last place: no place
    assert places(page) == ["Place 1", "", "", ""]
    page.keyboard.press("Alt+ArrowUp")
    assert places(page) == ["Place 1", "Place 2", "", ""]
    send.focus()
    page.keyboard.press("Enter")
    expect(note(page)).to_have_text("Saved: 1 > 2.")
    other = ready(page)
    assert places(page) == [""] * 4
    page.keyboard.press("u")
    expect(note(page)).to_have_text("Undone. Choose again.")
    assert ready(page)["duel"] == duel["duel"]
    assert places(page) == ["Place 1", "Place 2", "", ""]  # the order is still there
    page.keyboard.press("4")
    page.keyboard.press("Enter")  # the focus is on the question
    expect(note(page)).to_have_text("Saved: 1 > 2 > 4.")
    assert ready(page)["duel"] == other["duel"]
    assert votes(arenas, "ranking") == [
        ("ranked", arms(duel, [1, 2])), ("undone", ()), ("ranked", arms(duel, [1, 2, 4])),
    ]  # fmt: skip


def drag(page, start, end, part=0.5):
    """Drag one element to another with the mouse: to its middle, or another part of its width."""
    (x, y), (u, v) = (
        (box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        for box, share in ((start.bounding_box(), 0.5), (end.bounding_box(), part))
    )
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + u) / 2, (y + v) / 2)
    page.mouse.move(u, v)
    page.mouse.up()


def test_a_ranking_by_drag(arenas, visits):
    page = visits(arenas.url).open(link(arenas, "ranking")).page
    duel = ready(page)
    heads, order = page.locator(".cards .head"), page.locator("#order ol")
    for card in (2, 4, 1):
        drag(page, heads.nth(card - 1), order, part=0.004)  # beside the chips
    chips = page.locator("#order li")
    expect(chips).to_have_text(["1.Option 2", "2.Option 4", "3.Option 1"])
    drag(page, chips.nth(2), chips.nth(0))
    expect(chips).to_have_text(["1.Option 1", "2.Option 2", "3.Option 4"])
    drag(page, heads.nth(2), page.locator(".cards .option").nth(1))  # onto a card with place 2
    expect(chips).to_have_text(["1.Option 1", "2.Option 3", "3.Option 2", "4.Option 4"])
    drag(page, chips.nth(0), page.locator("h2"))  # dropped beside: nothing happens
    drag(page, chips.nth(0), chips.nth(3))
    expect(chips).to_have_text(["1.Option 3", "2.Option 2", "3.Option 4", "4.Option 1"])
    page.get_by_role("button", name="Send this order").click()
    expect(note(page)).to_have_text("Saved: 3 > 2 > 4 > 1.")
    assert votes(arenas, "ranking") == [("ranked", arms(duel, [3, 2, 4, 1]))]


def items(count):
    return [
        {"id": f"p{n}", "prompt": f"Question {n}", "answers": dict.fromkeys("abcdef", LONG)}
        for n in range(count)
    ]


@pytest.mark.parametrize("feedback", ["pick", "ranking"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_a_page_is_accessible_and_fits(arenas, visits, feedback, scheme, width):
    arenas.create("long", None, items=list(check_items(items(8))), show=4, feedback=feedback)
    for name in (feedback, "long"):
        page = visits(arenas.url, width=width, scheme=scheme).open(link(arenas, name)).page
        ready(page)
        if feedback == "ranking":
            page.keyboard.press("2")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        boxes = [card.bounding_box() for card in page.locator(".cards .option").all()]
        columns = {round(box["x"]) for box in boxes}
        assert len(columns) == (1 if width == 390 else 2)
        for one, other in pairwise(boxes):  # no card covers another
            below = other["y"] >= one["y"] + one["height"] - 1
            beside = other["x"] >= one["x"] + one["width"] - 1
            assert below or beside or other["x"] < one["x"]
        assert violations(page) == []


def test_a_phone_scrolls_to_the_last_card(arenas, visits):
    arenas.create("long", None, items=list(check_items(items(8))), show=6, feedback="ranking")
    page = visits(arenas.url, width=390, has_touch=True).open(link(arenas, "long")).page
    ready(page)
    last = page.get_by_role("button", name="Put in place 1 (option 6)")
    last.scroll_into_view_if_needed()
    last.tap()
    expect(page.locator("#order li")).to_have_text(["1.Option 6"])
    send = page.get_by_role("button", name="Send this order")
    box = send.bounding_box()
    assert 0 <= box["y"] <= 900 - box["height"]  # in view wherever the page is
    send.tap()
    expect(note(page)).to_have_text("Saved: 6.")


def test_the_words_are_those_of_the_language(arenas, visits):
    for language in languages()[1:]:
        for feedback in ("pick", "ranking"):
            arenas.arena(feedback).set_page(language=language)
            page = visits(arenas.url).open(link(arenas, feedback)).page
            ready(page)
            words = words_of(language)
            heading = words["rank-question" if feedback == "ranking" else "slate-question"]
            expect(page.locator("#question")).to_have_text(heading)
            expect(page.locator("[data-pick=tie]")).to_contain_text(words["slate-tie"])
            text = page.locator("drift-duel").inner_text()
            assert "{" not in text
            assert not re.search(r"\bOption\b", text)


def test_nothing_on_a_card_runs(arenas, visits):
    """Names, answers and prompts of others are text, also in chips and announcements."""
    texts = [text for text in CORPUS if text.strip()][:6]
    options = [{"name": f"n{place}", "kind": "markdown", "content": text}
               for place, text in enumerate(texts)]  # fmt: skip
    arenas.create("xss", options, show=6, feedback="ranking")
    page = visits(arenas.url).open(link(arenas, "xss")).page
    assert len(ready(page)["options"]) == 6
    for key in "123456":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(note(page)).to_have_text("Saved: 1 > 2 > 3 > 4 > 5 > 6.")
    assert page.evaluate("window.__ran === undefined")


def test_a_module_that_cannot_be_loaded_is_tried_again(arenas, visits):
    page = visits(arenas.url).page
    tries = []

    def refuse(route):
        tries.append(route.request.url)
        route.abort() if len(tries) == 1 else route.continue_()

    page.route("**/static/drift-slate.js*", refuse)
    page.goto(arenas.url + link(arenas, "pick"))
    assert len(ready(page)["options"]) == 4
    assert len(tries) == 2
    assert tries[0] != tries[1]  # a browser remembers that an address failed


def test_reveal_names_every_card(arenas, visits):
    some = [{"id": "p", "answers": {name: f"text {name}" for name in "abcd"}}]
    arenas.create("names", None, items=list(check_items(some)), show=3)
    arenas.arena("names").set_page(reveal=True, reasons=True)
    page = visits(arenas.url).open(link(arenas, "names")).page
    shown = [option["content"].split()[-1] for option in ready(page)["options"]]
    page.get_by_label("Why? (optional)").fill("clear")
    page.get_by_role("button", name="This one is best (option 2)").click()
    told = " ".join(f"Option {n} was {name}." for n, name in enumerate(shown, 1))
    expect(note(page)).to_contain_text(f"Saved: option 2. {told}")
    record = next(r for r in arenas.arena("names").records() if r.kind == "voted")
    assert json.loads(json.dumps(record.body))["reason"] == "clear"


@pytest.mark.parametrize("width", [390, 1400])
def test_the_board_is_about_slates(arenas, visits, width):
    live = arenas.arena("ranking")
    for number in range(30):
        shown = wait_durable(live.ask(f"v{number}"))
        wait_durable(live.vote(shown.duel, ranking=[1, 2, 3, 4]))
    token = arenas.token("ranking", "read")
    page = visits(arenas.url, width=width).open(f"/board/ranking#token={token}").page
    expect(page.locator("#about")).to_contain_text("always see up to 4 different options")
    expect(page.locator("#guarantee")).to_contain_text("independence of irrelevant alternatives")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []
