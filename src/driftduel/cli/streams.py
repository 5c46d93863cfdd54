"""The terminal may be anything: closed, a pipe that nobody reads, one that knows ASCII only."""

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from driftduel.cli.terminal import red

__all__ = ["give_up", "prepare", "say", "sentence"]

_LONGEST = 1000


def prepare() -> None:
    """See to it that anything can be printed, and that what nobody reads goes nowhere.

    A program may be started with closed streams: what it prints is thrown away then, and no file
    that it opens may take their place, or others would write into it. Names of files may hold
    bytes that are no letters, and a terminal may know ASCII only: such characters are escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # what is opened gets the lowest number that is free: theirs
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - until the end
            setattr(sys, name, stream)
        if mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up(stream: TextIO) -> None:
    """Let what is still to be printed go nowhere: the end of the program would try again."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def sentence(text: object) -> str:
    """Make one line of what is to be said, whatever words of others are in it.

    Characters that move a cursor, or are none, are escaped. Of what nobody would read - somebody's
    file, in the place of a word - the middle is left out.
    """
    said = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
    if len(said) <= _LONGEST:
        return said
    return f"{said[: _LONGEST // 2]} ... {said[-_LONGEST // 2 :]}"


def say(text: object) -> None:
    """Say why it ends; where nobody listens, the exit code says it."""
    try:
        print(f"{red('driftduel:')} {sentence(text)}", file=sys.stderr, flush=True)
    except OSError:
        give_up(sys.stderr)
