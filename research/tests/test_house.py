"""`research/benchmarks/house.py`, which measures how easy the source is to walk through."""

import json
import subprocess
import sys

import pytest

from research.benchmarks import house
from tests.scripts import ROOT

SIX = "".join(f"x{row} = {row}\n" for row in range(6))


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return sorted(folder.glob("*.py"))


def test_six_shared_lines_are_a_pair_whatever_stands_between_them(tmp_path):
    spaced = SIX.replace("x3", "# why\n\nx3")
    files = write(tmp_path, a=f'"""A."""\nimport os\n\n{SIX}', b=f"y = 1\n{spaced}z = 2\n")
    assert house.pairs(files) == [(str(files[0]), 4, str(files[1]), 2, 6)]


def test_a_longer_stretch_is_one_pair_and_a_shorter_one_is_none(tmp_path):
    files = write(tmp_path, a=SIX + "more = 1\n", b="other = 0\n" + SIX + "more = 1\n")
    assert [row[-1] for row in house.pairs(files)] == [7]
    assert house.pairs(write(tmp_path, b=SIX.replace("x2", "y"))) == []


def test_imports_and_docstrings_are_no_code(tmp_path):
    text = '"""A.\n\nB.\n"""\nfrom a import (\n    b,\n    c,\n)\n\n\ndef f():\n    """F."""\n'
    (path,) = write(tmp_path, a=text + "    return 1\n")
    assert house.code_lines(path) == [(11, "def f ( ) :"), (13, "return 1")]
    assert list(house.functions(path)) == [(3, "a.f")]


def test_calls_between_rooms_are_counted_once(tmp_path):
    source = tmp_path.resolve()
    names = {}
    for name, text in {
        "low": "def get(_=0):\n    return own()\n\n\ndef own():\n    return 1\n",
        "high": "def run():\n    return [get(), get(), *map(get, [0])]\n",
    }.items():
        exec(compile(text, f"{source}/{name}/a.py", "exec"), names)
    assert house.crossings(source, names["run"]) == {"high > low": 1}


def test_calls_of_tools_are_told_apart():
    calls = house.Counter(
        {"lab > games": 4, "lab > wording": 3, "cli > _tables": 2, "lab > specs": 1}
    )
    assert house.to_tools(calls) == 6


def test_doors_are_pairs_of_rooms_without_the_tools():
    names = ["lab > games", "games > lab", "lab > wording", "specs > lab", "_pages > report"]
    assert house.doors(house.Counter(dict.fromkeys(names, 3))) == 2


def test_the_table_puts_checkouts_side_by_side():
    one, two = {"lines": 1200, "longest": ["a: 7"]}, {"lines": 900, "longest": ["b: 5"]}
    table = house.table({"old": one, "new": two})
    assert "| | old | new |" in table
    assert "| lines | 1,200 | 900 |" in table
    assert "new:\n- longest: b: 5" in table


@pytest.mark.long
def test_this_house_can_be_measured():
    pytest.importorskip("plotly", reason="the page needs the extras")
    command = [sys.executable, str(ROOT / "research" / "benchmarks" / "house.py"), "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert 1 < found["crossings, ask and tell"] < found["crossings, compare to page"] < 300
    assert found["files"] > 100
    assert found["names in dir(driftduel)"] > 20


def test_imports_of_a_package_s_modules_from_outside_are_found(tmp_path):
    for package in ("one", "two", "_internal"):
        (tmp_path / package).mkdir()
        write(tmp_path / package, __init__="", inner="")
    text = "from driftduel.{0} import inner\ndef f():\n    from driftduel.{0}.inner import x\n"
    write(tmp_path / "one", a=text.format("two") + "from driftduel.two import name\n")
    write(tmp_path / "two", a=text.format("two"), b=text.format("_internal"))
    assert house.past_front_doors(tmp_path) == [
        "one/a.py:1: driftduel.two.inner",
        "one/a.py:3: driftduel.two.inner.x",
    ]


def test_class_names_are_compared_without_their_underscores(tmp_path):
    files = write(tmp_path, a="class Row: ...\nclass One: ...\n", b="class _Row: ...\n")
    assert house.repeated_classes(files) == ["Row"]


def test_packages_use_front_doors_and_class_names_are_unique():
    source = ROOT / "src" / "driftduel"
    assert house.past_front_doors(source) == []
    assert house.repeated_classes(sorted(source.rglob("*.py"))) == []
