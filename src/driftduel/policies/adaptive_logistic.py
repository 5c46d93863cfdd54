"""`adaptive-logistic`: logistic utilities of requests, with the forgetting chosen by evidence."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._request_filters import (
    DEVIATION,
    NO_MEMORY,
    forget,
    greatest,
    leverage,
    project_all,
    update,
    utility,
)
from driftduel.policies.base import RESTARTED, Kernels
from driftduel.policies.fields import ANY, COUNT, MOST, PRESENT, Named, Within, records
from driftduel.policies.info import Contest, nearest_first
from driftduel.policies.registry import POLICIES
from driftduel.policies.requests import RequestPolicy, change, move_centre, present
from driftduel.requests import Features, OneHot

__all__ = ["AdaptiveLogistic"]

_FILTERS = 7
_LAST = _FILTERS - 1  # the filter without forgetting
_SHORTEST, _RATIO = 8.0, 2.5  # memories 8 D 2.5^m
_GROWTH = 0.5
_START = 50.0
_INHERIT = 1.5
_CONTEST = 2.0
_SLACK = 0.4
_PACE = 6.0
_MOST_DEBT = -20.0
_FOLLOW_UP, _FOLLOW_UP_DEBT = 0.2, -5.0
_KNOWN, _UNKNOWN = 0.5, 1.5  # width in known directions, and the addition in unknown ones
_WIDE = 2.0
_FRESH = 0.5  # share of the prior variance above which a pair counts as unknown


class AdaptiveLogisticState(NamedTuple):
    """Seven filters, the evidence between them, and the account of the duels."""

    factor: Annotated[Any, Within(-MOST, MOST)]
    """(7, D, D) factors of the covariances."""
    mean: Annotated[Any, Within(-MOST, MOST)]
    """(7, D) means of the coefficients."""
    evidence: Annotated[Any, Within(0, MOST)]
    """(7, 7) excursion of the log score of filter m over that of filter l, at [l, m]."""
    starts: Annotated[Any, COUNT]
    """(7,) how many excursions against filter l have started since the first round."""
    prices: Annotated[Any, Within(-MOST, MOST)]
    """(K,) prices in log-odds."""
    present: Annotated[Any, PRESENT]
    """(K,) whether the option is present."""
    centre: Annotated[Any, Within(-1, 1)]
    """(d,) the mean of the last requests, about a thousand."""
    request: Annotated[Any, ANY]
    """(d,) scratch: the request of a past vote."""
    numbers: Annotated[
        Any,
        Named(
            clock=COUNT,
            alarms=COUNT,
            turn=COUNT,
            active=Within(0, _LAST),
            due=Within(_MOST_DEBT, 1),
        ),
    ]
    """Rounds and past votes so far; replacements of the filter without forgetting; looks into
    unknown directions; the filter that chooses; duels that are owed."""
    spread: Annotated[Any, ANY]
    """(K, D) scratch: projections of the options."""
    work: Annotated[Any, ANY]
    """(D,) scratch."""
    values: Annotated[Any, ANY]
    """(K,) scratch: what options are compared by."""
    scores: Annotated[Any, ANY]
    """(7,) scratch: log scores of one answer."""


@hot
def _memory(size: int, m: int) -> float:
    """Return the memory of filter m in rounds."""
    if m == _LAST:
        return NO_MEMORY
    return _SHORTEST * size * _RATIO**m


@hot
def _longer(size: int, rounds: float, most: int) -> int:
    """Return the index of the first filter with at least this memory in rounds; at most `most`."""
    for m in range(most):
        if _memory(size, m) >= rounds:
            return m
    return most


@hot
def _write_net(state: Any, m: int, x: Any) -> None:
    """Write the utilities after prices by filter m into the scratch `values`."""
    for i in range(len(state.values)):
        state.values[i] = utility(state.mean[m], i, x) - state.prices[i]


@hot
def _rival(
    state: Any, m: int, leader: int, x: Any, known: float, unknown: float, least: float,
    follow: bool, top: float,
) -> int:  # fmt: skip
    """Return the option with the greatest optimistic advantage over the leader, if above `top`.

    After `project_all` of filter m. The width of a pair is `known` plus `unknown` times the share
    of its prior variance that is left. Only pairs with a share of at least `least` count or, with
    `follow`, those with an option that leads by the mean of the filter. The default is the leader.
    """
    best = leader
    base = utility(state.mean[m], leader, x) - state.prices[leader]
    for i in range(len(state.values)):
        if i == leader or not state.present[i]:
            continue
        net = utility(state.mean[m], i, x) - state.prices[i] - base
        variance = leverage(state.spread, i, leader)
        share = variance / (2.0 * DEVIATION * DEVIATION)
        if share < least and not (follow and net > 0.0):
            continue
        value = net + math.sqrt(variance) * (known + unknown * share)
        if value > top:
            best, top = i, value
    return best


@hot
def _best_predictor(state: Any, active: int) -> int:
    """Return the shorter filter with the most evidence against the active one; 0 if none."""
    best = 0
    for m in range(1, active):
        if state.evidence[active, m] > state.evidence[active, best]:
            best = m
    return best


@hot
def _set_active(state: Any) -> None:
    """Choose the first filter that is long enough for the rate of changes so far."""
    numbers = state.numbers[0]
    rounds = _SLACK * numbers.clock / (0.5 + numbers.alarms)
    numbers.active = _longer(len(state.work), rounds, _LAST)


@hot
def _pass_round(state: Any, x: Any) -> None:
    """Discount all filters by one round."""
    numbers = state.numbers[0]
    for m in range(_LAST):
        forget(
            state.mean[m], state.factor[m], state.work, _memory(len(state.work), m), numbers.clock
        )
    move_centre(state.centre, x, numbers.clock)


@hot
def _challenged(state: Any, leader: int, x: Any) -> int:
    """Return the favourite of a shorter filter that predicts better, or the leader."""
    active = state.numbers[0].active
    if active > 0:
        m = _best_predictor(state, active)
        if state.evidence[active, m] > _CONTEST:
            _write_net(state, m, x)
            return greatest(state.values, state.present, -1)
    return leader


@kernel
def _second(state: Any, leader: int, x: Any) -> int:
    """Return the second option of a round in serve mode; the leader means that it is alone."""
    numbers = state.numbers[0]
    size = len(state.work)
    rate = (0.5 + numbers.alarms) / numbers.clock
    active = numbers.active
    second = _challenged(state, leader, x)
    if second == leader:
        project_all(state.factor[active], x, state.spread)
        second = _rival(state, active, leader, x, _KNOWN, _UNKNOWN, 0.0, False, 0.0)
        if second == leader and numbers.due >= 1.0:
            numbers.turn += 1
            if numbers.turn % 2 == 0 or active == 0:
                second = _rival(state, active, leader, x, _WIDE, 0.0, 0.0, False, 0.0)
    if second == leader and active > 0:
        looked = -1
        if numbers.due > _FOLLOW_UP_DEBT:
            looked = _longer(size, 1.0 / math.sqrt(rate), active - 1)
            follow = state.evidence[active, looked] > _FOLLOW_UP
            least = _FRESH if numbers.due >= 1.0 else np.inf
            if follow or numbers.due >= 1.0:
                project_all(state.factor[looked], x, state.spread)
                second = _rival(state, looked, leader, x, 1.0, 0.0, least, follow, 0.0)
            else:
                looked = -1
        if second == leader:
            m = _longer(size, 0.5 * size / math.sqrt(rate), active - 1)
            if m != looked:
                project_all(state.factor[m], x, state.spread)
            second = _rival(state, m, leader, x, 1.0, 0.0, _FRESH, False, 0.0)
    numbers.due = min(1.0, numbers.due + _PACE * math.sqrt(rate))
    if second != leader:
        numbers.due = max(numbers.due - 1.0, _MOST_DEBT)
    return second


@hot
def _begin(state: Any, notes: Any) -> int:
    """Begin a round and return the leader of the active filter."""
    if len(notes) == 1:
        notes[0] = 1.0  # the request of a policy without features
    numbers = state.numbers[0]
    numbers.clock += 1
    _set_active(state)
    _write_net(state, numbers.active, notes)
    return greatest(state.values, state.present, -1)


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    leader = _begin(state, notes)
    second = _second(state, leader, notes)
    _pass_round(state, notes)
    return leader, second


@hot
def _ask_panel(state: Any, rng: Any, t: int, notes: Any) -> Any:
    leader = _begin(state, notes)
    second = _challenged(state, leader, notes)
    if second == leader:
        active = state.numbers[0].active
        project_all(state.factor[active], notes, state.spread)
        second = _rival(state, active, leader, notes, _KNOWN, _UNKNOWN, 0.0, False, -np.inf)
    _pass_round(state, notes)
    return leader, second


@hot
def _learn(state: Any, first: int, second: int, x: Any, won: float, weight: float) -> None:
    """Let all filters learn one outcome; write their log scores into `scores`."""
    for m in range(_FILTERS):
        state.scores[m] = update(
            state.mean[m], state.factor[m], state.work, first, second, x, won, weight
        )


@kernel
def _inherit(state: Any, old: int, heir: int) -> None:
    """Replace a filter by a shorter one; the evidence for and against it starts again."""
    for i in range(len(state.work)):
        state.mean[old, i] = state.mean[heir, i]
        for j in range(len(state.work)):
            state.factor[old, i, j] = state.factor[heir, i, j]
    for m in range(old):
        state.evidence[old, m] = 0.0
    for k in range(old + 1, _FILTERS):
        state.evidence[k, old] = 0.0


@kernel
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second or won < 0:
        return 0
    _learn(state, first, second, notes, float(won), 1.0)
    evidence, starts, scores = state.evidence, state.starts, state.scores
    flags = 0
    for l in range(_LAST, 0, -1):  # noqa: E741 - the letter of the page
        most = 0.0
        for m in range(l):
            if evidence[l, m] == 0.0:
                starts[l] += 1
            evidence[l, m] = max(0.0, evidence[l, m] + scores[m] - scores[l])
            most = max(most, evidence[l, m])
        bar = math.log(_START + _GROWTH * starts[l])
        if most <= bar:
            continue
        heir = l - 1
        while evidence[l, heir] <= bar - _INHERIT:
            heir -= 1
        _inherit(state, l, heir)
        if l == _LAST:
            state.numbers[0].alarms += 1
            flags = RESTARTED
    return flags


@kernel
def _add_past_vote(state: Any, winner: int, loser: int, weight: float) -> None:
    x = state.request
    state.numbers[0].clock += 1
    _set_active(state)
    _pass_round(state, x)
    _learn(state, winner, loser, x, 1.0, weight)


@kernel
def _leader(state: Any, x: Any, prices: Any) -> int:
    """Return the best option for a request by the active filter; the state stays as it is."""
    best, top = -1, 0.0
    for i in range(len(prices)):
        if state.present[i]:
            net = utility(state.mean[state.numbers[0].active], i, x) - prices[i]
            if best < 0 or net > top:
                best, top = i, net
    return best


@kernel
def _best_guess(state: Any) -> int:
    return _leader(state, state.centre, state.prices)


_KERNELS = Kernels(
    _ask,
    _tell,
    best_guess=_best_guess,
    change=change,
    present=present,
    add_past_vote=_add_past_vote,
    request=True,
)


@POLICIES.register("adaptive-logistic")
class AdaptiveLogistic(RequestPolicy):
    """Route requests by logistic utilities, and choose the forgetting by evidence.

    Ours. Without prior knowledge of the changes: no horizon, number of switches or memory.

    - **Filters.** Seven Gaussian filters of the coefficients learn from every answer. Filter m
      has a memory of 8 D 2.5^m rounds (D = K d coefficients), the last one has no discount.
    - **Evidence.** For each filter and each shorter one the log scores of their predictions are
      compared by a sum that starts again at 0 whenever it is negative. When such an excursion
      exceeds log(50 + B / 2) after B starts, the longer filter predicts worse: it is replaced by
      the longest shorter one with nearly as much evidence. If that is the filter without a
      discount, it is an *alarm*, listed as a restart.
    - **Choice.** The active filter has at least 0.4 t / (1/2 + alarms) rounds of memory. The first
      option is its favourite for the request, after prices. The second is the favourite of a
      shorter filter with evidence above 2 against the active one; else the option with the greatest
      optimistic advantage, with a width of 1/2 standard deviations for known directions and up to
      2 for unknown ones; else, when a duel is due, an option about which shorter filters are
      uncertain. Duels are due like matches of `king`, 6 sqrt((1/2 + alarms) / t) a round, and every
      duel counts. Otherwise the first option is shown alone.

    **Guaranteed**: if the predictions of the filter without a discount are the true conditional
    probabilities, at most 2 log(1 + B / 100) false alarms are expected in B starts (see the page
    on requests). This does not cover the Gaussian approximation, nor utilities that are not linear
    in the scaled request. **Only measured**: the regret.

    **Late answers** count when they come, with the request of their duel. **Ties** and forgotten
    duels teach nothing. **Options come and go**: an absent option is never shown, and its
    coefficients continue to be forgotten; a new one has the prior. **Past votes** are taken at any
    time. **In panels** the second option is the best of the others by the same optimistic rule. The
    policy draws no random numbers.

    Parameters
    ----------
    arms, rng
        The number of options K, and its randomness.
    features, one_hot
        The shape of a request, see `driftduel.requests`.
    """

    guarantee: ClassVar[str] = (
        "2 log(1 + B / 100) false alarms in B starts of the evidence, if the model holds; regret "
        "only measured"
    )
    in_panel: ClassVar[str] = (
        "a dedicated form: the best of the other options, optimistically; the same guarantee"
    )
    alerts: ClassVar[bool] = True
    draws: ClassVar[bool] = False
    source: ClassVar[str] = "ours"
    confidence: ClassVar[str] = "our own"
    kernels: ClassVar[Kernels] = _KERNELS._replace(panel=_KERNELS._replace(ask=_ask_panel))
    leader = staticmethod(_leader)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        features: Features = 0,
        one_hot: OneHot = False,
    ) -> None:
        super().__init__(arms, rng, features, one_hot)
        d = self.request_shape.size
        size = arms * d
        self.state = AdaptiveLogisticState(
            factor=np.tile(DEVIATION * np.eye(size), (_FILTERS, 1, 1)),
            mean=np.zeros((_FILTERS, size)),
            evidence=np.zeros((_FILTERS, _FILTERS)),
            starts=np.zeros(_FILTERS),
            prices=np.zeros(arms),
            present=np.ones(arms, np.int64),
            centre=np.zeros(d),
            request=np.zeros(d),
            numbers=records(1, clock=0, alarms=0, turn=0, active=0, due=0.0),
            spread=np.zeros((arms, size)),
            work=np.zeros(size),
            values=np.zeros(arms),
            scores=np.zeros(_FILTERS),
        )

    def contest(self) -> Contest:
        """Return the odds of the options against the leader, for the mean request."""
        state = self.state
        mean = state.mean[state.numbers[0].active].reshape(self.arms, -1)
        net = mean @ state.centre - state.prices
        leader = self.best()
        rivals = [arm for arm in self.present if arm != leader]
        odds = np.exp(np.clip(net[rivals] - net[leader], -700.0, 0.0))
        return Contest(challengers=nearest_first(zip(rivals, odds.tolist(), strict=True)))

    def false_alarms_at_most(self) -> float | None:
        """Return the bound on the expected number of false alarms so far."""
        return math.log1p(_GROWTH * float(self.state.starts[_LAST]) / _START) / _GROWTH
