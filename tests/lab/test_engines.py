"""Engines: the same games everywhere, and nothing lost when something dies."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("polars")

import polars as pl
from polars.testing import assert_frame_equal

from driftduel.errors import DriftduelError, MissingExtraError
from driftduel.games import streams
from driftduel.lab import compare, make_plan
from driftduel.lab.cells import Outcome
from driftduel.lab.engines import Processes, Threads, make_engine, processes as processes_module
from driftduel.lab.experiment import _engine_for
from driftduel.lab.plan import game_seed
from driftduel.lab.running import NullListener
from driftduel.lab.store import TIMINGS
from driftduel.policies import POLICIES, make_policy
from tests.waiting import LONG, eventually, no_hanging

WORLDS = ["geometric-btl:arms=4,rounds=3000,phases=3", "random-walk:arms=3,rounds=2000,sd=0.02"]
PLAYERS = ["uniform", "dts", "anaconda:constant=0.5"]
WORLD = "two-arm:rounds=300"
ENDLESS = "two-arm:rounds=1e12"
RUNS = 6

MORTAL = '''
"""A policy that may misbehave; {remark}."""
import os
import signal
import sys
import time
from pathlib import Path

from driftduel.policies import POLICIES, Policy


@POLICIES.register("mortal")
class Mortal(Policy):
    """Play arms 0 and 1, and misbehave in a game whose luck is below a number."""

    name = "mortal"

    def __init__(self, arms, rng, does: str = "play", below: float = 1.0, folder: str = ""):
        super().__init__(arms, rng)
        self.does, self.below, self.folder = does, below, folder
        self.luck = rng.random()

    def choose(self, t):
        if t == 10 and self.luck < self.below:
            getattr(self, self.does)()
        return int(self.rng.integers(2)), 1, ()

    def learn(self, t, first, second, won, notes):
        return 0

    def play(self):
        pass

    def exit(self):
        os._exit(7)

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def kill_some(self, times=3):
        """Kill the process that plays this game a few times, and then no more."""
        marker = Path(self.folder, f"killed-{{self.luck}}")
        killed = len(marker.read_text()) if marker.exists() else 0
        if killed < times:
            marker.write_text("x" * (killed + 1))
            self.kill()

    def kill_once(self):
        self.kill_some(1)

    def exit_once(self):
        marker = Path(self.folder, "exited")
        if not marker.exists():
            marker.touch()
            self.exit()

    def err(self):
        raise ValueError("no more arms, thanks")

    def chat(self):
        print("hello " * 1000)
        sys.stdout.flush()
        os.write(1, b"and more")
        assert sys.stdin.read() == ""

    def nap(self):
        time.sleep(0.03)

    def sleep(self):
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(600)
'''


@pytest.fixture(autouse=True)
def _bounded():
    with no_hanging():
        yield


def forget_mortal():
    POLICIES.remove("mortal")
    sys.modules.pop("mortal", None)


@pytest.fixture
def mortal(tmp_path):
    """Write the policy; forget it afterwards."""
    path = tmp_path / "mortal.py"
    path.write_text(MORTAL.format(remark="as it was first"))
    yield str(path)
    forget_mortal()


@pytest.fixture
def started(monkeypatch):
    """Collect the processes that the engine starts."""
    children = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            children.append(self)

    monkeypatch.setattr(processes_module.subprocess, "Popen", Popen)
    return children


class AfterFirst(NullListener):
    """Do something when the first cell is finished."""

    def __init__(self, action):
        self.action, self.seen, self.played = action, 0, 0

    def rounds(self, count):
        self.played += count

    def cell(self, outcome):
        self.seen += 1
        if self.seen == 1:
            self.action()


def below(runs, count, spec="mortal"):
    """Return a number that the luck of so many of the runs is below, and which runs these are."""
    lucks = [make_policy(spec, 2, streams(game_seed(0, run))[2]).luck for run in range(runs)]
    ranked = sorted(lucks)
    between = (ranked[count - 1] + ranked[count]) / 2
    return between, [run for run, luck in enumerate(lucks) if luck < between]


def timeless(results):
    return results.games.drop(TIMINGS)


def assert_same_games(results, others):
    assert len(others.games)
    assert_frame_equal(timeless(results), timeless(others), check_exact=True)


def taker(cells, at_once=1):
    """Hand out cells, so many at a time."""
    waiting, lock = list(cells), threading.Lock()

    def take(seconds):
        with lock:
            batch = waiting[:at_once]
            del waiting[:at_once]
            return batch

    return take


def is_alive(pid):
    """Tell whether a process runs; one that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# The same everywhere


