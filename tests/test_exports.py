"""The public interface is what it says, and importing it stays light."""

import subprocess
import sys
from importlib.util import find_spec

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
