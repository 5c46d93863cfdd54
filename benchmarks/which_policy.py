"""Play the comparison behind the page on choosing a policy.

`make which-policy` plays docs/how-to/which-policy.toml and writes which-policy.csv beside it, from
which the page's table is generated.
"""

import argparse
import tempfile
from pathlib import Path

from driftduel.lab import read_plan, sweep
from driftduel.lab.records import played
from driftduel.lab.writing import as_csv

HOW_TO = Path(__file__).resolve().parents[1] / "docs" / "how-to"
RECORD = HOW_TO / "which-policy.csv"


def main() -> None:
    """Play and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="games at a time (1)")
    arguments = parser.parse_args()
    plan = read_plan(HOW_TO / "which-policy.toml")
    with (
        tempfile.TemporaryDirectory() as folder,
        played(
            RECORD, pages=["how-to/which-policy.md"], command="make which-policy",
            policies=[each.spec for each in plan.policies],
            worlds=[each.spec for each in plan.worlds],
        ),
    ):  # fmt: skip
        found = sweep(plan, folder, workers=arguments.workers, watch=True)
        if found.missing:
            raise SystemExit(f"{found.missing} games are missing: {found.failures}")
        RECORD.write_text(as_csv(found), "utf-8")


if __name__ == "__main__":
    main()
