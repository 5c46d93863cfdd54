"""Compilation of kernels, with a safe disk cache.

The cache of numba may execute the wrong code: it does not detect a changed kernel in another file,
it cannot distinguish closures, not even by their symbols, and a race of two processes on a cold
cache, or a full disk, can leave an index entry that refers to another kernel's file. Here each
compiled function is one file, written atomically, that begins with a hash of its inputs: the
content of the kernel, see `fingerprint`, the types of the arguments, the compiler, and the machine
code itself.

The cache is optional: after any error with it, the kernel is compiled.

A kernel has two forms. Its *linked* form is LLVM code as numba generates it, without optimization.
Callers need no more, since LLVM optimizes a function together with everything that it calls. Its
*entry* is machine code with an interface to Python, made from the linked form when Python first
calls the kernel. Numba would optimize each kernel by itself, and generate machine code and an
interface to Python for each, which takes most of the compile time, for code that is never executed.

Importing this module imports the compiler; functions that only list or print must not do so.
"""

import hashlib
import os
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import local
from typing import Any, Self

from driftduel._internal import notices
from driftduel._internal.files import atomic_write
from driftduel._internal.fingerprint import Unknown, fingerprint
from driftduel._internal.kernel_errors import describe_kernel_error
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
    from llvmlite.binding import Linkage, parse_bitcode

    # Private attributes of numba; tests/test_compile.py checks that the numba version has them.
    from numba.core.caching import CompileResultCacheImpl, _Cache
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, CompileResult
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.errors import NumbaError, UnsupportedBytecodeError
    from numba.core.registry import CPUDispatcher
    from numba.core.serialize import dumps
    from numba.core.types.containers import BaseNamedTuple, BaseTuple
    from numba.core.types.functions import Dispatcher
    from numba.core.typing import signature as make_signature

__all__ = ["entry", "hot", "jit_enabled", "kernel"]

_VERSIONS = f"numba {numba.__version__}, llvmlite {llvmlite.__version__}"
_SYMBOLS = "symbols by content"  # change it if equal kernels get other symbols
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
    if not jit_enabled():
        return function
    options = {
        "nopython": True, "boundscheck": None, "nogil": True, "_nrt": False, "forceinline": inline,
        "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
    }  # fmt: skip
    return _Kernel(function, targetoptions=options)


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The LLVM code of a kernel and of all it calls, without optimization and machine code."""

    def _optimize_final_module(self) -> None:
        """Do nothing: LLVM optimizes the entry that this code is linked into."""

    def _finalize_final_module(self) -> None:
        """Make the code ready for linking, not for execution."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        module = super()._get_module_for_linking()
        if _calls_by_address(module):
            for function in module.functions:
                if function.linkage == Linkage.linkonce_odr:  # LLVM would drop inlined functions
                    function.linkage = "weak_odr"
        return module

    def serialize_using_object_code(self) -> Any:
        """Return the code in the form that `restored` accepts."""
        return self.serialize_using_bitcode()

    @classmethod
    def restored(cls, codegen: Any, name: str, bitcode: bytes) -> Self:
        """Return the library with this code."""
        library = cls(codegen, name)
        library._final_module = parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


def _calls_by_address(module: Any) -> bool:
    """Return whether functions in LLVM code call each other, which numba resolves at run time."""
    return any(each.name.startswith(".numba.unresolved$") for each in module.global_variables)


class _LinkedCompiler(Compiler):  # type: ignore[misc]
    """The compiler of numba as far as LLVM code; a subclass has the kernel."""

    kernel: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags.no_compile = True
        # Numba compiles `min` and the like once for each set of flags of its callers.
        self._inline = self.state.flags.forceinline
        self.state.flags.forceinline = False

    def compile_extra(self, func: Any) -> Any:
        """Return the linked form of a function."""
        context = self.state.targetctx
        library = self.state.library = _LinkedLibrary(context.codegen(), func.__qualname__)
        made = super().compile_extra(func)
        context.insert_user_function(library, made.fndesc, [library])
        return made._replace(entry_point=library)

    def _compile_bytecode(self) -> Any:
        """Compile the function under a number that is a hash of its content.

        The number is a part of the names of symbols, by which code is linked. Numba counts the
        functions of a process, so that two closures from two processes could have one name.
        """
        with suppress(Unknown):  # such a kernel is not cached
            which = _name(self.kernel.py_func), [_kind(each) for each in self.state.args]
            key = f"{which!r} {fingerprint(self.kernel, frozen=True)}"
            identity = self.state.func_id
            identity.unique_id = int(hashlib.sha256(key.encode()).hexdigest()[:16], 16)
            identity.unique_name = f"{identity.func_qualname}${identity.unique_id}"
        return super()._compile_bytecode()

    def define_pipelines(self) -> Any:
        """Return the passes; numba has copied the flags of the caller before."""
        self.state.flags.forceinline = self._inline
        return super().define_pipelines()


