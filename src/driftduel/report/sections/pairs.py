"""Every two policies of a world compared: a table that few will look at, folded away."""

from typing import Any

from driftduel.report.section import OneWorld, Section, column
from driftduel.wording import counted

__all__ = ["section"]

_COLUMNS = (
    column("first", words=True),
    column("second", words=True),
    column("first minus second", "mean difference of their regrets, run by run"),
    column("95% interval"),
    column("beyond chance", "whether the interval excludes 0", words=True),
    column("runs", "that both have played"),
)


def section(of: OneWorld) -> Section | None:
    """Return the differences of all pairs; None if no two policies share a run."""
    import polars as pl

    names = [standing.name for standing in of.drawn.standings]
    pairs = of.results.differences.filter(
        pl.col("world") == of.world.spec, pl.col("first", "second").is_in(names)
    )
    rows = [_shown(row) for row in pairs.iter_rows(named=True) if row["difference"] is not None]
    if not rows:
        return None
    return Section(
        "pairs.html",
        {
            "table": f"differences-{of.world.index}",
            "count": counted(len(rows), "pair"),
            "columns": _COLUMNS,
            "rows": rows,
        },
    )


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    sure = None if row["low"] is None else row["low"] > 0 or row["high"] < 0
    return {
        **row,
        "sure": {None: "-", True: "yes", False: "no"}[sure],
    }
