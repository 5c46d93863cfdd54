"""The command `log tags`: differences between subgroups of votes."""

import argparse
from typing import Any

__all__ = ["add_tags", "print_subgroups", "tags"]

_SHOWN = 24


def add_tags(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from driftduel.cli.log import add_json

    parser.add_argument(
        "--by",
        required=True,
        metavar="COLUMN",
        help="the column of subgroups, such as language, topic, prompt or judge; 'topic' is also "
        "found as tags.topic",
    )
    add_json(parser)


def tags(arguments: argparse.Namespace) -> None:
    """Read a log, compare the subgroups and print the result."""
    from driftduel.cli.log import print_notes, read
    from driftduel.cli.text import as_json
    from driftduel.logs import describe_subgroups, tagged_votes

    log = read(arguments)
    about = describe_subgroups(tagged_votes(log), arguments.by)
    if arguments.json:
        print(as_json(about))
        return
    print_notes(log)
    print_subgroups(about)


def print_subgroups(about: dict[str, Any]) -> None:
    """Print the statement, the shares and the remarks of `describe_subgroups`."""
    from driftduel._internal.wording import plain, share
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import print_left_out, show_table, wrapped

    print(bold(wrapped(plain(about["statement"]))))
    print()
    # The largest differences first: these rows answer "where does an option lose?".
    rows = sorted(about["shares"], key=lambda row: row["share"] - row["overall"])
    left_out = show_table(
        [
            (
                row["option"],
                row["value"],
                f"{row['votes']:,}",
                share(row["share"]),
                f"{share(row['low'])} to {share(row['high'])}",
                share(row["overall"]),
            )
            for row in rows[:_SHOWN]
        ],
        ("option", about["tag"], "votes", "wins", "95% interval", "all"),
        right="2345",
        optional=("all", "95% interval"),
    )
    print_left_out(left_out)
    if len(rows) > _SHOWN:
        print(f"... and {len(rows) - _SHOWN:,} more; --json has all of them")
    print()
    for line in about["remarks"]:
        print(wrapped(line))
