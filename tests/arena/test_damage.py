"""Changed, missing and restored data: what is detected, and what the server answers then."""

import shutil
import threading
from contextlib import closing, contextmanager

import pytest

pytest.importorskip("starlette")
pytest.importorskip("polars")

from driftduel.arena import Arena, ArenaError, ArenaManager, live, open_store
from driftduel.arena.replay import digest, replay_log, verify_log
from driftduel.arena.responses import wait_durable
from driftduel.arena.stores import DamagedSnapshotError
from driftduel.arena.stores.chain import genesis
from driftduel.errors import LogError
from tests.arena.served import NO_LIMIT, problem, served
from tests.waiting import LONG, eventually

EVERY_VOTE_COUNTS = {"grace": 0.0, "votes_a_day": 10**6}


@contextmanager
def database(url):
    """Yield a function that runs one statement behind the store's back."""
    if url.startswith("postgresql"):
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            yield lambda sql, *values: connection.execute(sql.replace("?", "%s"), values)
    else:
        import sqlite3

        with closing(sqlite3.connect(url.removeprefix("sqlite:"), isolation_level=None)) as file:
            yield lambda sql, *values: file.execute(sql, values)


def vote(arena, times):
    for number in range(times):
        arena.vote(arena.ask(f"voter {number}").duel, "left")


def turned(body):
    """Return the body of a vote for the other side."""
    left, right = '"pick":"left"', '"pick":"right"'
    return body.replace(left, right) if left in body else body.replace(right, left)


# -- restored backups


def test_an_id_from_before_a_restore_is_refused(tmp_path):
    path, backup = tmp_path / "d.db", tmp_path / "d.bak"

    def opened():
        return Arena(str(path), options=list("abcdef"), policy="uniform")

    with opened() as arena:
        vote(arena, 5)
    shutil.copy(path, backup)
    with opened() as arena:
        old = [arena.ask(f"p{i}").duel for i in range(12)]
    shutil.copy(backup, path)
    with opened() as arena:
        arena.leave("o1")
        new = [arena.ask(f"q{i}").duel for i in range(12)]
        assert [each.partition("-")[0] for each in new] == [each.partition("-")[0] for each in old]
        for duel in old:  # the same duels by number, and other pairs
            with pytest.raises(ArenaError, match="restored from a backup") as refused:
                arena.vote(duel, "left")
            assert refused.value.problem == "duel-lost"
        for duel in new:
            assert arena.vote(duel, "left").counted


def test_ids_outlive_a_restart(lasting_url):
    with Arena(lasting_url, options=["a", "b"]) as arena:
        shown = [arena.ask(f"p{i}") for i in range(3)]
    for each in shown:
        with Arena(lasting_url) as arena:
            assert arena.vote(each.duel, "left").counted
            words = arena._live.state.words
    assert len(set(words)) == 4


def test_eras_of_an_earlier_version_are_told_apart_by_their_number():
    with Arena(options=["a", "b"]) as arena:
        state = arena._live.state
        body = state.begin_epoch(state.at, None)
        assert body == {"era": 2}
        assert state.words[-1] == 2


# -- the chain of hashes


@pytest.mark.parametrize("policy", ["uniform", "king"])
def test_one_changed_vote_is_detected(lasting_url, policy):
    with Arena(lasting_url, options=list("abc"), policy=policy, **EVERY_VOTE_COUNTS) as arena:
        vote(arena, 12)
    with closing(open_store(lasting_url)) as store, database(lasting_url) as run:
        run("DELETE FROM arena_snapshots")
        assert "all hashes are correct, the last is" in verify_log(store, "arena")
        rows = run("SELECT seq, body FROM arena_log WHERE kind = 'voted'").fetchall()
        assert len(rows) == 12
        for seq, body in rows:
            run("UPDATE arena_log SET body = ? WHERE seq = ?", turned(body), seq)
            with pytest.raises(LogError, match=rf"record {seq} \(voted\) .* its hash differs"):
                verify_log(store, "arena")
            run("UPDATE arena_log SET body = ? WHERE seq = ?", body, seq)
        assert "all hashes are correct" in verify_log(store, "arena")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("UPDATE arena_log SET at = at + 1 WHERE seq = 7", "record 7 .* its hash differs"),
        ("UPDATE arena_log SET ref = 1000 WHERE kind = 'voted'", "its hash differs"),
        ("UPDATE arena_log SET hash = NULL WHERE seq = 7", "record 7 .* has no hash"),
        ("DELETE FROM arena_log WHERE seq = 7", "record 7 .* is missing"),
        ("DELETE FROM arena_log WHERE seq >= 7", "record .* is missing"),  # the snapshot is newer
        ("UPDATE arena_snapshots SET checksum = hash FROM arena_log", "snapshot .* is damaged"),
    ],
)
def test_other_damage_is_detected(lasting_url, sql, said):
    with Arena(lasting_url, options=list("abc"), policy="uniform", grace=0.0) as arena:
        vote(arena, 4)
    with closing(open_store(lasting_url)) as store, database(lasting_url) as run:
        run(sql)
        with pytest.raises(LogError, match=said):
            verify_log(store, "arena")


