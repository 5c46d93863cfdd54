"""What goes wrong is said in one sentence, loses nothing, and is over when it is over."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest

pytest.importorskip("msgspec")

import driftduel.arena
from driftduel.arena.records import Record
from driftduel.arena.stores import (
    Append,
    FencedError,
    OwnedElsewhereError,
    StoreError,
    open_store,
    take,
)
from driftduel.arena.stores.filelock import describe_process
from driftduel.arena.stores.sqlite import SqliteStore
from driftduel.arena.writer import AppendHandle, Writer
from driftduel.errors import DriftduelError
from tests.waiting import LONG, eventually


def some(first, count=1, kind="told"):
    return [Record(seq, seq, kind, {"n": "x" * 100}) for seq in range(first, first + count)]


def make(store, *names):
    for name in names or ("a",):
        store.create(name, b"", some(1), [])
    return store


def sentence(said):
    """Tell whether something is one sentence for people."""
    return said.endswith(".") and "\n" not in said and "Traceback" not in said


# A room's own module brings the compiler, which takes a second that nobody here needs.
LIGHT = f"""
import sys, types
room = sys.modules["driftduel.arena"] = types.ModuleType("driftduel.arena")
room.__path__ = {driftduel.arena.__path__!r}
from driftduel.arena.records import Record
from driftduel.arena.stores import *
"""


@pytest.fixture
def child():
    """Start a program that says a line when it is ready, and ends at the latest with the test."""
    started = []

    def start(code, *arguments):
        command = [sys.executable, "-W", "error", "-c", LIGHT + code, *map(str, arguments)]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


OWN = """
store = open_store(sys.argv[1])
print(store.own("a"), flush=True)
sys.stdin.readline()
answer = store.append([Append("a", [Record(int(sys.argv[2]), 0, "told", {})])])[0]
print(type(answer).__name__, answer, flush=True)
store.close()
"""


# SQLite.


def test_one_process_owns_a_file_and_the_second_is_told_which(tmp_path, child):
    path = tmp_path / "arena.db"
    store = make(open_store(path), "a", "b")
    other = child(OWN, path, 2)
    assert other.stdout.readline() == "True\n"
    assert not store.own("a")
    with pytest.raises(OwnedElsewhereError, match=rf"owned by process {other.pid} on .* \(-c"):
        take(store, "b")
    assert store.last_seq("a") == 1  # it may look, all the same
    store.put_token(b"t", "a", "vote", "")
    other.kill()
    other.wait()
    assert eventually(lambda: store.own("a"))  # a lock dies with its process
    assert str(os.getpid()) in store.owner("b")
    store.close()


def test_a_file_that_is_opened_twice_is_one_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = open_store("arena.db"), open_store(f"sqlite:{tmp_path}/arena.db")
    assert first is second
    assert first.own("a")
    first.close()
    make(second)
    assert second.owned_arenas() == {"a"}
    second.close()
    with pytest.raises(StoreError, match="closed"):
        second.arenas()
    with pytest.raises(StoreError, match="closed"):
        second.append([Append("a", some(2))])
    with pytest.raises(StoreError, match="closed"):
        second.own("a")
    third = open_store("arena.db", create=False)
    assert third is not first
    assert third.arenas() == ["a"]
    third.close()


def test_who_has_a_lock_does_not_say_the_password(monkeypatch):
    words = ["/bin/driftduel", "arena", "serve", "--store=postgresql://me:secret@db/arena"]
    monkeypatch.setattr("sys.argv", words)
    assert describe_process().endswith("(driftduel arena serve --store)")
    monkeypatch.setattr("sys.argv", ["mine.py", "postgresql://me:secret@db/arena"])
    assert describe_process().endswith("(mine.py)")


def test_a_store_that_should_be_there_is_not_made(tmp_path):
    with pytest.raises(StoreError, match=r"the file '.*typo\.db' does not exist"):
        open_store(tmp_path / "typo.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(tmp_path):
    store = make(SqliteStore(tmp_path / "arena.db"))
    writer, handle = Writer(store), AppendHandle("a")
    (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
    store._writer.execute(f"PRAGMA max_page_count={pages + 2}")
    kept, failed = 1, None
    while failed is None and kept < 1000:
        failed = writer.append(handle, some(kept + 1, 10)).exception(LONG)
        kept += 0 if failed else 10
    assert "the disk is full" in str(failed)
    assert sentence(str(failed))
    assert isinstance(writer.append(handle, some(kept + 1)).exception(0), StoreError)
    assert store.records("a") == some(1, kept)
    store._writer.execute("PRAGMA max_page_count=1000000")
    writer.append(AppendHandle("a"), some(kept + 1, 10)).result(LONG)
    writer.close()
    store.close()
    again = open_store(tmp_path / "arena.db")
    assert again.records("a") == some(1, kept + 10)
    again.close()


FILES_ARE_SHORT = """
import resource, signal
store = open_store(sys.argv[1])
store.create("a", b"", [Record(1, 0, "opened", {})], [])
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
last, error = 1, None
while error is None:
    try:
        batch = [Record(last + 1 + i, 0, "told", {"x": "y" * 100}) for i in range(20)]
        assert store.append([Append("a", batch)]) == [None]
        last += 20
    except StoreError as trouble:
        error = trouble
