"""Nothing that was acknowledged is lost, however often the server is killed under load."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

import numpy as np

from driftduel.arena import Arena, ArenaError, ArenaManager, open_store
from driftduel.arena.client import ArenaClient
from driftduel.arena.items import check_items
from driftduel.arena.replay import verify_log
from driftduel.errors import DriftduelError

ROOT = Path(__file__).parents[2]
CLIENTS = 8
_WHILE_DEAD = ("no-answer", "duel-lost", "store-trouble", "owned-elsewhere")
KILLS = int(os.environ.get("KILLS", "30"))
SEED = int(os.environ.get("SEED", "0"))


class Nursery:
    """A server that is killed and born again."""

    def __init__(self, store, port):
        command = [sys.executable, "-m", "tests.arena.nursery", store, str(port)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wish(self, what, answer):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == f"{answer}\n"

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Voter(threading.Thread):
    """Votes until told to stop, and remembers what it was told had been taken."""

    def __init__(self, url, token, number, stop):
        super().__init__(daemon=True)
        self.client = ArenaClient(url, token, arena="life")
        self.number, self.stop = number, stop
        self.acknowledged, self.trouble = [], None

    def run(self):
        rng = np.random.default_rng([SEED, self.number])
        while not self.stop.is_set():
            try:
                shown = self.client.ask(f"voter {self.number}-{rng.integers(5)}")
                pick = str(rng.choice(["left", "right", "tie"]))
                ids = {"left": shown.left.id, "right": shown.right.id}
                vote = self.client.vote(shown.duel, pick, tags={"n": "1"}, reason=pick)
                self.acknowledged.append((vote.seq, shown.duel, pick, ids, vote.late))
            except DriftduelError as error:
                # The server is dead, or a duel died with it before anybody was told of it.
                if not isinstance(error, ArenaError) or error.problem not in _WHILE_DEAD:
                    self.trouble = error
                    return
                self.stop.wait(0.01)  # leaves the processor to the server being born
            except BaseException as error:
                self.trouble = error
                return
        self.client.close()


def votes_of(voters):
    return sum(len(voter.acknowledged) for voter in voters)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def items():
    """Return items, enough of them for all votes of a run."""
    return [
        {"id": f"p{n}", "prompt": f"Question {n}", "answers": dict.fromkeys("abcd", f"Answer {n}")}
        for n in range(500)
    ]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["options", "items"])
def test_no_acknowledged_vote_is_lost(lasting_url, kind):
    store = open_store(lasting_url)
    manager = ArenaManager(store)
    token = manager.create(
        "life", list("abcd"), items=list(check_items(items())) if kind == "items" else None,
        grace=0.05, lease=1.0, votes_a_day=10**6,
    )  # fmt: skip
    manager.close()
    port, stop = free_port(), threading.Event()
    nursery, rng = Nursery(lasting_url, port), np.random.default_rng([SEED, CLIENTS])
    voters = [Voter(f"http://127.0.0.1:{port}", token, n, stop) for n in range(CLIENTS)]
    try:
        nursery.wish("start", "ready")
        for voter in voters:
            voter.start()
        for _ in range(KILLS):
            enough = votes_of(voters) + rng.integers(12, 60)
            while votes_of(voters) < enough:
                assert not any(voter.trouble for voter in voters), [v.trouble for v in voters]
                stop.wait(0.003)
            nursery.wish("kill", "dead")
            nursery.wish("start", "ready")
    finally:
        stop.set()
        for voter in voters:
            if voter.is_alive():
                voter.join()
        nursery.close()
    assert [voter.trouble for voter in voters] == [None] * CLIENTS
    acknowledged = [vote for voter in voters for vote in voter.acknowledged]
    assert len(acknowledged) > 10 * KILLS
    verify(lasting_url, acknowledged)
    kind = lasting_url.partition(":")[0]
    print(f"{kind}, seed {SEED}: {KILLS} kills, {len(acknowledged):,} acknowledged, none lost")


@pytest.mark.parametrize("fault", ["lost", "another pair", "another pick"])
def test_the_comparison_can_fail(tmp_path, fault):
    url = f"sqlite:{tmp_path / 'arena.db'}"
    with Arena(url, options=["a", "b", "c"], name="life") as arena:
        acknowledged = []
        for number in range(5):
            shown = arena.ask(f"voter {number}")
            ids = {"left": shown.left.id, "right": shown.right.id}
            acknowledged.append(
                (arena.vote(shown.duel, "left").seq, shown.duel, "left", ids, False)
            )
    verify(url, acknowledged)
    seq, duel, pick, ids, late = acknowledged[2]
    acknowledged[2] = {
        "lost": (seq + 1000, duel, pick, ids, late),
        "another pair": (seq, duel, pick, {"left": ids["right"], "right": ids["left"]}, late),
        "another pick": (seq, duel, "right", ids, late),
    }[fault]
    with pytest.raises(AssertionError):
        verify(url, acknowledged)


def verify(url, acknowledged):
    """Every acknowledged vote is in the log, on the duel that was shown; the log is the state."""
    store = open_store(url)
    asked, voted = {}, {}
    seq = 0
    while records := store.records("life", seq, 10_000):
        for record in records:
            if record.kind == "asked":
                asked[record.body["ref"]] = record.body
            elif record.kind == "voted":
                voted[record.seq] = record.body
        seq = records[-1].seq
    ids = [option.id for option in store.options("life")]
    lost, credited_elsewhere = 0, 0
    for seq, duel, pick, shown, late in acknowledged:
        if seq not in voted:
            lost += 1
            continue
        body = voted[seq]
        ref = int(duel.partition("-")[0], 16)
        pair = asked[ref]["pair"]
        left = asked[ref]["left"]
        right = sum(pair) - left
        same = body["ref"] == ref and body["pick"] == pick
        same = same and body.get("reason", pick) == pick
        same = same and (late or body.get("item") == asked[ref].get("item"))
        same = same and (ids[left], ids[right]) == (shown["left"], shown["right"])
        if not late:
            same = same and body["shown"] == [left, right]
        credited_elsewhere += not same
    assert (lost, credited_elsewhere) == (0, 0)
    seen = [(a["voter"], *sorted(a["pair"]), a["item"]) for a in asked.values() if "item" in a]
    assert len(set(seen)) == len(seen)
    assert len({seq for seq, *_ in acknowledged}) == len(acknowledged)
    assert "the replayed state is" in verify_log(store, "life")
    store.close()
