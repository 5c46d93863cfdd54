"""Probability of one vote given two utilities: first-place advantage and ties.

With the gap g = u_a - u_b, and g + h in its place if a was shown first (g - h if b was), Davidson's
model of a vote is

    P(a) : P(tie) : P(b) = exp(g / 2) : nu : exp(-g / 2)

so that h is the advantage of the first place as a logit, and nu / (2 + nu) is the share of ties
between equal options. With h = nu = 0 this is the Bradley-Terry model. Among decided votes without
a first place the probability of a is always 1 / (1 + exp(-g)): all statements are about that.

The log likelihood depends on the votes through their sum of wins only, a tie being half a win for
each side. Votes are therefore stored as arrays (..., 2, K, K): wins of the row's option over the
column's while the row's option was shown first, and all its other wins.

References
----------
R. R. Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison
experiments, JASA 65, 1970. R. R. Davidson and R. J. Beaver, On extending the Bradley-Terry model to
incorporate within-pair order effects, Biometrics 33, 1977.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PLAIN",
    "VoteModel",
    "estimate_vote_model",
    "expected_share",
    "log_likelihood",
    "net_wins",
    "place_weights",
    "residuals",
    "vote_loss",
    "votes_by_place",
]  # fmt: skip

Floats = NDArray[np.float64]

_PRIOR = 0.5  # standard deviation of the first-place advantage
_MOST_STEPS = 30
_CLOSE = 1e-4
_LARGEST = 4.0  # largest logit of an advantage; with a larger value the first column is not a place


@dataclass(frozen=True)
class VoteModel:
    """Parameters of a vote that are shared by all pairs and times of a log."""

    first_place: float = 0.0
    """h: advantage of the option shown first, as a logit."""
    ties: float = 0.0
    """nu: weight of a tie."""
    error: float = 0.0
    """Standard error of `first_place`."""

    @property
    def plain(self) -> bool:
        """Whether this is the Bradley-Terry model without additional terms."""
        return self.first_place == 0.0 and self.ties == 0.0

    def moments(self, gaps: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of a vote (1 win, 1/2 tie, 0 loss) at these gaps."""
        half = np.exp(np.clip(gaps, -80.0, 80.0) / 2)
        total = half + 1 / half + self.ties
        mean = (half + self.ties / 2) / total
        variance: Floats = (half + self.ties / 4) / total - mean**2
        return mean, np.maximum(variance, 1e-300)


PLAIN = VoteModel()


def votes_by_place(wins: Floats, ahead: Floats) -> Floats:
    """Return votes by place (..., 2, K, K) from all wins and the wins while shown first."""
    return np.stack((ahead, wins - ahead), axis=-3)


