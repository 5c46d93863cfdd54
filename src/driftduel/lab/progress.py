"""Listeners for the progress of many games: none, a terminal, a notebook, or a log."""

import sys
import threading
import time
import warnings
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

from driftduel._internal.wording import counted, duration, number, short

if TYPE_CHECKING:
    from driftduel.lab.cells import Outcome
    from driftduel.lab.plan import Cell
    from driftduel.lab.result import Results

__all__ = ["Display", "NullListener", "ProgressListener", "in_notebook"]

_WIDE = 100  # columns of a terminal
_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_PICTURES = 0.25


class ProgressListener:
    """A listener for progress events; override the methods you need.

    All methods have an empty default. Methods are called in the thread of `sweep` unless their
    description states otherwise.
    """

    def opened(self, results: "Results", cells: "list[Cell]") -> None:
        """Called with the results and the selected cells, before any cell is played."""

    def begin(self, cells: int, kept: int, rounds: int, workers: int) -> None:
        """Called with the numbers of cells, of finished cells, of rounds to play and of workers."""

    def compiling(self, ready: int | None, policies: int) -> None:
        """Called with the number of compiled policies; None when no policy is being compiled.

        Called from any thread, so the method must be thread-safe.
        """

    def rounds(self, count: int) -> None:
        """Called with a number of rounds played; from any thread, so it must be thread-safe."""

    def cell(self, outcome: "Outcome") -> None:
        """Called with the outcome of a finished or failed cell."""

    def left(self, seconds: float) -> None:
        """Called with an estimate of the seconds left."""

    def elsewhere(self, cells: int) -> None:
        """Called with the number of cells that other processes finished since the last call."""

    def say(self, text: str) -> None:
        """Called with a warning, such as a damaged file."""


class NullListener(ProgressListener):
    """A listener that ignores events and forwards warnings to `warnings.warn`."""

    def say(self, text: str) -> None:
        """Emit a Python warning."""
        warnings.warn(text, stacklevel=2)


