"""Plans: what is checked before anything is played, and what makes two cells the same."""

import importlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel._internal.plugins import load
from driftduel.errors import DriftduelError
from driftduel.lab import sweep
from driftduel.lab.plan import Plan, make_plan
from driftduel.worlds import make_world, save_world
from tests.lab.helpers import WORLD, own_policy


def keys(worlds=(WORLD,), policies=("uniform",), runs=1, seeds=(0,), **more):
    return [cell.key for cell in make_plan(worlds, policies, runs, seeds, **more).cells()]


def refused(*arguments, **more):
    with pytest.raises(DriftduelError) as error:
        make_plan(*arguments, **more)
    return str(error.value)


def test_the_name_of_a_cell_can_be_read():
    plan = make_plan([WORLD], ["uniform", "anaconda:constant=0.5"], 2, (7,))
    assert [cell.id for cell in plan.cells()] == [
        f"{WORLD} / uniform / 7.0",
        f"{WORLD} / anaconda:constant=0.5 / 7.0",
        f"{WORLD} / uniform / 7.1",
        f"{WORLD} / anaconda:constant=0.5 / 7.1",
    ]


def test_every_cell_has_a_key_of_its_own():
    worlds = [WORLD, f"{WORLD},seed=1", "two-arm:rounds=50", "two-arm:rounds=51"]
    policies = ["uniform", "dts", "dts:alpha=0.6", "wss"]
    plan = make_plan(worlds, policies, 5, (0, 1, 2))
    cells = list(plan.cells())
    assert len(cells) == len(plan) == 4 * 4 * 5 * 3
    assert len({cell.key for cell in cells}) == len(cells)
    assert len({cell.id for cell in cells}) == len(cells)
    assert plan.total_rounds == sum(cell.rounds for cell in cells)
    assert all(re.fullmatch("[0-9a-f]{32}", cell.key) for cell in cells)


def test_an_unfinished_walk_through_the_cells_has_something_of_everything():
    plan = make_plan([WORLD, "two-arm:rounds=50"], ["uniform", "dts"], 3, (0, 1))
    first = list(plan.cells())[:4]
    assert {(cell.world, cell.policy) for cell in first} == {
        (world, policy) for world in (WORLD, "two-arm:rounds=50") for policy in ("uniform", "dts")
    }
    assert [cell.run for cell in plan.cells()] == sorted(cell.run for cell in plan.cells())


@pytest.mark.parametrize(
    "changed",
    [
        {"policies": ["dts"]},
        {"policies": ["dts:alpha=0.6"]},
        {"worlds": [WORLD.replace("300", "301")]},
        {"worlds": [f"{WORLD},seed=0"]},  # the same world in every run, not one drawn anew
        {"worlds": [f"{WORLD},ratio=3"]},
        {"seeds": (1,)},
        {"benchmark": "borda"},
        {"points": 201},
    ],
)
def test_the_key_changes_with_all_that_decides_the_outcome(changed):
    if changed.get("policies") == ["dts:alpha=0.6"]:
        assert keys(policies=["dts"]) != keys(**changed)
    assert keys() != keys(**changed)


def test_the_key_changes_with_the_version(monkeypatch):
    before = keys()
    monkeypatch.setattr("driftduel.lab.plan.__version__", "0.0.0.other")
    assert keys() != before


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"policies": ["dts"]}, {"policies": ["dts:alpha=0.51"]}),
        ({"policies": ["anaconda:constant=0.5"]}, {"policies": ["anaconda: constant = .50"]}),
        ({"policies": ["wss"]}, {"policies": ["wss:beta=1.05"]}),
        ({}, {"worlds": ["geometric-btl:ratio=2,phases=3,rounds=3e2,arms=3,change=any"]}),
        ({}, {"points": 200, "benchmark": "condorcet"}),
        ({}, {"imports": ["json"]}),
    ],
)
def test_spelling_out_what_is_meant_anyway_changes_no_key(short, long):
    assert keys(**short) == keys(**long)


