"""Atomic and durable writing of files."""

import atexit
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from driftduel.errors import DriftduelError

__all__ = ["atomic_write", "durable_folder"]

# Some file systems cannot sync a folder, and some folders are writable but not readable.
_NO_WAY = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM)
_unfinished: set[Path] = set()


@contextmanager
def atomic_write(path: str | Path, *, lasting: bool = True) -> Iterator[Path]:
    """Yield a temporary file beside `path` that replaces it if the block raises no exception.

    Parameters
    ----------
    path
        The file. Its permissions are those of the file it replaces, or the default of the umask.
    lasting
        Whether to make the file durable against a loss of power (default): the content is synced
        before the rename, and the folder after it. Not needed for scratch files.
    """
    path = Path(path)
    before = _replaceable(path)
    # A short fixed name: the name of the file plus a suffix could exceed the limit.
    temporary = path.parent / f".{secrets.token_hex(8)}.part"
    _unfinished.add(temporary)  # registered before it is created: a signal may arrive at any time
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if before is not None:
            temporary.chmod(stat.S_IMODE(before.st_mode))
        yield temporary
        if lasting:
            _sync(temporary)
        temporary.replace(path)
        if lasting:
            _sync_folder(path.parent)
    except OSError as error:
        raise DriftduelError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None
    finally:
        _forget(temporary)


def _replaceable(path: Path) -> os.stat_result | None:
    """Return the status of the file to be replaced, or None; raise for devices and pipes."""
    try:
        before = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DriftduelError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None
    except ValueError:  # a NUL
        raise DriftduelError(f"{str(path)!r} cannot be the name of a file.") from None
    if not stat.S_ISREG(before.st_mode):
        what = "a folder" if stat.S_ISDIR(before.st_mode) else "a pipe or a device"
        raise DriftduelError(f"cannot write {str(path)!r}: it is {what}, not a regular file.")
    return before


def durable_folder(path: str | Path) -> None:
    """Create a folder and its parents, durable against a loss of power."""
    path = Path(path)
    if "\0" in str(path):
        raise DriftduelError(f"{str(path)!r} cannot be the name of a folder.")
    if not path.is_dir():
        durable_folder(path.parent)
        path.mkdir(exist_ok=True)
        _sync_folder(path.parent)


def _sync(path: Path, how: int = os.O_RDWR) -> None:
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(path: Path) -> None:
    """Sync a folder, on file systems that support it."""
    if os.name == "nt":
        return
    try:
        _sync(path, os.O_RDONLY)
    except OSError as error:
        if error.errno not in _NO_WAY:
            raise


def _forget(temporary: Path) -> None:
    with suppress(OSError):  # the file may not exist
        temporary.unlink()
    _unfinished.discard(temporary)


@atexit.register
def _clean() -> None:
    """Remove temporary files left by a second signal during the clean-up after the first."""
    for temporary in list(_unfinished):
        _forget(temporary)