def _split(votes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return wins of the row, and its votes while shown first and otherwise."""
    ahead, behind = votes[..., 0, :, :], votes[..., 1, :, :]
    first = ahead + behind.swapaxes(-1, -2)
    return ahead + behind, first, first.swapaxes(-1, -2)


def residuals(votes: Floats, gaps: Floats, model: VoteModel) -> tuple[Floats, Floats]:
    """Return wins minus expected wins, and their variance, for each pair: (..., K, K) both."""
    wins, first, second = _split(votes)
    mean, variance = model.moments(gaps + model.first_place)
    mean_2, variance_2 = model.moments(gaps - model.first_place)
    return wins - first * mean - second * mean_2, first * variance + second * variance_2


def place_weights(votes: Floats, gaps: Floats, model: VoteModel) -> Floats:
    """Return the derivative by h of the expected wins with the row's option first: (..., K, K)."""
    _, first, _ = _split(votes)
    weights: Floats = first * model.moments(gaps + model.first_place)[1]
    return weights


def expected_share(votes: Floats, gaps: Floats, model: VoteModel) -> Floats:
    """Return the expected share of wins (..., K, K) of each pair's votes, as they were placed.

    A pair without votes has the share of a pair without a first place.
    """
    _, first, second = _split(votes)
    total = first + second
    mean = model.moments(gaps + model.first_place)[0]
    if model.first_place == 0.0:
        return np.broadcast_to(mean, total.shape)
    mean_2 = model.moments(gaps - model.first_place)[0]
    return np.where(
        total > 0, (first * mean + second * mean_2) / np.maximum(total, 1e-300),
        model.moments(gaps)[0],
    )  # fmt: skip


def log_likelihood(votes: Floats, gaps: Floats, model: VoteModel) -> float:
    """Return the log likelihood of votes (..., 2, K, K); constants of the ties are left out."""
    ahead, behind = votes[..., 0, :, :], votes[..., 1, :, :].swapaxes(-1, -2)
    placed = gaps + model.first_place
    half = np.abs(placed) / 2
    total = half + np.log1p(np.exp(-2 * half) + model.ties * np.exp(-half))
    return float(((ahead - behind) / 2 * placed - (ahead + behind) * total).sum())


def vote_loss(votes: Floats, preferences: Floats, model: VoteModel) -> float:
    """Return the log-loss of votes under preferences (..., K, K) net of first place and ties.

    A tie counts as half a win for each side.
    """
    P = np.clip(preferences, 1e-9, 1 - 1e-9)
    mean = np.clip(model.moments(np.log(P / (1 - P)) + model.first_place)[0], 1e-9, 1 - 1e-9)
    behind = votes[..., 1, :, :].swapaxes(-1, -2)
    return float(-(votes[..., 0, :, :] * np.log(mean) + behind * np.log1p(-mean)).sum())


def net_wins(votes: Floats, gaps: Floats, model: VoteModel) -> Floats:
    """Return decided wins (..., K, K) without a first place that carry the same information.

    At the given gaps they have the score and the Fisher information of the votes. For the plain
    model they are the wins.
    """
    if model.plain:
        wins: Floats = votes.sum(axis=-3)
        return wins
    rest, information = residuals(votes, gaps, model)
    p = 1 / (1 + np.exp(-gaps))
    size = information / np.maximum(p * (1 - p), 1e-12)
    return np.clip(size * p + rest, 0.0, size)


def estimate_vote_model(
    stretches: Sequence[Floats], ties: float, *, placed: bool, start: VoteModel = PLAIN
) -> VoteModel:
    """Estimate h and nu from the votes of stretches, each with its own utilities.

    Parameters
    ----------
    stretches
        (2, K, K) votes of each stretch.
    ties
        Weight of all ties.
    placed
        Whether the log has a first place; otherwise h is 0.
    start
        Initial parameter values; by default the plain model.
    """
    from driftduel.logs.bradley_terry_fit import bradley_terry

    total = float(sum(votes.sum() for votes in stretches))
    if total <= 0 or (ties <= 0 and not placed):
        return PLAIN
    share = min(ties / total, 0.98)
    nu = start.ties or (2 * share / (1 - share) if ties > 0 else 0.0)
    model = VoteModel(start.first_place if placed else 0.0, nu)
    for _ in range(_MOST_STEPS):
        score, information, tied, spread = 0.0, 0.0, 0.0, 0.0
        for votes in stretches:
            u, factor = bradley_terry(votes, model=model)
            gaps = u[:, None] - u[None, :]
            _, first, _ = _split(votes)
            mean = model.moments(gaps + model.first_place)[0]
            weight = place_weights(votes, gaps, model)
            score += float((votes[0] - first * mean).sum())
            # The utilities are nuisance parameters: subtract their part of the information about h.
            cross = weight.sum(axis=1) - weight.sum(axis=0)
            absorbed = np.linalg.solve(factor, cross)
            information += float(weight.sum() - absorbed @ absorbed)
            if nu > 0:
                half = np.exp(np.clip(gaps + model.first_place, -80, 80) / 2)
                chance = model.ties / (half + 1 / half + model.ties)
                tied += float((first * chance).sum())
                spread += float((first * chance * (1 - chance)).sum())
        step, ratio = 0.0, 1.0
        precision = max(information, 0.0) + _PRIOR**-2
        if placed:
            step = (score - model.first_place / _PRIOR**2) / precision
            step = float(np.clip(step, -1, 1))
        if nu > 0:
            ratio = float(np.exp(np.clip((ties - tied) / max(spread, 1e-12), -1, 1)))
        h = float(np.clip(model.first_place + step, -_LARGEST, _LARGEST))
        error = precision**-0.5 if placed else 0.0
        model = VoteModel(h, float(np.clip(model.ties * ratio, 0, 1e3)), error)
        if abs(step) < _CLOSE and abs(ratio - 1) < _CLOSE:
            break
    return model
