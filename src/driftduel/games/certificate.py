"""Certificates: the votes of a game that prove the best arm, the top k, or the ranking.

Each vote is counted for its pair. A pair is *decided* when the e-value of `driftduel.evidence`
reaches the number of pairs that matter, divided by the error level. Decided pairs are closed under
transitivity. The answer is certified when every pair of two blocks is decided: the best arm and the
rest, the top k and the rest, or all ranks.

A wrong certificate needs a decided pair of two blocks in the wrong direction. Each such pair is
ever decided wrongly with probability at most error / pairs, whatever chooses the duels, if
preferences are stationary; so a certificate is wrong with probability at most `error`.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import hot
from driftduel.evidence import ALPHA, log_e_value
from driftduel.games.identification import checkpoints
from driftduel.games.observer import Observer
from driftduel.policies import Policy
from driftduel.worlds import NO_LINK, Chunk

__all__ = ["CertificateObserver", "votes_needed"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST_LOSSES = 200_000
# Places in the array of counters.
_NOW, _MARK, _CERTIFIED, _OWN, _OWN_ARM = range(5)


@lru_cache(maxsize=8)
def votes_needed(losses: int, log_bar: float) -> Ints:
    """Return the fewest wins whose e-value reaches a bar, for 0, 1, ..., `losses` losses.

    Examples
    --------
    >>> import math
    >>> votes_needed(3, math.log(40)).tolist()
    [8, 11, 14, 16]
    """
    lost = np.arange(losses + 1, dtype=np.float64)
    low = lost - 1  # not enough
    span = 2 * log_bar + 10 + 4 * np.sqrt((lost + 1) * (log_bar + np.log(lost + 2) + 2))
    high = lost + np.ceil(span)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        enough = log_e_value(np.maximum(middle, 0.0), lost) >= log_bar
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high.astype(np.int64)


class _CertificateArrays(NamedTuple):
    """The arrays of a certificate."""

    wins: Any
    """(K, K) votes that i won against j."""
    above: Any
    """(K, K) whether i is decided to be better than j, directly or by transitivity."""
    needed: Any
    """Wins that decide a pair, by the number of losses."""
    cut: Any
    """(K,) whether rank r and rank r + 1 are in different blocks."""
    marks: Any
    named: Any
    """(marks, K) the arms in the order named at each checkpoint, best first."""
    certified: Any
    """(K,) the arms in the order of the certificate."""
    scores: Any
    """(K,) scratch."""
    counters: Any


@hot
def _note(seen, t, leader):  # type: ignore[no-untyped-def]
    seen.counters[_NOW] = t
    mark = seen.counters[_MARK]
    if mark < len(seen.marks) and t - 1 == seen.marks[mark]:
        _rank(seen, seen.named[mark])
        seen.counters[_MARK] = mark + 1


@hot
def _declare(seen, t, arm):  # type: ignore[no-untyped-def]
    if arm >= 0 and seen.counters[_OWN] < 0:
        seen.counters[_OWN], seen.counters[_OWN_ARM] = t - 1, arm


@hot
def _rank(seen, named):  # type: ignore[no-untyped-def]
    """Write the arms by their smoothed shares of wins, averaged over rivals, best first."""
    arms, wins = len(named), seen.wins
    for i in range(arms):
        seen.scores[i] = 0.0
        for j in range(arms):
            if i != j:
                seen.scores[i] += (wins[i, j] + 1.0) / (wins[i, j] + wins[j, i] + 2.0)
    _sort(seen.scores, named)


@hot
def _sort(scores, named):  # type: ignore[no-untyped-def]
    """Write the arms by their scores, best first; equal ones by their numbers."""
    for arm in range(len(named)):
        place = arm
        while place > 0 and scores[named[place - 1]] < scores[arm]:
            named[place] = named[place - 1]
            place -= 1
        named[place] = arm


@hot
def _count(seen, first, second, won):  # type: ignore[no-untyped-def]
    if first == second or won < 0:
        return
    winner = first if won == 1 else second
    loser = first + second - winner
    seen.wins[winner, loser] += 1
    lost = seen.wins[loser, winner]
    if seen.counters[_CERTIFIED] >= 0 or seen.above[winner, loser] or lost >= len(seen.needed):
        return
    if seen.wins[winner, loser] >= seen.needed[lost]:
        _decide(seen, winner, loser)
        if _is_certified(seen):
            seen.counters[_CERTIFIED] = seen.counters[_NOW]


@hot
def _decide(seen, winner, loser):  # type: ignore[no-untyped-def]
    """Put one arm above another, and add the order that follows by transitivity."""
    arms, above = seen.wins.shape[0], seen.above
    for i in range(arms):
        if i == winner or above[i, winner]:
            for j in range(arms):
                if j == loser or above[loser, j]:
                    above[i, j] = True


@hot
def _is_certified(seen):  # type: ignore[no-untyped-def]
    """Order the arms by how many they are above; return whether all blocks are separated."""
    arms, order = seen.wins.shape[0], seen.certified
    for i in range(arms):
        seen.scores[i] = 0.0
        for j in range(arms):
            if seen.above[i, j]:
                seen.scores[i] += 1.0
    _sort(seen.scores, order)
    for low in range(1, arms):
        for high in range(low):
            apart = False
            for rank in range(high, low):
                apart = apart or seen.cut[rank]
            if apart and not seen.above[order[high], order[low]]:
                return False
    return True


class CertificateObserver(Observer):
    """The votes that prove the best arm, the top k, or the ranking, and the ranking named.

    The ranking named after n votes orders the arms by their shares of wins, smoothed by one win
    and one loss for each pair and averaged over rivals; it is the same estimate for every policy.

    Parameters
    ----------
    arms, rounds
        The size of the game.
    top
        The number k of arms to separate from the rest; 0 for all ranks.
    error
        The probability of a wrong certificate, at most.
    """

    note = staticmethod(_note)
    count = staticmethod(_count)
    declare = staticmethod(_declare)

    def __init__(self, arms: int, rounds: int, top: int = 1, error: float = ALPHA) -> None:
        self.rounds, self.error = rounds, error
        cut = np.zeros(arms, np.bool_)
        cut[: arms - 1] = not top
        if top:
            cut[top - 1] = True
        self.pairs = top * (arms - top) if top else arms * (arms - 1) // 2
        marks = checkpoints(rounds)
        counters = np.full(5, -1, np.int64)
        counters[[_NOW, _MARK]] = 0
        needed = votes_needed(min(rounds, _MOST_LOSSES) // 2 + 1, float(np.log(self.pairs / error)))
        self.seen = _CertificateArrays(
            wins=np.zeros((arms, arms), np.int64),
            above=np.zeros((arms, arms), np.bool_),
            needed=needed,
            cut=cut,
            marks=marks,
            named=np.zeros((len(marks), arms), np.int64),
            certified=np.zeros(arms, np.int64),
            scores=np.zeros(arms),
            counters=counters,
        )
        block = np.concatenate(([0], np.cumsum(cut[: arms - 1])))
        self._apart = block[:, None] < block[None, :]
        self._chunk: Chunk | None = None
        self.shares = np.zeros(len(marks))
        """The share of pairs of two blocks that are right in the ranking named at a checkpoint."""
        self._examined = 0
        self._right: bool | None = None
        self._own_right: bool | None = None

    def expect(self, chunk: Chunk) -> None:
        """Compare what was named in the chunk before with the truth."""
        self._examine()
        self._chunk = chunk

    def finish(self, policy: Policy) -> None:
        """Take the ranking after the last vote."""
        _note(self.seen, self.rounds + 1, -1)
        own = policy.declared()
        if own is not None:
            _declare(self.seen, self.rounds + 1, own)
        self._examine()

    def _examine(self) -> None:
        chunk, counters = self._chunk, self.seen.counters
        if chunk is None:
            return
        for mark in range(self._examined, int(counters[_MARK])):
            better = self._better(chunk, int(self.seen.marks[mark]) + 1)
            self.shares[mark] = self._share(better, self.seen.named[mark])
        self._examined = int(counters[_MARK])
        if counters[_CERTIFIED] >= 0 and self._right is None:
            better = self._better(chunk, int(counters[_CERTIFIED]))
            self._right = bool(self._share(better, self.seen.certified) == 1)
        if counters[_OWN] >= 0 and self._own_right is None:
            better = self._better(chunk, int(counters[_OWN]) + 1)
            others = np.arange(len(better)) != counters[_OWN_ARM]
            self._own_right = bool((better[counters[_OWN_ARM], others] >= 0).all())

    def _better(self, chunk: Chunk, t: int) -> NDArray[np.int64]:
        """Return 1 where i beats j in round t, -1 where j beats i, 0 where they are equal."""
        t = min(max(t, int(chunk.starts[0])), chunk.end - 1, self.rounds)
        row = int(chunk.rows[np.searchsorted(chunk.starts, t, side="right") - 1])
        if chunk.link == NO_LINK:
            signs = np.sign(chunk.matrices[row] - 0.5)
        else:
            utilities = chunk.utilities[row]
            signs = np.sign(utilities[:, None] - utilities[None, :])
        found: NDArray[np.int64] = np.nan_to_num(signs).astype(np.int64)
        return found

    def _share(self, better: NDArray[np.int64], order: Ints) -> float:
        """Return the share of pairs of two blocks whose order is not wrong."""
        ranked = better[np.ix_(order, order)]
        return float((ranked[self._apart] >= 0).mean())

    @property
    def votes(self) -> int:
        """The votes after which the answer is certified; rounds + 1 if it is not."""
        votes = int(self.seen.counters[_CERTIFIED])
        return self.rounds + 1 if votes < 0 else votes

    @property
    def is_right(self) -> bool | None:
        """Whether the certified answer is right; None without a certificate."""
        return self._right

    @property
    def own_votes(self) -> int:
        """The votes after which the policy itself declares the best arm; rounds + 1 if never."""
        votes = int(self.seen.counters[_OWN])
        return self.rounds + 1 if votes < 0 else votes

    @property
    def own_is_right(self) -> bool | None:
        """Whether no arm is better than the declared one; None without a declaration."""
        return self._own_right

    @property
    def settled(self) -> int:
        """The votes from which on the ranking named is right at all checkpoints."""
        wrong = np.flatnonzero(self.shares < 1)
        if not len(wrong):
            return 0
        last = int(wrong[-1])
        return self.rounds + 1 if last + 1 == len(self.shares) else int(self.seen.marks[last + 1])
