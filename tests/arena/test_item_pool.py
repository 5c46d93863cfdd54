"""The choice of items equals the reference implementation, whatever happens to the items."""

import numpy as np
import pytest

pytest.importorskip("msgspec")

import msgspec
from hypothesis import given, settings, strategies as st

from driftduel.arena import item_pool
from driftduel.arena.item_pool import ItemPool, tie_break
from tests.arena.literal_pool import LiteralPool


def plain(pool):
    return msgspec.msgpack.encode(pool.to_plain())


def random_arms(rng, options):
    if rng.random() < 0.5:
        return tuple(range(options))
    return tuple(np.flatnonzero(rng.random(options) < 0.6).tolist())


def live_and_compare(seed, steps, options=4, most_items=25, groups=3):
    """Do the same at random with both pools; every answer must be the same."""
    rng = np.random.default_rng(seed)
    fast, slow = ItemPool(seed), LiteralPool(seed)
    voters = [None, *(f"v{n}" for n in range(int(rng.integers(1, 5))))]
    many = int(rng.integers(1, groups + 1))
    shown = 0
    for _ in range(steps):
        what, size = rng.random(), len(slow.items)
        item = int(rng.integers(1, size + 1)) if size else 0
        if size == 0 or (what < 0.05 and size < most_items):
            new = [
                (random_arms(rng, options), f"g{rng.integers(many)}")
                for _ in range(rng.integers(1, 6))
            ]
            fast.add(new)
            slow.add(new)
        elif what < 0.07 and slow.items[item - 1][2]:
            fast.retire(item)
            slow.retire(item)
        elif what < 0.09 and not slow.items[item - 1][2]:
            fast.readmit(item)
            slow.readmit(item)
        elif what < 0.1:
            arms = random_arms(rng, options + 1)
            fast.extend(item, arms)
            slow.extend(item, arms)
        elif what < 0.12:
            fast = ItemPool.from_plain(seed, msgspec.msgpack.decode(plain(fast)))
        else:
            a, b = sorted(rng.choice(options + 1, 2, replace=False).tolist())
            voter = voters[int(rng.integers(len(voters)))]
            assert fast.is_exhausted(voter, (a, b)) == (not slow.candidates(voter, (a, b)))
            assert fast.show(voter, (a, b)) == slow.show(voter, (a, b))
            shown += 1
        present = rng.permutation(options + 1)[: rng.integers(2, options + 2)].tolist()
        voter = voters[int(rng.integers(len(voters)))]
        pair = slow.least_shown_pair(voter, present)
        assert fast.least_shown_pair(voter, present) == pair
        assert fast.has_exhausted_all(voter, present) == (pair is None)
    counts = [item[3] - item[4] for item in slow.items]
    assert [fast.shown(item) for item in range(1, len(slow.items) + 1)] == counts
    here = [count for count, item in zip(counts, slow.items, strict=True) if item[2]]
    assert fast.extent() == ((min(here), max(here)) if here else (0, 0))
    assert fast.present == len(here)
    return shown


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_choice_equals_the_reference(seed):
    live_and_compare(seed, 150)


@pytest.mark.parametrize(("front", "most_seen"), [(1, 0), (2, 1), (5, 3)])
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_choice_does_not_depend_on_the_size_of_the_heaps(front, most_seen, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_pool, "_FRONT", front)
        patch.setattr(item_pool, "_MOST_SEEN", most_seen)
        patch.setattr(item_pool, "_MOST_HEAPS", 2)
        live_and_compare(seed, 150)


@pytest.mark.long
def test_thousands_of_random_cases_equal_the_reference():
    shown = 0
    for seed in range(150):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(item_pool, "_FRONT", (1, 3, 256)[seed % 3])
            patch.setattr(item_pool, "_MOST_SEEN", (0, 2, 24)[seed % 3])
            shown += live_and_compare(seed, 200, options=2 + seed % 5, most_items=40)
    assert shown > 20_000


