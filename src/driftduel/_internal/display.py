"""Text and HTML representations of objects: a title, and a few named values."""

import textwrap
from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["NO_BREAK", "Fact", "as_html", "as_text"]

Fact = tuple[str, str]
NO_BREAK = "\N{NO-BREAK SPACE}"
"""A space without a line break; it is written as a plain one."""

_WIDTH = 88


def as_text(title: str, facts: Sequence[Fact]) -> str:
    """Return a title and the named values below it as text; long values are wrapped.

    Examples
    --------
    >>> print(as_text("king", [("seed", "1"), ("regret", "812")]))
    king
      seed    1
      regret  812
    """
    width = max((len(name) for name, _ in facts), default=0)
    lines = [title]
    for name, text in facts:
        head = f"  {name:<{width}}  " if name else "  "
        folded = textwrap.wrap(
            text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head),
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        lines += folded or [head.rstrip()]
    return "\n".join(lines).replace(NO_BREAK, " ")


def as_html(title: str, facts: Iterable[Fact]) -> str:
    """Return a title and the named values as an HTML table, escaped."""
    rows = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th>'
        f'<td style="text-align: left">{escape(text)}</td></tr>'
        for name, text in facts
    )
    return f"<p>{escape(title)}</p><table><tbody>{rows}</tbody></table>"
