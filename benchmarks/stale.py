"""List the records behind the pages that were not played with the present code.

`make stale` prints each stale record or part of one: what it was played with, what has changed
since, the command that plays it again and the CPU time that this took. The pages show the same at
their top when the site is built (docs/generate.py).

    python benchmarks/stale.py adopt docs/NAME.json --page PAGE.md --command "make NAME"

stamps a record that a script wrote without a stamp: by the commit that changed it last.
"""

import argparse
from pathlib import Path

from driftduel.lab.records import adopt, read_stamps

DOCS = Path(__file__).resolve().parents[1] / "docs"


def records(docs: Path = DOCS) -> list[Path]:
    """Return the files with numbers that pages show: JSON and CSV, stamps aside."""
    found = (path for ending in ("json", "csv") for path in docs.rglob(f"*.{ending}"))
    return sorted(path for path in found if path.parent.name != "played")


def main() -> None:
    """List, or adopt."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="verb")
    adopting = commands.add_parser("adopt", help="stamp a record by its last commit")
    adopting.add_argument("record", type=Path)
    adopting.add_argument("--page", action="append", required=True, help="that shows it")
    adopting.add_argument("--command", required=True, help="that plays it again")
    adopting.add_argument("--part", action="append", help="of the record")
    adopting.add_argument("--commit", default="", help="of the games; of its last change if absent")
    arguments = parser.parse_args()
    if arguments.verb == "adopt":
        adopt(
            arguments.record.resolve(), pages=arguments.page, command=arguments.command,
            parts=arguments.part or ("all",), commit=arguments.commit,
        )  # fmt: skip
        return
    stamps = read_stamps(DOCS)
    lines = [line for stamp in stamps for line in stamp.lines()]
    print("\n".join(lines) if lines else "All records were played with the present code.")
    known = [part.seconds for stamp in stamps for part in stamp.stale().values() if part.seconds]
    if lines:
        print(f"\n{len(lines)} stale; the recorded times add up to {sum(known) / 60:.0f} minutes.")


if __name__ == "__main__":
    main()
