"""Pieces of HTML that the page is made of."""

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from driftduel.errors import MissingExtraError
from driftduel.figures.lines import line_style

__all__ = [
    "as_json",
    "breakable",
    "cell",
    "charting_library",
    "escape",
    "lines",
    "marked",
    "named",
    "paragraph",
    "picker",
    "plain",
    "resource",
    "swatch",
    "table",
    "with_breaks",
]

_SHORT = 30
_DASH_ARRAYS = {
    "solid": "",
    "dash": "7 4",
    "dot": "2 3",
    "dashdot": "7 3 2 3",
    "longdash": "12 4",
    "longdashdot": "11 3 2 3",
}

_SYMBOLS = {
    "circle": "M17 3a4 4 0 1 0 .01 0z",
    "square": "M13.5 3.5h7v7h-7z",
    "triangle-up": "M17 2l4.6 9h-9.2z",
    "diamond": "M17 1.8l4.6 5.2-4.6 5.2-4.6-5.2z",
    "triangle-down": "M17 12l4.6-9h-9.2z",
    "cross": "M15.5 2h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
    "x": "M13 5l2-2 2 2 2-2 2 2-2 2 2 2-2 2-2-2-2 2-2-2 2-2z",
    "star": "M17 1.5l1.6 3.7 4 .3-3 2.7.9 3.9-3.5-2-3.5 2 .9-3.9-3-2.7 4-.3z",
}


def picker(box: str, text: str, options: Sequence[tuple[str, str]]) -> str:
    """Let the reader choose what a chart shows; nothing to choose, no picker."""
    if len(options) < 2:
        return ""
    items = "".join(f'<option value="{value}">{escape(name)}</option>' for value, name in options)
    return (
        f'<div class="buttons"><label for="{box}-pick">{text}</label>'
        f'<select class="pick" id="{box}-pick" data-picks="{box}">{items}</select></div>'
    )


def table(
    name: str,
    caption: str,
    columns: Iterable[tuple[str, str, bool]],
    rows: Iterable[str],
    sorted_by: str = "",
) -> str:
    """Write a table whose headings sort; columns are (heading, explanation, words or numbers)."""
    heads = ""
    for text, title, words in columns:
        kind = ' class="words"' if words else ""
        order = ' aria-sort="ascending"' if text == sorted_by else ""
        more = f' title="{escape(title)}"' if title else ""
        heads += f'<th scope="col"{kind}{order}{more}><button type="button">{escape(text)}'
        heads += "</button></th>"
    head = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll" tabindex="0"><table class="sortable" id="{name}">{head}'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def cell(value: float | None, text: str, small: str = "") -> str:
    """Return a cell of a table that is sorted by its value."""
    sort = "" if value is None else f"{value:.8g}"
    more = f"<small>{escape(small)}</small>" if small else ""
    return f'<td data-value="{sort}">{escape(text)}{more}</td>'


def lines(policies: int) -> str:
    """Draw how the policies' lines look, once, for every `swatch` to use."""
    drawn = ""
    for policy in range(policies):
        style = line_style(policy)
        drawn += (
            f'<symbol id="line-{policy}" viewBox="0 0 34 14"><line x1="0" y1="7" x2="34" y2="7" '
            f'style="stroke:var(--ink);stroke-width:2.5" '
            f'stroke-dasharray="{_DASH_ARRAYS[style.dash]}"/>'
            f'<path style="fill:var(--ink)" d="{_SYMBOLS[style.symbol]}"/></symbol>'
        )
    return f'<svg width="0" height="0" style="position:absolute" aria-hidden="true">{drawn}</svg>'


def swatch(policy: int) -> str:
    """Show how a policy's line looks."""
    style = line_style(policy)
    return (
        f'<svg class="swatch" aria-hidden="true" '
        f'style="--light:{style.colour};--dark:{style.colour_on_dark}">'
        f'<use href="#line-{policy}"/></svg>'
    )


def named(policy: int, name: str) -> str:
    """Show a policy's line and its name."""
    return f'<span class="policy">{swatch(policy)}<code>{breakable(name)}</code></span>'


def breakable(name: str) -> str:
    """Let a spec be broken where people would break it."""
    return with_breaks(escape(name))


def with_breaks(escaped: str) -> str:
    """Let a long spec break after its commas and colons."""
    return escaped.replace(",", ",<wbr>").replace(":", ":<wbr>")


def paragraph(text: str) -> str:
    """Make a paragraph of a sentence, if there is one."""
    return f"<p>{marked(text)}</p>" if text else ""


def marked(text: str) -> str:
    """Escape a sentence, and make code of what is between backticks; short code is kept whole."""

    def code(match: re.Match[str]) -> str:
        whole = ' class="whole"' if len(match[1]) <= _SHORT else ""
        return f"<code{whole}>{with_breaks(match[1])}</code>"

    return re.sub(r"`([^`]*)`", code, escape(text))


def plain(text: str) -> str:
    """Drop the marks around names."""
    return text.replace("`", "")


def escape(text: str) -> str:
    """Make a user's text harmless."""
    return html.escape(text, quote=True)


def as_json(data: Mapping[str, Any]) -> str:
    """Write JSON that can stand inside a script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def resource(name: str) -> str:
    """Read a file that is shipped with the package."""
    return files("driftduel.report").joinpath(name).read_text(encoding="utf-8")


def charting_library() -> str:
    """Return the source of plotly.js, or say how to get it."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("plotly", "report", "a report") from None
    return str(get_plotlyjs())
