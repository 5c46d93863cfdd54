"""What was compiled is run again only where it is what would be compiled now."""

import errno
import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core import bytecode, caching, codegen, compiler as numba_compiler, serialize
from numba.core.types import containers, functions

import driftduel
from driftduel._internal import compiler
from driftduel._internal.compiler import jit_enabled
from driftduel._internal.fingerprint import Unknown, fingerprint
from driftduel.errors import DriftduelError
from driftduel.games.loop import compiled_loop
from driftduel.policies import make_policy

pytestmark = pytest.mark.skipif(not jit_enabled(), reason="is about the compiler")

LONG_AGO = (1_600_000_000, 1_600_000_000)
HEAD = "import numba\nimport numpy as np\nfrom driftduel._internal.compiler import hot, kernel\n"
INNER = HEAD + "@kernel\ndef inner(x):\n    return 2 * x\n"
OUTER = HEAD + "from its_helper import inner\n@kernel\ndef outer(x):\n    return inner(x) + 1\n"
THROUGH_MODULE = (
    HEAD + "import its_helper\n@kernel\ndef outer(x):\n    return its_helper.inner(x) + 1\n"
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write modules that look as old as ever, and import them as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)
    # Python's own cache of bytecode trusts times and sizes; what it hides is not ours to see.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def imported(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)
            os.utime(tmp_path / f"{name}.py", LONG_AGO)
        forget()
        return importlib.import_module("its_kernel")

    def forget():
        for name in [name for name in sys.modules if name.startswith("its_")]:
            del sys.modules[name]
        importlib.invalidate_caches()

    yield imported
    forget()


def hits(kernel):
    return sum(kernel.stats.cache_hits.values())


@pytest.mark.parametrize(
    ("outer", "helper", "old", "new", "before", "after"),
    [
        (OUTER, INNER, "2 * x", "5 * x", 21, 51),
        (THROUGH_MODULE, INNER, "2 * x", "5 * x", 21, 51),
        (OUTER, INNER.replace("@kernel", "@numba.njit"), "2 * x", "5 * x", 21, 51),
        (OUTER, INNER.replace("@kernel", "@hot"), "2 * x", "5 * x", 21, 51),
        (OUTER, INNER.replace("@kernel", "F = 2\n@kernel").replace("2 *", "F *"), "2", "5", 21, 51),
        (
            HEAD + "from its_helper import F\n@kernel\ndef outer(x):\n    return F * x\n",
            "F = 2\n", "2", "5", 20, 50,
        ),
        (
            HEAD + "import its_helper\n@kernel\ndef outer(x):\n    return its_helper.F * x\n",
            "F = 2\n", "2", "5", 20, 50,
        ),
        (
            HEAD + "from its_helper import F\n@kernel\ndef outer(x):\n    return F[1] * x\n",
            "import numpy as np\nF = np.array([0, 2])\n", "2", "5", 20, 50,
        ),
        (
            HEAD + "from its_helper import F\n@kernel\ndef outer(x):\n    return F[1] * x\n",
            "F = (0, 2)\n", "2", "5", 20, 50,
        ),
        (
            HEAD + "from its_helper import make\nouter = make(3)\n",
            HEAD + "def make(n):\n    def outer(x):\n        return 2 * n * x\n"
            "    return kernel(outer)\n",
            "2 *", "5 *", 60, 150,
        ),
        (  # as a composition of policies
            HEAD + "from its_helper import inner\ndef make(inner):\n    def outer(x):\n"
            "        return inner(x) + 1\n    return kernel(outer)\nouter = make(inner)\n",
            INNER, "2 * x", "5 * x", 21, 51,
        ),
        (  # a piece of the compiler of one's own, which no kernel's names lead to
            OUTER,
            HEAD + "from numba.extending import overload\ndef inner(x):\n    pass\n"
            "@overload(inner)\ndef _(x):\n    return lambda x: 2 * x\n",
            "2 * x", "5 * x", 21, 51,
        ),
        (
            OUTER,
            HEAD + "from numba.extending import register_jitable\n@register_jitable\n"
            "def inner(x):\n    return 2 * x\n",
            "2 * x", "5 * x", 21, 51,
        ),
    ],
)  # fmt: skip
def test_an_edit_in_another_file_is_seen_though_its_size_and_time_are_kept(
    outer, helper, old, new, before, after, files
):
    edited = helper.replace(old, new)
    assert edited != helper
    assert len(edited) == len(helper)
    assert files(its_kernel=outer, its_helper=helper).outer(10) == before
    again = files().outer
    assert (again(10), hits(again)) == (before, 1)
    other = files(its_helper=edited).outer
    assert (other(10), hits(other)) == (after, 0)


