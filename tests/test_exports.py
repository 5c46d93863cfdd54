"""The public interface: its names, its types, and the cost of importing it."""

import ast
import re
import subprocess
import sys
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import get_type_hints

import pytest

import driftduel
from driftduel.errors import DriftduelError

HOMES = [(name, home) for home, names in driftduel._NAMES.items() for name in names.split()]


def test_every_public_name_can_be_imported():
    assert {name for name, _ in HOMES} == set(driftduel.__all__)
    assert len(HOMES) == len(driftduel.__all__) <= 40
    needs = {"lab": "polars", "logs": "scipy", "arena": "msgspec"}
    for name, package in HOMES:
        if package in needs and not find_spec(needs[package]):
            with pytest.raises(DriftduelError, match=rf"driftduel\[{package}\]"):
                getattr(driftduel, name)
        else:
            assert getattr(driftduel, name) is not None
    assert set(driftduel.__all__) <= set(dir(driftduel))


def test_type_checkers_see_the_same_names_as_a_program():
    tree = ast.parse(Path(driftduel.__file__).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {(node.module, alias.name) for node in imports for alias in node.names}
    assert {("driftduel", name) for name in driftduel._PACKAGES} <= seen
    assert {(f"driftduel.{package}", name) for name, package in HOMES} <= seen


def test_the_public_names():
    assert driftduel.__all__ == [
        "POLICIES",
        "WORLDS",
        "Arena",
        "ArenaClient",
        "ArenaError",
        "Board",
        "DriftduelError",
        "Duel",
        "Fit",
        "Log",
        "Measures",
        "Piecewise",
        "Play",
        "Policy",
        "Preferences",
        "Results",
        "Trace",
        "World",
        "compare",
        "fit",
        "load_policy",
        "load_results",
        "load_world",
        "make_policy",
        "make_world",
        "measure",
        "play",
        "policy_from_bytes",
        "policy_to_bytes",
        "read_log",
        "save_policy",
        "save_world",
        "sweep",
        "trace",
    ]


LAZY = [
    path
    for path in sorted(Path(driftduel.__file__).parent.glob("*/__init__.py"))
    if "import_on_use(" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.parent.name)
def test_type_checkers_see_the_names_that_a_package_imports_on_use(path):
    package = path.parent.name
    block = next(
        n for n in ast.parse(path.read_text("utf-8")).body if isinstance(n, ast.If) and n.orelse
    )
    typed = {
        (node.module.removeprefix(f"driftduel.{package}."), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = ast.literal_eval(block.orelse[0].value.args[1])
    named = {(module, name) for module, names in homes.items() for name in names.split()}
    assert named == typed
    modules = {each.stem for each in path.parent.iterdir()}
    assert not modules & {name for _, name in named}  # importing a module would bind its name


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.parent.name)
def test_names_are_imported_on_use(path):
    if path.parent.name in ("arena", "games", "lab", "logs") and not find_spec("polars"):
        pytest.skip("needs an extra")  # games: certificates need scipy
    module = getattr(driftduel, path.parent.name)
    homes = re.findall(r"import (\w+) as \1", path.read_text("utf-8"))
    for name in homes:
        assert getattr(module, name) is not None
    assert not hasattr(module, "typo_here")


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(driftduel, "no_such_name")


def test_help_imports_neither_the_compiler_nor_numpy():
    code = (
        "import sys, driftduel.cli as c\n"
        "try: c.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numba', 'numpy', 'matplotlib', 'polars') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.endswith("[]\n")


def test_typed_settings_have_the_fields_of_what_they_set():
    from driftduel.games import KNOWN
    from driftduel.policies.registry import PriorKnowledge

    assert {"horizon", *PriorKnowledge.__annotations__} >= KNOWN
    pytest.importorskip("msgspec")
    from driftduel.arena import ArenaSettings, Settings

    assert {"items", *ArenaSettings.__annotations__} == {*Settings.__struct_fields__}


def test_typed_options_of_figures_have_the_parameters_of_the_functions():
    pytest.importorskip("polars")
    from driftduel import figures

    positional = {"world", "worlds", "findings", "trend", "policies"}
    for name in ("totals", "heat", "trend", "restarts", "shares", "goal"):
        options = getattr(figures, f"{name.capitalize()}Options", figures.FigureOptions)
        parameters = signature(getattr(figures, f"plot_{name}")).parameters
        assert set(get_type_hints(options)) == set(parameters) - positional, name
