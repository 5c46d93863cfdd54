"""Policies whose utilities depend on a request: their shared base class."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from driftduel._internal.compiler import entry, hot
from driftduel.errors import DriftduelError
from driftduel.policies.base import KernelPolicy
from driftduel.policies.fields import MOST, Within
from driftduel.requests import RequestShape
from driftduel.specs import Range

__all__ = [
    "MOST_COEFFICIENTS", "RequestPolicy", "Width", "change", "check_coefficients", "move_centre",
    "present",
]  # fmt: skip

MOST_COEFFICIENTS = 512
"""The largest number D of coefficients, options times the size of a scaled request."""
_CENTRE_MEMORY = 1000
_NOTE = Within(-1.0, 1.0)

Width = Annotated[
    float, Range(0), "width of the optimism, in standard deviations of the difference"
]


class RequestPolicy(KernelPolicy):
    """A policy that takes a request with every duel, and a price for every option.

    The utility of option i for the scaled request x is theta_i . x, and option i is preferred to j
    with probability sigma(theta_i . x - theta_j . x). Choices and `best` subtract the prices;
    answers are about quality, so prices are never learned. The notes of a duel are its scaled
    request, which is sufficient for learning. With ``features=0`` the policy takes no request, and
    plays the ordinary duel with d = 1.

    A subclass has a state with the fields `prices`, `present`, `centre` and `request`, and a kernel
    `leader(state, x, prices)`.

    Parameters
    ----------
    arms, rng
        The number of options K, and its randomness.
    features, one_hot
        The shape of a request, see `RequestShape`.
    """

    leader: Any
    """Kernel: the best option for a scaled request after prices."""

    def __init__(
        self, arms: int, rng: np.random.Generator, features: int = 0, one_hot: bool = False
    ) -> None:
        shape = RequestShape(features, one_hot).check()
        if isinstance(arms, int | np.integer):
            check_coefficients(int(arms), shape)
        self.request_shape = shape
        self.notes = (_NOTE,) * shape.size  # type: ignore[misc]
        super().__init__(arms, rng)
        self._leader: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the content of a copy, without the compiled function."""
        return {**super().__getstate__(), "_leader": None}

    def set_prices(self, prices: ArrayLike) -> None:
        """Replace the prices of all options, present or not; allowed at any time.

        Parameters
        ----------
        prices
            (K,) log-odds: with a price of 0.2 an option is worth it if it is preferred to a free
            one in 55% of the votes.
        """
        self.state.prices[:] = self.checked_prices(prices)

    def best(self, request: Any = None, prices: ArrayLike | None = None) -> int | None:
        """Return the option to ship for a request after prices; the method changes nothing.

        Parameters
        ----------
        request
            Its numbers, as in `ask`; None for the mean of the last requests.
        prices
            Other prices than those of the policy.
        """
        if request is None and prices is None:
            return super().best()
        x = self.state.centre if request is None else np.array(self.scaled(request))
        return self.best_on_average(x, prices)

    def best_on_average(self, mean: Any, prices: ArrayLike | None = None) -> int:
        """Return the option with the greatest mean utility after prices over some requests.

        Parameters
        ----------
        mean
            (d,) the mean of their scaled requests: utilities are linear in the scaled request.
        prices
            Other prices than those of the policy.
        """
        state = self.state
        own = state.prices if prices is None else self.checked_prices(prices)
        if self._leader is None or self._leader[0] is not state:
            self._leader = state, entry(self.leader, state, state.centre, state.prices)
        return int(self._leader[1](state, mean, own))

    def add_past_vote(
        self,
        first: int,
        second: int,
        winner: int | None,
        weight: float = 1.0,
        request: Any = None,
    ) -> None:
        """Learn from a vote on a pair that this policy did not choose; allowed at any time.

        Half of a tie counts for each option. A vote is a round of forgetting, so old votes are
        discounted.

        Parameters
        ----------
        first, second, winner, weight
            As in `Policy.add_past_vote`.
        request
            The request for which the vote was cast.
        """
        self.check_vote(first, second, winner, weight)
        self.state.request[:] = self.scaled(request)
        super().add_past_vote(first, second, winner, weight)

    def checked_prices(self, prices: ArrayLike) -> Any:
        """Return prices as an array, or raise."""
        try:
            array = np.array(prices, np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.empty(0)
        if array.shape != (self.arms,) or not (abs(array) <= MOST).all():
            raise DriftduelError(
                f"prices={_short(prices)} must be {self.arms} finite numbers in log-odds, one for "
                f"each option."
            )
        return array


def _short(value: Any) -> str:
    text = repr(list(value) if isinstance(value, Sequence) else value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_coefficients(options: int, shape: RequestShape) -> None:
    """Raise DriftduelError if options times numbers of a request are more than the filters take."""
    if options * shape.size > MOST_COEFFICIENTS:
        raise DriftduelError(
            f"{options} options x {shape.size} numbers of a scaled request are "
            f"{options * shape.size} coefficients, more than {MOST_COEFFICIENTS}; use fewer "
            f"features."
        )


@hot
def present(state: Any, arm: int) -> int:
    """Return 1 if an option is present."""
    return int(state.present[arm])


@hot
def change(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    """Let an option leave or join; its coefficients continue to be forgotten."""
    state.present[arm] = here


@hot
def move_centre(centre: Any, x: Any, clock: int) -> None:
    """Update the mean of the last requests."""
    step = 1.0 / min(max(clock, 1), _CENTRE_MEMORY)
    for k in range(len(x)):
        centre[k] += (x[k] - centre[k]) * step
