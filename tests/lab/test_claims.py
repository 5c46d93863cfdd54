"""Claims: several processes on one store take different cells, and the dead hold none."""

import os
import signal
from contextlib import closing
from threading import Thread

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel.lab import Store, claims, make_plan, sweep
from driftduel.lab.cells import run_cell
from driftduel.lab.claims import Claims
from driftduel.lab.running import Speeds, WorkQueue
from tests.lab.helpers import POLICIES, WORLD, Listener, assert_same_games, start
from tests.waiting import LONG, eventually

PLAN = make_plan([WORLD], POLICIES, 5)
CELLS = list(PLAN.cells())
needs_locks = pytest.mark.skipif(not claims.HAS_FLOCK, reason="needs file locks")


@pytest.fixture
def store(tmp_path):
    return Store.create(tmp_path / "s", PLAN)


def pile(store, held):
    return WorkQueue(CELLS, Speeds(), Store(store.folder), held)


def files(store):
    return sorted((store.folder / ".claims").glob("*.keys"))


def test_nobody_takes_what_another_has(store):
    with closing(Claims(store.folder)) as one, closing(Claims(store.folder)) as two:
        piles = [pile(store, one), pile(store, two)]
        taken = [cell for _ in range(10) for each in piles for cell in each.take(0.0)]
        assert sorted(taken) == sorted(CELLS)
        for each in piles:
            assert each.take(0.0) == []
            assert each.look() == (0, False, True)  # the others' may yet come back


@needs_locks
def test_nobody_chooses_while_another_does(store):
    found = []
    held = Claims(store.folder)
    with closing(held), open(store.folder / ".claims" / "lock", "wb") as lock:
        held.take(lambda *_: found.append(claims._lock(lock, wait=False)) or [])
        assert found == [False]
        assert claims._lock(lock, wait=False)


def test_who_is_done_gives_back_what_is_not_finished(store):
    one, two = Claims(store.folder), Claims(store.folder)
    first, second = pile(store, one), pile(store, two)
    (done,), (left,) = first.take(0.0), first.take(0.0)
    with closing(two):
        rest = [second.take(0.0)[0] for _ in CELLS[2:]]
        assert second.take(0.0) == []
        store.add([run_cell(done).row])
        one.close()
        assert second.take(0.0) == [left]
        assert second.look() == (1, False, False)
        assert second.take(0.0) == []
    assert sorted([done, left, *rest]) == sorted(CELLS)
    assert files(store) == []


OWNER = """
import sys, time
from driftduel.lab import Store
from driftduel.lab.claims import Claims
from driftduel.lab.running import Speeds, WorkQueue

store = Store(sys.argv[1])
held = Claims(store.folder)
pile = WorkQueue(store.plan.cells(), Speeds(), store, held)
for _ in range(7):
    pile.take(0.0)
print("ready", flush=True)
time.sleep(600)
"""


@needs_locks
def test_the_claim_of_a_process_that_was_killed_counts_no_more(store):
    with start(OWNER, store.folder) as process, closing(Claims(store.folder)) as held:
        assert process.stdout.readline() == "ready\n"
        mine = pile(store, held)
        assert [mine.take(0.0)[0] for _ in CELLS[7:]] == CELLS[7:]
        assert mine.take(0.0) == []
        assert len(files(store)) == 2
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert mine.look() == (0, True, False)
        assert sorted(mine.take(0.0)[0] for _ in CELLS[:7]) == sorted(CELLS[:7])
        assert mine.take(0.0) == []
        assert len(files(store)) == 1


def test_an_owner_that_is_silent_counts_no_more_until_it_speaks_again(store):
    with closing(Claims(store.folder)) as one, closing(Claims(store.folder)) as two:
        (cell,) = pile(store, one).take(0.0)
        assert two.others() == ({cell.key}, False)
        os.utime(one._path, (0, 0))  # long ago
        assert two.others() == (set(), True)
        assert two.others() == (set(), False)
        os.utime(one._path)
        assert two.others() == ({cell.key}, False)