def test_an_edit_further_away_is_seen(files):
    middle = "from its_far import far\n" + INNER.replace("2 * x", "far(x)")
    far = INNER.replace("inner", "far")
    assert files(its_kernel=OUTER, its_helper=middle, its_far=far).outer(10) == 21
    assert files(its_far=far.replace("2 *", "5 *")).outer(10) == 51


def test_two_kernels_that_call_each_other_can_be_kept(files):
    source = HEAD + (
        "@numba.njit('int64(int64)')\n"
        "def even(n):\n    return 1 if n == 0 else odd(n - 1)\n"
        "@numba.njit('int64(int64)')\n"
        "def odd(n):\n    return 0 if n == 0 else even(n - 1)\n"
        "@kernel\ndef outer(n):\n    return 0 if n < 0 else outer(n - 1) + n\n"
    ).replace("@numba.njit('int64(int64)')", "@kernel")
    module = files(its_kernel=source)
    assert fingerprint(module.even, frozen=True) == fingerprint(module.even, frozen=True)
    assert fingerprint(module.even, frozen=True) != fingerprint(module.odd, frozen=True)
    assert module.outer(4) == 10
    again = files().outer
    assert (again(4), hits(again)) == (10, 1)


def test_closures_are_told_apart_by_what_they_close_over(files):
    source = HEAD + (
        "def make(n, inner):\n    def outer(x):\n        return n * inner(x)\n"
        "    return kernel(outer)\n"
        "@kernel\ndef one(x):\n    return x\n"
        "@kernel\ndef ten(x):\n    return 10 * x\n"
    )
    pairs = [(2, "one"), (3, "one"), (3, "ten"), (2.0, "one")]
    expected = [2, 3, 30, 2]
    for hit in (0, 1):
        module = files(its_kernel=source)
        made = [module.make(n, getattr(module, name)) for n, name in pairs]
        results = [each(1) for each in made]
        assert results == expected
        assert list(map(type, results)) == [int, int, int, float]
        assert [hits(each) for each in made] == [hit] * 4


def test_fields_are_found_by_their_names_when_their_order_changes(files):
    source = HEAD + (
        "from typing import NamedTuple, Any\n"
        "class State(NamedTuple):\n    a: Any\n    b: Any\n"
        "@kernel\ndef first(state):\n    return state.a[0]\n"
        "def outer():\n    return first(State(a=np.ones(1), b=np.zeros(1)))\n"
    )
    assert files(its_kernel=source).outer() == 1
    again = files()
    assert (again.outer(), hits(again.first)) == (1, 1)
    swapped = source.replace("    a: Any\n    b: Any\n", "    b: Any\n    a: Any\n")
    assert files(its_kernel=swapped).outer() == 1


def test_a_kernel_that_is_handed_over_is_a_part(files):
    source = HEAD + (
        "@kernel\ndef inner(x):\n    return 2 * x\n"
        "@kernel\ndef apply(f, x):\n    return f(x)\n"
        "def outer(x):\n    return apply(inner, x)\n"
    )
    assert files(its_kernel=source).outer(1) == 2
    again = files()
    assert (again.outer(1), hits(again.apply)) == (2, 1)
    assert files(its_kernel=source.replace("2 *", "5 *")).outer(1) == 5


def test_what_a_name_meant_when_it_was_compiled_is_not_kept_as_what_it_means_now(files):
    source = "F = 2\n" + INNER.replace("2 *", "F *")
    module = files(its_kernel=OUTER, its_helper=source)
    helper = sys.modules["its_helper"]
    assert helper.inner(10) == 20
    helper.F = 5
    assert module.outer(10) == 21  # numba's way: what was compiled stays
    with pytest.raises(Unknown):
        fingerprint(module.outer, frozen=True)
    assert files(its_helper=source.replace("F = 2", "F = 5")).outer(10) == 51
    helper = sys.modules["its_helper"]
    first = fingerprint(helper.inner, frozen=True)
    helper.F = 5.0
    with pytest.raises(Unknown):
        fingerprint(helper.inner, frozen=True)
    helper.F = 5
    assert fingerprint(helper.inner, frozen=True) == first


