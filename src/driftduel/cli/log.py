"""Analyse a log of votes: the best option now, changes, forecasts and policies."""

import argparse
from typing import TYPE_CHECKING, Any

from driftduel._internal.wording import whole
from driftduel.cli import log_ahead, log_features, log_page, log_play, log_tags
from driftduel.cli.common import add_commands

if TYPE_CHECKING:
    from driftduel.logs import Fit, Log

__all__ = [
    "COMMANDS",
    "WITH_JSON",
    "add_fit",
    "add_json",
    "add_model",
    "add_rounds",
    "configure",
    "parse_columns",
    "read_and_fit",
]

COMMANDS = {
    "summary": "the contents of a log, and the best option now",
    "changes": "changes with dates and probabilities, and changes of the winner",
    "measure": "the paper's five measures, with intervals",
    "forecast": "the probability that one option beats another at the end of the log",
    "evaluate": "quality of rolling forecasts, compared with ratings such as Elo",
    "world": "a world fitted to the log, for play, compare and other commands",
    "compare": "regret of policies on similar traffic, compared with the log's own duels",
    "replay": "regret of policies on the real outcomes of a log, where that is unbiased",
    "tags": "differences between subgroups: languages, topics, prompts, judges",
    "features": "whether features of requests predict preferences, and what routing would gain",
    "report": "one HTML page with all results",
    "demo": "a small simulated log with three known changes, from file to page",
    "count": "count the votes of many or large files once; all commands accept the counts",
    "schema": "the JSON Schema of the --json output of a command",
}
WITH_JSON = (
    "summary", "changes", "measure", "forecast", "evaluate", "world", "compare", "replay", "tags",
    "features", "report", "count",
)  # fmt: skip
"""The commands that take --json."""
_COLUMNS = (
    "winner", "loser", "first", "second", "time", "group", "weight", "tie",
    "first_score", "second_score", "first_won", "second_won", "shown", "ranking", "options",
    "places",
)  # fmt: skip
_SHOWN_OPTIONS = 12
_QUIET_SECONDS = 2.0  # before progress is shown


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the commands and their arguments."""
    for name, command in add_commands(parser, "log", COMMANDS):
        if name not in ("demo", "schema"):
            _add_log(command)
        _ADD[name](command)
        command.set_defaults(run=_RUN[name])


def _add_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="files of one log (CSV, JSON, JSON lines, Parquet), or saved counts (.npz)",
    )
    parser.add_argument(
        "--columns",
        metavar="OURS=THEIRS,...",
        help="columns that are not recognised by name: first=model_a,second=model_b, "
        "winner=result.winner of a nested key, options=A+B+C of slates; there are "
        f"{', '.join(_COLUMNS)}",
    )
    parser.add_argument("--time", metavar="COLUMN", help="the column of times")
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        help="votes with the same value depend on each other: a race, a session, a voter; "
        "several columns joined by + make one",
    )
    parser.add_argument(
        "--time-format", metavar="FORMAT", help="format of the times, such as '%%d %%b %%Y'"
    )
    parser.add_argument(
        "--bins", type=int, default=256, metavar="N", help="initial number of time bins (256)"
    )
    parser.add_argument(
        "--most",
        type=int,
        default=1000,
        metavar="N",
        help="count the N options with the most votes (1000)",
    )
    parser.add_argument(
        "--present",
        metavar="A,B,C",
        help="the options present at the end of the log; else as an arena export records them, or "
        "estimated from the votes",
    )
    parser.add_argument(
        "--adaptive",
        action="store_true",
        help="pairs were chosen by earlier votes, so only claims that allow it are made; "
        "set for an arena export",
    )


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the fit and of the output."""
    add_model(parser)
    add_json(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare the argument --json."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object; 'driftduel log schema COMMAND' describes it",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the fit."""
    parser.add_argument(
        "--fit",
        choices=("auto", "utilities", "pairs", "walk"),
        default="auto",
        help="model of the preferences; auto (default): the best one on held-out votes",
    )
    parser.add_argument(
        "--no-first-place",
        action="store_false",
        dest="first_place",
        help="do not model the advantage of the option shown first",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="fixes draws (0)")


def _add_changes(parser: argparse.ArgumentParser) -> None:
    add_fit(parser)
    parser.add_argument(
        "--plot", metavar="FILE", help="also plot the probable winner over time (PNG, SVG or PDF)"
    )


def _add_measure(parser: argparse.ArgumentParser) -> None:
    add_fit(parser)
    add_rounds(parser)
    parser.add_argument(
        "--draws", type=int, default=100, metavar="N", help="worlds drawn for the intervals (100)"
    )


def add_rounds(parser: argparse.ArgumentParser) -> None:
    """Declare the argument --rounds."""
    parser.add_argument(
        "--rounds", type=_rounds, metavar="T", help="rounds of traffic; else one for each vote"
    )


def _rounds(text: str) -> int:
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rounds") from None


def _add_world(parser: argparse.ArgumentParser) -> None:
    add_fit(parser)
    add_rounds(parser)
    parser.add_argument("--save", required=True, metavar="FILE", help="write it here, as NPZ")
    parser.add_argument(
        "--sisters",
        type=int,
        default=0,
        metavar="N",
        help="draw N worlds from the posterior, into FILE-1.npz, FILE-2.npz, ... "
        "(default: write the posterior mean)",
    )


def _add_count(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--save", required=True, metavar="FILE", help="write the counts here (.npz)"
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="count the files side by side on a dask cluster, tcp://host:port",
    )
    add_json(parser)


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", choices=WITH_JSON, metavar="COMMAND", help=", ".join(WITH_JSON))


# ---- reading ----


def read(arguments: argparse.Namespace) -> "Log":
    """Read the log of the positional argument."""
    from driftduel.logs import read_log

    source: Any = arguments.files if len(arguments.files) > 1 else arguments.files[0]
    return read_log(source, **_how_to_read(arguments))


def _how_to_read(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `read_log` and `count_files`."""
    return {
        "columns": parse_columns(arguments.columns),
        "time": arguments.time,
        "group": arguments.group.split("+") if arguments.group else None,
        "time_format": arguments.time_format,
        "bins": arguments.bins,
        "most": arguments.most,
        "present": arguments.present.split(",") if arguments.present else None,
        "adaptive": arguments.adaptive,
        **({"by": arguments.by} if hasattr(arguments, "by") else {}),
        **({"features": arguments.features} if hasattr(arguments, "features") else {}),
    }


def parse_columns(text: str | None) -> dict[str, str | list[str]]:
    """Parse the value of --columns into columns by role; several columns are joined by +."""
    from driftduel.errors import DriftduelError

    columns: dict[str, str | list[str]] = {}
    for part in text.split(",") if text else ():
        ours, sign, theirs = part.partition("=")
        if not sign or not theirs:
            raise DriftduelError(f"--columns {part!r} must be like winner=model_a.")
        role = ours.strip()
        columns[role] = theirs.split("+") if role in ("options", "places") else theirs.strip()
    return columns


def read_and_fit(arguments: argparse.Namespace) -> "tuple[Log, Fit]":
    """Read and fit the log of the positional argument."""
    log = read(arguments)
    if not arguments.json:
        print_notes(log)
    return log, fit_of(log, arguments)


def fit_of(log: "Log", arguments: argparse.Namespace) -> "Fit":
    """Fit a log with the parsed arguments; show progress on stderr if it takes long."""
    import sys
    import time

    from driftduel.logs import fit

    started = time.monotonic()

    def show(stage: str) -> None:
        if time.monotonic() - started > _QUIET_SECONDS:
            print(f"driftduel: {stage} ...", file=sys.stderr, flush=True)

    return fit(
        log.counts,
        arguments.fit,
        bins=arguments.bins,
        seed=arguments.seed,
        first_place=arguments.first_place,
        progress=show,
    )


def print_notes(log: "Log") -> None:
    """Print assumptions and invalid rows to stderr."""
    import sys

    from driftduel.cli.text import wrapped
    from driftduel.logs import quote

    def plain(value: object, most: int) -> str:
        return "" if value is None else quote(value, most)[1:-1]

    for note in log.notes:
        print(wrapped(f"driftduel: {note}", "  ", ""), file=sys.stderr)
    if log.skipped:
        lost = sum(log.skipped.values())
        print(f"driftduel: {lost:,} of {log.rows:,} rows are invalid:", file=sys.stderr)
        for why, rows in log.skipped.items():
            print(f"  {rows:>9,}  {why}", file=sys.stderr)
        for problem in log.problems[:5]:
            row = ", ".join(f"{plain(n, 20)}={plain(v, 40)}" for n, v in problem.row.items())
            print(wrapped(f"line {problem.line}: {row}", "    ", "  "), file=sys.stderr)


# ---- the commands ----


def _summary(arguments: argparse.Namespace) -> None:
    from driftduel._internal.wording import decimals, share
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import as_json, show_table, wrapped
    from driftduel.logs import describe_log, describe_winner, time_text

    log, fit = read_and_fit(arguments)
    about = describe_log(log, fit)
    if arguments.json:
        print(as_json(about))
        return
    counts, now = log.counts, fit.now
    span = " to ".join(time_text(t, counts.clock) for t in (counts.first[0], counts.last[-1]))
    pairs = counts.options * (counts.options - 1) // 2
    rows = [
        ("votes", f"{counts.votes:,}", span),
        ("options", f"{counts.options}", ", ".join(counts.names[:_SHOWN_OPTIONS])),
        ("pairs seen", f"{about['pairs_seen']:,}", f"of {pairs:,}"),
        ("ties", share(counts.ties / counts.votes, 1), ""),
        ("dependence phi", decimals(fit.phi), "1: all votes are independent of each other"),
    ]
    if about["first_advantage"] is not None:
        low, high = (share(end, 1) for end in about["first_advantage_between"])
        equals = f"between equals ({low} to {high})"
        rows.append(("first place wins", share(about["first_advantage"], 1), equals))
    if about["heaviest_group"] is not None:
        rows.append(("heaviest group", share(about["heaviest_group"], 1), "of the votes"))
    if about["weighted"]:
        effective = whole(counts.effective_votes)
        rows.append(("effective votes", effective, "the same information with equal weights"))
    show_table(rows, right="1")
    print(f"\n{bold(wrapped(describe_winner(fit)))}")
    table = sorted(now.chances.items(), key=lambda item: -item[1])[:_SHOWN_OPTIONS]
    table.append(("no winner", now.no_winner))
    show_table([(name, share(p, 1)) for name, p in table], ("best now", "probability"), right="1")
    print()
    for line in about["remarks"]:
        print(wrapped(line))


def _changes(arguments: argparse.Namespace) -> None:
    from driftduel._internal.wording import share
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import as_json, print_left_out, show_table, wrapped
    from driftduel.logs import (
        describe_changes,
        describe_estimate,
        describe_winner,
        list_changes,
    )

    if arguments.plot:
        from driftduel.figures import check_figure_path

        check_figure_path(arguments.plot)
    log, fit = read_and_fit(arguments)
    about = list_changes(log, fit)
    if arguments.plot:
        from driftduel.logs import plot_winners

        plot_winners(fit, arguments.plot, title=describe_winner(fit))
    if arguments.json:
        print(as_json(about))
        return
    print(bold(wrapped(describe_changes(about))))
    if about["changes"]:
        print(f"\n{wrapped(describe_estimate(fit))}")
        left_out = show_table(
            [
                (
                    row["time_text"],
                    f"{row['low_text']} to {row['high_text']}",
                    row["before"] or "none",
                    row["after"] or "none",
                    share(row["winner_changed"]),
                    share(row["changed"]) if row["cause"] == "preferences" else row["cause"],
                    "" if row["q"] is None else f"{row['q']:.3f}",
                )
                for row in about["changes"]
            ],
            ("when", "between (95%)", "before", "after", "new winner", "any change", "q"),
            right="456",
            optional=("q", "any change"),
        )
        print_left_out(left_out)
    print()
    for line in about["remarks"]:
        print(wrapped(line))


def _measure(arguments: argparse.Namespace) -> None:
    from driftduel._internal.wording import interval, number
    from driftduel.cli.text import as_json, show_table, wrapped
    from driftduel.logs import describe_measures

    log, fit = read_and_fit(arguments)
    about = describe_measures(log, fit, arguments.rounds, arguments.draws)
    if arguments.json:
        print(as_json(about))
        return
    rows = []
    for name, label in _MEASURES.items():
        row = about[name]
        open_ = (
            "" if row["told"] else "not determined by this log: depends on the resolution in time"
        )
        least = f"at least {number(row['bound'])}" if row["bound"] is not None else ""
        spread = interval(row["low"], row["high"])
        rows.append((label, number(row["median"]), spread, open_ or least))
    show_table(rows, ("measure", "median", "90% interval", ""), right="1")
    print()
    for line in about["remarks"]:
        print(wrapped(line))


_MEASURES = {
    "significant_switches": "significant CW switches",
    "condorcet_switches": "Condorcet winner switches S^CW",
    "preference_switches": "preference switches S^P",
    "total_variation": "total variation V",
    "condorcet_variation": "CW variation",
}


def _world(arguments: argparse.Namespace) -> None:
    from pathlib import Path

    from driftduel.cli.text import as_json, wrapped
    from driftduel.errors import DriftduelError
    from driftduel.logs import draw_worlds
    from driftduel.worlds import save_world

    path = Path(arguments.save)
    if path.suffix.lower() != ".npz":
        raise DriftduelError(f"worlds are written as .npz; {path.name!r} has another suffix.")
    if arguments.sisters < 0:
        raise DriftduelError(f"--sisters {arguments.sisters} must be at least 0.")
    _, fit = read_and_fit(arguments)
    if arguments.sisters:
        worlds = draw_worlds(fit, arguments.sisters, arguments.rounds)
        paths = [path.with_name(f"{path.stem}-{i}.npz") for i in range(1, len(worlds) + 1)]
    else:
        worlds, paths = [fit.world(arguments.rounds)], [path]
    for world, where in zip(worlds, paths, strict=True):
        save_world(world, where)
    if arguments.json:
        options = list(fit.names)
        print(as_json({"files": [str(p) for p in paths], "rounds": worlds[0].rounds,
                       "options": options}))  # fmt: skip
        return
    print("\n".join(str(p) for p in paths))
    print(wrapped(f"arms: {', '.join(f'{i} {name}' for i, name in enumerate(fit.names))}"))
    print(f"try: driftduel measure --world file:path={paths[0]}")


def _count(arguments: argparse.Namespace) -> None:
    from driftduel.cli.text import as_json
    from driftduel.logs import count_files

    log = count_files(arguments.files, cluster=arguments.cluster, **_how_to_read(arguments))
    log.counts.save(arguments.save)
    if arguments.json:
        about = {"options": list(log.names), "votes": log.counts.votes, "rows": log.rows}
        skipped = {"skipped": dict(log.skipped), "left_out": list(log.left_out)}
        print(as_json({"file": arguments.save, **about, **skipped, "notes": list(log.notes)}))
        return
    print_notes(log)
    print(f"{log.counts.votes:,} votes between {log.counts.options} options: {arguments.save}")


def _schema(arguments: argparse.Namespace) -> None:
    import json

    from driftduel.logs import json_schema

    print(json.dumps(json_schema(arguments.command), indent=2))


_ADD = {
    "summary": add_fit, "changes": _add_changes, "measure": _add_measure, "world": _add_world,
    "forecast": log_ahead.add_forecast, "evaluate": log_ahead.add_evaluate,
    "compare": log_play.add_compare, "replay": log_play.add_replay, "tags": log_tags.add_tags,
    "features": log_features.add_features,
    "report": log_page.add_report, "demo": log_page.add_demo,
    "count": _add_count, "schema": _add_schema,
}  # fmt: skip
_RUN = {
    "summary": _summary, "changes": _changes, "measure": _measure, "world": _world,
    "forecast": log_ahead.forecast, "evaluate": log_ahead.evaluate,
    "compare": log_play.compare, "replay": log_play.replay, "tags": log_tags.tags,
    "features": log_features.features,
    "report": log_page.report, "demo": log_page.demo,
    "count": _count, "schema": _schema,
}  # fmt: skip


def run(arguments: argparse.Namespace) -> None:
    """Raise AssertionError: every subcommand sets a separate function."""
    raise AssertionError