def test_neither_runs_nor_order_nor_company_change_a_key():
    few = make_plan([WORLD], ["uniform", "dts"], 2)
    many = make_plan(["two-arm:rounds=50", WORLD], ["wss", "dts", "uniform"], 5, (3, 0))
    known = {cell.id: cell.key for cell in many.cells()}
    assert all(known[cell.id] == cell.key for cell in few.cells())


@pytest.mark.parametrize(
    ("told", "untold"),
    [
        ("anaconda:constant=0.5", "anaconda:constant=0.5,horizon=none"),
        ("dex3s", "dex3s:variation=none"),
    ],
)
def test_to_be_told_the_truth_is_not_to_be_told_none(told, untold):
    """A key left open may be told what the world is like, which its default is not."""
    assert keys(policies=[told]) != keys(policies=[untold])
    if told.startswith("anaconda"):  # and indeed both can be played, side by side
        assert len(make_plan([WORLD], [told, untold], 1)) == 2


def test_the_key_changes_with_the_content_of_a_world_file_and_not_with_its_name(tmp_path):
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    save_world(make_world(WORLD, 1), one)
    other.write_bytes(one.read_bytes())
    before = keys([f"file:path={one}"])
    assert keys([f"file:path={other}"]) == before
    assert "is the same as" in refused([f"file:path={one}", f"file:path={other}"], ["uniform"])
    save_world(make_world(WORLD, 2), one)
    assert keys([f"file:path={one}"]) != before


def test_the_key_changes_with_the_source_of_a_policy_of_ones_own(tmp_path, forget_own):
    path = own_policy(tmp_path / "own_source.py", "own-source")
    before = keys(policies=["own-source"], imports=[path])
    assert keys(policies=["own-source:first=0"], imports=[path]) == before
    forget_own()
    assert keys(policies=["own-source"], imports=[path]) == before
    forget_own()
    own_policy(path, "own-source", learn="first += 1")
    assert keys(policies=["own-source"], imports=[path]) != before


def test_a_module_that_was_edited_after_it_was_imported_is_refused(tmp_path, forget_own):
    """Here the old code would play, in other processes the new one."""
    path = own_policy(tmp_path / "own_edited.py", "own-edited")
    before = keys(policies=["own-edited"], imports=[path])
    own_policy(path, "own-edited", learn="first += 1")
    said = refused([WORLD], ["uniform", "own-edited"], 1, imports=[path])
    assert "own_edited.py' has changed since it was imported" in said
    own_policy(path, "own-edited")
    assert keys(policies=["own-edited"], imports=[path]) == before


def test_the_key_of_a_wrapper_changes_with_the_source_of_what_is_inside(tmp_path, forget_own):
    source = (
        "from driftduel.policies import POLICIES, Dts, Oracle, register_wrapper\n"
        "@POLICIES.register('own-inside')\n"
        "class Inside(Dts):\n"
        "    '''As dts.'''\n"
        "    name = 'own-inside'\n"
        "register_wrapper(Oracle, ['own-inside'])\n"
    )
    path = tmp_path / "own_wrapped.py"
    path.write_text(source)
    plan = make_plan([WORLD], ["oracle-own-inside"], 1, imports=[str(path)])
    assert plan.policies[0].home == "own_wrapped"
    before = keys(policies=["oracle-own-inside"])
    forget_own()
    path.write_text(source + "Inside.more = 1\n")
    assert keys(policies=["oracle-own-inside"], imports=[str(path)]) != before


