"""Count the votes until policies name the best option in 90 % of the panels.

Preferences are stationary, two different options are shown in every vote, and votes are prompt. In
a *ladder* the best option beats the second as often as the column states, and the further options
follow 0.12 log-odds apart. In a *flat* world the best option beats each other as often as the
column states, and the others are equal. The number of votes is that of goal ``best``: `best()` is
right in at least 90 % of the runs from there on. A policy that is not registered is left out.

`make few-votes` plays it, and writes research/records/few-votes.json and the table in
docs/research/benchmarks.md.
"""

from typing import Any

from driftduel.lab import compare
from driftduel.policies import POLICIES
from research.benchmarks.page_marks import measure_and_write
from research.places import DOCS, RECORDS

RECORD = RECORDS / "few-votes.json"
PAGE = DOCS / "research" / "benchmarks.md"
TABLE = "few-votes"

CANDIDATES = ("king", "dts", "ttts")
ARMS = (4, 10)
CHANCES = (0.55, 0.6, 0.65)
VOTES = 10_000
STEP = 0.12
LIMIT = 1.2
"""The target: `king` needs at most this many times the votes of `ttts`."""


def worlds() -> dict[tuple[str, int, float], str]:
    """Return the spec of each cell of the table: kind, number of options, best against second."""
    return {
        (kind, arms, chance): spec.format(arms=arms, chance=chance, lead=round(chance - 0.5, 3))
        for kind, spec in (
            ("ladder", f"ladder:arms={{arms}},rounds={VOTES},p={{chance}},step={STEP}"),
            ("flat", f"lone-winner:arms={{arms}},rounds={VOTES},phases=1,eps={{lead}}"),
        )
        for arms in ARMS
        for chance in CHANCES
    }


def measure(runs: int, seed: int) -> dict[str, Any]:
    """Play all panels; return the votes with their intervals."""
    specs = worlds()
    policies = [name for name in CANDIDATES if name in POLICIES]
    played = compare(
        policies, list(specs.values()), runs, seed, mode="panel", goal="best", points=10
    )
    columns = ("votes_90", "votes_90_low", "votes_90_high", "right_mean", "end")
    rows = [
        {
            "kind": kind, "arms": arms, "chance": chance, "policy": row["policy"],
            **{name: row[name] for name in columns},
        }
        for (kind, arms, chance), spec in specs.items()
        for row in played.goal_summary.filter(world=spec).iter_rows(named=True)
    ]  # fmt: skip
    return {"runs": runs, "seed": seed, "votes": VOTES, "mode": "panel", "rows": rows}


def table(record: dict[str, Any]) -> str:
    """Write the votes as a table, a row for each world and number of options."""
    chances = [f"{100 * chance:.0f}%" for chance in CHANCES]
    lines = [f"| options | policy | {' | '.join(chances)} |", "|---" * (2 + len(chances)) + "|"]
    rows = record["rows"]
    names = list(dict.fromkeys(row["policy"] for row in rows))
    for kind, arms in dict.fromkeys((row["kind"], row["arms"]) for row in rows):
        for name in names:
            chosen = [r for r in rows if (r["kind"], r["arms"], r["policy"]) == (kind, arms, name)]
            cells = [_votes(row, record["votes"]) for row in chosen]
            lines.append(f"| {arms}, {kind} | `{name}` | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_ratios(record)]) + "\n"


def _ratios(record: dict[str, Any]) -> list[str]:
    """State how many times the votes of each other policy king needs, over the cells."""
    votes = {
        (row["kind"], row["arms"], row["chance"], row["policy"]): row["votes_90"]
        for row in record["rows"]
    }
    parts = []
    for other in ("dts", "ttts"):
        ratios = [
            votes[*cell, "king"] / votes[*cell, other]
            for cell in worlds()
            if votes.get((*cell, "king")) and votes.get((*cell, other))
        ]
        if ratios:
            above = sum(ratio > LIMIT for ratio in ratios)
            parts.append(
                f"{min(ratios):.1f} to {max(ratios):.1f} times the votes of `{other}` (more than "
                f"{LIMIT} times in {above} of {len(ratios)} cells)"
            )
    return [f"`king` needs {' and '.join(parts)}."] if parts else []


def _votes(row: dict[str, Any], most: int) -> str:
    low, votes, high = (row[f"votes_90{end}"] for end in ("_low", "", "_high"))
    if votes is None:
        return f"> {most:,}"
    upper = f"> {most:,}" if high is None else f"{high:,}"
    return f"{votes:,} ({low:,} to {upper})"


def main() -> None:
    """Measure, print, write."""
    measure_and_write(
        (__doc__ or "").partition("\n")[0], measure, table, RECORD, PAGE, TABLE,
        command="make few-votes", mode="panel", worlds=list(worlds().values()),
        policies=[name for name in CANDIDATES if name in POLICIES],
        sizes={"runs": (200, "panels of each"), "seed": (27, "fixes everything")},
    )  # fmt: skip


if __name__ == "__main__":
    main()
