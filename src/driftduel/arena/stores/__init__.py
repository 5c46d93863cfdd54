"""Stores of arena logs: in memory, in an SQLite file, or in PostgreSQL."""

from pathlib import Path

from driftduel.arena.stores.base import (
    Append,
    ArenaStore,
    DamagedSnapshotError,
    FencedError,
    Hook,
    ItemRow,
    OptionText,
    OwnedElsewhereError,
    StoreError,
    Token,
    require_storable,
    take,
)
from driftduel.errors import DriftduelError, MissingExtraError

__all__ = [
    "Append",
    "ArenaStore",
    "DamagedSnapshotError",
    "FencedError",
    "Hook",
    "ItemRow",
    "OptionText",
    "OwnedElsewhereError",
    "StoreError",
    "Token",
    "open_store",
    "require_storable",
    "take",
]

_ENDINGS = (".db", ".sqlite", ".sqlite3")


def open_store(where: str | Path, *, create: bool = True) -> ArenaStore:
    """Open a store; the caller must close it.

    Parameters
    ----------
    where
        ``memory:``, ``sqlite:PATH``, a path that ends with .db, .sqlite or .sqlite3, or
        ``postgresql://...``. Opening a file several times in one process returns one shared
        object, which is closed by the last `close`.
    create
        Whether to create a missing file.

    Raises
    ------
    StoreError
        If the store cannot be opened.
    DriftduelError
        If the argument is not the address of a store.
    """
    url = str(where)
    if url == "memory:":
        from driftduel.arena.stores.memory import MemoryStore

        return MemoryStore()
    if url.startswith(("postgresql://", "postgres://")):
        return _postgresql(url)
    path = _path(where)
    if not create and not path.exists():
        raise StoreError(f"the file {str(path)!r} does not exist; check --store.")
    from driftduel.arena.stores.sqlite import open_shared

    return open_shared(path)


def _path(where: str | Path) -> Path:
    """Return the path of a store; raise if the argument is ambiguous, to catch typing errors."""
    text = str(where)
    named = text.startswith("sqlite:")
    path = Path(text.removeprefix("sqlite:"))
    if "\0" in text or path.name in {"", ":memory:"}:
        raise DriftduelError(
            f"{text!r} is not a store; pass memory:, sqlite:PATH or "
            "postgresql://USER@HOST/DATABASE."
        )
    if not (named or isinstance(where, Path) or path.suffix in _ENDINGS):
        raise DriftduelError(
            f"{text!r} is not a store; pass memory:, sqlite:PATH, a path that ends with .db, or "
            "postgresql://USER@HOST/DATABASE."
        )
    return path


def _postgresql(url: str) -> ArenaStore:
    try:
        from driftduel.arena.stores.postgres import PostgresStore
    except ImportError:
        raise MissingExtraError("psycopg", "postgres", "a store in PostgreSQL") from None
    return PostgresStore(url)
