"""The items of an arena and the choice among them: part of the state, without their contents.

A slate is a set of three or more options; its items are chosen like those of a pair. In the rules
below, a pair is a pair or such a set.

For a voter and a pair the candidates are the present items with an answer of both options that this
voter has not seen with this pair. The choice is the first candidate in this order:

1. with a balance tag: the group (the value of the tag) shown least often on this pair, then least
   often on all pairs;
2. items not yet shown on this pair in its current round, which ends when all are shown;
3. items shown least often on all pairs;
4. a pseudo-random number, drawn from the seed.

No rule uses a pick. A new item starts with the lowest count of the present items, so that voters do
not see new items only. `tests/arena/literal_pool.py` has the same rules in a few lines.

Examining all items would take milliseconds, so the first candidates of a pair are kept in a heap.
Counts only increase, so a heap entry with an outdated count is a lower bound: it is put back with
the present count. A heap is filled again when it is used up, a round ends, or the items change.
"""

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush, nsmallest
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.arena.settings import MOST_OPTIONS

__all__ = ["MOST_GROUPS", "MOST_ITEMS", "ItemPool", "tie_break"]

MOST_GROUPS = 200
MOST_ITEMS = 10_000_000
Pair = tuple[int, ...]
"""Two options, or the three or more of a slate, in ascending order."""
_SETS = MOST_OPTIONS * MOST_OPTIONS  # codes from here on are those of slates
_FRONT, _FRONT_PART = 512, 64  # entries of a heap: at least so many, or this part of the items
_MOST_SEEN = 24  # entries of a shared heap that one voter has seen, before a heap is filled for it
_MOST_HEAPS = 256  # of single voters
_WORD = 64
_MASK = (1 << 64) - 1
_LOW = (1 << 32) - 1
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)


def tie_break(seed: int, item: int, shown: int, pair: int) -> int:
    """Return the pseudo-random number of an item: 32 bits, of seed, number, count and pair.

    Examples
    --------
    >>> [tie_break(7, item, 0, 1) for item in (1, 2, 3)] == _tie_breaks(
    ...     7, np.array([1, 2, 3]), np.zeros(3, np.int64), 1
    ... ).tolist()
    True
    """
    x = (item * _MIX[0] + shown * _MIX[3] + pair * _MIX[1] + seed * _MIX[2]) & _MASK
    x = ((x ^ (x >> 30)) * _MIX[1]) & _MASK
    x = ((x ^ (x >> 27)) * _MIX[2]) & _MASK
    return (x ^ (x >> 31)) >> 32


def _tie_breaks(
    seed: int, items: NDArray[np.int64], shown: NDArray[np.int64], pair: int
) -> NDArray[np.uint64]:
    """Return `tie_break` for arrays of items and counts."""
    mix = [np.uint64(each) for each in _MIX]
    start = np.uint64((pair * _MIX[1] + seed * _MIX[2]) & _MASK)
    x = items.astype(np.uint64) * mix[0] + shown.astype(np.uint64) * mix[3] + start
    x = (x ^ (x >> np.uint64(30))) * mix[1]
    x = (x ^ (x >> np.uint64(27))) * mix[2]
    return (x ^ (x >> np.uint64(31))) >> np.uint64(32)


class _Seen:
    """The items that one voter has seen: pair and item in one integer, and counts by pair."""

    __slots__ = ("exhausted", "generation", "items", "pairs")

    def __init__(self) -> None:
        self.items: set[int] = set()
        self.pairs: dict[int, int] = {}
        self.exhausted: set[int] = set()
        """Pairs without an unseen item, as of `generation`."""
        self.generation = -1


class _Heap:
    """The first candidates of a pair and group, with `limit` as a bound for all others."""

    __slots__ = ("entries", "generation", "limit")

    def __init__(self, entries: list[int], limit: int, generation: tuple[int, int]) -> None:
        self.entries, self.limit, self.generation = entries, limit, generation


