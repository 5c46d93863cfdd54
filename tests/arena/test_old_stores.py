"""A store that the commit before the renames wrote (ac61cc6) is opened, replayed and continued.

Names of classes and functions have changed since; serialised names must not: kinds and fields of
records, keys of snapshots, tables. `store-ac61cc6.db` has all kinds of records but ``closed`` and
``undone``, two ownership epochs, a snapshot, and an open duel.
"""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("msgspec")

from driftduel.arena import Arena, open_store
from driftduel.arena.replay import check, digest, load_state, replay_log

WRITTEN = Path(__file__).with_name("store-ac61cc6.db")
OPEN_DUEL = "29-6534b73576bc2749-hY3cl3GUImL9hwdV"
NOW = 1_800_000_100.0


@pytest.fixture
def old(tmp_path):
    return str(shutil.copy(WRITTEN, tmp_path / "old.db"))


def test_log_and_snapshot_of_an_old_store_are_read(old):
    store = open_store(old)
    try:
        report = check(store, "old")
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
        assert "also from the snapshot" in check(store, "old")
    finally:
        store.close()
