"""A file lock that the operating system releases when its process ends."""

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from driftduel._internal.file_lock import lock_file

__all__ = ["FileLock", "describe_process"]


def describe_process() -> str:
    """Return a description of this process, with which an operator can find and stop it."""
    # Other users can read this: values such as --store=postgresql://... may hold a password.
    words = [each.partition("=")[0] for each in sys.argv[:4] if "://" not in each.partition("=")[0]]
    command = " ".join(Path(each).name if i == 0 else each for i, each in enumerate(words))
    return f"process {os.getpid()} on {socket.gethostname()} ({command[:80] or 'python'})"


class FileLock:
    """An exclusive lock on a separate file. The file stays: removing it would be a race condition.

    Instances are not thread-safe; the store object that uses one holds its own lock.

    Parameters
    ----------
    path
        Path of the lock file; it holds a description of the process that has the lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def take(self) -> bool:
        """Acquire or keep the lock without blocking; return whether this process has it."""
        if self._handle is not None:
            return True
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            lock_file(handle)
        except OSError:
            os.close(handle)
            return False
        os.truncate(handle, 0)
        os.write(handle, describe_process().encode("utf-8", "replace"))
        self._handle = handle
        return True

    def release(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def holder(self) -> str | None:
        """Return a description of the lock holder, or None."""
        if self._handle is not None:
            return describe_process()
        try:
            handle = os.open(self._path, os.O_RDWR)
        except OSError:
            return None
        try:
            lock_file(handle)
        except OSError:
            with suppress(OSError):
                return os.pread(handle, 1000, 0).decode("utf-8", "replace") or "another process"
            return "another process"
        else:
            return None
        finally:
            os.close(handle)