_caller = local()


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function: linked forms, in `overloads`, and entries, by argument types.

    Parameters
    ----------
    py_func, locals, targetoptions
        Same arguments as of a dispatcher of numba.
    """

    def __init__(
        self,
        py_func: Any,
        locals: Any = None,  # noqa: A002 - numba unpickles kernels with these names
        targetoptions: Any = None,
    ) -> None:
        pipeline = type(_LinkedCompiler.__name__, (_LinkedCompiler,), {"kernel": self})
        super().__init__(py_func, locals, targetoptions, pipeline)
        self._cache = _KernelCache(self)
        self._entries: dict[Any, Any] = {}

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the signatures for a call from compiled code."""
        before, _caller.is_compiled = getattr(_caller, "is_compiled", False), True
        try:
            return super().get_call_template(args, kws)
        finally:
            _caller.is_compiled = before

    def compile(self, sig: Any) -> Any:
        """Return the entry for these types; for a call from compiled code, the linked form.

        A caller in Python gets one sentence instead of numba's error. Type inference depends on
        numba's errors.
        """
        if getattr(_caller, "is_compiled", False):
            return super().compile(sig)
        with global_compiler_lock:
            args = tuple(sig)
            if args not in self._entries:
                try:
                    self._entries[args] = self._entry(args)
                except (NumbaError, UnsupportedBytecodeError, AttributeError) as error:
                    name = self.py_func.__name__
                    raise DriftduelError(describe_kernel_error(str(error), name)) from error
                self._insert([each._code for each in args], self._entries[args].entry_point, False)
            return self._entries[args].entry_point

    def add_overload(self, cres: Any) -> None:
        """Add a linked form, which Python cannot call."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _entry(self, args: Any) -> Any:
        """Return the entry for these types: from the cache, or made from the linked form."""
        found = self._cache.load_overload(args, self.targetctx, entry=True)
        if found is not None:
            self._cache_hits[args] += 1
            return found
        notices.compiling()
        super().compile(args)
        linked = self.overloads[args]
        context, codegen = linked.target_context, linked.codegen
        library = codegen.create_library(self.py_func.__qualname__)
        library.enable_object_caching()
        library.add_linking_library(linked.library)
        parts = linked.fndesc, linked.environment
        context.create_cpython_wrapper(library, *parts, call_helper=None, release_gil=True)
        callable_ = context.get_executable(library, *parts)
        made = linked._replace(library=library, entry_point=callable_)
        for environment in made._find_referenced_environments():
            codegen.set_env(environment.env_name, environment)
        self._cache.save_overload(args, made, entry=True)
        return made


class _KernelCache(_Cache):  # type: ignore[misc]
    """The disk cache of one kernel: a file for each tuple of argument types and form.

    Parameters
    ----------
    dispatcher
        The kernel.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    def load_overload(self, sig: Any, target_context: Any, *, entry: bool = False) -> Any:
        """Return the cached entry, or linked form, for these types, or None."""
        target_context.refresh()
        with suppress(Exception):  # a damaged or foreign file is a cache miss
            impl = self._impl()
            path, key = self._place(impl, sig, target_context.codegen(), entry)
            content = path.read_bytes()
            digest, data = content[:_HASH_BYTES], content[_HASH_BYTES:]
            if digest == hashlib.sha256(key + data).digest():
                rebuild = impl.rebuild if entry else _rebuild_linked
                return _retyped(rebuild(target_context, pickle.loads(data)), sig)
        return None

    def save_overload(self, sig: Any, data: Any, *, entry: bool = False) -> None:
        """Store the entry, or linked form, for these types, if possible."""
        # No place for it: a full or read-only disk, a kernel typed into an interpreter.
        with suppress(OSError, RuntimeError, DriftduelError, Unknown):
            impl = self._impl()
            # Numba does not resolve addresses in code that it loads.
            if impl.check_cachable(data) and not _calls_by_address(data.library._final_module):
                path, key = self._place(impl, sig, data.codegen, entry)
                reduced = dumps(impl.reduce(data))
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(path, lasting=False) as file:
                    file.write_bytes(hashlib.sha256(key + reduced).digest() + reduced)

    def _impl(self) -> Any:
        return CompileResultCacheImpl(self._dispatcher.py_func)

    def _place(self, impl: Any, sig: Any, codegen: Any, entry: bool) -> tuple[Path, bytes]:
        """Return the file for these types and this form, and the key of its content.

        The name identifies the kernel, the key its content: an edited kernel replaces the file of
        the previous version.
        """
        function = self._dispatcher.py_func
        config = numba.config
        target = (codegen.magic_tuple(), config.OPT, config.BOUNDSCHECK, _VERSIONS)
        which = repr((_name(function), [_kind(each) for each in sig], target, entry))
        key = f"{which} {_SYMBOLS} {fingerprint(self._dispatcher, frozen=True)}"
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


def _rebuild_linked(target_context: Any, payload: Any) -> Any:
    """Return the linked form of a kernel from the parts that numba stores."""
    (name, _, code), description, environment, signature, _, lifted, *_ = payload
    library = _LinkedLibrary.restored(target_context.codegen(), name, code)
    parts: dict[str, Any] = dict.fromkeys(CompileResult._fields)
    parts |= {
        "typing_context": target_context.typing_context, "target_context": target_context,
        "library": library, "entry_point": library, "fndesc": description,
        "environment": environment,
        "signature": signature, "objectmode": False, "lifted": lifted,
    }  # fmt: skip
    return CompileResult(**parts)


def _retyped(compiled: Any, sig: Any) -> Any:
    """Return the loaded function with the requested types.

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
