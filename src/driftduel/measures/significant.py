"""Detection of the significant Condorcet winner switches (paper, section 2, measure 3).

An arm is no longer safe once its loss against the winners in some window of rounds [s1, s2] of the
current phase reaches a threshold; a phase is over once no arm is safe. The definition is about all
windows; this module evaluates a few of them per segment of constant preferences.

Write D(s) for an arm's loss before round s, c for sqrt(K) (or K). A window [s, e] is too much iff
D(e+1) - D(s) >= c sqrt(e - s), so the best start for the end e minimises D(s) + c sqrt(e - s).

- D is linear in a segment and the root is concave, so in each segment only the first and the
  last start can be best. In the segment of e itself the first alone will do: the last, e - 1, is
  enough iff the loss l per round has 2 l >= c, and then (n + 1) l >= c sqrt(n) for all n.
- For the same reason the excess of a start is convex in e: if the arm does not fail at the first
  round of a segment but at a later one e, it fails from e to the end of the segment. Looking at
  both ends of a segment suffices, and only a segment in which the arm fails is bisected.
- Of two starts the older one overtakes the newer at most once, for c (sqrt(e - i) - sqrt(e - j))
  falls in e. So the starts worth keeping form a stack: the best one now on top, the times at which
  each is overtaken by the one below falling towards the top.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError

__all__ = ["SCALES", "SignificantScan", "significant_switches"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCALES = ("main", "appendix")
"""Thresholds of a window: sqrt(K (s2 - s1)) in section 2, K sqrt(s2 - s1) in the appendix."""

_BITS = 30  # losses are counted in units of 2^-30
_MOST_ROUNDS, _MOST_ARMS = 1 << 31, 1 << 15  # larger sums or squares would overflow 64 bits
_BLOCK = 512  # segments between two checks of the stack capacity


class _OpenPhase(NamedTuple):
    """The state of the current phase; compiled functions change the arrays in place."""

    square: int
    """The value of c^2, that is K or K^2."""
    root: float
    """The value of 2^30 c."""
    last: int
    """The last round of a window: it lies before a switch, and a switch before T."""
    safe: NDArray[np.bool_]
    """(K,) the arms that have not failed yet; other attributes are valid for these only."""
    loss: Ints
    """(K,) D(s) for the next round s; the origin may differ between phases."""
    depth: Ints
    """(K,) number of starts on each stack."""
    stacks: Ints
    """(K, room, 4) starts that may still be the best, the newest last; the columns are named in
    `driftduel.measures._significant_kernels`."""


class SignificantScan:
    """An incremental scan for significant switches.

    With nu_0 = 1, nu_{i+1} is the first round before T such that every arm a has rounds
    nu_i <= s1 < s2 < nu_{i+1} with sum_{t=s1..s2} delta_t(a*_t, a) >= sqrt(K (s2 - s1)).

    Work is proportional to the segments (amortised) and the switches, independent of the rounds.
    State between two chunks: the starts of windows that may still become the best.

    Parameters
    ----------
    arms
        The number of arms K.
    rounds
        The number of rounds T; a switch lies in 3, ..., T - 1.
    scale
        "main" for the threshold sqrt(K (s2 - s1)), "appendix" for K sqrt(s2 - s1).

    Notes
    -----
    Every loss is rounded once to a multiple of 2^-30, which is finer than the 1e-9 to which
    preference matrices are checked. From then on the result is exact, including ties: sums are
    integers, compared with the root as integers.

    Examples
    --------
    >>> scan = SignificantScan(arms=2, rounds=1000)
    >>> scan.feed(np.array([1, 501]), 1001, np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> scan.switches
    [508]
    """

    def __init__(self, arms: int, rounds: int, scale: str = "main") -> None:
        if scale not in SCALES:
            raise DriftduelError(f"scale={scale} must be one of {', '.join(SCALES)}.")
        if not 1 <= arms <= _MOST_ARMS:
            raise DriftduelError(f"arms={arms} must be between 1 and {_MOST_ARMS}.")
        if not 1 <= rounds <= _MOST_ROUNDS:
            raise DriftduelError(f"rounds={rounds} must be between 1 and {_MOST_ROUNDS}.")
        self.arms, self.rounds, self.scale = arms, rounds, scale
        self._switches: list[int] = []
        self._next = 1
        square = arms if scale == "main" else arms * arms
        self._phase = _OpenPhase(
            square=square,
            root=math.ldexp(math.sqrt(square), _BITS),
            last=rounds - 2,
            safe=np.ones(arms, dtype=np.bool_),
            loss=np.zeros(arms, dtype=np.int64),
            depth=np.zeros(arms, dtype=np.int64),
            stacks=np.empty((arms, 0, 4), dtype=np.int64),
        )

    @property
    def switches(self) -> list[int]:
        """The rounds nu_1, nu_2, ... found so far."""
        return self._switches.copy()

    def feed(self, starts: Ints, end: int, losses: Floats) -> None:
        """Process the next rounds.

        Parameters
        ----------
        starts
            (S,) first round of each segment, ascending; the first follows the last chunk.
            A segment may be cut in two by the end of a chunk.
        end
            The round after the last segment.
        losses
            (S, K) delta_t(a*_t, a) in each segment, between 0 and 1.
        """
        edges = np.append(np.asarray(starts, dtype=np.int64), end)
        self._check_rounds(edges)
        units = self._in_units(losses, len(edges) - 1)
        for low in range(0, len(units), _BLOCK):
            block = units[low : low + _BLOCK]
            self._reserve(2 * len(block))
            self._walk(edges[low : low + len(block) + 1], block)
        self._next = int(end)

    def _check_rounds(self, edges: Ints) -> None:
        if edges[0] != self._next:
            raise DriftduelError(f"the chunk must begin in round {self._next}, not {edges[0]}.")
        if len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise DriftduelError("the first rounds of the segments, and the end, must ascend.")
        if edges[-1] > self.rounds + 1:
            raise DriftduelError(f"the chunk ends in round {edges[-1] - 1}, after {self.rounds}.")

    def _in_units(self, losses: Floats, segments: int) -> Ints:
        units = np.rint(np.ldexp(np.asarray(losses, dtype=np.float64), _BITS))
        if units.shape != (segments, self.arms):
            raise DriftduelError(
                f"the losses have shape {units.shape}; {segments} segments of {self.arms} arms "
                f"need {(segments, self.arms)}."
            )
        if not (units.min() >= 0 and units.max() <= 1 << _BITS):  # false for NaN as well
            raise DriftduelError("every loss must be a number between 0 and 1.")
        return units.astype(np.int64, order="C")

    def _reserve(self, more: int) -> None:
        """Resize every stack for `more` starts; release unused capacity."""
        kept = int(self._phase.depth.max())
        if not kept + more <= self._phase.stacks.shape[1] <= 4 * (kept + more):
            stacks = np.empty((self.arms, 2 * (kept + more), 4), dtype=np.int64)
            stacks[:, :kept] = self._phase.stacks[:, :kept]
            self._phase = self._phase._replace(stacks=stacks)

    def _walk(self, edges: Ints, units: Ints) -> None:
        from driftduel.measures._significant_kernels import scan  # lazy: imports the compiler

        switch = scan(self._phase, edges, units, edges[0])
        while switch:
            self._switches.append(int(switch))
            switch = scan(self._phase, edges, units, switch)


def significant_switches(
    starts: Ints, rounds: int, losses: Floats, scale: str = "main"
) -> list[int]:
    """Return the significant switches nu_1, nu_2, ... of a world given as arrays.

    Parameters
    ----------
    starts
        (S,) first round of each segment, ascending from 1.
    rounds
        The number of rounds T.
    losses
        (S, K) delta_t(a*_t, a) in each segment.
    scale
        "main" or "appendix", see `SignificantScan`.

    Examples
    --------
    >>> significant_switches(np.array([1, 501]), 1000, np.array([[0.0, 0.5], [0.5, 0.0]]))
    [508]
    """
    losses = np.asarray(losses, dtype=np.float64)
    if losses.ndim != 2:
        raise DriftduelError(f"the losses need 2 dimensions (segments, arms), not {losses.ndim}.")
    scan = SignificantScan(losses.shape[1], rounds, scale)
    scan.feed(starts, rounds + 1, losses)
    return scan.switches
