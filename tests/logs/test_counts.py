"""Counting: what is kept of a log, and that parts of it add up."""

from dataclasses import fields, replace

import numpy as np
import pytest

pytest.importorskip("scipy")

from driftduel.errors import DriftduelError
from driftduel.logs.counts import Counts, Groups, counts_from_votes, load_counts


def votes(n=3000, options=4, seed=0, events=None, groups=None):
    rng = np.random.default_rng(seed)
    first = rng.integers(options, size=n)
    second = (first + 1 + rng.integers(options - 1, size=n)) % options
    log = {
        "first": first,
        "second": second,
        "outcome": rng.choice([0.0, 0.5, 1.0], size=n, p=[0.5, 0.1, 0.4]),
        "time": np.sort(rng.integers(events, size=n)) if events else np.arange(n) * 2.5,
    }
    if groups:
        log["group"] = rng.integers(groups, size=n)
    return log


def taken(log, rows):
    return {name: column[rows] for name, column in log.items()}


def same(a: Counts, b: Counts):
    for field in fields(Counts):
        left, right = getattr(a, field.name), getattr(b, field.name)
        if isinstance(left, Groups):
            for column in fields(Groups):
                np.testing.assert_array_equal(
                    getattr(left, column.name), getattr(right, column.name)
                )
        else:
            np.testing.assert_array_equal(left, right, err_msg=field.name)


def test_every_vote_is_counted_once_in_each_tensor():
    log = votes(groups=50)
    counts = counts_from_votes(**log)
    total = np.zeros((4, 4))
    np.add.at(total, (log["first"], log["second"]), log["outcome"])
    np.add.at(total, (log["second"], log["first"]), 1 - log["outcome"])
    np.testing.assert_allclose(counts.wins.sum(axis=0), total)
    np.testing.assert_allclose(counts.parts.sum(axis=(0, 1)), total)
    by_group = np.zeros((4, 4))
    np.add.at(by_group, (counts.groups.winner, counts.groups.loser), counts.groups.wins)
    np.testing.assert_allclose(by_group, total)
    assert counts.votes == counts.weight == counts.shown.sum() == 3000
    assert counts.ties == (log["outcome"] == 0.5).sum()
    assert counts.shown_wins.sum() == log["outcome"].sum()
    np.testing.assert_allclose(counts.parts_ahead.sum(axis=(0, 1)), counts.shown_wins)
    shown, ties = np.zeros((4, 4)), np.zeros((4, 4))
    np.add.at(shown, (log["first"], log["second"]), 1.0)
    tie = log["outcome"] == 0.5
    for a, b in (("first", "second"), ("second", "first")):
        np.add.at(ties, (log[a][tie], log[b][tie]), 1.0)
    np.testing.assert_allclose(counts.shown, shown)
    np.testing.assert_allclose(counts.tied.sum(axis=0), ties)


@pytest.mark.parametrize("bins", [1, 7, 256])
def test_no_bin_cuts_an_event(bins):
    log = votes(events=40)
    counts = counts_from_votes(**log, bins=bins)
    assert (counts.first[1:] > counts.last[:-1]).all()
    assert counts.events.sum() == len(np.unique(log["time"]))
    grid = counts.grid(bins)
    assert len(grid) - 1 <= bins
    inside = (log["time"] >= counts.first[0]) & (log["time"] <= counts.last[grid[1] - 1])
    assert counts.over(grid)[0].sum() == inside.sum()


def test_bins_hold_about_as_many_votes_each():
    counts = counts_from_votes(**votes(20_000), bins=100)
    sizes = counts.over(counts.grid(100)).sum(axis=(1, 2))
    assert len(sizes) == 100
    assert sizes.min() > 180
    assert sizes.max() < 220


def test_the_order_of_rows_within_an_event_is_never_used():
    log = votes(events=60, groups=20)
    shuffled = np.random.default_rng(1).permutation(3000)
    same(counts_from_votes(**log), counts_from_votes(**taken(log, shuffled)))


def test_swapping_first_and_second_changes_nothing_but_the_place_shown():
    log = votes(groups=20)
    swapped = log | {
        "first": log["second"], "second": log["first"], "outcome": 1 - log["outcome"],
    }  # fmt: skip
    same(counts_from_votes(**log, placed=False), counts_from_votes(**swapped, placed=False))


@pytest.mark.parametrize("groups", [None, 25])
def test_parts_with_the_same_edges_add_up_to_the_whole(groups):
    log = votes(events=300, groups=groups)
    edges = np.arange(0, 300, 7)
    whole = counts_from_votes(**log, edges=edges, bins=10)
    dealt = np.random.default_rng(2).integers(3, size=3000)
    a, b, c = (counts_from_votes(**taken(log, dealt == i), edges=edges, bins=10) for i in range(3))
    added = (c + a) + b
    for name in (
        "wins",
        "first",
        "last",
        "coarse",
        "parts",
        "votes",
        "ties",
        "squares",
        "ahead",
        "tied",
        "parts_ahead",
        "shown",
    ):
        np.testing.assert_allclose(getattr(added, name), getattr(whole, name), err_msg=name)
    if groups:
        same(replace_events(added, whole), whole)


