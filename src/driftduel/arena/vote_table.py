"""The votes of an arena with their tags, as columns: a fold of the log that can be continued."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from driftduel.arena.import_export import ItemNames, item_names
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.settings import Settings
from driftduel.arena.slate_votes import compared_in
from driftduel.arena.stores import ArenaStore
from driftduel.arena.tags import JUDGE
from driftduel.logs import (
    MOST_VALUES,
    SEVERAL,
    FeatureColumn,
    FeatureVotes,
    TaggedVotes,
    check_values,
    draw_pairs,
)
from driftduel.requests import TypedFeatures

__all__ = ["ITEM", "VoteTable"]

Ints = NDArray[np.int64]

ITEM = "item"
"""The name that stands for the item itself in comparisons by item."""
_BATCH = 10_000


class VoteTable:
    """The votes of one arena in the order of the log. Not thread-safe.

    The votes are those of an export: without skips and late votes, and without votes that were
    undone or voided. A row takes about 40 bytes. A vote on a slate has one row for each pair that
    it compares.

    Parameters
    ----------
    store, arena
        The store, and the name of the arena.
    """

    def __init__(self, store: ArenaStore, arena: str) -> None:
        self._store, self._arena = store, arena
        self.seq = 0
        """Sequence number of the last record that was read."""
        self.first = 0
        """Number of options before the first vote."""
        self.joined: list[int] = []
        """For each option 0, or its position in the order of those that joined later."""
        self.features = TypedFeatures()
        """The features of the requests."""
        self._settings: Settings | None = None
        self._requests = array("d")
        self._seqs, self._refs = array("q"), array("q")
        self._left, self._right, self._won = array("h"), array("h"), array("b")
        self._voter, self._item, self._tags = array("q"), array("q"), array("q")
        self._alive, self._counted, self._single = bytearray(), bytearray(), bytearray()
        """1 for valid rows, for counted votes, and for the first row of each vote."""
        self._rows: dict[int, range] = {}
        """Rows of each vote that can still be undone, by ref."""
        self._tag_sets: dict[tuple[tuple[str, str], ...], int] = {}
        self._items: ItemNames | None = None

    def update(self) -> "VoteTable":
        """Read the new records of the log.

        Raises
        ------
        ArenaError
            ``no-such-arena``, if the log is empty.
        """
        while records := self._store.records(self._arena, self.seq, _BATCH):
            for record in records:
                self.add(record)
        if not self.seq:
            raise ArenaError("no-such-arena", f"arena {self._arena!r:.80} does not exist.")
        return self

    def add(self, record: Record) -> None:
        """Add one record of the log."""
        kind, body, self.seq = record.kind, record.body, record.seq
        if kind == "voted":
            if "shown" in body and body["pick"] != "skip":
                self._add_vote(record.seq, body)
        elif kind in ("told", "forgot", "undone"):
            rows = self._rows.pop(body["ref"], None)
            if rows is not None and (kind == "undone" or body.get("why") == "voided"):
                self._drop(rows)
        elif kind == "voided":
            for seq, *_ in body["votes"]:
                self._drop(range(bisect_left(self._seqs, seq), bisect_right(self._seqs, seq)))
        elif kind == "opened":
            self._settings = msgspec.convert(body["settings"], Settings)
            self.features = TypedFeatures.of(self._settings.features)
            self.first = len(body["options"])
            self.joined = [0] * self.first
        elif kind == "joined":
            self._join(int(body["option"][1:]))
        elif kind == "items":
            self._items = None  # the tags of items may have changed

    def _drop(self, rows: range) -> None:
        for row in rows:
            self._alive[row] = 0

    def _join(self, number: int) -> None:
        """Count a new option; one that returns is known."""
        if number <= len(self.joined):
            return
        if self._seqs:
            self.joined.append(number - self.first)
        else:  # before the first vote
            self.joined.append(0)
            self.first = number

    def _add_vote(self, seq: int, body: dict[str, Any]) -> None:
        voter = (body.get("voter") or body.get("source") or "").encode()
        tags = tuple(body.get("tags", {}).items())
        first_row, voter_key = len(self._seqs), blake2b(voter, digest_size=8).digest()
        for left, right, won, _ in compared_in(body):
            self._single.append(len(self._seqs) == first_row)
            self._seqs.append(seq)
            self._refs.append(body["ref"])
            self._left.append(left)
            self._right.append(right)
            self._won.append(won)
            self._voter.append(int.from_bytes(voter_key) >> 1)
            self._item.append(body.get("item", 0))
            self._tags.append(self._tag_sets.setdefault(tags, len(self._tag_sets)))
            if self.features:
                self._requests.extend(self.features.numbers(body["request"]))
            self._alive.append(1)
            self._counted.append("uncounted" not in body)
        self._rows[body["ref"]] = range(first_row, len(self._seqs))

    # -- tags

    def tag_keys(self) -> list[str]:
        """Return the keys of all tags of votes and of the items that have votes, sorted."""
        alive = np.frombuffer(bytes(self._alive), np.uint8) > 0
        sets, found = list(self._tag_sets), set[str]()
        for place in np.unique(_column(self._tags)[alive]).tolist():
            found |= {key for key, _ in sets[place]}
        items = self._item_tags()
        for number in np.unique(_column(self._item)[alive]).tolist():
            found |= set(items.get(number, ("", {}))[1])
        return sorted(found)

    def _item_tags(self) -> ItemNames:
        """Return id and tags of each item, by number."""
        if self._items is None:
            self._items = item_names(self._store, self._arena)
        return self._items

    def values(self, key: str) -> tuple[list[str], Ints]:
        """Return the values of a tag, sorted, and for each row the index of its value, or -1.

        A tag of the vote precedes one of the item. Several values of an item are one text. The key
        `ITEM` gives the ids of items, unless a tag has this name.
        """
        index: dict[str, int] = {}
        code = np.full(max(1, len(self._tag_sets)), -1, np.int64)
        for pairs, place in self._tag_sets.items():
            value = dict(pairs).get(key)
            if value is not None:
                code[place] = index.setdefault(value, len(index))
        column = code[_column(self._tags)]
        item = _column(self._item)
        used, place_of = np.unique(item, return_inverse=True)
        items = self._item_tags() if used.any() else {}
        of_item = np.full(len(used), -1, np.int64)
        is_item = key == ITEM and key not in self.tag_keys()
        for place, number in enumerate(used.tolist()):
            name, tags = items.get(number, ("", {}))
            given = name if is_item else tags.get(key)
            if given:
                text = given if isinstance(given, str) else SEVERAL.join(given)
                of_item[place] = index.setdefault(text, len(index))
        column = np.where(column < 0, of_item[place_of], column)
        names = sorted(index)
        rank = np.full(len(names) + 1, -1, np.int64)  # the last entry is that of -1
        for place, name in enumerate(names):
            rank[index[name]] = place
        return names, rank[column]

    def _used(self, key: str) -> NDArray[np.bool_]:
        """Return the rows for statements and shares: valid votes, of the voters in the evidence."""
        assert self._settings is not None
        used = np.frombuffer(bytes(self._alive), np.uint8) > 0
        if self._settings.claim == "judges":
            used &= np.frombuffer(bytes(self._counted), np.uint8) > 0
        if self._settings.evidence == "people" and key != JUDGE:
            judged = [any(name == JUDGE for name, _ in pairs) for pairs in self._tag_sets]
            used &= ~np.array([*judged, False])[_column(self._tags)]
        return used

    def tagged(self, key: str, names: Sequence[str], most: int | None = None) -> TaggedVotes:
        """Return the votes with a value of a tag: one for each voter, pair and value.

        If the arena's claim is about judges, all counted votes are returned. Of each slate, one
        pair is drawn, as by `driftduel log tags`.

        Parameters
        ----------
        key
            The tag, or `ITEM`.
        names
            The names of the options.
        most
            The number of values to keep, those with the most votes; None: an error above the
            maximum.

        Raises
        ------
        DriftduelError
            If there are fewer than two values, or too many.
        """
        assert self._settings is not None
        values, value = self.values(key)
        used = self._used(key) & (value >= 0)
        left, right, won = (_column(each) for each in (self._left, self._right, self._won))
        low, high = np.minimum(left, right), np.maximum(left, right)
        rows = np.flatnonzero(used)
        if self._settings.has_slates:
            seqs = _column(self._seqs)[rows]
            rows = rows[np.sort(draw_pairs(seqs, low[rows], high[rows], names))]
        if self._settings.claim == "voters":
            _, voter = np.unique(_column(self._voter)[rows], return_inverse=True)
            cell = (voter * len(names) + low[rows]) * len(names) + high[rows]
            _, earliest = np.unique(cell * max(1, len(values)) + value[rows], return_index=True)
            rows = rows[np.sort(earliest)]
        present, index = np.unique(value[rows], return_inverse=True)
        if most is not None and len(present) > most:
            kept = np.argsort(-np.bincount(index), kind="stable")[:most]
            rows = rows[np.isin(index, kept)]
            present, index = np.unique(value[rows], return_inverse=True)
        kept_values = [values[place] for place in present.tolist()]
        check_values(kept_values)
        of_left = np.where(won < 0, 0.5, won.astype(np.float64))[rows]
        return TaggedVotes(
            tuple(names),
            tuple(kept_values),
            low[rows],
            high[rows],
            np.where(left[rows] == low[rows], of_left, 1.0 - of_left),
            index,
            np.array(self.joined, np.int64),
            self.first,
        )

    def request_rows(self) -> Ints:
        """Return the rows that are evidence about the features: valid votes with a winner.

        If the arena's claim is about voters, they are the first one of each voter and pair.
        """
        assert self._settings is not None
        won = _column(self._won)
        rows = np.flatnonzero(self._used("") & (won >= 0))
        if self._settings.claim == "voters":
            left, right, voter = (
                _column(each)[rows] for each in (self._left, self._right, self._voter)
            )
            keys = np.stack((np.minimum(left, right), np.maximum(left, right), voter))
            _, earliest = np.unique(keys, axis=1, return_index=True)
            rows = rows[np.sort(earliest)]
        return rows

    def request_votes(self, most: int) -> FeatureVotes:
        """Return the first votes of `request_rows`, with the numbers of their requests.

        Numbers are scaled as the arena does, so that a vote does not depend on later ones.
        """
        rows = self.request_rows()[:most]
        numbers = np.array(self._requests).reshape(-1, self.features.shape.features)[rows]
        columns, at = [], 0
        for feature in self.features.features:
            part = numbers[:, at : at + feature.size]
            columns.append(FeatureColumn(feature.name, part, feature.values))
            at += feature.size
        left, right, won = (_column(each)[rows] for each in (self._left, self._right, self._won))
        names = [f"o{number + 1}" for number in range(len(self.joined))]
        return FeatureVotes(
            names, tuple(columns), np.minimum(left, right), np.maximum(left, right),
            (won > 0) == (left < right), rows.astype(np.float64), adaptive=True,
        )  # fmt: skip

    def counts(self, key: str) -> list[tuple[str, int]]:
        """Return the single values of a tag with their numbers of votes, most votes first.

        At most `MOST_VALUES` values are returned.
        """
        values, value = self.values(key)
        alive = (np.frombuffer(bytes(self._alive), np.uint8) > 0) & (value >= 0)
        alive &= np.frombuffer(bytes(self._single), np.uint8) > 0
        votes = np.bincount(value[alive], minlength=len(values))
        found: dict[str, int] = {}
        for name, count in zip(values, votes.tolist(), strict=True):
            for single in name.split(SEVERAL):
                found[single] = found.get(single, 0) + count
        ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
        return [each for each in ordered if each[1]][:MOST_VALUES]

    def subset(self, key: str, value: str) -> "VoteSubset":
        """Return the valid votes with one value of a tag."""
        values, column = self.values(key)
        wanted = [place for place, name in enumerate(values) if value in (name, *_split(name))]
        rows = np.isin(column, wanted) & (np.frombuffer(bytes(self._alive), np.uint8) > 0)
        K = len(self.joined)
        wins, ties = (np.zeros((K, K), np.int64) for _ in range(2))
        left, right, won = (
            _column(each)[rows] for each in (self._left, self._right, self._won)
        )  # fmt: skip
        better, worse = np.where(won > 0, left, right), np.where(won > 0, right, left)
        decided = won >= 0
        np.add.at(wins, (better[decided], worse[decided]), 1)
        for one, other in ((left, right), (right, left)):
            np.add.at(ties, (one[~decided], other[~decided]), 1)
        refs = frozenset(_column(self._refs)[rows].tolist())
        return VoteSubset(key, value, refs, wins, ties)


class VoteSubset(msgspec.Struct, frozen=True):
    """The votes with one value of a tag: their duels, and counts by pair, row over column."""

    tag: str
    value: str
    refs: frozenset[int]
    wins: Ints
    ties: Ints


def _split(name: str) -> Iterable[str]:
    return name.split(SEVERAL)


def _column(values: "array[int]") -> Ints:
    """Return a copy as an array; a view would forbid to append."""
    return np.array(values, np.int64)