def test_only_takes_a_pattern_or_a_word():
    plan = make_plan([WORLD], ["dts", "dts:alpha=0.6", "wss"], 3, (0, 1))
    assert {cell.policy for cell in plan.select("*/ dts*")} == {"dts", "dts:alpha=0.6"}
    assert {cell.policy for cell in plan.select("*/ dts /*")} == {"dts"}
    assert {cell.policy for cell in plan.select("alpha=0.6")} == {"dts:alpha=0.6"}
    assert {(cell.seed, cell.run) for cell in plan.select("*1.[02]")} == {(1, 0), (1, 2)}
    assert plan.select() == list(plan.cells())
    with pytest.raises(DriftduelError, match="no cell matches 'DTS'; an id is, for example,"):
        plan.select("DTS")
    with pytest.raises(DriftduelError, match="no cell matches"):
        plan.select("dts*")  # a pattern is for the whole name


@pytest.mark.parametrize("n", [1, 2, 3, 7, 18, 30])
def test_shards_are_disjoint_and_cover_everything(n):
    plan = make_plan([WORLD], ["uniform", "dts", "wss"], 3, (0, 1))
    shards = [plan.select(shard=f"{i}/{n}") for i in range(1, n + 1)]
    together = [cell.key for shard in shards for cell in shard]
    assert len(together) == len(set(together)) == len(plan)
    assert set(together) == {cell.key for cell in plan.cells()}
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    few = [cell for i in range(1, n + 1) for cell in plan.select("dts", f"{i}/{n}")]
    assert sorted(few) == sorted(plan.select("dts"))


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1/0", "0/0", "-1/3", "1", "1/", "a/b", "1.5/3"])
def test_bad_shards(shard):
    plan = make_plan([WORLD], ["uniform"], 2)
    with pytest.raises(DriftduelError, match="must be i/n with i from 1 to n") as error:
        plan.select(shard=shard)
    assert repr(shard) in str(error.value)


def test_a_plan_survives_json(tmp_path):
    path = tmp_path / "w.npz"
    save_world(make_world(WORLD), path)
    plan = make_plan(
        [f"file:path={path}", "cycle:rounds=60,seed=0"], ["uniform", "oracle-wss", "dex3s"], 3,
        (0, 9), benchmark="borda", points=50, imports=["json"],
    )  # fmt: skip
    again = Plan.from_dict(json.loads(json.dumps(plan.as_dict())))
    assert again == plan
    assert list(again.cells()) == list(plan.cells())
    assert again.policies[1].told == plan.policies[1].told != ()
    path.unlink()  # nothing is looked up
    assert Plan.from_dict(plan.as_dict()) == plan
    assert [(world.fixed, world.arms, world.rounds) for world in plan.worlds] == [
        (True, 3, 300),
        (True, 3, 60),
    ]
    assert [w.fixed for w in make_plan([WORLD, f"{WORLD},seed=4"], ["uniform"], 1).worlds] == [
        False,
        True,
    ]


