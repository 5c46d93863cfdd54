"""Policies of record: kept to repeat published numbers, not meant for use.

Each module registers one policy when it is imported, e.g. with the option
``--import research.policies.public_anaconda`` of the command line.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from driftduel.policies import POLICIES

__all__ = ["registered"]


@contextmanager
def registered() -> Iterator[None]:
    """Register all policies of record for the duration of a block."""
    with POLICIES.temporarily():
        from research.policies.king_0 import King0
        from research.policies.public_anaconda import PublicAnaconda

        for kind in (King0, PublicAnaconda):
            if kind.name not in POLICIES:  # imported before, and registered in another block
                POLICIES.register(kind.name)(kind)
        yield
