"""The world `preflib:path=...`: preferences of real rankings, stationary."""

from pathlib import Path
from typing import Annotated

from driftduel.errors import DriftduelError
from driftduel.preferences import UNRANKED, read_preflib, read_rankings
from driftduel.specs import Choice, Range
from driftduel.worlds.generators import MOST_ROUNDS, WORLDS
from driftduel.worlds.piecewise import Piecewise

__all__ = ["load_preflib"]


@WORLDS.register("preflib")
def load_preflib(
    path: Annotated[str, "a PrefLib file, or a CSV table of rankings"],
    rounds: Annotated[int, Range(1, MOST_ROUNDS), "number of rounds T"] = 50_000,
    unranked: Annotated[str, Choice(UNRANKED), "meaning of unranked options"] = "ignore",
    unseen: Annotated[str, Choice(("error", "even")), "pairs never compared"] = "error",
    prior: Annotated[float, Range(0), "comparisons added to each pair"] = 0.0,
) -> Piecewise:
    """Let a random voter of a file of rankings, one that ranked both options, decide each duel.

    Parameters
    ----------
    path
        A PrefLib file (soc, soi, toc, toi, pwg), see `driftduel.preferences.read_preflib`. A name
        that ends in .csv is a table, see `driftduel.preferences.read_rankings`.
    rounds
        The number of rounds; preferences are the same in all of them.
    unranked
        Whether an incomplete order is no evidence about the options that it leaves out, or ranks
        them below all others.
    unseen
        Whether pairs that were never compared are an error or have probability 1/2.
    prior
        Comparisons that are added to every pair, half won by each option.
    """
    is_table = Path(path).suffix.lower() == ".csv"
    counts = (read_rankings if is_table else read_preflib)(path, unranked=unranked)
    try:
        world = Piecewise([counts.preferences(unseen=unseen, prior=prior)], [1], rounds)
    except DriftduelError as error:
        raise DriftduelError(f"{path}: {error}") from None
    world.names = counts.names
    return world
