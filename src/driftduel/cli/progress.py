"""One line of progress for long work, on a terminal only."""

import sys
import time

from driftduel.wording import duration, share, short

__all__ = ["Progress"]


class Progress:
    """Show how far a game is: rounds, rounds a second, time left."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.begun = time.monotonic()
        self.shown = self.begun  # nothing is shown for work that takes less than a moment
        self.written = False

    def __call__(self, done: int, total: int) -> None:
        """Show the line again if it is time to."""
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self.shown < 0.5:
            return
        self.shown = now
        speed = done / (now - self.begun)
        left = (total - done) / speed
        how_far = f"{share(done / total, 1):>6}  {short(speed)} rounds/s  {duration(left)} left"
        text = f"{self.label}: {how_far}"
        print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)
        self.written = True

    def close(self) -> None:
        """Wipe the line."""
        if self.written:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
