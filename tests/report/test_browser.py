"""The page in a real browser: no error, no network, charts that are there, buttons that work."""

import itertools
import re
import shutil

import pytest

from tests.waiting import LONG

pytest.importorskip("polars")
pytest.importorskip("matplotlib")
pytest.importorskip("plotly")
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(BROWSER is None, reason="no browser: 'apt-get install chromium' brings one"),
]
expect = sync_api.expect
expect.set_options(timeout=1000 * LONG)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"], timeout=1000 * LONG
        )
        yield started
        started.close()


class Visit:
    """A page, and what happened while it was open."""

    def __init__(self, browser, path, width=1280, scheme="light"):
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(1000 * LONG)
        self.errors, self.requests = [], []
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def check(self):
        assert self.errors == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in self.requests)
        assert sum(url.startswith("file:") for url in self.requests) == 1

    def close(self):
        self.page.close()
        self.check()

    def chart(self, name):
        """Bring a chart into view and wait until it is drawn."""
        box = self.page.locator(f"#{name}")
        box.scroll_into_view_if_needed()
        self.page.wait_for_selector(f"#{name} svg.main-svg", state="visible")
        return box

    def colour(self, selector, attribute="stroke"):
        script = "(e, a) => getComputedStyle(e)[a]"
        return self.page.locator(selector).first.evaluate(script, attribute)


@pytest.fixture(scope="module")
def opened(browser, played):
    return Visit(browser, played / "report" / "index.html")


@pytest.fixture
def one(opened):
    """A page that several tests share, for opening one takes a second; each tidies up."""
    yield opened
    opened.check()


@pytest.fixture
def fresh(browser, played):
    visit = Visit(browser, played / "report" / "index.html")
    yield visit
    visit.close()


@pytest.fixture(scope="module")
def many(browser, grid):
    from driftduel.report import write_report

    visit = Visit(browser, write_report(grid, figures=False))
    yield visit
    visit.close()


def test_every_chart_is_drawn(one):
    boxes = one.page.locator(".chart")
    assert boxes.count() == 5
    for name in boxes.evaluate_all("boxes => boxes.map(box => box.id)"):
        size = one.chart(name).locator("svg.main-svg").first.bounding_box()
        assert size["width"] > 500
        assert size["height"] > 80
    assert one.page.locator("#regret-0 .scatterlayer .trace path.js-line").count() >= 4
    assert one.page.locator("#trace svg.drawing").bounding_box()["width"] > 500


def column(page, table, place):
    return page.locator(f"#{table} tbody tr td:nth-child({place})").all_inner_texts()


def test_headings_sort_and_charts_wait_until_they_are_in_view(fresh):
    one = fresh
    one.chart("totals-0")
    assert one.page.locator("#shares-0 svg").count() == 0
    policies = column(one.page, "standings-0", 1)
    heading = one.page.locator("#standings-0 th").nth(1)
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.click(position={"x": 2, "y": 2})  # anywhere on the cell, not on its words only
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(one.page, "standings-0", 1) == policies[::-1]
    regrets = [
        float(text.split()[0].replace(",", "")) for text in column(one.page, "standings-0", 2)
    ]
    assert regrets == sorted(regrets, reverse=True)
    names = one.page.locator("#standings-0 th").nth(0)
    names.locator("button").focus()
    one.page.keyboard.press("Enter")
    assert names.get_attribute("aria-sort") == "ascending"
    assert heading.get_attribute("aria-sort") is None
    assert column(one.page, "standings-0", 1) == sorted(policies)


def test_what_is_missing_sorts_last(one):
    place = one.page.locator("#standings-0 th").all_inner_texts()
    place = next(i for i, text in enumerate(place) if text.startswith("delay"))
    for _ in range(2):
        one.page.locator("#standings-0 th button").nth(place).click()
        assert column(one.page, "standings-0", place + 1)[-1] == "-"


