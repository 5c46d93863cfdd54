"""Code with highlighting: each token becomes a `span` with one of a few classes."""

import html
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any

__all__ = ["to_spans"]

_LONGEST = 8_000
# Some lexers take quadratic time on such runs: 8,000 line feeds in Java took 2 s.
_RUN = re.compile(r"[\w\s.:]{1000}")
_LANGUAGES = frozenset({
    "bash", "c", "c++", "cpp", "c#", "cs", "csharp", "css", "diff", "go", "golang", "html",
    "http", "ini", "java", "javascript", "js", "json", "julia", "kotlin", "latex", "tex",
    "lua", "matlab", "perl", "php", "powershell", "py", "python", "python3", "r", "rb",
    "ruby", "rs", "rust", "scala", "sh", "shell", "sql", "swift", "toml", "ts", "typescript",
    "xml", "yaml", "yml", "zsh", "dockerfile", "haskell", "console", "pycon",
})  # fmt: skip
"""Languages whose lexers are in wide use; others are shown without highlighting."""
_CLASSES = (
    ("Comment", "c"), ("Keyword", "k"), ("Literal.String", "s"), ("Literal.Number", "n"),
    ("Name.Function", "f"), ("Name.Class", "f"), ("Name.Builtin", "b"), ("Name.Tag", "k"),
    ("Name.Attribute", "f"), ("Name.Decorator", "b"), ("Operator.Word", "k"),
    ("Generic.Inserted", "s"), ("Generic.Deleted", "d"), ("Generic.Heading", "k"),
    ("Generic.Prompt", "c"),
)  # fmt: skip


def to_spans(code: str, language: str) -> str:
    """Return code as escaped HTML; known languages have `span` elements with classes.

    Examples
    --------
    >>> to_spans("def f(): return '<b>'", "python")
    '<span class="k">def</span> <span class="f">f</span>(): <span class="k">return</span> \
<span class="s">&#x27;&lt;b&gt;&#x27;</span>'
    >>> to_spans("<b>", "unknown")
    '&lt;b&gt;'
    """
    lexer = _lexer(language.lower()) if len(code) <= _LONGEST else None
    if lexer is None or _RUN.search(code):
        return html.escape(code)
    return "".join(_spans(lexer, code))


def _spans(lexer: Any, code: str) -> Iterator[str]:
    named = ((_class_of(kind), text) for kind, text in lexer.get_tokens(code))
    for name, run in groupby(named, key=lambda each: each[0]):
        text = html.escape("".join(each[1] for each in run))
        yield f'<span class="{name}">{text}</span>' if name else text


@lru_cache(maxsize=128)
def _lexer(language: str) -> Any:
    """Return a lexer, or None if the language is unknown or Pygments is not installed."""
    if language not in _LANGUAGES:
        return None
    try:
        from pygments.lexers import get_lexer_by_name
        from pygments.util import ClassNotFound
    except ImportError:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _class_of(kind: Any) -> str:
    name = ".".join(kind)
    return next((short for long, short in _CLASSES if name.startswith(long)), "")
