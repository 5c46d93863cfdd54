"""The owner's page with the real server behind it, by keyboard, in both widths and colours."""

import json

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import expect

from driftduel.arena.items import check_items
from driftduel.arena.manager import ArenaManager
from driftduel.arena.stores import open_store
from driftduel.arena.web import ServerSettings, make_app
from tests.arena.browser.axe import violations
from tests.arena.fake_server import serving
from tests.arena.media_files import png, wav
from tests.arena.xss import CORPUS
from tests.waiting import eventually

pytestmark = pytest.mark.long

MODELS = ("amber", "birch", "cedar")


def item(number, **more):
    answers = {model: f"Answer **{number}** of {place}" for place, model in enumerate(MODELS)}
    return {"id": f"p{number}", "prompt": f"Prompt *{number}*", "answers": answers,
            "tags": {"lang": "en"}} | more  # fmt: skip


class Owned:
    """A server with an arena with items, and one without."""

    def __init__(self, url, manager, own, plain):
        self.url, self.manager, self.own, self.plain = url, manager, own, plain

    @property
    def arena(self):
        return self.manager.arena("models")

    def prompts(self):
        return {each.id: each for each in self.arena.items(0, 1000)}


@pytest.fixture
def owned():
    manager = ArenaManager(open_store("memory:"))
    own = manager.create("models", MODELS, items=list(check_items(map(item, range(60)))), seed=1)
    plain = manager.create("colours", ["red", "green"])
    with serving(make_app(manager, settings=ServerSettings())) as url:
        yield Owned(url, manager, own, plain)


@pytest.fixture
def visit(owned, visits):
    made = visits(owned.url).open(f"/own/models#token={owned.own}")
    made.page.wait_for_selector("#own:not([hidden])")
    return made


def press(page, name, key="Enter"):
    """Press a button by keyboard."""
    button = page.get_by_role("button", name=name, exact=True)
    button.focus()
    page.keyboard.press(key)


def unfold(page, text):
    page.locator("summary", has_text=text).focus()
    page.keyboard.press("Enter")


def test_items_are_added_retired_and_previewed(owned, visit):
    page = visit.page
    assert page.url == f"{owned.url}/own/models"
    rows = page.locator("#items tbody tr")
    expect(rows).to_have_count(50)
    press(page, "Show more items")
    expect(rows).to_have_count(60)
    press(page, "Retire: p3")
    expect(page.locator("#items-says")).to_have_text("“p3” is retired.")
    assert not owned.prompts()["p3"].present
    press(page, "Readmit: p3")
    expect(page.locator("#items-says")).to_have_text("“p3” is shown again.")
    press(page, "Preview: p3")
    expect(page.locator("#preview-duel #asked em")).to_have_text("3")
    expect(page.locator("#preview-duel #right")).to_have_text("Answer 3 of 1")
    page.locator("#preview-right").select_option("cedar")
    expect(page.locator("#preview-duel #right")).to_have_text("Answer 3 of 2")
    page.keyboard.press("Escape")
    expect(page.locator("#preview")).to_be_hidden()
    unfold(page, "Add or replace items")
    lines = "\n".join(json.dumps(each) for each in (item(3, prompt="New"), item(98), item(99)))
    page.locator("#items-text").fill(lines)
    press(page, "Add the items")
    expect(page.locator("#items-says.wrong")).to_contain_text("p3")
    page.locator("#items-replace").focus()
    page.keyboard.press("Space")
    press(page, "Add the items")
    expect(page.locator("#items-says")).to_have_text("2 added, 1 replaced.")
    assert owned.prompts().keys() >= {"p98", "p99"}
    page.locator("#items-text").fill('{"id": "p1"}\nno JSON')
    press(page, "Add the items")
    expect(page.locator("#items-says.wrong")).to_contain_text("Line 2 is not JSON")


def test_a_file_of_items_is_added_in_batches(owned, visit):
    page, lines = visit.page, "".join(json.dumps(item(n)) + "\n" for n in range(100, 1300))
    page.locator("#items-file").set_input_files(
        {"name": "<img src=x onerror=alert(1)>.jsonl", "mimeType": "", "buffer": lines.encode()}
    )
    unfold(page, "Add or replace items")
    press(page, "Add the items")
    expect(page.locator("#items-says")).to_have_text("1200 added.")
    assert sum("/items" in url and "?" not in url for url in visit.requests) == 3
    assert owned.arena.item("p1299").present


