"""Compile kernels, and keep what was compiled safe on disk.

Numba's own cache has gaps that would let a run execute the wrong code: it does not notice when a
kernel in another file changes, it cannot tell closures apart, and two processes that fill a cold
cache together, or a disk that is full, can leave a name that leads to another kernel's file. Here
each compiled function is one file that appears whole, and begins with a hash of all that decides:
what the kernel is made of, see `_fingerprint`, the types it was compiled for, the compiler, and
the machine code itself.

A cache is a help, never a need: whatever is wrong with it, the kernel is compiled.

Importing this module imports the compiler; nothing that only lists or prints may do so.
"""

import hashlib
import os
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from threading import local
from typing import Any

from driftduel import _notice
from driftduel._files import whole_file
from driftduel._fingerprint import Unknown, fingerprint
from driftduel._kernel_errors import describe_kernel_error
from driftduel.errors import DriftduelError

_FEATURES = re.compile(r"[+-][\w.-]+(,[+-][\w.-]+)*|")


@contextmanager
def _readable_settings() -> Iterator[None]:
    """Say in one sentence which of numba's settings keeps it from being imported."""
    features = os.environ.get("NUMBA_CPU_FEATURES", "")
    if not _FEATURES.fullmatch(features):  # LLVM would abort
        raise DriftduelError(
            f"NUMBA_CPU_FEATURES={features!r} must be features with a sign, such as '+avx2,-fma'."
        )
    try:
        with warnings.catch_warnings():  # numba would warn, with a traceback, and go on without it
            warnings.filterwarnings("error", message="Environment variable")
            yield
    except Exception as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        settings = [f"{n}={v!r}" for n, v in sorted(os.environ.items()) if n.startswith("NUMBA_")]
        blame = f"; it was told {', '.join(settings)}" if settings else ""
        raise DriftduelError(f"the compiler numba cannot be imported: {reason}{blame}.") from error


with _readable_settings():
    import llvmlite
    import numba

    # All that is not numba's public interface; tests/test_compile.py says which numba has it.
    from numba.core.caching import CompileResultCacheImpl, _Cache
    from numba.core.errors import NumbaError, UnsupportedBytecodeError
    from numba.core.serialize import dumps
    from numba.core.types.containers import BaseNamedTuple, BaseTuple
    from numba.core.types.functions import Dispatcher
    from numba.core.typing import signature as make_signature

__all__ = ["entry", "hot", "jit_enabled", "kernel"]

_VERSIONS = f"numba {numba.__version__}, llvmlite {llvmlite.__version__}"
_HASH_BYTES = hashlib.sha256().digest_size