@pytest.fixture(scope="module")
def by_one_thread():
    return compare(PLAYERS, WORLDS, runs=RUNS, engine="threads", workers=1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("engine", "workers"), [("threads", 2), ("threads", 3), ("processes", 1), ("processes", 2)]
)
def test_games_do_not_depend_on_the_engine_nor_on_the_workers(by_one_thread, engine, workers):
    watch = AfterFirst(lambda: None)
    results = compare(PLAYERS, WORLDS, runs=RUNS, engine=engine, workers=workers, watch=watch)
    assert not results.failures
    assert_same_games(results, by_one_thread)
    assert watch.seen == len(results.games) == 2 * 3 * RUNS
    assert watch.played == 5000 * 3 * RUNS


# Processes that die


@pytest.mark.long
def test_cells_that_kill_their_process_again_and_again_are_reported(mortal, started):
    make_plan([WORLD], ["mortal"], imports=[mortal])
    number, (doomed,) = below(8, 1)
    killed, exited = (f"mortal:does={does},below={number}" for does in ("kill", "exit"))
    results = compare(
        [killed, exited], WORLD, runs=8, imports=[mortal], engine="processes", workers=1
    )
    assert results.failures == {
        f"{WORLD} / {killed} / 0.{doomed}": "its process died 5 times, at last killed by SIGKILL, "
        "perhaps for lack of memory",
        f"{WORLD} / {exited} / 0.{doomed}": "its process died 2 times, at last with exit code 7",
    }
    assert results.missing == 2
    assert len(started) == 1 + 5 + 2  # a crash is not tried as often as a kill
    healthy = compare(["mortal"], WORLD, runs=8, imports=[mortal], engine="threads").games
    expected = healthy.filter(pl.col("run") != doomed)["regret_curve"].to_list()
    for spec in (killed, exited):
        assert results.games.filter(policy=spec)["regret_curve"].to_list() == expected


@pytest.mark.long
def test_a_cell_that_dies_once_arrives_and_so_do_those_behind_it(mortal, started, tmp_path):
    spec = f"mortal:does=kill_once,folder={tmp_path}"
    cells = list(make_plan([WORLD], [spec], runs=2, imports=[mortal]).cells())
    stream = Processes(8, [mortal]).outcomes(taker(cells, at_once=2), lambda rounds: None)
    played = [(outcome.cell, outcome.error) for outcome in stream]
    assert sorted(played) == sorted((cell, None) for cell in cells)
    assert len(list(tmp_path.glob("killed-*"))) == 2
    assert len(started) == 4  # one for each that died, and one for each alone


@pytest.mark.parametrize("does", ["kill_some", "exit_once"])
@pytest.mark.long
def test_a_healthy_cell_is_not_to_blame_for_processes_that_die(does, mortal, started, tmp_path):
    """Three kills may happen to anybody; so may one crash."""
    given = {"worlds": WORLD, "runs": 4, "imports": [mortal], "workers": 1}
    make_plan([WORLD], ["mortal"], imports=[mortal])
    spec = f"mortal:does={does},below={below(4, 1)[0]},folder={tmp_path}"
    results = compare([spec], **given, engine="processes")
    assert list(tmp_path.glob("*ed*"))
    assert not results.failures
    assert not results.missing
    healthy = compare(["mortal"], **given, engine="threads").games
    assert results.games["regret_curve"].to_list() == healthy["regret_curve"].to_list()