def test_options_of_the_compiler_are_a_part():
    def function(x):
        return x + 1.0

    found = {
        fingerprint(numba.njit(**options)(function), frozen=True)
        for options in ({}, {"fastmath": True}, {"error_model": "numpy"}, {"boundscheck": True})
    }
    assert len(found) == 4


def test_defaults_are_a_part():
    def made(last, named):
        def function(x, y=last, *, z=named):
            return x + y + z

        return fingerprint(numba.njit(function), frozen=True)

    assert len({made(1, 1), made(2, 1), made(1, 2)}) == 3
    assert made(1, 1) == made(1, 1)


@pytest.mark.parametrize("setting", ["BOUNDSCHECK", "OPT"])
def test_settings_of_the_compiler_are_a_part(setting, files, monkeypatch):
    module = files(its_kernel=INNER)
    assert (module.inner(10), hits(module.inner)) == (20, 0)
    again = files()
    assert (again.inner(10), hits(again.inner)) == (20, 1)
    monkeypatch.setattr(numba.config, setting, 1)
    other = files()
    assert (other.inner(10), hits(other.inner)) == (20, 0)


POLICIES = (
    "uniform", "dts", "rucb", "king", "anaconda:horizon=100", "sw-dts:window=5", "sw-rucb:window=5",
    "discounted-dts", "oracle-dts:at=5", "detect-dts:horizon=100",
)  # fmt: skip


def loops():
    return [
        fingerprint(compiled_loop(make_policy(name, 3).kernels), frozen=True) for name in POLICIES
    ]


def test_loops_are_told_apart_and_are_the_same_in_every_process(tmp_path):
    here = loops()
    assert len(set(here)) == len(here)
    code = "import json; from tests.test_compile import loops; print(json.dumps(loops()))"
    root = Path(__file__).parents[1]
    there = run(tmp_path, "-c", code, cwd=root, PYTHONHASHSEED="1")
    assert json.loads(there.stdout) == here


def test_no_kernel_of_ours_needs_a_file_to_be_read(monkeypatch):
    """Reading would cost time at every start, and this package's own code is all in the open."""
    hasher = "driftduel._internal.fingerprint._ContentHasher"
    monkeypatch.setattr(f"{hasher}._texts", lambda self, home: 1 / 0)
    assert len(loops()) == len(POLICIES)


def run(tmp_path, *arguments, check=True, **more):
    """Run Python with a cold cache of its own, and without its own cache of bytecode."""
    cwd = more.pop("cwd", tmp_path)
    before = more.pop("preexec_fn", None)
    paths = [more.pop("PYTHONPATH", ""), str(Path(driftduel.__file__).parents[1])]
    environment = {
        **os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)), **more,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, check=check, capture_output=True,
        text=True, preexec_fn=before,
    )  # fmt: skip


GAME = ("-m", "driftduel", "play", "--world", "two-arm:rounds=200", "--policy", "uniform")


def regret(done):
    return float(done.stdout.split("\n  200 ")[1].split()[0])


@pytest.mark.long
def test_another_version_with_the_same_times_at_the_same_place_is_seen(tmp_path):
    """Two wheels may have the same times, and one be installed where the other was."""
    place = tmp_path / "site" / "driftduel"
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(driftduel.__file__).parent, place, ignore=skip)
    loop = place / "games" / "loop.py"
    found = []
    for old, new in (("", ""), ("mean += _mean", "mean += 2.0 * _mean")):
        text = loop.read_text()
        assert old in text
        loop.write_text(text.replace(old, new))
        for path in place.rglob("*.py"):
            os.utime(path, LONG_AGO)
        found.append(regret(run(tmp_path, *GAME, PYTHONPATH=str(tmp_path / "site"))))
    assert found[1] == pytest.approx(2 * found[0], abs=0.2)


def test_a_disk_that_is_full_stops_no_game(files, monkeypatch):
    def full(*_, **__):
        raise DriftduelError("cannot write: No space left on device.") from OSError(errno.ENOSPC)

    monkeypatch.setattr(compiler, "atomic_write", full)
    module = files(its_kernel=OUTER, its_helper=INNER)
    assert module.outer(10) == 21


