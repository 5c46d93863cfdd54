"""The commands `log forecast` and `log evaluate`."""

import argparse
from typing import Any

__all__ = ["add_evaluate", "add_forecast", "evaluate", "forecast"]

_SHOWN_OPTIONS = 12


def add_forecast(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `log forecast`."""
    from driftduel.cli.log import add_fit

    parser.add_argument("--pair", metavar="A,B", help="print this pair only")
    parser.add_argument(
        "--absent",
        action="store_true",
        help="include options that are absent at the end, as if they came back unchanged",
    )
    add_fit(parser)


def forecast(arguments: argparse.Namespace) -> None:
    """Print P(a beats b) at the end of the log."""
    from driftduel._internal.wording import share
    from driftduel.cli.log import read_and_fit
    from driftduel.cli.text import as_json, show_table, wrapped
    from driftduel.errors import DriftduelError

    pair = _pair(arguments.pair)
    log, fit = read_and_fit(arguments)
    found = fit.forecast(absent=arguments.absent)
    shown = found.names if arguments.absent else found.present
    if pair is not None:
        rows = [found.pair(*pair)]
        if rows[0]["probability"] is None:
            gone = next(name for name in pair if name not in found.present)
            raise DriftduelError(
                f"{gone!r} is absent at the end of the log; add --absent to include such options."
            )
    else:
        rows = [found.pair(a, b) for i, a in enumerate(shown) for b in shown[i + 1 :]]
    left_out = [name for name in found.names if name not in shown]
    remarks = [
        "Probabilities are means over posterior draws, with 95% intervals, for decided votes at "
        "the end of the log" + (", without the first-place advantage." if found.placed else ".")
    ]
    if left_out:
        remarks.append(
            f"Not included, because absent at the end of the log: {', '.join(left_out)}."
        )
    if arguments.json:
        about: dict[str, Any] = {"options": list(found.names), "present": list(found.present)}
        about |= {"votes": log.counts.votes, "fit": fit.kind, "first_place": fit.first_place}
        print(as_json({**about, "pairs": rows, "notes": list(log.notes), "remarks": remarks}))
        return
    if pair is not None:
        _show_pair(rows[0], found.placed)
    else:
        names = found.ranking(shown)[:_SHOWN_OPTIONS]
        table = [
            (a, *("" if a == b else share(found.pair(a, b)["probability"]) for b in names))
            for a in names
        ]
        show_table(table, ("beats", *names), right="".join(map(str, range(1, 10))))
        if len(names) < len(shown):
            remarks.append(
                f"Shown are {len(names)} of {len(shown)} options; --json prints all pairs."
            )
    print()
    for line in remarks:
        print(wrapped(line))


def _pair(text: str | None) -> tuple[str, str] | None:
    from driftduel.errors import DriftduelError

    if text is None:
        return None
    a, comma, b = text.partition(",")
    if not comma or not a.strip() or not b.strip():
        raise DriftduelError(f"--pair {text!r} must be two options, A,B.")
    return a.strip(), b.strip()


def _show_pair(row: dict[str, Any], placed: bool) -> None:
    from driftduel._internal.wording import share
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import wrapped

    spread = f"{share(row['low'], 1)} to {share(row['high'], 1)}"
    chance = share(row["probability"], 1)
    print(bold(wrapped(f"{row['a']} beats {row['b']} with probability {chance} ({spread}).")))
    if placed:
        first, second = share(row["a_first"], 1), share(row["b_first"], 1)
        print(wrapped(f"Shown first: {first}. Shown second: {second}."))


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `log evaluate`."""
    from driftduel.cli.log import add_fit

    parser.add_argument(
        "--blocks",
        type=int,
        default=12,
        metavar="N",
        help="predict the last 60%% of the log in N blocks (12)",
    )
    add_fit(parser)


def evaluate(arguments: argparse.Namespace) -> None:
    """Print the log-loss of rolling forecasts beside those of ratings."""
    from driftduel.cli.log import print_notes, read
    from driftduel.cli.report import print_step
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import as_json, show_table, wrapped
    from driftduel.logs import evaluate as evaluate_log

    log = read(arguments)
    if not arguments.json:
        print_notes(log)
    found = evaluate_log(
        log, arguments.blocks, kind=arguments.fit, seed=arguments.seed, progress=print_step
    )
    if arguments.json:
        about = {"options": list(log.names), "votes": log.counts.votes, **found.as_dict()}
        print(as_json({**about, "notes": list(log.notes), "remarks": [found.sentence]}))
        return
    print(bold(wrapped(found.sentence)))
    print()
    show_table(
        [
            (
                row["model"],
                f"{row['log_loss']:.4f}",
                "" if row["difference"] is None else f"{row['difference']:+.4f}",
                "" if row["difference"] is None else f"{row['standard_error']:.4f}",
            )
            for row in found.as_dict()["models"]
        ],
        ("model", "log-loss", "driftduel minus this", "standard error"),
        right="123",
    )
    print()
    for line in found.remarks:
        print(wrapped(line))
