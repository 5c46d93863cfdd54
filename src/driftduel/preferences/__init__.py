"""One preference matrix: validation, winners, transitivity, and model functions."""

from driftduel.preferences.links import (
    LINKS,
    Link,
    check_link,
    linear,
    logistic,
    probit,
    resolve_link,
)
from driftduel.preferences.matrix import Preferences
from driftduel.preferences.models import (
    clash,
    cycle,
    cycle_on_top,
    from_utilities,
    geometric_btl,
    linear_order,
    lone_winner,
    random_condorcet,
    total_order,
    uniform_random,
)
from driftduel.preferences.named import NAMED, named
from driftduel.preferences.rankings import (
    UNRANKED as UNRANKED,
    PairCounts,
    read_preflib,
    read_rankings,
)
from driftduel.preferences.validation import TOLERANCE as TOLERANCE
from driftduel.preferences.winners import condorcet_winners

__all__ = [
    "LINKS",
    "NAMED",
    "Link",
    "PairCounts",
    "Preferences",
    "check_link",
    "clash",
    "condorcet_winners",
    "cycle",
    "cycle_on_top",
    "from_utilities",
    "geometric_btl",
    "linear",
    "linear_order",
    "logistic",
    "lone_winner",
    "named",
    "probit",
    "random_condorcet",
    "read_preflib",
    "read_rankings",
    "resolve_link",
    "total_order",
    "uniform_random",
]
