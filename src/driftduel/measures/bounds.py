"""The right-hand sides of the paper's regret bounds, with all constants set to 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from driftduel.errors import DriftduelError

__all__ = ["Bounds", "bounds"]


@dataclass(frozen=True)
class Bounds:
    """The values of the paper's bounds for one world, up to constants.

    The symbols: K arms, T rounds, S^CW Condorcet winner switches tau_i, S^sig significant
    switches nu_i, V^CW Condorcet winner variation. The upper bounds have a factor log(T)^3 unless
    the argument `logs` of `bounds` is False; the lower bound has none.
    """

    phases: float
    """Theorem on ANACONDA: K sum_i sqrt(tau_{i+1} - tau_i), from tau_0 = 1 to T."""
    switches: float
    """The corollary: K sqrt((S^CW + 1) T)."""
    significant_phases: float
    """Theorem under SST and STI: K sum_i sqrt(nu_{i+1} - nu_i), from nu_0 = 1 to T."""
    significant_switches: float
    """Its form after Jensen's inequality: K sqrt((S^sig + 1) T)."""
    variation: float
    """Corollary under SST and STI: K sqrt(T) + (V^CW)^(1/3) (K T)^(2/3)."""
    lower: float
    """Lower bound for every algorithm: sqrt(K max(S^CW, 1) T)."""


def bounds(
    arms: int,
    rounds: int,
    condorcet_switch_rounds: Sequence[int],
    significant_switch_rounds: Sequence[int],
    condorcet_variation: float,
    *,
    logs: bool = True,
) -> Bounds:
    """Evaluate the paper's bounds on dynamic regret, with constant 1.

    Parameters
    ----------
    arms
        K.
    rounds
        T.
    condorcet_switch_rounds
        tau_1, tau_2, ..., ascending.
    significant_switch_rounds
        nu_1, nu_2, ..., ascending.
    condorcet_variation
        V^CW.
    logs
        Whether the upper bounds keep their factor log(T)^3 (natural logarithm). The paper states it
        in the first two; in the others it is part of the O-tilde, and of the proofs.

    Examples
    --------
    >>> bounds(2, 101, [26], [], 0.0, logs=False).phases
    27.320508075688775
    """
    if arms < 1 or rounds < 1:
        raise DriftduelError(f"arms={arms} and rounds={rounds} must be at least 1.")
    if not condorcet_variation >= 0:
        raise DriftduelError(f"condorcet_variation={condorcet_variation} must be at least 0.")
    log = math.log(rounds) ** 3 if logs else 1.0
    factor, switches = log * arms, len(condorcet_switch_rounds)
    return Bounds(
        phases=factor * _root_lengths(condorcet_switch_rounds, rounds),
        switches=factor * math.sqrt((switches + 1) * rounds),
        significant_phases=factor * _root_lengths(significant_switch_rounds, rounds),
        significant_switches=factor * math.sqrt((len(significant_switch_rounds) + 1) * rounds),
        variation=factor * math.sqrt(rounds)
        + log * math.cbrt(condorcet_variation) * math.cbrt(arms * rounds) ** 2,
        lower=math.sqrt(arms * max(switches, 1) * rounds),
    )


def _root_lengths(switch_rounds: Sequence[int], rounds: int) -> float:
    """Return the sum of the square roots of the lengths of the phases from round 1 to round T."""
    edges = [1, *switch_rounds, rounds]
    if any(first > second for first, second in pairwise(edges)):
        raise DriftduelError(f"switch rounds must ascend between 1 and {rounds}.")
    return math.fsum(math.sqrt(second - first) for first, second in pairwise(edges))