def test_the_chains_of_two_arenas_differ(lasting_url):
    assert genesis("a") != genesis("b")
    with closing(ArenaManager(open_store(lasting_url), clock=lambda: 1.7e9)) as manager:
        for name in ("a", "b"):
            manager.create(name, ["x", "y"])
        assert manager.store.chain("a", 1).head != manager.store.chain("b", 1).head


def test_records_of_an_earlier_version_are_accepted_up_to_the_first_hash(lasting_url):
    with Arena(lasting_url, options=list("abc"), policy="uniform", grace=0.0) as arena:
        vote(arena, 4)
        old = arena._live.seq
    with database(lasting_url) as run:
        run("UPDATE arena_log SET hash = NULL")
        run("UPDATE arena_snapshots SET checksum = NULL")
    with closing(open_store(lasting_url)) as store:
        assert "no record has a hash" in verify_log(store, "arena")
    with Arena(lasting_url) as arena:
        vote(arena, 2)
    with closing(open_store(lasting_url)) as store:
        assert f"(the first {old}, of an earlier version, have none)" in verify_log(store, "arena")
        with database(lasting_url) as run:
            ((seq, body),) = run(
                "SELECT seq, body FROM arena_log WHERE kind = 'voted' ORDER BY seq DESC LIMIT 1"
            ).fetchall()
            run("UPDATE arena_log SET body = ? WHERE seq = ?", turned(body), seq)
        with pytest.raises(LogError, match=f"record {seq} .* its hash differs"):
            verify_log(store, "arena")


def test_a_damaged_snapshot_costs_time_only(lasting_url):
    with Arena(lasting_url, options=list("abc"), grace=0.0) as arena:
        vote(arena, 4)
        before = digest(arena._live.state)
    with closing(open_store(lasting_url)) as store, database(lasting_url) as run:
        run("UPDATE arena_snapshots SET checksum = ?", b"wrong")
        with pytest.raises(DamagedSnapshotError):
            store.newest_snapshot("arena")
        state, snapshot_at = live.load_state(store, "arena")
        assert (digest(state), snapshot_at) == (before, 0)


# -- check while votes arrive


def test_a_healthy_log_is_not_reported_while_votes_arrive(monkeypatch):
    monkeypatch.setattr(live, "_SNAPSHOT_EVERY", 100)
    with closing(ArenaManager(open_store("memory:"))) as manager:
        manager.create("x", ["a", "b"], **EVERY_VOTE_COUNTS)
        arena, store = manager.arena("x"), manager.store

        def votes(times):
            for _ in range(times):
                wait_durable(arena.vote(wait_durable(arena.ask()).duel, "left"))

        votes(200)
        # Sixty votes, and with them a snapshot, between any two things that `check` reads.
        for name in ("last_seq", "newest_snapshot", "records"):
            read = getattr(store, name)

            def after_votes(*args, read=read, **more):
                if more.pop("verified", None) is not None or read.__name__ != "records":
                    votes(60)
                return read(*args, **more)

            monkeypatch.setattr(store, name, after_votes)
        assert "also from the snapshot" in verify_log(store, "x")


# -- erased voters