print(last, store.last_seq("a"), error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
batch = [Record(last + 1, 0, "told", {})]
assert store.append([Append("a", batch)]) == [None]
store.close()
"""


def test_a_limit_of_the_system(tmp_path, child):
    """The real thing: a write fails half-way."""
    pytest.importorskip("resource")
    out, _ = child(FILES_ARE_SHORT, tmp_path / "arena.db").communicate()
    told, there, said = out.split(" ", 2)
    assert told == there
    assert int(told) > 100
    assert "check the disk" in said or "disk is full" in said
    store = open_store(tmp_path / "arena.db")
    assert store.last_seq("a") == int(told) + 1
    store.close()


def test_a_file_that_may_only_be_read(tmp_path):
    store = make(SqliteStore(tmp_path / "arena.db"))
    store._writer.execute("PRAGMA query_only=ON")
    with pytest.raises(StoreError, match=r"arena\.db' cannot be written: it is read-only"):
        store.append([Append("a", some(2))])
    assert store.last_seq("a") == 1
    store._writer.execute("PRAGMA query_only=OFF")
    assert store.append([Append("a", some(2))]) == [None]
    store.close()


def test_a_file_that_somebody_holds(tmp_path):
    store = make(SqliteStore(tmp_path / "arena.db", seconds=0.01))
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"locked by another process for 0\.01 s"):
        store.append([Append("a", some(2))])
    assert store.last_seq("a") == 1  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    assert store.append([Append("a", some(2))]) == [None]
    store.close()


def test_a_file_that_was_removed_takes_no_votes(tmp_path):
    store = make(SqliteStore(tmp_path / "arena.db"))
    store.path.rename(tmp_path / "elsewhere.db")
    with pytest.raises(StoreError, match=r"arena\.db' was removed or replaced"):
        store.append([Append("a", some(2))])
    (tmp_path / "elsewhere.db").rename(store.path)
    assert store.append([Append("a", some(2))]) == [None]
    store.close()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("folder", "cannot be opened: it is a folder"),
        ("missing", "cannot be opened: the folder '.*nowhere' does not exist"),
        ("text", "is not an SQLite database"),
        ("other", "is the database of another program"),
        ("newer", r"written by a newer version of driftduel \(schema 99"),
        ("damaged", "is damaged"),
    ],
)
def test_what_is_no_store_of_ours_is_said_and_left_alone(tmp_path, what, said):
    path = tmp_path / "arena.db"
    if what == "folder":
        path.mkdir()
    elif what == "missing":
        path = tmp_path / "nowhere" / "arena.db"
    elif what == "text":
        path.write_text("no database" * 1000)
    elif what == "other":
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE theirs (x)")
        other.close()
    else:
        make(store := open_store(path))
        store.close()
        if what == "newer":
            other = sqlite3.connect(path)
            other.execute("PRAGMA user_version=99")
            other.close()
        else:
            content = bytearray(path.read_bytes())
            content[100:2000] = b"\xff" * 1900
            path.write_bytes(content)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=said) as caught:
        open_store(path)
    assert sentence(str(caught.value))
    if what in {"text", "damaged"}:
        assert path.read_bytes() == before


def test_many_processes_make_one_file_together(tmp_path, child):
    code = (
        "store = open_store(sys.argv[1]); store.put_token(sys.argv[2].encode(), 'a', 'own', '')\n"
    )
    others = [child(code + "store.close()", tmp_path / "arena.db", n) for n in range(4)]
    for each in others:
        each.communicate()
        assert each.returncode == 0
    store = open_store(tmp_path / "arena.db")
    assert len(store.tokens("a")) == 4
    store.close()


def test_a_file_that_another_process_creates_is_awaited(tmp_path, monkeypatch):
    class Busy(sqlite3.Connection):
        """A connection that finds the file locked at the first switch to the write-ahead log."""

        refused = 0

        def execute(self, sql, *values):
            if "journal_mode" in sql and not Busy.refused:
                Busy.refused += 1
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error
            return super().execute(sql, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, factory=Busy, **k))
    store = open_store(tmp_path / "arena.db")
    assert Busy.refused == 1
    store.close()


def test_reading_while_somebody_writes(store):
    make(store)
    over = threading.Event()
    wrong = []

    def read():
        longest = 0
        while not over.is_set():
            there = [record.seq for record in store.records("a")]
            if len(there) < longest or there != list(range(1, len(there) + 1)):
                wrong.append(there)
            longest = len(there)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for each in threads:
        each.start()
    writer, handle = Writer(store), AppendHandle("a")
    for seq in range(2, 40):
        writer.append(handle, some(seq))
        if seq % 5 == 0:
            writer.append(handle, []).result(LONG)
    writer.close()
    over.set()
    for each in threads:
        each.join()
    assert wrong == []
    assert store.last_seq("a") == 39


# PostgreSQL.


@pytest.fixture
def stores(postgres_url):
    """Open stores on one PostgreSQL, as if by several processes."""
    from driftduel.arena.stores.postgres import PostgresStore

    opened = []

    def another(**options):
        opened.append(PostgresStore(postgres_url, **options))
        return opened[-1]

    yield another
    for each in opened:
        each.close()


@pytest.fixture
def admin(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def cut(admin, store, query="%"):
    """End a store's connections that last ran some statement; return how many."""
    admin.execute("SELECT pg_stat_clear_snapshot()")  # in a transaction it looks only once
    return len(
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = %s AND query LIKE %s",
            (f"driftduel {store._process}", query),
        ).fetchall()
    )


