"""Policies of somebody's own come and go."""

import sys

import pytest


@pytest.fixture
def forget_own():
    """Undo what importing a module with policies and worlds of one's own does."""
    from driftduel.policies import POLICIES
    from driftduel.worlds import WORLDS

    registries = (POLICIES, WORLDS)
    modules = set(sys.modules)
    known = [{entry.name for entry in registry} for registry in registries]

    def forget():
        for name in set(sys.modules) - modules:
            if not name.startswith(("driftduel", "numba", "polars", "scipy", "llvmlite", "numpy")):
                del sys.modules[name]
        for registry, before in zip(registries, known, strict=True):
            for name in {entry.name for entry in registry} - before:
                registry.remove(name)

    yield forget
    forget()
