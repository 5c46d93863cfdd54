"""HTML pages: Python prepares plain data, templates render the HTML.

A package with a page has a folder ``templates`` beside its modules; the layout, its light and dark
colours, and sortable tables are shared and stored here. All values passed to a template are
escaped, so no name of a policy, a world or a folder can become a tag.
"""

import html
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from driftduel._internal import wording
from driftduel.errors import MissingExtraError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["as_json", "environment", "html_escaped", "marked"]

_SHORT = 30


def environment(package: str, extra: str = "report") -> "Environment":
    """Return the template environment of a package, e.g. of ``driftduel.report``.

    Escaping is always on, and a missing value is an error. Templates have the filters
    ``spec`` (a name that may break after its commas and colons), ``marked`` (a sentence with names
    between backticks) and ``sortable`` (a number to sort by), the functions of
    `driftduel._internal.wording` as filters and as functions, and
    ``source(name)``, the content of a file beside them. The
    argument `extra` is named in the error if a package is missing.
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
    """Return a user's text with HTML escaped."""
    return html.escape(text, quote=True)


def _spec(name: str) -> "Markup":
    return _safe(_with_breaks(html_escaped(name)))


def _with_breaks(escaped: str) -> str:
    return escaped.replace(",", ",<wbr>").replace(":", ":<wbr>")


def marked(text: str) -> "Markup":
    """Escape a sentence, and mark text between backticks as code; short code is not wrapped."""

    def code(match: re.Match[str]) -> str:
        whole = ' class="whole"' if len(match[1]) <= _SHORT else ""
        return f"<code{whole}>{_with_breaks(match[1])}</code>"

    return _safe(re.sub(r"`([^`]*)`", code, html_escaped(text)))


def _sortable(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"


def as_json(data: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