def test_an_exception_is_reported_and_costs_no_process(mortal, started):
    make_plan([WORLD], ["mortal"], imports=[mortal])
    number, (first, second) = below(8, 2)
    spec = f"mortal:does=err,below={number}"
    results = compare([spec], WORLD, runs=8, imports=[mortal], engine="processes", workers=1)
    assert results.failures == {
        f"{WORLD} / {spec} / 0.{run}": "ValueError: no more arms, thanks" for run in (first, second)
    }
    assert results.missing == 2
    assert len(started) == 1


def test_what_a_policy_prints_or_reads_comes_not_between_results(mortal, capfd):
    given = {"worlds": WORLD, "runs": 4, "imports": [mortal]}
    chatty = compare(["mortal:does=chat"], **given, engine="processes", workers=1)
    silent = compare(["mortal"], **given, engine="threads")
    assert not chatty.failures
    assert chatty.games["regret_curve"].to_list() == silent.games["regret_curve"].to_list()
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.count("and more") == 4


@pytest.mark.long
def test_a_process_killed_from_outside_costs_nothing(mortal, started):
    watch = AfterFirst(lambda: started[0].send_signal(signal.SIGKILL))
    given = {"policies": ["mortal:does=nap"], "worlds": WORLD, "runs": 30, "imports": [mortal]}
    results = compare(**given, engine="processes", workers=2, watch=watch)
    assert len(started) in (3, 4)  # one instead of it, and one for the cell it played
    assert started[0].returncode == -signal.SIGKILL
    assert not results.missing
    assert not results.failures
    assert_same_games(results, compare(**given, engine="threads"))


