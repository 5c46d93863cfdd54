"""Prior knowledge of policies: true parameters of a world."""

from functools import lru_cache
from typing import Any

from driftduel.measures import Measures, measure
from driftduel.policies import POLICIES
from driftduel.requests import RequestShape
from driftduel.specs import Spec
from driftduel.worlds import RequestWorld, World

__all__ = ["KNOWN", "knowledge"]

_FROM_MEASURES = {"switches", "variation", "at"}
KNOWN = frozenset({"horizon", *_FROM_MEASURES, *RequestShape._fields})
"""The parameters of policies that may be set to true values of the world."""


def knowledge(policy: str | Spec, world: World) -> dict[str, Any]:
    """Return the true values of a world for the parameters of a policy.

    ``horizon`` is the number of rounds; ``switches`` and ``at`` are the number and the rounds of
    the Condorcet winner's switches, or of the preferences if some round has no winner;
    ``variation`` is the total variation V; ``slate`` is the number of arms shown, if it is above 2;
    ``features`` and ``one_hot`` are the shape of the requests of a `RequestWorld`, unless the spec
    sets one of them. Keys that the spec sets are not included.
    """
    spec = Spec.parse(policy)
    keys = {parameter.name for parameter in POLICIES[spec.name].parameters} - set(spec.values)
    known: dict[str, Any] = {"horizon": world.rounds}
    if world.slate > 2 and "slate" in keys:
        known["slate"] = world.slate
    if isinstance(world, RequestWorld) and not {"features", "one_hot"} & set(spec.values):
        known |= world.shape._asdict()
    if keys & _FROM_MEASURES:
        measures = _truth(world)
        rounds = measures.condorcet_switch_rounds
        if rounds is None:
            kept = measures.preference_switch_rounds
            rounds = [] if kept is None else kept.tolist()
        known["switches"] = len(rounds)
        known["at"] = "+".join(map(str, rounds)) or "+"
        known["variation"] = measures.total_variation
    return known


@lru_cache(maxsize=8)  # cached: many policies use the same world
def _truth(world: World) -> Measures:
    return measure(world, significance=None)
