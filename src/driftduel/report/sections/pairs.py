"""Section with the comparison of all pairs of policies of a world, initially collapsed."""

from typing import Any

from driftduel._internal.wording import counted
from driftduel.report.section import OneWorld, Section, column

__all__ = ["section"]

_COLUMNS = (
    column("first", words=True),
    column("second", words=True),
    column("first minus second", "mean paired difference of their regrets"),
    column("95% interval"),
    column("beyond chance", "whether the interval excludes 0", words=True),
    column("runs", "number of common runs"),
)


def section(of: OneWorld) -> Section | None:
    """Return the section; None if no two policies have a common run."""
    import polars as pl

    names = [standing.name for standing in of.drawn.standings]
    pairs = of.results.differences.filter(
        pl.col("world") == of.world.spec, pl.col("first", "second").is_in(names)
    )
    rows = [_pair_row(row) for row in pairs.iter_rows(named=True) if row["difference"] is not None]
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


def _pair_row(row: dict[str, Any]) -> dict[str, Any]:
    sure = None if row["low"] is None else row["low"] > 0 or row["high"] < 0
    return {
        **row,
        "sure": {None: "-", True: "yes", False: "no"}[sure],
    }
