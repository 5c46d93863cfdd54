"""Bounds on the length of one compiled call, so that Ctrl-C is handled."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["MOST_ROUNDS", "CallBudget", "interruptible"]

# Long enough to make call overhead negligible, short enough for Ctrl-C and progress.
MOST_ROUNDS = 1 << 17
_SECONDS_A_CALL = 0.2


class CallBudget:
    """An adaptive number of rounds per compiled call, about a fifth of a second each.

    The time of a round varies from 10 ns to seconds, and is unknown before the first call. So the
    first call plays one round, and the number grows by a bounded factor from call to call.
    """

    def __init__(self) -> None:
        self.rounds = 1
        self.seconds = 0.0

    def note(self, rounds: int, seconds: float) -> None:
        """Update the estimate with the duration of a call."""
        self.seconds += seconds
        fitting = int(rounds * _SECONDS_A_CALL / max(seconds, 1e-9))
        self.rounds = max(1, min(fitting, 16 * self.rounds, MOST_ROUNDS))


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed, to end a game between two calls."""
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        pressed = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
