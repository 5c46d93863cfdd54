"""Fingerprints of code, for compiled kernels and for results: a hash of the content.

The fingerprint of a function covers its bytecode and the objects its names refer to: constants by
value, functions and classes by their own content, in any file. Paths and file times do not enter,
so the same code has the same fingerprint in every process, and on every machine with the same
Python.

Installed packages, including this one, are represented by name and version; except their kernels,
which are compiled into others. An object that cannot be inspected, or that changes while a policy
runs, is represented by the source text of its module and of all imports of that module.
"""

import ast
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import sys
import time
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache, cached_property, lru_cache, partial
from importlib.machinery import ModuleSpec
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from driftduel.errors import DriftduelError

__all__ = ["IMPORTED_AT", "Unknown", "fingerprint"]

IMPORTED_AT = time.time()
"""When the package was imported, in seconds since the epoch: before any policy was."""

_PLAIN = {bool, int, float, complex, str, bytes, range, slice, type(None), type(...)}
# Container types, and the attributes with their contents.
_HOLDERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    cached_property: ("func",),
    partial: ("func", "args", "keywords"),
    MethodType: ("__func__", "__self__"),
    type(lru_cache(len)): ("__wrapped__",),
}
_OF_EVERY_CLASS = {"__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl"}
_OF_EVERY_RECORD = {*vars(namedtuple("_", "")), "__annotations__", "__orig_bases__"}
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
_STDLIB = os.path.dirname(os.__file__)

_first_texts: WeakKeyDictionary[ModuleType, bytes] = WeakKeyDictionary()
_first_meanings: WeakKeyDictionary[FunctionType, tuple[Any, Any]] = WeakKeyDictionary()


class Unknown(Exception):  # noqa: N818 - a result, not an error
    """Raised if a kernel cannot be identified by its content."""


def fingerprint(*things: Any, frozen: bool = False) -> str:
    """Return a hash of the content of functions, classes, kernels and constants.

    Parameters
    ----------
    things
        The objects to hash.
    frozen
        Whether they are kernels, for which arrays and other constants have their values at the time
        of compilation. Raises `Unknown` if these values cannot be determined.
    """
    walk = _ContentHasher(frozen, {_top(_module_of(thing)) for thing in things} - {"builtins"})
    for thing in things:
        walk.see(thing, _module_of(thing))
    return _hash("\n".join(walk.notes))


