"""Imports of a package's names on first use (PEP 562).

A package lists under `TYPE_CHECKING` what its `__init__` offers but does not import; type checkers
read that list, a running program asks the function made here.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["import_on_use"]


def import_on_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that imports names from submodules on first use.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        For each submodule, the names that it defines, separated by spaces. A name must differ from
        every submodule: importing a submodule binds its name in the package.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next access does not come here
        return value

    return load
