"""Functions that render the content of options and items: Markdown from an allow-list to safe HTML.

The text comes from the creator of the arena or from a model, and is shown to all voters. Syntax
outside the allow-list stays text: HTML, and links with other schemes than http and https.
"""

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from driftduel.arena.highlighting import to_spans
from driftduel.arena.mathematics import add_formulas, spend
from driftduel.errors import MissingExtraError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

__all__ = ["is_image", "to_html"]

_WITHIN_A_LINE = (
    "autolink", "backticks", "emphasis", "entity", "escape", "image", "link", "newline",
    "strikethrough",
)  # fmt: skip
_OF_LINES = ("blockquote", "fence", "heading", "hr", "list", "table")
_LINK = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_IMAGE = re.compile(
    r"https://[^\s/]\S*|data:image/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}",
    re.IGNORECASE,
)
_FILE = re.compile(r"file:([\w-]{1,64})")
_TASK = re.compile(r"\[([ xX])\](?=\s)")
_MOST_CODE = 24_000  # characters of one content that are highlighted, to bound the time
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_SIDE = re.compile(r"text-align:(left|center|right)")


def to_html(text: str, *, files: str = "") -> str:
    r"""Return Markdown as HTML that is safe to insert into a page.

    Supported are paragraphs, line breaks, emphasis, strong, strikethrough, code, fenced code with
    highlighting, lists, task lists, block quotes, tables, rules, links to http and https, images
    from https, formulas (``$x$``, ``\(x\)``, ``$$x$$``, ``\[x\]``), and headings (rendered as
    paragraphs, to keep the outline of the page).

    Parameters
    ----------
    text
        The Markdown.
    files
        Prefix of the URLs of uploaded files, for images with the address ``file:ID``; without it
        they are not shown.

    Examples
    --------
    >>> to_html("*one* **two** `x < y`")
    '<p><em>one</em> <strong>two</strong> <code>x &lt; y</code></p>'
    >>> to_html("<b>no</b> [no](javascript:alert(1))")
    '<p>&lt;b&gt;no&lt;/b&gt; [no](javascript:alert(1))</p>'
    """
    return str(_reader().render(text, {"files": files})).strip()


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
    add_formulas(reader)
    reader.core.ruler.after("inline", "tasks", _mark_tasks)
    reader.validateLink = _is_address  # type: ignore[method-assign, assignment]
    rules = {
        "link_open": _link, "heading_open": _heading, "heading_close": _heading, "image": _image,
        "fence": _fence, "table_open": _table, "table_close": _table, "th_open": _cell,
        "td_open": _cell,
    }  # fmt: skip
    for name, rule in rules.items():
        reader.add_render_rule(name, rule)
    return reader


def _is_address(address: str) -> bool:
    """Return whether a link or an image may have an address; `_link` and `_image` are stricter."""
    return (_LINK.match(address) or _FILE.fullmatch(address)) is not None or is_image(address)


def _link(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    token = tokens[place]
    if _LINK.match(str(token.attrGet("href"))) is None:  # the address of an image
        token.attrs = {}
        return "<a>"
    token.attrSet("rel", "noopener nofollow")
    token.attrSet("target", "_blank")  # keeps the vote page open
    return str(renderer.renderToken(tokens, place, options, env))


def _image(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    token = tokens[place]
    address, words = str(token.attrGet("src")), html.escape(token.content)
    uploaded = _FILE.fullmatch(address)
    if uploaded is not None and env.get("files"):
        address = f"{env['files']}{uploaded[1]}"
    elif not is_image(address):
        return f"<em>{words}</em>"
    return f'<img src="{html.escape(address)}" alt="{words}" referrerpolicy="no-referrer">'


def _heading(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    token = tokens[place]
    return f'<p class="{token.tag}"><strong>' if token.nesting == 1 else "</strong></p>\n"


def _fence(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    token = tokens[place]
    found = _LANGUAGE.match(token.info.strip())
    name = f' class="language-{found[0]}"' if found else ""
    small = spend(env, "code", len(token.content), _MOST_CODE)
    code = to_spans(token.content, found[0] if found and small else "")
    return f"<pre><code{name}>{code}</code></pre>\n"


def _table(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    opening = tokens[place].nesting == 1
    return '<div class="scroll"><table>\n' if opening else "</table></div>\n"


def _cell(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    """Write a class for the alignment, because the CSP forbids the attribute `style`."""
    token = tokens[place]
    side = _SIDE.fullmatch(str(token.attrGet("style") or ""))
    return f'<{token.tag} class="{side[1][0]}">' if side else f"<{token.tag}>"


def _mark_tasks(state: "StateCore") -> None:
    """Replace ``[ ]`` and ``[x]`` at the beginning of list items by the signs of a box."""
    for item, paragraph, line in zip(
        state.tokens, state.tokens[1:], state.tokens[2:], strict=False
    ):
        if (item.type, paragraph.type, line.type) != ("list_item_open", "paragraph_open", "inline"):
            continue
        first = line.children[0] if line.children else None
        found = _TASK.match(first.content) if first is not None and first.type == "text" else None
        if first is not None and found is not None:
            sign = "\N{BALLOT BOX}" if found[1] == " " else "\N{BALLOT BOX WITH CHECK}"
            first.content = sign + first.content[found.end() :]
            item.attrSet("class", "task")
