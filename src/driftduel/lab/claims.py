"""Distribution of cells among the processes that fill one store.

Before a process plays cells, it appends their keys to a separate file, its *claim*, in the hidden
folder ``.claims`` of the store; other processes skip these cells. The owner holds an exclusive lock
on its claim file, which the operating system releases when the process ends for any reason. The
modification time of the file is its heartbeat: a claim expires after a minute without one, which
covers a hanging owner and an owner on another machine, as a network file system may not share
locks. Claims only save work. If they are unavailable, two processes may play the same cell; this is
idempotent, because the store counts a cell once.
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
from typing import IO

from driftduel._internal.file_lock import HAS_FLOCK, lock_file
from driftduel.lab.engines.base import SECONDS_BETWEEN_SIGNALS

__all__ = ["Claims"]

_FOLDER = ".claims"
_ENDING = ".keys"
_HERE = re.sub(r"\W", "-", socket.gethostname()) + "."
_SECONDS_A_BEAT = 5.0
_SECONDS_TO_LAPSE = 60.0
# The lock is held for milliseconds; a longer wait means that its holder hangs.
_SECONDS_FOR_THE_LOCK = 5.0


class Claims:
    """The claims on the cells of a store: that of this process, and a cache of the others.

    Parameters
    ----------
    folder
        The folder of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._path = self._folder / f"{_HERE}{secrets.token_hex(8)}{_ENDING}"
        self._file: IO[bytes] | None = None
        self._others: dict[str, tuple[int, set[str]]] = {}  # name -> bytes read, keys
        self._over = threading.Event()
        with suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            with self._exclusive():
                self._file = open(self._path, "xb", buffering=0)  # noqa: SIM115
                _lock(self._file, wait=False)
            threading.Thread(target=self._touch, daemon=True).start()

    def take(self, choose: Callable[[set[str], bool], list[str]]) -> list[str]:
        """Select and claim cells with the exclusive lock held, so that two processes cannot race.

        Parameters
        ----------
        choose
            Function of the keys that other processes have claimed, and whether a claim was removed
            since the last call, so that its cells are finished or free; returns the keys to claim.
        """
        with self._exclusive():
            keys = choose(*self._look())
            if self._file is not None and keys:
                with suppress(OSError):  # the store reports a full disk
                    self._file.write("".join(f"{key}\n" for key in keys).encode())
        return keys

    def others(self) -> tuple[set[str], bool]:
        """Return the keys claimed by other processes, and whether a claim was removed meanwhile."""
        with self._exclusive():
            return self._look()

    def _look(self) -> tuple[set[str], bool]:
        before = self._others.keys()
        found: dict[str, tuple[int, set[str]]] = {}
        with suppress(OSError):
            for entry in os.scandir(self._folder):
                if entry.name.endswith(_ENDING) and entry.name != self._path.name:
                    with suppress(OSError):  # race: its owner has removed the file
                        if (claim := self._read(entry)) is not None:
                            found[entry.name] = claim
        gone = bool(before - found.keys())
        self._others = found
        return {key for _, keys in found.values() for key in keys}, gone

    def _read(self, entry: "os.DirEntry[str]") -> tuple[int, set[str]] | None:
        """Read the new keys of another claim; return None if the claim has expired."""
        with open(entry.path, "rb") as file:
            if entry.name.startswith(_HERE) and _lock(file, wait=False):
                os.unlink(entry.path)  # the lock is free, so the owner has ended
                return None
            if self._file is not None:
                # Both timestamps come from the clock of the file system: clocks of machines differ.
                ours, its = (os.fstat(each.fileno()).st_mtime for each in (self._file, file))
                if ours - its > _SECONDS_TO_LAPSE:
                    return None
            size, keys = self._others.get(entry.name, (0, set()))
            file.seek(size)
            lines = file.read().split(b"\n")[:-1]  # the last line may be incomplete
        keys |= {line.decode("ascii", "replace") for line in lines}
        return size + sum(len(line) + 1 for line in lines), keys

    def _touch(self) -> None:
        while not self._over.wait(_SECONDS_A_BEAT):
            with suppress(OSError):
                os.utime(self._path)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the exclusive lock of the folder; proceed without it after a timeout."""
        try:
            file = open(self._folder / "lock", "wb")  # noqa: SIM115
        except OSError:
            yield
            return
        with file:
            _lock(file, wait=True)
            yield

    def close(self) -> None:
        """Remove the claim; finished cells must be in the store before, or others replay them."""
        self._over.set()
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            self._file.close()
            self._file = None


def _lock(file: IO[bytes], *, wait: bool) -> bool | None:
    """Return True if the lock was acquired, False if it is held elsewhere, None if unsupported."""
    if not HAS_FLOCK:  # Windows: claims depend on their heartbeat alone
        return None
    deadline = time.monotonic() + (_SECONDS_FOR_THE_LOCK if wait else 0.0)
    while True:
        try:
            lock_file(file.fileno())
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(SECONDS_BETWEEN_SIGNALS / 20)
        except OSError:
            return None
        else:
            return True
