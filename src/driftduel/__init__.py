"""Dueling bandits on preferences that change.

A *world* is a preference matrix for every round; a *policy* chooses two arms per round and learns
from the outcome. The names below are the public interface; each is imported on first use, so that
``import driftduel`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftduel._internal.lazy import import_on_use

if TYPE_CHECKING:
    from driftduel import (
        arena as arena,
        authoring as authoring,
        cli as cli,
        errors as errors,
        evidence as evidence,
        figures as figures,
        games as games,
        lab as lab,
        logs as logs,
        measures as measures,
        policies as policies,
        preferences as preferences,
        regret as regret,
        report as report,
        requests as requests,
        specs as specs,
        suite as suite,
        testing as testing,
        worlds as worlds,
    )
    from driftduel.arena import Arena, ArenaClient, ArenaError, Board
    from driftduel.errors import DriftduelError
    from driftduel.games import Play, Trace, play, trace
    from driftduel.lab import Results, compare, load_results, sweep
    from driftduel.logs import Fit, Log, fit, read_log
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

__version__ = "0.3.0"

__all__ = [
    "POLICIES",
    "WORLDS",
    "Arena",
    "ArenaClient",
    "ArenaError",
    "Board",
    "DriftduelError",
    "Duel",
    "Fit",
    "Log",
    "Measures",
    "Piecewise",
    "Play",
    "Policy",
    "Preferences",
    "Results",
    "Trace",
    "World",
    "compare",
    "fit",
    "load_policy",
    "load_results",
    "load_world",
    "make_policy",
    "make_world",
    "measure",
    "play",
    "policy_from_bytes",
    "policy_to_bytes",
    "read_log",
    "save_policy",
    "save_world",
    "sweep",
    "trace",
]

_NAMES = {
    "arena": "Arena ArenaClient ArenaError Board",
    "errors": "DriftduelError",
    "games": "Play Trace play trace",
    "lab": "Results compare load_results sweep",
    "logs": "Fit Log fit read_log",
    "measures": "Measures measure",
    "policies": (
        "POLICIES Duel Policy load_policy make_policy policy_from_bytes policy_to_bytes save_policy"
    ),
    "preferences": "Preferences",
    "worlds": "WORLDS Piecewise World load_world make_world save_world",
}
"""The public names by package; each is imported on first use."""
_PACKAGES = (
    "arena", "authoring", "cli", "errors", "evidence", "figures", "games", "lab", "logs",
    "measures", "policies", "preferences", "regret", "report", "requests", "specs", "suite",
    "testing", "worlds",
)  # fmt: skip

# Type checkers use the imports above: a visible `__getattr__` would hide misspelt names from them.
if not TYPE_CHECKING:
    _load = import_on_use(__name__, _NAMES)

    def __getattr__(name: str) -> Any:
        return import_module(f"driftduel.{name}") if name in _PACKAGES else _load(name)


def __dir__() -> list[str]:
    return sorted((*__all__, *_PACKAGES, "__version__"))
