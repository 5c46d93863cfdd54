"""Statistics of games: means with intervals, and paired differences.

Intervals are Student's t at 95%, over runs. Policies share the random numbers of each run (the
world and one outcome draw per round), so differences between two policies are paired by run, with
the interval of a paired t test. Intervals are not adjusted for the number of comparisons.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from driftduel._internal.intervals import student
from driftduel.games import count_false_alarms

if TYPE_CHECKING:
    from driftduel.lab.plan import Plan

__all__ = [
    "NEEDED",
    "count_false_alarms",
    "delays",
    "differences",
    "geometric_mean",
    "half_width",
    "paired_difference",
    "summary",
    "t_half_width",
    "t_interval",
]

NEEDED = (
    "world", "policy", "seed", "run", "rounds", "regret", "regret_weak", "regret_binary_weak",
    "regret_binary_strong", "restarts", "switches", "seconds",
)  # fmt: skip
"""The columns of the store from which a summary is computed."""

_SUMMARY: dict[str, Any] = {
    "world": pl.String,
    "policy": pl.String,
    "told": pl.List(pl.String),
    "runs": pl.Int64,
    "planned": pl.Int64,
    "regret_mean": pl.Float64,
    "regret_sd": pl.Float64,
    "regret_low": pl.Float64,
    "regret_high": pl.Float64,
    "ratio_to_best": pl.Float64,
    "difference_to_best": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "regret_weak_mean": pl.Float64,
    "regret_binary_weak_mean": pl.Float64,
    "regret_binary_strong_mean": pl.Float64,
    "switches_mean": pl.Float64,
    "restarts_mean": pl.Float64,
    "restarts_needless_mean": pl.Float64,
    "switches_detected": pl.Float64,
    "detection_delay_mean": pl.Float64,
    "rounds_per_second": pl.Float64,
}


def t_interval(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the 95% interval for the mean by Student's t; None for fewer than two values.

    Examples
    --------
    >>> [round(end, 3) for end in t_interval([1.0, 2.0, 3.0])]
    [-0.484, 4.484]
    """
    if len(values) < 2:
        return None
    mean, half = float(np.mean(values)), t_half_width(values)
    return mean - half, mean + half