def test_the_same_thing_twice_is_refused():
    assert "policy 'dts' is listed twice" in refused([WORLD], ["dts", "wss", "dts"])
    assert "'dts:alpha=0.51' is the same as 'dts'" in refused([WORLD], ["dts", "dts:alpha=0.51"])
    assert "is listed twice" in refused([WORLD, WORLD], ["dts"])
    spelled = f"{WORLD},ratio=2"
    assert f"world {spelled!r} is the same as {WORLD!r}" in refused([WORLD, spelled], ["dts"])
    assert "a seed occurs twice in [1, 2, 1]" in refused([WORLD], ["dts"], 1, (1, 2, 1))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policies": ["unifrom"]}, "did you mean uniform"),
        ({"policies": ["dts:alpa=1"]}, "did you mean alpha"),
        ({"policies": ["dts:alpha=-1"]}, "alpha=-1 must be a number above 0"),
        ({"policies": ["dts:"]}, None),
        ({"policies": ["dts:alpha"]}, "is not of the form key=value"),
        ({"policies": []}, "policies is empty; pass at least one"),
        ({"worlds": []}, "worlds is empty; pass at least one"),
        ({"worlds": ["two-arms"]}, "did you mean two-arm"),
        ({"worlds": ["two-arm:rounds=1"]}, "rounds=1 must be"),
        ({"worlds": ["file:path=/no/such.npz"]}, "cannot read '/no/such.npz'"),
        ({"worlds": ["file:path=/"]}, "cannot read '/'"),
        ({"worlds": ["file"]}, "needs the key path"),
        ({"seeds": ()}, "seed is empty"),
        ({"seeds": (3, -1)}, "seed=-1 must be a whole number"),
        ({"seeds": (0.5,)}, "seed=0.5 must be a whole number"),
        ({"seeds": (2**63,)}, f"seed={2**63} must be a whole number"),
        ({"runs": 0}, "runs=0 must be a whole number at least 1"),
        ({"runs": 2.5}, "runs=2.5 must be a whole number at least 1"),
        ({"points": 9}, "points=9 must be a whole number at least 10"),
        ({"benchmark": "bordo"}, "did you mean borda"),
        ({"imports": ["no.such.module"]}, "cannot import 'no.such.module'"),
    ],
)
def test_mistakes_are_said_before_anything_is_played(change, said):
    given = {"worlds": [WORLD], "policies": ["uniform"], "runs": 1, **change}
    if said is None:
        assert len(make_plan(**given)) == 1
        return
    assert said in refused(**given)


def test_whole_numbers_of_numpy_are_whole_numbers():
    plan = make_plan([WORLD], ["uniform"], np.int64(2), np.arange(2), points=np.int32(20))
    assert plan == make_plan([WORLD], ["uniform"], 2, (0, 1), points=20)
    assert json.dumps(plan.as_dict())


def test_a_world_without_a_winner_needs_another_benchmark():
    said = refused(["cycle:rounds=50"], ["uniform"], 1)
    assert "'cycle:rounds=50' has no Condorcet winner in round 1" in said
    assert "add --benchmark exploitability (in Python" in said
    said = refused(["seasonal:rounds=50"], ["uniform"], 1, benchmark="exploitability")
    assert "--benchmark von-neumann has a meaning there" in said
    for benchmark in ("borda", "copeland", "von-neumann", "exploitability"):
        plan = make_plan(["cycle:rounds=50"], ["uniform"], 1, benchmark=benchmark)
        assert sweep(plan, workers=1).missing == 0


def test_a_policy_of_ones_own_in_a_file(tmp_path, forget_own):
    path = own_policy(tmp_path / "own_file.py", "own-file")
    plan = make_plan([WORLD], ["own-file", "own-file:first=2", "uniform"], 2, imports=[path])
    assert [policy.home for policy in plan.policies][:2] == ["own_file", "own_file"]
    assert [policy.compiled for policy in plan.policies] == [False, False, True]
    assert not plan.compiled
    found = sweep(plan, engine="threads", workers=2)
    assert found.summary["runs"].to_list() == [2, 2, 2]
    plays = found.games.filter(policy="own-file:first=2")["plays"].to_list()[0]
    assert plays[-3:] == [0, 300, 300]
    load([path])  # a second time is no harm
    assert make_plan([WORLD], ["own-file"], 2, imports=[path]).policies[0] == plan.policies[0]


def test_a_policy_of_ones_own_in_a_module(tmp_path, monkeypatch, forget_own):
    monkeypatch.syspath_prepend(tmp_path)
    own_policy(tmp_path / "own_module.py", "own-module")
    plan = make_plan([WORLD], ["own-module"], 1, imports=["own_module"])
    assert plan.policies[0].home == "own_module"
    assert sweep(plan, engine="threads", workers=1).missing == 0


