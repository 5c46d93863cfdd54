"""List the records behind the pages that were not played with the present code.

`make stale` prints each stale record or part of one: the code it was played with, later
changes, the command that plays it again and the CPU time that this took. The pages show the same at
their top when the site is built (docs/generate.py).

    python -m research.benchmarks.stale adopt research/records/NAME.json --page docs/PAGE.md \
        --command "make NAME"

stamps a record that a script wrote without a stamp: by the commit that changed it last.
"""

import argparse
from pathlib import Path

from driftduel._internal.wording import duration
from research.places import RECORDS
from research.stamps import Stamp, adopt, read_stamps


def records(folder: Path = RECORDS) -> list[Path]:
    """Return the files with numbers that pages show: JSON and CSV, stamps aside."""
    return sorted(path for ending in ("json", "csv") for path in folder.glob(f"*.{ending}"))


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
    print(listed(read_stamps(RECORDS)))


def listed(stamps: list[Stamp]) -> str:
    """Return the stale records by command: their code, and the CPU time of a replay."""
    stale = [(stamp, name, part) for stamp in stamps for name, part in stamp.stale().items()]
    if not stale:
        return "All records were played with the present code."
    lines = []
    for stamp, name, part in stale:
        which = stamp.record if name == "all" else f"{stamp.record}, {name}"
        takes = "time not recorded" if part.seconds is None else f"{duration(part.seconds)} of CPU"
        lines.append(f"{part.command}  ({takes})\n    {which}: {part.describe()}")
    known = sum(part.seconds or 0.0 for _, _, part in stale)
    lines.append(f"{len(stale)} stale; the recorded times add up to {duration(known)}.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
