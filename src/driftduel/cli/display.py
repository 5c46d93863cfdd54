"""What is seen of many games while they are played: on a terminal a live line, else a few lines."""

import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftduel.lab.cells import Outcome

__all__ = ["Display"]

_SECONDS_BETWEEN_LINES = 10.0


class Display:
    """Show cells done, rounds a second, time left and the best policy so far."""

    def __init__(self) -> None:
        self.total = self.done = self.failed = 0
        self._begun = time.monotonic()
        self._shown = self._begun
        self._lock = threading.Lock()
        self._rounds = 0
        self._left = ""
        self._sums: dict[tuple[str, str], tuple[float, int]] = {}
        self._bar: Any = None
        self._task: Any = None

    def begin(self, cells: int, kept: int, rounds: int, workers: int) -> None:
        """Say what is to be done."""
        self.close()
        self.total, self.done, self._first = cells, kept, kept
        if kept:
            self._print(f"{kept:,} of {cells:,} cells are there already.")
        if kept < cells and sys.stderr.isatty():
            self._open_bar()

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self._bar = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("cells"),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[best]}"),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=4,
        )
        self._bar.start()
        self._task = self._bar.add_task(
            "", total=self.total, completed=self.done, speed="", left="", best=""
        )

    def rounds(self, count: int) -> None:
        """Count rounds; any thread may call."""
        with self._lock:
            self._rounds += count
        if self._bar is not None:
            self._bar.update(self._task, speed=self._speed())

    def cell(self, outcome: "Outcome") -> None:
        """Count a cell."""
        cell = outcome.cell
        if outcome.row is None:
            self.failed += 1
            self._print(f"failed: {cell.id}: {outcome.error}")
        else:
            self.done += 1
            total, runs = self._sums.get((cell.world, cell.policy), (0.0, 0))
            self._sums[cell.world, cell.policy] = (total + outcome.row["regret"], runs + 1)
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, best=self._best())
        else:
            self._say_now_and_then(outcome)

    def left(self, seconds: float) -> None:
        """Show the time left."""
        self._left = f"{seconds:,.0f} s left"
        if self._bar is not None:
            self._bar.update(self._task, left=self._left)

    def elsewhere(self, cells: int) -> None:
        """Count cells that another process has played."""
        self.done += cells
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)

    def say(self, text: str) -> None:
        """Pass something unusual on."""
        self._print(text)

    def close(self) -> None:
        """Wipe the live line."""
        if self._bar is not None:
            with suppress(OSError):  # the terminal may be what is gone
                self._bar.stop()
            self._bar = None

    def _say_now_and_then(self, outcome: "Outcome") -> None:
        now = time.monotonic()
        if self.done == self._first + 1 and outcome.row is not None:
            after = f"after {now - self._begun:.1f} s"
            self._print(f"first result {after}: {outcome.cell.id}: {outcome.row['regret']:,.1f}")
        elif now - self._shown > _SECONDS_BETWEEN_LINES:
            self._shown = now
            parts = (f"{self.done:,} of {self.total:,} cells", self._speed(), self._left)
            self._print(f"{', '.join(part for part in parts if part)}; {self._best()}")

    def _speed(self) -> str:
        return f"{self._rounds / max(1e-9, time.monotonic() - self._begun):,.0f} rounds/s"

    def _best(self) -> str:
        """Name the policy with the lowest mean so far, in the world that has most of it."""
        means = {pair: total / runs for pair, (total, runs) in self._sums.items()}
        worlds = {world for world, _ in means}
        if not worlds:
            return ""
        leaders = [min((m, p) for (w, p), m in means.items() if w == world) for world in worlds]
        if len(leaders) == 1:
            return f"best so far: {leaders[0][1]} ({leaders[0][0]:,.0f})"
        names = [policy for _, policy in leaders]
        most = max(sorted(set(names)), key=names.count)
        return f"best so far: {most} (in {names.count(most)} of {len(names)} worlds)"

    def _print(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(f"driftduel: {text}", markup=False, highlight=False)
        else:
            print(f"driftduel: {text}", file=sys.stderr, flush=True)