class _PoolCell:
    """A pair and a group: the items that were shown in the current round."""

    __slots__ = ("counted_at", "covered", "heap", "left", "round", "size")

    def __init__(self) -> None:
        self.covered: set[int] = set()
        self.round = 0
        self.heap: _Heap | None = None
        self.size = self.left = 0
        """Eligible items, and those that are not covered, as of generation `counted_at`."""
        self.counted_at = -1


class ItemPool:
    """The items of an arena, by number from 1, and the record of what was shown to whom.

    Parameters
    ----------
    seed
        Seed of the pseudo-random numbers.

    Examples
    --------
    >>> pool = ItemPool(seed=1)
    >>> pool.add([((0, 1), ""), ((0, 1), ""), ((0, 2), "")])
    >>> [pool.show("ann", (0, 1)) for _ in range(2)], pool.is_exhausted("ann", (0, 1))
    ([1, 2], True)
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.groups: list[str] = []
        """Values of the balance tag, by number of the group; one empty string without the tag."""
        self._arms = [array("Q")]
        """Bit sets of the options with an answer, in words of 64 options."""
        self._group = array("H")
        self._present = bytearray()
        self._shown = array("Q")
        """Number of duels with the item, plus the count at which it started."""
        self._started = array("Q")
        self._cells: dict[tuple[int, int], _PoolCell] = {}
        self._group_of_pair: dict[int, list[int]] = {}
        """Duels on a pair, by group."""
        self._group_total: list[int] = []
        self._seen: dict[str, _Seen] = {}
        self._seen_total = 0
        self._generation = 0
        """Number of changes of the items."""
        self._together: NDArray[np.int64] = np.zeros((1, 1), np.int64)
        """Number of present items with answers of both options, by pair."""
        self._known_pairs: tuple[tuple[int, tuple[int, ...]], list[tuple[int, int]]] = (-1, ()), []
        """The last result of `_pairs`, and what it depends on."""
        self._heaps: OrderedDict[tuple[str, int, int], _Heap] = OrderedDict()
        self._sets: list[Pair] = []
        """The slates, by code minus `_SETS`."""
        self._set_codes: dict[Pair, int] = {}
        self._eligible: dict[int, tuple[int, int]] = {}
        """For each slate: a generation, and the number of its eligible items."""
        self._comparable: tuple[tuple[int, tuple[int, ...]], int] = (-1, ()), 0
        """The last result of `_items_with_two`, and what it depends on."""

    # -- queries

    def __len__(self) -> int:
        return len(self._present)

    @property
    def kept(self) -> int:
        """Size of the pool in a snapshot, in items and showings."""
        return self._seen_total + len(self) // 8

    @property
    def present(self) -> int:
        """Number of items that can be shown."""
        return self._present.count(1)

    def is_present(self, item: int) -> bool:
        """Return whether an item can be shown."""
        return bool(self._present[item - 1])

    def arms(self, item: int) -> tuple[int, ...]:
        """Return the options with an answer to an item."""
        bits = sum(word[item - 1] << (_WORD * place) for place, word in enumerate(self._arms))
        return tuple(arm for arm in range(bits.bit_length()) if bits >> arm & 1)

    def shown(self, item: int) -> int:
        """Return the number of duels with an item."""
        return self._shown[item - 1] - self._started[item - 1]

    def extent(self) -> tuple[int, int]:
        """Return the minimum and the maximum of `shown` over the present items; 0, 0 without."""
        counts = np.frombuffer(self._shown, np.uint64) - np.frombuffer(self._started, np.uint64)
        here = counts[np.frombuffer(self._present, np.bool_)]
        return (int(here.min()), int(here.max())) if len(here) else (0, 0)

    def eligible(self, pair: Pair) -> int:
        """Return the number of present items with answers of all these options."""
        if len(pair) > 2:
            code = self._known_code(pair)
            here = self._having(pair) if code is None else self._eligible_of_set(code)
            return int(np.sum(here))
        first, second = pair
        if max(pair) >= len(self._together):
            return 0
        return int(self._together[first, second])

    def _eligible_of_set(self, code: int) -> int:
        generation, count = self._eligible.get(code, (-1, 0))
        if generation != self._generation:
            count = int(self._having(self._arms_of(code)).sum())
            self._eligible[code] = self._generation, count
        return count

    def _code(self, pair: Pair) -> int:
        """Return the number of a pair or a slate; a new slate gets the next one."""
        if len(pair) == 2:
            return _code(pair)
        code = self._set_codes.get(pair)
        if code is None:
            code = self._set_codes[pair] = _SETS + len(self._sets)
            self._sets.append(pair)
        return code

    def _known_code(self, pair: Pair) -> int | None:
        """Return the number of a pair or a slate; None for a slate that was never chosen.

        Queries use it: a number that they gave would be missing when the log is replayed.
        """
        return _code(pair) if len(pair) == 2 else self._set_codes.get(pair)

    def _arms_of(self, code: int) -> Pair:
        return divmod(code, MOST_OPTIONS) if code < _SETS else self._sets[code - _SETS]

    def is_exhausted(self, voter: str | None, pair: Pair) -> bool:
        """Return whether a voter has seen every eligible item with this pair."""
        if not self.eligible(pair):
            return True
        return voter is not None and self._known_code(pair) in self._exhausted(voter)

    def has_exhausted_all(self, voter: str | None, options: Sequence[int]) -> bool:
        """Return whether no pair of these options has an item that the voter has not seen."""
        pairs = self._pairs(options)
        if voter is None or not pairs:
            return not pairs
        exhausted = self._exhausted(voter)
        return len(exhausted) >= len(pairs) and all(_code(pair) in exhausted for pair in pairs)

    def likely_next(self, item: int, pair: Pair, most: int) -> list[int]:
        """Return items that are probably shown on a pair soon, after this one was chosen.

        They are of the same group; the choice does not depend on this method.
        """
        cell = self._cells.get((self._known_code(pair) or 0, self._group[item - 1]))
        heap = None if cell is None else cell.heap
        return [] if heap is None else [entry & _LOW for entry in nsmallest(most, heap.entries)]

    def least_shown_pair(self, voter: str | None, options: Sequence[int]) -> tuple[int, int] | None:
        """Return the pair with an item for this voter that was shown least; None without one."""
        left = [pair for pair in self._pairs(options) if not self.is_exhausted(voter, pair)]
        return min(left, key=lambda pair: (self._pair_total(pair), pair), default=None)

    def has_exhausted_slates(self, voter: str | None, options: Sequence[int], show: int) -> bool:
        """Return whether `least_shown_slate` has nothing to show to a voter."""
        seen = None if voter is None else self._seen.get(voter)
        comparable = self._items_with_two(options)
        if seen is None or len(seen.items) < comparable:
            return not comparable
        return self.least_shown_slate(voter, options, show) is None

    def _items_with_two(self, options: Sequence[int]) -> int:
        """Return the number of present items with answers of two of these options."""
        key = self._generation, tuple(options)
        if self._comparable[0] != key:
            self._comparable = key, int((self._answers(options) >= 2).sum())
        return self._comparable[1]

    def _answers(self, options: Sequence[int]) -> NDArray[np.int64]:
        """Return for each item the number of these options with an answer; 0 for retired ones."""
        count = np.zeros(len(self), np.int64)
        for arm in options:
            count += self._has(arm)
        return count * np.frombuffer(self._present, np.bool_)

    def least_shown_slate(
        self, voter: str | None, options: Sequence[int], show: int
    ) -> tuple[int, Pair] | None:
        """Return the item shown least, and `show` options with an answer; None without any.

        All options with an answer are shown if they are fewer. Among items and options with equal
        counts, pseudo-random numbers decide. This voter has not seen the item with these options.
        """
        found = np.flatnonzero(self._answers(options) >= 2)
        shown = np.frombuffer(self._shown, np.uint64)[found].astype(np.int64)
        ties = _tie_breaks(self.seed, found + 1, shown, 0)
        seen = None if voter is None else self._seen.get(voter)
        for place in np.lexsort((ties, shown)).tolist():
            item, count = int(found[place]) + 1, int(shown[place])
            arms = sorted(
                set(self.arms(item)) & set(options),
                key=lambda arm: tie_break(self.seed, item, count, arm),
            )
            for chosen in combinations(arms, min(show, len(arms))):
                pair = tuple(sorted(chosen))
                code = self._known_code(pair)
                if seen is None or code is None or (code << 32 | item) not in seen.items:
                    return item, pair
        return None

    def _pair_total(self, pair: Pair) -> int:
        return sum(self._group_of_pair.get(_code(pair), ()))

    def _pairs(self, options: Sequence[int]) -> list[tuple[int, int]]:
        """Return the pairs of these options with an eligible item."""
        key = self._generation, tuple(options)
        if self._known_pairs[0] != key:
            here = sorted(arm for arm in options if arm < len(self._together))
            part = np.triu(self._together[np.ix_(here, here)], 1)
            found = [(here[a], here[b]) for a, b in np.argwhere(part).tolist()]
            self._known_pairs = key, found
        return self._known_pairs[1]

    def _exhausted(self, voter: str) -> set[int]:
        seen = self._seen.get(voter)
        if seen is None:
            return set()
        if seen.generation != self._generation:
            seen.exhausted = {code for code in seen.pairs if self._has_seen_all(seen, code)}
            seen.generation = self._generation
        return seen.exhausted

    def _has_seen_all(self, seen: _Seen, code: int) -> bool:
        eligible = self.eligible(self._arms_of(code))
        if seen.pairs.get(code, 0) < eligible:  # it may count retired items, so this is a bound
            return False
        return eligible <= sum(map(self.is_present, _items_seen(seen, code)))

    # -- changes

    def group_of(self, value: str) -> int:
        """Return the number of a group; a new one starts with the lowest counts."""
        if value in self.groups:
            return self.groups.index(value)
        for counts in self._group_of_pair.values():
            counts.append(min(counts, default=0))
        self._group_total.append(min(self._group_total, default=0))
        self.groups.append(value)
        return len(self.groups) - 1

    def add(self, items: Iterable[tuple[Sequence[int], str]]) -> None:
        """Add items: for each one the options with an answer, and the value of the balance tag."""
        start = self._lowest()
        added = list(items)
        self._present.extend(b"\1" * len(added))
        for word in self._arms:
            word.extend([0] * len(added))
        for number, (arms, value) in enumerate(added, len(self._group) + 1):
            self._group.append(self.group_of(value))
            self._shown.append(start)
            self._started.append(start)
            self._set_arms(number, arms)
        self._count_together(range(len(self) - len(added) + 1, len(self) + 1), 1)

    def _lowest(self) -> int:
        here = np.frombuffer(self._present, np.bool_)
        return int(np.frombuffer(self._shown, np.uint64)[here].min()) if here.any() else 0

    def _set_arms(self, item: int, arms: Iterable[int]) -> None:
        for arm in arms:
            while arm >= _WORD * len(self._arms):
                self._arms.append(array("Q", bytes(8 * len(self))))
            self._arms[arm // _WORD][item - 1] |= 1 << (arm % _WORD)

    def retire(self, item: int) -> None:
        """Retire an item: it is no longer shown."""
        self._count_together([item], -1)
        self._present[item - 1] = 0

    def readmit(self, item: int) -> None:
        """Readmit a retired item; it goes on with the lowest count if its own is below."""
        lowest = self._lowest() if self.present else 0
        step = max(0, lowest - self._shown[item - 1])
        self._shown[item - 1] += step
        self._started[item - 1] += step
        self._present[item - 1] = 1
        self._count_together([item], 1)

    def extend(self, item: int, arms: Iterable[int]) -> None:
        """Add answers of further options to an item."""
        here = self.is_present(item)
        if here:
            self._count_together([item], -1)
        self._set_arms(item, arms)
        self._generation += 1
        if here:
            self._count_together([item], 1)

    def _count_together(self, items: Sequence[int], times: int) -> None:
        """Add items to the table of pairs, or take them out of it; invalidate the heaps."""
        self._generation += 1
        arms = _WORD * len(self._arms)
        if len(self._together) < arms:
            grown = np.zeros((arms, arms), np.int64)
            grown[: len(self._together), : len(self._together)] = self._together
            self._together = grown
        place = np.asarray(items, np.int64) - 1
        for start in range(0, len(place), 10_000):
            some = place[start : start + 10_000]
            bits = np.stack([np.frombuffer(word, np.uint64)[some] for word in self._arms], axis=1)
            has = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little").astype(np.float32)
            self._together += times * np.rint(has.T @ has).astype(np.int64)

    # -- the choice

    def show(self, voter: str | None, pair: Pair) -> int | None:
        """Choose an item and record that it is shown; None if there is none left.

        Parameters
        ----------
        voter
            The voter; None: nothing is known about the voter, so no item counts as seen.
        pair
            Two options, or those of a slate, in ascending order.
        """
        if not self.eligible(pair):
            return None
        code = self._code(pair)
        counts = self._counts_of(code)
        seen = None if voter is None else self._seen.get(voter)
        for group in self._group_order(counts, code):
            item = self._first(code, group, voter, seen)
            if item:
                self._record(item, code, group, voter)
                return item
        return None

    def show_item(self, voter: str | None, pair: Pair, item: int) -> None:
        """Record that an item is shown that `least_shown_slate` has chosen."""
        code, group = self._code(pair), self._group[item - 1]
        self._counts_of(code)
        self._cells.setdefault((code, group), _PoolCell())
        self._record(item, code, group, voter)

    def _counts_of(self, code: int) -> list[int]:
        """Return the duels on a pair, by group."""
        counts = self._group_of_pair.get(code)
        if counts is None:
            counts = self._group_of_pair[code] = [0] * len(self.groups)
        return counts

    def _group_order(self, counts: list[int], code: int) -> Iterable[int]:
        if len(counts) == 1:
            return (0,)
        total = self._group_total
        return sorted(
            range(len(counts)),
            key=lambda g: (counts[g], total[g], tie_break(self.seed, _LOW - g, counts[g], code)),
        )

    def _first(self, code: int, group: int, voter: str | None, seen: _Seen | None) -> int:
        """Return the first candidate of a pair and a group; 0 without one."""
        cell = self._cells.get((code, group))
        if cell is None:
            cell = self._cells[code, group] = _PoolCell()
        if cell.counted_at != self._generation:
            members = self._members(code, group)
            cell.size = len(members)
            cell.left = cell.size - sum(map(cell.covered.__contains__, members.tolist()))
            cell.counted_at = self._generation
        if not cell.left:  # the round is over
            cell.covered.clear()
            cell.round += 1
            cell.left = cell.size
        if not cell.size:
            return 0
        if seen is None:
            return self._from_shared_heap(code, group, cell, None) or 0
        if (voter, code, group) not in self._heaps:
            item = self._from_shared_heap(code, group, cell, seen)
            if item is not None:
                return item
        return self._from_own_heap(code, group, cell, str(voter), seen)

    def _from_shared_heap(
        self, code: int, group: int, cell: _PoolCell, seen: _Seen | None
    ) -> int | None:
        """Return the first candidate from the heap of a cell; 0 without one.

        The value is None if the voter has seen too many items of the heap to search it.
        """
        passed: list[int] = []  # entries of items that the voter has seen
        item: int | None = 0
        while True:
            heap = cell.heap
            if heap is None or heap.generation != (self._generation, cell.round):
                heap = cell.heap = self._fill(code, group, cell, None)
            entry = self._pop(heap, code, cell)
            if entry is None:
                if heap.limit == _MASK:
                    break  # the heap had all items of the cell
                cell.heap = None
                if passed:
                    return None
                continue
            if seen is None or (code << 32 | entry & _LOW) not in seen.items:
                heappush(heap.entries, entry)
                item = entry & _LOW
                break
            passed.append(entry)
            if len(passed) > _MOST_SEEN:
                item = None
                break
        for entry in passed:
            heappush(heap.entries, entry)
        return item

    def _from_own_heap(
        self, code: int, group: int, cell: _PoolCell, voter: str, seen: _Seen
    ) -> int:
        """Return the first candidate from a heap without the items that the voter has seen."""
        key = voter, code, group
        heap = self._heaps.pop(key, None)
        while True:
            if heap is None or heap.generation != (self._generation, cell.round):
                heap = self._fill(code, group, cell, seen)
            entry = self._pop(heap, code, cell)
            if entry is None:
                if heap.limit == _MASK:
                    break  # the heap had all candidates of the cell
                heap = None
            elif (code << 32 | entry & _LOW) not in seen.items:
                heappush(heap.entries, entry)
                break
        self._heaps[key] = heap
        if len(self._heaps) > _MOST_HEAPS:
            self._heaps.popitem(last=False)
        return 0 if entry is None else entry & _LOW

    def _pop(self, heap: _Heap, code: int, cell: _PoolCell) -> int | None:
        """Take the first entry with a current key from a heap; None if others may come before."""
        entries = heap.entries
        while entries:
            entry = heappop(entries)
            item = entry & _LOW
            key = self._key(item, code, cell)
            if key == entry >> 32:
                return entry
            if key <= heap.limit:
                heappush(entries, key << 32 | item)
        return None

    def _key(self, item: int, code: int, cell: _PoolCell) -> int:
        shown = self._shown[item - 1]
        tie = tie_break(self.seed, item, shown, code)
        return (item in cell.covered) << 63 | shown << 32 | tie

    def _members(self, code: int, group: int) -> NDArray[np.int64]:
        """Return the eligible items of a pair and a group."""
        here = self._having(self._arms_of(code))
        here &= np.frombuffer(self._group, np.uint16) == group
        return np.flatnonzero(here) + 1

    def _having(self, arms: Sequence[int]) -> NDArray[np.bool_]:
        """Return for each item whether it is present, with answers of all these options."""
        here = np.frombuffer(self._present, np.bool_).copy()
        for arm in arms:
            here &= self._has(arm)
        return here

    def _has(self, arm: int) -> NDArray[np.bool_]:
        """Return for each item whether an option has an answer."""
        if arm // _WORD >= len(self._arms):
            return np.zeros(len(self), np.bool_)
        word = np.frombuffer(self._arms[arm // _WORD], np.uint64)
        return (word >> np.uint64(arm % _WORD) & np.uint64(1)).astype(np.bool_)

    def _fill(self, code: int, group: int, cell: _PoolCell, seen: _Seen | None) -> _Heap:
        """Return a heap with the first candidates of a cell, without those that were seen."""
        items = self._members(code, group)
        if seen is not None:
            own = np.fromiter(_items_seen(seen, code), np.int64)
            items = items[~np.isin(items, own, kind="table")]
        shown = np.frombuffer(self._shown, np.uint64)[items - 1].astype(np.int64)
        keys = _tie_breaks(self.seed, items, shown, code)
        keys |= shown.astype(np.uint64) << np.uint64(32)
        covered = np.fromiter(cell.covered, np.int64, len(cell.covered))
        keys |= np.isin(items, covered, kind="table").astype(np.uint64) << np.uint64(63)
        limit = _MASK
        front = max(_FRONT, len(items) // _FRONT_PART)
        if len(items) > front:
            limit = int(np.partition(keys, front)[front])
            first = keys <= np.uint64(limit)
            items, keys = items[first], keys[first]
        entries = [
            key << 32 | item for key, item in zip(keys.tolist(), items.tolist(), strict=True)
        ]
        heapify(entries)
        return _Heap(entries, limit, (self._generation, cell.round))

    def _record(self, item: int, code: int, group: int, voter: str | None) -> None:
        cell = self._cells[code, group]
        if item not in cell.covered:
            cell.covered.add(item)
            cell.left -= 1
        self._shown[item - 1] += 1
        self._group_of_pair[code][group] += 1
        self._group_total[group] += 1
        if voter is None:
            return
        seen = self._seen.get(voter)
        if seen is None:
            seen = self._seen[voter] = _Seen()
            seen.generation = self._generation
        exhausted = self._exhausted(voter)
        seen.items.add(code << 32 | item)
        seen.pairs[code] = seen.pairs.get(code, 0) + 1
        self._seen_total += 1
        if self._has_seen_all(seen, code):
            exhausted.add(code)

    # -- snapshots

    def to_plain(self) -> dict[str, Any]:
        """Return a dict of plain values for a snapshot, independent of heaps and of order."""
        return {
            "groups": self.groups,
            "arms": [word.tobytes() for word in self._arms],
            "group": self._group.tobytes(),
            "present": bytes(self._present),
            "shown": self._shown.tobytes(),
            "started": self._started.tobytes(),
            "cells": [[*key, _packed(self._cells[key].covered)] for key in sorted(self._cells)],
            "group_of_pair": [
                [code, self._group_of_pair[code]] for code in sorted(self._group_of_pair)
            ],
            "group_total": self._group_total,
            "seen": [[voter, _packed(self._seen[voter].items)] for voter in sorted(self._seen)],
            "sets": [list(arms) for arms in self._sets],
        }

    @classmethod
    def from_plain(cls, seed: int, plain: dict[str, Any]) -> "ItemPool":
        """Return the pool of a snapshot."""
        pool = cls(seed)
        pool.groups, pool._group_total = plain["groups"], plain["group_total"]
        pool._arms = [array("Q", word) for word in plain["arms"]]
        pool._group, pool._present = array("H", plain["group"]), bytearray(plain["present"])
        pool._shown, pool._started = array("Q", plain["shown"]), array("Q", plain["started"])
        pool._sets = [tuple(arms) for arms in plain.get("sets", ())]
        pool._set_codes = {arms: _SETS + place for place, arms in enumerate(pool._sets)}
        for code, group, covered in plain["cells"]:
            cell = pool._cells[code, group] = _PoolCell()
            cell.covered = set(np.frombuffer(covered, "<i8").tolist())
        pool._group_of_pair = {code: list(counts) for code, counts in plain["group_of_pair"]}
        for voter, packed in plain["seen"]:
            seen = pool._seen[voter] = _Seen()
            seen.items = set(np.frombuffer(packed, "<i8").tolist())
            for each in seen.items:
                seen.pairs[each >> 32] = seen.pairs.get(each >> 32, 0) + 1
            pool._seen_total += len(seen.items)
        pool._count_together(
            (np.flatnonzero(np.frombuffer(pool._present, np.bool_)) + 1).tolist(), 1
        )
        return pool


def _code(pair: Pair) -> int:
    return pair[0] * MOST_OPTIONS + pair[1]


def _items_seen(seen: _Seen, code: int) -> Iterable[int]:
    return [each & _LOW for each in seen.items if each >> 32 == code]


def _packed(numbers: set[int]) -> bytes:
    return np.array(sorted(numbers), "<i8").tobytes()
