"""Dueling bandits on preferences that change.

A *world* is a preference matrix for every round; a *policy* chooses two arms per round and learns
from the outcome. The names below are the public interface; each is imported on first use, so that
``import driftduel`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftduel import (
        arena as arena,
    )
    from driftduel import (
        authoring as authoring,
    )
    from driftduel import (
        cli as cli,
    )
    from driftduel import (
        errors as errors,
    )
    from driftduel import (
        evidence as evidence,
    )
    from driftduel import (
        figures as figures,
    )
    from driftduel import (
        games as games,
    )
    from driftduel import (
        lab as lab,
    )
    from driftduel import (
        logs as logs,
    )
    from driftduel import (
        measures as measures,
    )
    from driftduel import (
        policies as policies,
    )
    from driftduel import (
        preferences as preferences,
    )
    from driftduel import (
        regret as regret,
    )
    from driftduel import (
        report as report,
    )
    from driftduel import (
        specs as specs,
    )
    from driftduel import (
        study as study,
    )
    from driftduel import (
        suite as suite,
    )
    from driftduel import (
        testing as testing,
    )
    from driftduel import (
        wording as wording,
    )
    from driftduel import (
        worlds as worlds,
    )
    from driftduel.arena import Arena, ArenaClient, Board
    from driftduel.errors import DriftduelError
    from driftduel.games import Play, Trace, play, trace
    from driftduel.lab import Results, compare, results, sweep
    from driftduel.measures import Measures, measure
    from driftduel.policies import (
        POLICIES,
        Duel,
        Policy,
        load_policy,
        make_policy,
        policy_from_bytes,
        policy_to_bytes,
        save_policy,
    )
    from driftduel.preferences import Preferences
    from driftduel.worlds import WORLDS, Piecewise, World, load_world, make_world, save_world

__version__ = "0.2.0"

_HOME = {
    "POLICIES": "driftduel.policies",
    "WORLDS": "driftduel.worlds",
    "Arena": "driftduel.arena",
    "ArenaClient": "driftduel.arena",
    "Board": "driftduel.arena",
    "DriftduelError": "driftduel.errors",
    "Duel": "driftduel.policies",
    "Measures": "driftduel.measures",
    "Piecewise": "driftduel.worlds",
    "Play": "driftduel.games",
    "Policy": "driftduel.policies",
    "Preferences": "driftduel.preferences",
    "Results": "driftduel.lab",
    "Trace": "driftduel.games",
    "World": "driftduel.worlds",
    "compare": "driftduel.lab",
    "load_policy": "driftduel.policies",
    "load_world": "driftduel.worlds",
    "make_policy": "driftduel.policies",
    "make_world": "driftduel.worlds",
    "measure": "driftduel.measures",
    "play": "driftduel.games",
    "policy_from_bytes": "driftduel.policies",
    "policy_to_bytes": "driftduel.policies",
    "results": "driftduel.lab",
    "save_policy": "driftduel.policies",
    "save_world": "driftduel.worlds",
    "sweep": "driftduel.lab",
    "trace": "driftduel.games",
}

__all__ = [
    "POLICIES",
    "WORLDS",
    "Arena",
    "ArenaClient",
    "Board",
    "DriftduelError",
    "Duel",
    "Measures",
    "Piecewise",
    "Play",
    "Policy",
    "Preferences",
    "Results",
    "Trace",
    "World",
    "compare",
    "load_policy",
    "load_world",
    "make_policy",
    "make_world",
    "measure",
    "play",
    "policy_from_bytes",
    "policy_to_bytes",
    "results",
    "save_policy",
    "save_world",
    "sweep",
    "trace",
]


_ROOMS = (
    "arena", "authoring", "cli", "errors", "evidence", "figures", "games", "lab", "logs",
    "measures", "policies", "preferences", "regret", "report", "specs", "study", "suite", "testing",
    "wording", "worlds",
)  # fmt: skip


# Type checkers use the imports above: a visible `__getattr__` would hide misspelt names from them.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return import_module(f"driftduel.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'driftduel' has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted((*__all__, *_ROOMS, "__version__"))
