"""The public interface: its names, its types, and the cost of importing it."""

import ast
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import driftduel
from driftduel.errors import DriftduelError


def test_every_public_name_can_be_imported():
    assert set(driftduel._HOME) == set(driftduel.__all__)
    for name, home in driftduel._HOME.items():
        if home == "driftduel.lab" and not find_spec("polars"):
            with pytest.raises(DriftduelError, match=r"driftduel\[lab\]"):
                getattr(driftduel, name)
        elif home == "driftduel.arena" and not find_spec("msgspec"):
            with pytest.raises(DriftduelError, match=r"driftduel\[arena\]"):
                getattr(driftduel, name)
        else:
            assert getattr(driftduel, name) is not None
    assert set(driftduel.__all__) <= set(dir(driftduel))


def test_type_checkers_see_the_same_names_as_a_program():
    tree = ast.parse(Path(driftduel.__file__).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {(node.module, alias.name) for node in imports for alias in node.names}
    assert {("driftduel", name) for name in driftduel._ROOMS} <= seen
    assert {(home, name) for name, home in driftduel._HOME.items()} <= seen


MISTAKES = """\
import driftduel

driftduel.play("king", "two-arm", seed=1)
driftduel.typo_here  # attr-defined
driftduel.logs.typo_here  # attr-defined
driftduel.play("king", "two-arm", sead=1)  # call-arg
driftduel.make_policy("king", 3, 1).typo_here()  # attr-defined
driftduel.Policy.load("king.npz").save(3)  # arg-type
"""


@pytest.mark.long
def test_mypy_reports_mistakes_in_a_users_file(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "mine.py").write_text(MISTAKES)
    command = [sys.executable, "-m", "mypy", "--strict", "mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = re.findall(r"mine\.py:(\d+): error: .*\[([a-z-]+)\]", done.stdout)
    lines = enumerate(MISTAKES.splitlines(), 1)
    expected = [(str(n), line.split("# ")[1]) for n, line in lines if "# " in line]
    assert found == expected, done.stdout + done.stderr


def test_the_public_names():
    assert driftduel.__all__ == [
        "POLICIES",
        "WORLDS",
        "Arena",
        "ArenaClient",
        "Board",
        "DriftduelError",
        "Duel",
        "Measures",
        "Piecewise",
        "Play",
        "Policy",
        "Preferences",
        "Results",
        "Trace",
        "World",
        "compare",
        "load_policy",
        "load_world",
        "make_policy",
        "make_world",
        "measure",
        "play",
        "policy_from_bytes",
        "policy_to_bytes",
        "results",
        "save_policy",
        "save_world",
        "sweep",
        "trace",
    ]


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
