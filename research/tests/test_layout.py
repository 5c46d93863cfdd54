"""Layout: the package never imports research code, and examples in docstrings are true."""

import ast
import doctest
import importlib
import pkgutil

import pytest

import research
from driftduel.errors import MissingExtraError
from research.places import ROOT

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(research.__path__, "research.")
    if not module.name.startswith(("research.tests", "research.policies."))
)


def imports_of(path):
    """Return the modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_package_never_imports_research_code():
    files = sorted((ROOT / "src").rglob("*.py"))
    assert len(files) > 100
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for name in imports_of(path)
        if name.partition(".")[0] in ("research", "tests")
    ]
    assert found == []


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    try:
        module = importlib.import_module(name)
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
