r"""Formulas in Markdown: ``$x$``, ``\(x\)``, ``$$x$$`` and ``\[x\]``, rendered as MathML.

Browsers display MathML without a script, a font or a request. The converter is not trusted: only
elements and attributes of an allow-list are written, and a formula that it cannot convert is shown
as code.
"""

import html
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from driftduel.errors import MissingExtraError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

__all__ = ["add_formulas", "spend", "to_mathml"]

_LONGEST, _MOST_LINES = 2_000, 60
# Formulas of one content that are converted, in characters and a fixed share each: this bounds the
# time. The others are shown as code.
_MOST, _EACH = 40_000, 40
_DELIMITERS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_OF_BLOCKS = ("$$", "\\[")
_MACRO = re.compile(r"\\(?:re)?newcommand|\\def\b|\\let\b|\\edef\b")
_CHILDREN = {
    "math": None, "mrow": None, "mstyle": None, "mpadded": None, "mphantom": None, "menclose": None,
    "msqrt": None, "mtable": None, "mtr": None, "mtd": None, "mmultiscripts": None,
    "mi": 0, "mn": 0, "mo": 0, "mtext": 0, "mspace": 0, "mprescripts": 0, "none": 0,
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2,
    "msubsup": 3, "munderover": 3,
}  # fmt: skip
"""Allowed elements, and the number of children that browsers require; None: any number."""
_ATTRIBUTES = frozenset({
    "accent", "accentunder", "columnlines", "columnspacing", "depth", "display",
    "displaystyle", "fence", "form", "height", "largeop", "linethickness", "lspace",
    "mathsize", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowlines",
    "rowspacing", "rspace", "scriptlevel", "separator", "stretchy", "symmetric", "voffset",
    "width",
})  # fmt: skip
_VALUE = re.compile(r"[\w.%+ -]{1,40}")
_INLINE = ("display", "inline")  # the default of browsers
_SIDES = {"left": "l", "right": "r"}


class _UnsupportedError(Exception):
    """Raised for a formula that cannot be shown as MathML."""


def to_mathml(formula: str, *, block: bool = False) -> str:
    r"""Return a LaTeX formula as MathML; as code, if it is not valid or too long.

    Examples
    --------
    >>> to_mathml("x^2")
    '<math><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    >>> to_mathml(r"\href{javascript:alert(1)}{x}")
    '<math><mrow><mrow><mrow><mi>x</mi></mrow></mrow></mrow></math>'
    >>> to_mathml(r"\frac{a")
    '<code>\\frac{a</code>'
    """
    display = "block" if block else "inline"
    try:
        if len(formula) > _LONGEST or _MACRO.search(formula):  # macros could expand without bound
            raise _UnsupportedError
        return "".join(_written(_converter(display).convert_to_element(formula.strip())))
    # The converter raises IndexError, RecursionError and others for formulas that are not valid.
    except Exception:
        return _as_code(formula, block=block)


def _as_code(formula: str, *, block: bool = False) -> str:
    code = f"<code>{html.escape(formula.strip())}</code>"
    return f"<pre>{code}</pre>" if block else code


def spend(env: dict[str, Any], what: str, amount: int, most: int) -> bool:
    """Add an amount to a sum in the environment of a rendering; return whether it is allowed."""
    env[what] = env.get(what, 0) + amount
    return bool(env[what] <= most)


def _converter(display: str) -> Any:
    try:
        return _converter_class()(display=display)
    except ImportError:
        raise MissingExtraError("latex2mathml", "arena", "formulas in Markdown") from None


@lru_cache(maxsize=1)
def _converter_class() -> Any:
    from latex2mathml.converter import Converter

    return Converter


