"""Play the cells of a plan that the store does not contain."""

import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from driftduel._internal.notices import watching
from driftduel.errors import DriftduelError, WeakSpotWarning
from driftduel.lab.cells import Outcome
from driftduel.lab.claims import Claims
from driftduel.lab.engines import Engine
from driftduel.lab.engines.base import SECONDS_BETWEEN_SIGNALS
from driftduel.lab.plan import Cell
from driftduel.lab.progress import NullListener, ProgressListener
from driftduel.lab.store import Store

__all__ = ["Speeds", "run_cells"]

# Rows are written to the store at this interval in seconds; a crash loses at most this much work.
_SECONDS_A_FILE = 1.0
_ROWS_A_FILE = 256
_SECONDS_BETWEEN_LOOKS = 2.0
# Seconds of work that a process claims at a time: short, so that no other process is starved.
_SECONDS_A_CLAIM = 1.0


class Speeds:
    """A predictor object of the seconds per cell, by policy and world, from finished cells."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def learn(self, cell: Cell, seconds: float, in_loop: float) -> None:
        """Record the seconds of a cell, and the part `in_loop` of its compiled loop.

        Of the first cell only the loop is counted, because the rest may be compilation.
        """
        total, cells = self._seen.get((cell.world, cell.policy), (0.0, 0))
        took = seconds if cells else in_loop
        self._seen[cell.world, cell.policy] = (total + took, cells + 1)

    def guess(self, cell: Cell) -> float | None:
        """Return the expected seconds of a cell; None without a finished cell of this kind."""
        total, cells = self._seen.get((cell.world, cell.policy), (0.0, 0))
        return total / cells if cells else None


class WorkQueue:
    """A thread-safe queue of unfinished cells, shared with other processes by claims.

    Parameters
    ----------
    cells
        All unfinished cells.
    speeds
        The predictor of seconds per cell.
    store
        The store with finished cells, also of other processes.
    claims
        The claims of all processes; None if no other process uses the store.
    workers
        The number of workers that take cells from the queue.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        speeds: Speeds,
        store: Store | None = None,
        claims: Claims | None = None,
        workers: int = 1,
    ) -> None:
        # An OrderedDict pops its first item in constant time; a plain dict scans deleted slots.
        self._free = OrderedDict((cell.key, cell) for cell in cells)
        self._ours: OrderedDict[str, Cell] = OrderedDict()
        self._others: dict[str, Cell] = {}
        self._met = 0  # cells finished by other processes and not reported yet
        self._speeds, self._store, self._claims, self._workers = speeds, store, claims, workers
        self._lock = threading.Lock()

    def take(self, seconds: float) -> list[Cell]:
        """Return cells of about so many seconds, at least one; one cell if the time is unknown."""
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
        """Move the cells that others have claimed out of the free ones."""
        if gone:  # an owner has ended: its unfinished cells are free again
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
        """Return the seconds that one worker needs for the rest; unknown ones count as the mean."""
        with self._lock:
            rest = [*self._ours.values(), *self._free.values()]
        guesses = [self._speeds.guess(cell) for cell in rest]
        known = [guess for guess in guesses if guess is not None]
        return sum(known) * len(guesses) / len(known) if known else 0.0

    def look(self) -> tuple[int, bool, bool]:
        """Read the state of the other processes.

        Returns
        -------
        tuple
            The number of cells they have finished since the last call, whether there are free
            cells, and whether other processes still play cells, which may become free.
        """
        with self._lock:
            if self._claims is not None:
                self._sort(*self._claims.others())
            self._drop_finished()
            met, self._met = self._met, 0
            return met, bool(self._free or self._ours), bool(self._others)


