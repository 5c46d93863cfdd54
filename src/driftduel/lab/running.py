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
from driftduel.lab.claims import Claims
from driftduel.lab.engines import Engine
from driftduel.lab.engines.base import SECONDS_BETWEEN_SIGNALS
from driftduel.lab.plan import Cell
from driftduel.lab.store import Store

__all__ = ["Silent", "Speeds", "Watch", "run_cells"]

# A file of the store holds what was finished in about this time, which is all that can be lost.
_SECONDS_A_FILE = 1.0
_ROWS_A_FILE = 256
_SECONDS_BETWEEN_LOOKS = 2.0
# What a process takes at a time from those that fill the same store.
_SECONDS_A_CLAIM = 1.0


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


class Pile:
    """The cells still to be played, by us or by others.

    Parameters
    ----------
    cells
        All of them.
    speeds
        How long they take.
    store
        Where finished ones are found.
    claims
        Whose is which; None if there are no others.
    workers
        How many will take from the pile.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        speeds: Speeds,
        store: Store | None = None,
        claims: Claims | None = None,
        workers: int = 1,
    ) -> None:
        # Ordered: the first of a plain dict is ever harder to find once many before it are gone.
        self._free = OrderedDict((cell.key, cell) for cell in cells)
        self._ours: OrderedDict[str, Cell] = OrderedDict()
        self._others: dict[str, Cell] = {}
        self._met = 0  # cells that others have finished, and nobody has heard of yet
        self._speeds, self._store, self._claims, self._workers = speeds, store, claims, workers
        self._lock = threading.Lock()

    def take(self, seconds: float) -> list[Cell]:
        """Hand out cells that take about so many seconds, at least one; unknown ones alone."""
        with self._lock:
            if not self._ours:
                self._claim(self._workers * max(seconds, _SECONDS_A_CLAIM))
            batch = self._some(self._ours, seconds)
            for cell in batch:
                del self._ours[cell.key]
        return batch

    def _some(self, cells: "OrderedDict[str, Cell]", seconds: float) -> list[Cell]:
        some: list[Cell] = []
        for cell in cells.values():
            needs = self._speeds.guess(cell)
            if some and (needs is None or needs > seconds):
                break
            some.append(cell)
            seconds -= float("inf") if needs is None else needs
            if seconds <= 0:
                break
        return some

    def _claim(self, seconds: float) -> None:
        def choose(taken: set[str], gone: bool) -> list[str]:
            self._sort(taken, gone)
            return [cell.key for cell in self._some(self._free, seconds)]

        keys = choose(set(), False) if self._claims is None else self._claims.take(choose)
        for key in keys:
            self._ours[key] = self._free.pop(key)

    def _sort(self, taken: set[str], gone: bool) -> None:
        """Set apart what others have claimed."""
        if gone:  # some owner is: what it has not finished is free
            self._drop_finished()
            for key in self._others.keys() - taken:
                self._free[key] = self._others.pop(key)
        for key in self._free.keys() & taken:
            self._others[key] = self._free.pop(key)

    def _drop_finished(self) -> None:
        done = self._store.done() if self._store is not None else set()
        for cells in (self._free, self._ours, self._others):
            for key in cells.keys() & done:
                del cells[key]
                self._met += 1

    def seconds_left(self) -> float:
        """Return how long the rest will take one worker; unknown cells, as long as known ones."""
        with self._lock:
            rest = [*self._ours.values(), *self._free.values()]
        guesses = [self._speeds.guess(cell) for cell in rest]
        known = [guess for guess in guesses if guess is not None]
        return sum(known) * len(guesses) / len(known) if known else 0.0

    def look(self) -> tuple[int, bool, bool]:
        """Look what the others do.

        Returns
        -------
        tuple
            How many cells they have finished since, whether there are cells to take, and whether
            there will perhaps be some: those that others play.
        """
        with self._lock:
            if self._claims is not None:
                self._sort(*self._claims.others())
            self._drop_finished()
            met, self._met = self._met, 0
            return met, bool(self._free or self._ours), bool(self._others)


def run_cells(
    store: Store, cells: list[Cell], engine: Engine, watch: Watch | None = None
) -> dict[str, str]:
    """Play the cells that the store does not have, and keep each in it.

    Whatever ends it early - an error, a full disk, Ctrl-C - what was finished until then is in the
    store, and calling it again goes on from there. Other processes may work on the same store: each
    takes cells that no other has, and ends when all are finished; see `Claims`.

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
    speeds = Speeds()
    claims = None if store.scratch else Claims(store.folder)
    pile = Pile(todo, speeds, store, claims, engine.workers)
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

    def look() -> bool:
        """Leave out what others have finished; tell whether there is something to take."""
        while True:
            finished, free, perhaps = pile.look()
            if finished:
                watch.elsewhere(finished)
            if free or not perhaps:
                return free
            time.sleep(SECONDS_BETWEEN_SIGNALS)

    def hear(outcome: Outcome) -> None:
        nonlocal at_stake, looked
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
            finished, _, _ = pile.look()
            if finished:
                watch.elsewhere(finished)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakSpotWarning)  # said when the plan was made
            while look():
                with closing(engine.outcomes(pile.take, watch.rounds)) as stream:
                    for outcome in stream:
                        hear(outcome)
                flush()
    finally:
        try:
            flush()
        finally:
            if claims is not None:
                claims.close()
    return failed
