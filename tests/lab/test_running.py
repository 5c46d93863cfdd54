"""Running: stopped, killed or shared, a sweep ends with the games of an undisturbed one."""

import os
import signal
import sys
import threading
import time
import weakref
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.lab import Store, compare, load_results, make_plan, running, sweep
from driftduel.lab.cells import run_cell
from driftduel.lab.engines import Threads
from driftduel.lab.running import Speeds, WorkQueue, run_cells
from driftduel.worlds import NO_LINK, WORLDS, Chunk, World
from driftduel.worlds._walk import BlockWalk
from tests.lab.helpers import POLICIES, WORLD, Listener, assert_same_games, own_policy, start
from tests.waiting import LONG

PLAN = make_plan([WORLD, "random-walk:arms=3,rounds=400,sd=0.02"], POLICIES, 3)


@pytest.fixture(scope="module")
def undisturbed():
    return sweep(PLAN, engine="threads", workers=1).games


@pytest.fixture
def counted(monkeypatch):
    """Count how often each cell is played."""
    count = Counter()

    def counting(cell, *arguments):
        count[cell.key] += 1
        return run_cell(cell, *arguments)

    monkeypatch.setattr("driftduel.lab.engines.threads.run_cell", counting)
    return count


class StopsAfter(Listener):
    """Somebody who presses Ctrl-C after some cells."""

    def __init__(self, cells):
        super().__init__()
        self.cells = cells

    def cell(self, outcome):
        super().cell(outcome)
        if len(self.outcomes) == self.cells:
            raise KeyboardInterrupt


def test_the_number_of_workers_changes_nothing(undisturbed, tmp_path):
    assert undisturbed["key"].to_list() == [cell.key for cell in PLAN.cells()]
    for workers in (2, 3):
        found = sweep(PLAN, tmp_path / str(workers), engine="threads", workers=workers)
        assert_same_games(found.games, undisturbed)


def test_threads_do_not_disturb_each_others_worlds(monkeypatch):
    """A walk is drawn block by block, and policies of one run walk it at the same time."""
    plan = make_plan(["random-walk:arms=60,rounds=4000"], ["uniform", "wss"], 3)
    alone = [play(cell.policy, cell.world, cell.game_seed).total for cell in plan.cells()]
    follow = BlockWalk._follow

    def follow_slowly(walk, block):
        time.sleep(0.003)  # whoever else walks has time to come in between
        return follow(walk, block)

    monkeypatch.setattr(BlockWalk, "_follow", follow_slowly)
    together = sweep(plan, engine="threads", workers=4)
    assert together.games["regret"].to_list() == alone


@pytest.mark.parametrize("cells", [1, 7, 23])
def test_a_run_that_was_stopped_goes_on_where_it_was(cells, undisturbed, tmp_path, counted):
    with pytest.raises(KeyboardInterrupt):
        sweep(PLAN, tmp_path, engine="threads", workers=2, watch=StopsAfter(cells))
    kept = load_results(tmp_path).games
    assert len(kept) >= cells
    assert_same_games(kept, undisturbed.filter(undisturbed["key"].is_in(kept["key"].to_list())))
    watch = Listener()
    found = sweep(PLAN, tmp_path, engine="threads", workers=2, watch=watch)
    assert watch.begun == [
        (len(PLAN), len(kept), sum(o.cell.rounds for o in watch.outcomes), 2),
    ]
    assert len(watch.outcomes) == len(PLAN) - len(kept)
    assert_same_games(found.games, undisturbed)
    assert max(counted[key] for key in kept["key"]) == 1  # finished cells are not played again


def test_many_stops(undisturbed, tmp_path, counted):
    finished = {}
    for stops in range(len(PLAN)):
        try:
            found = sweep(PLAN, tmp_path, engine="threads", workers=1, watch=StopsAfter(5))
        except KeyboardInterrupt:
            done = load_results(tmp_path).games["key"].to_list()
            assert len(done) >= 5 * (stops + 1)
            finished = {key: counted[key] for key in done} | finished
            continue
        break
    assert stops >= 2
    assert_same_games(found.games, undisturbed)
    assert all(counted[key] == times for key, times in finished.items())  # not once more


