"""Pages for a browser: Python prepares plain data, templates write the HTML.

A room that has a page keeps its templates in a folder ``templates`` beside its modules; what pages
have in common - the layout, its colours for day and night, tables that sort - is in ours. Whatever
a template is given is escaped, so no name of a policy, a world or a folder can become a tag.
"""

import html
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from driftduel import wording
from driftduel.errors import MissingExtraError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["as_json", "environment", "html_escaped", "marked"]

_SHORT = 30


def environment(package: str, extra: str = "report") -> "Environment":
    """Return what renders the templates of a room, e.g. of ``driftduel.report``.

    Escaping is always on, and a value that was forgotten is an error. Templates have the filters
    ``spec`` (a name that may break after its commas and colons), ``marked`` (a sentence with names
    between backticks) and ``sortable`` (a number to sort by), all that `driftduel.wording` writes,
    as filters and as functions, and ``source(name)``, a file beside them as it is. `extra` is what
    to install if something is missing.
    """
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("jinja2", extra, "a page") from None
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__name__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    writers = {name: getattr(wording, name) for name in wording.__all__}
    made.filters |= {**writers, "spec": _spec, "marked": marked, "sortable": _sortable}
    made.globals |= {**writers, "source": lambda name: _safe(_read(made, name))}
    return made


def _read(made: "Environment", name: str) -> str:
    assert made.loader is not None
    return made.loader.get_source(made, name)[0]


def _safe(text: str) -> "Markup":
    from markupsafe import Markup

    return Markup(text)


def html_escaped(text: str) -> str:
    """Make a user's text harmless."""
    return html.escape(text, quote=True)


def _spec(name: str) -> "Markup":
    return _safe(_with_breaks(html_escaped(name)))


def _with_breaks(escaped: str) -> str:
    return escaped.replace(",", ",<wbr>").replace(":", ":<wbr>")


def marked(text: str) -> "Markup":
    """Escape a sentence, and make code of what is between backticks; short code is kept whole."""

    def code(match: re.Match[str]) -> str:
        whole = ' class="whole"' if len(match[1]) <= _SHORT else ""
        return f"<code{whole}>{_with_breaks(match[1])}</code>"

    return _safe(re.sub(r"`([^`]*)`", code, html_escaped(text)))


def _sortable(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"


def as_json(data: Mapping[str, Any]) -> str:
    """Write JSON that can stand inside a script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
