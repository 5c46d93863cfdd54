"""Properties of the terminal: its width, and whether it supports colours."""

import os
import shutil
import sys
from contextvars import ContextVar
from typing import TextIO

__all__ = ["bold", "red", "set_wide", "supports_colour", "width"]

_NARROWEST = 40
_CODES = {"bold": "1", "red": "31"}

_everything = ContextVar("everything", default=False)


def set_wide(wide: bool) -> None:
    """Set whether tables show all columns regardless of the terminal's width."""
    _everything.set(wide)


def width() -> int | None:
    """Return the number of columns for a table, at least 40; None for no limit.

    There is no limit if stdout is not a terminal: the output of a pipe is parsed by programs and
    must not depend on the terminal.
    """
    if _everything.get() or not sys.stdout.isatty():
        return None
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def supports_colour(stream: TextIO) -> bool:
    """Return whether to print colours: on a terminal, unless NO_COLOR or TERM=dumb is set.

    FORCE_COLOR takes precedence over the type of the stream.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return os.environ["FORCE_COLOR"] != "0"
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def bold(text: str) -> str:
    """Return text in bold if stdout supports it."""
    return _paint(text, "bold", sys.stdout)


def red(text: str) -> str:
    """Return text in red if stderr supports it."""
    return _paint(text, "red", sys.stderr)


def _paint(text: str, how: str, stream: TextIO) -> str:
    if not text or not supports_colour(stream):
        return text
    return f"\x1b[{_CODES[how]}m{text}\x1b[0m"