def test_options_join_leave_and_come_back(owned, visit):
    page = visit.page
    unfold(page, "Add an option")
    page.get_by_label("Name", exact=True).fill("dune")
    press(page, "Add the option")
    expect(page.locator("#options-says")).to_have_text("“dune” takes part.")
    press(page, "Retire: dune")
    expect(page.locator("#options-says")).to_have_text("“dune” is retired.")
    assert [each.present for each in owned.arena.options()] == [True, True, True, False]
    press(page, "Readmit: dune")
    expect(page.locator("#options-says")).to_have_text("“dune” is shown again.")
    page.get_by_label("Name", exact=True).fill("dune")
    press(page, "Add the option")
    expect(page.locator("#options-says.wrong")).to_contain_text("dune")


def test_a_link_is_made_used_and_revoked(owned, visit):
    page = visit.page
    page.get_by_label("Label", exact=True).fill("newsletter <b>")
    press(page, "Create a link")
    expect(page.locator("#tokens-says")).to_contain_text("shown only once")
    link = page.locator("#link-address").input_value()
    assert link.startswith(f"{owned.url}/vote/models#token=dd-vote-")
    voting = visit.tab()
    voting.goto(link)
    voting.wait_for_selector("drift-duel[data-ready]")
    voting.close()
    page.bring_to_front()
    press(page, "Revoke: newsletter <b>")
    press(page, "Cancel")
    expect(page.locator("#tokens tbody tr")).to_have_count(2)
    press(page, "Revoke: newsletter <b>")
    press(page, "Revoke the token")
    expect(page.locator("#tokens-says")).to_have_text("The token is revoked.")
    expect(page.locator("#tokens tbody tr")).to_have_count(1)


def test_the_settings_of_the_vote_page_change_it(owned, visit):
    page = visit.page
    page.get_by_label("Title").fill("Six models")
    page.get_by_label("Question").fill("Which is right?")
    page.get_by_label("Both are bad").check()
    page.get_by_label("Skip").uncheck()
    page.locator("#page-language").fill("de")
    page.locator("#page-words").fill("undo = Zurück\ntie = Gleich = gut")
    press(page, "Save")
    expect(page.locator("#page-says")).to_contain_text("Saved.")
    voting = visit.tab()
    visit.open("/vote/models", voting)  # the owner's cookie lets the owner vote, too
    voting.wait_for_selector("drift-duel[data-ready]")
    assert voting.title() == "Six models"
    assert voting.get_by_role("heading", level=2).inner_text() == "Which is right?"
    assert voting.get_by_role("button", name="Beide sind schlecht").is_visible()
    assert voting.get_by_role("button", name="Gleich = gut").is_visible()
    assert voting.get_by_role("button", name="überspringen").count() == 0
    voting.close()
    page.locator("#page-words").fill("no equals sign")
    press(page, "Save")
    expect(page.locator("#page-says.wrong")).to_contain_text("has no “=”")
    page.locator("#page-words").fill("")
    page.locator("#page-language").fill("not a language")
    press(page, "Save")
    expect(page.locator("#page-says.wrong")).to_contain_text("language")


def test_an_uploaded_image_is_shown_to_voters(owned, visit):
    page = visit.page
    page.locator("#file").set_input_files(
        {"name": '"><img src=x onerror=alert(1)>.png', "mimeType": "image/png", "buffer": png()}
    )
    press(page, "Upload")
    expect(page.locator("#file-says")).to_contain_text("Stored.")
    name = page.locator("#file-name").input_value()
    shown = item(500, answers={"amber": {"image": name}, "birch": f"![dots]({name})"}, prompt=None)
    owned.manager.arena("models").add_items(list(check_items([shown])))
    page.reload()
    press(page, "Show more items")
    press(page, "Preview: p500")
    images = page.locator("#preview-duel img")
    expect(images).to_have_count(2)
    for image in images.all():
        assert eventually(lambda image=image: image.evaluate("e => e.naturalWidth") == 3)
    page.keyboard.press("Escape")
    page.locator("#file").set_input_files(
        {"name": "x.png", "mimeType": "image/png", "buffer": b"<script>alert(1)</script>"}
    )
    press(page, "Upload")
    expect(page.locator("#file-says.wrong")).to_contain_text("not a complete file")