def test_options_beyond_a_machine_word_are_distinct():
    pool = ItemPool(3)
    pool.add([((0, 199), ""), ((63, 64), ""), ((0, 64, 128), "")])
    assert [pool.arms(item) for item in (1, 2, 3)] == [(0, 199), (63, 64), (0, 64, 128)]
    assert pool.show(None, (0, 199)) == 1
    assert pool.show(None, (63, 64)) == 2
    assert pool.show(None, (64, 128)) == 3
    assert pool.show(None, (63, 199)) is None
    pool.extend(2, [199])
    assert pool.show(None, (63, 199)) == 2


@pytest.mark.parametrize("shares", ["even", "one pair"])
def test_exposure_differs_by_at_most_two_in_ten_thousand_duels(shares):
    rng, pool = np.random.default_rng(5), ItemPool(5)
    pool.add([(range(6), "")] * 200)
    pairs = [(a, b) for a in range(6) for b in range(a + 1, 6)]
    often = np.full(15, 1 / 15) if shares == "even" else np.r_[0.86, np.full(14, 0.01)]
    seen = set()
    for place, voter in zip(rng.choice(15, 10_000, p=often), rng.integers(20, size=10_000)):  # noqa: B905
        pair = pairs[place]
        if pool.is_exhausted(f"v{voter}", pair):
            pair = pool.least_shown_pair(f"v{voter}", range(6))
        item = pool.show(f"v{voter}", pair)
        assert (voter, pair, item) not in seen
        seen.add((voter, pair, item))
    low, high = pool.extent()
    assert high - low <= 2


def test_groups_are_shown_equally_often_on_every_pair():
    rng, pool = np.random.default_rng(6), ItemPool(6)
    sizes = {"de": 150, "en": 40, "fr": 10}
    pool.add([((0, 1, 2), group) for group, size in sizes.items() for _ in range(size)])
    counts = {}
    for voter in range(3000):
        pair = ((0, 1), (0, 2), (1, 2))[rng.choice(3, p=(0.6, 0.3, 0.1))]
        item = pool.show(f"v{voter}", pair)
        group = 0 if item <= 150 else 1 if item <= 190 else 2
        counts[pair, group] = counts.get((pair, group), 0) + 1
    for pair in ((0, 1), (0, 2), (1, 2)):
        here = [counts[pair, group] for group in range(3)]
        assert max(here) - min(here) <= 1, (pair, here)


def test_a_new_item_starts_with_the_others():
    pool = ItemPool(1)
    pool.add([((0, 1), "")] * 10)
    for voter in range(500):
        pool.show(f"v{voter}", (0, 1))
    pool.add([((0, 1), "")])
    shown = [pool.show(f"w{voter}", (0, 1)) for voter in range(110)]
    assert 9 <= shown.count(11) <= 11
    pool.retire(3)
    for voter in range(200):
        pool.show(f"x{voter}", (0, 1))
    pool.readmit(3)
    shown = [pool.show(f"y{voter}", (0, 1)) for voter in range(110)]
    assert 9 <= shown.count(3) <= 11


def test_a_snapshot_does_not_depend_on_the_heaps():
    one, other = ItemPool(2), ItemPool(2)
    for pool in (one, other):
        pool.add([((0, 1, 2), "")] * 30)
    for voter in range(200):
        pair = ((0, 1), (1, 2))[voter % 2]
        assert one.show(f"v{voter % 9}", pair) == other.show(f"v{voter % 9}", pair)
        if voter % 7 == 0:
            other = ItemPool.from_plain(2, msgspec.msgpack.decode(plain(other)))
        assert plain(one) == plain(other)


def test_ties_are_broken_evenly():
    draws = np.array([tie_break(1, item, 0, 1) for item in range(1, 20_001)], np.float64) / 2**32
    assert abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * 20_000)
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.03
