"""Agreement of automatic judges with people, and their preference for the first place.

A judge is compared with people on the pairs and items on which both voted. Votes on one item are
not independent, so the intervals are those of a ratio of sums over items (over pairs without items,
over duels for the place), with Student's t.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from driftduel._internal.intervals import student
from driftduel.arena.board_counts import PICKED
from driftduel.arena.board_fields import JudgeAgreement
from driftduel.arena.records import Record
from driftduel.arena.slate_votes import RANKED, compared_in
from driftduel.arena.stores import ArenaStore
from driftduel.arena.tags import JUDGE

__all__ = ["ORDERS", "AgreementCounter", "ratio_interval"]

#: Key of the tag with the picks in both orders, such as ``left/right``.
ORDERS = "orders"
_BATCH = 10_000
Key = tuple[int, int, int]


class AgreementCounter:
    """Votes of judges and people by pair and item, counted from the records of a log.

    Not thread-safe: the caller holds a lock.
    """

    def __init__(self) -> None:
        self.seq = 0
        """The last record that was counted."""
        self._votes: dict[
            int, tuple[list[tuple[Key, int]], str | None, tuple[int, int] | None]
        ] = {}
        """Votes by duel: keys and results of their pairs, judge, and picks for the first place with
        their number."""
        self._people: dict[Key, list[int]] = {}
        self._judges: dict[str, dict[Key, list[int]]] = {}

    def read(self, store: ArenaStore, arena: str) -> None:
        """Count the records of a log that were written since the last call."""
        while records := store.records(arena, self.seq, _BATCH):
            for record in records:
                self.see(record)

    def see(self, record: Record) -> None:
        """Count one record; records have to come in order."""
        self.seq, body = record.seq, record.body
        if record.kind == "voted" and "shown" in body and body["pick"] != "skip":
            self._add(body)
        elif record.kind == "undone" or (record.kind == "forgot" and body["why"] == "voided"):
            self._remove(body["ref"])
        elif record.kind == "voided":
            for _, ref, *_ in body["votes"]:
                self._remove(ref)

    def _add(self, body: dict[str, Any]) -> None:
        tags, found = body.get("tags", {}), []
        for left, right, won, _ in compared_in(body):
            result = 2 if won < 0 else won if left < right else 1 - won
            found.append(((min(left, right), max(left, right), body.get("item", 0)), result))
        judge = tags.get(JUDGE)
        places = judge is not None and body["pick"] != RANKED
        first = _first_places(body["pick"], tags.get(ORDERS)) if places else None
        self._votes[body["ref"]] = found, judge, first
        self._count(found, judge, 1)

    def _remove(self, ref: int) -> None:
        vote = self._votes.pop(ref, None)
        if vote is not None:
            self._count(*vote[:2], -1)

    def _count(self, found: list[tuple[Key, int]], judge: str | None, times: int) -> None:
        counts = self._people if judge is None else self._judges.setdefault(judge, {})
        for key, result in found:
            counts.setdefault(key, [0, 0, 0])[result] += times

    def agreements(self) -> list[JudgeAgreement]:
        """Return the agreement of each judge, by name."""
        places: dict[str, list[tuple[int, int]]] = {}
        votes = Counter(judge for _, judge, _ in self._votes.values())
        for _, judge, first in self._votes.values():
            if judge is not None and first is not None:
                places.setdefault(judge, []).append(first)
        return [
            self._agreement(judge, votes[judge], places.get(judge, []))
            for judge in sorted(self._judges)
        ]

    def _agreement(
        self, judge: str, votes: int, places: Sequence[tuple[int, int]]
    ) -> JudgeAgreement:
        sums: dict[Any, list[float]] = {}
        shared = 0
        for key, own in self._judges[judge].items():
            people = self._people.get(key, [0, 0, 0])
            if not sum(own) or not sum(people):
                continue
            shared += 1
            share = sum(a * b for a, b in zip(own, people, strict=True)) / (sum(own) * sum(people))
            part = sums.setdefault(key[2] or key, [0.0, 0.0])
            part[0] += share
            part[1] += 1
        both = [place for place in places if place[1] == 2]
        return JudgeAgreement(
            judge,
            votes,
            shared,
            *ratio_interval(sums.values()),
            len(both),
            sum(first == 1 for first, _ in both) / len(both) if both else None,
            *ratio_interval(places),
        )


def _first_places(pick: str, orders: str | None) -> tuple[int, int] | None:
    """Return how often a judge picked the first place, and in how many orders; None for ties.

    In the first order the option on the left comes first, in the second one that on the right.
    """
    if orders is None:
        return None if PICKED[pick] < 0 else (PICKED[pick], 1)
    one, _, other = orders.partition("/")
    if {one, other} <= {"left", "right"}:
        return (one == "left") + (other == "right"), 2
    return None


def ratio_interval(
    parts: Iterable[Sequence[float]],
) -> tuple[float | None, float | None, float | None]:
    """Return a ratio of sums over independent parts, with its 95% interval within 0 and 1.

    Examples
    --------
    >>> ratio_interval([(1, 2), (1, 1), (0, 1)])[0]
    0.5
    >>> ratio_interval([(1, 2)])
    (0.5, None, None)
    >>> ratio_interval([])
    (None, None, None)
    """
    pairs = [(float(part[0]), float(part[1])) for part in parts]
    total = sum(size for _, size in pairs)
    if not total:
        return None, None, None
    ratio, many = sum(count for count, _ in pairs) / total, len(pairs)
    if many < 2:
        return ratio, None, None
    squares = sum((count - ratio * size) ** 2 for count, size in pairs)
    if not squares:  # all parts agree: the bound of the rule of three
        bound = min(1.0, 3 / many)
        return ratio, max(0.0, ratio - bound), min(1.0, ratio + bound)
    half = float(student(many - 1)) * math.sqrt(squares * many / (many - 1)) / total
    return ratio, max(0.0, ratio - half), min(1.0, ratio + half)
