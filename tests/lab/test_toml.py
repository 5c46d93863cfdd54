"""Sweeps as TOML files, and where in them a mistake is."""

import re

import pytest

pytest.importorskip("polars")

from driftduel.errors import DriftduelError
from driftduel.lab import make_plan, read_plan, sweep
from driftduel.lab.toml import expand
from tests.lab.helpers import own_policy

SMALL = 'worlds = ["two-arm:rounds=50"]\npolicies = ["uniform"]\nruns = 1\n'


def write(tmp_path, text, name="sweep.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def suggest(tmp_path, text):
    """Return what is said about a file: the key, and the rest."""
    path = write(tmp_path, text)
    with pytest.raises(DriftduelError) as error:
        read_plan(path)
    said = str(error.value)
    assert said.startswith(str(path)), said
    place = re.match(r", key '([^']*)': (.*)", said[len(str(path)) :], re.DOTALL)
    assert place, said
    return place[1], place[2]


def test_a_full_file(tmp_path):
    path = write(
        tmp_path,
        """
        # a comment
        worlds   = ["geometric-btl:arms=3,phases={phases}", "seasonal:arms=3"]
        policies = [
          "dts",
          "sw-dts:window={window}",   # two of them
          "wss:beta={beta}",
        ]
        runs     = 4
        seed     = [0, 5]
        horizons = [3e2, 400]
        benchmark = "borda"
        points = 20
        imports = ["json"]

        [parameters]
        phases = [2, 3]
        window = [30, 1e2]
        beta = ["1.1"]
        """,
    )
    plan = read_plan(path)
    worlds = [
        f"geometric-btl:arms=3,phases={phases},rounds={rounds}"
        for phases in (2, 3)
        for rounds in (300, 400)
    ]
    worlds += ["seasonal:arms=3,rounds=300", "seasonal:arms=3,rounds=400"]
    policies = ["dts", "sw-dts:window=30", "sw-dts:window=100.0", "wss:beta=1.1"]
    assert plan == make_plan(
        worlds, policies, 4, (0, 5), benchmark="borda", points=20, imports=["json"]
    )
    assert len(plan) == 6 * 4 * 4 * 2


def test_what_is_left_out_has_a_default(tmp_path):
    plan = read_plan(write(tmp_path, 'worlds = ["two-arm"]\npolicies = ["uniform"]'))
    assert plan == make_plan(["two-arm"], ["uniform"])
    assert (plan.runs, plan.seeds, plan.points, plan.benchmark) == (20, (0,), 200, "condorcet")


def test_whole_numbers_may_be_written_as_1e5(tmp_path):
    text = 'worlds = ["two-arm"]\npolicies = ["uniform"]\nhorizons = [1e5]\nruns = 1e1\nseed = 2e3'
    plan = read_plan(write(tmp_path, text))
    assert plan.worlds[0].rounds == 100_000
    assert plan.runs == 10
    assert plan.seeds == (2000,)
    assert type(plan.runs) is type(plan.seeds[0]) is int


def test_windows_files_are_read_too(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert len(read_plan(path)) == 1


def test_a_file_can_be_swept(tmp_path):
    found = sweep(write(tmp_path, SMALL), workers=1)
    assert found.missing == 0
    assert found.plan == read_plan(tmp_path / "sweep.toml")


def test_expand_goes_through_all_values_of_all_holes():
    assert expand("a:x={x},y={y}", {"x": [1, 2], "y": ["b", True], "z": [3]}) == [
        "a:x=1,y=b", "a:x=1,y=true", "a:x=2,y=b", "a:x=2,y=true",
    ]  # fmt: skip
    assert expand("a:x={x},y={x}", {"x": [1, 2]}) == ["a:x=1,y=1", "a:x=2,y=2"]
    assert expand("plain", {"x": [1]}) == ["plain"]


WORLDS = 'worlds = ["two-arm:rounds=50"]\n'
POLICIES = 'policies = ["uniform"]\n'


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        # keys
        (SMALL + "rums = 3\n", "rums", "unknown key 'rums'; did you mean runs"),
        (SMALL + "[horizon]\n", "horizon", "did you mean horizons"),
        ("rums = 3\n", "rums", "did you mean runs"),
        # types
        (WORLDS + 'policies = "uniform"\n', "policies", "'uniform' must be a list of specs"),
        (WORLDS + "policies = [1, 2]\n", "policies[0]", "1 must be text"),
        (WORLDS + 'policies = [\n  "dts",\n  [3],\n]\n', "policies[1]", "[3] must be text"),
        ('worlds = [["two-arm"]]\n' + POLICIES, "worlds[0]", "['two-arm'] must be text"),
        (WORLDS + POLICIES + 'runs = "3"\n', "runs", "'3' must be a whole number"),
        (WORLDS + POLICIES + "runs = 2.5\n", "runs", "2.5 must be a whole number"),
        (WORLDS + POLICIES + "runs = true\n", "runs", "True must be a whole number"),
        (WORLDS + POLICIES + "runs = nan\n", "runs", "nan must be a whole number"),
        (WORLDS + POLICIES + "runs = inf\n", "runs", "inf must be a whole number"),
        (WORLDS + POLICIES + "runs = 1979-05-27\n", "runs", "must be a whole number"),
        (SMALL + 'seed = "a"\n', "seed", "'a' must be a whole number, or a list of them"),
        (SMALL + "seed = 2.5\n", "seed", "2.5 must be a whole number, or a list of them"),
        (SMALL + "seed = [1,\n 2,\n 2.5]\n", "seed[2]", "2.5 must be a whole number"),
        (SMALL + "horizons = 100\n", "horizons", "100 must be a list of numbers of rounds"),
        (SMALL + "horizons = [\n10,\n1.5]\n", "horizons[1]", "1.5 must be a whole number"),
        (SMALL + "benchmark = 3\n", "benchmark", "3 must be a word"),
        (SMALL + 'benchmark = "bordo"\n', "benchmark", "did you mean borda"),
        (SMALL + 'mode = "panels"\n', "mode", "mode='panels' must be serve or panel"),
        (SMALL + "mode = 3\n", "mode", "3 must be a word"),
        (SMALL + "points = 5\n", "points", "points=5 must be a whole number at least 10"),
        (SMALL + 'imports = "json"\n', "imports", "must be a list of modules or files"),
        (SMALL + 'imports = [\n"json",\n"no.such"]\n', "imports[1]", "cannot import 'no.such'"),
        (SMALL + 'imports = ["json:Sun"]\n', "imports[0]", "the module has no such policy class"),
        (SMALL + "parameters = 3\n", "parameters", "must be a table of lists"),
        (SMALL + "[parameters]\nw = 3\n", "parameters.w", "3 must be a list of numbers or words"),
        (SMALL + "[parameters]\nw = [[1]]\n", "parameters.w", "must be a list of numbers or words"),
        # numbers out of range
        (WORLDS + POLICIES + "runs = -3\n", "runs", "runs=-3 must be a whole number at least"),
        (WORLDS + POLICIES + "runs = 0\n", "runs", "runs=0 must be a whole number at least 1"),
        (SMALL + "seed = -1\n", "seed", "seed=-1 must be a whole number at least 0"),
        (SMALL + "seed = [\n1,\n-1]\n", "seed[1]", "seed=-1 must be a whole number at least 0"),
        (SMALL + "seed = [1, 1]\n", "seed", "a seed occurs twice"),
        # empty lists
        ("worlds = []\n" + POLICIES, "worlds", "worlds is empty"),
        (WORLDS + "policies = []\n", "policies", "policies is empty"),
        (SMALL + "seed = []\n", "seed", "seed is empty"),
        (SMALL + "horizons = []\n", "horizons", "[] must be a list of numbers of rounds"),
        (SMALL + "[parameters]\nw = []\n", "parameters.w", "[] must be a list of numbers or words"),
        # inside lists
        (WORLDS + 'policies = [\n  "dts",\n\n  "dst",\n]\n', "policies[1]", "did you mean dts"),
        (WORLDS + 'policies = [\n"wss", # dt\n"dts",\n"dt"]\n', "policies[2]", "did you mean dts"),
        ('worlds = [\n"two-arm",\n"two-ar"]\n' + POLICIES, "worlds[1]", "did you mean two-arm"),
        ("worlds = [\n'cycle:rounds=9']\n" + POLICIES, "worlds[0]", "no Condorcet winner"),
        (WORLDS + 'policies = ["dts",\n"dts:alpha=0"]\n', "policies[1]", "alpha=0 must be"),
        (WORLDS + 'policies = ["dts",\n"dts:alpha=0.51"]\n', "policies[1]", "is the same as 'dts'"),
        # holes
        (WORLDS + 'policies = ["dts",\n"dts:alpha={a}"]\n', "policies[1]", "[parameters] is"),
        (
            WORLDS + 'policies = ["dts",\n"dts:alpha={ab}"]\n[parameters]\nabc = [1]\n',
            "policies[1]", "uses {ab}, which is not a parameter; did you mean abc",
        ),
        (SMALL + "[parameters]\nw = [1]\n", "parameters.w", "no spec uses {w}"),
        (SMALL + "parameters.w = [1]\n", "parameters.w", "no spec uses {w}"),
        (SMALL + "parameters = {w = [1]}\n", "parameters.w", "no spec uses {w}"),
        (
            WORLDS + 'policies = [\n"dts:alpha={a}",\n"dts:alpha={b}"]\n'
            "[parameters]\na = [0.6, 0.7]\nb = [0.8, 0]\n",
            "policies[1]", "alpha=0 must be",
        ),
        (
            WORLDS + 'policies = [\n"dts",\n"wss:beta={a}"]\n[parameters]\na = [2, 2]\n',
            "policies[1]", "'wss:beta=2' is listed twice",
        ),
        # horizons
        (
            'worlds = ["two-arm",\n"two-arm:rounds=70"]\nhorizons = [50, 60]\n' + POLICIES,
            "worlds[1]", "'two-arm:rounds=70' sets rounds, and so does the key 'horizons'",
        ),
        ('worlds = ["two-arm"]\nhorizons = [0]\n' + POLICIES, "worlds[0]", "rounds=0 must be"),
        ('worlds = [\n"two-arm\\u0073"]\n' + POLICIES, "worlds[0]", "did you mean two-arm"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_file_and_key(text, key, said, tmp_path):
    where, sentence = suggest(tmp_path, text)
    assert said in sentence
    assert where == key
    assert "\n" not in sentence
    assert re.search(r"[^.?][.?]$", sentence)  # one mark at the end


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (WORLDS + "policies = [\n", 2),
        (WORLDS + 'policies = ["dts"\nruns = 3\n', 3),
        (WORLDS + 'policies = ["dts]\n', 2),
        (SMALL + "seed 3\n", 4),
        (SMALL + "runs = 3\n", 4),
        ("worlds = \n", 1),
        ("= 3\n", 1),
    ],
)
def test_a_syntax_error_is_said_with_file_and_line(text, line, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(DriftduelError) as error:
        read_plan(path)
    said = str(error.value)
    assert said.startswith(f"{path}: ")
    assert f"at line {line}" in said


def test_worlds_and_policies_must_be_there(tmp_path):
    for text, key in ((WORLDS, "policies"), (POLICIES, "worlds"), ("", "worlds")):
        path = write(tmp_path, text)
        with pytest.raises(DriftduelError) as error:
            read_plan(path)
        assert str(error.value) == f"{path}: the key {key!r} is missing; it is a list of specs."


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(DriftduelError, match=r"cannot read '.*gone.toml': No such file"):
        read_plan(tmp_path / "gone.toml")
    with pytest.raises(DriftduelError, match="cannot read"):
        read_plan(tmp_path)
    (tmp_path / "latin.toml").write_bytes('worlds = ["caf\xe9"]'.encode("latin-1"))
    with pytest.raises(DriftduelError, match=r"latin.toml' is not a text file in UTF-8"):
        read_plan(tmp_path / "latin.toml")


def test_a_file_with_policies_of_ones_own(tmp_path, forget_own):
    own = own_policy(tmp_path / "own_toml.py", "own-toml")
    text = f"""
    worlds = ["two-arm:rounds=50"]
    policies = ["own-toml", "own-toml:first={{first}}"]
    imports = ['{own}']
    [parameters]
    first = [1]
    """
    plan = read_plan(write(tmp_path, text))
    assert [policy.spec for policy in plan.policies] == ["own-toml", "own-toml:first=1"]
    assert plan.imports == (own,)
    own_policy(own, "own-toml", begin="raise RuntimeError('oh')")
    forget_own()
    with pytest.raises(DriftduelError, match=r"key 'policies\[0\]': .*RuntimeError\('oh'\)"):
        read_plan(tmp_path / "sweep.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("worlds = " + "[" * 500 + "]" * 500, "nested too deeply"),
        (SMALL + "seed = " + "1" * 5000, "digits"),
        (SMALL + "seed = [1979-02-30]", "2"),
        (SMALL + "#" * (1 << 22), "more than the 4,194,304 that"),
    ],
)
def test_what_no_parser_should_be_given(tmp_path, text, said):
    path = write(tmp_path, text)
    with pytest.raises(DriftduelError) as error:
        read_plan(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_specs_do_not_multiply_without_end(tmp_path):
    names = "abcdefghijklmnopqrst"
    spec = "uniform:" + ",".join(f"{name}={{{name}}}" for name in names)
    lists = "\n".join(f"{name} = [1, 2, 3, 4, 5, 6, 7, 8, 9]" for name in names)
    text = f'worlds = ["two-arm"]\npolicies = ["{spec}"]\n[parameters]\n{lists}\n'
    key, said = suggest(tmp_path, text)
    assert key == "policies[0]"
    assert f"expands to {9**20:,} specs" in said


def test_a_name_with_a_nul_in_it(tmp_path):
    text = 'worlds = ["file:path=a\\u0000b,rounds=5"]\npolicies = ["uniform"]\n'
    key, said = suggest(tmp_path, text)
    assert key == "worlds[0]"
    assert "'a\\x00b' cannot be the name of a file" in said