def run_cells(
    store: Store, cells: list[Cell], engine: Engine, watch: ProgressListener | None = None
) -> dict[str, str]:
    """Play the cells that the store does not contain, and add each to the store.

    If an error, a full disk or Ctrl-C ends it early, finished cells are in the store, and the next
    call resumes. Several processes may use the same store concurrently: each plays cells that no
    other process has claimed, and returns when all are finished; see `Claims`.

    A cell with an invalid plan, such as a world that has a round without a winner, ends the run
    with an error.

    Returns
    -------
    dict
        Error messages of failed cells by id. The next call retries them.
    """
    watch = watch or NullListener()
    done = store.done()
    if store.outdated:
        watch.say(store.outdated)
        store.outdated = None
    for path in store.set_aside():
        watch.say(f"{path}: damaged and renamed; its cells are played again.")
    todo = [cell for cell in cells if cell.key not in done]
    watch.begin(len(cells), len(cells) - len(todo), sum(c.rounds for c in todo), engine.workers)
    if not todo:
        return {}
    claims = None if store.scratch else Claims(store.folder)
    run = _Run(store, todo, engine, watch, claims)
    try:
        with warnings.catch_warnings(), watching(run.on_compiling):
            warnings.simplefilter("ignore", WeakSpotWarning)  # emitted when the plan was made
            while run.has_more():
                with closing(engine.outcomes(run.pile.take, watch.rounds)) as stream:
                    for outcome in stream:
                        run.add(outcome)
                run.flush()
    finally:
        try:
            run.flush()
        finally:
            if claims is not None:
                claims.close()
    return run.failed


class _Run:
    """The state of one run: rows to write, failed cells, and progress events."""

    def __init__(
        self,
        store: Store,
        todo: list[Cell],
        engine: Engine,
        watch: ProgressListener,
        claims: Claims | None,
    ) -> None:
        self.failed: dict[str, str] = {}
        self._speeds = Speeds()
        self.pile = WorkQueue(todo, self._speeds, store, claims, engine.workers)
        self._store, self._engine, self._watch = store, engine, watch
        self._rows: list[dict[str, Any]] = []
        self._at_stake = 0.0  # seconds of work not written yet
        self._written = self._looked = time.monotonic()
        self._policies = {cell.policy for cell in todo}
        self._ready: set[str] = set()
        self._compiled_now: set[str] = set()
        self._lock = threading.Lock()

    def on_compiling(self, policy: str, begins: bool) -> None:
        """Report the number of compiled policies to the listener; called from any thread."""
        with self._lock:
            if policy not in self._policies:  # of another run in this process
                return
            if begins:
                self._compiled_now.add(policy)
            else:
                self._compiled_now.discard(policy)
                self._ready.add(policy)
            ready = len(self._ready) if self._compiled_now else None
        self._watch.compiling(ready, len(self._policies))

    def has_more(self) -> bool:
        """Return whether cells are left, after removing those that others have finished."""
        while True:
            finished, free, perhaps = self.pile.look()
            if finished:
                self._watch.elsewhere(finished)
            if free or not perhaps:
                return free
            time.sleep(SECONDS_BETWEEN_SIGNALS)

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of a cell, write rows at intervals, and report progress."""
        if outcome.ends:
            raise DriftduelError(outcome.error)
        if outcome.row is None:
            self.failed[outcome.cell.id] = outcome.error or "unknown error"
            self._store.fail(outcome.cell, self.failed[outcome.cell.id])
        else:
            self._rows.append(outcome.row)
            took = outcome.row["seconds_cell"]
            self._speeds.learn(outcome.cell, took, outcome.row["seconds"])
            self._at_stake += took / self._engine.workers
        self._watch.cell(outcome)
        with self._lock:
            self._ready.add(outcome.cell.policy)
        if outcome.cell.policy in self._compiled_now:  # its process died before the game began
            self.on_compiling(outcome.cell.policy, False)
        now = time.monotonic()
        waited = max(now - self._written, self._at_stake)
        if waited > _SECONDS_A_FILE or len(self._rows) >= _ROWS_A_FILE:
            self.flush()
        if now - self._looked > _SECONDS_BETWEEN_LOOKS:
            self._looked = now
            self._watch.left(self.pile.seconds_left() / self._engine.workers)
            finished, _, _ = self.pile.look()
            if finished:
                self._watch.elsewhere(finished)

    def flush(self) -> None:
        """Write all finished rows to the store by its method `add`."""
        if self._rows:
            self._store.add(self._rows)
            self._rows = []  # after the write, which Ctrl-C may interrupt
        self._written, self._at_stake = time.monotonic(), 0.0
