"""Differences by tag on the board, with the real server behind it."""

import numpy as np
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
from tests.arena.xss import CORPUS

pytestmark = pytest.mark.long

MODELS = ("amber", "birch", "cedar")
HOSTILE = CORPUS[0][:64]


def item(number):
    answers = {model: f"Answer {number} of {place}" for place, model in enumerate(MODELS)}
    topic = ["maths", "code", HOSTILE][number % 3]
    return {"id": f"p{number}", "prompt": f"Prompt {number}", "answers": answers,
            "tags": {"source": "same", "topic": topic}}  # fmt: skip


@pytest.fixture(scope="module")
def compared():
    """Serve an arena in which amber is best, but worst at maths."""
    manager = ArenaManager(open_store("memory:"))
    own = manager.create("models", MODELS, items=list(check_items(map(item, range(60)))), seed=1,
                         grace=0.0)  # fmt: skip
    live, rng = manager.arena("models"), np.random.default_rng(5)
    for voter in range(400):
        shown = live.ask(f"v{voter}").answer
        number = int(shown.prompt.content.removeprefix("Prompt "))
        order = MODELS[::-1] if number % 3 == 0 else MODELS
        left_is_better = order.index(shown.left.name) < order.index(shown.right.name)
        live.vote(shown.duel, "left" if left_is_better == (rng.random() < 0.85) else "right")
    read = manager.token("models", "read")
    with serving(make_app(manager, settings=ServerSettings())) as url:
        yield url, own, read


def open_board(compared, visits, token, path="", **settings):
    visit = visits(compared[0], **settings).open(f"/board/models{path}#token={token}")
    visit.page.wait_for_selector("#tags-part:not([hidden])")
    return visit.page


def test_the_board_states_that_the_tag_matters_and_where_the_order_is_reversed(compared, visits):
    page = open_board(compared, visits, compared[2])
    expect(page.locator("#tag-statements")).to_contain_text("topic")
    expect(page.locator("#tag-statements li.sure")).to_have_count(1)
    # A tag with one value is a filter only.
    expect(page.locator("#tag-statements li")).to_have_count(1)
    assert page.locator("#tag-key option").all_inner_texts() == ["topic (3 values)"]
    assert "source: same (400 votes)" in page.locator("#tag-filter option").all_inner_texts()
    expect(page.locator("#tag-warnings")).to_contain_text("maths")
    rows = page.locator("#tag-shares tbody tr")
    expect(rows).to_have_count(9)
    assert HOSTILE in rows.locator("td.words").all_inner_texts()  # as text
    expect(page.locator("#lost-part")).to_be_hidden()  # readers see no items


def test_a_filtered_board_has_no_leader_and_keeps_the_filter(compared, visits):
    page = open_board(compared, visits, compared[2], "?tag=topic:maths")
    expect(page.locator("#tag-filter")).to_have_value("topic:maths")
    expect(page.locator("#verdict.sure")).to_have_count(0)


def test_owners_see_the_items_that_an_option_loses(compared, visits):
    page = open_board(compared, visits, compared[1])
    expect(page.locator("#lost-part")).to_be_visible()
    page.locator("#lost-option").select_option(label="amber")
    expect(page.locator("#lost-items tbody tr").first).to_contain_text("p")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_in_the_comparison(compared, visits, width, scheme):
    page = open_board(compared, visits, compared[2], width=width, scheme=scheme)
    expect(page.locator("#tag-shares tbody tr")).to_have_count(9)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
