"""Rows as numbers: compiled loops equal plain ones, however a log is read."""

import numpy as np
import pytest

pl = pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel.errors import DriftduelError  # noqa: E402
from driftduel.logs import read_log, rows  # noqa: E402
from driftduel.logs._row_kernels import (  # noqa: E402
    add_votes,
    count_kinds,
    find_bins,
    write_cells,
)
from driftduel.logs.numbering import Numbers  # noqa: E402
from driftduel.logs.parts import count_files  # noqa: E402
from tests.logs.test_counts import same  # noqa: E402

pytestmark = pytest.mark.kernels
NO_WEIGHTS = np.zeros(0)


def plain_numbers(hashes):
    known = {}
    return [known.setdefault(key, len(known)) for key in hashes.tolist()]


@pytest.mark.parametrize("step", [1, 1 << 40])
def test_numbers_are_those_of_a_dictionary(step):
    """Also where all keys fall into one slot at first, and where the table must grow often."""
    rng = np.random.default_rng(1)
    hashes = rng.integers(3000 if step == 1 else 300, size=6000).astype(np.uint64) * np.uint64(step)
    numbers = Numbers()
    found, new = [], []
    for place in range(0, 6000, 1500):
        one, first = numbers.of(hashes[place : place + 1500])
        found += one.tolist()
        new += (place + first).tolist()
    assert found == plain_numbers(hashes)
    assert new == [found.index(number) for number in range(numbers.known)]
    assert numbers.known == len(set(hashes.tolist()))


@pytest.mark.parametrize("in_order", [True, False])
def test_bins_are_those_of_a_search(in_order):
    rng = np.random.default_rng(2)
    when = rng.normal(size=2000)
    when = np.sort(when) if in_order else when
    when[[3, 70, 71]] = np.nan, np.inf, -np.inf
    edges = np.sort(rng.choice(when[np.isfinite(when)], 40, replace=False))
    when[5] = edges[7]  # a bin has its first time
    bins = np.empty(2000, np.int32)
    find_bins(when, edges, bins)
    expected = np.searchsorted(edges[1:], when, side="right")
    assert np.array_equal(bins, np.where(np.isfinite(when), expected, -1))


