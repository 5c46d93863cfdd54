"""Warnings of policies about parameter values under which they cannot work as intended."""

import warnings
from collections.abc import Sequence
from functools import cache

from driftduel.errors import DriftduelError, WeakSpotWarning
from driftduel.policies import make_policy

__all__ = ["weak_spots"]


def weak_spots(spec: str, told: Sequence[str], arms: int, rounds: int, switches: float) -> str:
    """Return the warnings of a policy about its parameters in a world; an empty string if none.

    The policy is constructed for K arms, T rounds and the number of switches, without a game.

    Parameters
    ----------
    spec, told
        The spec, and the parameters set from the world; only a policy that requires the horizon
        can warn that it is too short.
    arms, rounds, switches
        The numbers of arms and rounds, and the mean number of switches.

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
        except DriftduelError:  # its module is not imported in this process
            return ""
    found = [str(each.message) for each in caught if issubclass(each.category, WeakSpotWarning)]
    return " ".join(found)