def test_what_is_finished_is_never_played_again(tmp_path, counted):
    sweep(PLAN, tmp_path, engine="threads", workers=2)
    assert counted == dict.fromkeys((cell.key for cell in PLAN.cells()), 1)
    watch = Listener()
    sweep(PLAN, tmp_path, engine="threads", workers=2, watch=watch)
    assert set(counted.values()) == {1}
    assert watch.begun == [(len(PLAN), len(PLAN), 0, 2)]


def test_ctrl_c_while_a_file_is_written_loses_nothing(undisturbed, tmp_path, monkeypatch):
    add = Store.add
    interrupted = []

    def interrupt(store, rows):
        if not interrupted:
            interrupted.append(len(rows))
            raise KeyboardInterrupt
        add(store, rows)

    monkeypatch.setattr(Store, "add", interrupt)
    monkeypatch.setattr(running, "_ROWS_A_FILE", 4)
    watch = Listener()
    with pytest.raises(KeyboardInterrupt):
        sweep(PLAN, tmp_path, engine="threads", workers=1, watch=watch)
    assert interrupted == [4]
    assert len(load_results(tmp_path).games) == 4
    assert_same_games(sweep(PLAN, tmp_path, engine="threads").games, undisturbed)


def test_a_watch_that_fails_loses_nothing(tmp_path, undisturbed):
    class Fails(Listener):
        def cell(self, outcome):
            super().cell(outcome)
            if len(self.outcomes) == 3:
                raise RuntimeError("the watch")

    with pytest.raises(RuntimeError, match="the watch"):
        sweep(PLAN, tmp_path, engine="threads", workers=1, watch=Fails())
    assert len(load_results(tmp_path).games) == 3
    assert_same_games(sweep(PLAN, tmp_path, engine="threads").games, undisturbed)


SWEEP = """
import sys, time
from pathlib import Path
from driftduel.lab import make_plan, running, sweep
from driftduel.lab.engines import base

class Watch(running.NullListener):
    def cell(self, outcome):
        print(outcome.cell.key, flush=True)

    def elsewhere(self, cells):
        print("elsewhere", cells, flush=True)

own, out, ready, others = sys.argv[1:]
plan = make_plan(["two-arm:rounds=40"], ["own-slow", "uniform"], 12, imports=[own])
Path(ready).touch()
while not all(map(Path.exists, map(Path, others.split(";")))):
    time.sleep(0.01)
running._SECONDS_A_FILE = 0.0
running._SECONDS_BETWEEN_LOOKS = 0.05
base._SECONDS_TO_END = 1.0  # a policy that is held up never answers
sweep(plan, out, engine="threads", workers=1, watch=Watch())
"""


@pytest.fixture
def slow(tmp_path, forget_own):
    """Return a file with a policy that takes its time, and the plan with it.

    While the file `hold` is there, its sixth game does not end: whoever wants to come before the
    end of the sweep has all the time in the world.
    """
    own = own_policy(
        tmp_path / "own_slow.py",
        "own-slow",
        begin="Own.games = getattr(Own, 'games', 0) + 1",
        learn="time.sleep(0.002)\n"
        f"        while Own.games > 5 and Path({str(tmp_path / 'hold')!r}).exists():\n"
        "            time.sleep(0.01)",
    )
    return own, make_plan(["two-arm:rounds=40"], ["own-slow", "uniform"], 12, imports=[own])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_kill_9_loses_nothing_that_was_finished(slow, tmp_path):
    own, plan = slow
    ready = str(tmp_path / "ready")
    (tmp_path / "hold").touch()
    with start(SWEEP, own, tmp_path / "s", ready, ready) as process:
        seen = [process.stdout.readline().strip() for _ in range(8)]
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    (tmp_path / "hold").unlink()
    assert process.returncode == -signal.SIGKILL
    left = Store(tmp_path / "s")
    assert set(seen[:-1]) <= left.done()  # at most the last one was not written yet
    assert len(left.done()) < len(plan)
    watch = Listener()
    found = sweep(plan, tmp_path / "s", engine="threads", workers=2, watch=watch)
    assert len(watch.outcomes) == len(plan) - watch.begun[0][1]
    assert watch.said == []
    assert_same_games(found.games, sweep(plan, engine="threads", workers=2).games)