@needs_locks
def test_a_lock_of_another_machine_that_cannot_be_seen_does_not_matter(store):
    """There the file is, its owner is silent for less than a minute, and no lock is to be seen."""
    with closing(Claims(store.folder)) as held:
        far = store.folder / ".claims" / "far-away.0123.keys"
        far.write_text(f"{CELLS[0].key}\n{CELLS[2].key[:9]}")
        assert held.others() == ({CELLS[0].key}, False)
        assert pile(store, held).take(0.0) == [CELLS[1]]
        with open(far, "a") as file:
            file.write(f"{CELLS[2].key[9:]}\n")
        assert held.others() == ({CELLS[0].key, CELLS[2].key}, False)
        os.utime(far, (0, 0))  # long ago
        assert held.others() == (set(), True)


def test_a_claim_is_kept_alive(store, monkeypatch):
    assert 3 * claims._SECONDS_A_BEAT < claims._SECONDS_TO_LAPSE  # one may be late, or two
    monkeypatch.setattr(claims, "_SECONDS_A_BEAT", 0.01)
    with closing(Claims(store.folder)) as held:
        os.utime(held._path, (0, 0))
        assert eventually(lambda: os.stat(held._path).st_mtime > 0)


@pytest.mark.parametrize("in_the_way", ["folder", "lock", "locks"])
def test_where_claims_cannot_be_had_everything_is_played_all_the_same(
    in_the_way, store, monkeypatch
):
    if in_the_way == "folder":
        (store.folder / ".claims").write_text("a file")
    elif in_the_way == "lock":
        (store.folder / ".claims" / "lock").mkdir(parents=True)
    else:
        monkeypatch.setattr(claims, "HAS_FLOCK", False)
    assert sweep(PLAN, store.folder, engine="threads", workers=2).missing == 0


def test_a_store_that_is_scratch_needs_no_claims():
    found = sweep(PLAN, engine="threads", workers=1)
    assert not (found.store.folder / ".claims").exists()


SWEEP = """
import sys
from driftduel.lab import Store, running, sweep

class Watch(running.NullListener):
    def cell(self, outcome):
        print(outcome.cell.key, flush=True)

running._SECONDS_A_FILE = 0.0
sweep(Store(sys.argv[1]).plan, sys.argv[1], engine="threads", workers=1, watch=Watch())
"""


@pytest.mark.long
@needs_locks
def test_four_sweeps_at_once_of_which_one_is_killed(store):
    """Nobody plays what another plays, and what the dead one had claimed is not forgotten."""
    with start(OWNER, store.folder) as doomed:
        assert doomed.stdout.readline() == "ready\n"
        others = [start(SWEEP, store.folder)]
        played = [others[0].stdout.readline().strip()]
        others += [start(SWEEP, store.folder) for _ in range(2)]
        doomed.kill()
        ended = [process.communicate(timeout=LONG) for process in others]
        doomed.communicate()
    assert [process.returncode for process in others] == [0, 0, 0], ended
    played += [key for out, _ in ended for key in out.split()]
    assert sorted(played) == sorted(cell.key for cell in CELLS)  # each once
    assert_same_games(store.rows(), sweep(PLAN, engine="threads", workers=2).games)
    assert files(store) == []


def test_who_comes_last_waits_for_what_the_others_play(store):
    """All cells but one are done, and that one is another's, who finishes it after a while."""
    *most, last = CELLS
    store.add([run_cell(cell).row for cell in most])
    other = Claims(store.folder)
    other.take(lambda taken, gone: [last.key])
    row = run_cell(last).row
    watch = Listener()
    thread = Thread(target=sweep, args=(PLAN, store.folder), kwargs={"watch": watch, "workers": 1})
    thread.start()
    assert eventually(lambda: len(files(store)) == 2)  # it has begun, and finds nothing to take
    store.add([row])
    thread.join()
    other.close()
    assert watch.outcomes == []
    assert watch.met == 1
