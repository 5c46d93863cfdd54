"""Type checkers accept the examples and find the mistakes of a user's file."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(str(path) for path in (ROOT / "examples").rglob("*.py"))
FILE = ROOT / "tests" / "typing" / "mistakes.py"
MISTAKES = [
    number
    for number, line in enumerate(FILE.read_text("utf-8").splitlines(), 1)
    if "  # mistake: " in line
]


def pyright() -> str | None:
    """Return the pyright of `make types`, or of the machine."""
    own = ROOT / ".venv-types" / "bin" / "basedpyright"
    return str(own) if own.exists() else shutil.which("pyright")


def test_there_are_ten_mistakes():
    assert len(MISTAKES) == 10


@pytest.mark.long
def test_mypy_finds_the_mistakes_and_accepts_the_examples():
    pytest.importorskip("mypy")
    for files, expected in ([str(FILE)], MISTAKES), (EXAMPLES, []):
        # Kernels return Any to a type checker, as in pyproject.toml.
        command = [sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any", *files]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        found = {int(line) for line in re.findall(r"\.py:(\d+): error: ", done.stdout)}
        assert sorted(found) == expected, done.stdout + done.stderr


@pytest.mark.long
def test_pyright_finds_the_mistakes_and_accepts_the_examples():
    command = pyright()
    if command is None:
        pytest.skip("pyright is not installed; `make types` installs it")
    done = subprocess.run(
        [command, "--outputjson", "--pythonpath", sys.executable],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": ""},
    )
    errors = json.loads(done.stdout)["generalDiagnostics"]
    found = {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in errors}
    assert sorted(found) == [(FILE.name, line) for line in MISTAKES]
