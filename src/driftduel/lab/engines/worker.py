"""The worker process of `Processes`: reads lists of cells from stdin, writes outcomes to stdout."""

import os
import pickle
import sys
import threading
import time
import warnings
from contextlib import suppress
from typing import IO, Any

from driftduel._internal.notices import watching, working_on
from driftduel.errors import DriftduelError, WeakSpotWarning
from driftduel.lab.cells import run_cell
from driftduel.lab.engines.base import Compiling, ticking
from driftduel.lab.objects import load_all

__all__: list[str] = []


def main() -> None:
    """Play cells until the end of the input."""
    # Duplicate the pipes: output or input of a policy must not corrupt the stream of pickles.
    cells_in, outcomes_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    warnings.simplefilter("ignore", WeakSpotWarning)  # emitted when the plan was made
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with cells_in, suppress(BrokenPipeError), outcomes_out:
        try:
            load_all(sys.argv[1:])
        except DriftduelError as error:
            _say(error, outcomes_out)
            return
        _say(None, outcomes_out)
        while True:
            try:
                cells = pickle.load(cells_in)
            except EOFError:
                return
            with watching(lambda *note: _say(Compiling(*note), outcomes_out)):
                for cell in cells:
                    with working_on(cell.policy) as runs:
                        outcome = run_cell(cell, tick=ticking(lambda _: None, runs))
                    _say(outcome, outcomes_out)


def _say(answer: Any, out: IO[bytes]) -> None:
    out.write(pickle.dumps(answer))
    out.flush()


def _end_with_parent() -> None:
    """Exit when the parent process was killed, also while a policy runs."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main()
