"""Two real logs: the answers of `driftduel log` about them, for the page on logs.

    python -m research.benchmarks.real_logs FOLDER

FOLDER holds the two files, which are not part of this project:

- f1_teams8_1999_2025_log.csv: order of finish in each race of Formula 1 since 1999,
  eight teams under all the names they had; from f1db, CC BY 4.0;
- mlb_al8_1901_1960_log.csv: every game of baseball's American League from 1901 to 1960, eight
  teams; the information used was obtained free of charge from and is copyrighted by Retrosheet
  (www.retrosheet.org).

Writes research/records/real-logs.json, the tables in docs/research/how-it-was-tested.md, and
docs/assets/logs-f1.png; `--page` writes the tables again.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, page_name

RECORD = RECORDS / "real-logs.json"
PAGE = DOCS / "research" / "how-it-was-tested.md"
FIGURE = DOCS / "assets" / "logs-f1.png"
FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "f1": ("f1_teams8_1999_2025_log.csv", {"group": "date"}),
    "mlb": ("mlb_al8_1901_1960_log.csv", {}),
}
TEAMS = {
    "brackley": "Brawn, Mercedes", "enstone": "Renault", "ferrari": "Ferrari",
    "hinwil": "Sauber", "mclaren": "McLaren", "milton": "Red Bull", "silverstone": "Force India",
    "williams": "Williams",
    "BOS": "Boston", "CHA": "Chicago", "CLE": "Cleveland", "DET": "Detroit", "NYA": "New York",
    "PHA": "Philadelphia", "SLA": "St. Louis", "WS1": "Washington",
}  # fmt: skip
"""What fans call them: for Formula 1, the factory under its best known names."""


def observe(folder: Path) -> dict[str, Any]:
    """Fit both logs."""
    import polars as pl

    from driftduel.logs import evaluate, fit, read_log
    from driftduel.logs.descriptions import describe_log, describe_measures, list_changes
    from driftduel.logs.figure import plot_winners

    record = {}
    for name, (file, columns) in FILES.items():
        rows = pl.read_csv(folder / file, infer_schema=False)
        rows = rows.with_columns(pl.col("^(winner|loser|home_team)$").replace(TEAMS))
        log = read_log(rows, **columns)
        fitted = fit(log.counts)
        summary, told = describe_log(log, fitted), list_changes(log, fitted)
        measures = describe_measures(log, fitted)
        record[name] = {
            "votes": summary["votes"],
            "options": len(summary["options"]),
            "from": summary["from"],
            "to": summary["to"],
            "fit": fitted.kind,
            "phi": round(fitted.phi, 2),
            "now": {who: round(p, 3) for who, p in summary["now"].items() if p >= 0.005},
            "nobody": round(summary["nobody"], 3),
            "since": summary["since_text"],
            "at_least": told["winner_switches_at_least"],
            "significant": [
                measures["significant_switches"][key] for key in ("low", "median", "high")
            ],
            "changes": [
                {key: row[f"{key}_text"] for key in ("time", "low", "high")}
                | {"before": row["before"], "after": row["after"]}
                | {"winner_changed": round(row["winner_changed"], 3)}
                for row in told["changes"]
            ],
            "evaluated": evaluate(log).as_dict(),
        }
        if name == "f1":
            plot_winners(fitted, FIGURE)
    return record


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page."""
    lines = ["| log | votes | phi | model | changes | of the winner | certain without a model | "
             "significant switches |", "|---|--:|--:|---|--:|--:|--:|--:|"]  # fmt: skip
    titles = {"f1": "Formula 1, 8 teams", "mlb": "American League, 8 teams"}
    for name, title in titles.items():
        one = record[name]
        low, median, high = one["significant"]
        switches = [row for row in one["changes"] if row["before"] != row["after"]]
        cells = (
            f"{title}, {one['from'][:4]} to {one['to'][:4]}",
            f"{one['votes']:,}",
            f"{one['phi']:.2f}",
            one["fit"],
            f"{len(one['changes'])}",
            f"{len(switches)}",
            f"at least {one['at_least']}",
            f"{median:.0f} ({low:.0f} to {high:.0f})",
        )
        lines.append(f"| {' | '.join(cells)} |")
    eras = ["| around | 95% set | before | after | P(new winner) |", "|---|---|---|---|--:|"]
    for row in record["f1"]["changes"]:
        if row["before"] != row["after"]:
            before, after = (row[key] or "nobody" for key in ("before", "after"))
            eras.append(
                f"| {row['time']} | {row['low']} to {row['high']} | {before} | {after} | "
                f"{row['winner_changed']:.2f} |"
            )
    rated = ["| log | model | log-loss | driftduel minus this | standard error |",
             "|---|---|--:|--:|--:|"]  # fmt: skip
    for name, title in titles.items():
        for row in record[name]["evaluated"]["models"]:
            apart = ("", "")
            if row["difference"] is not None:
                apart = f"{row['difference']:+.4f}", f"{row['standard_error']:.4f}"
            cells = (title, row["model"], f"{row['log_loss']:.4f}", *apart)
            rated.append(f"| {' | '.join(cells)} |")
    found = {"real-logs": lines, "f1": eras, "real-evaluate": rated}
    return {name: "\n".join(rows) + "\n" for name, rows in found.items()}


def main() -> None:
    """Fit, write, and put the tables on the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="where the two files are")
    parser.add_argument("--page", action="store_true", help="only write the tables again")
    arguments = parser.parse_args()
    if not arguments.page:
        if arguments.folder is None:
            parser.error("the folder of the two files is missing; pass it, or --page")
        from research.stamps import played

        with played(
            RECORD, pages=[page_name(PAGE)],
            command="python -m research.benchmarks.real_logs FOLDER",
            code=["driftduel.logs.posterior:fit"],
        ):  # fmt: skip
            RECORD.write_text(json.dumps(observe(arguments.folder), indent=1) + "\n", "utf-8")
    record = json.loads(RECORD.read_text("utf-8"))
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), tables(record)), "utf-8")


if __name__ == "__main__":
    main()
