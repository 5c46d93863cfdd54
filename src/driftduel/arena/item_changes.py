"""Plan a change of the items: rows for the store, and the record for the log."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from driftduel.arena.item_pool import ItemPool
from driftduel.arena.item_texts import decode_item, encode_item
from driftduel.arena.items import ItemContent, NewItem, group_value
from driftduel.arena.problems import ArenaError
from driftduel.arena.responses import ItemsChanged
from driftduel.arena.stores import ArenaStore, ItemRow

__all__ = ["ItemPlan", "current_number", "plan_items"]


class ItemPlan(NamedTuple):
    """What a change of items writes."""

    rows: list[ItemRow]
    changes: dict[str, Any]
    """The argument of `ArenaState.change_items`; empty if the log does not change."""
    changed: ItemsChanged


def current_number(store: ArenaStore, arena: str, pool: ItemPool, item_id: str) -> int:
    """Return the number of the newest version of an item.

    Raises
    ------
    ArenaError
        ``no-such-item``, if there is none.
    """
    # A row beyond the pool was stored for a record that was never written.
    numbers = [n for _, n in store.item_numbers(arena, [item_id]) if n <= len(pool)]
    if not numbers:
        raise ArenaError(
            "no-such-item", f"item {item_id!r:.80} does not exist; 'arena items' lists them."
        )
    return numbers[-1]


def plan_items(
    store: ArenaStore,
    arena: str,
    pool: ItemPool,
    balance: str | None,
    items: Sequence[NewItem],
    *,
    replace: bool,
    option_id: Callable[[str], str],
    arm: Callable[[str], int],
) -> ItemPlan:
    """Compare items with the stored ones, and return what to write.

    Parameters
    ----------
    store, arena, pool, balance
        The arena: its store, name and pool, and its balance tag.
    items
        Checked items with distinct ids.
    replace
        Whether items may have an existing id.
    option_id
        Function that returns the id of an option from its name; raises ArenaError.
    arm
        Function that returns the arm of an option from its id.

    Raises
    ------
    ArenaError
        ``name-taken`` for an existing id without `replace`; ``no-such-option``.
    """
    versions = store.item_numbers(arena, [item.id for item in items])
    known = {item_id: number for item_id, number in versions if number <= len(pool)}
    rows: list[ItemRow] = []
    sets: dict[tuple[tuple[int, ...], str], int] = {}
    added: list[int] = []
    retired: list[int] = []
    extended: list[list[Any]] = []
    counts = dict.fromkeys(ItemsChanged.__struct_fields__, 0)
    for item in items:
        answers = {option_id(name): content for name, content in item.answers.items()}
        content = ItemContent(answers, item.prompt, item.tags)
        number = known.get(item.id, 0)
        if number and not replace:
            raise ArenaError(
                "name-taken",
                f"item {item.id!r:.80} exists already; replace it, or choose another id.",
            )
        before = decode_item(store.item(arena, number)) if number else None
        if before is not None:
            merged = _extended(before, content, balance)
            if merged is not None:
                new = sorted(arm(each) for each in merged.answers if each not in before.answers)
                counts["unchanged" if merged == before else "extended"] += 1
                if merged != before:
                    rows.append(ItemRow(number, item.id, encode_item(merged)))
                if new:
                    extended.append([number, new])
                continue
            if pool.is_present(number):
                retired.append(number)
        counts["replaced" if number else "added"] += 1
        kind = tuple(sorted(map(arm, answers))), group_value(item.tags, balance)
        added.append(sets.setdefault(kind, len(sets)))
        rows.append(ItemRow(len(pool) + len(added), item.id, encode_item(content)))
    changes: dict[str, Any] = {}
    if added:
        changes["sets"] = [[list(arms), value] for arms, value in sets]
        changes["added"] = added
    if retired:
        changes["retired"] = retired
    if extended:
        changes["extended"] = extended
    return ItemPlan(rows, changes, ItemsChanged(**counts))


def _extended(before: ItemContent, after: ItemContent, balance: str | None) -> ItemContent | None:
    """Return an item with new answers and tags; None if contents or its group have changed.

    Answers that the new version lacks stay.
    """
    same = all(before.answers.get(key, text) == text for key, text in after.answers.items())
    group = group_value(before.tags, balance) == group_value(after.tags, balance)
    if not same or not group or before.prompt != after.prompt:
        return None
    answers = {**before.answers, **after.answers}
    return msgspec.structs.replace(after, answers=answers)