def test_policies_are_taken_out_and_put_back(one):
    page = one.page
    one.chart("regret-0")
    lines = page.locator("#regret-0 .legend .traces")
    assert lines.count() == 4
    page.locator('input[data-policy="0"]').uncheck()
    expect(page.locator("#regret-0 .legend .traces")).to_have_count(3)
    assert "uniform" not in page.locator("#regret-0 .legend").text_content()
    one.chart("totals-0")
    expect(page.locator("#totals-0 .ytick")).to_have_count(3)
    one.chart("regret-0")
    page.locator("#regret-0 .legend .legendtoggle").first.click()
    expect(page.locator("#regret-0 .legend .traces")).to_have_count(2)
    assert page.locator("input[data-policy]:checked").count() == 2
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator("#regret-0 .legend .traces")).to_have_count(4)
    page.get_by_role("button", name="None").click()
    expect(page.locator("#regret-0 .legend .traces")).to_have_count(0)
    page.get_by_role("button", name="All", exact=True).click()


def test_dark_and_light(browser, played, one):
    visit, page = one, one.page
    visit.chart("totals-0")
    light = visit.colour("body", "backgroundColor"), visit.colour("#totals-0 .xtick text", "fill")
    page.locator("#theme").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    expect(page.locator("#totals-0 .xtick text").first).not_to_have_css("fill", light[1])
    dark = visit.colour("body", "backgroundColor"), visit.colour("#totals-0 .xtick text", "fill")
    assert [brightness(colour) > 128 for colour in (*light, *dark)] == [True, False, False, True]
    assert abs(brightness(dark[0]) - brightness(dark[1])) > 180
    page.locator("#theme").click()
    asked = Visit(browser, played / "report" / "index.html", scheme="dark")
    assert asked.colour("body", "backgroundColor") == dark[0]
    asked.close()


def test_the_drawing_of_a_game_follows_the_theme(one):
    def colours():
        parts = one.page.locator("#trace svg.drawing").first
        paper = "e => getComputedStyle(e.querySelector('path')).fill"
        ink = "e => getComputedStyle(e.querySelector('use')).fill"
        return [brightness(parts.evaluate(script)) for script in (paper, ink)]

    light = colours()
    one.page.locator("#theme").click()
    dark = colours()
    one.page.locator("#theme").click()
    assert light[0] - light[1] > 180
    assert dark[1] - dark[0] > 180


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def test_log_axes(one):
    page = one.page
    one.chart("regret-0")

    def types():
        layout = page.evaluate("document.getElementById('regret-0').layout")
        return [layout[axis].get("type", "linear") for axis in ("xaxis", "yaxis")]

    page.get_by_role("button", name="log, both", exact=True).click()
    expect(page.locator("#regret-0 .xtick").first).to_have_text("2")  # 2, 5, 10, ...
    assert types() == ["log", "log"]
    page.get_by_role("button", name="log", exact=True).click()
    expect(page.locator("#regret-0 .xtick").first).to_have_text("0")
    assert types() == ["linear", "log"]
    assert (
        page.get_by_role("button", name="log", exact=True).get_attribute("aria-pressed") == "true"
    )
    page.get_by_role("button", name="linear", exact=True).click()
    expect(page.locator("#regret-0 .xtick").first).to_have_text("0")


def test_hovering_tells_numbers(one):
    box = one.chart("regret-0").locator(".plotly .nsewdrag").first.bounding_box()
    one.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    one.page.wait_for_selector("#regret-0 .hoverlayer .legend")
    said = one.page.locator("#regret-0 .hoverlayer").text_content()
    assert "uniform" in said
    assert re.search(r"uniform : \d", said)


def test_picking_a_policy_shows_its_plays_and_its_sentence(one):
    page = one.page
    one.chart("shares-0")
    before = page.locator("#shares-0-says").inner_text()
    page.locator("#shares-0-pick").select_option(label="uniform")
    after = page.locator("#shares-0-says").inner_text()
    assert before.startswith("oracle-rucb")
    assert after.startswith("uniform")


def test_no_button_leads_elsewhere(one):
    one.chart("totals-0")
    buttons = one.page.locator("#totals-0 .modebar-btn")
    titles = buttons.evaluate_all("all => all.map(each => each.dataset.title)")
    assert titles == [
        "Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes",
    ]  # fmt: skip


def test_worlds_can_be_chosen(many):
    page = many.page
    assert page.locator("section.world:visible").count() == 1
    page.locator("#world").select_option("3")
    assert page.locator("#world-3").is_visible()
    assert not page.locator("#world-0").is_visible()
    assert many.chart("regret-3").bounding_box()["height"] > 300
    many.chart("trend-rounds")
    assert page.locator("#slopes-rounds tbody tr").count() == 3