@pytest.mark.long
def test_two_processes_share_the_work_of_one_folder(slow, tmp_path):
    own, plan = slow
    ready = [str(tmp_path / name) for name in ("one", "two")]
    (tmp_path / "hold").touch()
    one, two = both = [start(SWEEP, own, tmp_path / "s", each, ";".join(ready)) for each in ready]
    with one, two:
        first = [process.stdout.readline() for process in both]  # none can play everything alone
        (tmp_path / "hold").unlink()
        # Not `communicate`, which does not know of lines that were read ahead.
        rest = [process.stdout.read() for process in both]
        errors = [process.stderr.read() for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    lines = [(line + more).split() for line, more in zip(first, rest, strict=True)]
    counts = [sum(len(word) == 32 for word in words) for words in lines]
    assert min(counts) > 0
    assert len(plan) <= sum(counts) < 1.1 * len(plan)
    assert any("elsewhere" in words for words in lines)
    left = Store(tmp_path / "s")
    assert left.done() == {cell.key for cell in plan.cells()}
    assert left.damaged == []
    assert_same_games(left.rows(), sweep(plan, engine="threads", workers=2).games)


def test_two_sweeps_in_one_process_do_not_disturb_each_other(tmp_path, undisturbed):
    ended = []

    def go():
        ended.append(len(sweep(PLAN, tmp_path, engine="threads", workers=1).games))

    threads = [threading.Thread(target=go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [len(PLAN)] * 2
    assert_same_games(load_results(tmp_path).games, undisturbed)


def test_cells_that_somebody_else_finishes_are_left_out(tmp_path, monkeypatch, counted):
    monkeypatch.setattr(running, "_SECONDS_BETWEEN_LOOKS", 0.0)
    cells = list(PLAN.cells())
    other = Store.create(tmp_path, PLAN)
    rows = [run_cell(cell).row for cell in cells[10:]]

    class Meanwhile(Listener):
        def cell(self, outcome):
            super().cell(outcome)
            if len(self.outcomes) == 2:
                other.add(rows)

    watch = Meanwhile()
    found = sweep(PLAN, tmp_path, engine="threads", workers=1, watch=watch)
    assert found.missing == 0
    assert watch.met + len(watch.outcomes) == len(PLAN)
    assert watch.met > 0
    assert len(counted) == len(watch.outcomes)


class LosesItsWinner(World):
    """Arm 0 beats the others until some round, and then nobody beats everybody.

    Parameters
    ----------
    last
        The last round that has a winner.
    """

    arms, rounds, chunk_rounds = 3, 20_000, 1000
    walked = 0

    def __init__(self, last):
        self.last = last
        winner, cycle = np.full((2, 3, 3), 0.5)
        for a, b in ((0, 1), (1, 2)):
            winner[a, b] = cycle[a, b] = 0.8
        winner[0, 2], cycle[0, 2] = 0.8, 0.2
        lower = np.tril_indices(3, -1)
        for matrix in (winner, cycle):
            matrix[lower] = 1 - matrix.T[lower]
        self.matrices = np.array([winner, cycle])

    def chunk(self, first, end):
        LosesItsWinner.walked = max(self.walked, end - 1)
        starts = np.unique([first, min(max(first, self.last + 1), end - 1)])
        rows = (starts > self.last).astype(np.int64)
        return Chunk(starts, end, rows, self.matrices, np.empty((0, 3)), NO_LINK)


def _losing(last: int = 1) -> World:
    return LosesItsWinner(last)


@pytest.fixture
def losing():
    with WORLDS.temporarily():
        WORLDS.register("losing")(_losing)
        yield


@pytest.mark.usefixtures("losing")
def test_a_world_that_loses_its_winner_ends_the_run_at_once(tmp_path):
    """A plan does not walk a drifting world; the first game that meets such a round ends it all."""
    with pytest.raises(DriftduelError, match="world 'losing' has no Condorcet winner in round 2"):
        make_plan(["losing"], ["uniform"], 1)
    LosesItsWinner.walked = 0
    late = "losing:last=15000"
    plan = make_plan([late], ["uniform", "rucb"], 5)
    assert 0 < LosesItsWinner.walked <= 4096
    watch = Listener()
    with pytest.raises(DriftduelError) as error:
        sweep(plan, tmp_path / "out", engine="threads", workers=1, watch=watch)
    said = str(error.value)
    assert f"world {late!r} has no Condorcet winner in round 15001, so" in said
    assert "add --benchmark exploitability" in said
    assert not watch.outcomes
    assert load_results(tmp_path / "out").failures == {}
    other = make_plan([late], ["uniform"], 1, benchmark="von-neumann")
    assert sweep(other, engine="threads", workers=1).missing == 0


def test_a_policy_that_fails_in_some_runs_is_not_dropped_silently(tmp_path, forget_own):
    own = own_policy(
        tmp_path / "own_sometimes.py",
        "own-sometimes",
        begin="self.bad = rng.random() < 0.5",
        learn="if t == 30 and self.bad: raise ZeroDivisionError('some runs')",
    )
    plan = make_plan(["two-arm:rounds=40"], ["uniform", "own-sometimes"], 8, imports=[own])
    watch = Listener()
    found = sweep(plan, tmp_path / "s", engine="threads", workers=2, watch=watch)
    bad = [outcome for outcome in watch.outcomes if outcome.row is None]
    assert 0 < len(bad) < 8
    assert found.failures == {o.cell.id: "ZeroDivisionError: some runs" for o in bad}
    assert found.missing == len(bad)
    assert found.summary["runs"].to_list() == [8, 8 - len(bad)]
    assert found.summary["planned"].to_list() == [8, 8]
    assert len(watch.outcomes) == len(plan)  # the others went on
    # The differences are over the runs that both have.
    assert found.differences["runs"].to_list() == [8 - len(bad)]
    store = Store(tmp_path / "s")
    failed = run_cells(store, list(plan.cells()), Threads(1))
    assert failed == found.failures  # tried again, and the same luck fails again


def test_a_policy_that_asks_for_an_arm_that_is_not_there_is_reported(tmp_path, forget_own):
    own = own_policy(tmp_path / "own_wild.py", "own-wild")
    plan = make_plan(["two-arm:rounds=40"], ["own-wild:first=9"], 1, imports=[own])
    found = sweep(plan, engine="threads", workers=1)
    (said,) = found.failures.values()
    assert "chose arms 9 and 1 in round 1" in said


def test_watches_hear_of_everything():
    watch = Listener()
    sweep(PLAN, engine="threads", workers=2, watch=watch)
    rounds = sum(cell.rounds for cell in PLAN.cells())
    assert watch.begun == [(len(PLAN), 0, rounds, 2)]
    assert watch.played == rounds == PLAN.total_rounds
    assert {outcome.cell for outcome in watch.outcomes} == set(PLAN.cells())
    assert (watch.said, watch.met) == ([], 0)


def test_parts_of_a_plan(tmp_path, undisturbed):
    watch = Listener()
    found = sweep(PLAN, tmp_path, only="*wss*", shard="1/2", engine="threads", watch=watch)
    assert {outcome.cell.policy for outcome in watch.outcomes} == {"wss"}
    assert len(found.games) == 3
    assert found.missing == len(PLAN) - 3
    with pytest.raises(DriftduelError, match="no cell matches"):
        sweep(PLAN, tmp_path, only="nobody", engine="threads")
    assert_same_games(sweep(PLAN, tmp_path, engine="threads").games, undisturbed)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"engine": "thread"}, "did you mean threads"),
        ({"workers": 0}, "workers=0 must be"),
        ({"engine": "threads", "cluster": "tcp://x:1"}, "needs engine='dask'"),
    ],
)
def test_bad_engines(more, said):
    with pytest.raises(DriftduelError) as error:
        compare(["uniform"], WORLD, 1, **more)
    assert said in str(error.value)