class _ContentHasher:
    """A traversal that records the content of objects, each once, in a deterministic order.

    Parameters
    ----------
    frozen
        Same argument as of `fingerprint`.
    own
        Packages to inspect even if they are installed: those of the first objects.
    """

    def __init__(self, frozen: bool, own: set[str]) -> None:
        self.notes = [sys.implementation.cache_tag or sys.version]
        self._frozen = frozen
        self._own = own
        self._met: dict[object, tuple[int, Any]] = {}

    def see(self, value: Any, home: str, names: tuple[str, ...] = ()) -> None:
        """Record a value.

        Parameters
        ----------
        value
            The value.
        home
            The module that contains it.
        names
            The attributes that may be used, if it is a module.
        """
        if type(value) in _PLAIN:
            self.notes.append(repr(value))
        elif isinstance(value, tuple):
            self._parts(type(value), value, home)
        elif isinstance(value, frozenset):
            self._parts(frozenset, sorted(value, key=_order), home)
        elif isinstance(value, ModuleType):
            if self._is_new(value, (id(value), names)):
                self._module(value, names)
        elif isinstance(value, np.generic | np.dtype):
            self.notes.append(f"{value!r} {getattr(value, 'dtype', '')}")
        elif self._is_new(value, id(value)):
            self._open(value, home)

    def _is_new(self, value: Any, key: object) -> bool:
        """Record the identity of an object; return whether it is new."""
        new = key not in self._met
        number, _ = self._met.setdefault(key, (len(self._met), value))
        self.notes.append(f"#{number}")
        return new

    def _open(self, value: Any, home: str) -> None:
        inside = getattr(value, "__wrapped__", None)
        by_numba = _top(type(value).__module__) == "numba" or hasattr(value, "py_func")
        if by_numba and isinstance(inside, FunctionType):
            self._kernel(value, inside)
        elif type(value) in _HOLDERS:
            self._parts(type(value), [getattr(value, n) for n in _HOLDERS[type(value)]], home)
        elif hasattr(value, "__qualname__") and (known := self._known(_module_of(value))):
            self.notes.append(f"{known} {value.__qualname__}")
        elif isinstance(value, FunctionType):
            self._function(value)
            self._texts(value.__module__)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, Enum):
            self._parts(type(value), (value.name, value.value), home)
        elif not self._frozen and _spec(home) is not None:  # mutable: the content is not recorded
            self.see(type(value), home)
            self._texts(home)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            self.notes.append(f"{value.dtype!r} {value.shape} {_hash(value.tobytes())}")
        elif isinstance(value, list | np.ndarray):
            self._parts(list, value, home)
        elif isinstance(value, Mapping):
            self._parts(type(value), [part for item in value.items() for part in item], home)
        elif isinstance(value, set):
            self._parts(set, sorted(value, key=_order), home)
        else:
            self._object(value, home)

    def _parts(self, kind: type, parts: Iterable[Any], home: str) -> None:
        parts = list(parts)
        self.notes.append(f"{kind.__qualname__} of {len(parts)}")
        for part in parts:
            self.see(part, home)

    def _kernel(self, kernel: Any, function: FunctionType) -> None:
        """Record a compiled function or a user-defined compiler extension, in any package."""
        options = getattr(kernel, "targetoptions", {}), getattr(kernel, "locals", {})
        self.notes.append(f"{type(kernel).__qualname__} {options}")
        if _top(function.__module__) == "numba":
            self.notes.append(f"{self._known('numba')} {function.__qualname__}")
        else:
            self._function(function)

    def _function(self, function: FunctionType) -> None:
        names = _names(function.__code__)
        meanings = [(n, function.__globals__[n]) for n in names if n in function.__globals__]
        closed_over = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in closed_over:
            with suppress(ValueError):  # the cell is empty
                meanings.append((name, cell.cell_contents))
        if self._frozen:
            _still_the_same(function, meanings)
        self.notes.append(_content(function.__code__))
        self._meanings(meanings, function.__module__, names)
        self.see(function.__defaults__, function.__module__)
        self.see(tuple((function.__kwdefaults__ or {}).items()), function.__module__)
        if _spec(function.__module__) is None:  # otherwise the text of its module is recorded
            for name in _imports_of(function.__code__):
                self._texts(name)

    def _meanings(self, meanings: list[tuple[str, Any]], home: str, names: tuple[str, ...]) -> None:
        spec = None if self._frozen else _spec(home)
        # Globals assigned by functions are mutable state, not part of the code.
        changing = _changed_by(self._text(spec)) if spec is not None else frozenset()
        for name, value in meanings:
            self.notes.append(name)
            if name not in changing:
                self.see(value, home, names)

    def _class(self, kind: Any) -> None:
        self.notes.append(kind.__qualname__)
        for base in (type(kind), *kind.__bases__):
            self.see(base, kind.__module__)
        generated = _OF_EVERY_CLASS
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            generated = generated | _OF_EVERY_RECORD | set(kind._fields)
            self.see((kind._fields, tuple(kind._field_defaults.items())), kind.__module__)
        else:
            self._texts(kind.__module__)
        for name, value in vars(kind).items():
            if name not in generated:
                self.notes.append(name)
                self.see(value, kind.__module__)

    def _module(self, module: ModuleType, names: tuple[str, ...]) -> None:
        if known := self._known(module.__name__):
            self.notes.append(known)
            return
        meanings = [(name, vars(module)[name]) for name in names if name in vars(module)]
        self._meanings(meanings, module.__name__, names)
        if not self._frozen:
            self._texts(module.__name__)

    def _object(self, value: Any, home: str) -> None:
        """Record the representation and the class of an object, and the text of its module."""
        said = repr(value)
        if self._frozen and _ADDRESS.search(said):
            raise Unknown(said)
        self.see(type(value), home)
        self.notes.append(_ADDRESS.sub("", said))
        self._texts(home)

    def _texts(self, home: str) -> None:
        """Record the texts of a module and of all its imports, except known packages."""
        waiting = [home]
        while waiting:
            name = waiting.pop()
            if name in self._met or self._known(name):
                continue
            self._met[name] = (len(self._met), name)
            spec = _spec(name)
            if spec is not None and spec.origin is not None:
                text = self._text(spec)
                self.notes.append(f"{name} {_hash(text)}")
                waiting += _imported_by(text, name, spec.submodule_search_locations is not None)

    def _text(self, spec: ModuleSpec) -> bytes:
        """Return the text of a module; raise if it changed after the import."""
        text: bytes = spec.loader.get_data(spec.origin)  # type: ignore[union-attr]
        module = sys.modules.get(spec.name)
        if module is not None and _first_texts.setdefault(module, text) != text:
            if self._frozen:
                raise Unknown(spec.name)
            raise DriftduelError(
                f"{spec.origin!r} has changed since it was imported; restart Python to use it."
            )
        if not self._frozen and _is_stale(spec, text):
            raise DriftduelError(
                f"{spec.cached!r} does not match {spec.origin!r}, although it has its time and "
                f"size; remove it, and restart Python."
            )
        return text

    def _known(self, name: str) -> str | None:
        """Return the name and version of a package that is not inspected; None for others."""
        top = _top(name)
        if top == "driftduel" and not self._frozen:
            return f"driftduel {sys.modules[top].__version__}"
        return None if top in self._own or top == "__main__" else _installed(top)


