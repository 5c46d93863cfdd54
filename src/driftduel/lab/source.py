"""Fingerprints of built-in policies and worlds, computed from the package's source text.

A fingerprint covers a definition and, recursively, every definition of this package that its names
refer to, in any module, and the data files that it names. Comments, docstrings, error messages and
descriptions are excluded, so that editing them keeps results valid. The text does not depend on the
version of Python, so a record of one machine can be checked on another.

The contract (`CONTRACT`) is excluded as well: it is common to all policies, and the version of the
package represents it.
"""

import ast
import hashlib
import re
import time
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import driftduel
from driftduel._internal.fingerprint import IMPORTED_AT
from driftduel.errors import DriftduelError

__all__ = ["CONTRACT", "Definition", "Sources", "installed"]

_PACKAGE = "driftduel"
CONTRACT = frozenset(
    f"{_PACKAGE}.{name}"
    for name in (
        "_internal.compiler", "_internal.defaults", "_internal.display", "_internal.files",
        "_internal.fingerprint", "_internal.notices", "_internal.plugins", "_internal.reading",
        "_internal.text_tables", "_internal.wording", "errors", "specs", "policies.base",
        "policies.events",
        "policies.fields", "policies.replay", "policies.info", "policies.keys", "policies.ledger",
        "policies.registry", "policies.saving", "preferences.matrix", "worlds.base",
    )
)  # fmt: skip
"""Modules that define how policies and worlds are called, described, checked and saved."""
_REGISTRIES = frozenset({"POLICIES", "WORLDS"})

# Attributes and methods that describe or check a policy, and do not affect any duel.
_DESCRIPTIONS = frozenset({"alerts", "confidence", "guarantee", "in_panel", "source"})
_DESCRIBING = frozenset(
    {"__repr__", "check_state", "contest", "false_alarms_at_most", "info", "stage"}
)
_TOKEN = re.compile(
    r"""(?P<string>[rRbBfFuU]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|(?P<comment>\#[^\n]*)""",
    re.DOTALL,
)
# Not an attribute, and not the name of an argument in a call.
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|=[^=])")
_DATA = re.compile(r"[\"']([\w.-]+\.(?:json|npz|npy|csv|toml|txt))[\"']")


class Definition(NamedTuple):
    """A name at the top of a module."""

    module: str
    name: str


class _Statement:
    """A top-level statement of a module: its text, and the names that it uses."""

    def __init__(self, lines: list[str], node: ast.stmt) -> None:
        self._lines, self._node = lines, node

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Names bound by nested imports: name -> (module, attribute or the empty string)."""
        if not any("import " in line for line in self._text_lines):
            return {}
        return dict(_imports_of(self._node))

    @property
    def _text_lines(self) -> list[str]:
        decorators = getattr(self._node, "decorator_list", [])
        first = min([self._node.lineno, *(each.lineno for each in decorators)])
        return self._lines[first - 1 : self._node.end_lineno]

    @cache  # noqa: B019 - instances exist until the process ends
    def text(self, mode: str) -> str:
        """Return the text without comments, descriptions and messages."""
        decorators = getattr(self._node, "decorator_list", [])
        first = min([self._node.lineno, *(each.lineno for each in decorators)])
        lines = list(self._text_lines)
        for node in _irrelevant_parts(self._node, mode, panel="panel=" in "".join(lines)):
            _blank(lines, node, first)
        whole = _TOKEN.sub(lambda found: found["string"] or "", "\n".join(lines))
        return "\n".join(line.rstrip() for line in whole.split("\n") if line.strip())

    def names(self, mode: str) -> set[str]:
        """Return the names that the text may look up; names inside string literals are ignored."""
        plain = _TOKEN.sub(lambda found: found[0] if found[0][0] in "fF" else "", self.text(mode))
        return set(_NAME.findall(plain)) - _REGISTRIES


def _irrelevant_parts(node: ast.AST, mode: str, *, panel: bool) -> Iterator[ast.AST]:
    """Yield the parts of a statement that do not affect any duel."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            if isinstance(child.value.value, str):
                yield child
        elif (
            isinstance(child, ast.Raise)
            or (isinstance(node, ast.ClassDef) and _describes(child))
            or (isinstance(child, ast.keyword) and child.arg == "panel" and mode == "serve")
        ):
            yield child
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case) or panel:
            yield from _irrelevant_parts(child, mode, panel=panel)


def _describes(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in _DESCRIBING
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(each, ast.Name) and each.id in _DESCRIPTIONS for each in targets)


def _blank(lines: list[str], node: ast.AST, first: int) -> None:
    """Delete a node from lines; `first` is the number of the first line."""
    begin, end = node.lineno - first, node.end_lineno - first  # type: ignore[attr-defined]
    decorators = getattr(node, "decorator_list", [])
    begin = min([begin, *(each.lineno - first for each in decorators)])
    # The columns of ast nodes are byte offsets.
    head = b"" if decorators else lines[begin].encode()[: node.col_offset]  # type: ignore[attr-defined]
    tail = lines[end].encode()[node.end_col_offset :]  # type: ignore[attr-defined]
    lines[begin] = (head + tail).decode()
    for i in range(begin + 1, end + 1):
        lines[i] = ""


