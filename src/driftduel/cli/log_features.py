"""The command `log features`: whether features of requests predict preferences."""

import argparse

__all__ = ["add_features", "features"]


def add_features(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from driftduel.cli.log import add_json

    parser.add_argument(
        "--features",
        required=True,
        type=_names,
        metavar="A,B,C",
        help="columns of the request: numbers, or categories with at most 32 values",
    )
    parser.add_argument(
        "--prices",
        type=_prices,
        metavar="OPTION=PRICE,...",
        help="prices of options in log-odds; options that are not named cost nothing",
    )
    add_json(parser)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of different columns, such as a,b,c")
    return names


def _prices(text: str) -> dict[str, float]:
    prices = {}
    for part in text.split(","):
        name, _, price = part.rpartition("=")
        try:
            prices[name.strip()] = float(price)
        except ValueError:
            name = ""
        if not name.strip():
            raise argparse.ArgumentTypeError(f"{part!r} is no price such as large=0.4")
    return prices


def features(arguments: argparse.Namespace) -> None:
    """Read a log, examine the features and print the result."""
    from driftduel._internal.wording import decimals, plain, short
    from driftduel.cli.log import print_notes, read
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import as_json, print_left_out, show_table, wrapped
    from driftduel.logs import describe_features

    log = read(arguments)
    about = describe_features(log, arguments.prices)
    if arguments.json:
        print(as_json(about))
        return
    print_notes(log)
    print(bold(wrapped(plain(about["statement"]))))
    print(bold(wrapped(about["gain_statement"])))
    print(wrapped(about["changes_statement"]))
    print()
    left_out = show_table(
        [
            (
                row["name"],
                f"{len(row['values'])} categories" if row["values"] else row["kind"],
                short(row["evidence"]),
                short(row["required"]),
                "yes" if row["matters"] else "not established",
            )
            for row in about["features"]
        ],
        ("feature", "kind", "evidence", "required", "matters alone"),
        right="23",
        optional=("kind", "required"),
    )
    gain = about["gain"]
    print()
    rows = [
        (name, decimals(100 * gain[key]))
        for name, key in (
            ("best single option", "regret_single"),
            ("router", "regret_router"),
        )
    ]
    show_table(rows, ("mean regret", "points"), right="1")
    print_left_out(left_out)
    print()
    for line in about["remarks"]:
        print(wrapped(line))
