"""Worlds: a preference matrix for every round."""

from typing import TYPE_CHECKING

from driftduel._internal.lazy import import_on_use
from driftduel.specs import Spec
from driftduel.worlds import (
    absences as _absences,  # noqa: F401 - registers worlds
    lifelike as _lifelike,  # noqa: F401 - registers worlds
    logged as _logged,  # noqa: F401 - registers worlds
    preflib as _preflib,  # noqa: F401 - registers worlds
    winnerless as _winnerless,  # noqa: F401 - registers worlds
)
from driftduel.worlds.base import LINK_CODES, NO_LINK, Chunk, World
from driftduel.worlds.drifting import (
    Interpolated,
    MatrixDrift,
    MatrixWalk,
    Paths,
    RandomWalk,
    Seasonal,
)
from driftduel.worlds.files import load_world, save_world
from driftduel.worlds.fleeting import Fleeting
from driftduel.worlds.generators import WORLDS, phase_starts
from driftduel.worlds.piecewise import Piecewise
from driftduel.worlds.requests import RequestChunk, RequestWorld
from driftduel.worlds.routing import Routing
from driftduel.worlds.table import Table
from driftduel.worlds.wrappers import WithAbsences, WithDelay, WithSlates, WithTies

if TYPE_CHECKING:
    from driftduel.worlds._kernels import (
        TIE as TIE,
        UNKNOWN as UNKNOWN,
        decide as decide,
        decide_slate as decide_slate,
        link_value as link_value,
        outcome as outcome,
    )
else:
    __getattr__ = import_on_use(
        __name__,
        {
            "_kernels": "TIE UNKNOWN decide decide_slate link_value outcome",
        },
    )

__all__ = [
    "LINK_CODES",
    "NO_LINK",
    "WORLDS",
    "Chunk",
    "Fleeting",
    "Interpolated",
    "MatrixDrift",
    "MatrixWalk",
    "Paths",
    "Piecewise",
    "RandomWalk",
    "RequestChunk",
    "RequestWorld",
    "Routing",
    "Seasonal",
    "Table",
    "WithAbsences",
    "WithDelay",
    "WithSlates",
    "WithTies",
    "World",
    "load_world",
    "make_world",
    "phase_starts",
    "save_world",
]


def make_world(spec: str | Spec, seed: int | None = None) -> World:
    """Return the world object that a spec describes.

    Parameters
    ----------
    spec
        ``name:key=value,key=value``; `WORLDS` lists the names and their keys.
    seed
        The default seed of a generated world, if the spec does not set one.

    Examples
    --------
    >>> make_world("geometric-btl:arms=10,rounds=50000,phases=4")
    make_world('geometric-btl:arms=10,rounds=50000,phases=4')
    """
    spec = Spec.parse(spec)
    seeded = any(parameter.name == "seed" for parameter in WORLDS[spec.name].parameters)
    if seed is not None and seeded and "seed" not in spec.values:
        spec = Spec(spec.name, {**spec.values, "seed": seed})
    world = WORLDS.build(spec)
    world.spec = str(spec)
    return world