def _still_the_same(function: FunctionType, meanings: list[tuple[str, Any]]) -> None:
    """Raise if a name used by a kernel refers to another object than before.

    Numba resolves a name at compilation, and previously compiled code keeps the old object: which
    of the two a caller gets is undefined.
    """
    now = [(name, _token(value)) for name, value in meanings]
    first, _ = _first_meanings.setdefault(function, (now, meanings))
    if first != now:
        raise Unknown(function.__qualname__)


def _token(value: Any) -> object:
    """Return a value that changes if a name refers to another object."""
    if type(value) in _PLAIN:
        return repr(value)
    return id(value), _hash(value.tobytes()) if isinstance(value, np.ndarray) else ""


def _hash(text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()


def _order(value: Any) -> str:
    """Return a sort key for unordered objects, the same in every process."""
    if isinstance(value, frozenset):
        return str(sorted(map(_order, value)))
    return _ADDRESS.sub("", f"{type(value).__qualname__} {value!r}")


def _top(name: str) -> str:
    return name.partition(".")[0]


def _module_of(value: Any) -> str:
    return str(getattr(value, "__module__", None) or "builtins")


@lru_cache(maxsize=4096)
def _content(code: CodeType) -> str:
    """Return a hash of bytecode and constants, without file names and line numbers."""
    decisive = (
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
        getattr(code, "co_exceptiontable", b""), _constant(code.co_consts),
    )  # fmt: skip
    return _hash(repr(decisive))


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _content(value)
    if isinstance(value, tuple):
        return f"({','.join(map(_constant, value))})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(_constant, value)))}}}"
    return repr(value)


@lru_cache(maxsize=4096)
def _names(code: CodeType) -> tuple[str, ...]:
    """Return the global names of a function and of its nested functions."""
    inside = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return tuple(dict.fromkeys((*code.co_names, *(name for names in inside for name in names))))


def _imports_of(code: CodeType) -> Iterator[str]:
    """Yield the modules that a function imports when it is called."""
    import dis

    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imports_of(constant)
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            yield from _with_parents(str(step.argval))


def _with_parents(name: str) -> Iterator[str]:
    """Yield a module and its parent packages, which are executed on import."""
    while name:
        yield name
        name = name.rpartition(".")[0]


@lru_cache(maxsize=256)
def _imported_by(text: bytes, name: str, is_package: bool) -> list[str]:
    """Return the imports of a module, at any level; some names may not be modules."""
    package = name if is_package else name.rpartition(".")[0]
    found = []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # a compiled module
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            whole = "." * node.level + (node.module or "")
            with suppress(ImportError):
                whole = importlib.util.resolve_name(whole, package)
                found += [whole, *(f"{whole}.{alias.name}" for alias in node.names)]
    return [parent for name in dict.fromkeys(found) for parent in _with_parents(name)]


@lru_cache(maxsize=256)
def _changed_by(text: bytes) -> frozenset[str]:
    """Return the names that functions of a module declare as global."""
    with suppress(SyntaxError, ValueError):
        nodes = ast.walk(ast.parse(text))
        return frozenset(n for node in nodes if isinstance(node, ast.Global) for n in node.names)
    return frozenset()


def _is_stale(spec: ModuleSpec, text: bytes) -> bool:
    """Return whether the bytecode cache of Python, keyed by time and size, is stale."""
    with suppress(SyntaxError, ValueError, ImportError, AttributeError, OSError):
        cached = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
        return _content(cached) != _content(compile(text, "", "exec", dont_inherit=True))
    return False


def _spec(name: str) -> ModuleSpec | None:
    """Return the spec of a module; None for interactive code and the main script."""
    if name == "__main__":
        return None
    module = sys.modules.get(name)
    with suppress(ImportError, ValueError, AttributeError):
        spec = module.__spec__ if module is not None else importlib.util.find_spec(name)
        if spec is not None and hasattr(spec.loader, "get_data"):
            return spec
    return None


@cache
def _installed(top: str) -> str | None:
    """Return the name and version of a standard-library or installed package."""
    module = sys.modules.get(top)
    with suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(top) if module is None else module.__spec__
        if spec is None or spec.origin in ("built-in", "frozen"):
            return top if top in sys.stdlib_module_names else None
        file = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
        if {"site-packages", "dist-packages"}.isdisjoint(PurePath(file).parts):
            return top if file.startswith(_STDLIB) else None
        # Not every distribution has the name of its package, and some packages warn when their
        # attribute is read.
        version: str | None
        try:
            version = importlib.metadata.version(top)
        except importlib.metadata.PackageNotFoundError:
            version = getattr(module, "__version__", None)
        return f"{top} {version}"
    return None
