"""Signal handlers: SIGTERM and SIGHUP interrupt every command as Ctrl-C does."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from driftduel.cli.common import INTERRUPTED

__all__ = ["handle_signals", "print_stopped", "with_resume_hint"]

# Batch systems send SIGTERM before SIGKILL; a terminal sends SIGHUP when it is closed.
_SIGNALS = ("SIGTERM", "SIGHUP")


@contextmanager
def handle_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP inside the block, so that it cleans up.

    Has no effect outside the main thread, where Python does not deliver signals.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in _SIGNALS:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            # The parent process may have set a signal to be ignored, as nohup does.
            if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, _as_ctrl_c)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """Call the present handler of Ctrl-C: games end after a segment, other code immediately."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # background jobs ignore SIGINT, but must end on SIGTERM
        raise KeyboardInterrupt
    handler(number, frame)


@contextmanager
def with_resume_hint(folder: str) -> Iterator[None]:
    """Add the folder of finished results to a KeyboardInterrupt of the block."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Finished cells are kept in {folder}; the same command resumes."
        ) from None


def print_stopped(rest: str = "") -> int:
    """Print that the command was interrupted, with a sentence `rest`; return the exit code."""
    with suppress(OSError):  # after SIGHUP the terminal may be closed
        print(f"\ndriftduel: stopped. {rest}".rstrip(), file=sys.stderr, flush=True)
    return INTERRUPTED
