"""A store that the commit before the renames wrote (ac61cc6) is opened, replayed and continued.

Names of classes and functions have changed since; serialised names must not: kinds and fields of
records, keys of snapshots, tables. `store-ac61cc6.db` has all kinds of records but ``closed`` and
``undone``, two ownership epochs, a snapshot, and an open duel.
"""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("msgspec")

from driftduel.arena import Arena, ArenaError, open_store
from driftduel.arena.replay import digest, load_state, replay_log, verify_log

WRITTEN = Path(__file__).with_name("store-ac61cc6.db")
OPEN_DUEL = "29-6534b73576bc2749-hY3cl3GUImL9hwdV"
NOW = 1_800_000_100.0


@pytest.fixture
def old(tmp_path):
    return str(shutil.copy(WRITTEN, tmp_path / "old.db"))


def test_log_and_snapshot_of_an_old_store_are_read(old):
    store = open_store(old)
    try:
        report = verify_log(store, "old")
        state, snapshot = load_state(store, "old")
        assert digest(state) == digest(replay_log(store, "old"))
        kinds = {record.kind for record in store.records("old")}
    finally:
        store.close()
    assert "all hashes are correct" in report
    assert f"also from the snapshot of record {snapshot}." in report
    assert snapshot == state.seq  # a snapshot of another format would have been ignored
    assert kinds == {
        "opened", "heard", "era", "asked", "voted", "told", "forgot", "joined", "left", "voided",
    }  # fmt: skip


def test_an_old_store_is_continued(old):
    with Arena(old, name="old", clock=lambda: NOW) as arena:
        before = arena.board()
        assert (before.votes, before.learned, before.voided, before.imported) == (37, 35, 2, 5)
        assert [option.name for option in arena.options()] == ["a", "b", "c", "d"]
        assert arena.vote(OPEN_DUEL, "left").counted  # an id that the old code signed
        assert arena.board().votes == 38
        shown = arena.ask("ann")
        arena.vote(shown.duel, "right")
    store = open_store(old)
    try:
        assert "also from the snapshot" in verify_log(store, "old")
    finally:
        store.close()


BEFORE_ITEMS = Path(__file__).with_name("store-824ef40.db")
OPEN_DUEL_BEFORE_ITEMS = "24-f479fed4556aa8fc-ovaSrNRFc.CPYUAc"


def test_a_store_without_items_is_read_from_its_snapshot(tmp_path):
    """`store-824ef40.db` was written by the commit before items, tags and "both bad"."""
    path = str(shutil.copy(BEFORE_ITEMS, tmp_path / "old.db"))
    store = open_store(path)
    try:
        assert "also from the snapshot" in verify_log(store, "old")
        state, snapshot = load_state(store, "old")
        assert digest(state) == digest(replay_log(store, "old"))
        assert snapshot == state.seq
    finally:
        store.close()
    with Arena(path, name="old", clock=lambda: NOW + 50) as arena:
        before = arena.board()
        counts = (before.votes, before.learned, before.voided, before.imported, before.both_bad)
        assert counts == (27, 26, 1, 2, 0)
        assert before.items is None
        arena.vote(OPEN_DUEL_BEFORE_ITEMS, "both-bad", tags={"lang": "de"}, reason="both wrong")
        assert arena.board().both_bad == 1
        with pytest.raises(ArenaError, match="has no items"):
            arena.add_items([{"id": "p", "answers": {"a": "x", "b": "y"}}])
    store = open_store(path)
    try:
        assert "also from the snapshot" in verify_log(store, "old")
    finally:
        store.close()