def test_the_heat_map_sorts(many):
    first = column(many.page, "heat-table", 1)
    assert first == ["rucb", "sw-rucb:window=300", "uniform"]
    many.page.locator("#heat-table th button").nth(4).click()
    many.page.locator("#heat-table th button").nth(4).click()
    values = [float(text) for text in column(many.page, "heat-table", 5)]
    assert values == sorted(values, reverse=True)


def test_a_phone_need_not_scroll_sideways(browser, played):
    visit = Visit(browser, played / "report" / "index.html", width=400)
    for name in ("totals-0", "regret-0", "restarts-0", "shares-0"):
        assert visit.chart(name).bounding_box()["width"] <= 400
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 400
    visit.close()


def test_a_phone_shows_the_regrets_and_says_that_there_is_more(browser, played):
    visit = Visit(browser, played / "report" / "index.html", width=390)
    table = visit.page.locator("#standings-0")
    table.scroll_into_view_if_needed()
    regret = table.locator("tbody td:nth-child(2)").first.bounding_box()
    assert regret["x"] + regret["width"] < 390
    hint = visit.page.locator(".scroller", has=table).locator(".swipe")
    expect(hint).to_be_visible()
    box = visit.page.locator(".scroll", has=table)
    shaded = ".scroller.more #standings-0"
    assert visit.page.locator(shaded).count() == 1
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    expect(visit.page.locator(shaded)).to_have_count(0)
    visit.close()


LABELS = """box => {
    const place = (label) => {
        const {left, right, top, bottom} = label.getBoundingClientRect();
        return {text: label.textContent, left, right, top, bottom};
    };
    const ticks = [...box.querySelectorAll(".xtick text, .ytick text")].map(place);
    const texts = [...box.querySelectorAll("svg text")].map(place).filter((t) => t.text);
    const {left, right} = box.getBoundingClientRect();
    return {ticks, texts, left, right};
}"""


def collisions(chart):
    """List the labels of a chart that touch each other or its edge."""
    found = chart.evaluate(LABELS)
    over = [
        (one["text"], other["text"])
        for one, other in itertools.combinations(found["ticks"], 2)
        if one["left"] < other["right"] and other["left"] < one["right"]
        and one["top"] + 2 < other["bottom"] and other["top"] + 2 < one["bottom"]
    ]  # fmt: skip
    cut = [
        text["text"]
        for text in found["texts"]
        if text["left"] < found["left"] - 1 or text["right"] > found["right"] + 1
    ]
    return over, cut


@pytest.mark.parametrize("width", [390, pytest.param(1400, marks=pytest.mark.long)])
def test_labels_keep_apart_and_inside(browser, played, grid, width):
    from driftduel.report import write_report

    for page in (played / "report" / "index.html", write_report(grid, figures=False)):
        visit = Visit(browser, page, width=width)
        for name in visit.page.locator(".chart:visible").evaluate_all("all => all.map(e => e.id)"):
            assert collisions(visit.chart(name)) == ([], []), name
        visit.page.locator("button[data-scale=log]:visible").first.click()
        box = visit.chart("regret-0")
        expect(box.locator(".ytick").first).not_to_have_text("0")
        assert collisions(box) == ([], [])
        visit.page.locator("button[data-scale=log-log]:visible").first.click()
        expect(box.locator(".xtick").first).not_to_have_text("0")
        assert collisions(box) == ([], [])
        visit.close()


def test_nasty_names_run_no_code(browser, tmp_path):
    from driftduel.report import write_report
    from driftduel.worlds import make_world, save_world
    from tests.report.made import made_store

    path = tmp_path / "<img src=x onerror=alert(1)>" / "<b>x.npz"
    path.parent.mkdir()
    save_world(make_world("two-arm:rounds=200"), path)
    made_store(tmp_path / "s", ["uniform", "rucb"], [f"file:path={path}"], runs=2)
    visit = Visit(browser, write_report(tmp_path / "s", figures=False))
    visit.page.on("dialog", lambda dialog: visit.errors.append(dialog.message))
    for name in ("totals-0", "regret-0", "shares-0"):
        visit.chart(name)
    assert visit.page.locator("header b, main code b, header img").count() == 0
    assert "<b>x.npz" in visit.page.locator("h1").inner_text()
    visit.close()
