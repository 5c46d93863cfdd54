"""Results as JSON, CSV and LaTeX."""

from collections.abc import Mapping
from typing import Any

from driftduel._internal.wording import interval, number, ratio
from driftduel.figures import wrapped
from driftduel.lab.findings.naming import short_names
from driftduel.lab.identity import planned_world
from driftduel.lab.plan import PlannedWorld, game_seed
from driftduel.lab.result import Results
from driftduel.lab.tables import OPEN, WideCell, wide_cells, wide_note
from driftduel.measures import measure

__all__ = ["METHOD", "as_csv", "as_latex", "method_of", "results_as_json"]

METHOD = (
    "Intervals are Student's t at 95% over runs. All policies share the world and the outcome "
    "draws of each run, so differences are paired by run; they are not adjusted for the number of "
    "comparisons."
)
# Longer lists of rounds are omitted from JSON.
_LONGEST_LIST = 1000
# Significant switches of longer drifting worlds are omitted, because their computation is slow.
_LONGEST_DRIFT = 1_000_000


def method_of(results: Results) -> str:
    """Return the definitions of the values of a table."""
    return METHOD if results.goal is None else f"{results.goal.method} {METHOD}"


def results_as_json(results: Results) -> dict[str, Any]:
    """Return a dict for one world; for several, a dict with the list ``worlds``."""
    worlds = [_world(results, world) for world in results.plan.worlds]
    goal = results.goal
    about = {
        **({} if goal is None else {"goal": goal.name, "goal_method": goal.method}),
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
        **({} if results.goal is None else {"goal_policies": _goal_policies(results, world.spec)}),
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


def _goal_policies(results: Results, world: str) -> list[dict[str, Any]]:
    """Return a list of dicts with the values of the goal per policy, and its curve if any."""
    rows = results.goal_summary.filter(world=world).drop("world")
    curves = results.goal_curves.filter(world=world)
    return [
        {
            **row,
            "curve": {
                name: curves.filter(policy=row["policy"])[name].fill_nan(None).to_list()
                if name != "votes"
                else curves.filter(policy=row["policy"])[name].to_list()
                for name in ("votes", "mean", "low", "high")
            },
        }
        for row in rows.iter_rows(named=True)
    ]


def _interval(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]


def _measures(results: Results, world: PlannedWorld) -> dict[str, Any] | None:
    """Return the measures of the first run's world; None if its code or file is missing or changed.

    A store does not contain these measures, so the world is rebuilt. Pages do not need them.
    """
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


def as_csv(results: Results) -> str:
    """Return the summary as CSV."""
    import polars as pl

    flat = results.summary.with_columns(pl.col("told").list.join(" "))
    if results.goal is not None:
        added = results.goal_summary.drop("runs", "planned", "regret_mean", strict=False)
        flat = flat.join(added, on=("world", "policy"), how="left", maintain_order="left")
    return str(flat.write_csv())


def as_latex(
    results: Results, *, wide: bool = False, labels: Mapping[str, str] | None = None
) -> str:
    """Return the summary as LaTeX tables for the package booktabs.

    Parameters
    ----------
    results
        The results.
    wide
        Whether to write one table of policies by worlds; otherwise one table for each world.
    labels
        Display names by spec. A value that contains a dollar sign or a backslash is used as LaTeX;
        otherwise special characters are escaped.
    """
    called = {key: _label_text(label) for key, label in (labels or {}).items()}
    if wide:
        return _wide_latex(results, called)
    return "\n\n".join(_latex(results, world, called) for world in results.plan.worlds)


def _label_text(label: str) -> str:
    return label if "$" in label or "\\" in label else _escape(label)


def _wide_latex(results: Results, called: Mapping[str, str]) -> str:
    """Return a table of policies by worlds, with a note that describes its cells."""
    worlds = [world.spec for world in results.plan.worlds]
    short, common = short_names(worlds)
    heads = [
        called.get(spec) or _stack_lines(label) for spec, label in zip(worlds, short, strict=True)
    ]
    lines = [
        *(f"% {spec}" for spec in worlds),
        rf"\begin{{tabular}}{{l{'r' * len(worlds)}}}",
        r"\toprule",
        " & ".join(["policy", *heads]) + r" \\",
        r"\midrule",
    ]
    for policy, cells in zip(results.plan.policies, wide_cells(results), strict=True):
        name = called.get(policy.spec) or rf"\texttt{{{_escape(policy.spec)}}}"
        lines.append(" & ".join([name, *map(_wide_cell, cells)]) + r" \\")
    note = _escape(wide_note(results)).replace("±", r"$\pm$").replace(OPEN, r"$\dagger$")
    if common and not all(spec in called for spec in worlds):
        note += rf" All worlds: \texttt{{{_escape(common)}}}."
    note = rf"\par\smallskip\noindent{{\footnotesize {note}\par}}"
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", note])


def _stack_lines(label: str) -> str:
    """Return the spec of a world broken into several short lines."""
    lines = [rf"\texttt{{{_escape(line)}}}" for line in wrapped(label, 14)]
    stack = r"\\".join(lines)
    return stack if len(lines) == 1 else rf"\shortstack[r]{{{stack}}}"


def _wide_cell(cell: WideCell | None) -> str:
    if cell is None:
        return "--"
    mean, half = (text.replace(",", r"\,") for text in (cell.mean, cell.half))
    both = mean if half == "-" else rf"{mean} \pm {half}"
    if cell.best:
        return rf"$\mathbf{{{both}}}$"
    return rf"${both}^{{\dagger}}$" if cell.open else f"${both}$"


def _latex(results: Results, world: PlannedWorld, called: Mapping[str, str]) -> str:
    lines = [
        rf"% {world.spec}",
        r"\begin{tabular}{llrrrr}",
        r"\toprule",
        r"policy & prior & regret & 95\% interval & ratio & restarts \\",
        r"\midrule",
    ]
    for row in results.summary.filter(world=world.spec).iter_rows(named=True):
        told = ", ".join(row["told"]) or "nothing"
        cells = (
            called.get(row["policy"]) or rf"\texttt{{{_escape(row['policy'])}}}",
            _escape(told),
            _typeset(number(row["regret_mean"])),
            _typeset(interval(row["regret_low"], row["regret_high"])),
            _typeset(ratio(row["ratio_to_best"])),
            _typeset(number(row["restarts_mean"])),
        )
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _typeset(text: str) -> str:
    """Return a number in LaTeX: thin spaces between thousands, minus signs, dashes."""
    return "--" if text == "-" else text.replace(",", r"\,").replace("-", "$-$")


def _escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    plain = {sign: f"\\{sign}" for sign in "&%$#_{}"}
    return "".join({**special, **plain}.get(sign, sign) for sign in text)
