"""Installed plug-ins, files with neighbours, and kernels that the compiler refuses."""

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import driftduel.authoring
from driftduel import cli, play
from driftduel._internal.compiler import jit_enabled
from driftduel._internal.kernel_errors import describe_kernel_error
from driftduel._internal.plugins import load
from driftduel.authoring import (
    POLICIES,
    DriftduelError,
    KernelPolicy,
    Kernels,
    fields,
    inline_kernel,
    kernel,
)

PLUGIN = """
from driftduel.authoring import POLICIES, WORLDS, Piecewise, Policy

@POLICIES.register("plugged")
class Plugged(Policy):
    '''A policy of a plug-in.'''
    def choose(self, t):
        return 0, 1, ()
    def learn(self, t, first, second, won, notes):
        return 0

@WORLDS.register("plugged-world")
def plugged(rounds: int = 100):
    '''A world of a plug-in.'''
    return Piecewise([[[0.5, 0.9], [0.1, 0.5]]], [1], rounds)
"""
SHOWS = """
import sys, warnings
import driftduel, driftduel.policies, driftduel.worlds
assert "dts" in driftduel.POLICIES and driftduel.WORLDS["named"]
assert "plugged_module" not in sys.modules and "broken_module" not in sys.modules
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {first}
    print([str(each.message) for each in caught])
    print("plugged" in driftduel.POLICIES, "plugged-world" in driftduel.WORLDS)
    print("plugged" in [entry.name for entry in driftduel.POLICIES])
    assert len(caught) == 1, caught
"""