def _imports_of(node: ast.AST) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the bindings of imports of this package, anywhere in a statement."""
    for each in ast.walk(node):
        if isinstance(each, ast.ImportFrom) and (each.module or "").split(".")[0] == _PACKAGE:
            for alias in each.names:
                yield alias.asname or alias.name, (each.module or "", alias.name)
        elif isinstance(each, ast.Import):
            for alias in each.names:
                if alias.asname and alias.name.split(".")[0] == _PACKAGE:
                    yield alias.asname, (alias.name, "")


class _Module:
    """The statements of a module by the names that they bind."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        self.statements: dict[str, list[_Statement]] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.imports.update(_imports_of(node))
                continue
            statement = _Statement(lines, node)
            for name in _bound(node):
                self.statements.setdefault(name, []).append(statement)
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.imports.update(statement.imports)


def _bound(node: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds or changes."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {node.name}
    if isinstance(node, ast.Expr):
        return set()
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            found.add(each.name)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.Subscript | ast.Attribute) and isinstance(each.ctx, ast.Store):
            root: ast.AST = each
            while isinstance(root, ast.Subscript | ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name):
                found.add(root.id)
    return found


class Sources:
    """The source text of the package in a folder.

    Parameters
    ----------
    folder
        The package's folder, ``.../driftduel``.
    imported_at
        Time of the import of the package in seconds since the epoch: a file that was changed later
        raises DriftduelError, because it differs from the code in memory. None: no check.
    """

    def __init__(self, folder: Path, imported_at: float | None = None) -> None:
        self._folder, self._imported_at = folder, imported_at
        self._modules: dict[str, _Module | None] = {}
        self._found: dict[tuple[Definition, str], str] = {}

    def fingerprint(self, module: str, name: str, mode: str = "panel") -> str:
        """Return a hash of all code and data that affect the behaviour of a definition.

        Parameters
        ----------
        module, name
            Its location: ``"driftduel.policies.rucb"``, ``"Rucb"``.
        mode
            ``serve`` excludes the kernels that play in panels only.
        """
        root = Definition(module, name.partition(".")[0])
        if (root, mode) not in self._found:
            digest = hashlib.sha256()
            for each in sorted(self.definitions(root, mode)):
                digest.update(f"{each.module}:{each.name}\n{self._content(each, mode)}\n".encode())
            self._found[root, mode] = digest.hexdigest()[:16]
        return self._found[root, mode]

    def definitions(self, root: Definition, mode: str = "panel") -> set[Definition]:
        """Return a definition and all definitions that it depends on."""
        found: set[Definition] = set()
        waiting = [root]
        while waiting:
            each = waiting.pop()
            if each in found or each.module in CONTRACT:
                continue
            found.add(each)
            waiting += self._uses(each, mode)
        return found

    def _uses(self, definition: Definition, mode: str) -> Iterator[Definition]:
        module = self._module(definition.module)
        for statement in module.statements.get(definition.name, ()) if module else ():
            names = statement.names(mode)
            for name in names:
                if name in statement.imports:
                    yield from self._imports(*statement.imports[name], statement, name, mode)
                elif module is not None and name in module.statements:
                    yield Definition(definition.module, name)
                elif module is not None and name in module.imports:
                    yield from self._imports(*module.imports[name], statement, name, mode)

    def _imports(
        self, source: str, name: str, statement: _Statement, alias: str, mode: str
    ) -> Iterator[Definition]:
        """Yield the definition behind an import; for a whole module, the attributes used."""
        whole = f"{source}.{name}" if name else source
        if self._module(whole) is not None and not self._defines(source, name):
            for used in re.findall(rf"(?<![\w.]){alias}\.(\w+)", statement.text(mode)):
                yield from self._look_up(whole, used)
        else:
            yield from self._look_up(source, name)

    def _look_up(self, source: str, name: str) -> Iterator[Definition]:
        """Yield the definition of a name, following re-exports through modules."""
        seen = set()
        while source not in CONTRACT and (source, name) not in seen:
            seen.add((source, name))
            module = self._module(source)
            if module is None:
                return
            if name in module.statements:
                yield Definition(source, name)
                return
            if name not in module.imports:
                return
            source, name = module.imports[name]

    def _defines(self, source: str, name: str) -> bool:
        module = self._module(source)
        return module is not None and (name in module.statements or name in module.imports)

    def _content(self, definition: Definition, mode: str) -> str:
        module = self._module(definition.module)
        if module is None:
            return ""
        texts = [each.text(mode) for each in module.statements.get(definition.name, ())]
        folder = self._path(definition.module).parent
        named = sorted({name for text in texts for name in _DATA.findall(text)})
        data = [folder / name for name in named if (folder / name).is_file()]
        hashes = [f"{each.name} {hashlib.sha256(each.read_bytes()).hexdigest()}" for each in data]
        return "\n".join((*texts, *hashes))

    def _path(self, name: str) -> Path:
        inside = self._folder.joinpath(*name.split(".")[1:])
        return inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")

    def _module(self, name: str) -> _Module | None:
        """Return the parsed module; None if no file has this name."""
        if name not in self._modules:
            path = self._path(name)
            self._modules[name] = _Module(self._read(path)) if path.is_file() else None
        return self._modules[name]

    def _read(self, path: Path) -> str:
        text = path.read_text("utf-8")
        # A modification time in the future is caused by a wrong clock, not by an edit.
        if self._imported_at is not None and (
            self._imported_at < path.stat().st_mtime <= time.time()
        ):
            raise DriftduelError(
                f"{str(path)!r} has changed since it was imported; restart Python to use it."
            )
        return text


@cache
def installed() -> Sources:
    """Return the source text of the installed package."""
    return Sources(Path(driftduel.__file__).parent, IMPORTED_AT)
