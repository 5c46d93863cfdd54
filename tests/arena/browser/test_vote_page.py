"""The vote page in a real browser: hands, keys, tabs, a lost network, a phone, a screen reader."""

import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import expect

from tests.arena.fake_server import NOW, option, problem
from tests.arena.test_markdown import ALLOWED
from tests.arena.xss import CORPUS, IMAGES
from tests.waiting import eventually

pytestmark = pytest.mark.long

LEFT, RIGHT = "This one is better (left)", "This one is better (right)"
READY = "drift-duel[data-ready]"
DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)  # fmt: skip


def pair(page):
    page.wait_for_selector(READY)
    return shown(page)


def shown(page):
    return [page.locator(f"#{side}").inner_text() for side in ("left", "right")]


def note(page):
    return page.locator("#note")


def duel_of(page):
    return page.evaluate("document.querySelector('drift-duel').duel.duel")


@pytest.fixture
def visit(fake, visits):
    return visits(fake.url).open("/vote/headlines#token=abc")


def test_a_click_is_a_vote_and_brings_the_next_pair(fake, visit):
    page = visit.page
    assert pair(page) == ["Beta", "Gamma"]
    assert page.url == f"{fake.url}/vote/headlines"
    page.get_by_role("button", name=LEFT).click()
    expect(note(page)).to_have_text("Saved: left.")
    assert pair(page) == ["Gamma", "Alpha"]
    assert fake.answers == [("d1", "left")]
    assert all(each["x-driftduel"] == "1" for each in fake.headers)
    assert all("dd_token_vote_" in each["cookie"] for each in fake.headers)
    assert len(fake.headers) == 2  # the vote brought the next pair with it


def still(visit, path="/vote/headlines", ahead=0):
    """Open a page in which no time passes but what a test lets pass."""
    visit.page.clock.install(time=NOW + ahead)
    page = visit.open(path).page
    page.wait_for_selector(READY)
    page.clock.pause_at(NOW + ahead + 100)  # seconds: later than now on any machine
    return page


def still_and_leased(fake, visit):
    """Open a page like `still`, and let the renewals pass that the leap to its time caused."""
    page = still(visit)
    assert eventually(lambda: fake.leases)
    page.evaluate("document.querySelector('drift-duel').renew()")  # waits for the answer
    fake.leases.clear()
    page.keyboard.press("Shift")  # a sign of the voter
    return page


def test_a_double_click_is_one_vote(fake, visits):
    page = still(visits(fake.url))
    box = page.get_by_role("button", name=LEFT).bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.dblclick(*middle)  # so fast that the first half is still on its way
    expect(note(page)).to_have_text("Saved: left.")
    page.clock.run_for(200)
    page.mouse.click(*middle)  # the next pair is there by now, but nobody can have read it
    page.keyboard.press("ArrowLeft")
    page.clock.run_for(300)
    assert pair(page) == ["Gamma", "Alpha"]
    page.mouse.down(click_count=2)  # the second half of a slow double click
    page.mouse.up(click_count=2)
    page.clock.run_for(500)
    assert fake.answers == [("d1", "left")]
    page.mouse.click(*middle)
    expect(note(page)).to_have_text("Saved: left.")
    assert eventually(lambda: fake.answers == [("d1", "left"), ("d2", "left")])


def test_keys(fake, visit):
    page = visit.page
    said = {"ArrowLeft": "Saved: left.", "ArrowRight": "Saved: right."}
    said |= {"ArrowDown": "Saved: equal.", "s": "Skipped."}
    for key, text in said.items():
        page.wait_for_selector(READY)
        page.keyboard.press("Control+s")  # the browser's own
        page.keyboard.press(key)
        expect(note(page)).to_have_text(text)
    assert [pick for _, pick in fake.answers] == ["left", "right", "tie", "skip"]
    assert len({duel for duel, _ in fake.answers}) == 4


def test_a_key_held_down_is_one_vote(fake, visit):
    page = visit.page
    pair(page)
    page.keyboard.down("ArrowLeft")
    expect(note(page)).to_have_text("Saved: left.")
    pair(page)
    page.keyboard.down("ArrowLeft")  # not released since: this is what holding it sends
    page.keyboard.up("ArrowLeft")
    page.keyboard.press("s")
    expect(note(page)).to_have_text("Skipped.")
    assert fake.answers == [("d1", "left"), ("d2", "skip")]


