"""Policies by name."""

from typing import Any

import numpy as np

from driftduel.policies.base import Policy
from driftduel.specs import Registry, Spec

__all__ = ["POLICIES", "make_policy"]

POLICIES: Registry[Policy] = Registry("policy", context=("arms", "rng"))


def make_policy(
    spec: str | Spec,
    arms: int,
    seed: int | np.random.SeedSequence | np.random.Generator = 0,
    horizon: int | None = None,
    **known: Any,
) -> Policy:
    """Build the policy that a spec describes.

    Parameters
    ----------
    spec
        ``name:key=value,key=value``; `POLICIES` lists the names and their keys.
    arms
        The number of arms K.
    seed
        What its randomness comes from.
    horizon
        The number of rounds, for policies that want to know it and whose spec does not say.
    known
        Whatever else a policy may be told (``switches``, ``variation``, ``at``), likewise.

    Examples
    --------
    >>> make_policy("anaconda:constant=0.5", arms=5, horizon=1000)
    Anaconda(arms=5, rounds=0)
    """
    rng = np.random.default_rng(seed)
    return POLICIES.build(spec, arms=arms, rng=rng, horizon=horizon, **known)
