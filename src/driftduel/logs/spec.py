"""The world of the spec `log:path=...`."""

import hashlib
from functools import lru_cache
from threading import Lock

from driftduel._internal.reading import read_bytes
from driftduel.logs.posterior import Fit, fit
from driftduel.logs.posterior_worlds import draw_world
from driftduel.logs.reading import read_log
from driftduel.worlds import World

__all__ = ["world_of_log"]

_KEPT = 4  # cached fits: every game of a comparison rebuilds its world from the spec
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
        0: the expected world; n: posterior draw n.
    kind
        Same argument as of `fit`.
    rounds
        The number of rounds; by default one for each vote.
    columns
        Pairs (role, column name).
    time_format
        Same argument as of `read_log`.
    """
    content = hashlib.sha256(read_bytes(path)).hexdigest()
    with _one_at_a_time:  # lock: otherwise all threads would fit the same log concurrently
        fitted = _fit_file(path, content, kind, columns, time_format)
        return draw_world(fitted, draw, rounds) if draw else fitted.world(rounds)


@lru_cache(maxsize=_KEPT)
def _fit_file(
    path: str,
    content: str,  # hash of the file, part of the cache key: a path may get new content
    kind: str,
    columns: tuple[tuple[str, str], ...],
    time_format: str | None,
) -> Fit:
    """Fit the log in a file; the arguments are the cache key."""
    named: dict[str, str | list[str]] = dict(columns)
    if "group" in named:
        named["group"] = dict(columns)["group"].split("+")
    return fit(read_log(path, columns=named, time_format=time_format).counts, kind)
