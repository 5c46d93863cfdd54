"""The elimination rule: the threshold for the sum over a window."""

import math
from typing import Any

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._anaconda.record import PAPER

__all__ = ["set_horizon", "threshold", "time_now", "time_of"]

_E1 = math.e - 1


@kernel
def set_horizon(state: Any, first: int, horizon: int) -> None:
    """Set a horizon that begins in round `first`, and the parameters of its thresholds."""
    numbers, arms = state.numbers[0], len(state.last)
    numbers.horizon = horizon
    numbers.last_round = first + horizon - 1
    if numbers.rule == PAPER:
        numbers.factor = numbers.constant * math.log(float(horizon)) * arms
        numbers.floor = float(arms * arms)
        numbers.offset = 0.0
    else:
        # Freedman's inequality for all windows and pairs at once, at confidence 1 - 1/T^2.
        confidence = 4.0 * math.log(float(horizon)) + 2.0 * math.log(float(arms))
        half = (
            0.5 if numbers.symmetric == 1 else 1.0
        )  # factor on the variance and on the largest step
        numbers.factor = _E1 * math.sqrt(half * confidence)
        numbers.floor = 0.0
        numbers.offset = _E1 * half * arms * arms * confidence
    numbers.least_rise = int(2.0 * threshold(state, 0))
    heaviest = arms * arms if numbers.symmetric == 1 else 2 * arms * arms
    numbers.one_win_fires = int(heaviest - 2.0 > 2.0 * threshold(state, 1))
    unusual = numbers.rule != PAPER or numbers.symmetric == 1 or numbers.one_win_fires == 1
    numbers.plain = int(not unusual)


@hot
def threshold(state: Any, x: int) -> float:
    """Return the threshold for a window whose length by the rule's clock is `x`."""
    numbers = state.numbers[0]
    return numbers.factor * math.sqrt(max(float(x), numbers.floor)) + numbers.offset


@hot
def time_now(state: Any, t: int) -> int:
    """Return the value of the rule's clock in round t: the round, or the sum of |A|^2 so far."""
    numbers = state.numbers[0]
    return t if numbers.rule == PAPER else numbers.clock


@hot
def time_of(state: Any, start: Any) -> int:
    """Return the value of the rule's clock at a start."""
    return start.start if state.numbers[0].rule == PAPER else start.clock
