"""The commands `log report` and `log demo`."""

import argparse

__all__ = ["add_demo", "add_report", "demo", "report"]


def add_report(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the page."""
    from driftduel.cli.log import add_fit

    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the page")
    add_fit(parser)
    parser.add_argument(
        "--no-policies",
        action="store_true",
        help="omit the comparison of policies, which takes a while",
    )


def report(arguments: argparse.Namespace) -> None:
    """Read and fit a log, write the page and print its path."""
    from pathlib import Path

    from driftduel._internal.pages import environment
    from driftduel.cli.log import fit_of, print_notes, read
    from driftduel.cli.report import print_step
    from driftduel.cli.text import as_json, wrapped
    from driftduel.logs import describe_changes, describe_winner, list_changes, write_page

    environment("driftduel.logs", "logs")  # raise a missing extra before the long work
    log = read(arguments)
    if not arguments.json:
        print_notes(log)
    print_step("fitting")
    fitted = fit_of(log, arguments)
    first, more = Path(arguments.files[0]).name, len(arguments.files) - 1
    page = write_page(
        log,
        fitted,
        arguments.out,
        title=f"{first} and {more:,} more" if more else first,
        policies=not arguments.no_policies,
        progress=print_step,
    )
    now, changed = describe_winner(fitted), describe_changes(list_changes(log, fitted))
    if arguments.json:
        about = {"page": str(page), "now": now, "changes": changed, "notes": list(log.notes)}
        print(as_json(about))
        return
    print(wrapped(now))
    print(wrapped(changed))
    print(f"page:  {page}")


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the demo."""
    parser.add_argument(
        "--out",
        default="log-demo",
        metavar="DIR",
        help="folder of the votes and the page (log-demo)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the votes (0)")


def demo(arguments: argparse.Namespace) -> None:
    """Simulate a log, analyse it, and print the true changes."""
    from driftduel._internal.pages import environment
    from driftduel.cli import parser
    from driftduel.cli.terminal import bold
    from driftduel.errors import DriftduelError
    from driftduel.logs import DEMO_CHANGES, write_demo

    if arguments.seed < 0:
        raise DriftduelError(f"--seed {arguments.seed} must be a whole number at least 0.")
    environment("driftduel.logs", "logs")
    path = str(write_demo(arguments.out, arguments.seed))
    print(f"A simulated log with known changes: {path}")
    for words in (
        ["summary", path],
        ["changes", path],
        ["report", path, "--out", arguments.out, "--no-policies"],
    ):
        print(f"\n{bold('$ driftduel log ' + ' '.join(words))}")
        again = parser().parse_args(["log", *words])
        again.run(again)
    print(f"\n{bold('The truth')}")
    for day, what in DEMO_CHANGES:
        print(f"  {day}  {what}.")
