"""No module reaches into what another keeps to itself: names that begin with an underscore."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    path
    for folder in ("src", "research", "examples")
    for path in (ROOT / folder).rglob("*.py")
    if "tests" not in path.relative_to(ROOT).parts
]
# What is public though it does not look it: a NamedTuple's methods, and what the standard library
# documents. What `compiler` takes from inside numba, and `parsers` from inside argparse, is named
# there, and pinned by tests of their own.
PUBLIC = {"_replace", "_asdict", "_fields", "_field_defaults", "_make", "os._exit"}
FROM_INSIDE = {
    "compiler.py": {
        "each._code", "numba.core.caching._Cache", "data.library._final_module",
        "library._final_module", "library._finalize_final_module",
        "made._find_referenced_environments",
    },
    "parsers.py": {
        "argparse._SubParsersAction", "parser._actions", "parser._option_string_actions",
    },
}  # fmt: skip


def is_private(name):
    return name.startswith("_") and not name.endswith("_")  # `_repr_html_` is a protocol


def own_names(tree):
    """Return all that a module itself gives a name to: functions, classes, fields, variables."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and is_itself(node.value)
        ):
            names.add(node.attr)
    return names


def is_itself(node):
    """Tell whether this is ``self``, ``cls`` or ``super()``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def intrusions(source, modules=frozenset()):
    """Yield the line and the name of everything private that is another module's."""
    tree = ast.parse(source)
    own = own_names(tree)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            said = ast.unparse(node)
            of_module = isinstance(node.value, ast.Name) and node.value.id in imported
            known = node.attr in own and not of_module
            if not (known or is_itself(node.value) or {node.attr, said} & PUBLIC):
                yield node.lineno, said
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if is_private(alias.name) and name not in modules:
                    yield node.lineno, name


MODULES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in (ROOT / "src").rglob("*.py")
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_reaches_into_another(path):
    allowed = FROM_INSIDE.get(path.name, set())
    found = [
        f"line {line}: {name}"
        for line, name in intrusions(path.read_text("utf-8"), MODULES)
        if name not in allowed
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import a\na._b", ["a._b"]),
        ("import a\n_b = a._b", ["a._b"]),
        ("from a import _b", ["a._b"]),
        ("def f(policy):\n    return policy._pending", ["policy._pending"]),
        ("def f(policy):\n    policy._asked = 1", ["policy._asked"]),
        ("def f(policy):\n    return policy.ledger._in_turn()", ["policy.ledger._in_turn"]),
        ("class A:\n    def f(self):\n        return self._a + super()._b", []),
        ("class A:\n    _a = 1\n    def f(self, other):\n        return other._a", []),
        ("class A:\n    def f(self, other):\n        self._a = other._a", []),
        ("def f(row):\n    return row._replace(a=1)._asdict(), row._repr_html_()", []),
        ("import os\nos._exit(1)", []),
        ("from driftduel import _internal", []),
    ],
)
def test_what_reaching_into_another_is(source, found):
    assert [name for _, name in intrusions(source, {"driftduel._internal"})] == found
