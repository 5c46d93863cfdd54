"""Dueling bandits on preferences that change.

A *world* is a preference matrix for every round; a *policy* picks two arms a round and is told
which one won. The names below are the public interface; each is imported when first used, so
that ``import driftduel`` stays instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftduel.errors import DriftduelError
    from driftduel.measures import Measures, measure
    from driftduel.preferences import Preferences
    from driftduel.worlds import WORLDS, Piecewise, World, load_world, make_world, save_world

__version__ = "0.1.0"

_HOME = {
    "DriftduelError": "driftduel.errors",
    "Measures": "driftduel.measures",
    "Piecewise": "driftduel.worlds",
    "Preferences": "driftduel.preferences",
    "WORLDS": "driftduel.worlds",
    "World": "driftduel.worlds",
    "load_world": "driftduel.worlds",
    "make_world": "driftduel.worlds",
    "measure": "driftduel.measures",
    "save_world": "driftduel.worlds",
}

__all__ = [
    "WORLDS",
    "DriftduelError",
    "Measures",
    "Piecewise",
    "Preferences",
    "World",
    "load_world",
    "make_world",
    "measure",
    "save_world",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'driftduel' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__))
