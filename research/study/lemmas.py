"""Experiment 5, the lemmas: needless restarts on stationary worlds, and what replays do."""

import math
from typing import Any

import polars as pl

from driftduel._internal.wording import rough, share
from driftduel.lab import Plan, make_plan
from driftduel.lab.statistics import count_false_alarms
from driftduel.specs import Spec
from research.study.common import (
    Chart,
    Claim,
    Panel,
    Section,
    Series,
    Size,
    Table,
    rounds_text,
)
from research.study.fits import clopper_pearson, setting as of, share_interval
from research.study.replays import observe, replay_charts, replay_claims, replay_tables

__all__ = ["NAME", "analyse", "calibration", "observe", "plans"]

NAME = "lemmas"
SAFE = 0.01
"""The share of runs with a needless restart that a practitioner may accept."""
_GAP = 0.4
_PHASES = 5
_GRID = (2, 3, 4, 4.5, 5, 5.5, 6, 6.5, 7, 8, 10)
_COARSE = (4, 5, 5.5, 6, 7, 8)
# Horizon: (arms, values of C log T, runs on stationary worlds). Long games get fewer of each.
_SIZES: dict[Size, dict[int, tuple[tuple[int, ...], tuple[float, ...], int]]] = {
    "tiny": {3_000: ((2, 3), (2, 5, 8), 4)},
    "quick": {100_000: ((2, 3, 5), (2, 3, 4, 5, 6, 7, 8), 100)},
    "full": {
        10_000: ((2, 3, 5, 10), _GRID, 200), 100_000: ((2, 3, 5, 10), _GRID, 200),
        1_000_000: ((2, 3, 5, 10), _GRID, 200), 10_000_000: ((2, 5), _COARSE, 100),
    },
}  # fmt: skip
_SWITCHING_RUNS: dict[Size, int] = {"tiny": 2, "quick": 20, "full": 50}


def plans(size: Size) -> list[Plan]:
    """Return, for each horizon, a plan of stationary worlds and one of switching ones."""
    made = []
    for rounds, (arms, levels, runs) in _SIZES[size].items():
        policies = [f"anaconda:constant={level / math.log(rounds):.4f}" for level in levels]
        for phases, count in ((1, runs), (_PHASES, _SWITCHING_RUNS[size])):
            worlds = [
                f"total-order:arms={k},rounds={rounds},phases={phases},p={0.5 + _GAP}" for k in arms
            ]
            made.append(make_plan(worlds, policies, count, (1,)))
    return made


def _level(row: dict[str, Any]) -> float:
    """Return C log T of a game."""
    constant = float(Spec.parse(row["policy"]).values["constant"])
    return round(constant * math.log(row["rounds"]), 2)


def _prepared(games: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "arms": row["arms"],
            "rounds": row["rounds"],
            "phases": of(row["world"], "phases"),
            "level": _level(row),
            "constant": float(Spec.parse(row["policy"]).values["constant"]),
            "restarted": len(row["restarts"]) > 0,
            "restarts": len(row["restarts"]),
            "needless": count_false_alarms(row["restarts"], row["switches"]),
        }
        for row in games.iter_rows(named=True)
    ]
    return pl.DataFrame(rows).sort("rounds", "arms", "level")


def calibration(frame: pl.DataFrame) -> dict[tuple[int, int], tuple[float, float] | None]:
    """Return for each (K, T) the smallest (C, C log T) that is safe, and so is every larger one.

    Parameters
    ----------
    frame
        A row a game on stationary worlds: arms, rounds, level, constant, restarted.
    """
    safe: dict[tuple[int, int], tuple[float, float] | None] = {}
    for (k, t), group in frame.group_by("arms", "rounds", maintain_order=True):
        best = None
        for (level, constant), runs in sorted(
            group.group_by("level", "constant"), key=lambda pair: -float(pair[0][0])
        ):
            if float(runs["restarted"].mean()) > SAFE:  # type: ignore[arg-type]
                break
            best = (float(constant), float(level))
        safe[int(k), int(t)] = best
    return safe


