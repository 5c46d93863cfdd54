"""What a policy asks to be told about a world, and no more."""

from functools import lru_cache
from typing import Any

from driftduel.measures import Measures, measure
from driftduel.policies import POLICIES
from driftduel.specs import Spec
from driftduel.worlds import World

__all__ = ["KNOWN", "knowledge"]

_FROM_MEASURES = {"switches", "variation", "at"}
KNOWN = frozenset({"horizon", *_FROM_MEASURES})
"""The keys under which a policy may be told the truth."""


def knowledge(policy: str | Spec, world: World) -> dict[str, Any]:
    """Return the truth about a world under the keys that a policy has.

    ``horizon`` is the number of rounds; ``switches`` and ``at`` are the number and the rounds of
    the Condorcet winner's switches, or of the preferences' where some round has no winner;
    ``variation`` is the total variation V. A key that the spec gives itself is left to it.
    """
    spec = Spec.parse(policy)
    keys = {parameter.name for parameter in POLICIES[spec.name].parameters} - set(spec.values)
    known: dict[str, Any] = {"horizon": world.rounds}
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


@lru_cache(maxsize=8)  # many policies ask about the same world
def _truth(world: World) -> Measures:
    return measure(world, significance=None)
