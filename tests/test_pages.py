"""Pages are templates: whatever they are given is escaped, whatever they lack is an error."""

import ast
import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

import jinja2

import driftduel
from driftduel._internal.pages import as_json, environment, marked
from driftduel.figures.themes import in_page, on_dark

ROOT = Path(driftduel.__file__).parent
RESEARCH = Path(__file__).parents[1] / "research"
HOSTILE = (
    "<script>alert(1)</script>",
    '" onload="alert(1)',
    "' onmouseover='alert(1)",
    "{{7*7}}{% raw %}",
    "</script><b>x",
    "`<i>` & `",
    "]]>--><u>",
)


def tags(page):
    """Return the tags of a page, its scripts and styles aside."""
    return re.findall(r"<[a-zA-Z/][^>]*>", re.sub(r"(?s)<(script|style).*?</\1>", "", page))


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_a_template_is_given_becomes_a_tag(name):
    made = environment("driftduel.report")
    text = '<a title="{{ name }}">{{ name }}|{{ name|spec }}|{{ name|marked }}|{{ name|plain }}</a>'
    page = made.from_string(text).render(name=name)
    assert set(tags(re.sub(r"</?code[^>]*>|<wbr>", "", page))) <= {page.split(">")[0] + ">", "</a>"}
    assert page.split(">")[0].count('"') == 2
    assert "49" not in page
    assert "<" not in as_json({"name": name})


def test_what_was_forgotten_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        environment("driftduel.report").from_string("{{ nothing }}").render()


def test_a_file_beside_the_templates_is_taken_as_it_is():
    made = environment("research.study")
    page = made.from_string("{{ source('layout.css') }}").render()
    assert page == (ROOT / "_internal" / "pages" / "templates" / "layout.css").read_text("utf-8")


def test_names_between_backticks_are_code():
    assert marked("a `b:c=1` d") == 'a <code class="whole">b:<wbr>c=1</code> d'
    assert marked(f"`{'x' * 40}`") == f"<code>{'x' * 40}</code>"


def test_no_module_writes_html():
    """Tags belong into templates, where escaping is not left to memory."""
    tag = re.compile(r"</?(?!br>|extra>)[a-z][a-z0-9]*(\s[^<>]*)?>", re.IGNORECASE)
    files = [path for folder in CLEAN for path in sorted(folder.rglob("*.py"))]
    assert len(files) > 10
    for path in files:
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                found = isinstance(node.value, str) and tag.search(node.value)
                assert not found, f"{path}:{node.lineno}: {node.value!r}"


CLEAN = (ROOT / "report", RESEARCH / "study")


@pytest.fixture(scope="module")
def study():
    pytest.importorskip("polars")
    from research.study import read_study

    return read_study(RESEARCH / "records" / "study.json")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_study_with_hostile_words_has_no_tag_more(study, name):
    from research.study import as_html

    figures = {c.name: "<svg></svg>" for s in study.sections for c in s.charts}
    first = study.sections[0]

    def page(word):
        claim = replace(first.claims[0], source=word, statement=word, measured=word, interval=word)
        table = replace(first.tables[0], title=word, head=[word] * len(first.tables[0].head))
        section = replace(first, title=word, intro=word, claims=[claim], tables=[table])
        sections = [section, *study.sections[1:2]]
        made = as_html(replace(study, version=word, sections=sections), figures)
        return [tag for tag in tags(made) if "code" not in tag and tag != "<wbr>"], made

    hostile, text = page(name)
    assert hostile == page("innocent")[0]
    assert text.count("</script>") == 2


def test_a_study_begins_with_a_paragraph_to_quote_and_a_table_of_claims(study):
    from research.study import as_html
    from research.study.opening import claims_table, opening

    page = as_html(study, {c.name: "<svg></svg>" for s in study.sections for c in s.charts})
    header = page[page.index("<header>") : page.index("</header>")]
    text = html.unescape(re.sub("<[^>]*>", "", header))
    assert opening(study.sections).replace("`", "") in text
    answers = re.findall(r'<td class="said (\w+)">(.*?)</td>', header)
    assert len(answers) == len(claims_table(study.sections).rows)
    for kind, answer in answers:
        assert answer.startswith({"not": "not seen"}.get(kind, kind))
        assert kind in ("yes", "begins", "not", "undecided")
    assert "**" not in header


SVG = """<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "x" "http://www.w3.org/x.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" xmlns="http://www.w3.org/2000/svg">
<metadata>https://matplotlib.org</metadata>
<defs><style type="text/css">*{stroke-linecap: butt}</style></defs>
<!-- <b>name</b> -->
<path id="p1" style="fill: #ffffff; stroke: #0072B2"/><use xlink:href="#p1" clip-path="url(#p2)"/>
</svg>"""


def test_a_figure_follows_the_theme_and_fetches_nothing():
    drawing = in_page(SVG, "figure-a")
    assert "http" not in drawing
    assert "<!--" not in drawing
    assert "*{" not in drawing
    assert 'style="fill: var(--ffffff); stroke: var(--0072b2)"' in drawing
    assert "#figure-a{--0072b2:#0072b2;--ffffff:#ffffff;}" in drawing
    assert "[data-theme=dark] #figure-a{--0072b2:#4ba3e3;--ffffff:#14181c;}" in drawing
    assert 'id="figure-a-p1"' in drawing
    assert 'href="#figure-a-p1" clip-path="url(#figure-a-p2)"' in drawing


def test_nothing_drawn_vanishes_on_a_dark_page():
    def light(colour):
        return sum(int(colour[i : i + 2], 16) for i in (1, 3, 5)) / 3

    assert light(on_dark("#000000")) > 200
    assert light(on_dark("#ffffff")) < 40
    assert light(on_dark("#555555")) > light(on_dark("#999999")) > 40
    assert on_dark("#e69f00") == "#f5bd3d"
    assert light(on_dark("#440154")) > light("#440154") + 50
    assert on_dark("#fde725") == "#fde725"
