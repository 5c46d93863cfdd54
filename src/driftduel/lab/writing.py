"""Results as JSON, CSV and LaTeX."""

import math
from typing import Any

from driftduel.lab.experiment import Results
from driftduel.lab.identity import planned_world
from driftduel.lab.plan import PlannedWorld, game_seed
from driftduel.measures import measure

__all__ = ["METHOD", "as_csv", "as_json", "as_latex", "verdict"]

METHOD = (
    "Intervals are Student's t at 95 % over runs. All policies share each run's world and luck, so "
    "differences are taken run by run (paired); none is adjusted for the number of comparisons."
)
# A list of rounds that nobody would read is left out of JSON.
_LONGEST_LIST = 1000
# The significant switches of a world that drifts take long to find.
_LONGEST_DRIFT = 1_000_000


def as_json(results: Results) -> dict[str, Any]:
    """Return one object for one world; for several, an object with the list ``worlds``."""
    worlds = [_world(results, world) for world in results.plan.worlds]
    about = {
        "seeds": list(results.plan.seeds),
        "benchmark": results.plan.benchmark,
        "version": results.plan.version,
        "cells": len(results.plan),
        "missing": results.missing,
        "failures": results.failures,
        "method": METHOD,
    }
    return {**worlds[0], **about} if len(worlds) == 1 else {"worlds": worlds, **about}


def _world(results: Results, world: PlannedWorld) -> dict[str, Any]:
    rows = results.summary.filter(world=world.spec)
    pairs = results.differences.filter(world=world.spec).drop("world")
    return {
        "world": world.spec,
        "arms": world.arms,
        "rounds": world.rounds,
        "same_world_in_every_run": world.fixed,
        "measures": _measures(results, world),
        "measures_of_run": 0,
        "policies": [_policy(row) for row in rows.drop("world").iter_rows(named=True)],
        "differences": [
            {**row, "ci95": _interval(row.pop("low"), row.pop("high"))}
            for row in pairs.iter_rows(named=True)
        ],
    }


def _policy(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row.pop("regret_low"), row.pop("regret_high")
    difference = row.pop("difference_low"), row.pop("difference_high")
    row["regret_ci95"] = _interval(low, high)
    row["difference_ci95"] = _interval(*difference)
    return row


def _interval(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]


def _measures(results: Results, world: PlannedWorld) -> dict[str, Any] | None:
    """Measure the first run's world; None if what it was made from is gone or another."""
    from driftduel.errors import DriftduelError

    try:
        seed = game_seed(results.plan.seeds[0], 0)
        drawn = planned_world(world.spec, seed, world.identity)
        long = drawn.rounds > _LONGEST_DRIFT and drawn.drifts
        found = measure(drawn, None if long else "main").as_dict()
    except DriftduelError:
        return None
    return {
        name: None if isinstance(value, list) and len(value) > _LONGEST_LIST else value
        for name, value in found.items()
    }


def verdict(results: Results, world: str) -> str:
    """Say in one or two sentences who won in a world and how sure that is."""
    rows = [row for row in results.summary.filter(world=world).iter_rows(named=True) if row["runs"]]
    if not rows:
        return "Nothing is finished yet."
    best, *others = sorted(rows, key=lambda row: row["regret_mean"])
    if not others:
        return f"{best['policy']} is the only policy with results."
    said = f"{best['policy']} has the lowest regret"
    if best["runs"] < 2:
        return f"{said} in a single run, which says nothing about chance."
    unclear = [
        row["policy"]
        for row in others
        if row["difference_low"] is None or row["difference_low"] <= 0
    ]
    if not unclear:
        return f"{said}; every paired interval to the others excludes 0."
    return f"{said}; not to be told from it (paired interval contains 0): {', '.join(unclear)}."


def as_csv(results: Results) -> str:
    """Return the summary as CSV."""
    import polars as pl

    flat = results.summary.with_columns(pl.col("told").list.join(" "))
    return str(flat.write_csv())


def as_latex(results: Results) -> str:
    """Return the summary as LaTeX tables for the package booktabs, one for each world."""
    return "\n\n".join(_latex(results, world) for world in results.plan.worlds)


def _latex(results: Results, world: PlannedWorld) -> str:
    lines = [
        rf"% {world.spec}",
        r"\begin{tabular}{llrrrr}",
        r"\toprule",
        r"policy & told & regret & 95\,\% interval & ratio & restarts \\",
        r"\midrule",
    ]
    for row in results.summary.filter(world=world.spec).iter_rows(named=True):
        told = ", ".join(row["told"]) or "nothing"
        interval = "--"
        if row["regret_low"] is not None:
            interval = f"[{_number(row['regret_low'])}, {_number(row['regret_high'])}]"
        cells = (
            rf"\texttt{{{_escaped(row['policy'])}}}",
            _escaped(told),
            _number(row["regret_mean"]),
            interval,
            "--" if row["ratio_to_best"] is None else f"{row['ratio_to_best']:.2f}",
            "--" if row["restarts_mean"] is None else f"{row['restarts_mean']:.1f}",
        )
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "--"
    return f"{value:,.0f}".replace(",", r"\,") if abs(value) >= 100 else f"{value:.3g}"


def _escaped(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    plain = {sign: f"\\{sign}" for sign in "&%$#_{}"}
    return "".join({**special, **plain}.get(sign, sign) for sign in text)
