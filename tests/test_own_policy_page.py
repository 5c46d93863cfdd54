"""The page from a published algorithm to a paper runs, and shows the example as it is."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from driftduel.policies import POLICIES

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "mergerucb"
PAGE = (ROOT / "docs" / "guide" / "own-policy-paper.md").read_text("utf-8")
CHECKED, COMPOSED, SHOWN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def at_home():
    """Make the example importable, and forget it at the end."""
    with POLICIES.temporarily(), pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        __import__("mergerucb")
        yield
        del sys.modules["mergerucb"]


def test_the_page_quotes_the_example():
    source = (FOLDER / "mergerucb.py").read_text("utf-8")
    quoted = re.findall(r'```python title="mergerucb.py"\n(.*?)```', PAGE, re.DOTALL)
    assert len(quoted) == 4
    for excerpt in quoted:
        assert excerpt in source
    (plan,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert tomllib.loads(plan) == tomllib.loads((FOLDER / "plan.toml").read_text("utf-8"))


def test_the_example_imports_nothing_private():
    source = (FOLDER / "mergerucb.py").read_text("utf-8")
    assert set(re.findall(r"from (driftduel\S*) import", source)) == {"driftduel.authoring"}


def test_the_compositions_are_what_the_page_says(at_home, capsys):
    exec(compile(COMPOSED, "page", "exec"), {})
    (printed,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == printed


@pytest.mark.long
def test_the_checks_pass(at_home):
    exec(compile(CHECKED, "page", "exec"), {})


@pytest.mark.long
def test_the_sweep_the_figure_and_the_table(at_home, tmp_path, monkeypatch, capsys):
    for extra in ("polars", "scipy", "matplotlib"):
        pytest.importorskip(extra)
    from driftduel import cli

    monkeypatch.chdir(tmp_path)
    text = (FOLDER / "plan.toml").read_text("utf-8")
    assert "rounds=40000" in text
    (tmp_path / "plan.toml").write_text(
        text.replace("rounds=40000", "rounds=3000").replace("runs = 10", "runs = 3")
    )
    (tmp_path / "mergerucb.py").write_bytes((FOLDER / "mergerucb.py").read_bytes())
    del sys.modules["mergerucb"]  # the plan imports its neighbour
    for name in ("mergerucb", "plain-mergerucb"):
        POLICIES.remove(name)
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.chdir(other)
    assert cli.main(["sweep", str(tmp_path / "plan.toml"), "--out", "results"]) == 0
    assert Path(sys.modules["mergerucb"].__file__).parent == tmp_path
    capsys.readouterr()
    exec(compile(SHOWN, "page", "exec"), {})
    table = capsys.readouterr().out
    assert "MergeRUCB, oracle restarts &" in table
    assert table.count(r"\\" + "\n") == 7  # a heading and six policies
    assert r"\mathbf{" in table
    assert (other / "regret.pdf").read_bytes().startswith(b"%PDF")