def test_an_owner_that_was_replaced_is_fenced(stores):
    first, second = make(stores(), "a", "b"), stores()
    assert first.own("a")
    assert first.own("b")
    assert not second.own("a")
    with pytest.raises(OwnedElsewhereError, match=f"owned by process {os.getpid()} on "):
        take(second, "a")
    assert first.append([Append("a", some(2))]) == [None]
    first.disown("a")
    assert second.own("a")
    assert second.append([Append("a", some(3, kind="era"))]) == [None]
    fenced, other = first.append([Append("a", some(3, 2)), Append("b", some(2))])
    assert isinstance(fenced, FencedError)
    assert other is None
    assert second.records("a")[2].kind == "era"
    assert (first.owned_arenas(), second.owned_arenas()) == ({"b"}, {"a"})


def test_two_who_write_at_the_same_moment(stores):
    """The key decides, whoever believed to be first: exactly one of the two is told it is kept."""
    first, second = make(stores()), stores()
    together = threading.Barrier(2)
    answers = {first: [], second: []}

    def write(store):
        for seq in range(2, 22):
            together.wait(LONG)
            answers[store] += store.append([Append("a", some(seq, kind=store._process))])

    threads = [threading.Thread(target=write, args=(each,)) for each in answers]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    there = first.records("a", after=1)
    assert len(there) == 20
    for place, record in enumerate(there):
        told = [store._process for store in answers if answers[store][place] is None]
        assert told == [record.kind]
        assert sum(isinstance(answers[store][place], FencedError) for store in answers) == 1


def test_the_arenas_of_a_dead_process_are_free_at_once(stores, postgres_url, child):
    store = make(stores(heartbeat_timeout=1e6))
    other = child(OWN, postgres_url, 2)
    assert other.stdout.readline() == "True\n"
    assert not store.own("a")
    other.kill()
    other.wait()
    assert eventually(lambda: store.own("a"))
    assert store.owner("a").startswith(f"process {os.getpid()} ")


def test_a_stopped_owner_is_replaced_and_refused_when_it_goes_on(stores, postgres_url, child):
    store = make(stores(heartbeat_timeout=0.5))
    other = child(OWN, postgres_url, 2)
    assert other.stdout.readline() == "True\n"
    other.send_signal(signal.SIGSTOP)
    assert eventually(lambda: store.own("a"))
    assert store.append([Append("a", some(2, kind="era"))]) == [None]
    other.send_signal(signal.SIGCONT)
    out, _ = other.communicate("go on\n")
    assert out.startswith("FencedError record 2 of arena 'a' exists already")
    assert other.returncode == 0
    assert [record.kind for record in store.records("a")] == ["told", "era"]
    assert store.owned_arenas() == {"a"}


def test_an_owner_learns_that_it_was_replaced(stores):
    first, second = make(stores(heartbeat_timeout=0.2)), stores()
    assert first.own("a")
    with first._ownership._lock:  # it sends no heartbeat
        second._ownership._heartbeat_timeout = 0.1
        assert eventually(lambda: second.own("a"))
    second._ownership._heartbeat_timeout = 1e6
    assert eventually(lambda: first.owned_arenas() == frozenset())
    # A heartbeat older than 0.2 s would entitle it to take the arena back, on a busy machine.
    first._ownership._heartbeat_timeout = 1e6
    assert not first.own("a")
    assert second.owned_arenas() == {"a"}


