"""Files that appear whole or not at all, and stay."""

import atexit
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from driftduel.errors import DriftduelError

__all__ = ["lasting_folder", "whole_file"]

# Some file systems cannot sync a folder, and some folders may be written to but not read.
_NO_WAY = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM)
_unfinished: set[Path] = set()


@contextmanager
def whole_file(path: str | Path, *, lasting: bool = True) -> Iterator[Path]:
    """Yield a temporary file beside `path` that takes its place if nothing goes wrong.

    Parameters
    ----------
    path
        The file. Who may read it is what the user's umask says, as for any other new file, or
        what the file says that it replaces.
    lasting
        Whether it outlasts a loss of power from now on: its content is on the disk before its name
        is, and its name before anybody hears of it. Nobody needs that of scratch.
    """
    path = Path(path)
    before = _replaceable(path)
    # Not the file's own name and more: the longest name that there is leaves no room for it.
    temporary = path.parent / f".{secrets.token_hex(8)}.part"
    _unfinished.add(temporary)  # before it is there: a signal may come at any time
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
    """Tell about the file that another is about to replace; never replace a device."""
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


def lasting_folder(path: str | Path) -> None:
    """Make a folder, and those it is in, which outlast a loss of power as a whole file does."""
    path = Path(path)
    if "\0" in str(path):
        raise DriftduelError(f"{str(path)!r} cannot be the name of a folder.")
    if not path.is_dir():
        lasting_folder(path.parent)
        path.mkdir(exist_ok=True)
        _sync_folder(path.parent)


def _sync(path: Path, how: int = os.O_RDWR) -> None:
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(path: Path) -> None:
    """Have a folder's names written, where there is a way to ask for it."""
    if os.name == "nt":
        return
    try:
        _sync(path, os.O_RDONLY)
    except OSError as error:
        if error.errno not in _NO_WAY:
            raise


def _forget(temporary: Path) -> None:
    with suppress(OSError):  # where nothing could be made, nothing need go
        temporary.unlink()
    _unfinished.discard(temporary)


@atexit.register
def _clean() -> None:
    """Remove what a second signal, during the cleaning up after the first, has left."""
    for temporary in list(_unfinished):
        _forget(temporary)