def in_notebook() -> bool:
    """Return whether the code runs in a notebook, which can display HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class _TerminalBar:
    """A progress bar of rich on stderr."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        console = Console(stderr=True)
        bar = 24 if console.width >= _WIDE else 10
        # The status is cut to fit, because rich would otherwise truncate the bar and the numbers.
        self._room = console.width - bar - len(f" {total}/{total} cells 0:00:00 ")
        self._bar = Progress(
            BarColumn(bar_width=bar),
            MofNCompleteColumn(),
            TextColumn("cells"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[status]}", markup=False),
            console=console,
            transient=True,
            refresh_per_second=4,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=total, status="")

    def show(self, done: int, status: str) -> None:
        cut = status if len(status) <= self._room else f"{status[: max(0, self._room - 3)]}..."
        self._bar.update(self._task, completed=done, status=cut)

    def say(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        with suppress(OSError):  # the terminal may be closed
            self._bar.stop()


class _NotebookBar:
    """A progress bar in HTML, below the running cell of the notebook."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._shown = 0.0
        self._lock = threading.Lock()
        self._handle: Any = self._display(0, "")

    def _html(self, done: int, status: str) -> Any:
        from IPython.display import HTML  # type: ignore[import-not-found]

        return HTML(
            f'<progress max="{self._total}" value="{done}"></progress> '
            f"{done:,} of {counted(self._total, 'cell')} {escape(status)}"
        )

    def _display(self, done: int, status: str) -> Any:
        from IPython.display import display

        return display(self._html(done, status), display_id=True)

    def show(self, done: int, status: str) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._shown < _SECONDS_BETWEEN_PICTURES and done < self._total:
                return
            self._shown = now
            self._handle.update(self._html(done, status))

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class Display(ProgressListener):
    """A display of finished cells, rounds per second, time left and the best policy so far.

    It is a bar on a terminal and in a notebook, and a line every ten seconds elsewhere.
    """

    def __init__(self) -> None:
        self.total = self.done = self.failed = 0
        self.results: Results | None = None
        self.cells: list[Cell] = []
        self._begun = time.monotonic()
        self._shown = self._begun
        self._lock = threading.Lock()
        self._rounds = 0
        self._left = self._compiling = ""
        self._said_compiling = False
        self._sums: dict[tuple[str, str], tuple[float, int]] = {}
        self._bar: _TerminalBar | _NotebookBar | None = None

    def opened(self, results: "Results", cells: "list[Cell]") -> None:
        """Store the arguments as attributes for the later events."""
        self.results, self.cells = results, cells

    def begin(self, cells: int, kept: int, rounds: int, workers: int) -> None:
        """Start the bar, and print the number of cells that are already finished."""
        self.close()
        self.total, self.done, self._first = cells, kept, kept
        if kept:
            self._print(f"{kept:,} of {cells:,} cells are already finished.")
        if kept < cells:
            if in_notebook():
                self._bar = _NotebookBar(cells)
            elif sys.stderr.isatty():
                self._bar = _TerminalBar(cells)
            self._show()

    def compiling(self, ready: int | None, policies: int) -> None:
        """Show the number of compiled policies in place of the time left; thread-safe."""
        self._compiling = (
            "" if ready is None else f"compiling, {ready} of {policies} policies ready"
        )
        if self._bar is not None:
            self._show()
        elif self._compiling and not self._said_compiling:
            self._said_compiling = True
            self._print(f"{self._compiling}; compiled code is cached for later runs.")

    def rounds(self, count: int) -> None:
        """Add to the number of rounds; thread-safe, because a lock is held."""
        with self._lock:
            self._rounds += count
        if self._bar is not None:
            self._show()

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
            self._show()
        else:
            self._print_line(outcome)

    def left(self, seconds: float) -> None:
        """Show the time left."""
        self._left = f"{duration(seconds)} left"
        self._show()

    def elsewhere(self, cells: int) -> None:
        """Add to the number of cells finished by other processes."""
        self.done += cells
        self._show()

    def say(self, text: str) -> None:
        """Print a warning."""
        self._print(text)

    def close(self) -> None:
        """Erase the bar."""
        if self._bar is not None:
            self._show()
            self._bar.close()
            self._bar = None

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.show(self.done, self._status())

    def _status(self) -> str:
        """Return a string with the speed, the time left or the compilation, and the best policy."""
        timing = (self._compiling,) if self._compiling else (self._speed(), self._left)
        parts = (*timing, self._best())
        return "  ".join(part for part in parts if part)

    def _print_line(self, outcome: "Outcome") -> None:
        now = time.monotonic()
        if self.done == self._first + 1 and outcome.row is not None:
            after = f"after {duration(now - self._begun)}"
            self._print(f"first result {after}: {outcome.cell.id}: {number(outcome.row['regret'])}")
        elif now - self._shown > _SECONDS_BETWEEN_LINES:
            self._shown = now
            parts = (
                f"{self.done:,} of {self.total:,} cells",
                self._speed(),
                self._compiling or self._left,
            )
            self._print(f"{', '.join(part for part in parts if part)}; {self._best()}")

    def _speed(self) -> str:
        if not self._rounds:
            return ""
        return f"{short(self._rounds / max(1e-9, time.monotonic() - self._begun))} rounds/s"

    def _best(self) -> str:
        """Return a string with the policy that has the lowest mean in most of the worlds."""
        means = {pair: total / runs for pair, (total, runs) in list(self._sums.items())}
        worlds = {world for world, _ in means}
        if not worlds:
            return ""
        leaders = [min((m, p) for (w, p), m in means.items() if w == world) for world in worlds]
        if len(leaders) == 1:
            return f"best so far: {leaders[0][1]} ({number(leaders[0][0])})"
        names = [policy for _, policy in leaders]
        most = max(sorted(set(names)), key=names.count)
        return f"best so far: {most} (in {names.count(most)} of {len(names)} worlds)"

    def _print(self, text: str) -> None:
        if self._bar is not None:
            self._bar.say(f"driftduel: {text}")
        else:
            print(f"driftduel: {text}", file=sys.stderr, flush=True)
