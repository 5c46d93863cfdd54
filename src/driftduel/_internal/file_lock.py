"""The operating system's lock on a file, which ends with the process that holds it."""

import os
from typing import Any

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt

__all__ = ["HAS_FLOCK", "lock_file"]

HAS_FLOCK = fcntl is not None
"""Whether a locked file can be removed and read by other processes: not on Windows."""
# On Windows a locked range cannot be read; this one lies behind the content of the file.
_FAR = 1 << 30


def lock_file(handle: int) -> None:
    """Lock an open file without waiting.

    Raises
    ------
    OSError
        If another process holds the lock (with `HAS_FLOCK`: BlockingIOError), or if the file system
        has no locks.
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
