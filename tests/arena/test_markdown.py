"""Options as HTML: what is allowed is shown, everything else stays as it was typed."""

from html.parser import HTMLParser

import pytest

pytest.importorskip("markdown_it")

from driftduel.arena.manager import option_text
from driftduel.arena.markdown import is_image, to_html
from driftduel.arena.problems import ArenaError
from tests.arena.xss import CORPUS, IMAGES

ALLOWED = {
    "p": set(), "br": set(), "em": set(), "strong": set(), "pre": set(), "ul": set(), "li": set(),
    "code": {"class"}, "ol": {"start"}, "a": {"href", "title", "rel", "target"},
}  # fmt: skip


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


@pytest.mark.parametrize("text", CORPUS)
def test_nothing_hostile_gets_through(text):
    for wrapped in (text, f"- {text}", f"# {text}", f"**{text}**", f"[{text}](https://a.example)"):
        for tag, attributes in Tags(to_html(wrapped)).tags:
            assert tag in ALLOWED
            assert set(attributes) <= ALLOWED[tag]
            if tag == "a":
                assert attributes["href"].lower().startswith(("http://", "https://"))
                assert attributes["rel"] == "noopener nofollow"
            if "class" in attributes:
                assert attributes["class"].startswith("language-")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\n\ntwo", "<p>one</p>\n<p>two</p>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("*a* **b** `c`", "<p><em>a</em> <strong>b</strong> <code>c</code></p>"),
        ("```\n<b>\n```", "<pre><code>&lt;b&gt;\n</code></pre>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
        ("# a\nb", "<p><strong>a</strong></p>\n<p>b</p>"),
        ("![a](https://e.org/x.png)", None),
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>"),
        ("a & b < c", "<p>a &amp; b &lt; c</p>"),
        ("", ""),
    ],
)
def test_what_is_allowed(text, html):
    made = to_html(text)
    if html is None:
        assert "<img" not in made
    else:
        assert made == html


def test_links_lead_to_the_web_alone():
    link = '<a href="{0}" rel="noopener nofollow" target="_blank">{1}</a>'
    url = "https://e.org/?a=1&b=2"
    escaped = url.replace("&", "&amp;")
    assert to_html(f"[x]({url})") == f"<p>{link.format(escaped, 'x')}</p>"
    assert to_html(f"<{url}>") == f"<p>{link.format(escaped, escaped)}</p>"
    for wrong in ("//e.org", "/x", "ftp://e.org", "mailto:a@e.org", "http:/e.org", "https:e.org"):
        assert "<a" not in to_html(f"[x]({wrong}) <{wrong}>"), wrong


def test_deep_nesting_ends():
    for text in ("> " * 5000, "- " * 5000, "[" * 20_000, "*a " * 7000, "`" * 20_000):
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