def test_processes_that_cannot_even_start(started, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(DriftduelError, match="ended during its start: with exit code"):
        compare(["uniform"], WORLD, runs=50, engine="processes", workers=1)
    assert len(started) == 2


def test_what_a_process_cannot_import_is_said_once(mortal):
    plan = make_plan([WORLD], ["mortal"], runs=5, imports=[mortal])
    Path(mortal).unlink()
    stream = Processes(1, [mortal]).outcomes(taker(plan.cells()), lambda rounds: None)
    with pytest.raises(DriftduelError, match=r"cannot import .*mortal\.py"), closing(stream):
        list(stream)


@pytest.mark.long
def test_modules_beside_a_script_are_found_by_processes(tmp_path):
    (tmp_path / "mortal.py").write_text(MORTAL.format(remark="as a module"))
    script = tmp_path / "script.py"
    script.write_text(
        "import mortal\n"
        "from driftduel.lab import compare\n"
        f"results = compare(['mortal'], {WORLD!r}, runs=2, engine='processes', workers=1)\n"
        "print(results.missing, results.failures)\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)], cwd="/", capture_output=True, text=True, timeout=LONG,
        check=False,
    )  # fmt: skip
    assert (ended.stdout, ended.stderr) == ("0 {}\n", "")


def test_processes_end_with_a_parent_that_was_killed(mortal, tmp_path):
    folder = tmp_path / "pids"
    folder.mkdir()
    code = (
        "from driftduel.lab import compare\n"
        f"compare(['mortal:does=sleep,folder={folder}'], {WORLD!r}, runs=1, engine='processes', "
        f"workers=1, imports=[{mortal!r}])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        try:
            assert eventually(lambda: list(folder.iterdir()))
            (child,) = (int(path.name) for path in folder.iterdir())
            assert is_alive(child)
        finally:
            parent.kill()
    assert eventually(lambda: not is_alive(child))


@pytest.fixture
def _patient(monkeypatch):
    """Threads that do not end are left behind, but not because the machine is busy."""
    monkeypatch.setattr("driftduel.lab.engines.base._SECONDS_TO_END", LONG)


@pytest.mark.usefixtures("_patient")
def test_closing_ends_a_long_game_in_a_thread():
    plan = make_plan([ENDLESS, WORLD], ["uniform"], runs=1)
    stream = Threads(2).outcomes(taker(plan.cells()), lambda rounds: None)
    assert next(stream).cell.world == WORLD
    threads = threading.active_count()
    stream.close()
    assert threading.active_count() < threads


@pytest.mark.long
@pytest.mark.usefixtures("_patient")
def test_closing_ends_a_process_whatever_it_does(mortal, started, tmp_path):
    sleeper = f"mortal:does=sleep,folder={tmp_path}"
    plan = make_plan([WORLD], [sleeper, "uniform"], runs=1, imports=[mortal])
    stream = Processes(2, [mortal]).outcomes(taker(plan.cells()), lambda rounds: None)
    assert next(stream).cell.policy == "uniform"
    assert eventually(lambda: any((tmp_path / str(child.pid)).exists() for child in started))
    stream.close()
    assert len(started) == 2
    assert all(child.returncode is not None for child in started)


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_ctrl_c_is_heard_while_a_long_game_is_played(engine, mortal, tmp_path):
    world, policy = {
        "threads": (ENDLESS, "uniform"),
        "processes": (WORLD, f"mortal:does=sleep,folder={tmp_path}"),
    }[engine]
    cells = make_plan([world], [policy], runs=1, imports=[mortal]).cells()
    ticks = []

    def press():
        eventually(lambda: ticks or any(path.name.isdigit() for path in tmp_path.iterdir()))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    stream = make_engine(engine, 1, [mortal]).outcomes(taker(cells), ticks.append)
    with closing(stream), pytest.raises(KeyboardInterrupt):
        next(stream)


def test_an_error_in_a_hand_reaches_the_reader():
    def take(seconds):
        raise MemoryError("for example")

    with pytest.raises(MemoryError, match="for example"):
        list(Threads(2).outcomes(take, lambda rounds: None))


# Which engine


def test_threads_play_compiled_policies_and_processes_the_others(mortal):
    assert _engine_for(make_plan([WORLD], PLAYERS), None, 3, None).name == "threads"
    engine = _engine_for(make_plan([WORLD], ["mortal"], imports=[mortal]), None, 3, None)
    assert (engine.name, engine.workers, engine.imports) == ("processes", 3, [mortal])


def test_threads_play_policies_that_only_this_process_has(mortal):
    plan = make_plan([WORLD], ["mortal"], imports=[mortal])
    POLICIES["mortal"].factory.__module__ = "__main__"
    plan = make_plan([WORLD], ["mortal"])
    assert _engine_for(plan, None, None, None).name == "threads"
    with pytest.raises(DriftduelError, match="defined in the main script"):
        _engine_for(plan, "processes", None, None)


def test_an_engine_of_ones_own_is_taken_as_it_is():
    class Lazy:
        name, workers, closed = "lazy", 1, False

        def outcomes(self, take, tick):
            while cells := take(1.0):
                yield from (Outcome(cell, None, "not today") for cell in cells)

        def close(self):
            self.closed = True

    lazy = Lazy()
    results = compare(["uniform"], WORLD, runs=3, engine=lazy)
    assert list(results.failures.values()) == ["not today"] * 3
    assert not lazy.closed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("thread",), "engine 'thread' does not exist; did you mean threads"),
        (("threads", 0), "workers=0 must be a whole number at least 1"),
        (("processes", -1), "workers=-1 must be"),
        (("threads", None, (), "tcp://127.0.0.1:1"), "cluster= needs engine='dask'"),
        (("dask", 2, (), "tcp://127.0.0.1:1"), "workers=2 cannot be set"),
    ],
)
def test_engines_that_cannot_be_made(given, said):
    with pytest.raises(DriftduelError) as error:
        make_engine(*given)
    assert said in str(error.value)