def t_half_width(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Return half the width of `t_interval`; requires at least two values."""
    return float(half_width(float(np.std(values, ddof=1)), len(values)))


def half_width(sd: ArrayLike, runs: ArrayLike) -> NDArray[np.float64]:
    """Return half the width of the 95% interval of means; nan for fewer than two values.

    Parameters
    ----------
    sd
        Sample standard deviations.
    runs
        Number of values of each standard deviation.
    """
    counts = np.asarray(runs)
    if (counts < 2).all():
        return np.full(np.broadcast(sd, counts).shape, np.nan)
    several = np.maximum(counts, 2)
    return np.where(counts < 2, np.nan, student(several - 1) * np.asarray(sd) / np.sqrt(several))


def geometric_mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean of positive values, in which 1/2 and 2 cancel.

    Examples
    --------
    >>> round(geometric_mean([0.5, 2.0, 4.0]), 3)
    1.587
    """
    return math.exp(fmean(map(math.log, ratios)))


def delays(restarts: Sequence[int], switches: Sequence[int]) -> list[int]:
    """Return the detection delay of each detected switch, in rounds of the new phase.

    A switch is detected if the policy restarts at or after its round and before the next switch.
    The delay of an oracle is 0; a restart after the first round of a phase has delay 1.

    Examples
    --------
    >>> delays([100, 900, 1500], switches=[501, 1001])
    [400, 500]
    """
    anew = np.asarray(restarts, np.int64) + 1
    tau = np.asarray(switches, np.int64)
    first = np.searchsorted(anew, tau, "left")
    ends = np.append(tau[1:], np.iinfo(np.int64).max)
    detected = first < len(anew)
    detected[detected] = anew[first[detected]] < ends[detected]
    return [int(delay) for delay in anew[first[detected]] - tau[detected]]


def summary(games: pl.DataFrame, plan: "Plan") -> pl.DataFrame:
    """Return one row per policy and world, in the order of the plan.

    Parameters
    ----------
    games
        Finished cells, with at least the columns `NEEDED`.
    plan
        The plan; for missing cells the column ``runs`` is smaller than ``planned``.
    """
    rows = []
    groups = dict(games.group_by("world", "policy", maintain_order=True))
    regrets = _by_world(games)
    planned = plan.runs * len(plan.seeds)
    for world in plan.worlds:
        block = []
        for policy in plan.policies:
            frame = groups.get((world.spec, policy.spec))
            row: dict[str, Any] = dict.fromkeys(_SUMMARY)
            row |= {"world": world.spec, "policy": policy.spec, "told": list(policy.told)}
            row |= {"runs": 0 if frame is None else len(frame), "planned": planned}
            if frame is not None:
                row |= _one(frame)
            block.append(row)
        played = [row for row in block if row["runs"]]
        if played:
            best = min(played, key=lambda row: row["regret_mean"])
            table = np.array([regrets[world.spec][row["policy"]] for row in played])
            pairs = _summarise_rows(table - regrets[world.spec][best["policy"]])
            for row, paired in zip(played, pairs, strict=True):
                if best["regret_mean"] > 0:
                    row["ratio_to_best"] = row["regret_mean"] / best["regret_mean"]
                if row is not best:
                    row |= {
                        "difference_to_best": paired["difference"],
                        "difference_low": paired["low"],
                        "difference_high": paired["high"],
                    }
        rows.extend(block)
    return pl.DataFrame(rows, schema=_SUMMARY)


def _one(frame: pl.DataFrame) -> dict[str, Any]:
    regret = frame["regret"].to_numpy()
    interval = t_interval(regret)
    pairs = list(zip(frame["restarts"].to_list(), frame["switches"].to_list(), strict=True))
    delayed = [delay for restarts, switches in pairs for delay in delays(restarts, switches)]
    restarts_in_all = sum(len(restarts) for restarts, _ in pairs)
    switches_in_all = sum(len(switches) for _, switches in pairs)
    row: dict[str, Any] = {
        "regret_mean": float(regret.mean()),
        "regret_sd": None if interval is None else float(regret.std(ddof=1)),
        "regret_low": None if interval is None else interval[0],
        "regret_high": None if interval is None else interval[1],
        **{
            f"{name}_mean": float(frame[name].to_numpy().mean())
            for name in ("regret_weak", "regret_binary_weak", "regret_binary_strong")
        },
        "switches_mean": switches_in_all / len(frame),
        "restarts_mean": restarts_in_all / len(frame),
        "restarts_needless_mean": sum(count_false_alarms(*pair) for pair in pairs) / len(frame),
    }
    seconds = float(frame["seconds"].sum())
    if seconds > 0:
        row["rounds_per_second"] = float(frame["rounds"].sum()) / seconds
    if restarts_in_all and switches_in_all:  # if the policy restarts and the world switches
        row["switches_detected"] = len(delayed) / switches_in_all
        row["detection_delay_mean"] = float(np.mean(delayed)) if delayed else None
    return row


def paired_difference(first: pl.DataFrame, second: pl.DataFrame) -> dict[str, Any]:
    """Return the mean difference of regrets over the common runs, with its 95% interval."""
    both = first.join(second, on=("seed", "run"), how="inner", maintain_order="left")
    (paired,) = _summarise_rows((both["regret"] - both["regret_right"]).to_numpy()[None])
    return paired


def differences(games: pl.DataFrame, plan: "Plan") -> pl.DataFrame:
    """Return, for every pair of policies in each world, the first regret minus the second.

    The interval is over the runs that both policies have finished; it excludes 0 if the difference
    is statistically significant.
    """
    schema = {
        "world": pl.String, "first": pl.String, "second": pl.String, "runs": pl.Int64,
        "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    for world, regrets in _by_world(games).items():
        played = [policy.spec for policy in plan.policies if policy.spec in regrets]
        table = np.array([regrets[spec] for spec in played])
        for i, first in enumerate(played):
            paired = _summarise_rows(table[i] - table[i + 1 :])
            for second, numbers in zip(played[i + 1 :], paired, strict=True):
                rows.append({"world": world, "first": first, "second": second, **numbers})
    order = {world.spec: place for place, world in enumerate(plan.worlds)}
    rows.sort(key=lambda row: order[row["world"]])
    return pl.DataFrame(rows, schema=schema)


def _by_world(games: pl.DataFrame) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return (runs,) arrays of regrets by world and policy; nan for unfinished runs."""
    games_of_all = games.select("seed", "run").unique(maintain_order=True)
    row_of_game = {game: at for at, game in enumerate(games_of_all.rows())}
    by_world: dict[str, dict[str, NDArray[np.float64]]] = {}
    columns = games.select("world", "policy", "seed", "run", "regret")
    for world, policy, seed, run, regret in columns.iter_rows():
        regrets = by_world.setdefault(world, {})
        if policy not in regrets:
            regrets[policy] = np.full(len(row_of_game), np.nan)
        regrets[policy][row_of_game[seed, run]] = regret
    return by_world


def _summarise_rows(rows: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return dicts with the number of values, their mean and its interval, one per row.

    All rows are processed in one call: fifty policies in two hundred worlds give a quarter of a
    million rows.
    """
    there = ~np.isnan(rows)
    runs = there.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows without runs have no mean
        mean = np.where(there, rows, 0.0).sum(axis=1) / runs
        squares = np.where(there, rows - mean[:, None], 0.0) ** 2
        half = half_width(np.sqrt(squares.sum(axis=1) / (runs - 1)), runs)
    numbers = zip(
        runs.tolist(), mean.tolist(), (mean - half).tolist(), (mean + half).tolist(), strict=True
    )
    return [
        {
            "runs": count,
            "difference": middle if count else None,
            "low": low if count > 1 else None,
            "high": high if count > 1 else None,
        }
        for count, middle, low, high in numbers
    ]
