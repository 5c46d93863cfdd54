"""Being told to stop: SIGTERM and SIGHUP end every command as Ctrl-C does."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from driftduel.cli.common import INTERRUPTED

__all__ = ["keeping", "say_stopped", "stoppable"]

# What batch systems send before they kill, and what a terminal sends when it is closed.
_SIGNALS = ("SIGTERM", "SIGHUP")


@contextmanager
def stoppable() -> Iterator[None]:
    """Let signals interrupt what is done here, so that it cleans up as for Ctrl-C."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in _SIGNALS:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            # Who started this may want a signal ignored: nohup does.
            if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, _as_ctrl_c)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C would do now: games end between two stretches of rounds, all else at once."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # a shell's background job ignores Ctrl-C, but must end for SIGTERM
        raise KeyboardInterrupt
    handler(number, frame)


@contextmanager
def keeping(folder: str) -> Iterator[None]:
    """Say, should it be stopped, that what is finished is kept in a folder."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"What is finished is kept in {folder}; the same command goes on from there."
        ) from None


def say_stopped(rest: str = "") -> int:
    """Say that the command was stopped, and what of it is left; return the exit code."""
    with suppress(OSError):  # the terminal may be what is gone
        print(f"\ndriftduel: stopped. {rest}".rstrip(), file=sys.stderr, flush=True)
    return INTERRUPTED
