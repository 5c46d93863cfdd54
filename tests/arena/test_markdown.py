"""Options as HTML: what is allowed is shown, everything else stays as it was typed."""

import re
from html.parser import HTMLParser

import pytest

pytest.importorskip("markdown_it")
pytest.importorskip("latex2mathml")

from driftduel.arena.manager import option_text
from driftduel.arena.markdown import is_image, to_html
from driftduel.arena.mathematics import to_mathml
from driftduel.arena.problems import ArenaError
from tests.arena.xss import CORPUS, IMAGES

MATHML = {
    "math", "mrow", "mstyle", "mpadded", "mphantom", "menclose", "msqrt", "mtable", "mtr", "mtd",
    "mmultiscripts", "mi", "mn", "mo", "mtext", "mspace", "mprescripts", "none", "mfrac", "mroot",
    "msub", "msup", "munder", "mover", "msubsup", "munderover",
}  # fmt: skip
OF_MATHML = {"display", "stretchy", "fence", "form", "width", "height", "depth", "voffset",
             "class", "displaystyle", "scriptlevel", "notation", "rowspacing", "columnspacing",
             "movablelimits", "lspace", "rspace", "linethickness", "minsize",
             "maxsize"}  # fmt: skip
ALLOWED = {
    "br": set(), "em": set(), "strong": set(), "s": set(), "hr": set(), "blockquote": set(),
    "ul": set(), "pre": set(), "table": set(), "thead": set(), "tbody": set(), "tr": set(),
    "p": {"class"}, "li": {"class"}, "div": {"class"}, "span": {"class"}, "th": {"class"},
    "td": {"class"}, "code": {"class"}, "ol": {"start"}, "a": {"href", "title", "rel", "target"},
    "img": {"src", "alt", "referrerpolicy"},
} | dict.fromkeys(MATHML, OF_MATHML)  # fmt: skip
CLASS = re.compile(r"language-[\w+#.-]+|h[1-6]|task|scroll|math|[bcdfklnrs]")


