"""The process behind `Processes`: reads lists of cells from its input, writes outcomes."""

import os
import pickle
import sys
import threading
import warnings

from driftduel.errors import DriftduelError, WeakSpotWarning
from driftduel.lab.cells import Stopped, run_cell
from driftduel.lab.imports import load

__all__: list[str] = []


def main() -> None:
    """Play until the input ends."""
    # What a policy prints must not come between the pickles.
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        warnings.simplefilter("ignore", WeakSpotWarning)  # said once, when the plan was made
        orphaned = threading.Event()
        threading.Thread(target=_watch_parent, args=(orphaned,), daemon=True).start()
        try:
            load(sys.argv[1:])
        except DriftduelError as error:
            _say(out, error)
            return
        while True:
            try:
                cells = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            for cell in cells:
                try:
                    _say(out, run_cell(cell, orphaned))
                except Stopped:
                    return


def _say(out, answer) -> None:  # type: ignore[no-untyped-def]
    pickle.dump(answer, out)
    out.flush()


def _watch_parent(orphaned: threading.Event) -> None:
    """Notice that the parent was killed; nobody would read what comes next."""
    parent = os.getppid()
    while os.getppid() == parent:
        orphaned.wait(0.5)
    orphaned.set()


if __name__ == "__main__":
    main()
