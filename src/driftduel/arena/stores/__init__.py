"""Where logs are kept: in memory, in a file, or in PostgreSQL."""

from pathlib import Path

from driftduel.arena.stores.base import (
    Append,
    ArenaStore,
    DamagedSnapshotError,
    FencedError,
    Hook,
    OptionText,
    OwnedElsewhereError,
    StoreError,
    Token,
    take,
)
from driftduel.errors import DriftduelError, MissingExtraError

__all__ = [
    "Append",
    "ArenaStore",
    "DamagedSnapshotError",
    "FencedError",
    "Hook",
    "OptionText",
    "OwnedElsewhereError",
    "StoreError",
    "Token",
    "open_store",
    "take",
]

_ENDINGS = (".db", ".sqlite", ".sqlite3")


def open_store(where: str | Path, *, create: bool = True) -> ArenaStore:
    """Open a store; whoever opens one closes it.

    Parameters
    ----------
    where
        ``memory:``, ``sqlite:PATH``, a path that ends with .db, .sqlite or .sqlite3, or
        ``postgresql://...``. A file that is opened several times in one process is one store,
        and closed when all have closed it.
    create
        Whether to make the file if it is not there.
    """
    url = str(where)
    if url == "memory:":
        from driftduel.arena.stores.memory import MemoryStore

        return MemoryStore()
    if url.startswith(("postgresql://", "postgres://")):
        return _postgresql(url)
    path = _path(where)
    if not create and not path.exists():
        raise StoreError(f"there is no file {str(path)!r}.")
    from driftduel.arena.stores.sqlite import open_shared

    return open_shared(path)


def _path(where: str | Path) -> Path:
    """Return the file that is meant; a mistyped store must not become one."""
    text = str(where)
    named = text.startswith("sqlite:")
    path = Path(text.removeprefix("sqlite:"))
    if "\0" in text or path.name in {"", ":memory:"}:
        raise DriftduelError(
            f"{text!r} names no file; a store is memory:, sqlite:PATH or "
            "postgresql://USER@HOST/DATABASE."
        )
    if not (named or isinstance(where, Path) or path.suffix in _ENDINGS):
        raise DriftduelError(
            f"{text!r} is no store; give memory:, sqlite:PATH, a path that ends with .db, or "
            "postgresql://USER@HOST/DATABASE."
        )
    return path


def _postgresql(url: str) -> ArenaStore:
    try:
        from driftduel.arena.stores.postgres import PostgresStore
    except ImportError:
        raise MissingExtraError("psycopg", "postgres", "a store in PostgreSQL") from None
    return PostgresStore(url)
