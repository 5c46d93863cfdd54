"""The commands `log compare` and `log replay`: policies on posterior draws and real outcomes."""

import argparse

__all__ = ["add_compare", "add_replay", "compare", "replay"]


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `log compare`."""
    from driftduel.cli.common import add_imports
    from driftduel.cli.log import add_fit, add_rounds

    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="SPEC",
        help="a policy, name:key=value,...; may be repeated (a default selection)",
    )
    parser.add_argument(
        "--sisters", type=int, default=12, metavar="N", help="worlds drawn from the posterior (12)"
    )
    parser.add_argument(
        "--runs", type=int, default=3, metavar="N", help="games of each policy on each (3)"
    )
    add_rounds(parser)
    add_imports(parser)
    add_fit(parser)


def compare(arguments: argparse.Namespace) -> None:
    """Compare policies on posterior draws of a log's world."""
    from driftduel._internal.wording import interval, number, share
    from driftduel.cli.common import load_imports
    from driftduel.cli.log import read_and_fit
    from driftduel.cli.progress import Progress
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import as_json, print_left_out, show_table, wrapped
    from driftduel.logs import compare_on_posterior

    load_imports(arguments)
    log, fit = read_and_fit(arguments)
    progress = Progress("log compare")
    try:
        compared = compare_on_posterior(
            fit, arguments.policy, arguments.sisters, arguments.runs, arguments.rounds,
            arguments.seed, progress,
        )  # fmt: skip
    finally:
        progress.close()
    if arguments.json:
        about = {"options": list(fit.names), "votes": log.counts.votes, "fit": fit.kind}
        print(as_json({**about, **compared.as_dict(), "notes": list(log.notes)}))
        return
    print(bold(wrapped(compared.sentence)))
    print()
    own = compared.as_dict()["own"]
    rows = [
        (
            one.policy,
            number(one.regret),
            interval(one.low, one.high),
            share(one.saves),
            interval(one.saves_low, one.saves_high, share),
            f"{one.best_in} of {len(compared.own)}",
        )
        for one in compared.standings
    ]
    spread = interval(own["low"], own["high"])
    rows.append(("the log's own duels", number(own["regret"]), spread, "", "", ""))
    print_left_out(
        show_table(
            rows,
            ("policy", "regret", "90% interval", "saves", "90%", "best in"),
            right="135",
            optional=("best in", "90% interval"),
        )
    )
    print()
    for remark in compared.remarks:
        print(wrapped(remark))


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `log replay`."""
    from driftduel.cli.common import add_imports
    from driftduel.cli.log import add_fit

    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="SPEC",
        help="a policy, name:key=value,...; may be repeated (king)",
    )
    parser.add_argument(
        "--runs", type=int, default=20, metavar="N", help="games of each, real and simulated (20)"
    )
    add_imports(parser)
    add_fit(parser)


def replay(arguments: argparse.Namespace) -> None:
    """Replay policies on the real outcomes of a log."""
    from driftduel._internal.wording import decimals, number, share
    from driftduel.cli.common import load_imports
    from driftduel.cli.log import read_and_fit
    from driftduel.cli.progress import Progress
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import as_json, show_table, wrapped
    from driftduel.logs import real_outcomes, replay

    load_imports(arguments)
    log, fit = read_and_fit(arguments)
    outcomes = real_outcomes(log, fit)
    progress = Progress("log replay")
    try:
        replays = replay(
            fit, outcomes, arguments.policy or ["king"], arguments.seed, arguments.runs, progress
        )
    finally:
        progress.close()
    if arguments.json:
        about = {"options": list(fit.names), "votes": log.counts.votes, "fit": fit.kind}
        policies = [one.as_dict() for one in replays]
        print(as_json({**about, "policies": policies, "notes": list(log.notes)}))
        return
    for one in replays:
        print(bold(wrapped(one.sentence)))
    print()
    rows = [
        (
            one.policy,
            number(record["regret"]),
            number(record["regret_sd"]),
            number(record["simulated"]),
            number(record["simulated_sd"]),
            decimals(record["apart"], 1, sign=True),
            share(one.answered, 1),
        )
        for one in replays
        for record in [one.as_dict()]
    ]
    show_table(
        rows, ("policy", "real", "sd", "simulated", "sd", "apart (sd)", "answered"), right="123456"
    )
    print()
    for remark in replays[0].remarks:
        print(wrapped(remark))
