"""The world `log:path=...`: its keys are here, for all who list them; the room `logs` makes it."""

from importlib import import_module
from typing import Annotated, Any

from driftduel.specs import Choice, Range
from driftduel.worlds.base import World
from driftduel.worlds.generators import MOST_ROUNDS, WORLDS

__all__ = ["load_log"]

# Logs are fitted by a room above this one, which needs extras: it is called by name, and late.
_MAKER = "driftduel.logs.spec"
_Column = Annotated[str | None, "its column, if the name does not say it"]


@WORLDS.register("log")
def load_log(
    path: Annotated[str, "a log of comparisons (CSV, Parquet), or its counts (NPZ)"],
    draw: Annotated[
        int, Range(0, 10**6), "which of the worlds that may have made it; 0: the expected one"
    ] = 0,
    fit: Annotated[
        str, Choice(("auto", "utilities", "pairs", "walk")), "what preferences may do"
    ] = "auto",
    rounds: Annotated[
        int | None, Range(2, MOST_ROUNDS), "number of rounds T; unless given, one for each vote"
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
    time_format: Annotated[str | None, "how times are written: %d.%m.%Y"] = None,
) -> World:
    """Fit a world to a log of real comparisons; see ``driftduel log``.

    Parameters
    ----------
    path
        The log, as `driftduel.logs.read_log` takes it.
    draw
        0: the expected world. 1, 2, ...: its sisters, drawn from what the log leaves open; the same
        as those of ``driftduel log world --sisters`` and ``log compare``.
    fit
        As of `driftduel.logs.fit`.
    rounds
        The number of rounds.
    group, time, winner, loser, first, second, weight, tie, time_format
        Which column is which, as of `driftduel.logs.read_log`.
    """
    named = {
        "group": group, "time": time, "winner": winner, "loser": loser, "first": first,
        "second": second, "weight": weight, "tie": tie,
    }  # fmt: skip
    columns = tuple((ours, theirs) for ours, theirs in named.items() if theirs is not None)
    maker: Any = import_module(_MAKER)
    world: World = maker.world_of_log(path, draw, fit, rounds, columns, time_format)
    return world
