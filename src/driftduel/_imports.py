"""Loading of user modules and files, which register policies and worlds."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from driftduel.errors import DriftduelError

__all__ = ["load"]


def load(imports: Sequence[str]) -> None:
    """Import each module or Python file that is not imported yet."""
    for name in imports:
        try:
            if name.endswith(".py"):
                _load_file(Path(name))
            else:
                importlib.import_module(name)
        except (ImportError, OSError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DriftduelError(
                f"cannot import {name!r}: {reason}; name a module, or a file that ends in .py."
            ) from error
        except DriftduelError as error:
            raise DriftduelError(f"cannot import {name!r}: {error}") from None
        except Exception as error:
            raise DriftduelError(f"importing {name!r} failed: {error!r}.") from error


def _load_file(path: Path) -> None:
    """Import a file under the name of its stem, so that other processes load the same module."""
    path = path.resolve(strict=True)
    name = path.stem
    module = sys.modules.get(name)
    if module is not None and Path(module.__file__ or "").resolve() == path:
        return
    if module is not None:
        raise DriftduelError(f"another module is named {name!r}.")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