def test_undo_brings_the_pair_back_and_the_next_one_waits(fake, visit):
    page = visit.page
    first = pair(page)
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    second = pair(page)
    page.keyboard.press("u")
    expect(note(page)).to_have_text("Undone. Choose again.")
    assert pair(page) == first
    expect(page.get_by_role("button", name="Undo")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(note(page)).to_have_text("Saved: right.")
    assert pair(page) == second
    assert fake.votes == {"d1": "right"}
    assert list(fake.duels) == ["d1", "d2"]  # nothing was asked for and thrown away
    assert sum("next=1" in url for url in visit.requests) == 1


def test_undo_counts_down_by_the_clock_of_the_server(fake, visits):
    page, fake.grace = still(visits(fake.url), ahead=86_400), 5.0  # this browser is a day ahead
    page.keyboard.press("ArrowLeft")
    undo, rest = page.get_by_role("button", name="Undo"), page.locator("#left-time")
    expect(undo).to_be_visible()
    expect(rest).to_have_text("5 s")
    page.clock.run_for(2000)
    expect(rest).to_have_text("3 s")
    undo.focus()
    page.clock.run_for(3000)
    expect(undo).to_be_hidden()
    assert page.evaluate("document.activeElement.shadowRoot.activeElement.id") == "question"


def test_too_late_to_undo_is_said(fake, visit):
    page = visit.page
    pair(page)
    page.keyboard.press("ArrowLeft")
    second = pair(page)
    fake.wrong = [problem("too-late", 409)]
    page.get_by_role("button", name="Undo").click()
    expect(note(page)).to_contain_text("Too late to undo")
    assert pair(page) == second
    expect(page.get_by_role("button", name="Undo")).to_be_hidden()


def test_without_grace_there_is_no_undo(fake, visit):
    page, fake.grace = visit.page, 0
    pair(page)
    page.keyboard.press("ArrowLeft")
    pair(page)
    expect(note(page)).to_have_text("Saved: left.")
    assert page.get_by_role("button", name="Undo").is_hidden()


def test_reload_and_back_button_find_the_same_pair(fake, visit):
    page = visit.page
    pair(page)
    page.keyboard.press("ArrowLeft")
    expect(note(page)).to_have_text("Saved: left.")
    second = pair(page)
    page.reload()
    assert pair(page) == second
    page.goto(f"{fake.url}/")
    page.go_back()
    assert pair(page) == second
    assert page.url == f"{fake.url}/vote/headlines"
    page.keyboard.press("ArrowLeft")
    expect(note(page)).to_have_text("Saved: left.")
    assert [duel for duel, _ in fake.answers] == ["d1", "d2"]


def test_two_tabs_show_one_pair_and_give_one_vote(fake, visit):
    one, other = visit.page, visit.tab()
    visit.open("/vote/headlines", other)
    assert pair(one) == pair(other)
    one.keyboard.press("ArrowLeft")
    expect(note(one)).to_have_text("Saved: left.")
    other.bring_to_front()
    other.keyboard.press("ArrowRight")
    expect(note(other)).to_contain_text("You had answered that pair already")
    assert pair(other) == pair(one)
    assert fake.votes == {"d1": "left"}
    other.keyboard.press("ArrowLeft")
    expect(note(other)).to_have_text("Saved: left.")
    one.bring_to_front()
    one.keyboard.press("ArrowLeft")  # the same answer again is the same vote
    assert eventually(lambda: len(fake.answers) == 4)
    assert pair(one) == pair(other)
    assert fake.votes == {"d1": "left", "d2": "left"}


def test_offline_a_vote_is_kept_and_sent_later(fake, visit):
    page = visit.page
    first = pair(page)
    visit.context.set_offline(True)
    page.keyboard.press("ArrowRight")
    expect(note(page)).to_contain_text("You are offline. Your vote is kept")
    assert shown(page) == first
    page.keyboard.press("ArrowLeft")  # no second opinion while the first one is on its way
    assert fake.answers == []
    visit.context.set_offline(False)
    expect(note(page)).to_have_text("Saved: right.")
    assert fake.answers == [("d1", "right")]
    assert page.evaluate("localStorage.length") == 0


def test_a_vote_that_was_kept_outlives_the_page(fake, visits):
    visit = visits(fake.url)
    page = still(visit)  # so that it does not try again just when it is closed
    fake.wrong = [problem("store-trouble", 503)]
    page.keyboard.press("ArrowRight")
    expect(note(page)).to_contain_text("Nothing is lost")
    page.close()
    assert fake.votes == {}
    later = visit.tab()
    visit.open("/vote/headlines", later)
    expect(note(later)).to_contain_text("is saved now")
    assert fake.votes == {"d1": "right"}
    assert later.evaluate("localStorage.length") == 0


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("store-trouble", 503, "cannot save votes just now"),
        pytest.param(
            *("owned-elsewhere", 503, "moving to another machine"), marks=pytest.mark.long
        ),
        pytest.param(*("too-many", 429, "A short pause"), marks=pytest.mark.long),
        pytest.param(*("broken", 500, "cannot save votes just now"), marks=pytest.mark.long),
    ],
)
def test_trouble_that_passes_is_waited_out(fake, visits, name, status, said):
    page = still(visits(fake.url))
    fake.wrong = [problem(name, status, after=2), problem(name, status)]
    page.keyboard.press("ArrowLeft")
    expect(note(page)).to_contain_text(said)
    assert fake.votes == {}
    assert eventually(lambda: page.clock.run_for(2000) or fake.votes == {"d1": "left"})
    expect(note(page)).to_have_text("Saved: left.")
    assert fake.answers == [("d1", "left")] * 3


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("no-such-duel", 404, "not known here any more"),
        pytest.param(*("duel-lost", 410, "open for too long"), marks=pytest.mark.long),
        pytest.param(
            *("already-answered", 409, "answered that pair already"), marks=pytest.mark.long
        ),
        pytest.param(*("bad-vote", 422, "did not understand"), marks=pytest.mark.long),
        pytest.param(*("no-such-option", 404, "taken out"), marks=pytest.mark.long),
    ],
)
def test_a_pair_that_is_no_more_gives_way_to_a_new_one(fake, visit, name, status, said):
    page = visit.page
    first = pair(page)
    fake.open_of.clear()
    fake.wrong = [problem(name, status)]
    page.keyboard.press("ArrowLeft")
    expect(note(page)).to_contain_text(said)
    assert pair(page) != first
    assert page.evaluate("localStorage.length") == 0


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("closed", 409, "This arena is closed. Thank you"),
        pytest.param(*("no-such-arena", 404, "no arena of this name"), marks=pytest.mark.long),
        ("no-token", 401, "does not let you vote"),
        pytest.param(*("wrong-scope", 403, "does not let you vote"), marks=pytest.mark.long),
        pytest.param(*("bad-request", 422, "bad-request!"), marks=pytest.mark.long),
    ],
)
def test_an_end_is_said_kindly(fake, visits, name, status, said):
    fake.wrong = [problem(name, status)]
    page = visits(fake.url).open("/vote/headlines").page
    expect(note(page)).to_contain_text(said)
    assert page.get_by_role("button").count() == 0


