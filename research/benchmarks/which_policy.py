"""Play the comparison behind the page on choosing a policy.

`make which-policy` plays which-policy.toml and writes research/records/which-policy.csv, from which
the table of docs/research/benchmarks.md is generated.
"""

import argparse
import tempfile
from pathlib import Path

from driftduel.lab import read_plan, sweep
from driftduel.lab.export import as_csv
from research.places import DOCS, RECORDS, page_name
from research.stamps import played

PLAN = Path(__file__).parent / "which-policy.toml"
RECORD = RECORDS / "which-policy.csv"
PAGE = DOCS / "research" / "benchmarks.md"


def main() -> None:
    """Play and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="games at a time (1)")
    arguments = parser.parse_args()
    plan = read_plan(PLAN)
    with (
        tempfile.TemporaryDirectory() as folder,
        played(
            RECORD, pages=[page_name(PAGE)], command="make which-policy",
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
