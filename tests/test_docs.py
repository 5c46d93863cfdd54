"""The documentation runs, and mentions what exists."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import driftduel
from driftduel.cli import COMMANDS
from driftduel.errors import MissingExtraError
from tests.scripts import load_script

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(driftduel.__path__, "driftduel.")
    if not module.name.endswith("__main__")
)


def test_the_readmes_python_runs():
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(snippet.strip().splitlines()) <= 10
    out = subprocess.run(
        [sys.executable, "-c", snippet], capture_output=True, text=True, check=True
    )
    assert "switches: 2" in out.stdout
    assert "restarts after rounds [" in out.stdout


def test_the_guide_to_policies_runs(capsys):
    guide = (ROOT / "docs" / "guide" / "own-policy.md").read_text("utf-8")
    names: dict = {"__name__": "guide"}
    try:
        for snippet in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
            exec(compile(snippet, "guide", "exec"), names)
    finally:
        from driftduel.policies import POLICIES

        POLICIES.remove("challenge")
    assert "the same duels: True" in capsys.readouterr().out
    assert names["slow"].regret["weak"][-1] == names["fast"].regret["weak"][-1]
    assert names["again"].finished
    state = names["fast"].policy.get_state()
    assert state["numbers.arms"][0] == 5


def test_the_guide_to_the_lab_runs(tmp_path, monkeypatch):
    pytest.importorskip("polars")
    pytest.importorskip("scipy")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    from driftduel.lab import read_plan
    from driftduel.policies import POLICIES

    guide = (ROOT / "docs" / "guide" / "lab.md").read_text("utf-8")
    compared, slates, objects, figures, mine = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names: dict = {"__name__": "__main__"}
    exec(compile(slates, "guide", "exec"), names)
    assert len(names["duel"].shown) == 4
    try:
        for snippet in (compared, objects, figures):
            exec(compile(snippet, "guide", "exec"), names)
            assert names["results"].missing == 0
    finally:
        POLICIES.remove("first-against")
    assert (tmp_path / "regret.pdf").exists()
    (tmp_path / "mine.py").write_text(mine)
    (text,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    path = tmp_path / "plan.toml"
    path.write_text(
        text.replace('["dts"', '["first-two", "dts"').replace(
            "seed ", f'imports = ["{tmp_path / "mine.py"}"]\nseed '
        )
    )
    try:
        plan = read_plan(path)
    finally:
        POLICIES.remove("first-two")
        sys.modules.pop("mine", None)
    assert len(plan) == 6 * 6 * 40
    assert plan.policies[0].spec == "first-two"


def test_the_page_of_rivals_is_what_the_command_prints():
    from driftduel.cli.policies import markdown
    from driftduel.policies import POLICIES

    generate = load_script("docs/generate.py")
    page = (ROOT / "docs" / "research" / "rivals.md").read_text("utf-8")
    assert markdown(list(POLICIES)) in generate.filled(page)


def test_the_readme_names_the_two_commands():
    assert "make demo" in README
    assert "make test" in README


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "demo"])
def test_the_overview_names_every_command(command):
    overview = (ROOT / "docs" / "guide" / "overview.md").read_text("utf-8")
    assert f"driftduel {command}" in overview


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


def test_the_guide_is_short():
    pages = (ROOT / "docs" / "guide").glob("*.md")
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= 15_000


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    try:
        module = importlib.import_module(name)
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_the_architecture_page_names_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = {name.split(".")[1] for name in MODULES}
    assert [room for room in rooms if f"`{room}`" not in page] == []


def test_the_architecture_page_names_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", page))
    files = [path.as_posix() for path in (*ROOT.rglob("src/**/*.py"), *ROOT.glob("*/*.py"))]
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in files)] == []


def test_every_link_to_a_file_leads_somewhere():
    added = {Path(name).name for name in load_script("docs/generate.py").FIGURES}
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if "://" not in target and target not in added:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