def hide(page, hidden):
    """Hide or show a page, as far as the page can notice."""
    page.evaluate(
        """(hidden) => {
            Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_a_visible_page_renews_its_lease(fake, visits):
    page = still_and_leased(fake, visits(fake.url))
    first = pair(page)
    for minute in range(3):
        page.keyboard.press("Shift")  # a sign of the voter
        for count in range(3):
            page.clock.run_for(20_200)
            assert eventually(lambda n=3 * minute + count + 1: len(fake.leases) == n)
    assert all(each["duels"] == ["d1"] and not each.get("release") for each in fake.leases)
    assert shown(page) == first
    page.keyboard.press("ArrowLeft")
    expect(note(page)).to_have_text("Saved: left.")


def test_a_pair_whose_lease_has_ended_is_replaced(fake, visits):
    page = still_and_leased(fake, visits(fake.url))
    first = pair(page)
    fake.open_of.clear()
    fake.closed.add("d1")
    page.clock.run_for(20_200)
    expect(note(page)).to_contain_text("open for too long")
    assert shown(page) != first
    assert fake.answers == []


def test_a_closed_tab_gives_its_pairs_back_with_one_beacon(fake, visits):
    visit = visits(fake.url)
    page = visit.open("/vote/headlines#token=abc").page
    pair(page)
    page.keyboard.press("ArrowLeft")
    expect(note(page)).to_have_text("Saved: left.")
    pair(page)
    page.keyboard.press("u")  # now the next pair waits behind the one that is shown
    expect(note(page)).to_have_text("Undone. Choose again.")
    page.close(run_before_unload=True)
    assert eventually(lambda: len(fake.leases) == 1)
    (sent,) = fake.leases
    assert (sent["duels"], sent["release"], sent["after"]) == (["d1", "d2"], True, 5)
    assert "dd_token_vote_" in sent["cookie"]


def test_a_hidden_page_gives_its_pair_back_and_finds_it_again_in_time(fake, visits):
    page = still_and_leased(fake, visits(fake.url))
    first = pair(page)
    hide(page, True)
    assert eventually(lambda: len(fake.leases) == 1)
    assert fake.leases[0]["release"]
    page.clock.run_for(60_000)
    assert len(fake.leases) == 1  # no renewal while nobody can see it
    hide(page, False)
    assert eventually(lambda: len(fake.leases) == 2)
    page.clock.run_for(500)
    assert pair(page) == first
    hide(page, True)
    assert eventually(lambda: len(fake.leases) == 3)
    fake.open_of.clear()
    fake.closed.add("d1")
    hide(page, False)
    expect(note(page)).to_contain_text("given back while you were away")
    page.clock.run_for(500)
    assert pair(page) != first


def test_two_minutes_without_a_sign_give_the_pair_back(fake, visits):
    page = still_and_leased(fake, visits(fake.url))
    first = pair(page)
    page.clock.run_for(121_000)
    expect(note(page)).to_contain_text("Nothing happened for two minutes")
    assert eventually(lambda: fake.leases[-1].get("release"))
    sent = len(fake.leases)
    page.clock.run_for(60_000)
    page.keyboard.press("ArrowLeft")  # wakes the page; it is no vote on a pair that may be gone
    assert eventually(lambda: len(fake.leases) == sent + 1)
    expect(note(page)).to_have_text("")
    page.clock.run_for(500)
    assert pair(page) == first
    assert fake.answers == []


def test_a_voter_who_has_seen_everything_is_thanked(fake, visit):
    page = visit.page
    pair(page)
    fake.nothing_left = True
    page.keyboard.press("ArrowLeft")
    expect(note(page)).to_contain_text("Nothing is left to compare today")
    assert fake.votes == {"d1": "left"}
    assert page.get_by_role("button", name=LEFT).count() == 0


def test_with_items_nothing_comes_back_tomorrow(fake, visit):
    fake.settings = {"items": True}
    fake.nothing_left = True
    page = visit.page
    page.reload()
    expect(note(page)).to_contain_text("There is nothing more to compare here at the moment")


def test_a_link_that_is_refused_is_said_and_leaves_no_token_in_the_address(fake, visits):
    fake.refuse_links = True
    page = visits(fake.url).open("/vote/headlines#token=abc").page
    expect(note(page)).to_contain_text("does not let you vote")
    assert page.url == f"{fake.url}/vote/headlines"


def test_no_request_has_the_token_in_its_address(fake, visit):
    pair(visit.page)
    assert not [url for url in visit.requests if "abc" in url.partition("#")[0]]
    assert any("/session?page=vote" in url for url in visit.requests)


def test_an_option_alone_is_shown_without_a_question(fake, visits):
    fake.alone = 2
    page = visits(fake.url).open("/vote/headlines").page
    page.wait_for_selector(READY)
    assert page.locator("#left").inner_text() == "Alpha"
    assert page.get_by_role("heading", name="Which one").count() == 0
    assert page.get_by_role("button").all_inner_texts() == ["Go on →"]
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector(READY)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="Which one is better?")).to_be_visible()
    assert len(pair(page)) == 2
    assert fake.answers == []


def test_what_a_screen_reader_reads(fake, visit):
    page = visit.page
    pair(page)
    said = page.locator("main").aria_snapshot()
    expected = [
        'heading "headlines" [level=1]',
        'heading "Which one is better?" [level=2]',
        'group "Left option"',
        f'button "{LEFT}"',
        'group "Right option"',
        f'button "{RIGHT}"',
        'button "They are equal"',
        'button "Skip this pair"',
        "status",
    ]
    places = [said.find(each) for each in expected]
    assert -1 not in places, said
    assert places == sorted(places)
    assert page.locator("#announcement").text_content() == "New pair. Left: Beta. Right: Gamma"
    assert page.locator("#announcement").get_attribute("aria-live") == "polite"


def test_without_a_mouse(fake, visit):
    page = visit.page
    pair(page)
    focused = "document.activeElement.shadowRoot?.activeElement?.textContent.trim()"
    order = []
    for _ in range(4):
        page.keyboard.press("Tab")
        order.append(page.evaluate(focused))
    assert [each.split("  ")[0].rstrip(" ←→↓s") for each in order] == [
        LEFT, RIGHT, "They are equal", "Skip this pair",
    ]  # fmt: skip
    page.keyboard.press("Enter")
    expect(note(page)).to_have_text("Skipped.")
    pair(page)
    assert page.evaluate(focused) == "Which one is better?"  # one reads on from the top
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(note(page)).to_have_text("Saved: left.")
    assert [pick for _, pick in fake.answers] == ["skip", "left"]


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def test_dark_and_light(fake, visits):
    script = "([e, a]) => getComputedStyle(e)[a]"
    found = {}
    for scheme in ("light", "dark"):
        page = visits(fake.url, scheme=scheme).open("/vote/headlines").page
        pair(page)
        element = page.evaluate_handle("document.querySelector('drift-duel')")
        body = page.evaluate_handle("document.body")
        found[scheme] = [
            brightness(page.evaluate(script, [body, "backgroundColor"])),
            brightness(page.evaluate(script, [element, "color"])),
        ]
    assert found["light"][0] - found["light"][1] > 180
    assert found["dark"][1] - found["dark"][0] > 180


def test_a_phone(fake, visits):
    long = "A headline that goes on and on. " * 8
    fake.options = [option(long), option("b", "image", DOT), option("x" * 300)]
    page = visits(fake.url, width=390, has_touch=True).open("/vote/headlines").page
    for _ in range(3):
        pair(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        left, right = (page.get_by_role("button", name=name) for name in (LEFT, RIGHT))
        boxes = [left.bounding_box(), right.bounding_box()]
        assert boxes[0]["y"] + boxes[0]["height"] < boxes[1]["y"]
        assert all(box["height"] >= 44 and box["width"] > 300 for box in boxes)
        left.tap()
        expect(note(page)).to_have_text("Saved: left.")


SHOW = """async ([option, other]) => {
    const element = document.querySelector('drift-duel');
    element.show({duel: 'x', left: option, right: other, expires: 9e9});
    await new Promise((done) => setTimeout(done, 5));
    const found = [...element.shadowRoot.querySelectorAll('.body *')];
    return found.map((e) => [e.localName, ...e.getAttributeNames(), e.getAttribute('href') || '']);
}"""
SHOWN = set(ALLOWED)


def test_hostile_options_run_no_code(fake, visit):
    page = visit.page
    pair(page)
    page.evaluate("window.foreign = document.querySelectorAll('*').length")
    for text in CORPUS:
        assert page.evaluate(SHOW, [option(text), option("x", "text", text)]) == []
        assert page.locator("#left").text_content() == text
        for tag, *names, link in page.evaluate(SHOW, [option(text, "markdown", text)] * 2):
            assert tag in SHOWN
            assert not any(name.startswith("on") for name in names)
            assert link.lower().startswith(("http://", "https://")) or tag != "a"
    for text in IMAGES:
        found = page.evaluate(SHOW, [option(text, "image", text)] * 2)
        assert found == [] or text.startswith("https:")
        assert page.locator("#left [onerror]").count() == 0
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('*').length === window.foreign")
    visit.requests = [each for each in visit.requests if "evil.example" not in each]


def test_markdown_and_images_are_shown(fake, visits):
    text = "**bold** [link](https://e.example)"
    fake.options = [option("m", "markdown", text), option("i", "image", DOT)]
    page = visits(fake.url).open("/vote/headlines").page
    pair(page)
    assert page.locator("strong").inner_text() == "bold"
    assert page.get_by_role("img", name="i").get_attribute("src") == DOT
    assert eventually(lambda: page.locator("img").evaluate("e => e.naturalWidth") == 1)
