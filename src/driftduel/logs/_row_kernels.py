"""Compiled functions that process every row of a log."""

import math

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import hot, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]


@kernel
def number_keys(
    keys: Ints, begin: int, known: int, slots: Places, stored: Ints, numbers: Places, new: Places
) -> tuple[int, int]:
    """Assign numbers to rows by key: equal keys get equal numbers, in order of occurrence.

    Parameters
    ----------
    keys
        One key per row; any bits, uniformly distributed (hash values).
    begin
        The first row without a number.
    known
        The number of distinct keys so far.
    slots, stored
        A hash table with open addressing, a power of two long: the number of the key in a slot, or
        -1, and the key value of each number.
    numbers
        Output argument: the number of each row.
    new
        Output argument: the first row with each new key, by number.

    Returns
    -------
    tuple
        The first row without a number (the table is too full), and the number of distinct keys.
    """
    mask = len(slots) - 1
    for row in range(begin, len(keys)):
        key = keys[row]
        slot = key & mask
        while slots[slot] >= 0 and stored[slots[slot]] != key:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            if 2 * known >= len(slots):
                return row, known
            slots[slot] = known
            stored[known] = key
            new[known] = row
            known += 1
        numbers[row] = slots[slot]
    return len(keys), known


@kernel
def count_kinds(kinds: Places, when: Floats, weight: Floats, rows: Ints) -> tuple[int, int]:
    """Add the rows with a time and a weight to `rows`, by kind.

    Without weights, the argument `weight` is empty. Returns the number of rows without a time, and
    the number of the other rows without a weight.
    """
    late, light = 0, 0
    for row in range(len(kinds)):
        if not math.isfinite(when[row]):
            late += 1
        elif len(weight) and math.isnan(weight[row]):
            light += 1
        else:
            rows[kinds[row]] += 1
    return late, light


@hot
def _bin(edges: Floats, time: float, near: int) -> int:
    """Return the last bin that begins at or before a time, else the first; search near `near`
    first,
    as most logs are in order."""  # noqa: D205, D209
    if edges[near] <= time and (near + 1 == len(edges) or time < edges[near + 1]):
        return near
    low, high = 0, len(edges)
    while high - low > 1:
        middle = (low + high) // 2
        if edges[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@kernel
def find_bins(when: Floats, edges: Floats, bins: Places) -> None:
    """Set `bins` to the index of each time in `edges`; the value -1 marks a missing time."""
    near = 0
    for row in range(len(when)):
        if math.isfinite(when[row]):
            near = _bin(edges, when[row], near)
            bins[row] = near
        else:
            bins[row] = -1


@kernel
def add_votes(
    kinds: Places,
    bins: Places,
    part: NDArray[np.uint8],
    when: Floats,
    weight: Floats,
    cells: tuple[Ints, Ints, Ints],
    coarse: Ints,
    results: Floats,
    parts: Floats,
    first: Floats,
    last: Floats,
    totals: Floats,
) -> float:
    """Sum the rows by result, and return the sum of their squared weights.

    Parameters
    ----------
    kinds, bins, part, when, weight
        One value per row: its kind, its bin or -1, its part, its time, its weight. Without parts or
        weights these arrays are empty.
    cells
        One value per kind: the first option, or -1 if it is not counted, the second option, and the
        result: 0 if the first won, 1 if the second did, 2 for a tie.
    coarse
        The coarse bin of each bin.
    results
        Output argument, (3, F, K, K): the weight of each result, by first and second option.
    parts
        Output argument, (2, parts, C, K, K): the same; a tie is half of either result, which takes
        less memory.
    first, last
        Output arguments, (F,): the first and last times in each bin.
    totals
        Output argument: the total weight of the rows of each kind.
    """
    one, other, result = cells
    counted, squares = 1.0, 0.0
    for row in range(len(kinds)):
        f, kind = bins[row], kinds[row]
        a, b = one[kind], other[kind]
        if f < 0 or a < 0:
            continue
        if len(weight):
            counted = weight[row]
            if math.isnan(counted):
                continue
        # The result is an index rather than a branch, which would be mispredicted half of the time.
        r = result[kind]
        results[r, f, a, b] += counted
        if len(part):
            p, c = part[row], coarse[f]
            if r < 2:
                parts[r, p, c, a, b] += counted
            else:
                parts[0, p, c, a, b] += counted / 2
                parts[1, p, c, a, b] += counted / 2
        first[f] = min(first[f], when[row])
        last[f] = max(last[f], when[row])
        totals[kind] += counted
        squares += counted * counted
    return squares


@kernel
def write_cells(
    kinds: Places,
    bins: Places,
    weight: Floats,
    group: NDArray[np.uint64],
    chosen: NDArray[np.bool_],
    cells: tuple[Ints, Ints, Floats],
    groups: NDArray[np.uint64],
    places: Places,
    winners: Places,
    losers: Places,
    wins: Floats,
) -> int:
    """Write group, bin, winner, loser and wins of each row (a tie: twice); return the number.

    Parameters
    ----------
    kinds, bins, weight
        Same arguments as of `add_votes`.
    cells
        One value per kind: the winner, or -1 if it is not counted, the loser, and the winner's
        share of the win, 1 unless it is a tie.
    group, chosen
        The group of each row, and whether that group is used; the latter is empty if all are.
    groups, places, winners, losers, wins
        Output arguments, twice as long as the rows.
    """
    winner, loser, share = cells
    found, counted = 0, 1.0
    for row in range(len(kinds)):
        kind = kinds[row]
        if bins[row] < 0 or winner[kind] < 0 or (len(chosen) and not chosen[row]):
            continue
        if len(weight):
            counted = weight[row]
            if math.isnan(counted):
                continue
        groups[found], places[found] = group[row], bins[row]
        winners[found], losers[found] = winner[kind], loser[kind]
        wins[found] = counted * share[kind]
        found += 1
        if share[kind] < 1.0:
            groups[found], places[found] = group[row], bins[row]
            winners[found], losers[found] = loser[kind], winner[kind]
            wins[found] = counted - wins[found - 1]
            found += 1
    return found


@kernel
def deal_evenly(sizes: Floats, bins: int, total: float, numbers: Ints) -> None:
    """Assign each item by its middle to one of `bins` bins of about equal size, none empty."""
    done, last, number = 0.0, -1, -1
    for place in range(len(sizes)):
        done += sizes[place]
        wished = min(int((done - sizes[place] / 2) * (bins / total)), bins - 1)
        if wished != last:
            last = wished
            number += 1
        numbers[place] = number
