"""What each lane costs the people who vote, when several policies choose duels side by side.

The loss of a duel is what its two options lose, on average, against the best one: half of
(P(best beats the one) - 1/2) + (P(best beats the other) - 1/2). Nobody knows P, and it drifts, so
it is estimated in short blocks of votes. A policy prefers what happened to win in its own votes;
measured with the same votes it would look better than it is. So a lane is measured with the votes
of all the *other* lanes: their voters are others.

Nobody knows which one is best, either. If the votes that say who leads are the ones that say by how
much, the luckiest leads, and by too much. If others say who leads, it is sometimes the wrong one,
which is not so far ahead. The truth lies between the two: the one has the upper end of the
interval, the other the lower, and their mean is the estimate.

Votes of one block hang together, blocks do not, so the interval is that of a mean over blocks. It
is about what was shown, not about what a policy would cost with other voters. A change within a
block blurs it, which makes all lanes look cheaper.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from driftduel._intervals import student
from driftduel.logs.bradley_terry import bradley_terry, preferences_of
from driftduel.wording import counted, decimals, interval

__all__ = ["LaneLoss", "LanesCompared", "LossDifference"]

Floats = NDArray[np.float64]

_FEWEST_BLOCKS = 8
_LEAST = 100
_EACH = 30  # votes of the other lanes, for each option, that make a block
_LEADING = 0.25  # the prior's precision where somebody is to lead: not whoever won a single vote
# What a block adds of each lane: duels, and their losses by the one reckoning and the other.
_DUELS, _LOW, _HIGH = np.eye(3)


@dataclass(frozen=True)
class LaneLoss:
    """What a lane costs a duel, on average."""

    duels: int
    """That were shown and answered, or shown alone."""
    loss: float | None
    low: float | None
    high: float | None
    """None where there are too few votes to say."""


@dataclass(frozen=True)
class LossDifference:
    """How much more a duel costs in a lane than in the first one."""

    more: float | None
    low: float | None
    high: float | None

    @property
    def known(self) -> bool:
        """Whether it is known which of the two costs more."""
        return self.low is not None and self.high is not None and self.low * self.high > 0


class LanesCompared:
    """Adds up, block by block, what lanes cost.

    Parameters
    ----------
    lanes
        How many there are; with fewer than two there is nothing to compare.
    arms
        The number of options.
    """

    def __init__(self, lanes: int, arms: int) -> None:
        self.lanes, self.arms = lanes, arms
        self.duels = np.zeros(lanes, np.int64)
        """Of each lane so far: votes, and options that were shown alone."""
        self.votes = np.zeros(lanes, np.int64)
        self.blocks = 0
        # Of what blocks add, the sums and the sums of products: all that ratios and errors need.
        self._sums = np.zeros((3, lanes))
        self._products = np.zeros((3, lanes, 3, lanes))
        self._turn = 0
        self._begin()

    def _begin(self) -> None:
        self._new = np.zeros(self.lanes, np.int64)
        self._shown = np.zeros((self.lanes, self.arms))
        self._wins = np.zeros((self.lanes, 2, self.arms, self.arms))

    def widen(self) -> None:
        """Make room for one more option."""
        self.arms += 1
        self._shown = np.pad(self._shown, ((0, 0), (0, 1)))
        self._wins = np.pad(self._wins, ((0, 0), (0, 0), (0, 1), (0, 1)))

    def alone(self, lane: int, arm: int) -> None:
        """Count an option that was shown alone: it costs what it loses."""
        self.duels[lane] += 1
        if self.lanes > 1:
            self._shown[lane, arm] += 1.0

    def vote(self, lane: int, first: int, second: int, won: int, voter: str | None = None) -> None:
        """Count a vote: 1 if the first won, 0 if the second did, -1 for a tie.

        All votes of a voter are in the same half. A vote that is voided later stays: blocks that
        are over cannot be measured again.
        """
        self.duels[lane] += 1
        self.votes[lane] += 1
        if self.lanes < 2:
            return
        self._turn ^= 1
        half = self._turn if voter is None else sum(voter.encode()) & 1
        self._shown[lane, [first, second]] += 0.5
        ahead = 0.5 if won < 0 else float(won)
        self._wins[lane, half, first, second] += ahead
        self._wins[lane, half, second, first] += 1.0 - ahead
        self._new[lane] += 1
        if self._new.sum() - self._new.max() >= max(_LEAST, _EACH * self.arms):
            self._end()

    def _end(self) -> None:
        """Measure every lane with the votes of the others, and begin another block."""
        added = np.zeros((3, self.lanes))
        together = self._wins.sum(axis=0)
        for lane, shown in enumerate(self._shown):
            others = together - self._wins[lane]
            low = [_against(together.sum(axis=0) - half, half) @ shown for half in others]
            high = _against(others.sum(axis=0), others.sum(axis=0)) @ shown
            added[:, lane] = shown.sum(), np.mean(low), high
        self._sums += added
        self._products += added[:, :, None, None] * added
        self.blocks += 1
        self._begin()

    def losses(self) -> list[LaneLoss]:
        """Return what each lane costs."""
        found = []
        for lane, signs in enumerate(np.eye(self.lanes)):
            duels = int(self.duels[lane])
            if self._too_few(signs):
                found.append(LaneLoss(duels, None, None, None))
                continue
            (low, below), (high, above) = self._mean(_LOW, signs), self._mean(_HIGH, signs)
            found.append(LaneLoss(duels, (low + high) / 2, low - below, high + above))
        return found

    def difference(self, lane: int) -> LossDifference:
        """Return how much more a duel costs in a lane than in the first one."""
        signs = np.eye(self.lanes)[lane] - np.eye(self.lanes)[0]
        if self._too_few(signs):
            return LossDifference(None, None, None)
        more, half = self._mean((_LOW + _HIGH) / 2, signs)
        return LossDifference(more, more - half, more + half)

    def _too_few(self, signs: Floats) -> bool:
        return self.blocks < _FEWEST_BLOCKS or bool((self._sums[0, signs != 0] == 0).any())

    def _mean(self, losses: Floats, signs: Floats) -> tuple[float, float]:
        """Return a sum of lanes' mean losses, and half the width of its 95% interval.

        Each is a ratio of sums over blocks, loss by duels. What a block deviates from it is linear
        in what the block adds, so its square is a form in the sums of products.
        """
        duels = np.maximum(self._sums[0], 1.0)
        means = losses @ self._sums / duels
        weights = np.outer(losses, signs / duels) - np.outer(_DUELS, signs / duels * means)
        squares = np.tensordot(weights, np.tensordot(self._products, weights, 2), 2)
        error = np.sqrt(max(0.0, float(squares)) * self.blocks / (self.blocks - 1))
        return float(signs @ means), float(student(self.blocks - 1) * error)

    def says(self, names: list[str]) -> list[str]:
        """Say in a sentence for each lane but the first which of the two costs more."""
        sentences = []
        for lane in range(1, self.lanes):
            found, this, first = self.difference(lane), names[lane], names[0]
            if found.more is None:
                blocks = counted(_FEWEST_BLOCKS, "block")
                sentences.append(
                    f"Too few votes to say whether {this} or {first} costs voters less: it takes "
                    f"{blocks} of them, and there {'is' if self.blocks == 1 else 'are'} "
                    f"{self.blocks}."
                )
                continue
            ends = interval(found.low, found.high, lambda x: decimals(x, 3, sign=True))
            if found.known:
                word = "more" if found.more > 0 else "less"
                sentences.append(
                    f"A duel costs {decimals(abs(found.more), 3)} {word} with {this} than with "
                    f"{first} (95% interval of the difference {ends})."
                )
            else:
                sentences.append(
                    f"It is open whether {this} or {first} costs voters less (95% interval of the "
                    f"difference {ends})."
                )
        return sentences

    def to_plain(self) -> dict[str, Any]:
        """Return numbers and lists only, for a snapshot."""
        return {
            "lanes": self.lanes,
            "arms": self.arms,
            "duels": self.duels.tolist(),
            "blocks": self.blocks,
            "turn": self._turn,
            "votes": self.votes.tolist(),
            "new": self._new.tolist(),
            "sums": self._sums.tolist(),
            "products": self._products.tolist(),
            "shown": _sparse(self._shown),
            "wins": _sparse(self._wins),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return what a snapshot tells of."""
        lanes = cls(plain["lanes"], plain["arms"])
        lanes.duels = np.array(plain["duels"], np.int64)
        lanes.votes = np.array(plain["votes"], np.int64)
        lanes._new = np.array(plain["new"], np.int64)
        lanes.blocks, lanes._turn = plain["blocks"], plain["turn"]
        lanes._sums, lanes._products = np.array(plain["sums"]), np.array(plain["products"])
        for place, value in plain["shown"]:
            lanes._shown.flat[place] = value
        for place, value in plain["wins"]:
            lanes._wins.flat[place] = value
        return lanes


def _against(leading: Floats, measuring: Floats) -> Floats:
    """Return what each arm loses against who leads in some votes, measured with some."""
    leader = int(np.argmax(bradley_terry(leading, _LEADING)[0]))
    losses: Floats = preferences_of(bradley_terry(measuring)[0])[leader] - 0.5
    return losses


def _sparse(array: Floats) -> list[list[float]]:
    """Return the places and values of what is not zero."""
    return [[int(place), float(array.flat[place])] for place in np.flatnonzero(array)]
