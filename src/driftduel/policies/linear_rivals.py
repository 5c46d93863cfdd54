"""Rivals with one filter of the utilities' coefficients: `lin-ucb`, `lin-ts`, `colstim`, `maxinp`.

They differ in the choice of the pair only. An option that joins is shown in the next round
and whenever its age has doubled. The
memory of the filter and the width of the optimism are prior knowledge.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import normal, uniform
from driftduel.policies._request_filters import (
    DEVIATION,
    forget,
    greatest,
    leverage,
    project_all,
    update,
    utility,
)
from driftduel.policies.base import Kernels
from driftduel.policies.fields import (
    ANY,
    CONSTANT,
    COUNT,
    MOST,
    PRESENT,
    Named,
    Within,
    records,
)
from driftduel.policies.registry import POLICIES
from driftduel.policies.requests import RequestPolicy, Width, move_centre, present
from driftduel.requests import Features, OneHot
from driftduel.specs import Range

__all__ = ["CoLSTIM", "LinTS", "LinUCB", "MaxInP"]

Memory = Annotated[
    float | None, Range(2), "rounds after which an answer counts 1/e; none: it counts forever"
]
_EULER = 0.5772156649015329  # the mean of the standard Gumbel distribution
_MOST_NOISE = 3.0


class LinearState(NamedTuple):
    """One filter, the prices, and scratch."""

    factor: Annotated[Any, Within(-MOST, MOST)]
    """(D, D) factor of the covariance."""
    mean: Annotated[Any, Within(-MOST, MOST)]
    """(D,) mean of the coefficients."""
    prices: Annotated[Any, Within(-MOST, MOST)]
    """(K,) prices in log-odds."""
    present: Annotated[Any, PRESENT]
    """(K,) whether the option is present."""
    joined: Annotated[Any, COUNT]
    """(K,) the round before the first one of an option that joined later, else 0."""
    due: Annotated[Any, COUNT]
    """(K,) the round from which on such an option is shown, else 0."""
    centre: Annotated[Any, Within(-1, 1)]
    """(d,) the mean of the last requests, about a thousand."""
    request: Annotated[Any, ANY]
    """(d,) scratch: the request of a past vote."""
    numbers: Annotated[Any, Named(clock=COUNT, memory=CONSTANT, width=CONSTANT)]
    """Rounds and past votes so far; the parameters."""
    spread: Annotated[Any, ANY]
    """(K, D) scratch: projections of the options."""
    work: Annotated[Any, ANY]
    """(D,) scratch."""
    values: Annotated[Any, ANY]
    """(K,) scratch: what options are compared by."""


@hot
def _begin(state: Any, x: Any) -> None:
    """Begin a round: write the utilities after prices and the projections."""
    if len(x) == 1:
        x[0] = 1.0  # the request of a policy without features
    state.numbers[0].clock += 1
    project_all(state.factor, x, state.spread)
    _write_net(state, x)


@hot
def _write_net(state: Any, x: Any) -> None:
    for i in range(len(state.values)):
        state.values[i] = utility(state.mean, i, x) - state.prices[i]


@hot
def _pass_round(state: Any, x: Any) -> None:
    numbers = state.numbers[0]
    forget(state.mean, state.factor, state.work, numbers.memory, numbers.clock)
    move_centre(state.centre, x, numbers.clock)


@hot
def _optimistic(state: Any, first: int, without: int, x: Any) -> int:
    """Return the option with the greatest optimistic advantage over the first, but `without`."""
    for i in range(len(state.values)):
        net = utility(state.mean, i, x) - state.prices[i]
        width = math.sqrt(leverage(state.spread, i, first))
        state.values[i] = net + state.numbers[0].width * width
    other = greatest(state.values, state.present, without)
    return first if other < 0 else other


@hot
def _perturb(state: Any, rng: Any, x: Any) -> None:
    """Write the utilities of a draw of the coefficients, mean + width S e, after prices."""
    size = len(state.work)
    for j in range(size):
        state.work[j] = normal(rng)
    _write_net(state, x)
    for i in range(len(state.values)):
        noise = 0.0
        for j in range(size):
            noise += state.spread[i, j] * state.work[j]
        state.values[i] += state.numbers[0].width * noise


@hot
def _gumbel(state: Any, rng: Any) -> None:
    """Add clipped and centred Gumbel noise times the deviation of each utility."""
    for i in range(len(state.values)):
        noise = -math.log(-math.log(max(uniform(rng), 1e-300))) - _EULER
        noise = min(_MOST_NOISE, max(-_MOST_NOISE, noise))
        deviation = 0.0
        for j in range(len(state.work)):
            deviation += state.spread[i, j] * state.spread[i, j]
        state.values[i] += state.numbers[0].width * noise * math.sqrt(deviation)


@hot
def _unbeaten(state: Any, i: int) -> bool:
    """Return whether no other option is better with confidence."""
    width = state.numbers[0].width
    for j in range(len(state.values)):
        if state.present[j] and j != i:
            ahead = state.values[i] - state.values[j]
            if ahead + width * math.sqrt(leverage(state.spread, i, j)) < 0.0:
                return False
    return True


@hot
def _most_uncertain(state: Any) -> Any:
    """Return the pair of unbeaten options with the largest variance; of one, that option twice."""
    first, second, most = -1, -1, -1.0
    for i in range(len(state.values)):
        if not (state.present[i] and _unbeaten(state, i)):
            continue
        if first < 0:
            first, second = i, i
        for j in range(i):
            if state.present[j] and _unbeaten(state, j):
                variance = leverage(state.spread, i, j)
                if variance > most:
                    first, second, most = j, i, variance
    if first < 0:  # rounding, or a damaged file
        first = greatest(state.values, state.present, -1)
        second = first
    return first, second


@hot
def _change(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    """Let an option leave or join; one that joins is shown in the next round."""
    state.present[arm] = here
    state.joined[arm] = here * state.numbers[0].clock
    state.due[arm] = here * (state.numbers[0].clock + 1)


@hot
def _show_newcomer(state: Any, first: int, second: int) -> int:
    """Return an option that joined and is due, or the second; it is due at doubling ages."""
    clock = state.numbers[0].clock
    for i in range(len(state.due)):
        if state.present[i] and 0 < state.due[i] <= clock and i != first:
            second = i
            break
    for i in range(len(state.due)):
        if 0 < state.due[i] <= clock and (i in (first, second)):
            state.due[i] = clock + (clock - state.joined[i])
    return second


def _choosers(choose: Any) -> Kernels:
    """Return the kernels of a rival; `choose(state, rng, x, panel)` chooses the pair."""
    chosen = hot(choose)

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        _begin(state, notes)
        first, second = chosen(state, rng, notes, False)
        second = _show_newcomer(state, first, second)
        _pass_round(state, notes)
        return first, second

    def ask_panel(state, rng, t, notes):  # type: ignore[no-untyped-def]
        _begin(state, notes)
        first, second = chosen(state, rng, notes, True)
        second = _show_newcomer(state, first, second)
        _pass_round(state, notes)
        return first, second

    kernels = Kernels(
        kernel(ask),
        _tell,
        best_guess=_best_guess,
        change=_change,
        present=present,
        add_past_vote=_add_past_vote,
        request=True,
    )
    return kernels._replace(panel=kernels._replace(ask=kernel(ask_panel)))


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first != second and won >= 0:
        update(state.mean, state.factor, state.work, first, second, notes, float(won), 1.0)
    return 0


@kernel
def _add_past_vote(state: Any, winner: int, loser: int, weight: float) -> None:
    state.numbers[0].clock += 1
    _pass_round(state, state.request)
    update(state.mean, state.factor, state.work, winner, loser, state.request, 1.0, weight)


@kernel
def _leader(state: Any, x: Any, prices: Any) -> int:
    """Return the option with the greatest mean utility after prices; the state stays as it is."""
    best, top = -1, 0.0
    for i in range(len(prices)):
        if state.present[i]:
            net = utility(state.mean, i, x) - prices[i]
            if best < 0 or net > top:
                best, top = i, net
    return best


@kernel
def _best_guess(state: Any) -> int:
    return _leader(state, state.centre, state.prices)


def _lin_ucb(state, rng, x, panel):  # type: ignore[no-untyped-def]
    first = greatest(state.values, state.present, -1)
    return first, _optimistic(state, first, first if panel else -1, x)


def _lin_ts(state, rng, x, panel):  # type: ignore[no-untyped-def]
    _perturb(state, rng, x)
    first = greatest(state.values, state.present, -1)
    _perturb(state, rng, x)
    second = greatest(state.values, state.present, first if panel else -1)
    return first, first if second < 0 else second


def _colstim(state, rng, x, panel):  # type: ignore[no-untyped-def]
    _gumbel(state, rng)
    first = greatest(state.values, state.present, -1)
    return first, _optimistic(state, first, first if panel else -1, x)


def _maxinp(state, rng, x, panel):  # type: ignore[no-untyped-def]
    first, second = _most_uncertain(state)
    if panel and first == second:
        second = _optimistic(state, first, first, x)
    return first, second


class LinearRival(RequestPolicy):
    """A policy with one filter; a subclass names the choice of the pair.

    Parameters
    ----------
    arms, rng
        The number of options K, and its randomness.
    features, one_hot
        The shape of a request.
    memory
        The memory of the filter in rounds; None: the filter has no discount.
    width
        The width of the optimism, or of the noise.
    """

    prior_knowledge = ("memory", "width")
    leader = staticmethod(_leader)
    in_panel = "the second option is the best of the others by the same rule"

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        features: int = 0,
        one_hot: bool = False,
        memory: float | None = None,
        width: float = 1.0,
    ) -> None:
        super().__init__(arms, rng, features, one_hot)
        d = self.request_shape.size
        size = arms * d
        self.state = LinearState(
            factor=DEVIATION * np.eye(size),
            mean=np.zeros(size),
            prices=np.zeros(arms),
            present=np.ones(arms, np.int64),
            joined=np.zeros(arms, np.int64),
            due=np.zeros(arms, np.int64),
            centre=np.zeros(d),
            request=np.zeros(d),
            numbers=records(1, clock=0, memory=float(memory or 0.0), width=float(width)),
            spread=np.zeros((arms, size)),
            work=np.zeros(size),
            values=np.zeros(arms),
        )


@POLICIES.register("lin-ucb")
class LinUCB(LinearRival):
    """Show the best option by the mean, and its most optimistic rival.

    The second option maximises the mean advantage over the first plus `width` standard deviations
    of the difference; if that is the first itself, it is shown alone. The form is common to dueling
    versions of LinUCB. The filter is a Gaussian approximation of the logistic posterior with prior
    deviation 2 and the discount of `memory` (Russac, Vernade and Cappé, *Weighted Linear Bandits
    for Non-Stationary Environments*, NeurIPS 2019, discount linear bandits in this way).

    Prior knowledge: `memory` and `width`. Guarantee: none known for this form. Late answers count
    when they come. Ties teach nothing. The policy draws no random numbers.

    Parameters
    ----------
    arms, rng, features, one_hot, memory, width
        As of every policy of this module.
    """

    draws = False
    guarantee = "none known for this form"
    source = "folklore; Russac, Vernade, Cappé: Weighted Linear Bandits, NeurIPS 2019"
    confidence = "a form of ours: the filter is not that of a paper"
    kernels: ClassVar[Kernels] = _choosers(_lin_ucb)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        features: Features = 0,
        one_hot: OneHot = False,
        memory: Memory = None,
        width: Width = 0.5,
    ) -> None:
        super().__init__(arms, rng, features, one_hot, memory, width)


@POLICIES.register("lin-ts")
class LinTS(LinearRival):
    """Draw the coefficients twice, and show the favourites of the two draws.

    A draw is mean + `width` S e with standard normal e. This is Thompson sampling for linear
    bandits (Agrawal and Goyal, ICML 2013), once for each option of the duel, as Self-Sparring does
    for independent arms.

    Prior knowledge: `memory` and `width`. Guarantee: none known for duels. Late answers count when
    they come. Ties teach nothing.

    Parameters
    ----------
    arms, rng, features, one_hot, memory, width
        As of every policy of this module.
    """

    guarantee = "none known for duels"
    source = "Agrawal, Goyal: Thompson Sampling for Contextual Bandits, ICML 2013"
    confidence = "a form of ours for duels: the filter is not that of the paper"
    kernels: ClassVar[Kernels] = _choosers(_lin_ts)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        features: Features = 0,
        one_hot: OneHot = False,
        memory: Memory = None,
        width: Width = 0.5,
    ) -> None:
        super().__init__(arms, rng, features, one_hot, memory, width)


@POLICIES.register("colstim")
class CoLSTIM(LinearRival):
    """Perturb the utilities with Gumbel noise for the first option; add its most optimistic rival.

    Bengs, Saha and Hüllermeier, *Stochastic Contextual Dueling Bandits under Linear Stochastic
    Transitivity Models*, ICML 2022. The noise is centred, clipped to [-3, 3] and multiplied by
    `width` standard deviations of each utility. The paper's clip and width grow with
    sqrt(d log T); here the width is a parameter, and the filter may forget.

    Prior knowledge: `memory` and `width`. Guarantee: the paper's regret bound is for its own
    constants, in stationary worlds. Late answers count when they come. Ties teach nothing.

    Parameters
    ----------
    arms, rng, features, one_hot, memory, width
        As of every policy of this module.
    """

    guarantee = "order sqrt(d T) up to logarithms, with the paper's constants, stationary"
    source = "Bengs, Saha, Hüllermeier: Stochastic Contextual Dueling Bandits, ICML 2022"
    confidence = "the rule is the paper's; estimator, clip and width are not"
    kernels: ClassVar[Kernels] = _choosers(_colstim)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        features: Features = 0,
        one_hot: OneHot = False,
        memory: Memory = None,
        width: Width = 1.0,
    ) -> None:
        super().__init__(arms, rng, features, one_hot, memory, width)


@POLICIES.register("maxinp")
class MaxInP(LinearRival):
    """Show the pair of largest uncertainty among the options that may be the best.

    Saha, *Optimal Algorithms for Stochastic Contextual Preference Bandits*, NeurIPS 2021. An option
    may be the best if no other is better by more than `width` standard deviations of the
    difference. If one is left, it is shown alone. The paper's width is 10 to 100 times larger; here
    it is a parameter, and the filter may forget.

    Prior knowledge: `memory` and `width`. Guarantee: the paper's regret bound is for its own
    constants, in stationary worlds. Late answers count when they come. Ties teach nothing. The
    policy draws no random numbers.

    Parameters
    ----------
    arms, rng, features, one_hot, memory, width
        As of every policy of this module.
    """

    draws = False
    guarantee = "order d sqrt(T) up to logarithms, with the paper's constants, stationary"
    source = "Saha: Optimal Algorithms for Stochastic Contextual Preference Bandits, NeurIPS 2021"
    confidence = "the rule is the paper's; estimator and width are not"
    kernels: ClassVar[Kernels] = _choosers(_maxinp)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        features: Features = 0,
        one_hot: OneHot = False,
        memory: Memory = None,
        width: Width = 1.0,
    ) -> None:
        super().__init__(arms, rng, features, one_hot, memory, width)
