"""The room as a whole: its exports, its examples, and what it does not import."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import driftduel.preferences as room

MODULES = sorted(module.name for module in pkgutil.iter_modules(room.__path__))


def test_exports():
    assert sorted(room.__all__) == [
        "LINKS",
        "Link",
        "NAMED",
        "PairCounts",
        "Preferences",
        "check_link",
        "clash",
        "condorcet_winners",
        "cycle",
        "cycle_on_top",
        "from_utilities",
        "geometric_btl",
        "linear",
        "linear_order",
        "logistic",
        "lone_winner",
        "named",
        "probit",
        "random_condorcet",
        "read_preflib",
        "read_rankings",
        "resolve_link",
        "total_order",
        "uniform_random",
    ]
    assert all(hasattr(room, name) for name in room.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(f"driftduel.preferences.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0 or name == "_parameters"


def test_importing_the_room_imports_neither_the_compiler_nor_scipy():
    code = (
        "import sys, driftduel.preferences as room; room.named('cyclic').smith_set();"
        "print(sorted({'numba', 'scipy', 'matplotlib', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
