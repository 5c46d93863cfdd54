"""A lock that dies with its process, in a file that says whose it is."""

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt

__all__ = ["FileLock", "describe_process"]

# Windows hides what is locked from readers; nothing is written so far into the file.
_FAR = 1 << 30


def describe_process() -> str:
    """Say which process this is, for whoever wants to end it."""
    # Others may read this: of --store=postgresql://..., which may have a password, the first half.
    words = [each.partition("=")[0] for each in sys.argv[:4] if "://" not in each.partition("=")[0]]
    command = " ".join(Path(each).name if i == 0 else each for i, each in enumerate(words))
    return f"process {os.getpid()} on {socket.gethostname()} ({command[:80] or 'python'})"


class FileLock:
    """A lock on a file beside another one. The file stays: to remove it would be a race.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def take(self) -> bool:
        """Take the lock, or keep it; return whether this process has it."""
        if self._handle is not None:
            return True
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except OSError:
            os.close(handle)
            return False
        os.truncate(handle, 0)
        os.write(handle, describe_process().encode("utf-8", "replace"))
        self._handle = handle
        return True

    def release(self) -> None:
        """Let it go."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def holder(self) -> str | None:
        """Say who has it; None if nobody does."""
        if self._handle is not None:
            return describe_process()
        try:
            handle = os.open(self._path, os.O_RDWR)
        except OSError:
            return None
        try:
            _lock(handle)
        except OSError:
            with suppress(OSError):
                return os.pread(handle, 1000, 0).decode("utf-8", "replace") or "another process"
            return "another process"
        else:
            return None
        finally:
            os.close(handle)


def _lock(handle: int) -> None:
    """Lock a file, or raise if somebody else has."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
