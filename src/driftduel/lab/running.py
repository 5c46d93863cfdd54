"""Play what a plan asks for and the store does not have yet."""

import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import closing
from typing import Any, Protocol

from driftduel.errors import WeakSpotWarning
from driftduel.lab.cells import Outcome
from driftduel.lab.engines import Engine
from driftduel.lab.plan import Cell
from driftduel.lab.store import Store

__all__ = ["Silent", "Speeds", "Watch", "run_cells"]

# A file of the store holds what was finished in about this time, which is all that can be lost.
_SECONDS_A_FILE = 1.0
_ROWS_A_FILE = 256
_SECONDS_BETWEEN_LOOKS = 2.0


class Watch(Protocol):
    """Somebody who looks on."""

    def begin(self, cells: int, kept: int, rounds: int, workers: int) -> None:
        """Hear how many cells there are, how many were finished before, and the rounds to play."""

    def rounds(self, count: int) -> None:
        """Hear that rounds were played; called from any thread."""

    def cell(self, outcome: Outcome) -> None:
        """Hear that a cell was finished, or failed."""

    def left(self, seconds: float) -> None:
        """Hear how long it will probably take."""

    def elsewhere(self, cells: int) -> None:
        """Hear that another process finished cells meanwhile."""

    def say(self, text: str) -> None:
        """Hear of something unusual."""


class Silent:
    """Nobody looks on."""

    def begin(self, cells: int, kept: int, rounds: int, workers: int) -> None:
        """Do nothing."""

    def rounds(self, count: int) -> None:
        """Do nothing."""

    def cell(self, outcome: Outcome) -> None:
        """Do nothing."""

    def left(self, seconds: float) -> None:
        """Do nothing."""

    def elsewhere(self, cells: int) -> None:
        """Do nothing."""

    def say(self, text: str) -> None:
        """Warn: nothing unusual goes unsaid."""
        warnings.warn(text, stacklevel=2)


class Speeds:
    """How long the cells of a policy take in a world, from those that were played."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def learn(self, cell: Cell, seconds: float, in_loop: float) -> None:
        """Remember how long a cell took, and how long of that its loop ran.

        Of the first only the loop counts: all else may have been compilation.
        """
        total, cells = self._seen.get((cell.world, cell.policy), (0.0, 0))
        took = seconds if cells else in_loop
        self._seen[cell.world, cell.policy] = (total + took, cells + 1)

    def guess(self, cell: Cell) -> float | None:
        """Return how many seconds a cell will take; None while nothing is known."""
        total, cells = self._seen.get((cell.world, cell.policy), (0.0, 0))
        return total / cells if cells else None


class _Pile:
    """The cells still to be played."""

    def __init__(self, cells: Iterable[Cell], speeds: Speeds) -> None:
        # Ordered: the first of a plain dict is ever harder to find once many before it are gone.
        self._cells = OrderedDict((cell.key, cell) for cell in cells)
        self._speeds = speeds
        self._lock = threading.Lock()

    def take(self, seconds: float) -> list[Cell]:
        """Hand out cells that take about so many seconds, at least one; unknown ones alone."""
        batch: list[Cell] = []
        with self._lock:
            while self._cells:
                cell = next(iter(self._cells.values()))
                needs = self._speeds.guess(cell)
                if batch and (needs is None or needs > seconds):
                    break
                batch.append(self._cells.pop(cell.key))
                seconds -= float("inf") if needs is None else needs
                if seconds <= 0:
                    break
        return batch

    def seconds_left(self) -> float:
        """Return how long the rest will take one worker; unknown cells, as long as known ones."""
        with self._lock:
            guesses = [self._speeds.guess(cell) for cell in self._cells.values()]
        known = [guess for guess in guesses if guess is not None]
        return sum(known) * len(guesses) / len(known) if known else 0.0

    def drop(self, keys: set[str]) -> int:
        """Forget cells that somebody else has finished; return how many."""
        with self._lock:
            gone = self._cells.keys() & keys
            for key in gone:
                del self._cells[key]
        return len(gone)


def run_cells(
    store: Store, cells: list[Cell], engine: Engine, watch: Watch | None = None
) -> dict[str, str]:
    """Play the cells that the store does not have, and keep each in it.

    Whatever ends it early - an error, a full disk, Ctrl-C - what was finished until then is in the
    store, and calling it again goes on from there. Another process may work on the same store: the
    second to come begins at the other end, and each leaves out what the other has finished.

    Returns
    -------
    dict
        Cells that failed, by id, and why. They are tried again next time.
    """
    watch = watch or Silent()
    done = store.done()
    for path in store.set_aside():
        watch.say(f"{path}: damaged, so it was set aside; its cells are played again.")
    todo = [cell for cell in cells if cell.key not in done]
    watch.begin(len(cells), len(cells) - len(todo), sum(c.rounds for c in todo), engine.workers)
    if not todo:
        return {}
    if not store.is_first():
        todo.reverse()
    speeds = Speeds()
    pile = _Pile(todo, speeds)
    rows: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    written = looked = time.monotonic()
    at_stake = 0.0  # seconds of work that are not written yet

    def flush() -> None:
        nonlocal rows, written, at_stake
        if rows:
            store.add(rows)
            rows = []  # not before: Ctrl-C may come while they are written
        written, at_stake = time.monotonic(), 0.0

    try:
        with (
            warnings.catch_warnings(),
            closing(engine.outcomes(pile.take, watch.rounds)) as stream,
        ):
            warnings.simplefilter("ignore", WeakSpotWarning)  # said when the plan was made
            for outcome in stream:
                if outcome.row is None:
                    failed[outcome.cell.id] = outcome.error or "for no known reason"
                    store.fail(outcome.cell, failed[outcome.cell.id])
                else:
                    rows.append(outcome.row)
                    took = outcome.row["seconds_cell"]
                    speeds.learn(outcome.cell, took, outcome.row["seconds"])
                    at_stake += took / engine.workers
                watch.cell(outcome)
                now = time.monotonic()
                waited = max(now - written, at_stake)
                if waited > _SECONDS_A_FILE or len(rows) >= _ROWS_A_FILE:
                    flush()
                if now - looked > _SECONDS_BETWEEN_LOOKS:
                    looked = now
                    watch.left(pile.seconds_left() / engine.workers)
                    elsewhere = pile.drop(store.done())
                    if elsewhere:
                        watch.elsewhere(elsewhere)
    finally:
        try:
            flush()
        finally:
            store.close()
    return failed
