"""Calibration: predicted probabilities, and how often the favourite then won."""

from dataclasses import dataclass

import numpy as np

from driftduel.logs.choice import predict
from driftduel.logs.posterior import Fit
from driftduel.logs.vote_model import expected_share

__all__ = ["CalibrationBin", "calibration", "wilson"]

_BINS = 10
_NORMAL = 1.959963984540054  # the 97.5% quantile


@dataclass(frozen=True)
class CalibrationBin:
    """Held-out votes with about the same predicted probability of the favourite."""

    predicted: float
    """The mean predicted probability of the favourite."""
    won: float
    """The share of votes that the favourite won."""
    low: float
    high: float
    """Wilson's 95% interval of the share; dependent votes count for less."""
    votes: float

    @property
    def agrees(self) -> bool:
        """Whether the predicted value lies in the interval."""
        return self.low <= self.predicted <= self.high


def calibration(fit: Fit) -> list[CalibrationBin]:
    """Predict held-out votes, and compare the predicted probabilities with the results.

    Parts of the votes are held out in turn, and each part is predicted from all others. A vote is
    counted once, from the side of its favourite, so predicted values are between 50 and 100%.
    """
    a, b = np.triu_indices(fit.counts.options, 1)
    votes, predicted, won = np.zeros(_BINS), np.zeros(_BINS), np.zeros(_BINS)
    for _, parts, (expected,) in predict(fit.counts, fit.phi, [fit.kind], fit.vote_model):
        placed = parts.sum(axis=0)
        # The predicted value is the share of votes as they were placed; a tie is half a win.
        P = np.clip(expected, 1e-12, 1 - 1e-12)
        chances = expected_share(placed, np.log(P / (1 - P)), fit.vote_model)
        held = placed.sum(axis=1)
        ahead, behind = held[:, a, b].ravel(), held[:, b, a].ravel()
        chance = chances[:, a, b].ravel()
        first = chance >= 0.5
        chance = np.where(first, chance, 1 - chance)
        place = np.minimum(((chance - 0.5) * 2 * _BINS).astype(np.int64), _BINS - 1)
        both = ahead + behind
        votes += np.bincount(place, both, _BINS)
        predicted += np.bincount(place, both * chance, _BINS)
        won += np.bincount(place, np.where(first, ahead, behind), _BINS)
    table = []
    for n, sum_predicted, sum_won in zip(votes, predicted, won, strict=True):
        if n > 0:
            part = float(sum_won / n)
            low, high = wilson(part, float(n) / fit.phi)
            table.append(CalibrationBin(float(sum_predicted / n), part, low, high, float(n)))
    return table


def wilson(part: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share observed in n cases."""
    spread = _NORMAL**2 / n
    middle = (part + spread / 2) / (1 + spread)
    reach = np.sqrt(part * (1 - part) * spread + spread**2 / 4) / (1 + spread)
    return float(max(0.0, middle - reach)), float(min(1.0, middle + reach))
