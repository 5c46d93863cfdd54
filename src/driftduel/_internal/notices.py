"""Notification of listeners when a kernel is compiled."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["compiling", "listen", "tell", "watching", "working_on"]

Watcher = Callable[[str, bool], None]
"""A function of the name of the work and whether compilation begins; called from any thread."""

_listener: Callable[[], None] | None = None
_watchers: list[Watcher] = []


class _Work(threading.local):
    """The current work of a thread, and whether a kernel was compiled for it."""

    name: str | None = None
    told: bool = False


_work = _Work()


def listen(listener: Callable[[], None]) -> None:
    """Register a function that is called before the first compilation of this process."""
    global _listener  # noqa: PLW0603
    _listener = listener


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Register a function that is called at the start and end of compilation for named work."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def working_on(name: str) -> Iterator[Callable[[], None]]:
    """Name the work of this thread; yield a function to call after the last compilation."""
    _work.name, _work.told = name, False
    try:
        yield _compiled
    finally:
        _compiled()
        _work.name = None


def compiling() -> None:
    """Notify the listener (once) and all watchers."""
    global _listener
    listener, _listener = _listener, None
    if listener is not None:
        listener()
    if _work.name is not None and not _work.told:
        _work.told = True
        tell(_work.name, True)


def _compiled() -> None:
    if _work.told and _work.name is not None:
        _work.told = False
        tell(_work.name, False)


def tell(name: str, begins: bool) -> None:
    """Notify the watchers; also used for the work of other processes."""
    for watcher in tuple(_watchers):
        watcher(name, begins)
