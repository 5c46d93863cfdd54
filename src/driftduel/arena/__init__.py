"""Serve pairwise comparisons to voters, and report the leader with its statistical evidence.

Requires the extra ``arena``.
"""

from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from driftduel._internal.lazy import import_on_use

if _find_spec("msgspec") is None:
    from driftduel.errors import MissingExtraError

    raise MissingExtraError("msgspec", "arena", "an arena")

from driftduel.arena.arena import Arena
from driftduel.arena.board import Board
from driftduel.arena.client import ArenaClient
from driftduel.arena.live import LiveArena
from driftduel.arena.manager import ArenaManager, option_texts as option_texts
from driftduel.arena.page_settings import PageSettings
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.responses import (
    Content,
    DurableReply,
    Item,
    ItemsChanged,
    Option,
    ShownDuel,
    Vote,
)
from driftduel.arena.settings import ArenaSettings, Settings
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import ArenaStore as ArenaStore, open_store

if TYPE_CHECKING:
    from driftduel.arena.access import hash_token as hash_token, make_token as make_token
    from driftduel.arena.addresses import parse_url as parse_url, resolve_address as resolve_address
    from driftduel.arena.board import load_board as load_board
    from driftduel.arena.demo import run_demo as run_demo
    from driftduel.arena.file_schemas import file_schema as file_schema
    from driftduel.arena.import_export import (
        export_votes as export_votes,
        formula_like_names as formula_like_names,
        import_log as import_log,
        import_votes as import_votes,
        preference_pairs as preference_pairs,
        write_pairs as write_pairs,
        write_votes as write_votes,
    )
    from driftduel.arena.items import (
        in_batches as in_batches,
        option_names as option_names,
        plain_items as plain_items,
        read_items as read_items,
    )
    from driftduel.arena.judging import Judged as Judged, judge as judge
    from driftduel.arena.replay import load_state as load_state, verify_log as verify_log
    from driftduel.arena.responses import option_of as option_of, wait_durable as wait_durable
    from driftduel.arena.sentences import clean as clean
    from driftduel.arena.serving import serve as serve
    from driftduel.arena.tag_report import load_differences as load_differences
    from driftduel.arena.vote_files import (
        FileVote as FileVote,
        option_names_of as option_names_of,
        read_votes as read_votes,
    )
    from driftduel.arena.web import ServerSettings as ServerSettings
    from driftduel.arena.webhooks import format_secret as format_secret
else:
    __getattr__ = import_on_use(
        __name__,
        {
            "access": "hash_token make_token",
            "addresses": "parse_url resolve_address",
            "demo": "run_demo",
            "file_schemas": "file_schema",
            "import_export": (
                "export_votes formula_like_names import_log import_votes preference_pairs "
                "write_pairs write_votes"
            ),
            "items": "in_batches option_names plain_items read_items",
            "judging": "Judged judge",
            "replay": "load_state verify_log",
            "board": "load_board",
            "responses": "option_of wait_durable",
            "sentences": "clean",
            "serving": "serve",
            "tag_report": "load_differences",
            "vote_files": "FileVote option_names_of read_votes",
            "web": "ServerSettings",
            "webhooks": "format_secret",
        },
    )

__all__ = [
    "Arena",
    "ArenaClient",
    "ArenaError",
    "ArenaManager",
    "ArenaSettings",
    "ArenaState",
    "Board",
    "Content",
    "DurableReply",
    "Item",
    "ItemsChanged",
    "LiveArena",
    "Option",
    "PageSettings",
    "Record",
    "Settings",
    "ShownDuel",
    "Vote",
    "open_store",
]
