"""Whoever was told that a vote is kept finds it again, even if the power failed right after.

To kill a process shows nothing of this: the system writes what it was given anyway. So the power
fails here at every kind of moment (`tests/arena/disk.py`), and what is left of the file is opened
by the same code.
"""

import random
import signal

import pytest

pytest.importorskip("msgspec")

from concurrent.futures import Future

from driftduel.arena.records import Record
from driftduel.arena.stores import Append, StoreError, open_store, sqlite
from driftduel.arena.stores.sqlite import SqliteStore
from driftduel.arena.writer import AppendHandle, Writer
from tests.arena.disk import FULL, IOERR_FSYNC, installed
from tests.waiting import LONG

ARENAS = ("a", "b")
KINDS = {"synced only": lambda rng: lambda: False, "luck": lambda rng: lambda: rng.random() < 0.5}
LONGEST = 60


def some(first, count):
    return [
        Record(seq, seq, "voted", {"ref": seq, "text": "x" * (seq % 7 * 40)})
        for seq in range(first, first + count)
    ]


@pytest.fixture
def pragmas(monkeypatch):
    """Have the file checkpointed often, and synced as told."""

    def set_pragmas(synchronous):
        changed = [
            p.replace("synchronous=FULL", f"synchronous={synchronous}") for p in sqlite._PRAGMAS
        ]
        assert synchronous == "FULL" or tuple(changed) != sqlite._PRAGMAS
        changed.append("PRAGMA wal_autocheckpoint=8")
        monkeypatch.setattr(sqlite, "_PRAGMAS", tuple(changed))

    return set_pragmas


class Hasty(Writer):
    """Tells everybody that all is kept, and writes it later."""

    def append(self, *said):
        super().append(*said)
        told = Future()
        told.set_result(None)
        return told


def live(folder, seed, writer_class=Writer, rate=0.04):
    """Write to two arenas; return what would be left at some moments, and what was told by then."""
    rng = random.Random(seed)
    told = dict.fromkeys(ARENAS, 0)
    moments = []
    with installed(folder) as disk:

        def power_fails(what, name):
            if rng.random() < rate:
                moments.extend((dict(told), disk.left(lucky(rng))) for lucky in KINDS.values())

        disk.event = power_fails
        store = SqliteStore(folder / "arena.db")
        writer = writer_class(store)
        handles = {name: AppendHandle(name) for name in ARENAS}
        for name in ARENAS:
            store.create(name, b"", some(1, 1), [])
            told[name] = 1
        nexts = dict.fromkeys(ARENAS, 2)
        while max(nexts.values()) < LONGEST:
            name, count = rng.choice(ARENAS), rng.randrange(1, 4)
            last = nexts[name] + count - 1
            future = writer.append(handles[name], some(nexts[name], count), b"state" * 99)
            future.add_done_callback(lambda _, name=name, last=last: told.update({name: last}))
            nexts[name] = last + 1
            if rng.random() < 0.6:
                future.result(LONG)
        writer.close()
        power_fails("end", "")
        store.close()
    assert disk.counts["sync"] > 0 or "OFF" in str(sqlite._PRAGMAS)
    return moments


def lost(folder, moments):
    """Open what is left at each moment; count the records that somebody had been told of."""
    missing = 0
    for number, (told, files) in enumerate(moments):
        place = folder / str(number)
        place.mkdir()
        for name, content in files.items():
            (place / name).write_bytes(content)
        store = SqliteStore(place / "arena.db")
        try:
            for name in ARENAS:
                there = store.records(name, verified=True)
                assert there == some(1, len(there))  # whole, in order, nothing else
                missing += max(0, told[name] - len(there))
        finally:
            store.close()
    return missing


@pytest.mark.parametrize(
    ("seed", "rate"),
    [(0, 0.04), *(pytest.param(seed, 0.3, marks=pytest.mark.long) for seed in range(1, 6))],
)
def test_nothing_is_lost_when_the_power_fails(tmp_path, pragmas, seed, rate):
    pragmas("FULL")
    (tmp_path / "disk").mkdir()
    moments = live(tmp_path / "disk", seed, rate=rate)
    assert len(moments) > 20
    assert max(told["a"] for told, _ in moments) > 20
    assert lost(tmp_path, moments) == 0
    votes = sum(sum(told.values()) for told, _ in moments)
    print(f"seed {seed}: {len(moments)} images, {votes:,} acknowledged records, none lost")


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
def test_a_commit_that_is_not_synced_is_seen(tmp_path, pragmas, synchronous):
    pragmas(synchronous)
    (tmp_path / "disk").mkdir()
    moments = live(tmp_path / "disk", 0)
    try:
        assert lost(tmp_path, moments) > 0
    except StoreError as error:  # nothing at all was synced: what is left may be no database
        assert "damaged" in str(error)  # noqa: PT017