def jit_enabled() -> bool:
    """Tell whether kernels are compiled (``NUMBA_DISABLE_JIT=1`` runs them as plain Python)."""
    return not numba.config.DISABLE_JIT


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` without the global lock, and cache it on disk.

    A kernel never allocates: it works on the arrays it is given. That lets the compiler drop all
    reference counting, which would otherwise cost more than the work.

    Parameters
    ----------
    function
        Plain Python that numba understands: arrays, numbers, other kernels.
    """
    return _compiled(function, inline=False)


def hot(function: Callable[..., Any]) -> Any:
    """Compile `function` into its callers: for the few lines that run in every round.

    A record of many arrays is passed by value, so a call that is not dissolved costs more than
    all that these lines do.
    """
    return _compiled(function, inline=True)


def entry(compiled: Any, *arguments: Any) -> Any:
    """Return a kernel, compiled for arguments of these types and no others.

    Looking at the types of a record of arrays takes numba several times as long as the work of a
    live duel. Whoever calls what is returned promises that types and layouts are the same.
    """
    if not jit_enabled():
        return compiled
    return compiled.compile(tuple(map(numba.typeof, arguments)))


def _compiled(function: Callable[..., Any], *, inline: bool) -> Any:
    dispatcher = numba.njit(nogil=True, _nrt=False, forceinline=inline)(function)
    if jit_enabled():
        dispatcher._cache = _Kept(dispatcher)
        dispatcher.compile = _with_readable_errors(dispatcher)
    return dispatcher


_compilation = local()


def _with_readable_errors(dispatcher: Any) -> Callable[..., Any]:
    """Return the dispatcher's `compile`, which raises one sentence from numba's error.

    A kernel that is compiled for another one keeps numba's error: type inference depends on it.
    """
    plain = dispatcher.compile

    @wraps(plain)
    def compile_kernel(signature: Any) -> Any:
        if getattr(_compilation, "is_running", False):
            return plain(signature)
        _compilation.is_running = True
        try:
            return plain(signature)
        except (NumbaError, UnsupportedBytecodeError, AttributeError) as error:
            name = dispatcher.py_func.__name__
            raise DriftduelError(describe_kernel_error(str(error), name)) from error
        finally:
            _compilation.is_running = False

    return compile_kernel


class _Kept(_Cache):  # type: ignore[misc]
    """What was compiled of one kernel, on disk: a file for each tuple of types.

    Parameters
    ----------
    dispatcher
        The kernel.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for these types, or None."""
        target_context.refresh()
        with suppress(Exception):  # a damaged or foreign file is as good as none
            impl = self._impl()
            path, key = self._place(impl, sig, target_context.codegen())
            content = path.read_bytes()
            digest, data = content[:_HASH_BYTES], content[_HASH_BYTES:]
            if digest == hashlib.sha256(key + data).digest():
                return _retyped(impl.rebuild(target_context, pickle.loads(data)), sig)
        _notice.compiling()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for these types, if that is possible."""
        # Nowhere to keep it: a disk that is full or read-only, a kernel typed into an interpreter.
        with suppress(OSError, RuntimeError, DriftduelError, Unknown):
            impl = self._impl()
            if impl.check_cachable(data):
                path, key = self._place(impl, sig, data.codegen)
                reduced = dumps(impl.reduce(data))
                path.parent.mkdir(parents=True, exist_ok=True)
                with whole_file(path, lasting=False) as file:
                    file.write_bytes(hashlib.sha256(key + reduced).digest() + reduced)

    def _impl(self) -> Any:
        return CompileResultCacheImpl(self._dispatcher.py_func)

    def _place(self, impl: Any, sig: Any, codegen: Any) -> tuple[Path, bytes]:
        """Return the file for types, and the key of what it must hold.

        The name says which kernel it is, the key what it is made of: an edit takes the place of
        what was there before.
        """
        function = self._dispatcher.py_func
        config = numba.config
        target = (codegen.magic_tuple(), config.OPT, config.BOUNDSCHECK, _VERSIONS)
        which = repr((_name(function), [_kind(each) for each in sig], target))
        key = f"{which} {fingerprint(self._dispatcher, frozen=True)}"
        file = f"{impl.filename_base}-{hashlib.sha256(which.encode()).hexdigest()[:16]}.nbc"
        return Path(impl.locator.get_cache_path()) / file, key.encode()

    @property
    def cache_path(self) -> str | None:
        """The folder."""
        with suppress(OSError, RuntimeError):
            return str(self._impl().locator.get_cache_path())
        return None

    def flush(self) -> None:
        """Do nothing: what is stale is never read."""

    def enable(self) -> None:
        """Do nothing: it is enabled."""

    def disable(self) -> None:
        """Do nothing: numba never asks for it."""


def _retyped(compiled: Any, sig: Any) -> Any:
    """Return what was loaded, with the types that were asked for.

    The class of a record in a script or a notebook is pickled by value. The class that is loaded
    equals the one of this process in all but its identity, by which numba compares signatures.
    """
    signature = make_signature(compiled.signature.return_type, *sig)
    compiled.fndesc.argtypes = signature.args
    return compiled._replace(signature=signature)


def _name(function: Any, *around: Any) -> str:
    """Name a function by where it is, and by what it closes over."""
    if function in around:
        return "itself"
    inside = []
    for cell in function.__closure__ or ():
        value = cell.cell_contents
        is_kernel = hasattr(value, "py_func")
        inside.append(
            _name(value.py_func, function, *around)
            if is_kernel
            else fingerprint(value, frozen=True)
        )
    return f"{function.__module__}.{function.__qualname__}({','.join(inside)})"


def _kind(kind: Any) -> str:
    """Describe a type so that all that compiled code takes from it is said."""
    if isinstance(kind, Dispatcher):  # a kernel that is handed over
        return fingerprint(kind.dispatcher, frozen=True)
    if isinstance(kind, BaseNamedTuple):  # fields are found by their place
        fields = zip(kind.fields, kind.types, strict=True)
        return f"{kind.instance_class.__name__}({', '.join(f'{f}: {_kind(t)}' for f, t in fields)})"
    if isinstance(kind, BaseTuple):
        return f"({', '.join(map(_kind, kind.types))})"
    said = str(kind)
    if " at 0x" in said:
        raise Unknown(said)
    return said