class Tags(HTMLParser):
    """Collects tags as a browser would see them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data):
        self.tags.append(("!--", {}))

    def handle_decl(self, decl):
        self.tags.append(("!", {}))

    def unknown_decl(self, data):
        self.tags.append(("![", {}))

    def handle_data(self, data):
        self.text += data


FRAMES = (
    "@", "- @", "# @", "**@**", "[@](https://a.example)", "> @", "- [ ] @", "~~@~~", "![@](@)",
    "a | @\n--|--\n@ | b", "$@$", "$$\n@\n$$", r"\(@\)", r"$\text{@}$", r"$\href{@}{x}$",
    r"$\operatorname{@}$", r"$\style{@}{x}$", r"$\class{@}{\color{@}{x}}$", r"$\begin{@}x\end{@}$",
    "```python\n@\n```", "```html\n@\n```", "```@\nx\n```", "![x](https://a.example/@)",
)  # fmt: skip


@pytest.mark.parametrize("text", CORPUS)
def test_nothing_hostile_gets_through(text):
    for frame in FRAMES:
        for tag, attributes in Tags(to_html(frame.replace("@", text))).tags:
            assert tag in ALLOWED
            assert set(attributes) <= ALLOWED[tag]
            if tag == "a" and attributes:
                assert attributes["href"].lower().startswith(("http://", "https://"))
                assert attributes["rel"] == "noopener nofollow"
            if tag == "img":
                assert is_image(attributes["src"])
            if "class" in attributes:
                assert CLASS.fullmatch(attributes["class"])


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\n\ntwo", "<p>one</p>\n<p>two</p>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("*a* **b** `c`", "<p><em>a</em> <strong>b</strong> <code>c</code></p>"),
        ("```\n<b>\n```", "<pre><code>&lt;b&gt;\n</code></pre>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
        ("# a\nb", '<p class="h1"><strong>a</strong></p>\n<p>b</p>'),
        (
            "![a](https://e.org/x.png)",
            '<p><img src="https://e.org/x.png" alt="a" referrerpolicy="no-referrer"></p>',
        ),
        ("![a](http://e.org/x.png)", "<p><em>a</em></p>"),
        ("![a](data:image/svg+xml;base64,AAAA)", "<p>![a](data:image/svg+xml;base64,AAAA)</p>"),
        ("[a](data:image/png;base64,AAAA)", "<p><a>a</a></p>"),
        ("~~a~~", "<p><s>a</s></p>"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("a\n\n---", "<p>a</p>\n<hr>"),
        (
            "- [ ] a\n- [x] b\n- [y] c",
            '<ul>\n<li class="task">☐ a</li>\n<li class="task">☑ b</li>\n<li>[y] c</li>\n</ul>',
        ),
        (
            "a | b\n:-- | --:\n1 | 2",
            '<div class="scroll"><table>\n<thead>\n<tr>\n'
            '<th class="l">a</th>\n<th class="r">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n'
            '<td class="l">1</td>\n<td class="r">2</td>\n</tr>\n</tbody>\n</table></div>',
        ),
        (
            "```c\nint x;\n```",
            '<pre><code class="language-c"><span class="k">int</span> x;\n</code></pre>',
        ),
        ("```no-such\n<b>\n```", '<pre><code class="language-no-such">&lt;b&gt;\n</code></pre>'),
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>"),
        ("a & b < c", "<p>a &amp; b &lt; c</p>"),
        ("", ""),
    ],
)
def test_what_is_allowed(text, html):
    made = to_html(text)
    assert made == html


X2 = "<math><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>"
BLOCK = X2.replace("<math>", '<math display="block">')


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("$x^2$", f"<p>{X2}</p>"),
        (r"\(x^2\)", f"<p>{X2}</p>"),
        ("$$x^2$$", f'<div class="math">{BLOCK}</div>'),
        ("$$\nx^2\n$$", f'<div class="math">{BLOCK}</div>'),
        ("\\[\nx\n^2\n\\]", f'<div class="math">{BLOCK}</div>'),
        ("a $$x^2$$ b", f"<p>a {BLOCK} b</p>"),
        ("a\n$$\nx^2\n$$\nb", f'<p>a</p>\n<div class="math">{BLOCK}</div>\n<p>b</p>'),
        ("> $$\n> x^2\n> $$", f'<blockquote>\n<div class="math">{BLOCK}</div>\n</blockquote>'),
        ("$5 and $10", "<p>$5 and $10</p>"),
        ("from 5$ to 10$", "<p>from 5$ to 10$</p>"),
        (r"\$x^2$ y$", "<p>$x^2$ y$</p>"),
        ("`$x$`", "<p><code>$x$</code></p>"),
        ("$$\nx", "<p>$$<br>\nx</p>"),
        ("$x^$", "<p><code>x^</code></p>"),
        (r"$\frac{a$", r"<p><code>\frac{a</code></p>"),
        (r"$\no<b>$", r"<p><code>\no&lt;b&gt;</code></p>"),
        (r"$$\nosuch$$", '<div class="math"><pre><code>\\nosuch</code></pre></div>'),
        (r"$\newcommand{\a}{\b\b}\a$", r"<p><code>\newcommand{\a}{\b\b}\a</code></p>"),
        (r"$\text{<b>&lt;}$", "<p><math><mrow><mtext>&lt;b&gt;&lt;</mtext></mrow></math></p>"),
    ],
)
def test_formulas(text, html):
    assert to_html(text) == html


def test_a_long_formula_is_code():
    assert to_mathml("x" * 2001) == f"<code>{'x' * 2001}</code>"
    assert to_mathml("{" * 1900 + "}" * 99).startswith("<code>")


def test_the_number_of_formulas_of_a_content_is_bounded():
    html = to_html("$x^2$ " * 2000)
    assert 500 < html.count("<msup>") < 1500
    assert html.count("<msup>") + html.count("<code>x^2</code>") == 2000


@pytest.mark.parametrize("run", ["\n", "a ", "a\t", "a.", ": ", "a\n"])
def test_code_on_which_lexers_are_slow_is_not_highlighted(run):
    slow = "if (x) {\n" + run * (1200 // len(run)) + "\n}"
    assert "<span" not in to_html(f"```java\n{slow}\n```")
    usual = "if (x) {\n" + (run * (900 // len(run)) + "\n}\n") * 3
    assert "<span" in to_html(f"```java\n{usual}\n```")


def test_the_amount_of_highlighted_code_is_bounded():
    block = "```python\n" + "def f(x): return (x)\n" * 100 + "```\n"
    html = to_html(block * 20)
    assert html.count("<pre>") == 20
    assert html.count("def") == 2000
    assert 1000 < html.count('<span class="k">def</span>') < 1200


def test_an_uploaded_image_has_the_address_of_its_file():
    made = to_html("![a](file:Ab_1-2)", files="/v1/arenas/x/files/")
    assert made == (
        '<p><img src="/v1/arenas/x/files/Ab_1-2" alt="a" referrerpolicy="no-referrer"></p>'
    )
    assert to_html("![a](file:Ab_1-2)") == "<p><em>a</em></p>"
    assert to_html("![a](file:///etc/passwd)", files="/f/") == "<p>![a](file:///etc/passwd)</p>"
    assert to_html("[a](file:Ab_1-2)", files="/f/") == "<p><a>a</a></p>"


@pytest.mark.parametrize("address", IMAGES)
def test_markdown_shows_no_other_image(address):
    tags = Tags(to_html(f"![x]({address})\n![x](<{address}>)")).tags
    assert all(is_image(found["src"]) for tag, found in tags if tag == "img")


def test_links_lead_to_the_web_alone():
    link = '<a href="{0}" rel="noopener nofollow" target="_blank">{1}</a>'
    url = "https://e.org/?a=1&b=2"
    escaped = url.replace("&", "&amp;")
    assert to_html(f"[x]({url})") == f"<p>{link.format(escaped, 'x')}</p>"
    assert to_html(f"<{url}>") == f"<p>{link.format(escaped, escaped)}</p>"
    for wrong in ("//e.org", "/x", "ftp://e.org", "mailto:a@e.org", "http:/e.org", "https:e.org"):
        assert "<a" not in to_html(f"[x]({wrong}) <{wrong}>"), wrong


def test_deep_nesting_ends():
    for text in (
        "> " * 5000,
        "- " * 5000,
        "[" * 20_000,
        "*a " * 7000,
        "`" * 20_000,
        "$$\n" * 6000,
        "\\[\n" * 6000,
        "$a " * 6000,
        "| " * 9000,
    ):
        assert len(to_html(text)) < 100 * len(text)


@pytest.mark.parametrize("address", IMAGES)
def test_other_images_are_refused(address):
    assert not is_image(address)
    assert option_text("o1", "a name", "text", address).content == address
    with pytest.raises(ArenaError, match="is not the address of an image"):
        option_text("o1", "a name", "image", address)


def test_images_that_are_allowed():
    for kind in ("png", "jpeg", "webp", "gif"):
        assert is_image(f"data:image/{kind};base64,AAAA")
    assert is_image("https://e.org/a.png?b=c")
    assert option_text("o1", "a name", "image", "https://e.org/a.png").kind == "image"
    assert not is_image("https://e.org/a b.png")
    assert not is_image("https://")
    assert not is_image(" https://e.org/a.png")
    assert not is_image("https://e.org/a.png\n")