def test_an_answer_before_the_commit_is_seen(tmp_path, pragmas):
    pragmas("FULL")
    (tmp_path / "disk").mkdir()
    assert lost(tmp_path, live(tmp_path / "disk", 0, Hasty)) > 0


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        ("write", FULL, "the disk is full: '.*arena.db' cannot grow; free some space"),
        ("sync", IOERR_FSYNC, "could not be read or written .*check the disk"),
    ],
)
def test_a_disk_that_fails_is_an_error_and_then_it_goes_on(tmp_path, what, code, said):
    folder = tmp_path / "disk"
    folder.mkdir()
    with installed(folder) as disk:
        store = SqliteStore(folder / "arena.db")
        writer, handle = Writer(store), AppendHandle("a")
        for name in ARENAS:
            store.create(name, b"", some(1, 1), [])
        writer.append(handle, some(2, 5)).result(LONG)
        disk.fail = {what: code}
        futures = [writer.append(handle, some(7, 1)), writer.append(handle, some(8, 1))]
        for future in futures:
            with pytest.raises(StoreError, match=said):
                future.result(LONG)
        with pytest.raises(StoreError, match=said):
            store.put_voter("a", b"k", "v")
        assert store.records("a") == some(1, 6)
        after = [({"a": 6, "b": 1}, disk.left(lambda: False))]
        disk.fail = {}
        assert store.records("a") == some(1, 6)
        writer.append(AppendHandle("a"), some(7, 3)).result(LONG)
        after.append(({"a": 9, "b": 1}, disk.left(lambda: False)))
        writer.close()
        store.close()
    assert lost(tmp_path, after) == 0


def test_nothing_is_built_on_what_a_bad_disk_did_not_take(tmp_path):
    """A commit's sync fails and the process ends; the next one still reads what was not kept."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with installed(folder) as disk:
        store = SqliteStore(folder / "arena.db")
        for name in ARENAS:
            store.create(name, b"", some(1, 1), [])
        disk.fail = {"sync": IOERR_FSYNC}
        with pytest.raises(StoreError):
            store.append([Append("a", some(2, 1))])
        disk.fail = dict.fromkeys(disk.counts, IOERR_FSYNC)  # as if it were killed
        store.close()
        disk.fail = {}
        store = SqliteStore(folder / "arena.db")
        there = store.last_seq("a")
        assert there == 2  # nobody was told of it, but it may be so
        assert store.append([Append("a", some(there + 1, 1))]) == [None]
        after = [({"a": there + 1, "b": 1}, disk.left(lambda: False))]
        store.close()
    assert lost(tmp_path, after) == 0


@pytest.mark.long
@pytest.mark.parametrize("synced", [True, False])
def test_what_postgresql_was_told_is_there_after_it_crashed(own_server, synced):
    """Where commits are not synced by default; ours are. If they were not, this would see it."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(own_server.get_uri(), autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET synchronous_commit = off")
        admin.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
        admin.execute("SELECT pg_reload_conf()")
    store = open_store(own_server.get_uri())
    store.create("a", b"", some(1, 1), [])
    if not synced:
        store._writer.execute("SET synchronous_commit = off")
    for seq in range(2, 30):
        assert store.append([Append("a", some(seq, 1))]) == [None]
    process = own_server.get_postmaster_info().process
    process.send_signal(signal.SIGQUIT)  # no time to write anything
    process.wait()
    with pytest.raises(StoreError, match=r"the connection to .* failed"):
        store.append([Append("a", some(30, 1))])
    own_server.ensure_postgres_running()
    there = store.last_seq("a")
    assert store.records("a") == some(1, there)
    assert (there == 29) == synced
    assert store.append([Append("a", some(there + 1, 1))]) == [None]
    store.close()
