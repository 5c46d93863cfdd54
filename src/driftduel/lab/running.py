"""Play what a plan asks for and the store does not have yet."""

import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from driftduel._notice import watching
from driftduel.errors import DriftduelError, WeakSpotWarning
from driftduel.lab.cells import Outcome
from driftduel.lab.claims import Claims
from driftduel.lab.engines import Engine
from driftduel.lab.engines.base import SECONDS_BETWEEN_SIGNALS
from driftduel.lab.plan import Cell
from driftduel.lab.store import Store
from driftduel.lab.watching import Silent, Watch

__all__ = ["Speeds", "run_cells"]

# A file of the store holds what was finished in about this time, which is all that can be lost.
_SECONDS_A_FILE = 1.0
_ROWS_A_FILE = 256
_SECONDS_BETWEEN_LOOKS = 2.0
# What a process takes at a time from those that fill the same store.
_SECONDS_A_CLAIM = 1.0


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

    A cell that finds the plan itself wrong, as one whose world has a round without a winner, ends
    the run with an error.

    Returns
    -------
    dict
        Cells that failed, by id, and why. They are tried again next time.
    """
    watch = watch or Silent()
    done = store.done()
    if store.outdated:
        watch.say(store.outdated)
        store.outdated = None
    for path in store.set_aside():
        watch.say(f"{path}: damaged, so it was set aside; its cells are played again.")
    todo = [cell for cell in cells if cell.key not in done]
    watch.begin(len(cells), len(cells) - len(todo), sum(c.rounds for c in todo), engine.workers)
    if not todo:
        return {}
    claims = None if store.scratch else Claims(store.folder)
    run = _Run(store, todo, engine, watch, claims)
    try:
        with warnings.catch_warnings(), watching(run.hear_of_compiling):
            warnings.simplefilter("ignore", WeakSpotWarning)  # said when the plan was made
            while run.has_more():
                with closing(engine.outcomes(run.pile.take, watch.rounds)) as stream:
                    for outcome in stream:
                        run.hear(outcome)
                run.flush()
    finally:
        try:
            run.flush()
        finally:
            if claims is not None:
                claims.close()
    return run.failed


class _Run:
    """Cells on their way from an engine to the store, and what somebody hears who looks on."""

    def __init__(
        self, store: Store, todo: list[Cell], engine: Engine, watch: Watch, claims: Claims | None
    ) -> None:
        self.failed: dict[str, str] = {}
        self._speeds = Speeds()
        self.pile = Pile(todo, self._speeds, store, claims, engine.workers)
        self._store, self._engine, self._watch = store, engine, watch
        self._rows: list[dict[str, Any]] = []
        self._at_stake = 0.0  # seconds of work that are not written yet
        self._written = self._looked = time.monotonic()
        self._policies = {cell.policy for cell in todo}
        self._ready: set[str] = set()
        self._compiled_now: set[str] = set()
        self._lock = threading.Lock()

    def hear_of_compiling(self, policy: str, begins: bool) -> None:
        """Pass on how many policies are ready; any thread may call."""
        with self._lock:
            if policy not in self._policies:  # somebody else's
                return
            if begins:
                self._compiled_now.add(policy)
            else:
                self._compiled_now.discard(policy)
                self._ready.add(policy)
            ready = len(self._ready) if self._compiled_now else None
        self._watch.compiling(ready, len(self._policies))

    def has_more(self) -> bool:
        """Leave out what others have finished; tell whether there is something to take."""
        while True:
            finished, free, perhaps = self.pile.look()
            if finished:
                self._watch.elsewhere(finished)
            if free or not perhaps:
                return free
            time.sleep(SECONDS_BETWEEN_SIGNALS)

    def hear(self, outcome: Outcome) -> None:
        """Keep what came of a cell, write now and then, and say how far it is."""
        if outcome.ends:
            raise DriftduelError(outcome.error)
        if outcome.row is None:
            self.failed[outcome.cell.id] = outcome.error or "for no known reason"
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
            self.hear_of_compiling(outcome.cell.policy, False)
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
        """Write what is finished."""
        if self._rows:
            self._store.add(self._rows)
            self._rows = []  # not before: Ctrl-C may come while they are written
        self._written, self._at_stake = time.monotonic(), 0.0
