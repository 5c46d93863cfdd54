"""Serve pairwise comparisons to voters, and report the leader with its statistical evidence.

Requires the extra ``arena``.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("msgspec") is None:
    from driftduel.errors import MissingExtraError

    raise MissingExtraError("msgspec", "arena", "an arena")

from driftduel.arena.arena import Arena
from driftduel.arena.board import Board
from driftduel.arena.client import ArenaClient
from driftduel.arena.live import LiveArena
from driftduel.arena.manager import ArenaManager
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.responses import DurableReply, Option, ShownDuel, Vote
from driftduel.arena.settings import Settings
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import open_store

__all__ = [
    "Arena",
    "ArenaClient",
    "ArenaError",
    "ArenaManager",
    "ArenaState",
    "Board",
    "DurableReply",
    "LiveArena",
    "Option",
    "Record",
    "Settings",
    "ShownDuel",
    "Vote",
    "open_store",
]
