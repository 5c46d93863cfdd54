"""Fingerprints of built-in code: a change of a policy invalidates its stored cells, only those."""

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl

import driftduel
from driftduel.errors import DriftduelError
from driftduel.lab import compare
from driftduel.lab.identity import code_of, policy_code, policy_identity, world_code
from driftduel.lab.source import CONTRACT, Definition, Sources, installed
from driftduel.lab.store import Store
from driftduel.policies import POLICIES
from driftduel.worlds import WORLDS
from tests.lab.helpers import WORLD, assert_same_games

PACKAGE = Path(driftduel.__file__).parent
RUCB = ("driftduel.policies.rucb", "Rucb")


@pytest.fixture
def checkout(tmp_path):
    """Copy the package, and return a function that edits a file of the copy."""
    there = tmp_path / "checkout" / "driftduel"
    ignored = shutil.ignore_patterns("__pycache__", "static", "*.nbi", "*.nbc")
    shutil.copytree(PACKAGE, there, ignore=ignored)

    def edit(name, old, new):
        path = there / name
        text = path.read_text("utf-8")
        assert text.count(old) >= 1, (name, old)
        path.write_text(text.replace(old, new, 1), "utf-8")

    return there, edit


@cache
def codes(folder):
    """Return the fingerprint of every built-in policy and world in a copy of the package."""
    sources = Sources(folder)
    found = {}
    for entry in POLICIES:
        part = getattr(entry.factory, "wrapper", entry.factory)
        for mode in ("serve", "panel"):
            found[entry.name, mode] = sources.fingerprint(part.__module__, part.__qualname__, mode)
    for entry in WORLDS:
        part = entry.factory
        found[entry.name, "world"] = sources.fingerprint(part.__module__, part.__qualname__)
    return found


def changed(folder):
    now = codes.__wrapped__(folder)
    return {name for name, code in codes(PACKAGE).items() if code != now[name]}


PLAY = """
import json, sys
from driftduel.lab import compare
found = compare(["rucb", "uniform"], sys.argv[1], runs=2, workers=1, out=sys.argv[2])
print(json.dumps(dict(found.games.group_by("policy").agg(x="regret").iter_rows())))
"""


def played(folder, out):
    """Play in another process, from a copy of the package, without the compiler."""
    environment = {
        **os.environ, "PYTHONPATH": str(folder.parent), "NUMBA_DISABLE_JIT": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PLAY, WORLD, str(out)],
        env=environment, cwd=folder.parent, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout), done.stderr


@pytest.mark.long
def test_results_do_not_survive_a_change_of_the_built_in_policy(checkout, tmp_path):
    folder, edit = checkout
    before, said = played(folder, tmp_path / "out")
    assert "played again" not in said
    assert played(folder, tmp_path / "out") == (before, said)
    files = set((tmp_path / "out" / "cells").iterdir())
    edit("policies/rucb.py", "width = bonus(", "width = 3.0 * bonus(")
    after, said = played(folder, tmp_path / "out")
    fresh, _ = played(folder, tmp_path / "fresh")
    assert after == fresh
    assert after["uniform"] == before["uniform"]
    assert after["rucb"] != before["rucb"]
    line = "2 finished cells of 4 are played again: the code of rucb has changed since."
    assert said.count(line) == 1
    new = set((tmp_path / "out" / "cells").iterdir()) - files
    assert {policy for file in new for policy in pl.read_parquet(file)["policy"]} == {"rucb"}
    assert played(folder, tmp_path / "out")[1].count("played again") == 0


def without_code(plan):
    """Return a plan as version 0.2.0 made it: its identities have no code."""

    def stripped(planned):
        return tuple(replace(p, identity=p.identity.partition(" ")[0]) for p in planned)

    return replace(plan, worlds=stripped(plan.worlds), policies=stripped(plan.policies))


def test_a_store_without_code_is_played_again_and_says_so(tmp_path):
    def play(out):
        return compare(["uniform", "wss"], WORLD, runs=2, workers=1, out=out)

    first = play(tmp_path / "new")
    rows = first.store.rows().to_dicts()
    plan = without_code(first.plan)
    keys = {cell.id: cell.key for cell in plan.cells()}
    for row, cell in zip(rows, first.plan.cells(), strict=True):
        assert keys[cell.id] != row["key"]
        row["key"] = keys[cell.id]
    Store.create(tmp_path / "old", plan).add(rows)
    assert len(Store(tmp_path / "old").done()) == 4
    said = "4 finished cells of 4 are played again: an earlier version did not record their code."
    with pytest.warns(UserWarning, match=re.escape(said)):
        again = play(tmp_path / "old")
    assert_same_games(again.games, first.games)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(tmp_path / "old")


def test_another_plan_is_still_refused(tmp_path):
    first = compare(["uniform", "wss"], WORLD, runs=1, workers=1, out=tmp_path / "out")
    plan = without_code(first.plan)
    with pytest.raises(DriftduelError, match="runs: 1 there, 2 here"):
        Store.create(tmp_path / "out", replace(plan, runs=2))
    assert Store(tmp_path / "out").plan == first.plan


def test_a_change_of_a_policy_changes_its_fingerprint_and_no_other(checkout):
    folder, edit = checkout
    assert changed(folder) == set()
    edit("policies/rucb.py", "width = bonus(", "width = 2.0 * bonus(")
    assert changed(folder) == {("rucb", "serve"), ("rucb", "panel")}


