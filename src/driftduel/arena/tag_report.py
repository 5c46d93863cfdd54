"""Differences by tag and by item, from the votes of an arena; the statistics are those of logs."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from driftduel.arena.board_fields import CertifiedChange, Fields
from driftduel.arena.import_export import labels
from driftduel.arena.judge_agreement import ORDERS
from driftduel.arena.problems import ArenaError
from driftduel.arena.responses import Option
from driftduel.arena.stores import ArenaStore, OptionText
from driftduel.arena.vote_table import ITEM, VoteTable
from driftduel.errors import DriftduelError
from driftduel.logs import MOST_VALUES, Subgroups, describe_subgroups, option_shares

if TYPE_CHECKING:
    from driftduel.arena.board import Board

__all__ = [
    "ItemShare",
    "TagCounts",
    "TagValue",
    "compare_tag",
    "list_tags",
    "load_differences",
    "lost_items",
]

_LISTED = 100


class TagValue(Fields, frozen=True):
    """A value of a tag."""

    value: str
    votes: int
    """Valid votes with this value."""


class TagCounts(Fields, frozen=True):
    """A tag of votes or items, and its values."""

    tag: str
    count: int
    """Number of values."""
    values: list[TagValue]
    """The values with the most votes, at most 100."""


class ItemShare(Fields, frozen=True):
    """The share of votes that an option wins on one item."""

    item: str
    """Id of the item."""
    votes: int
    share: float
    """Estimate, shrunk towards the option's overall share; ties count half."""
    low: float
    """Lower end of the 95% interval."""
    high: float
    overall: float
    """The share expected from all items, against the same rivals."""


def list_tags(table: VoteTable) -> list[TagCounts]:
    """Return the tags of the votes, by name."""
    found = []
    for key in table.tag_keys():
        if key == ORDERS:
            continue
        values = table.counts(key)
        shown = [TagValue(*each) for each in values[:_LISTED]]
        if values:
            found.append(TagCounts(key, len(values), shown))
    return found


def compare_tag(table: VoteTable, board: "Board", key: str) -> Subgroups:
    """Return the differences between the values of a tag.

    Pairs with several certified changes add nothing to the evidence, which assumes at most one.

    Parameters
    ----------
    table
        The votes.
    board
        The board, for the names of options and the certified changes.
    key
        The tag.

    Raises
    ------
    ArenaError
        ``not-comparable``, if there are fewer than two values, or too many.
    """
    if key == ORDERS:
        raise ArenaError(
            "not-comparable",
            f"tag {key!r} holds picks of a judge, so that it cannot be compared by.",
        )
    ids = [option.id for option in board.ranking]
    try:
        votes = table.tagged(key, _names([(each.id, each.name) for each in board.ranking]))
    except DriftduelError as error:
        raise ArenaError("not-comparable", f"tag {key!r:.80}: {error}") from None
    about = describe_subgroups(votes, key, _changed_often(board.certified_changes, ids))
    return msgspec.convert(about, Subgroups)


def load_differences(store: ArenaStore, arena: str, by: str) -> dict[str, Any]:
    """Return the differences by a tag as plain data; works while another process owns the arena."""
    from driftduel.arena.board import load_board

    table = VoteTable(store, arena).update()
    plain: dict[str, Any] = msgspec.to_builtins(compare_tag(table, load_board(store, arena), by))
    return plain


def lost_items(
    table: VoteTable, options: Sequence[Option], arm: int, limit: int
) -> list[ItemShare]:
    """Return the items on which an option wins least, compared with its overall share.

    Parameters
    ----------
    table
        The votes.
    options
        All options, in the order of joining.
    arm
        Index of the option.
    limit
        The maximum number of items.
    """
    names = _names([(each.id, each.name) for each in options])
    try:
        votes = table.tagged(ITEM, names, most=MOST_VALUES)
    except DriftduelError:  # fewer than two items with votes
        return []
    found = [
        ItemShare(each.value, each.votes, each.share, each.low, each.high, each.overall)
        for each in option_shares(votes, options=(arm,))
    ]
    found.sort(key=lambda each: each.share - each.overall)
    return [each for each in found if each.share < each.overall][:limit]


def _names(options: Sequence[tuple[str, str]]) -> list[str]:
    """Return unambiguous names, equal to those of an export."""
    named = labels([OptionText(each, name, "text", "") for each, name in options])
    return [named[each] for each, _ in options]


def _changed_often(
    changes: Sequence[CertifiedChange], ids: Sequence[str]
) -> frozenset[tuple[int, int]]:
    """Return the pairs of arms with more than one certified change, the lower arm first."""
    arms = {option_id: arm for arm, option_id in enumerate(ids)}
    ends = [(arms[each.before_id], arms[each.after_id]) for each in changes]
    times = Counter((min(pair), max(pair)) for pair in ends)
    return frozenset(pair for pair, count in times.items() if count > 1)