def limit_files_to_a_few_bytes():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.skipif(os.name == "nt", reason="limits are set by Unix")
@pytest.mark.long
def test_files_that_cannot_be_written_to_their_end_stop_no_game_and_leave_nothing(tmp_path):
    done = run(tmp_path, *GAME, preexec_fn=limit_files_to_a_few_bytes)
    assert regret(done) > 0
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    (tmp_path / "cache").rename(tmp_path / "other")
    (tmp_path / "cache").write_text("no folder at all")
    assert regret(run(tmp_path, *GAME, HOME=str(tmp_path / "cache"))) == regret(done)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "folder"])
def test_a_damaged_file_is_compiled_anew(damage, files, tmp_path):
    assert files(its_kernel=OUTER, its_helper=INNER).outer(10) == 21
    kept = list(tmp_path.rglob("*.nbc"))
    assert len(kept) == 3  # the entry of the outer kernel, and the linked forms of both
    for path in kept:
        content = path.read_bytes()
        path.unlink()
        if damage == "folder":
            path.mkdir()
        else:
            middle = len(content) // 2
            flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
            path.write_bytes(
                {"cut": content[:middle], "flip": flipped, "empty": b"", "foreign": b"x" * 500}[
                    damage
                ]
            )
    again = files().outer
    assert (again(10), hits(again)) == (21, 0)
    if damage != "folder":
        once_more = files().outer
        assert (once_more(10), hits(once_more)) == (21, 1)


@pytest.mark.long
def test_processes_that_fill_a_cold_cache_together_do_not_mix_kernels_up(tmp_path):
    source = HEAD + "".join(
        f"@kernel\ndef f{i}(x):\n    return x + {i}\n" for i in range(4)
    ) + (
        "found = [f(10) for f in (f0, f1, f2, f3)]\n"
        "print(found, sum(sum(f.stats.cache_hits.values()) for f in (f0, f1, f2, f3)))\n"
    )  # fmt: skip
    (tmp_path / "its_many.py").write_text(source)
    code = "import sys; sys.stdin.read(1); import its_many"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
                 "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        )
        for _ in range(3)
    ]  # fmt: skip
    for child in children:
        child.stdin.write("x")
        child.stdin.flush()
    assert all(child.communicate()[0].startswith("[10, 11, 12, 13]") for child in children)
    assert run(tmp_path, "-c", "import its_many").stdout == "[10, 11, 12, 13] 4\n"
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".part")]


def test_closures_that_two_processes_compiled_are_told_apart_in_a_third(tmp_path):
    source = HEAD + (
        "import sys\n"
        "def make(inner):\n    def same(x):\n        return inner(x) + 1\n"
        "    return kernel(same)\n"
        "def call(inner):\n    def caller(x):\n        return inner(x) + 1000\n"
        "    return kernel(caller)\n"
        "def f0(x):\n    return x\n"
        "def f1(x):\n    return 10 * x\n"
        "made = [make(kernel(f0)), make(kernel(f1))]\n"
        "made += [call(each) for each in made]\n"
        "print([made[int(i)](7) for i in sys.argv[1]], end=' ')\n"
        "print(sum(sum(each.stats.cache_hits.values()) for each in made))\n"
    )
    (tmp_path / "its_same.py").write_text(source)

    def answers(which):
        return run(tmp_path, "its_same.py", which).stdout

    assert answers("0") == "[8] 0\n"
    assert answers("1") == "[71] 0\n"
    assert answers("10") == "[71, 8] 2\n"  # entries, loaded
    assert answers("23") == "[1008, 1071] 2\n"  # linked forms, loaded


def test_machine_code_is_made_of_what_python_calls_and_of_nothing_else(files):
    for hit in (0, 1):
        module = files(its_kernel=OUTER, its_helper=INNER)
        inner = sys.modules["its_helper"].inner
        assert (module.outer(10), hits(module.outer)) == (21, hit)
        assert all(each.library.get_pointer_to_function(each.fndesc.llvm_cpython_wrapper_name) == 0
                   for each in inner.overloads.values())  # fmt: skip
        assert len(inner.overloads) == 1 - hit
        assert (inner(10), inner(0.5)) == (20, 1.0)


