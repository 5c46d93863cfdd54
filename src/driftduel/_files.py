"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driftduel.errors import DriftduelError

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that takes its place if nothing goes wrong."""
    path = Path(path)
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        temporary = Path(name)
        os.close(handle)
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise DriftduelError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