def test_a_refused_voter_is_not_kept_and_an_erased_one_not_written(store):
    with closing(ArenaManager(store)) as manager:
        manager.create("x", ["a", "b"], **EVERY_VOTE_COUNTS)
        arena = manager.arena("x")
        duel = wait_durable(arena.ask("known")).duel
        arena.end()
        for i in range(1000):
            with pytest.raises(ArenaError, match="closed"):
                arena.ask(f"voter-{i}")
        assert (len(arena._new_voters), len(arena._voters)) == (0, 1)
        assert arena.erase("voter-7") is False
        assert arena.erase("known") is True
        wait_durable(arena.vote(duel, "left"))  # the next record writes no row
        assert [arena.erase(name) for name in ("known", "voter-7")] == [False, False]


# -- what the server answers


def test_a_damaged_log_is_a_server_error_and_is_reported(tmp_path, caplog):
    url = f"sqlite:{tmp_path / 'arena.db'}"
    with Arena(url, options=list("abc"), name="broken", grace=0.0) as arena:
        vote(arena, 4)
    with database(url) as run:
        run("UPDATE arena_log SET at = at + 1 WHERE seq = 3")
        run("DELETE FROM arena_snapshots")
    with served(url) as made:
        assert made.client.get("/healthz").json() == {"ok": True, "damaged": 0}
        token = made.manager.token("broken", "own")
        for _ in range(2):
            answer = made.call("POST", "/v1/arenas/broken/duels", {}, token)
            assert "its hash differs" in problem(answer, 500, "damaged-log")
        assert "damaged log: record 3" in caplog.text
        health = made.client.get("/healthz")
        assert (health.status_code, health.json()) == (200, {"ok": False, "damaged": 1})
        made.ask()  # the other arena is served
        # Repaired, it is read again after a minute.
        with database(url) as run:
            run("UPDATE arena_log SET at = at - 1 WHERE seq = 3")
        made.clock.now += 61.0
        answer = made.call("POST", "/v1/arenas/broken/duels", {}, token)
        assert answer.status_code == 200
        assert made.client.get("/healthz").json() == {"ok": True, "damaged": 0}


def test_damage_that_is_found_later_is_reported_too(tmp_path):
    url = f"sqlite:{tmp_path / 'arena.db'}"
    with served(url) as made:
        made.ask()
        with database(url) as run:
            run("UPDATE arena_log SET at = at + 1 WHERE seq = 2")
        made.manager.live("colours")._handle.broken = RuntimeError("as if a commit had failed")
        problem(made.call("POST", "duels", {}, made.voting), 500, "damaged-log")
        assert eventually(lambda: made.client.get("/healthz").json() == {"ok": False, "damaged": 1})
        problem(made.call("POST", "duels", {}, made.voting), 500, "damaged-log")


def test_a_store_that_cannot_be_read_is_reported(monkeypatch):
    from driftduel.arena.stores import StoreError

    with served(limits={"per_address": NO_LIMIT}) as made:

        def gone(name):
            raise StoreError("the disk is gone.")

        monkeypatch.setattr(made.manager.store, "exists", gone)
        problem(made.client.get("/healthz"), 503, "store-trouble")


# -- cold arenas


def test_opening_a_cold_arena_does_not_block_the_others(monkeypatch):
    with served() as made:
        manager = made.manager
        manager.create("cold", ["a", "b"])
        token = manager.token("cold", "own")
        began, go_on, load_state = threading.Event(), threading.Event(), live.load_state

        def slowly(store, name):
            if name == "cold":
                began.set()
                assert go_on.wait(LONG)
            return load_state(store, name)

        monkeypatch.setattr(live, "load_state", slowly)
        answers = []
        crowd = [
            threading.Thread(
                target=lambda: answers.append(
                    made.call("POST", "/v1/arenas/cold/duels", {}, token).status_code
                )
            )
            for _ in range(60)  # more than the threads that a server has for other work
        ]
        for each in crowd:
            each.start()
        assert began.wait(LONG)
        manager.tick()
        manager.create("another", ["a", "b"])
        wait_durable(manager.arena("another").ask())
        shown = made.ask(voter="ann")  # needs a thread: the voter is new
        assert made.vote(shown["duel"]).status_code == 200
        assert answers == []
        go_on.set()
        for each in crowd:
            each.join()
        assert answers == [200] * 60
        assert digest(replay_log(manager.store, "cold")) == digest(manager.arena("cold").state)