MIXED = (
    HEAD
    + """
@kernel
def even(n):
    return True if n == 0 else odd(n - 1)
@kernel
def odd(n):
    return False if n == 0 else even(n - 1)
@kernel
def parity(n):
    return even(n)
@kernel
def shown(x):
    print("given", x, 1.5)
    return x
@kernel
def more(x):
    return shown(x) + 1
@numba.njit
def plain(x):
    return 3 * more(x)
@kernel
def around(x):
    return plain(x) + 1
@kernel
def small(x):
    if x > 3:
        raise ValueError("too large")
    return x
@kernel
def checked(x):
    return small(x)
@kernel
def part(values, i):
    return values[i]
@kernel
def parts(x):
    return part((x, 0.5 * x), 0) + part((x, 0.5 * x), 1)
"""
)
"""Kernels that call each other, that print, that raise, with functions of numba between them."""
CALLS = """
from its_mixed import *
found = [parity(4), parity(5), odd(3), more(1), around(1), plain(2), shown(2), checked(3), parts(4)]
for check in (checked, small):
    try:
        check(4)
    except ValueError as error:
        found.append(str(error))
print(found)
"""


@pytest.mark.parametrize("first", ["import its_mixed", "import its_mixed; its_mixed.more(1)"])
def test_every_kind_of_call_gives_the_same_compiled_loaded_and_without_a_compiler(first, tmp_path):
    (tmp_path / "its_mixed.py").write_text(MIXED)
    run(tmp_path, "-c", first, PYTHONPATH=str(tmp_path))
    said = [
        run(tmp_path, "-c", CALLS, PYTHONPATH=str(tmp_path), NUMBA_DISABLE_JIT=off).stdout
        for off in ("0", "0", "1")
    ]
    assert said[0] == said[1] == said[2]
    assert said[0].splitlines()[-1] == (
        "[True, False, True, 2, 7, 9, 2, 3, 6.0, 'too large', 'too large']"
    )


def test_a_kernel_that_was_typed_in_works(tmp_path):
    source = OUTER.replace("from its_helper import inner\n", INNER) + "print(outer(10))\n"
    done = subprocess.run(
        [sys.executable, "-"], input=source, capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout == "21\n"


@pytest.mark.parametrize(
    ("setting", "value"),
    [("NUMBA_NUM_THREADS", "0"), ("NUMBA_NUM_THREADS", "many"), ("NUMBA_CPU_FEATURES", "zz")],
)
def test_settings_that_numba_cannot_use_are_named(setting, value, tmp_path):
    done = run(tmp_path, *GAME, check=False, **{setting: value})
    assert done.returncode == 2
    assert done.stderr.startswith("driftduel: ")
    assert f"{setting}={value!r}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_which_numba_the_names_that_are_its_own_affair_are_of():
    """Look at each of them when this fails, then write down the next version."""
    assert numba.__version__.startswith("0.68.")
    assert inspect.getsource(compiler).count("numba.core") == 10
    assert {"load_overload", "save_overload", "flush", "enable", "disable", "cache_path"} == {
        name for name in vars(caching._Cache) if not name.startswith("_")
    }
    impl = caching.CompileResultCacheImpl
    assert list(inspect.signature(impl).parameters) == ["py_func"]
    for name in ("reduce", "rebuild", "check_cachable", "locator", "filename_base"):
        assert hasattr(impl, name)
    assert callable(serialize.dumps)
    function = lambda x: x  # noqa: E731
    made = numba.njit(nogil=True, _nrt=False, forceinline=True)(function)
    assert made.targetoptions["_nrt"] is False
    assert made.targetoptions["forceinline"] is True
    assert made.__wrapped__ is made.py_func is function
    assert made.locals == {}
    for name in ("_cache", "_compiler", "_insert", "_cache_hits"):
        assert hasattr(made, name)
    for name in ("compile", "add_overload", "get_call_template"):
        assert callable(getattr(made, name))
    assert {"signature", "fndesc", "library", "environment", "lifted"} <= {
        *numba_compiler.CompileResult._fields
    }
    identity = bytecode.FunctionIdentity.from_function(function)
    assert identity.unique_name == f"{identity.func_qualname}${identity.unique_id}"
    assert callable(numba_compiler.CompilerBase._compile_bytecode)
    library = made.targetctx.codegen().create_library("one")
    assert isinstance(library, codegen.JITCodeLibrary)
    for name in (
        "_optimize_final_module", "_finalize_final_module", "_get_module_for_linking",
        "_finalize_dynamic_globals", "_final_module", "_finalized", "add_linking_library",
    ):  # fmt: skip
        assert hasattr(library, name)
    assert issubclass(containers.NamedTuple, containers.BaseNamedTuple)
    assert issubclass(containers.NamedUniTuple, containers.BaseNamedTuple)
    assert issubclass(containers.Tuple, containers.BaseTuple)
    assert functions.Dispatcher(made).dispatcher is made
