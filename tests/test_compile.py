"""The cache of compiled kernels sees the sources behind a kernel, and no others."""

import importlib.util
import os
from pathlib import Path

import driftduel
from driftduel._compile import _imported_by, _sources, _with_imports
from driftduel.policies import make_policy

PACKAGE = Path(driftduel.__file__).parent


def names(files):
    return {str(Path(file).relative_to(PACKAGE)) for file in files}


def test_a_composition_depends_on_both_policies_and_on_what_they_import():
    kernels = make_policy("sw-dts:window=5", 3).kernels
    found = names(_sources([kernels.ask, kernels.tell]))
    assert found >= {"policies/window.py", "policies/dts.py", "policies/base.py", "_random.py"}
    assert "policies/rucb.py" not in found
    assert not any(name.startswith(("lab", "cli", "figures")) for name in found)


def test_the_loop_depends_on_the_worlds():
    from driftduel.games import loop

    assert names(_with_imports(loop.__file__)) >= {"worlds/_kernels.py", "worlds/base.py"}


def test_imports_are_found_however_they_are_written(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import driftduel.regret\n"
        "from driftduel import _random, measures\n"
        "from driftduel.policies import (\n    POLICIES,\n    Policy,\n)\n"
        "def f():\n    from driftduel.worlds.base import Chunk  # late\n"
        "# from driftduel.figures import style\n"
        "import driftduelling\n"
    )
    assert names(_imported_by(str(path))) == {
        "regret.py", "_random.py", "measures/__init__.py", "policies/__init__.py",
        "worlds/base.py",
    }  # fmt: skip


def test_a_kernel_of_the_users_own_depends_on_its_file(tmp_path):
    path = tmp_path / "own_kernel.py"
    path.write_text(
        "from driftduel._compile import kernel\n"
        "FACTOR = 2\n"
        "@kernel\n"
        "def twice(x):\n    return FACTOR * x\n"
    )
    keys = []
    for factor in (2, 30):
        path.write_text(path.read_text().replace("FACTOR = 2", f"FACTOR = {factor}"))
        os.utime(path, (factor, factor))
        spec = importlib.util.spec_from_file_location("own_kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.twice(1) == factor
        keys.append(getattr(getattr(module.twice, "_cache", None), "_identity", factor))
    assert keys[0] != keys[1]
