"""Robust standard streams: closed ones, broken pipes and terminals limited to ASCII."""

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from driftduel.cli.terminal import red

__all__ = ["configure_streams", "print_error", "redirect_to_null", "sentence"]

_LONGEST = 1000


def configure_streams() -> None:
    """Replace closed streams by the null device; escape characters that cannot be encoded.

    A process may be started with closed standard streams. The null device must take their file
    descriptors: otherwise the next opened file gets descriptor 1 or 2, and messages overwrite it.
    File names may contain bytes that are invalid in UTF-8, and a terminal may be limited to ASCII:
    such characters are escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # open() returns the lowest free descriptor, which is that of the stream
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - until the end
            setattr(sys, name, stream)
        if mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def redirect_to_null(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that the flush at exit cannot raise."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def sentence(text: object) -> str:
    """Return a message as one printable line of at most about 1,000 characters.

    A message may contain user input. Control characters are escaped, because they could move the
    cursor; the middle of a longer string, such as a whole file given as an argument, is omitted.
    """
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"


def print_error(text: object) -> None:
    """Print an error to stderr; if that is closed, the exit code is the only signal."""
    try:
        print(f"{red('driftduel:')} {sentence(text)}", file=sys.stderr, flush=True)
    except OSError:
        redirect_to_null(sys.stderr)
