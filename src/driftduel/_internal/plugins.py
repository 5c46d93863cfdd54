"""Modules, files and installed plug-ins that register policies and worlds of the user.

An installed package offers its policies or worlds by an entry point: its value names a module that
registers them when it is imported::

    [project.entry-points."driftduel.policies"]
    anything = "my_package.policies"
"""

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from driftduel.errors import DriftduelError, PluginWarning

__all__ = ["PLUGINS", "load", "load_plugins", "plugin_of"]

PLUGINS = ("driftduel.policies", "driftduel.worlds")
"""The groups of entry points."""


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


def load_plugins(group: str) -> None:
    """Import the modules that installed packages name in a group of entry points.

    A module that cannot be imported gives one warning, with the name of its distribution.
    """
    for point in _points(group):
        try:
            importlib.import_module(point.module)
        except Exception as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            warnings.warn(
                f"the plug-in {_distribution(point)} cannot be imported ({point.module}: {reason});"
                f" its {group.partition('.')[2]} are missing.",
                PluginWarning,
                stacklevel=2,
            )


def plugin_of(module: str) -> str:
    """Return name and version of the plug-in that a module is part of; empty if of none."""
    top = module.partition(".")[0]
    points = (point for group in PLUGINS for point in _points(group))
    return next((_distribution(p) for p in points if p.module.partition(".")[0] == top), "")


@cache
def _points(group: str) -> tuple[Any, ...]:
    import importlib.metadata

    found = importlib.metadata.entry_points(group=group)
    return tuple(sorted(found, key=lambda point: (point.module, point.name)))


def _distribution(point: Any) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.name


def _load_file(path: Path) -> None:
    """Import a file under the name of its stem, so that other processes load the same module.

    Its folder is searched for modules after all others, so that it may import its neighbours.
    """
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
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