def test_uploaded_sounds_and_images_are_voted_on(owned, visit):
    manager = owned.manager
    manager.create("media", ["amber", "birch"], items=True)
    live = manager.arena("media")
    stored = {
        "amber": live.put_file(wav(), "audio/wav"),
        "birch": live.put_file(png(), "image/png"),
    }
    answers = {"amber": {"audio": stored["amber"]}, "birch": {"image": stored["birch"]}}
    live.add_items(list(check_items([item(0, answers=answers)])))
    page = visit.tab()
    visit.open(f"/vote/media#token={manager.token('media', 'vote', 'page')}", page)
    page.wait_for_selector("drift-duel[data-ready]")
    duration = page.locator("drift-duel audio")
    assert eventually(lambda: duration.evaluate("e => e.duration") > 0)
    assert eventually(lambda: page.locator("drift-duel img").evaluate("e => e.naturalWidth") == 3)
    assert page.locator("drift-duel img").get_attribute("alt") in {"Left option", "Right option"}
    assert violations(page) == []


def test_every_control_is_reached_by_the_tab_key(owned, visit):
    page = visit.page
    for part in ("Add an option", "Add or replace items"):
        unfold(page, part)
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('a, button, input, select, textarea, summary')]
            .filter((e) => e.checkVisibility() && !e.disabled && !e.closest('dialog'))
            .map((e, place) => { e.dataset.place = place; return String(place); })"""
    )
    reached = set()
    page.evaluate("document.body.focus(); scrollTo(0, 0)")
    page.locator(".skip").focus()
    for _ in range(len(wanted) + 20):  # lists that scroll are reached, too
        reached.add(page.evaluate("document.activeElement.dataset.place"))
        page.keyboard.press("Tab")
    assert set(wanted) - reached == set()


def test_closing_asks_first_and_the_state_is_live(owned, visit):
    page = visit.page
    expect(page.locator("#state")).to_contain_text("0 votes")
    with page.expect_download() as started:
        press(page, "Download the votes (CSV)")
    assert started.value.suggested_filename == "models.csv"
    press(page, "Close the arena …")
    press(page, "Cancel")
    assert not owned.arena.state.closed
    press(page, "Close the arena …")
    press(page, "Close the arena")
    expect(page.locator("#close-says")).to_have_text("The arena is closed.")
    expect(page.locator("#closed")).to_be_visible()
    assert owned.arena.state.closed


def test_other_tokens_do_not_open_the_page(owned, visits):
    reading = owned.manager.token("models", "read", "board")
    visit = visits(owned.url).open(f"/own/models#token={reading}")
    expect(visit.page.locator("#trouble")).to_contain_text("does not let you manage")
    expect(visit.page.locator("#own")).to_be_hidden()
    visit.page.context.clear_cookies()
    visit.open("/own/models")
    expect(visit.page.locator("#trouble")).to_contain_text("does not let you manage")


def test_an_arena_without_items_has_no_part_for_them(owned, visits):
    page = visits(owned.url).open(f"/own/colours#token={owned.plain}").page
    page.wait_for_selector("#own:not([hidden])")
    expect(page.locator("#items-part")).to_be_hidden()
    press(page, "Preview: red")
    expect(page.locator("#preview-duel #left")).to_have_text("red")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_and_nothing_is_cut_off(owned, visits, width, scheme):
    visit = visits(owned.url, width=width, scheme=scheme)
    page = visit.open(f"/own/models#token={owned.own}").page
    page.wait_for_selector("#own:not([hidden])")
    for part in ("Add an option", "Add or replace items"):
        unfold(page, part)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []
    press(page, "Preview: p1")
    expect(page.locator("#preview-duel #asked em")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    press(page, "Close the arena …")
    assert violations(page) == []


def test_hostile_items_options_and_settings_are_only_text(owned, visits):
    plain = str.maketrans("", "", "\t\n\u202e")  # no control characters in ids and tags
    hostile = [
        item(1000 + place, id=f"{place}{text}".translate(plain)[:150], prompt=text,
             tags={"k": text.translate(plain)[:60]},
             answers={"amber": text, "birch": {"kind": "text", "content": text}})
        for place, text in enumerate(CORPUS)
    ]  # fmt: skip
    owned.arena.add_items(list(check_items(hostile)))
    owned.arena.set_page(title=CORPUS[0][:200], instructions="\n".join(CORPUS)[:5000])
    visit = visits(owned.url).open(f"/own/models#token={owned.own}")
    page = visit.page
    page.wait_for_selector("#own:not([hidden])")
    press(page, "Show more items")
    rows = page.locator("#items tbody tr")
    expect(rows).to_have_count(100)
    for place in range(0, 40, 3):
        rows.nth(60 + place).get_by_role("button", name="Preview").click()
        expect(page.locator("#preview-duel #right")).not_to_have_text("")
        page.keyboard.press("Escape")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#items script, #items img, #items svg, #items iframe").count() == 0
    visit.requests = [each for each in visit.requests if "evil.example" not in each]
