"""Prompts and long answers on the vote page: side by side, in step, with the buttons in view."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import expect

from driftduel.arena.translations import words_of
from tests.arena.browser.axe import violations
from tests.arena.fake_server import option
from tests.arena.xss import CORPUS
from tests.waiting import eventually

pytestmark = pytest.mark.long

READY = "drift-duel[data-ready]"
PICKS = ["left", "right", "tie", "both-bad", "skip"]
PROMPT = "Explain **binary search** and its cost, $O(\\log n)$."
ANSWER = """# Answer
| case | cost |
|:--|--:|
| best | $O(1)$ |

> It must be sorted.

- [x] done
- [ ] open ~~no~~

```python
def search(items, wanted, low=0, high=None):  # a line that is too long for any phone, and goes on
    return low if items[low] == wanted else search(items, wanted, low + 1, high)
```
$$
\\sum_{i=1}^{n} \\frac{1}{2^i}
$$
"""
LONG, LONGER = ANSWER + "\n\nWords. " * 60, ANSWER + "\n\nMore words. " * 150


@pytest.fixture
def answers(fake):
    fake.options = [option("a", "markdown", LONG), option("b", "markdown", LONGER)]
    fake.prompt = PROMPT
    fake.settings = {
        "title": "Six models", "question": "Which answer is more helpful?",
        "instructions": "Read both.", "buttons": PICKS, "language": "en", "reasons": True,
    }  # fmt: skip
    return fake


def opened(fake, visits, **settings):
    page = visits(fake.url, **settings).open("/vote/headlines#token=abc").page
    page.wait_for_selector(READY)
    return page


def scroll(page, side):
    script = "(e) => [e.scrollTop, e.scrollHeight - e.clientHeight]"
    top, length = page.locator(f"#{side}").evaluate(script)
    return top / length


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844), (390, 664)])
def test_long_answers_scroll_together_and_the_buttons_stay_in_view(answers, visits, width, height):
    visit = visits(answers.url, width=width)
    visit.page.set_viewport_size({"width": width, "height": height})
    page = visit.open("/vote/headlines#token=abc").page
    page.wait_for_selector(READY)
    for share in (0.0, 0.4, 1.0):
        page.locator("#left").evaluate(
            "(e, share) => { e.scrollTop = share * (e.scrollHeight - e.clientHeight); }", share
        )
        assert eventually(lambda share=share: abs(scroll(page, "right") - share) < 0.02)
        assert scroll(page, "left") == pytest.approx(share, abs=0.02)
        for pick in PICKS:
            box = page.locator(f'[data-pick="{pick}"]').bounding_box()
            assert box["y"] >= 0, (pick, share)
            assert box["y"] + box["height"] <= height, (pick, share)
            assert box["x"] >= 0, (pick, share)
            assert box["x"] + box["width"] <= width, (pick, share)
    page.locator("#right").evaluate("(e) => { e.scrollTop = 0; }")
    assert eventually(lambda: scroll(page, "left") == 0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#prompt").is_visible()


def test_the_owner_words_the_page_and_chooses_its_buttons(answers, visits):
    answers.settings["buttons"] = ["left", "right", "both-bad"]
    page = opened(answers, visits)
    assert page.title() == "Six models"
    assert page.get_by_role("heading", level=1).inner_text() == "Six models"
    assert page.get_by_role("heading", level=2).inner_text() == "Which answer is more helpful?"
    assert page.locator("#instructions").inner_text() == "Read both."
    buttons = [text.split() for text in page.get_by_role("button").all_inner_texts()]
    assert buttons == [
        ["This", "one", "is", "better", "(left)", "←"],
        ["This", "one", "is", "better", "(right)", "→"],
        ["Both", "are", "bad", "b"],
    ]
    page.keyboard.press("ArrowDown")  # there is no such button, so there is no such key
    page.keyboard.press("s")
    page.locator("#reason").fill("Both are wrong: bsu")  # letters that are keys elsewhere
    page.keyboard.press("ArrowLeft")
    page.locator("#question").focus()
    page.keyboard.press("b")
    expect(page.locator("#note")).to_have_text("Saved: both bad.")
    assert answers.answers == [("d1", "both-bad")]
    assert answers.reasons == ["Both are wrong: bsu"]
    assert page.locator("#reason").input_value() == ""


def test_the_page_speaks_the_language_of_its_voters(answers, visits):
    words = words_of("de", {"tie": "Gleich"})
    answers.settings |= {"language": "de", "question": "", "translated": words}
    page = opened(answers, visits)
    assert page.locator("html").get_attribute("lang") == "de"
    assert page.get_by_role("heading", level=2).inner_text() == "Welche ist besser?"
    assert page.get_by_role("group", name="Linke Möglichkeit").is_visible()
    assert page.get_by_role("button", name="Gleich").is_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#note")).to_have_text("Gespeichert: links.")


def test_names_are_revealed_after_the_vote_only(answers, visits):
    answers.revealed = {"left": {"id": "o1", "name": "Model A"}, "right": {"id": "o2", "name": "B"}}
    page = opened(answers, visits)
    assert "Model A" not in page.locator("main").inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#note")).to_have_text("Saved: left. Left was Model A, right was B.")


def test_keys_scroll_the_part_that_has_the_focus(answers, visits):
    page = opened(answers, visits)
    page.locator("#right").focus()
    page.keyboard.press("ArrowDown")  # elsewhere this is a vote
    assert eventually(lambda: scroll(page, "left") > 0)
    assert answers.answers == []
    page.locator("#left pre").focus()
    page.keyboard.press("ArrowRight")
    assert answers.answers == []
    page.locator("#right").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#note")).to_have_text("Saved: right.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_on_the_vote_page(answers, visits, width, scheme):
    page = opened(answers, visits, width=width, scheme=scheme)
    assert violations(page) == []
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert violations(page) == []


def test_axe_looks_into_the_element(answers, visits):
    page = opened(answers, visits)
    page.evaluate("document.querySelector('drift-duel').at('left').innerHTML = '<img src=data:,>'")
    assert [found.partition(":")[0] for found in violations(page)] == ["image-alt"]


SHOW = """async ([prompt, text]) => {
    const element = document.querySelector('drift-duel');
    const side = { name: "", kind: "markdown", content: "", html: text };
    element.show({duel: 'x', prompt: { kind: "markdown", content: "", html: prompt },
                  left: side, right: { name: text, kind: 'text', content: text }, expires: 9e9});
    element.note(text);
    await new Promise((done) => setTimeout(done, 5));
    return [...element.shadowRoot.querySelectorAll('.body *')].map(
        (e) => [e.localName, e.getAttributeNames().join(" ")]);
}"""


def test_hostile_prompts_answers_and_settings_run_no_code(answers, visits):
    from driftduel.arena.markdown import to_html

    visit = visits(answers.url)
    page = visit.open("/vote/headlines#token=abc").page
    page.wait_for_selector(READY)
    for text in CORPUS:
        frames = (text, f"$\\text{{{text}}}$", f"```html\n{text}\n```", f"a | b\n--|--\n{text} | x")
        for frame in frames:
            html = to_html(frame)
            for tag, names in page.evaluate(SHOW, [html, html]):
                assert tag not in {"script", "svg", "iframe", "object", "embed", "form", "style"}
                assert "on" not in [name[:2] for name in names.split()], (tag, names)
        settings = {
            "title": text,
            "question": text,
            "instructions": text,
            "translated": {"tie": text},
        }
        page.evaluate("(s) => document.querySelector('drift-duel').setUp(s)", settings)
        assert page.locator("#instructions").text_content() == text
    assert page.evaluate("window.hacked") is None
    visit.requests = [each for each in visit.requests if "evil.example" not in each]
