"""The result of a policy in a world: one row of the summary."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Standing", "loss_name", "read_standing"]


@dataclass(frozen=True)
class Standing:
    """The result of a policy in a world."""

    policy: int
    """The index of the policy in the plan."""
    name: str
    told: tuple[str, ...]
    runs: int
    planned: int
    mean: float
    low: float | None = None
    high: float | None = None
    """The 95% interval of the mean; None for one run."""
    ratio: float | None = None
    """Ratio to the lowest mean; None if that is 0."""
    difference: float | None = None
    """Paired difference to the policy with the lowest mean; None for that policy."""
    difference_low: float | None = None
    difference_high: float | None = None
    restarts: float = 0.0
    needless: float = 0.0
    """Mean number of false alarms per run."""
    detected: float | None = None
    """Share of switches that were detected, in [0, 1]; None if it does not apply."""
    delay: float | None = None
    speed: float | None = None
    """Rounds a second."""

    @property
    def worse(self) -> bool | None:
        """Whether it is worse than the best beyond chance; None without an interval."""
        if self.difference_low is None or self.difference_high is None:
            return None
        return self.difference_low > 0


def read_standing(place: int, row: Mapping[str, Any]) -> Standing:
    """Return the standing of a row of the summary; `place` is the index in the plan."""
    return Standing(
        policy=place,
        name=row["policy"],
        told=tuple(row["told"] or ()),
        runs=row["runs"],
        planned=row["planned"],
        mean=row["regret_mean"],
        low=row["regret_low"],
        high=row["regret_high"],
        ratio=row["ratio_to_best"],
        difference=row["difference_to_best"],
        difference_low=row["difference_low"],
        difference_high=row["difference_high"],
        restarts=row["restarts_mean"],
        needless=row["restarts_needless_mean"],
        detected=row["switches_detected"],
        delay=row["detection_delay_mean"],
        speed=row["rounds_per_second"],
    )


def loss_name(benchmark: str) -> str:
    """Return the name of the measured quantity of a benchmark: regret or exploitability."""
    return "exploitability" if benchmark == "exploitability" else "regret"
