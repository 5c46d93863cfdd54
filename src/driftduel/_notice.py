"""Say once that compiling takes a moment, to whoever wants to know."""

from collections.abc import Callable

__all__ = ["compiling", "listen"]

_listener: Callable[[], None] | None = None


def listen(listener: Callable[[], None]) -> None:
    """Have `listener` called before the first compilation of this process."""
    global _listener  # noqa: PLW0603
    _listener = listener


def compiling() -> None:
    """Tell the listener, once."""
    global _listener
    listener, _listener = _listener, None
    if listener is not None:
        listener()
