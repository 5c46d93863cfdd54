"""A progress line for long games, printed on a terminal only."""

import sys
import time

from driftduel._internal.wording import duration, share, short

__all__ = ["Progress"]


class Progress:
    """A callback that prints the progress of a game: share, rounds per second, time left."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.begun: float | None = None  # time.monotonic() after the first rounds
        self.first = 0  # number of the first rounds
        self.shown = 0.0
        self.written = False

    def __call__(self, done: int, total: int) -> None:
        """Print the line at most twice per second.

        The first rounds are not timed: they include the compilation, so their speed would be no
        estimate of the speed of the others.
        """
        now = time.monotonic()
        if self.begun is None:
            self.begun = self.shown = now  # short work prints nothing
            self.first = done
        if not sys.stderr.isatty() or now - self.shown < 0.5 or done <= self.first:
            return
        self.shown = now
        speed = (done - self.first) / (now - self.begun)
        left = (total - done) / speed
        how_far = f"{share(done / total, 1):>6}  {short(speed)} rounds/s  {duration(left)} left"
        text = f"{self.label}: {how_far}"
        print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)
        self.written = True

    def close(self) -> None:
        """Erase the line."""
        if self.written:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