class Row(dict):
    """A row that can be followed."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


class Conveyor:
    """An engine that plays nothing: it hands out rows that were prepared, and waits in between."""

    name = "conveyor"
    workers = 2

    def __init__(self, row, seconds=0.0, hook=lambda n: None):
        self.row, self.seconds, self.hook = row, seconds, hook
        self.alive = weakref.WeakSet()

    def outcomes(self, take, tick):
        from driftduel.lab.cells import Outcome

        n = 0
        while cells := take(0.0):
            for cell in cells:
                n += 1
                row = Row(self.row, key=cell.key, run=cell.run, seconds_cell=self.seconds)
                self.alive.add(row)
                yield Outcome(cell, row)
                del row
                self.hook(n)

    def close(self):
        pass


def test_no_row_is_held_once_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "_SECONDS_A_FILE", 1e9)
    monkeypatch.setattr(running, "_ROWS_A_FILE", 10)
    plan = make_plan(["two-arm:rounds=20"], ["uniform"], 95)
    held = []
    engine = Conveyor(
        run_cell(next(plan.cells())).row, hook=lambda n: held.append(len(engine.alive))
    )
    found = sweep(plan, tmp_path, engine=engine)
    assert 9 <= max(held) <= 11  # what the next file will hold, and the one at hand
    assert len(list((tmp_path / "cells").iterdir())) == 10
    assert found.missing == 0


def test_the_work_of_hours_does_not_wait_for_the_next_cell_to_be_written(tmp_path):
    """Two long cells end within a moment of each other; then nothing happens for long."""
    plan = make_plan(["two-arm:rounds=20"], ["uniform"], 3)
    written = []
    engine = Conveyor(
        run_cell(next(plan.cells())).row,
        seconds=3600.0,
        hook=lambda n: written.append(len(Store(tmp_path).done())),
    )
    sweep(plan, tmp_path, engine=engine)
    assert written == [1, 2, 3]


def test_tiny_cells_share_files(tmp_path):
    sweep(PLAN, tmp_path, engine="threads", workers=2)
    assert len(list((tmp_path / "cells").iterdir())) < len(PLAN) / 2


def test_an_engine_of_the_callers_is_left_open(tmp_path):
    closed = []

    class Mine(Threads):
        def close(self):
            closed.append(self)

    sweep(make_plan(["two-arm:rounds=20"], ["uniform"], 1), engine=Mine(1))
    assert closed == []


def test_an_engine_that_breaks_is_heard_and_loses_nothing(tmp_path):
    def breaks(n):
        if n == 3:
            raise DriftduelError("the engine broke.")

    plan = make_plan(["two-arm:rounds=20"], ["uniform"], 5)
    with pytest.raises(DriftduelError, match="the engine broke"):
        sweep(plan, tmp_path, engine=Conveyor(run_cell(next(plan.cells())).row, hook=breaks))
    assert len(Store(tmp_path).done()) == 3
    assert sweep(plan, tmp_path, engine="threads").missing == 0  # nobody holds the lock


# The pile of cells


def test_the_pile_hands_out_about_as_much_as_was_asked_for():
    cells = make_plan(["two-arm:rounds=20"], ["uniform", "dts"], 6).select()
    speeds = Speeds()
    done = set()
    pile = WorkQueue(cells, speeds, SimpleNamespace(done=lambda: done))
    assert pile.take(10.0) == cells[:1]  # nothing is known yet, so one at a time
    for seconds in (9.0, 1.0, 1.0):  # the first was compiled
        speeds.learn(cells[0], seconds, 1.0)
    assert speeds.guess(cells[0]) == 1.0
    assert speeds.guess(cells[1]) is None
    assert pile.take(10.0) == cells[1:2]
    assert pile.take(10.0) == cells[2:3]  # then comes one that nothing is known about
    speeds.learn(cells[1], 0.7, 0.5)
    assert pile.take(1.9) == cells[3:5]  # 0.5 + 1, and another 0.5 would be too much
    assert pile.take(0.0) == cells[5:6]
    done.update(cell.key for cell in cells[:8])  # by somebody else
    assert pile.look() == (2, True, False)
    assert pile.look() == (0, True, False)
    assert pile.take(100.0) == cells[8:]
    assert pile.take(100.0) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_real_ctrl_c(slow, tmp_path):
    own, plan = slow
    ready = str(tmp_path / "ready")
    (tmp_path / "hold").touch()
    with start(SWEEP, own, tmp_path / "s", ready, ready) as process:
        seen = [process.stdout.readline().strip() for _ in range(5)]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LONG)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    done = Store(tmp_path / "s").done()
    assert set(seen) <= done
    assert len(done) < len(plan)
    assert not list(Path(tmp_path / "s").rglob("*.part"))


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_who_looks_on_hears_of_compiling_while_it_lasts(engine, tmp_path, forget_own):
    begin = "from driftduel._internal import notices\n        notices.compiling()"
    path = own_policy(tmp_path / "own_slow.py", "own-slow", begin=begin)
    plan = make_plan([WORLD], ["own-slow", "wss:beta=1.3"], 2, imports=[path])
    heard = []

    class Compiled(Listener):
        def compiling(self, ready, policies):
            heard.append((ready, policies, len(self.outcomes)))

    listener = Compiled()
    sweep(plan, watch=listener, engine=engine, workers=1)
    assert heard[:2] == [(0, 2, 0), (None, 2, 0)]  # over when the game begins, not when it ends
    assert heard[-1][0] is None
    assert len(listener.outcomes) == 4