def test_a_lost_connection_is_made_again(stores, admin):
    store = make(stores())
    assert store.own("a")
    assert store.last_seq("a") == 1
    assert cut(admin, store) == 3  # writing, reading, owning
    assert store.append([Append("a", some(2))]) == [None]
    assert store.last_seq("a") == 2
    assert store.own("a")
    assert cut(admin, store) == 3
    assert "process" in store.owner("a")
    store.disown("a")
    assert store.owner("a") is None


def test_a_connection_that_is_lost_in_the_middle(stores, admin):
    """Nobody is told that it was kept; what was told before is there; the next one goes through."""
    store = make(stores())
    writer, handle = Writer(store), AppendHandle("a")
    writer.append(handle, some(2)).result(LONG)
    admin.execute("BEGIN; LOCK TABLE arena_log IN EXCLUSIVE MODE")
    futures = [writer.append(handle, some(3)), writer.append(handle, some(4))]
    assert eventually(lambda: cut(admin, store, "COPY%"))
    for each in futures:
        with pytest.raises(StoreError, match=r"the connection to postgresql://.* failed") as caught:
            each.result(LONG)
        assert sentence(str(caught.value))
    admin.execute("ROLLBACK")
    assert store.records("a") == some(1, 2)
    writer.append(AppendHandle("a"), some(3)).result(LONG)
    writer.close()
    assert store.records("a") == some(1, 3)


def test_a_slow_database(stores, admin):
    store = make(stores(seconds=2.0))  # a busy machine needs some of it
    admin.execute("BEGIN; LOCK TABLE arena_log IN EXCLUSIVE MODE")
    with pytest.raises(StoreError, match=r"did not respond within 2 s") as caught:
        store.append([Append("a", some(2))])
    assert sentence(str(caught.value))
    admin.execute("ROLLBACK")
    assert store.append([Append("a", some(2))]) == [None]


def test_a_database_that_may_only_be_read(stores, admin):
    store = make(stores())
    store._writer.execute("SET default_transaction_read_only = on")
    with pytest.raises(StoreError, match="cannot be written: it is read-only"):
        store.append([Append("a", some(2))])
    store._writer.execute("SET default_transaction_read_only = off")
    assert store.append([Append("a", some(2))]) == [None]


def test_tables_of_a_newer_driftduel_are_left_alone(stores, admin):
    stores()
    admin.execute("INSERT INTO arena_schema VALUES (99)")
    with pytest.raises(StoreError, match=r"newer version of driftduel \(schema 99"):
        stores()


def test_many_make_the_tables_together(stores):
    threads = [threading.Thread(target=stores) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert stores().arenas() == []


def test_a_commit_is_synced_whatever_the_databases_default(stores, admin):
    admin.execute("ALTER ROLE CURRENT_USER SET synchronous_commit = off")
    try:
        store = make(stores())
        assert store._read("SHOW synchronous_commit") == [("on",)]
        assert store._transact(lambda run: run("SHOW synchronous_commit")) == [("on",)]
        admin.execute("ALTER ROLE CURRENT_USER SET synchronous_commit = local")
        assert stores()._read("SHOW synchronous_commit") == [("local",)]
    finally:
        admin.execute("ALTER ROLE CURRENT_USER RESET synchronous_commit")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hidden@127.0.0.1:1/x",
        "postgresql://ann:hidden@[/x",
        "postgresql://ann:hidden@127.0.0.1/x?no_such=1",
    ],
)
def test_a_database_that_is_not_there_and_a_password_that_is_not_told(url):
    pytest.importorskip("psycopg")
    with pytest.raises(DriftduelError) as caught:
        open_store(url)
    assert sentence(str(caught.value))
    assert "hidden" not in str(caught.value)


def test_nothing_is_left_open(stores, postgres_url, admin):
    store = make(stores())
    store.own("a")
    store.own("b")
    store.last_seq("a")
    before = threading.active_count()
    name = f"driftduel {store._process}"
    store.close()
    assert threading.active_count() == before - 1
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
    assert eventually(lambda: admin.execute(count, (name,)).fetchone() == (0,))
    assert admin.execute("SELECT count(*) FROM arena_owners").fetchone() == (0,)
    assert admin.execute("SELECT count(*) FROM arena_processes").fetchone() == (0,)
    with pytest.raises(StoreError, match="closed"):
        store.last_seq("a")
    with pytest.raises(StoreError, match="closed"):
        store.append([Append("a", some(2))])
    with pytest.raises(StoreError, match="closed"):
        store.own("a")
