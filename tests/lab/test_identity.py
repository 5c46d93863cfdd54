"""What is played is what was planned: the content of all that decides, on every worker."""

import importlib
import json
import os
import py_compile
import subprocess
import sys
from contextlib import closing

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel.errors import DriftduelError
from driftduel.lab import compare, sweep
from driftduel.lab.cells import run_cell
from driftduel.lab.identity import policy_identity, world_identity
from driftduel.lab.plan import make_plan
from tests.lab.helpers import WORLD, own_policy, timeless

LONG_AGO = (1_600_000_000, 1_600_000_000)


@pytest.fixture
def written(tmp_path, monkeypatch, forget_own):
    """Write modules that look as old as ever, as if none of them had been imported.

    In their names, ``_in_`` parts a module from its package.
    """
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(**texts):
        for name, text in texts.items():
            module, _, package = name.partition("_in_")
            path = tmp_path / package / f"{module}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            os.utime(path, LONG_AGO)
        forget_own()
        importlib.invalidate_caches()

    return write


def key(policy="own", imports=("own_policy",), world=WORLD):
    return next(make_plan([world], [policy], 1, imports=imports).cells()).key


POLICY = """
from driftduel.policies import POLICIES, Policy
{top}

@POLICIES.register("own")
class Own({base}):
    '''One's own.'''
    name = "own"
    {attribute}

    def choose(self, t):
        {choose}
        return arm, 1, ()

    def learn(self, t, first, second, won, notes):
        return 0
"""


def policy(top="", base="Policy", attribute="", choose="arm = 0"):
    return POLICY.format(top=top, base=base, attribute=attribute, choose=choose)


