"""Functions that render the content of options: Markdown from an allow-list to safe HTML.

The text comes from the creator of the arena and is shown to all voters. Syntax outside the
allow-list stays text: HTML, images, and links to other schemes than http and https.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from driftduel.errors import MissingExtraError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["is_image", "to_html"]

_WITHIN_A_LINE = ("autolink", "backticks", "emphasis", "entity", "escape", "link", "newline")
_OF_LINES = ("fence", "heading", "list")
_LINK = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_IMAGE = re.compile(
    r"https://[^\s/]\S*|data:image/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}",
    re.IGNORECASE,
)


def to_html(text: str) -> str:
    """Return Markdown as HTML that is safe to insert into a page.

    Supported are paragraphs, line breaks, emphasis, strong, code, fenced code, lists, links to http
    and https, and headings (rendered as strong paragraphs, to keep the outline of the page).

    Examples
    --------
    >>> to_html("*one* **two** `x < y`")
    '<p><em>one</em> <strong>two</strong> <code>x &lt; y</code></p>'
    >>> to_html("<b>no</b> [no](javascript:alert(1))")
    '<p>&lt;b&gt;no&lt;/b&gt; [no](javascript:alert(1))</p>'
    """
    return str(_reader().render(text)).strip()


def is_image(address: str) -> bool:
    """Return whether an option of kind ``image`` may have this address.

    Examples
    --------
    >>> is_image("https://example.org/a.png"), is_image("data:image/png;base64,iVBORw0KGgo=")
    (True, True)
    >>> is_image("http://example.org/a.png"), is_image("data:image/svg+xml;base64,AA==")
    (False, False)
    """
    return _IMAGE.fullmatch(address) is not None


@lru_cache(maxsize=1)
def _reader() -> "MarkdownIt":
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise MissingExtraError("markdown-it-py", "arena", "Markdown") from None
    reader = MarkdownIt("zero", {"html": False, "breaks": True, "linkify": False})
    reader.enable([*_WITHIN_A_LINE, *_OF_LINES])
    reader.validateLink = _is_web_link  # type: ignore[method-assign, assignment]
    rules = {"link_open": _link, "heading_open": _heading, "heading_close": _heading}
    for name, rule in rules.items():
        reader.add_render_rule(name, rule)
    return reader


def _is_web_link(address: str) -> bool:
    return _LINK.match(address) is not None


def _link(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noopener nofollow")
    tokens[place].attrSet("target", "_blank")  # keeps the vote page open
    return str(renderer.renderToken(tokens, place, options, env))


def _heading(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    return "<p><strong>" if tokens[place].nesting == 1 else "</strong></p>\n"
