"""Compile kernels, and keep what was compiled safe on disk.

Numba's own cache has two gaps that would let a run execute the wrong code: it does not notice
when a kernel in another file changes, and two processes that fill a cold cache together can
give one file name to two kernels. `kernel` closes both: every key carries a fingerprint of the
sources behind it, and writing takes a lock.

Importing this module imports the compiler; nothing that only lists or prints may do so.
"""

import hashlib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: one process at a time must fill a cold cache
    fcntl = None  # type: ignore[assignment]

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from driftduel import _notice

__all__ = ["hot", "jit_enabled", "kernel"]

_PACKAGE = Path(__file__).parent
_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+(driftduel[\w.]*)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*))?",
    re.MULTILINE,
)


def jit_enabled() -> bool:
    """Tell whether kernels are compiled (``NUMBA_DISABLE_JIT=1`` runs them as plain Python)."""
    return not numba.config.DISABLE_JIT


def kernel(function: Callable[..., Any], *parts: Callable[..., Any]) -> Any:
    """Compile `function` without the global lock, and cache it on disk.

    A kernel never allocates: it works on the arrays it is given. That lets the compiler drop all
    reference counting, which would otherwise cost more than the work.

    Parameters
    ----------
    function
        Plain Python that numba understands: arrays, numbers, `numpy.random.Generator`.
    parts
        Kernels that `function` closes over. Numba cannot tell two closures apart from one
        process to the next; their names and sources make the key instead.
    """
    return _compiled(function, parts, inline=False)


def hot(function: Callable[..., Any], *parts: Callable[..., Any]) -> Any:
    """Compile `function` into its callers: for the few lines that run in every round.

    A record of many arrays is passed by value, so a call that is not dissolved costs more than
    all that these lines do.
    """
    return _compiled(function, parts, inline=True)


def _compiled(
    function: Callable[..., Any], parts: tuple[Callable[..., Any], ...], *, inline: bool
) -> Any:
    dispatcher = numba.njit(nogil=True, _nrt=False, forceinline=inline)(function)
    if jit_enabled():
        with suppress(OSError, RuntimeError):  # nowhere to keep it: a notebook, a read-only disk
            dispatcher._cache = _SafeCache(function, parts)
    return dispatcher


class _SafeCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, with a key that sees all sources and a lock to write."""

    def __init__(self, function: Callable[..., Any], parts: tuple[Callable[..., Any], ...]) -> None:
        super().__init__(function)
        sources = sorted(_sources((function, *parts)))
        names = " ".join(_name(part) for part in (function, *parts))
        stamp = "\n".join([*map(_file_stamp, sources), names])
        self._identity = hashlib.sha256(stamp.encode()).hexdigest()
        # A file for each combination: what one of them needs to be read must not hinder another.
        suffix = hashlib.sha256(names.encode()).hexdigest()[:12]
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{suffix}",
            source_stamp=self._identity,
        )

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (sig, codegen.magic_tuple(), self._identity)

    def _save_overload(self, sig: Any, data: Any) -> None:
        self._impl.locator.ensure_cache_path()
        with _locked(Path(self._cache_path) / "driftduel.lock"):
            super()._save_overload(sig, data)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if not Path(self._cache_path).is_dir():
            _notice.compiling()
            return None
        with _locked(Path(self._cache_path) / "driftduel.lock"):
            try:
                found = super()._load_overload(sig, target_context)
            except Exception:  # a damaged or foreign file is as good as none
                self._cache_file.flush()
                found = None
        if found is None:
            _notice.compiling()
        return found


def _name(part: Callable[..., Any]) -> str:
    """Name a function by where it is, and by the kernels it closes over."""
    function = getattr(part, "py_func", part)
    inside = [cell.cell_contents for cell in function.__closure__ or ()]
    names = ",".join(_name(each) for each in inside if hasattr(each, "py_func"))
    return f"{function.__module__}.{function.__qualname__}({names})"


def _sources(parts: Iterable[Callable[..., Any]]) -> set[str]:
    """Name the files behind kernels: their own, those they close over, and what these import."""
    found: set[str] = set()
    for part in parts:
        function = getattr(part, "py_func", part)
        inside = [cell.cell_contents for cell in function.__closure__ or ()]
        found |= _with_imports(inspect.getfile(function))
        found |= _sources(each for each in inside if hasattr(each, "py_func"))
    return found


@cache
def _with_imports(path: str) -> frozenset[str]:
    """Name a file and all files of this package that it imports, directly or not."""
    found: set[str] = set()
    waiting = [path]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(_imported_by(each))
    return frozenset(found)


@cache
def _imported_by(path: str) -> tuple[str, ...]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:  # a notebook's cell
        return ()
    found: list[Path] = []
    for module, names in _IMPORT.findall(text):
        place = _PACKAGE.joinpath(*module.split(".")[1:])
        inside = [_file_of(place / name) for name in re.findall(r"\w+", names)]
        found.extend(file for file in inside if file is not None)
        whole = _file_of(place)
        # The package itself only points to others; a module taken out of a room is not the room.
        if whole is not None and place != _PACKAGE and (None in inside or not inside):
            found.append(whole)
    return tuple(map(str, found))


def _file_of(module: Path) -> Path | None:
    files = (module.with_suffix(".py"), module / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _file_stamp(path: str) -> str:
    stat = os.stat(path)
    return f"{path} {stat.st_mtime_ns} {stat.st_size}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "ab") as handle:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
