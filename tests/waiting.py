"""Waiting, for tests: the only place that reads a clock, and only to tell a hang from a wait.

How long something takes says more about the machine than about the code. A test asks what was done
and in which order; `make bench` measures times.
"""

import signal
import time
from contextlib import contextmanager

#: Nothing that works takes so long, however busy the machine.
LONG = 300


def eventually(condition):
    """Wait until a condition holds; return whether it ever did."""
    end = time.monotonic() + LONG
    while not (held := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return held


@contextmanager
def no_hanging():
    """Fail rather than wait for ever."""

    def ring(*_):
        raise TimeoutError(f"not finished within {2 * LONG} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 2 * LONG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
