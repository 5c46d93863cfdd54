"""How long compiled code may run before somebody is asked whether it should go on."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["MOST_ROUNDS", "Pace", "interruptible"]

# Long enough that the calls cost nothing, short enough that Ctrl-C and progress feel immediate.
MOST_ROUNDS = 1 << 17
_SECONDS_A_CALL = 0.2


class Pace:
    """How many rounds the next call may play: about as many as fit into a fifth of a second.

    A round takes a hundredth of a microsecond or a second; nobody knows before the first. So the
    first call plays one, and none plays many times more than the one before it.
    """

    def __init__(self) -> None:
        self.rounds = 1
        self.seconds = 0.0

    def note(self, rounds: int, seconds: float) -> None:
        """Learn how long a call took."""
        self.seconds += seconds
        fitting = int(rounds * _SECONDS_A_CALL / max(seconds, 1e-9))
        self.rounds = max(1, min(fitting, 16 * self.rounds, MOST_ROUNDS))


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C into a question, so that a game ends between two stretches and not inside."""
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