def replace_events(added, whole):
    """An event that is in two parts is counted in both: the only thing that does not add up."""
    assert (added.events >= whole.events).all()
    return Counts(**{f.name: getattr(added, f.name) for f in fields(Counts)} | {
        "events": whole.events
    })  # fmt: skip


def test_logs_of_different_times_are_put_behind_each_other():
    log = votes(1000)
    early, late = taken(log, slice(0, 400)), taken(log, slice(400, 1000))
    added = counts_from_votes(**late) + counts_from_votes(**early)
    same(added, counts_from_votes(**early) + counts_from_votes(**late))
    assert added.wins.shape[0] == 1000
    np.testing.assert_array_equal(added.first, log["time"])
    no_time = {name: log[name] for name in ("first", "second", "outcome")}
    a = counts_from_votes(**taken(no_time, slice(0, 400)))
    rows = a + counts_from_votes(**taken(no_time, slice(400, 1000)))
    np.testing.assert_array_equal(rows.first, np.arange(1000))


def test_options_that_only_one_log_has():
    a = counts_from_votes([0], [1], [1], [1.0], names=["tea", "milk"])
    b = counts_from_votes([0], [1], [0], [2.0], names=["milk", "ale"])
    total = (a + b).wins.sum(axis=0)
    assert (a + b).names == ("tea", "milk", "ale")
    assert total.tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_a_sum_has_the_presence_of_the_later_log_and_no_half_known_places():
    early = counts_from_votes([0, 1], [1, 0], [1, 0.5], [1, 2])
    late = counts_from_votes([0, 1], [1, 0], [1, 0.5], [3, 4], placed=False)
    late = replace(late, present=("1",), adaptive=True)
    for added in (early + late, late + early):
        assert (added.present, added.adaptive, added.placed) == (("1",), True, False)
        assert added.ahead.sum() == added.parts_ahead.sum() == added.shown.sum() == 0
        assert added.tied.sum() == 4
    assert (early + early).placed
    assert (early + early).shown.sum() == 4


def test_many_options_are_counted_in_fewer_bins():
    from driftduel.logs.counts import coarse_bins_for, fine_bins_for

    assert coarse_bins_for(20, 256) == 256
    for options in (2, 20, 100, 300, 1000):
        fine, coarse = fine_bins_for(options, 256), coarse_bins_for(options, 256)
        assert 10 * coarse * options**2 <= 2.5e7
        assert fine * options**2 <= 8e6
    rng = np.random.default_rng(0)
    a = rng.integers(300, size=20_000)
    counts = counts_from_votes(
        a, (a + rng.integers(1, 300, 20_000)) % 300, rng.integers(2, size=20_000)
    )
    assert counts.parts.shape == counts.parts_ahead.shape == (10, 27, 300, 300)
    assert counts.wins.shape == (64, 300, 300)


def test_logs_that_cannot_be_added_say_so():
    a = counts_from_votes([0, 1], [1, 0], [1, 0])
    b = counts_from_votes([0, 1], [1, 0], [1, 0], [1, 2])
    with pytest.raises(DriftduelError, match="rows and the other's numbers"):
        a + b
    log = votes(20_000)
    mine = np.random.default_rng(3).random(20_000) < 0.3
    odd, even = taken(log, mine), taken(log, ~mine)
    with pytest.raises(DriftduelError, match="same edges"):
        counts_from_votes(**odd, bins=20) + counts_from_votes(**even, bins=20)
    with pytest.raises(DriftduelError, match="has groups"):
        b + counts_from_votes([0, 1], [1, 0], [1, 0], [3, 4], group=[1, 2])


def test_only_some_options():
    log = votes(events=300, groups=30)
    counts = counts_from_votes(**log, names=["a", "b", "c", "d"])
    some = counts.only(["d", "b"])
    rows = np.isin(log["first"], (1, 3)) & np.isin(log["second"], (1, 3))
    assert some.wins.sum() == rows.sum() == some.groups.wins.sum() == some.parts.sum()
    for name in ("wins", "ahead", "tied"):
        tensor = getattr(counts, name).sum(axis=0)
        assert getattr(some, name).sum(axis=0)[0, 1] == tensor[3, 1] > 0, name
    parts = some.parts_ahead.sum(axis=(0, 1))
    np.testing.assert_allclose(parts, some.shown_wins)
    assert replace(counts, present=("a", "b")).only(["d", "b"]).present == ("b",)
    for wrong, words in ((["a"], "two different"), (["a", "x"], "no option 'x'")):
        with pytest.raises(DriftduelError, match=words):
            counts.only(wrong)


def test_of_very_many_groups_a_sample_is_kept_whole(monkeypatch):
    log = votes(20_000, groups=4000)
    whole = counts_from_votes(**log)
    monkeypatch.setattr("driftduel.logs.counts._MOST_GROUP_CELLS", 8000)
    sample = counts_from_votes(**log)
    assert sample.groups.share in (0.25, 0.5)
    assert abs(len(sample.groups.ids) / 4000 - sample.groups.share) < 0.05
    sizes = dict(zip(whole.groups.ids.tolist(), whole.groups.sizes().tolist(), strict=True))
    assert [sizes[i] for i in sample.groups.ids.tolist()] == sample.groups.sizes().tolist()


