"""Score `king` on the test split of the suite, which nothing was tuned on.

`make champion` writes research/records/champion.json and its table in docs/research/king.md;
hours. It goes on from what --out has already.
"""

import argparse
import json
import tempfile
from pathlib import Path

from driftduel.suite import as_markdown, read_score, read_split, run_suite, score
from driftduel.suite.roster import assign_roles
from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, page_name
from research.stamps import played

RECORD = RECORDS / "champion.json"
PAGE = DOCS / "research" / "king.md"
POLICY, TABLE = "king", "test"


def main() -> None:
    """Play, score, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir(), "champion-test"))
    parser.add_argument("--page", action="store_true", help="only write the page again")
    arguments = parser.parse_args()
    half = read_split("test")
    if not arguments.page:
        with played(
            RECORD, pages=[page_name(PAGE)], command="make champion",
            policies=assign_roles(half, [POLICY]).all_specs, worlds=[*half.changing, *half.quiet],
        ):  # fmt: skip
            found = score(half.name, POLICY, *run_suite(half, [POLICY], arguments.out))
            RECORD.write_text(json.dumps([found.as_dict()], indent=1) + "\n", "utf-8")
    (record,) = json.loads(RECORD.read_text("utf-8"))
    table = {TABLE: f"{as_markdown(read_score(record))}\n"}
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), table), "utf-8")


if __name__ == "__main__":
    main()
