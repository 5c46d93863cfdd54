"""Compilation of kernels, with a safe disk cache.

The cache of numba may execute the wrong code: it does not detect a changed kernel in another file,
it cannot distinguish closures, and a race of two processes on a cold cache, or a full disk, can
leave an index entry that refers to another kernel's file. Here each compiled function is one file,
written atomically, that begins with a hash of its inputs: the content of the kernel, see
`_fingerprint`, the types of the arguments, the compiler, and the machine code itself.

The cache is optional: after any error with it, the kernel is compiled.

Importing this module imports the compiler; functions that only list or print must not do so.
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
    """Convert an import error of numba to one sentence that names the setting."""
    features = os.environ.get("NUMBA_CPU_FEATURES", "")
    if not _FEATURES.fullmatch(features):  # LLVM would abort the process
        raise DriftduelError(
            f"NUMBA_CPU_FEATURES={features!r} must be features with a sign, such as '+avx2,-fma'."
        )
    try:
        with warnings.catch_warnings():  # numba would print a warning with a traceback and continue
            warnings.filterwarnings("error", message="Environment variable")
            yield
    except Exception as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        settings = [f"{n}={v!r}" for n, v in sorted(os.environ.items()) if n.startswith("NUMBA_")]
        blame = f"; its settings are {', '.join(settings)}" if settings else ""
        raise DriftduelError(f"the compiler numba cannot be imported: {reason}{blame}.") from error


with _readable_settings():
    import llvmlite
    import numba

    # Private attributes of numba; tests/test_compile.py checks that the numba version has them.
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
    """Return whether kernels are compiled (``NUMBA_DISABLE_JIT=1`` runs them as plain Python)."""
    return not numba.config.DISABLE_JIT


def kernel(function: Callable[..., Any]) -> Any:
    """Return `function` compiled without the global interpreter lock, and cached on disk.

    A kernel never allocates: it works on its array arguments. This lets the compiler omit reference
    counting, which would otherwise cost more than the work.

    Parameters
    ----------
    function
        A Python function that numba supports: arrays, numbers, other kernels.
    """
    return _compiled(function, inline=False)


def hot(function: Callable[..., Any]) -> Any:
    """Return `function` compiled for inlining into its callers, for code that runs in every round.

    A record of many arrays is passed by value, so a call that is not inlined costs more than its
    body.
    """
    return _compiled(function, inline=True)


def entry(compiled: Any, *arguments: Any) -> Any:
    """Return a kernel compiled for arguments of these types only.

    Type dispatch on a record of arrays takes numba several times as long as a live duel. The caller
    must pass arguments of the same types and layouts.
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
    """The disk cache of one kernel: a file for each tuple of argument types.

    Parameters
    ----------
    dispatcher
        The kernel.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached function for these types, or None."""
        target_context.refresh()
        with suppress(Exception):  # a damaged or foreign file is a cache miss
            impl = self._impl()
            path, key = self._place(impl, sig, target_context.codegen())
            content = path.read_bytes()
            digest, data = content[:_HASH_BYTES], content[_HASH_BYTES:]
            if digest == hashlib.sha256(key + data).digest():
                return _retyped(impl.rebuild(target_context, pickle.loads(data)), sig)
        _notice.compiling()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled function for these types, if possible."""
        # No place for it: a full or read-only disk, a kernel typed into an interpreter.
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
        """Return the file for these types, and the key of its content.

        The name identifies the kernel, the key its content: an edited kernel replaces the file of
        the previous version.
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
        """The folder of the cache."""
        with suppress(OSError, RuntimeError):
            return str(self._impl().locator.get_cache_path())
        return None

    def flush(self) -> None:
        """Do nothing: stale files are never loaded."""

    def enable(self) -> None:
        """Do nothing: the cache is always enabled."""

    def disable(self) -> None:
        """Do nothing: numba never calls this method."""


def _retyped(compiled: Any, sig: Any) -> Any:
    """Return what was loaded, with the types that were asked for.

    The class of a record in a script or a notebook is pickled by value. The class that is loaded
    equals the one of this process in all but its identity, by which numba compares signatures.
    """
    signature = make_signature(compiled.signature.return_type, *sig)
    compiled.fndesc.argtypes = signature.args
    return compiled._replace(signature=signature)


def _name(function: Any, *around: Any) -> str:
    """Return a name for a function from its module, qualified name and closure."""
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
    """Return a description of a type with everything that compiled code depends on."""
    if isinstance(kind, Dispatcher):  # a kernel passed as an argument
        return fingerprint(kind.dispatcher, frozen=True)
    if isinstance(kind, BaseNamedTuple):  # fields are accessed by index
        fields = zip(kind.fields, kind.types, strict=True)
        return f"{kind.instance_class.__name__}({', '.join(f'{f}: {_kind(t)}' for f, t in fields)})"
    if isinstance(kind, BaseTuple):
        return f"({', '.join(map(_kind, kind.types))})"
    said = str(kind)
    if " at 0x" in said:
        raise Unknown(said)
    return said
