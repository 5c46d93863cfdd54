"""The screen: how wide it is, and whether somebody sees colours on it."""

import os
import shutil
import sys
from contextvars import ContextVar
from typing import TextIO

__all__ = ["bold", "colourful", "red", "show_everything", "width"]

_NARROWEST = 40
_CODES = {"bold": "1", "red": "31"}

_everything = ContextVar("everything", default=False)


def show_everything(wanted: bool) -> None:
    """Let tables have all their columns from now on, however wide the screen is."""
    _everything.set(wanted)


def width() -> int | None:
    """Return how many columns there are for a table; None where all of it is to be shown.

    A pipe gets everything, always the same: who reads it, reads it with a program.
    """
    if _everything.get() or not sys.stdout.isatty():
        return None
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def colourful(stream: TextIO) -> bool:
    """Tell whether a stream is to have colours: on a terminal, unless the environment objects."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return os.environ["FORCE_COLOR"] != "0"
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def bold(text: str) -> str:
    """Make a heading of what goes to stdout."""
    return _painted(text, "bold", sys.stdout)


def red(text: str) -> str:
    """Make an error of what goes to stderr."""
    return _painted(text, "red", sys.stderr)


def _painted(text: str, how: str, stream: TextIO) -> str:
    if not text or not colourful(stream):
        return text
    return f"\x1b[{_CODES[how]}m{text}\x1b[0m"