@pytest.mark.parametrize("weighted", [False, True])
def test_votes_are_added_as_by_hand(weighted):
    rng = np.random.default_rng(3)
    rows, K, F = 800, 3, 6
    cells = np.array([0, 1, -1, 2, 1]), np.array([1, 2, 0, 0, 0]), np.array([1, 0.5, 1, 1, 1.0])
    kinds = rng.integers(5, size=rows).astype(np.int32)
    when = np.sort(rng.integers(60, size=rows)).astype(np.float64)
    when[9] = np.nan
    weight = rng.choice([0.5, 2.0, np.nan], size=rows) if weighted else NO_WEIGHTS
    bins = np.where(np.isnan(when), -1, when // 10).astype(np.int32)
    part, coarse = rng.integers(10, size=rows).astype(np.uint8), np.arange(F) // 2
    results, parts = np.zeros((3, F, K, K)), np.zeros((2, 10, 3, K, K))
    first_won = np.array([True, True, True, False, False])
    one, other = (np.where(first_won, *side) for side in (cells[:2], cells[1::-1]))
    one[cells[0] < 0] = -1
    result = np.where(cells[2] == 0.5, 2, np.where(first_won, 0, 1))
    first, last, said = np.full(F, np.inf), np.full(F, -np.inf), np.zeros(5)
    squares = add_votes(
        kinds, bins, part, when, weight, (one, other, result), coarse, results, parts,
        first, last, said,
    )  # fmt: skip
    group, chosen = (np.arange(rows) // 7).astype(np.uint64), rng.random(rows) < 0.7
    columns = [np.empty(2 * rows, kind) for kind in (np.uint64, *[np.int32] * 3, np.float64)]
    found = write_cells(kinds, bins, weight, group, chosen, cells, *columns)
    written = sorted(zip(*(column[:found].tolist() for column in columns), strict=True))
    by_hand, expected, counted, light = np.zeros((F, K, K)), [], np.zeros(5, int), 0
    ahead_by_hand, ties_by_hand = np.zeros((F, K, K)), np.zeros((F, K, K))
    for row in range(rows):
        w = weight[row] if weighted else 1.0
        if np.isnan(when[row]):
            continue
        light += np.isnan(w)
        counted[kinds[row]] += not np.isnan(w)
        a, b, won = (column[kinds[row]] for column in cells)
        if a < 0 or np.isnan(w):
            continue
        ahead_by_hand[bins[row], a, b] += w * (won == 1) * first_won[kinds[row]]
        ties_by_hand[bins[row], a, b] += w * (won == 0.5)
        for this, that, share in ((a, b, won), (b, a, 1 - won)):
            by_hand[bins[row], this, that] += w * share
            if share and chosen[row]:
                expected.append((row // 7, bins[row], this, that, w * share))
    ahead, behind, ties = results
    wins = ahead + behind.swapaxes(1, 2) + (ties + ties.swapaxes(1, 2)) / 2
    np.testing.assert_allclose(wins, by_hand)
    np.testing.assert_allclose(ahead, ahead_by_hand)
    np.testing.assert_allclose(ties, ties_by_hand)
    for tensor, whole in zip(parts, (ahead + ties / 2, behind + ties / 2), strict=True):
        coarse_sums = whole.reshape(3, 2, K, K).sum(axis=1)
        np.testing.assert_allclose(tensor.sum(axis=0), coarse_sums)
    assert written == sorted(expected)
    assert said.sum() == pytest.approx(wins.sum())
    assert squares == pytest.approx(
        (np.where(np.isnan(weight), 0, weight) ** 2)[(cells[0][kinds] >= 0) & (bins >= 0)].sum()
        if weighted
        else said.sum()
    )
    seen = np.zeros(5, np.int64)
    assert count_kinds(kinds, when, weight, seen) == (1, light)
    assert seen.tolist() == counted.tolist()
    inside = (bins == 2) & (cells[0][kinds] >= 0)
    inside &= ~np.isnan(weight) if weighted else True
    assert (first[2], last[2]) == (when[inside].min(), when[inside].max())


# ---- logs ----


def frame(n=3000, names=("ale", "gin", "tea", "Zoë")):
    rng = np.random.default_rng(4)
    options = np.array(names)
    first = rng.integers(len(names), size=n)
    second = (first + 1 + rng.integers(len(names) - 1, size=n)) % len(names)
    winner = options[np.where(rng.random(n) < 0.6, first, second)]
    winner[::17] = "tie"
    return pl.DataFrame(
        {
            "first": options[first],
            "second": options[second],
            "winner": winner,
            "time": np.arange(n) // 4,
            "group": np.arange(n) // 9,
            "weight": rng.choice([1.0, 0.5, 2.0], size=n),
        }
    )


def test_a_log_that_is_too_long_to_be_kept_is_read_again(tmp_path, monkeypatch):
    frame().write_csv(tmp_path / "votes.csv")
    kept = read_log(tmp_path / "votes.csv").counts
    monkeypatch.setattr(rows, "_MOST_KEPT", 1000)
    monkeypatch.setattr(rows, "_BATCH", 500)
    same(read_log(tmp_path / "votes.csv").counts, kept)


def test_a_log_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "_MOST_KEPT", 1000)
    frame().write_csv(tmp_path / "votes.csv")
    votes = pl.scan_csv(tmp_path / "votes.csv", infer_schema=False).with_columns(
        pl.col("time").cast(pl.Float64).alias("when"), pl.col("weight").cast(pl.Float64)
    )
    read = rows.LogRows(votes.drop("group", "time"))
    assert sum(len(batch.kind) for batch in read.batches()) == read.size == 3000
    frame(names=("ale", "gin", "rum")).write_csv(tmp_path / "votes.csv")
    with pytest.raises(DriftduelError, match="changed while it was read"):
        list(read.batches())


def test_a_column_that_names_no_options_is_refused(monkeypatch):
    monkeypatch.setattr(rows, "_MOST_KINDS", 2000)
    votes = frame().with_columns(first=pl.Series([f"text {i}" for i in range(3000)]))
    with pytest.raises(DriftduelError, match="right ones") as error:
        read_log(votes)
    assert "\n" not in str(error.value)


def test_files_are_counted_with_the_options_that_have_most_votes_in_all(tmp_path):
    """As in one log; a file without any of them is left out, and that is told."""
    whole = frame(names=("ale", "gin", "tea"))
    other = whole[:300].with_columns(
        pl.col("first", "second", "winner").replace({"ale": "x1", "gin": "x2", "tea": "x3"})
    )
    paths = [tmp_path / f"{i}.parquet" for i in range(3)]
    for path, part in zip(paths, (other, whole[300:1000], whole[1000:]), strict=True):
        part.write_parquet(path)
    counted = count_files(paths, most=3)
    assert counted.counts.names == ("ale", "gin", "tea")
    assert counted.left_out.keys() == {"x1", "x2", "x3"}
    assert counted.counts.votes == len(whole) - 300
    assert counted.rows == len(whole)
    one = read_log(paths, most=3)
    assert counted.counts.wins.sum(0) == pytest.approx(one.counts.wins.sum(0))
    assert counted.left_out == one.left_out
    with pytest.raises(DriftduelError, match="no votes between the options that have the most"):
        count_files(paths[:1] * 2, most=1)


def test_options_with_most_votes_that_never_met_are_told():
    votes = {"winner": ["a"] * 9 + ["b"] * 9, "loser": [*"cdefghijk", *"lmnopqrst"]}
    with pytest.raises(DriftduelError, match="no votes between the options that have the most"):
        read_log(pl.DataFrame(votes), most=2)