def analyse(games: pl.DataFrame, seen: dict[str, Any]) -> Section:
    """Count restarts, and look at the replays that were observed."""
    frame = _prepared(games)
    still, moving = frame.filter(phases=1), frame.filter(pl.col("phases") > 1)
    panels, rows = [], []
    arms = sorted(still["arms"].unique())
    for (t,), at in still.group_by("rounds", maintain_order=True):
        lines = []
        for (k,), group in at.group_by("arms", maintain_order=True):
            xs, ys, lows, highs = [], [], [], []
            for (level, constant), runs in group.group_by("level", "constant", maintain_order=True):
                hits, trials = int(runs["restarted"].sum()), len(runs)
                low, high = clopper_pearson(hits, trials)
                xs.append(float(level))
                ys.append(hits / trials)
                lows.append(low)
                highs.append(high)
                rows.append(
                    [
                        str(k), rounds_text(float(t)), rough(float(constant)), rough(level),
                        f"{hits} of {trials}", share_interval(hits, trials),
                        rough(float(runs["restarts"].mean())),  # type: ignore[arg-type]
                    ]
                )  # fmt: skip
            lines.append(Series(f"K = {k}", xs, ys, lows, highs, style=arms.index(k)))
        panels.append(
            Panel(
                f"stationary, T = {rounds_text(float(t))}", "C log T",
                "share of runs with a restart", lines, x_log=False, y_log=False,
                level=SAFE, level_name="1 in 100",
            )
        )  # fmt: skip
    claims = [*_claims(still, moving), *replay_claims(seen)]
    tables = [
        _calibration_table(still),
        *replay_tables(seen),
        _switching_table(moving),
        Table(
            "Needless restarts on stationary worlds",
            ["K", "T", "C", "C log T", "runs that restarted", "exact 95% interval", "restarts"],
            rows,
        ),
    ]
    chart = Chart(
        "lemmas-restarts", "Needless restarts vanish once C log T is large enough", panels,
        "Bands are exact binomial intervals. Nothing ever changes, so every restart is needless.",
    )  # fmt: skip
    text = (
        f"Stationary worlds in which the better arm of any two wins with probability "
        f"{0.5 + _GAP}, so that every restart is needless; and the same with {_PHASES} phases. An "
        f"episode restarts only when every arm was eliminated, so a restart implies that the "
        f"winner was. The reverse need not hold; the winner is looked for in the good set (the "
        f"arms not yet eliminated in this episode) of other games when they end. Replays come from "
        f"games that are written down round by round."
    )
    longest = rounds_text(float(still["rounds"].max()))  # type: ignore[arg-type]
    left = f"calibration beyond T = {longest}, and most arms and levels there: for time."
    charts = [chart, *replay_charts(seen)]
    data = {"calibration": _calibrated(still)}
    return Section(5, "The lemmas", text, claims, tables, charts, left, data)


def _calibrated(still: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the calibration as numbers; a (K, T) in which nothing was safe is left out."""
    rows = []
    for (k, t), best in calibration(still).items():
        if best is not None:
            runs = still.filter(arms=k, rounds=t, level=best[1])
            counts = {"restarted": int(runs["restarted"].sum()), "runs": len(runs)}
            rows.append({"arms": k, "rounds": t, "constant": best[0], "level": best[1], **counts})
    return rows


def _calibration_table(still: pl.DataFrame) -> Table:
    rows = []
    for each in _calibrated(still):
        hits, trials = each["restarted"], each["runs"]
        row = [str(each["arms"]), rounds_text(each["rounds"]), rough(each["constant"])]
        row += [rough(each["level"]), f"{hits} of {trials}", share_interval(hits, trials)]
        rows.append(row)
    return Table(
        "Calibration: the smallest C played with at most 1 needless restart in 100 runs",
        ["K", "T", "C", "C log T", "runs that restarted", "exact 95% interval"],
        rows,
        "`anaconda:rule=calibrated` takes its C from here: for a horizon in between, the next "
        "larger C log T divided by log T. The choice is the smallest of a grid, made by looking at "
        "the results: its interval does not account for that.",
    )


def _switching_table(moving: pl.DataFrame) -> Table:
    """Tabulate runs with a needless restart in worlds that switch, all K together."""
    rows = []
    for (t, level), runs in moving.sort("rounds", "level").group_by(
        "rounds", "level", maintain_order=True
    ):
        hits, trials = int((runs["needless"] > 0).sum()), len(runs)
        row = [rounds_text(float(t)), rough(float(level)), f"{hits} of {trials}"]
        row += [share_interval(hits, trials), rough(float(runs["restarts"].mean()))]  # type: ignore[arg-type]
        rows.append(row)
    return Table(
        f"Restarts without a switch since the one before, with {_PHASES - 1} switches, all K",
        ["T", "C log T", "runs that had one", "exact 95% interval", "restarts"],
        rows,
    )


def _claims(still: pl.DataFrame, moving: pl.DataFrame) -> list[Claim]:
    """Judge that episodes end only with a switch: each needs C large enough; state its minimum.

    The unit is a run: restarts of one run are not independent.
    """
    claims = []
    for frame, words, statement in (
        (still, "runs without a switch did not restart", "in a world without one none ends"),
        (moving, "runs had no restart without a switch", f"with {_PHASES - 1} switches"),
    ):
        counts = [
            (float(level), len(runs) - int((runs["needless"] > 0).sum()), len(runs))
            for (level,), runs in frame.sort("level").group_by("level", maintain_order=True)
        ]
        first = len(counts)
        while first and counts[first - 1][1] == counts[first - 1][2]:
            first -= 1
        level, right, trials = counts[min(first, len(counts) - 1)]
        low, high = clopper_pearson(right, trials)
        up_to = rounds_text(float(frame["rounds"].max()))  # type: ignore[arg-type]
        claims.append(
            Claim(
                "Lemma 4.4",
                f"every episode but the last contains a switch, for C large enough: {statement}",
                f"{right:,} of {trials:,} {words}, C log T = {rough(level)}",
                f"{share(low, 2)} to {share(high, 2)}, the level chosen by looking",
                f"begins at C log T = {rough(level)}"
                if first < len(counts)
                else f"not seen up to T = {up_to}",
            )
        )
    return claims