def test_a_world_of_ones_own(tmp_path, forget_own):
    path = tmp_path / "own_world.py"
    source = (
        "from driftduel.worlds import WORLDS, make_world\n"
        "@WORLDS.register('own-world')\n"
        "def own(rounds: int = 70, seed: int = 0):\n"
        "    '''As two-arm.'''\n"
        "    return make_world(f'two-arm:rounds={rounds}')\n"
    )
    path.write_text(source)
    plan = make_plan(["own-world"], ["uniform"], 1, imports=[str(path)])
    assert plan.worlds[0].rounds == 70
    assert not plan.worlds[0].fixed
    before = [cell.key for cell in plan.cells()]
    forget_own()
    path.write_text(source + "# other\n")
    assert keys(["own-world"], imports=[str(path)]) != before


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_here", "No module named 'no_such_module_here'"),
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
        ("raise RuntimeError('not today')", "not today"),
        (
            "from driftduel.policies import POLICIES, Dts\nPOLICIES.register('dts')(Dts)",
            "there is already a policy named 'dts'",
        ),
    ],
)
def test_a_file_that_cannot_be_imported(source, said, tmp_path, forget_own):
    path = tmp_path / "own_broken.py"
    path.write_text(source)
    for _ in range(2):  # a failed import leaves nothing behind
        message = refused([WORLD], ["uniform"], 1, imports=[str(path)])
        assert said in message
        assert "own_broken.py" in message


def test_a_file_that_is_not_there_or_is_named_like_a_module(tmp_path):
    assert "No such file" in refused([WORLD], ["uniform"], imports=[str(tmp_path / "gone.py")])
    path = tmp_path / "json.py"
    path.write_text("")
    said = refused([WORLD], ["uniform"], imports=[str(path)])
    assert "another module is named 'json'" in said


def test_a_policy_of_ones_own_that_cannot_be_made(tmp_path, forget_own):
    path = own_policy(tmp_path / "own_raises.py", "own-raises", begin="raise KeyError('oh')")
    said = refused([WORLD], ["uniform", "own-raises"], 1, imports=[path])
    assert "'own-raises'" in said
    assert "KeyError('oh')" in said


def test_a_world_of_ones_own_that_cannot_be_made(tmp_path, forget_own):
    path = tmp_path / "own_raising_world.py"
    path.write_text(
        "from driftduel.worlds import WORLDS\n"
        "@WORLDS.register('own-raising')\n"
        "def own():\n"
        "    '''Fail.'''\n"
        "    raise KeyError('oh')\n"
    )
    said = refused(["own-raising"], ["uniform"], 1, imports=[str(path)])
    assert "'own-raising'" in said
    assert "KeyError('oh')" in said


def test_plans_that_differ_are_not_equal():
    plan = make_plan([WORLD], ["uniform"], 2)
    assert plan == make_plan([WORLD], ["uniform"], 2)
    assert plan != replace(plan, runs=3)
    assert plan != make_plan([WORLD], ["uniform"], 2, points=100)


def test_a_world_of_ones_own_is_found_by_other_processes(tmp_path, monkeypatch, forget_own):
    (tmp_path / "flat_world.py").write_text(
        "import numpy as np\n"
        "from driftduel.preferences import Preferences\n"
        "from driftduel.worlds import WORLDS, Piecewise\n\n\n"
        "@WORLDS.register('flat')\n"
        "def flat(rounds: int = 50):\n"
        "    'One matrix for ever.'\n"
        "    return Piecewise([Preferences(np.array([[0.5, 0.8], [0.2, 0.5]]))], [1], rounds)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("flat_world")  # registered, and not named in imports
    plan = make_plan(["flat"], ["uniform"], 2)
    assert plan.worlds[0].home == "flat_world"
    assert sweep(plan, engine="processes", workers=1).missing == 0


def test_a_name_that_tables_cannot_hold_is_refused_before_anything_is_played(tmp_path):
    with pytest.raises(
        DriftduelError, match=r"caf\\udce9.csv.* is not valid UTF-8.*rename the file"
    ):
        make_plan(["file:path=caf\udce9.csv,rounds=9"], ["uniform"])