HELPER = "def pick(t):\n    return 0\n"
PICK = "arm = pick(t)"
IN_ANOTHER_FILE = [
    (policy("from own_helper import pick", choose=PICK), HELPER, "0", "1"),
    (policy("import own_helper", choose="arm = own_helper.pick(t)"), HELPER, "0", "1"),
    (policy(choose="from own_helper import pick\n        " + PICK), HELPER, "0", "1"),
    (policy("from own_helper import *", choose=PICK), HELPER, "0", "1"),
    (policy("from own_helper import ARM", choose="arm = ARM"), "ARM = 0\n", "0", "1"),
    (policy("from own_helper import D", choose="arm = D[0]"), "D = {0: 0}\n", ": 0", ": 1"),
    (
        policy("from own_helper import Base", "Base"),
        "from driftduel.policies import Policy\nclass Base(Policy):\n    arm = 0\n", "0", "1",
    ),
    (
        policy("from own_helper import Picker", attribute="picker = Picker()"),
        "class Picker:\n    def pick(self):\n        return 0\n", "0", "1",
    ),
    (
        policy("from own_helper import pick", choose=PICK),
        "from functools import lru_cache\n@lru_cache\ndef pick(t):\n    return 0\n", "0", "1",
    ),
    (
        policy("from own_helper import pick", choose=PICK),
        "from driftduel.authoring import kernel\n@kernel\ndef pick(t):\n    return 0\n", "0", "1",
    ),
    (
        policy("from own_helper import make\npick = make(0)", choose=PICK),
        "def make(arm):\n    return lambda t: arm * 0\n", "* 0", "* 1",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("own", "helper", "old", "new"), IN_ANOTHER_FILE)
def test_the_key_changes_with_what_a_policy_uses_in_another_file(own, helper, old, new, written):
    written(own_policy=own, own_helper=helper)
    before = key()
    written()
    assert key() == before
    written(own_helper=helper.replace(old, new))
    assert key() != before


def test_the_key_changes_with_what_is_further_away(written):
    own = policy("from own_package.middle import pick", choose=PICK)
    middle = "from . import far\ndef pick(t):\n    return far.ARM\n"
    written(own_policy=own, __init___in_own_package="", middle_in_own_package=middle,
            far_in_own_package="ARM = 0\n")  # fmt: skip
    before = key()
    written(far_in_own_package="ARM = 1\n")
    assert key() != before
    written(far_in_own_package="ARM = 0\n")
    assert key() == before
    written(__init___in_own_package="import own_policy\n")  # in a circle, too
    assert key() != before


def test_what_a_module_remembers_is_no_part_of_it_and_what_it_is_told_is(written):
    top = (
        "COUNT = 0\nLAZY = None\nMEMO = {}\nARM = 0\n"
        "def pick(t):\n    global COUNT, LAZY\n    COUNT += 1\n    LAZY = LAZY or object()\n"
        "    MEMO[t] = t\n    return ARM"
    )
    written(own_policy=policy(top, choose=PICK))
    before = key()
    module = sys.modules["own_policy"]
    module.pick(1)
    assert module.COUNT == 1
    assert key() == before
    module.ARM = 1  # as one tries values in a notebook
    assert key() != before
    module.ARM = 0
    assert key() == before


def test_the_line_of_a_policy_is_the_same_in_every_process(written, tmp_path):
    own = policy(
        "from dataclasses import dataclass\nfrom enum import Enum\nimport numpy as np\n"
        "NAMES = frozenset({'a', 'b', 'c', 'd'})\nTABLE = np.arange(3)\nNOW = object()\n"
        "class Mode(Enum):\n    ONE = 1\n"
        "@dataclass\nclass Record:\n    a: int = 0\n    b: list = None",
        choose="arm = int(str(t) in {'a', 'b', 'c', 'd'}) + len(NAMES) * 0\n"
        "        assert TABLE is not Record and NOW and Mode.ONE",
    )
    written(own_policy=own)
    code = (
        "import own_policy\nfrom driftduel.lab.identity import policy_identity, world_identity\n"
        "print(policy_identity('own'))"
    )
    lines = {
        subprocess.run(
            [sys.executable, "-B", "-c", code], cwd=tmp_path, check=True, capture_output=True,
            text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
                            "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    importlib.import_module("own_policy")
    assert lines == {policy_identity("own") + "\n"}


SCRIPT = """
import json
from driftduel.lab import compare
from driftduel.lab.plan import make_plan
{policy}
print(json.dumps([cell.key for cell in make_plan(["two-arm:rounds=20"], ["own"], 1).cells()]))
assert not compare(["own"], "two-arm:rounds=20", runs=1).failures
{more}
"""


@pytest.mark.long
def test_the_key_of_a_typed_in_policy_changes_with_what_it_uses_and_with_nothing_else(tmp_path):
    own = policy("ARM = 0\ndef pick(t):\n    return ARM", choose=PICK)

    def typed(policy, more="", how="-"):
        (tmp_path / "script.py").write_text(SCRIPT.format(policy=policy, more=more))
        done = subprocess.run(
            [sys.executable, how], input=(tmp_path / "script.py").read_text(), cwd=tmp_path,
            check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        return json.loads(done.stdout)

    before = typed(own)
    assert typed(own, "print(end='')  # other figures", "script.py") == before
    assert typed(own.replace("ARM = 0", "ARM = 1")) != before


def test_bytecode_that_is_not_what_the_file_says_is_refused(written, tmp_path, monkeypatch):
    """Python trusts the time and the size of a file; then another code runs than can be read."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    own = policy()
    written(own_policy=own)
    py_compile.compile(str(tmp_path / "own_policy.py"))
    before = key()
    written(own_policy=own.replace("arm = 0", "arm = 1"))
    with pytest.raises(DriftduelError, match=r"own_policy.*\.pyc' does not match .*") as error:
        key()
    assert "remove it" in str(error.value)
    written(own_policy=own)
    assert key() == before


def test_a_cell_is_played_only_by_what_was_planned(written):
    written(own_policy=policy("from own_helper import pick", choose=PICK), own_helper=HELPER)
    cell = next(make_plan([WORLD], ["own"], 1, imports=["own_policy"]).cells())
    assert run_cell(cell).row is not None
    written(own_helper=HELPER.replace("0", "1"))
    importlib.import_module("own_policy")
    said = run_cell(cell).error
    assert "policy 'own' differs from the planned one" in said
    other = run_cell(cell._replace(key="0" * 32)).error
    assert "another version of driftduel" in other


def test_a_policy_that_is_edited_after_it_was_planned_is_not_played_by_processes(
    tmp_path, forget_own
):
    path = own_policy(tmp_path / "own_late.py", "own-late")
    plan = make_plan([WORLD], ["own-late", "uniform"], 2, imports=[path])
    own_policy(path, "own-late", learn="first += 1")
    found = sweep(plan, tmp_path / "out", engine="processes", workers=1)
    assert set(found.narrow["policy"]) == {"uniform"}
    assert len(found.failures) == 2
    assert all(
        "policy 'own-late' differs from the planned one" in said for said in found.failures.values()
    )


# Worlds from files


def write_matrix(path, p):
    q = round(1 - p, 6)
    path.write_text(f"0.5,{p},{p}\n{q},0.5,{p}\n{q},{q},0.5\n")
    os.utime(path, LONG_AGO)


@pytest.mark.parametrize(
    "engine", ["threads", "processes", pytest.param("dask", marks=pytest.mark.long)]
)
def test_a_world_file_that_is_edited_while_a_sweep_runs(engine, tmp_path):
    if engine == "dask":
        pytest.importorskip("distributed")
    path = tmp_path / "w.csv"
    world = f"file:path={path},rounds=500"
    write_matrix(path, 0.61)
    truth = compare(["uniform", "dts"], world, runs=6).games
    plan = make_plan([world], ["uniform", "dts"], 6)
    sweep(plan, tmp_path / "out", only="*0.[01]", workers=1)
    write_matrix(path, 0.95)
    found = sweep(plan, tmp_path / "out", engine=engine, workers=1)
    assert len(found.narrow) == 4
    assert len(found.failures) == 8
    assert all(f"{str(path)!r} has changed" in said for said in found.failures.values())
    kept = timeless(found.games)
    assert kept.equals(timeless(truth).join(kept.select("key"), on="key", how="semi"))
    with pytest.raises(DriftduelError):  # whoever plans again plans another world
        sweep(make_plan([world], ["uniform", "dts"], 6), tmp_path / "out")
    write_matrix(path, 0.61)
    again = sweep(plan, tmp_path / "out", workers=1)
    assert timeless(again.games).equals(timeless(truth))


def test_a_world_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "w.csv"
    write_matrix(path, 0.6)
    cell = next(make_plan([f"file:path={path},rounds=50"], ["uniform"], 1).cells())
    from driftduel.lab import identity

    drawn = identity.world_of

    def late(spec, seed):
        write_matrix(path, 0.7)
        return drawn(spec, seed)

    monkeypatch.setattr(identity, "world_of", late)
    assert "has changed" in run_cell(cell).error


@pytest.mark.long
def test_a_cluster_worker_whose_folder_has_another_file_of_that_name(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from tests.lab.test_engines import Cluster

    here, there = tmp_path / "here", tmp_path / "there"
    for folder, p in ((here, 0.6), (there, 0.9)):
        folder.mkdir()
        write_matrix(folder / "w.csv", p)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.chdir(there)
    with closing(Cluster(there, 1)) as cluster:
        monkeypatch.chdir(here)
        plan = make_plan(["file:path=w.csv,rounds=100", WORLD], ["uniform"], 2)
        found = sweep(plan, cluster=cluster.address)
        assert set(found.narrow["world"]) == {WORLD}
        assert len(found.failures) == 2
        said = f"{str(there / 'w.csv')!r} has changed"
        assert all(said in each for each in found.failures.values())
        write_matrix(there / "w.csv", 0.6)
        assert not sweep(plan, cluster=cluster.address).failures


def test_a_plan_of_another_version_is_not_played():
    from dataclasses import replace

    plan = replace(make_plan([WORLD], ["uniform"], 1), version="0.0.other")
    assert "another version of driftduel" in run_cell(next(plan.cells())).error


def test_late_answers_are_part_of_what_a_world_is():
    plain, none, some = (f"two-arm:rounds=100{more}" for more in ("", ",delay=0", ",delay=4"))
    assert world_identity(plain) == world_identity(none)
    assert world_identity(plain).split()[0] == "two-arm:rounds=100"
    assert world_identity(some).split()[0] == "two-arm:rounds=100,delay=4"


def test_ties_are_part_of_what_a_world_is():
    plain, none, some = (f"two-arm:rounds=100{more}" for more in ("", ",ties=0", ",ties=0.4"))
    assert world_identity(plain) == world_identity(none)
    assert world_identity(plain).split()[0] == "two-arm:rounds=100"
    assert world_identity(some).split()[0] == "two-arm:rounds=100,ties=0.4"
    away = {world_identity(f"{name}:seed=1") for name in ("arrivals", "sleeping", "retire-best")}
    away |= {world_identity(f"sleeping:seed=1,{more}") for more in ("phases=4", "ties=0.1")}
    assert len(away) == 5


def test_a_policy_that_ignores_requests_is_not_the_one_that_takes_them():
    """The world sets `features` unless the spec does."""
    identities = [
        policy_identity(f"adaptive-logistic{keys}")
        for keys in ("", ":features=0", ":features=4", ":features=4,one_hot=true")
    ]
    assert len(set(identities)) == 4
    world = "routing:arms=3,features=4,rounds=900,phases=1,seed=1"
    plan = make_plan([world], ["adaptive-logistic", "adaptive-logistic:features=0"], 1)
    one, other = (run_cell(cell).row for cell in plan.cells())
    assert one["key"] != other["key"]
    assert one["regret"] < 0.8 * other["regret"]
