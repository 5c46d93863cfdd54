"""One line of progress for long work, on a terminal only."""

import sys
import time

from driftduel.wording import duration, share, short

__all__ = ["Progress"]


class Progress:
    """Show how far a game is: rounds, rounds a second, time left."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.begun: float | None = None  # when the first rounds had been played
        self.first = 0  # and how many these were
        self.shown = 0.0
        self.written = False

    def __call__(self, done: int, total: int) -> None:
        """Show the line again if it is time to.

        The first rounds are not timed: everything is compiled for them, which says nothing of the
        time that the others take.
        """
        now = time.monotonic()
        if self.begun is None:
            self.begun = self.shown = now  # nothing is shown for work that takes less than a moment
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
        """Wipe the line."""
        if self.written:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
