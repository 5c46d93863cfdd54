"""Settings under which a policy cannot work as intended, by its own account."""

import warnings
from collections.abc import Sequence
from functools import cache

from driftduel.errors import DriftduelError, WeakSpotWarning
from driftduel.policies import make_policy

__all__ = ["weak_spots"]


def weak_spots(spec: str, told: Sequence[str], arms: int, rounds: int, switches: float) -> str:
    """Return the warnings of a policy about its settings in a world; "" without any.

    The policy is built for K arms, T rounds and the number of switches, and plays nothing.

    Parameters
    ----------
    spec, told
        The policy, and the keys that it is given; only a policy that is given the horizon can
        find it too short.
    arms, rounds, switches
        The world's size, and its mean number of switches.

    Examples
    --------
    >>> weak_spots("mdb", ("horizon", "switches", "delta"), 10, 50_000, 3)
    'MDB monitors 100% of the rounds for T=50000, K=10, M=4, delta=0.3 (gamma = 1.45).'
    >>> weak_spots("mdb:delta=0.9", ("horizon", "switches", "delta"), 3, 1_000_000, 3)
    ''
    """
    return _built(spec, arms, rounds, round(switches)) if "horizon" in told else ""


@cache
def _built(spec: str, arms: int, rounds: int, switches: int) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WeakSpotWarning)
        try:
            make_policy(spec, arms, horizon=rounds, switches=switches)
        except DriftduelError:  # of a module that this process has not imported
            return ""
    found = [str(each.message) for each in caught if issubclass(each.category, WeakSpotWarning)]
    return " ".join(found)
