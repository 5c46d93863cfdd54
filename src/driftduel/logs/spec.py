"""What the spec `log:path=...` stands for."""

import hashlib
from functools import lru_cache
from threading import Lock

from driftduel._reading import read_bytes
from driftduel.logs.posterior import Fit, fit
from driftduel.logs.reading import read_log
from driftduel.logs.sisters import sister
from driftduel.worlds import World

__all__ = ["world_of_log"]

_KEPT = 4  # logs whose fits are remembered: every game of a comparison asks for its world anew
_one_at_a_time = Lock()


def world_of_log(
    path: str,
    draw: int = 0,
    kind: str = "auto",
    rounds: int | None = None,
    columns: tuple[tuple[str, str], ...] = (),
    time_format: str | None = None,
) -> World:
    """Fit a world to the log in a file.

    Parameters
    ----------
    path
        The file.
    draw
        0: the expected world; n: its n-th sister.
    kind
        As of `fit`.
    rounds
        How many it has; None: one for each vote.
    columns
        Which column is which: (ours, theirs).
    time_format
        As of `read_log`.
    """
    content = hashlib.sha256(read_bytes(path)).hexdigest()
    with _one_at_a_time:  # else the games of all threads would fit the same log at once
        fitted = _fitted(path, content, kind, columns, time_format)
        return sister(fitted, draw, rounds) if draw else fitted.world(rounds)


@lru_cache(maxsize=_KEPT)
def _fitted(
    path: str,
    content: str,  # what the file holds decides, not what it is called
    kind: str,
    columns: tuple[tuple[str, str], ...],
    time_format: str | None,
) -> Fit:
    named: dict[str, str | list[str]] = dict(columns)
    if "group" in named:
        named["group"] = dict(columns)["group"].split("+")
    return fit(read_log(path, columns=named, time_format=time_format).counts, kind)