def test_saving_and_loading(tmp_path):
    for log in (votes(), votes(groups=9)):
        counts = counts_from_votes(**log, clock="date", names=["é", "b", "c d", "x" * 40])
        counts = replace(counts, adaptive="group" in log, present=("b", "é"))
        counts.save(tmp_path / "counts.npz")
        same(load_counts(tmp_path / "counts.npz"), counts)
    with pytest.raises(DriftduelError, match=r"\.npz"):
        counts.save(tmp_path / "counts.csv")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"wins": np.zeros((3, 4, 4))}, "shape"),
        ({"coarse": None}, "no 'coarse'"),
        ({"first": 0.0}, "contradict"),
        ({"group_bin": -1}, "groups"),
        ({"group_wins": -1.0}, "groups"),
        ({"group_wins": 1e17}, "groups"),
        ({"wins": 1e17}, "contradict"),
        ({"group_share": np.array([1.0])}, "groups"),
        ({"group_ids": np.array(7, np.uint64)}, "groups"),
        ({"votes": np.array("many")}, "invalid type or value"),
        ({"tied": np.nan}, "invalid type or value"),
        ({"ahead": 7.0}, "contradict"),
        ({"parts_ahead": 7.0}, "contradict"),
        ({"tied": -1.0}, "contradict"),
        ({"tied": 7.0}, "contradict"),
        ({"placed": 2}, "contradict"),
        ({"present": np.array(["0", "nobody"])}, "contradict"),
        ({"ahead": None, "shown_wins": np.zeros((4, 4))}, "older version"),
    ],
)
def test_damaged_counts_are_refused_in_one_sentence(tmp_path, change, words):
    counts_from_votes(**votes(200, groups=9)).save(tmp_path / "counts.npz")
    with np.load(tmp_path / "counts.npz") as stored:
        content = dict(stored)
    for name, value in change.items():
        if value is None:
            del content[name]
        elif np.ndim(value) or isinstance(value, np.ndarray):
            content[name] = value
        else:
            content[name] = np.full_like(content[name], value)
    np.savez(tmp_path / "broken.npz", **content)
    with pytest.raises(DriftduelError, match=words):
        load_counts(tmp_path / "broken.npz")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"first": [0, 9]}, "vote 2 names an unknown option"),
        ({"first": [1, 0]}, "vote 1 compares an option with itself"),
        ({"outcome": [1, np.nan]}, "vote 2 has an outcome"),
        ({"time": [np.inf, 1]}, "vote 1 has no finite time"),
        ({"weight": [1, 0]}, "vote 2 has a weight"),
        ({"weight": [1e20, 1]}, "vote 1 has a weight that is not above 0 and at most"),
        ({"outcome": [1]}, "shape"),
        ({"clock": "moon"}, "clock=moon"),
        ({"first": [], "second": [], "outcome": []}, "no votes"),
    ],
)
def test_votes_that_make_no_sense(wrong, words):
    log = {"first": [0, 0], "second": [1, 1], "outcome": [1, 0], "names": ["a", "b"]}
    with pytest.raises(DriftduelError, match=words):
        counts_from_votes(**log | wrong)


@pytest.mark.parametrize("groups", [None, 40])
@pytest.mark.parametrize("often", [1, 30, 300])
def test_the_largest_weights_can_be_fitted(often, groups):
    from driftduel.logs import fit
    from driftduel.logs.counts import LARGEST_WEIGHT

    log = votes(300, options=3, groups=groups)
    weight = np.where(np.arange(300) % (300 // often) == 0, LARGEST_WEIGHT, 0.5)
    found = fit(counts_from_votes(**log, weight=weight), bins=8)
    assert np.isfinite(found.phi)
    assert sum(found.now.chances.values()) + found.now.no_winner == pytest.approx(1)


def test_votes_that_are_heavier_than_can_be_dealt_are_tested_all_the_same():
    """The test of pairs deals at most a billion votes at random."""
    from driftduel.logs import fit

    log = votes(2000, options=2)
    log["outcome"] = (np.arange(2000) % 10 < np.where(np.arange(2000) < 1000, 9, 1)).astype(float)
    log["outcome"] = np.where(log["first"] == 0, log["outcome"], 1 - log["outcome"])
    found = fit(counts_from_votes(**log, weight=np.full(2000, 1e8)), "utilities", bins=16, phi=1e8)
    assert [change.reported for change in found.changes] == [True]
    assert found.changes[0].vote == pytest.approx(1000, abs=20)


def test_kishs_effective_votes():
    log = votes(100)
    weight = np.where(np.arange(100) < 50, 1.0, 3.0)
    counts = counts_from_votes(**log, weight=weight)
    assert counts.effective_votes == pytest.approx(200**2 / 500)
    assert counts.dispersion_of_weights == pytest.approx(2.5)
