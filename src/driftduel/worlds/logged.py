"""The world `log:path=...`: its parameters are declared here; the package `logs` builds it."""

from importlib import import_module
from typing import Annotated, Any

from driftduel.specs import Choice, Range
from driftduel.worlds.base import World
from driftduel.worlds.generators import MOST_ROUNDS, WORLDS

__all__ = ["load_log"]

# The package `logs` is above this one in the import order and needs extras: it is imported by
# name, on first use.
_MAKER = "driftduel.logs.spec"
_Column = Annotated[str | None, "its column, if not recognised by name"]


@WORLDS.register("log")
def load_log(
    path: Annotated[str, "a log of comparisons (CSV, Parquet), or its counts (NPZ)"],
    draw: Annotated[
        int, Range(0, 10**6), "number of the posterior draw; 0: the expected world"
    ] = 0,
    fit: Annotated[
        str, Choice(("auto", "utilities", "pairs", "walk")), "model of the preferences"
    ] = "auto",
    rounds: Annotated[
        int | None, Range(2, MOST_ROUNDS), "number of rounds T; default: one for each vote"
    ] = None,
    group: Annotated[
        str | None, "votes with the same value depend on each other; a+b: of both columns"
    ] = None,
    time: _Column = None,
    winner: _Column = None,
    loser: _Column = None,
    first: _Column = None,
    second: _Column = None,
    weight: _Column = None,
    tie: _Column = None,
    time_format: Annotated[str | None, "format of times: %d.%m.%Y"] = None,
) -> World:
    """Fit a world to a log of real comparisons; see ``driftduel log``.

    Parameters
    ----------
    path
        The log, a `source` argument of `driftduel.logs.read_log`.
    draw
        0: the expected world. 1, 2, ...: posterior draws, the same as those of
        ``driftduel log world --sisters`` and ``log compare``.
    fit
        The argument `kind` of `driftduel.logs.fit`.
    rounds
        The number of rounds.
    group, time, winner, loser, first, second, weight, tie, time_format
        Columns by role, see `driftduel.logs.read_log`.
    """
    named = {
        "group": group, "time": time, "winner": winner, "loser": loser, "first": first,
        "second": second, "weight": weight, "tie": tie,
    }  # fmt: skip
    columns = tuple((ours, theirs) for ours, theirs in named.items() if theirs is not None)
    maker: Any = import_module(_MAKER)
    world: World = maker.world_of_log(path, draw, fit, rounds, columns, time_format)
    return world
