"""The prose check of `make lint`: its patterns, line numbers and exit code."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "prose_check.py"
spec = importlib.util.spec_from_file_location("prose_check", TOOL)
prose_check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(prose_check)

SOURCE = '''"""First line.

Nobody knows.
>>> somebody = "in a doctest"
"""
name = "nobody"  # whoever reads this
raise ValueError(f"there is an error in {name}; say the name of the option")
'''


def keys_of(lines):
    return {
        (number, key)
        for number, line in lines
        for key, pattern in prose_check.PATTERNS.items()
        if pattern.search(line)
    }


def test_docstrings_comments_and_messages_are_prose_and_code_is_not():
    found = keys_of(prose_check.prose_of_python(SOURCE))
    assert found == {(3, "crowd"), (3, "mind"), (6, "person"), (7, "speech")}


def test_code_in_markdown_is_not_prose():
    text = "Who is it?\n```\nnobody\n```\n`told` and [link](#what-is-it)\nall that\n"
    assert keys_of(prose_check.prose_of_markdown(text)) == {(1, "person"), (6, "dialect")}


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("README.md", "docs"),
        ("docs/guide/logs.md", "docs"),
        ("src/driftduel/logs/page.py", "logs"),
        ("src/driftduel/_internal/pages/__init__.py", "root"),
        ("src/driftduel/regret.py", "root"),
        ("src/driftduel/testing.py", "testing"),
        ("research/study/page.py", "research"),
        ("research/pages/study.md", "docs"),
        ("examples/own_world.py", "examples"),
    ],
)
def test_a_file_belongs_to_a_package(path, package):
    assert prose_check.package_of(prose_check.ROOT / path) == package


def test_a_package_above_its_limit_fails_with_file_and_line(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "src" / "driftduel" / "logs"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text("# nobody\n# fine\n# somebody\n# anybody\n")
    monkeypatch.setattr(prose_check, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["prose_check.py"])
    assert prose_check.main() == 1
    printed = capsys.readouterr().out
    assert "src/driftduel/logs/one.py:3: crowd: # somebody" in printed
    (folder / "one.py").write_text("# nobody\n# fine\n# somebody\n")  # two are tolerated
    assert prose_check.main() == 0


def test_names_of_options_and_specs_are_not_prose():
    assert keys_of([(1, "pass --sisters 20"), (2, "anew-NAME restarts")]) == set()


def test_subjects_of_commits():
    subjects = ["Fix a race of two owners", "Tell nobody.", "x" * 73]
    assert prose_check.check_subjects(subjects) == [
        "Tell nobody.: crowd",
        "Tell nobody.: ends with a full stop",
        f"{'x' * 73}: longer than 72 characters",
    ]