def test_without_distributed_the_extra_is_named():
    code = (
        "import sys\n"
        "sys.modules['distributed'] = None\n"
        "from driftduel.lab.engines import make_engine\n"
        "make_engine('dask')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert f"{MissingExtraError.__name__}: the engine dask needs distributed" in ended.stderr
    assert "pip install driftduel[cluster]" in ended.stderr


# A cluster


class Cluster:
    """A scheduler and workers: processes of their own on this machine."""

    def __init__(self, folder, workers):
        self.folder = folder
        self.processes = []
        file = folder / "scheduler.json"
        self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file)
        assert eventually(file.exists)
        assert eventually(lambda: file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]
        for _ in range(workers):
            self.start(
                "worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny",
                "--local-directory", folder,
            )  # fmt: skip

    def start(self, *arguments):
        quiet = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        command = [sys.executable, "-m", "dask", *map(str, arguments), *quiet]
        with open(self.folder / "log", "ab") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))

    def kill(self, which):
        self.processes[which].kill()
        self.processes[which].wait()

    def close(self):
        for which in reversed(range(len(self.processes))):
            self.kill(which)


@pytest.fixture
def cluster(tmp_path, request):
    """Start a cluster of one worker, or as many as the test says."""
    pytest.importorskip("distributed")
    folder = tmp_path / "cluster"
    folder.mkdir()
    with closing(Cluster(folder, getattr(request, "param", 1))) as running:
        yield running


SCHEDULER, WORKER = 0, 1


@pytest.mark.long
def test_a_local_cluster_plays_the_same_games_and_listens_to_nobody_else(by_one_thread):
    pytest.importorskip("distributed")
    psutil = pytest.importorskip("psutil")
    heard = set()

    def listen():
        here = psutil.Process()
        for process in (here, *here.children(recursive=True)):
            sockets = process.net_connections("inet")
            heard.update(each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN)

    watch = AfterFirst(listen)
    results = compare(PLAYERS, WORLDS, runs=RUNS, engine="dask", workers=2, watch=watch)
    assert not results.failures
    assert_same_games(results, by_one_thread)
    assert heard == {"127.0.0.1"}


@pytest.mark.slow
def test_a_local_cluster_ends_with_a_parent_that_was_killed():
    pytest.importorskip("distributed")
    psutil = pytest.importorskip("psutil")
    code = (
        "from driftduel.lab import compare\n"
        f"compare(['uniform'], {ENDLESS!r}, runs=1, engine='dask', workers=1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        try:
            family = psutil.Process(parent.pid)
            assert eventually(lambda: len(family.children(recursive=True)) >= 2)
            time.sleep(5)
            children = [child.pid for child in family.children(recursive=True)]
            assert all(map(is_alive, children))
        finally:
            parent.kill()
    assert eventually(lambda: not any(map(is_alive, children)))


@pytest.mark.parametrize("cluster", [2], indirect=True)
@pytest.mark.long
def test_a_worker_killed_in_the_middle_costs_no_cell(cluster):
    world = "geometric-btl:arms=4,rounds=2e4,phases=3"
    given = {"policies": PLAYERS, "worlds": world, "runs": 40}
    watch = AfterFirst(lambda: cluster.kill(WORKER))
    results = compare(**given, cluster=cluster.address, watch=watch)
    assert watch.seen == 120
    assert watch.played == 120 * 20_000
    assert not results.missing
    assert not results.failures
    assert_same_games(results, compare(**given, engine="threads"))


@pytest.mark.long
def test_files_are_sent_to_workers_which_refuse_to_mix_versions(cluster, mortal, tmp_path):
    given = {"policies": ["mortal"], "worlds": WORLD, "runs": 5, "cluster": cluster.address}
    here = compare(["mortal"], WORLD, runs=5, imports=[mortal], engine="threads")
    for _ in range(2):
        assert_same_games(compare(**given, imports=[mortal]), here)
    forget_mortal()
    other = tmp_path / "other" / "mortal.py"
    other.parent.mkdir()
    other.write_text(MORTAL.format(remark="as it was changed"))
    with pytest.raises(DriftduelError, match="has another version of 'mortal' than this machine"):
        compare(**given, imports=[str(other)])


@pytest.mark.long
def test_workers_stop_when_nobody_waits(cluster):
    plan = make_plan([ENDLESS, WORLD], ["uniform"], runs=3)
    cells = [cell for cell in plan.cells() if cell.world == ENDLESS]
    engine = make_engine("dask", cluster=cluster.address)
    with closing(engine):
        stream = engine.outcomes(taker([*plan.cells()][1:2] + cells), lambda rounds: None)
        assert next(stream).cell.world == WORLD
        stream.close()
    # A worker that still played would be at it for hours.
    assert not compare(["uniform"], WORLD, runs=4, cluster=cluster.address).missing


@pytest.mark.long
def test_a_lost_scheduler_is_said_kindly(cluster):
    watch = AfterFirst(lambda: cluster.kill(SCHEDULER))
    with pytest.raises(DriftduelError, match="the cluster failed"):
        compare(PLAYERS, WORLDS, runs=100, cluster=cluster.address, watch=watch)
    assert watch.seen


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:9", "Connection refused"),
        ("tcp://host", "must be of the form tcp://host:port"),
    ],
)
def test_nobody_at_the_address(address, said):
    pytest.importorskip("distributed")
    with pytest.raises(DriftduelError) as error:
        compare(["uniform"], WORLD, cluster=address)
    assert str(error.value).startswith(f"cannot play on the cluster {address!r}: ")
    assert said in str(error.value)