def test_a_change_of_what_policies_share_changes_all_that_use_it(checkout):
    folder, edit = checkout
    edit("policies/_counts.py", "def bonus(", "def bonus(unused, ")
    found = {name for name, mode in changed(folder) if mode == "serve"}
    assert {"rucb", "dts", "dts-plus"} <= found
    assert not found & {"king", "anaconda", "uniform", "exp3s"}


def test_a_change_of_a_world_changes_its_fingerprint_and_no_policy(checkout):
    folder, edit = checkout
    edit("worlds/generators.py", "def _geometric_btl(", "def _geometric_btl(unused, ")
    assert changed(folder) == {("geometric-btl", "world")}


def test_kernels_for_panels_do_not_decide_other_games(checkout):
    folder, edit = checkout
    edit("policies/_king_panel.py", "def _takes_over(", "def _takes_over(unused, ")
    found = changed(folder)
    assert ("king", "panel") in found
    assert not {name for name, mode in found if mode != "panel"}


PROSE = (
    ('"""Relative Upper Confidence Bound."""', '"""Another docstring."""'),
    ("    arms = wins.shape[0]\n", "    # A comment.\n\n    arms = wins.shape[0]\n"),
    ('"""Win counts and the', '"""Counts of wins and the'),
    ('"""(K, K) number of wins of i over j."""', '"""Wins of i over j: (K, K)."""'),
    ('"high; paper and public code agree"', '"high"'),
    ("COUNTED\n    source", "'nothing'\n    source"),
)


def test_prose_and_messages_decide_nothing(checkout):
    folder, edit = checkout
    for old, new in PROSE:
        edit("policies/rucb.py", old, new)
    edit("policies/king.py", "accepts past votes", "takes past votes")
    assert changed(folder) == set()
    edit("policies/king.py", "if self.ledger.asked and not", "if self.ledger.asked > 1 and not")
    assert ("king", "serve") in changed(folder)


def test_a_data_file_decides(checkout):
    folder, edit = checkout
    edit("policies/calibration.json", "{", "{ ")
    found = {name for name, mode in changed(folder) if mode == "serve"}
    assert "anaconda" in found
    assert "king" not in found


def test_a_module_used_as_a_whole_is_followed(tmp_path):
    package = tmp_path / "driftduel"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tools.py").write_text(
        "A = 1\nB = 2\n_T = {}\n_T[0] = 3\ndef use():\n    return _T\n"
    )
    (package / "mine.py").write_text(
        "from driftduel import tools as t\n"
        "def one():\n    from driftduel.tools import use\n    return use() + t.A\n"
    )
    found = Sources(package).definitions(Definition("driftduel.mine", "one"))
    assert found == {
        Definition("driftduel.mine", "one"), Definition("driftduel.tools", "use"),
        Definition("driftduel.tools", "A"), Definition("driftduel.tools", "_T"),
    }  # fmt: skip
    before = Sources(package).fingerprint("driftduel.mine", "one")
    (package / "tools.py").write_text((package / "tools.py").read_text().replace("= 3", "= 4"))
    assert Sources(package).fingerprint("driftduel.mine", "one") != before


def test_every_kernel_of_a_policy_is_reached():
    """What compiled kernels are made of, by their own fingerprint, is covered by the source's."""
    for name in ("rucb", "king", "dts", "anaconda", "court", "exp3s"):
        factory = POLICIES[name].factory
        reached = installed().definitions(Definition(factory.__module__, factory.__qualname__))
        for kernel in (factory.kernels.ask, factory.kernels.tell):
            for function in _functions(kernel):
                module, outer = function.__module__, function.__qualname__.partition(".")[0]
                if module.startswith("driftduel.") and module not in CONTRACT:
                    assert Definition(module, outer) in reached, (name, module, outer)


def _functions(kernel, seen=None):
    """Return the functions that a kernel calls, by what their names mean."""
    seen = {} if seen is None else seen
    function = getattr(kernel, "py_func", kernel)
    if id(function) in seen or not hasattr(function, "__code__"):
        return list(seen.values())
    seen[id(function)] = function
    meanings = [function.__globals__.get(name) for name in function.__code__.co_names]
    meanings += [cell.cell_contents for cell in function.__closure__ or ()]
    for meaning in meanings:
        if callable(meaning) and str(getattr(meaning, "__module__", "")).startswith("driftduel."):
            _functions(meaning, seen)
    return list(seen.values())


def test_a_file_that_changed_after_the_import_is_refused(checkout):
    folder, _ = checkout
    with pytest.raises(DriftduelError, match=r"rucb.py' has changed since it was imported"):
        Sources(folder, imported_at=0.0).fingerprint(*RUCB)
    os.utime(folder / "policies" / "rucb.py", (2**33, 2**33))  # a wrong clock is no change
    with pytest.raises(DriftduelError, match=r"_counts.py"):
        Sources(folder, imported_at=0.0).fingerprint(*RUCB)


def test_a_composition_has_the_code_of_both():
    assert policy_code("sw-dts:window=5").split()[1] == policy_code("dts")
    assert policy_code("king") != policy_code("king", "panel")
    assert policy_identity("king").split()[1] == policy_code("king")
    plain, tied = world_code(WORLD), world_code(f"{WORLD},ties=0.1")
    assert tied.split() == [plain, code_of(WORLDS.around)]


def test_a_class_derived_from_a_built_in_one_has_its_code_too(forget_own):
    class Mine(POLICIES["rucb"].factory):
        name = "mine"

    own, *bases = code_of(Mine).split()
    assert bases == [policy_code("rucb")]
    assert own != bases[0]