def _written(element: "Element") -> Iterator[str]:
    """Yield the parts of an element as HTML.

    Raises
    ------
    _UnsupportedError
        If an element is not allowed, has the wrong number of children, or names a command that the
        converter does not support.
    """
    tag, children = element.tag, list(element)
    count = _CHILDREN.get(tag, -1)
    # The converter writes special characters as references, to be decoded by its own output method.
    text = html.unescape(element.text or "")
    if (count is not None and len(children) != count) or (tag == "mi" and text.startswith("\\")):
        raise _UnsupportedError
    kept = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and _VALUE.fullmatch(value) and (name, value) != _INLINE
    )
    side = _SIDES.get(element.get("columnalign", ""))  # no browser supports `columnalign` here
    yield f"<{tag}{kept}" + (f' class="{side}">' if side else ">") + html.escape(text)
    for child in children:
        yield from _written(child)
    yield f"</{tag}>"


def add_formulas(reader: "MarkdownIt") -> None:
    """Add the rules for formulas to a Markdown parser."""
    reader.inline.ruler.before("escape", "formula", _within_line)
    reader.block.ruler.before(
        "fence", "formula_block", _of_lines, {"alt": ["paragraph", "blockquote", "list"]}
    )
    reader.add_render_rule("formula", _render)
    reader.add_render_rule("formula_block", _render)


def _render(renderer: Any, tokens: "Sequence[Token]", place: int, options: Any, env: Any) -> str:
    token = tokens[place]
    small = spend(env, "formulas", len(token.content) + _EACH, _MOST)
    made = (to_mathml if small else _as_code)(token.content, block=token.markup in _OF_BLOCKS)
    return f'<div class="math">{made}</div>\n' if token.block else made


def _delimiter(text: str, place: int) -> tuple[str, str] | None:
    """Return the delimiters of a formula that begins at a place, or None."""
    return next((each for each in _DELIMITERS if text.startswith(each[0], place)), None)


def _within_line(state: "StateInline", silent: bool) -> bool:
    """Parse a formula within a paragraph; a dollar sign of a price does not begin one."""
    text, begin = state.src, state.pos
    found = _delimiter(text, begin)
    if found is None:
        return False
    opening, closing = found
    start = begin + len(opening)
    # A formula is short, so the search is bounded: time stays linear in the length of the text.
    end = _closing(text, closing, start, min(state.posMax, start + _LONGEST))
    if end < 0 or not text[start:end].strip():
        return False
    if opening == "$":
        after = text[end + 1 : end + 2]
        if text[start].isspace() or text[end - 1].isspace() or after.isdigit():
            return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content, token.markup = text[start:end], opening
    state.pos = end + len(closing)
    return True


def _closing(text: str, closing: str, start: int, limit: int) -> int:
    r"""Return the place of a closing delimiter, or -1; ``\$`` and ``\\`` are not delimiters."""
    place = start
    while (place := text.find(closing, place, limit)) >= 0:
        before = place
        while before > start and text[before - 1] == "\\":
            before -= 1
        if (place - before) % 2 == 0:
            return place
        place += 1
    return -1


def _of_lines(state: "StateBlock", first: int, limit: int, silent: bool) -> bool:
    """Parse a formula of whole lines, in which signs of Markdown have no meaning."""
    begin = state.bMarks[first] + state.tShift[first]
    found = _delimiter(state.src, begin)
    if found is None or found[0] not in _OF_BLOCKS or state.sCount[first] - state.blkIndent >= 4:
        return False
    opening, closing = found
    lines: list[str] = []
    for line in range(first, min(limit, first + _MOST_LINES)):
        outside = line > first and state.sCount[line] < state.blkIndent
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()
        if outside or not text:
            return False
        rest = text[len(opening) :] if line == first else text
        end = _closing(rest, closing, 0, len(rest))
        if end >= 0:
            if rest[end + len(closing) :].strip():
                return False  # text follows: the formula is a part of a paragraph
            if silent:
                return True
            token = state.push("formula_block", "math", 0)
            token.block, token.markup = True, opening
            token.content = "\n".join([*lines, rest[:end]])
            token.map = [first, line + 1]
            state.line = line + 1
            return True
        lines.append(rest)
    return False
