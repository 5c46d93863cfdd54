"""The writer: in order, in groups, and never dead."""

import threading

import pytest

pytest.importorskip("msgspec")

from hypothesis import given, strategies as st

from driftduel.arena.records import Record
from driftduel.arena.stores import FencedError, StoreError
from driftduel.arena.stores.memory import MemoryStore
from driftduel.arena.writer import AppendHandle, Writer
from tests.waiting import LONG


def some(first, count=1):
    return [Record(seq, seq, "told", {"n": seq}) for seq in range(first, first + count)]


class Gated(MemoryStore):
    """Commits when it may, and remembers what came at once."""

    def __init__(self, *names):
        super().__init__()
        self.may, self.asked = threading.Semaphore(0), threading.Semaphore(0)
        self.batches, self.trouble = [], None
        for name in names:
            self.create(name, b"", some(1), [])

    def append(self, batch):
        self.asked.release()
        assert self.may.acquire(timeout=LONG)
        self.batches.append([(entry.arena, len(entry.records)) for entry in batch])
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            raise trouble
        return super().append(batch)


@pytest.fixture
def gated():
    store = Gated("a", "b")
    writer = Writer(store)
    yield store, writer
    for _ in range(100):
        store.may.release()
    writer.close()


def hold(store, writer, handle, records):
    """Append, and return when the writer is in the middle of it."""
    future = writer.append(handle, records)
    assert store.asked.acquire(timeout=LONG)
    return future


def test_what_comes_during_a_commit_goes_with_the_next(gated):
    store, writer = gated
    a, b = AppendHandle("a"), AppendHandle("b")
    first = hold(store, writer, a, some(2))
    later = [writer.append(a, some(3)), writer.append(b, some(2, 2)), writer.append(a, some(4))]
    assert writer.queued == 3
    assert not any(each.done() for each in (first, *later))
    store.may.release()
    first.result(LONG)
    assert not any(each.done() for each in later)
    store.may.release()
    for each in later:
        each.result(LONG)
    assert store.batches == [[("a", 1)], [("a", 1), ("b", 2), ("a", 1)]]
    assert store.last_seq("a") == 4
    assert store.last_seq("b") == 3


def test_what_goes_together_is_waited_for_together(gated):
    store, writer = gated
    a, b = AppendHandle("a"), AppendHandle("b")
    first = hold(store, writer, a, some(2))
    later = [writer.append(a, some(3)), writer.append(b, some(2)), writer.append(a, some(4))]
    assert later[0] is later[2]
    assert len({first, *later}) == 3
    store.may.release(2)
    for each in later:
        each.result(LONG)


def test_a_loop_appends_all_that_it_has_before_a_commit_begins(gated):
    store, writer = gated
    a, soon = AppendHandle("a"), []
    writer.defer_to_loop(soon.append)
    futures = [writer.append(a, some(seq)) for seq in (2, 3, 4)]
    assert len(soon) == 1
    assert writer.queued == 3
    soon[0]()
    store.may.release()
    assert futures[-1].result(LONG) is None
    assert store.batches == [[("a", 1)] * 3]


@pytest.mark.parametrize("verb", ["result", "exception"])
def test_who_stands_and_waits_in_the_loops_thread_is_not_waited_for(gated, verb):
    store, writer = gated
    writer.defer_to_loop([].append)
    store.may.release()
    assert getattr(writer.append(AppendHandle("a"), some(2)), verb)(LONG) is None


@pytest.mark.parametrize("who", ["another thread", "nobody any more"])
def test_a_commit_waits_for_no_other_than_the_loop(gated, who):
    store, writer = gated
    futures = []
    writer.defer_to_loop([].append)

    def append():
        futures.append(writer.append(AppendHandle("a"), some(2)))

    store.may.release()
    if who == "another thread":
        thread = threading.Thread(target=append)
        thread.start()
        thread.join()
    else:
        append()
        writer.defer_to_loop(None)
    assert futures[0].result(LONG) is None


def test_without_grouping_every_event_is_a_commit():
    store = MemoryStore()
    store.create("a", b"", some(1), [])
    sizes = []
    append = store.append
    store.append = lambda batch: sizes.append(len(batch)) or append(batch)
    writer, handle = Writer(store, grouping=False), AppendHandle("a")
    futures = [writer.append(handle, some(seq)) for seq in range(2, 30)]
    writer.close()
    assert [each.result(0) for each in futures] == [None] * 28
    assert sizes == [1] * 28