def test_somebody_else_at_the_address(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("driftduel.lab.engines.cluster._SECONDS_TO_CONNECT", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "tcp://127.0.0.1:{1}".format(*silent.getsockname())
        with pytest.raises(DriftduelError, match="not a dask scheduler"):
            compare(["uniform"], WORLD, cluster=address)


@pytest.mark.parametrize("cluster", [0], indirect=True)
@pytest.mark.long
def test_a_scheduler_without_workers(cluster, monkeypatch):
    monkeypatch.setattr("driftduel.lab.engines.cluster._SECONDS_TO_CONNECT", 2)
    with pytest.raises(DriftduelError, match=r"cannot play on the cluster .*0/1 workers"):
        compare(["uniform"], WORLD, cluster=cluster.address)


@pytest.mark.long
def test_a_cluster_whose_last_worker_dies(cluster, monkeypatch):
    monkeypatch.setattr("driftduel.lab.engines.cluster._SECONDS_BETWEEN_LOOKS", 0.5)
    monkeypatch.setattr("driftduel.lab.engines.cluster._SECONDS_WITHOUT_WORKERS", 2)
    watch = AfterFirst(lambda: cluster.kill(WORKER))
    with pytest.raises(DriftduelError, match="had no workers"):
        compare(PLAYERS, WORLDS, runs=100, cluster=cluster.address, watch=watch)


@pytest.mark.long
def test_a_cell_that_kills_workers_is_reported(mortal):
    """With one worker, others always wait beside it, and dask suspects them as well."""
    pytest.importorskip("distributed")
    make_plan([WORLD], ["mortal"], imports=[mortal])
    number, (doomed,) = below(12, 1)
    spec = f"mortal:does=kill,below={number}"
    results = compare([spec], WORLD, runs=12, imports=[mortal], engine="dask", workers=1)
    ((name, why),) = results.failures.items()
    assert name == f"{WORLD} / {spec} / 0.{doomed}"
    assert why.startswith("its process died 5 times, at last on tcp://127.0.0.1:")
    assert results.missing == 1


@pytest.mark.long
def test_a_healthy_cell_is_not_to_blame_for_workers_that_die(mortal, tmp_path):
    pytest.importorskip("distributed")
    make_plan([WORLD], ["mortal"], imports=[mortal])
    spec = f"mortal:does=kill_some,below={below(4, 1)[0]},folder={tmp_path}"
    results = compare([spec], WORLD, runs=4, imports=[mortal], engine="dask", workers=1)
    (marker,) = tmp_path.glob("killed-*")
    assert marker.read_text() == "xxx"
    assert not results.failures
    assert not results.missing
