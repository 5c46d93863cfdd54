"""Who plays what, when several processes fill one store: each cell is for one of them.

A process writes the keys of the cells it takes into a file of its own, its *claim*, in the hidden
folder ``.claims`` of the store, before it plays them; whoever comes after takes others. The owner
of a claim holds a lock on its file, which the system lets go when the owner dies, however it dies.
It also touches the file now and then: an owner that hangs, or that died on another machine, where
locks may not be seen, counts no more after a minute of silence. Claims are there to save work, and
nothing else: where they cannot be had, two processes play the same cell, and the store counts it
once.
"""

import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from driftduel.lab.engines.base import SECONDS_BETWEEN_SIGNALS

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: claims live by their beat alone
    fcntl = None

__all__ = ["Claims"]

_FOLDER = ".claims"
_ENDING = ".keys"
_HERE = re.sub(r"\W", "-", socket.gethostname()) + "."
_SECONDS_A_BEAT = 5.0
_SECONDS_TO_LAPSE = 60.0
# Nobody holds the lock for longer than a moment, unless it hangs.
_SECONDS_FOR_THE_LOCK = 5.0


class Claims:
    """The claims on the cells of a store: ours, and what is known of the others'.

    Parameters
    ----------
    folder
        Of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._path = self._folder / f"{_HERE}{secrets.token_hex(8)}{_ENDING}"
        self._file: IO[bytes] | None = None
        self._others: dict[str, tuple[int, set[str]]] = {}  # name -> bytes read, keys
        self._over = threading.Event()
        with suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            with self._alone():
                self._file = open(self._path, "xb", buffering=0)  # noqa: SIM115
                _lock(self._file, wait=False)
            threading.Thread(target=self._beat, daemon=True).start()

    def take(self, choose: Callable[[set[str], bool], list[str]]) -> list[str]:
        """Claim what is chosen; nobody else chooses meanwhile.

        Parameters
        ----------
        choose
            Given the keys that others have claimed, and whether some claim is gone since the last
            time, so that its cells are finished or free: returns the keys to claim.
        """
        with self._alone():
            keys = choose(*self._look())
            if self._file is not None and keys:
                with suppress(OSError):  # a full disk is the store's to complain about
                    self._file.write("".join(f"{key}\n" for key in keys).encode())
        return keys

    def others(self) -> tuple[set[str], bool]:
        """Return what others have claimed, and whether some claim is gone since the last time."""
        with self._alone():
            return self._look()

    def _look(self) -> tuple[set[str], bool]:
        before = self._others.keys()
        found: dict[str, tuple[int, set[str]]] = {}
        with suppress(OSError):
            for entry in os.scandir(self._folder):
                if entry.name.endswith(_ENDING) and entry.name != self._path.name:
                    with suppress(OSError):  # gone meanwhile
                        if (claim := self._read(entry)) is not None:
                            found[entry.name] = claim
        gone = bool(before - found.keys())
        self._others = found
        return {key for _, keys in found.values() for key in keys}, gone

    def _read(self, entry: "os.DirEntry[str]") -> tuple[int, set[str]] | None:
        """Read what is new in another's claim; None if it counts no more."""
        with open(entry.path, "rb") as file:
            if entry.name.startswith(_HERE) and _lock(file, wait=False):
                os.unlink(entry.path)  # nobody else has the lock: its owner is dead
                return None
            if self._file is not None:
                # By the clock of the disk, which both claims share, whatever the machines' own.
                ours, its = (os.fstat(each.fileno()).st_mtime for each in (self._file, file))
                if ours - its > _SECONDS_TO_LAPSE:
                    return None
            size, keys = self._others.get(entry.name, (0, set()))
            file.seek(size)
            lines = file.read().split(b"\n")[:-1]  # the last may be half of one
        keys |= {line.decode("ascii", "replace") for line in lines}
        return size + sum(len(line) + 1 for line in lines), keys

    def _beat(self) -> None:
        while not self._over.wait(_SECONDS_A_BEAT):
            with suppress(OSError):
                os.utime(self._path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of all claims; where there is none, do without."""
        try:
            file = open(self._folder / "lock", "wb")  # noqa: SIM115
        except OSError:
            yield
            return
        with file:
            _lock(file, wait=True)
            yield

    def close(self) -> None:
        """Give up what is claimed; what is finished must be in the store by now."""
        self._over.set()
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            self._file.close()
            self._file = None


def _lock(file: IO[bytes], *, wait: bool) -> bool | None:
    """Lock a file, or tell that somebody else has; None where there are no locks."""
    if fcntl is None:
        return None
    deadline = time.monotonic() + (_SECONDS_FOR_THE_LOCK if wait else 0.0)
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(SECONDS_BETWEEN_SIGNALS / 20)
        except OSError:
            return None
        else:
            return True