def test_an_arena_that_was_taken_over_leaves_the_others(gated):
    store, writer = gated
    a, b = AppendHandle("a"), AppendHandle("b")
    store._arenas["a"].extend(some(2))  # somebody else
    first = hold(store, writer, a, some(2))
    second, other = writer.append(a, some(3)), writer.append(b, some(2))
    store.may.release(2)
    with pytest.raises(FencedError, match="record 2 of arena 'a'"):
        first.result(LONG)
    with pytest.raises(FencedError, match="record 2 of arena 'a'"):
        second.result(LONG)
    other.result(LONG)
    assert isinstance(a.broken, FencedError)
    assert b.broken is None
    late = writer.append(a, some(4))
    assert late.done()
    assert isinstance(late.exception(0), FencedError)
    assert store.batches == [[("a", 1)], [("b", 1)]]
    again = writer.append(AppendHandle("a"), some(3))
    store.may.release()
    again.result(LONG)


@pytest.mark.parametrize("trouble", [StoreError("the disk is full."), RuntimeError("a bug")])
def test_a_batch_that_fails_breaks_its_handles_and_the_writer_goes_on(gated, trouble):
    store, writer = gated
    handles = [AppendHandle("a"), AppendHandle("b")]
    store.trouble = trouble
    first = hold(store, writer, handles[0], some(2))
    after = writer.append(handles[0], some(3))
    other = writer.append(handles[1], some(2))
    store.may.release(2)
    for each in (first, after):
        with pytest.raises(type(trouble), match=str(trouble)):
            each.result(LONG)
    other.result(LONG)
    assert handles[0].broken is trouble
    assert store.last_seq("a") == 1
    store.may.release()
    writer.append(AppendHandle("a"), some(2)).result(LONG)
    assert store.last_seq("a") == 2


def test_who_is_told_first_finds_every_handle_broken(gated):
    store, writer = gated
    a, b = AppendHandle("a"), AppendHandle("b")
    blocker = hold(store, writer, AppendHandle("a"), [])
    store.may.release()
    blocker.result(LONG)
    seen = []
    first = hold(store, writer, AppendHandle("a"), [])
    futures = [writer.append(a, some(2)), writer.append(b, some(2))]
    futures[0].add_done_callback(lambda _: seen.append(b.broken))
    store.may.release()
    first.result(LONG)
    store.trouble = StoreError("no.")
    store.may.release()
    assert isinstance(futures[1].exception(LONG), StoreError)
    assert isinstance(seen[0], StoreError)


def test_nobody_can_cancel_what_is_queued(gated):
    store, writer = gated
    future = hold(store, writer, AppendHandle("a"), some(2))
    queued = writer.append(AppendHandle("b"), some(2))
    assert not future.cancel()
    assert not queued.cancel()
    store.may.release(2)
    queued.result(LONG)
    assert store.last_seq("b") == 2


def test_a_callback_that_fails_does_not_end_the_writer(gated, caplog):
    store, writer = gated
    future = hold(store, writer, AppendHandle("a"), some(2))
    future.add_done_callback(lambda _: 1 / 0)
    store.may.release(2)
    writer.append(AppendHandle("b"), some(2)).result(LONG)
    assert "ZeroDivisionError" in caplog.text


def test_closing_writes_what_is_queued_and_then_nothing(gated):
    store, writer = gated
    a = AppendHandle("a")
    futures = [hold(store, writer, a, some(2)), writer.append(a, some(3), b"state")]
    store.may.release(2)
    writer.close()
    assert all(each.done() and each.exception(0) is None for each in futures)
    assert store.newest_snapshot("a") == (3, b"state")
    assert isinstance(writer.append(a, some(4)).exception(0), StoreError)
    assert store.last_seq("a") == 3
    writer.close()


def test_a_closed_writer_leaves_no_thread(store):
    before = threading.active_count()
    writers = [Writer(store) for _ in range(3)]
    assert threading.active_count() == before + 3
    for writer in writers:
        writer.close()
    assert threading.active_count() == before


ARENAS = "abc"
entries = st.lists(
    st.tuples(st.sampled_from(ARENAS), st.integers(0, 3), st.sampled_from(["", "", "", "skip"])),
    max_size=30,
)


@given(entries, st.booleans())
def test_the_same_as_one_at_a_time(said, grouping):
    """Some appends skip a record: they and all later ones of their handle must fail."""
    store = MemoryStore()
    expected = dict.fromkeys(ARENAS, 1)
    fine = []
    broken = set()
    for name in ARENAS:
        store.create(name, b"", some(1), [])
    writer = Writer(store, grouping=grouping)
    handles = {name: AppendHandle(name) for name in ARENAS}
    nexts = dict(expected)
    futures = []
    for name, count, how in said:
        skipped = 1 if how and count else 0
        futures.append(writer.append(handles[name], some(nexts[name] + 1 + skipped, count)))
        nexts[name] += count + skipped
        if skipped:
            broken.add(name)
        fine.append(name not in broken)
        if fine[-1]:
            expected[name] += count
    writer.close()
    assert [each.exception(0) is None for each in futures] == fine
    assert {name: store.last_seq(name) for name in ARENAS} == expected