@pytest.fixture
def installed(tmp_path):
    """Two distributions with entry points, one of which cannot be imported."""
    (tmp_path / "plugged_module.py").write_text(PLUGIN)
    (tmp_path / "broken_module.py").write_text("raise RuntimeError('no such machine\\nand more')")
    for name, version, module, group in (
        ("plug-of-mine", "1.2.3", "plugged_module", "policies"),
        ("plug-of-mine", "1.2.3", "plugged_module", "worlds"),
        ("broken-plug", "0.9", "broken_module", "policies"),
    ):
        info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        with open(info / "entry_points.txt", "a") as file:
            file.write(f"[driftduel.{group}]\nall = {module}\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def run(code, environment, *more):
    command = [sys.executable, "-c", code] if code else [sys.executable, *more]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip


@pytest.mark.parametrize(
    "first", ["driftduel.make_policy('plugged', 2)", "list(driftduel.POLICIES)"]
)
def test_plugins_are_loaded_when_a_name_is_missing_and_when_names_are_listed(installed, first):
    out = run(SHOWS.format(first=first), installed)
    assert out.returncode == 0, out.stderr
    warned, known, listed = out.stdout.splitlines()
    assert warned == (
        "['the plug-in broken-plug 0.9 cannot be imported (broken_module: no such machine); "
        "its policies are missing.']"
    )
    assert known == "True True"
    assert listed == "True"


def test_the_command_line_lists_and_plays_plugins(installed):
    out = run("", installed, "-m", "driftduel", "policies")
    assert out.returncode == 0
    assert "A policy of a plug-in." in out.stdout
    assert out.stderr.count("broken-plug") == 1
    play = ("play", "--policy", "plugged", "--world", "plugged-world", "--seed", "1")
    out = run("", installed, "-m", "driftduel", *play)
    assert out.returncode == 0, out.stderr
    assert "plugged" in out.stdout


@pytest.mark.skipif(not find_spec("polars"), reason="needs the lab")
def test_the_plugin_is_part_of_a_cells_identity(installed):
    code = (
        "from driftduel.lab.identity import policy_identity, world_identity\n"
        "print(policy_identity('plugged')); print(world_identity('plugged-world'))\n"
        "print(policy_identity('dts'))"
    )
    out = run(code, {**installed, "PYTHONWARNINGS": "ignore"})
    assert out.returncode == 0, out.stderr
    policy, world, own = out.stdout.splitlines()
    assert " (plug-of-mine 1.2.3)" in policy
    assert " (plug-of-mine 1.2.3)" in world
    assert "plug-of-mine" not in own


def test_a_file_imports_its_neighbours(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "family"
    folder.mkdir()
    (folder / "family_helper.py").write_text("NEEDED = 7\n")
    (folder / "family_file.py").write_text(
        "from family_helper import NEEDED\n"
        "from driftduel.authoring import POLICIES, Policy\n"
        "@POLICIES.register('of-family')\n"
        "class OfFamily(Policy):\n"
        "    needed = NEEDED\n"
        "    def choose(self, t):\n        return 0, 1, ()\n"
        "    def learn(self, t, first, second, won, notes):\n        return 0\n"
    )
    with POLICIES.temporarily():
        load([str(folder / "family_file.py")])
        assert POLICIES["of-family"].factory.needed == 7
    for name in ("family_file", "family_helper"):
        del sys.modules[name]


def test_authoring_has_all_that_authors_import():
    needed = {"Policy", "KernelPolicy", "Kernels", "Wrapper", "register_wrapper", "POLICIES"}
    needed |= {"WORLDS", "World", "Chunk", "fields", "kernel", "inline_kernel", "uniform", "normal"}
    needed |= {"beta", "GROW", "RESTARTED", "Range", "Choice"}
    assert needed <= {*driftduel.authoring.__all__}
    for name in driftduel.authoring.__all__:
        assert getattr(driftduel.authoring, name) is not None


# ---- kernels that cannot be compiled ----


class State(NamedTuple):
    wins: Annotated[Any, fields.COUNT]


def plain_helper(x):
    return x + 1


def largest(state):
    return state.wins.max()


def new_array(state):
    return np.zeros(3)[0]


def whole_arrays(state):
    return (state.wins + state.wins)[0, 0]


def a_list(state):
    return [1, 2][0]


def wrong_field(state):
    return state.winz[0, 0]


def calls_plain(state):
    return plain_helper(state.wins[0, 0])


def undefined(state):
    return no_such_name  # noqa: F821


def draws(state):
    return np.random.default_rng(1).random()


def unknown_function(state):
    return np.no_such_function(state.wins)


def two_kinds(state):
    if state.wins[0, 0] > 0:
        return 1, 2
    return "a"


REFUSED = [
    (largest, "kernels cannot allocate: replace `.max()` by a loop."),
    (new_array, "kernels cannot allocate: replace `np.zeros()` by a loop, or keep the array in "),
    (whole_arrays, "kernels cannot allocate: replace arithmetic on whole arrays by a loop"),
    (a_list, "kernels cannot allocate: keep an array in the state in place of a list"),
    (wrong_field, "there is no field `winz` in the record State."),
    (calls_plain, "kernels call only kernels: mark `plain_helper` with @kernel or @inline_kernel."),
    (undefined, "the name `no_such_name` is not defined."),
    (draws, "kernels draw random numbers with `uniform(rng)`"),
    (unknown_function, "module 'numpy' has no attribute 'no_such_function'."),
    (two_kinds, "the kernel returns values of different types"),
]


@pytest.mark.skipif(not jit_enabled(), reason="nothing is compiled")
@pytest.mark.parametrize(("function", "said"), REFUSED, ids=lambda each: str(each)[:20])
def test_a_refused_kernel_gives_one_sentence(function, said):
    with pytest.raises(DriftduelError) as refused:
        kernel(function)(State(np.zeros((3, 3))))
    text = str(refused.value)
    assert said in text
    assert "\n" not in text
    assert text.endswith(".")
    assert refused.value.__cause__ is not None
    if function not in (undefined, unknown_function):
        assert "Failed in nopython" in str(refused.value.__cause__)
        line = function.__code__.co_firstlineno
        assert any(f"test_extension_points.py, line {line + i}:" in text for i in (1, 2, 3))


@pytest.mark.skipif(not jit_enabled(), reason="nothing is compiled")
def test_a_kernel_inside_the_loop_is_named_by_its_own_line(capsys):
    def ask(state, rng, t, notes):
        return 0, 1

    def tell(state, t, first, second, won, notes):
        state.wins[0, 0] = state.wins.max()
        return 0

    with POLICIES.temporarily():

        @POLICIES.register("refused")
        class Refused(KernelPolicy):
            """Allocate in a kernel."""

            kernels = Kernels(inline_kernel(ask), inline_kernel(tell))

            def __init__(self, arms, rng):
                super().__init__(arms, rng)
                self.state = State(np.zeros((arms, arms)))

        with pytest.raises(DriftduelError, match=r"replace `\.max\(\)` by a loop") as refused:
            play("refused", "two-arm", seed=1)
        line = tell.__code__.co_firstlineno + 1
        assert str(refused.value).startswith(f"test_extension_points.py, line {line}: kernels")
        assert cli.main(["play", "--policy", "refused", "--world", "two-arm"]) == 2
        assert "replace `.max()` by a loop." in capsys.readouterr().err


def test_an_unknown_text_is_shortened():
    said = describe_kernel_error("Failed in nopython mode\n\nIt is what it is.\nDuring: x", "mine")
    assert said == "kernel 'mine': the compiler refuses the kernel: It is what it is."
