"""Say that compiling takes a moment, to whoever wants to know."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["compiling", "listen", "tell", "watching", "working_on"]

Watcher = Callable[[str, bool], None]
"""Hears for what is compiled, and whether that begins or is over; called from any thread."""

_listener: Callable[[], None] | None = None
_watchers: list[Watcher] = []


class _Work(threading.local):
    """What a thread works on, and whether something was compiled for it."""

    name: str | None = None
    told: bool = False


_work = _Work()


def listen(listener: Callable[[], None]) -> None:
    """Have `listener` called before the first compilation of this process."""
    global _listener  # noqa: PLW0603
    _listener = listener


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Have `watcher` called when something is compiled for named work, and when that is over."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def working_on(name: str) -> Iterator[Callable[[], None]]:
    """Name the work of this thread; yield what to call when it runs, so all is compiled."""
    _work.name, _work.told = name, False
    try:
        yield _compiled
    finally:
        _compiled()
        _work.name = None


def compiling() -> None:
    """Tell the listener, once, and those who watch."""
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
    """Tell those who watch; also for work that another process does."""
    for watcher in tuple(_watchers):
        watcher(name, begins)
