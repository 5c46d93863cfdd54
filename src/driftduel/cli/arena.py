"""Commands of the arena: collect pairwise votes, and report the leader with its evidence."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from driftduel.cli import arena_items as items, arena_owning as owning
from driftduel.cli.common import add_commands
from driftduel.cli.log_tags import print_subgroups
from driftduel.errors import DriftduelError

if TYPE_CHECKING:
    from driftduel.arena import ArenaManager, ArenaStore

__all__ = ["COMMANDS", "configure", "run"]

COMMANDS = {
    "new": "create an arena, and print its owner's token",
    "serve": "serve the arenas of a store: vote pages, boards, HTTP interface",
    "board": "print the leader, the evidence for it, and the changes",
    "export": "write the votes as CSV, JSON lines or Parquet, which 'driftduel log' reads",
    "import": "import the votes of a log into an arena before its first duel",
    "schema": "print the JSON Schema of a line of items, votes or preferences",
    "check": "replay the whole log, and compare with hashes and snapshot",
    "token": "create, list or delete tokens with the scope vote, read or own",
    **owning.COMMANDS,
    **items.COMMANDS,
    "demo": "serve an arena of models, prompts and simulated voters with a change of preferences",
}
_STORE = "sqlite:arena.db"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the commands and their arguments."""
    for name, command in add_commands(parser, "arena", COMMANDS):
        if name not in ("serve", "demo", "list", "schema"):
            about = "the arena; * for a token that creates arenas"
            about = about if name == "token" else "the arena"
            command.add_argument("name", metavar="NAME", help=about)
        if name not in ("demo", "schema"):
            _add_store(command)
        _ADD[name](command)
        command.set_defaults(run=_RUN[name])


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store",
        default=_STORE,
        metavar="STORE",
        help=f"store of the arenas: sqlite:FILE or postgresql://... ({_STORE})",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_new(parser: argparse.ArgumentParser) -> None:
    """Declare the settings of a new arena."""
    parser.add_argument(
        "--policy",
        metavar="SPEC",
        help="policy that chooses the duels (king; with features or prices adaptive-logistic)",
    )
    parser.add_argument(
        "--mode",
        choices=("panel", "serve"),
        default="panel",
        help="panel (default): two different options, always; serve: one may be shown alone",
    )
    parser.add_argument(
        "--order",
        choices=("asked", "arrival"),
        help="order of learning: as asked (default for panels) or as answers arrive",
    )
    parser.add_argument(
        "--show",
        type=int,
        metavar="N",
        help="number of options shown at once, up to 6; above 2 the policy must be king or "
        "slate-NAME (2)",
    )
    parser.add_argument(
        "--feedback",
        choices=("pick", "ranking"),
        help="answer with --show 3 or more: pick one option (default), or rank some or all",
    )
    parser.add_argument("--ties", choices=("skip", "coin"), help="how the policy learns a tie")
    parser.add_argument(
        "--claim",
        choices=("voters", "judges"),
        default="voters",
        help="voters (default): a voter's first vote on a pair is evidence; judges: every vote is",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="fixes every draw (0)")
    parser.add_argument(
        "--feature",
        action="append",
        default=[],
        metavar="SPEC",
        help="a feature of requests, repeat for several: NAME=VALUE,VALUE for a category, "
        "NAME:number for a standardised number, NAME:number:CENTRE:SCALE for others",
    )
    parser.add_argument(
        "--price",
        action="append",
        default=[],
        metavar="OPTION=PRICE",
        help="price of an option in log-odds, repeat for several (0)",
    )
    # The defaults are those of `driftduel.arena.Settings`, which needs an extra to be imported.
    parser.add_argument(
        "--grace", type=float, metavar="S", help="seconds in which a vote can be undone (5)"
    )
    parser.add_argument(
        "--lease",
        type=float,
        metavar="S",
        help="seconds that an open duel keeps others' votes waiting, unless renewed (60)",
    )
    parser.add_argument(
        "--votes-a-day",
        type=int,
        metavar="N",
        help="maximum number of votes of one voter on one pair in one day (50)",
    )
    parser.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="URL",
        help="a site whose pages may show the widget: https://example.org",
    )
    _add_json(parser)


def _add_new(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="TEXT",
        help="name of an option; pass at least two",
    )
    parser.add_argument(
        "--options",
        metavar="FILE",
        help="file of options: one name per line, or .json or .jsonl with name, kind and content",
    )
    items.add_item_settings(parser)
    add_new(parser)
    items.add_page_settings(parser)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="port (8000; 0: any)")
    parser.add_argument(
        "--advertise",
        metavar="URL",
        help="http://HOST:PORT for the other servers of a PostgreSQL (where it listens)",
    )
    parser.add_argument(
        "--private-hooks",
        action="store_true",
        help="allow webhooks to private addresses, which is not safe on a shared network",
    )
    parser.add_argument(
        "--behind-proxy",
        action="store_true",
        help="trust the forwarding headers of a proxy on this machine; cookies for https only",
    )


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="a .csv, .jsonl or .parquet file"
    )
    parser.add_argument(
        "--kind",
        choices=("votes", "preferences"),
        default="votes",
        help="votes (default), or preferences: prompt, chosen and rejected answer, for training",
    )
    parser.add_argument("--imported", action="store_true", help="write imported past votes, too")


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="an export, a public arena log, or a file that 'driftduel log' reads",
    )
    parser.add_argument(
        "--columns",
        metavar="OURS=THEIRS,...",
        help="names of the columns, as for 'driftduel log summary'",
    )
    parser.add_argument(
        "--items",
        action="store_true",
        help="create an arena with items: the prompts and answers of the file",
    )
    add_new(parser)


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind", choices=("items", "votes", "preferences"), help="the file whose lines to describe"
    )


def _schema(arguments: argparse.Namespace) -> None:
    from driftduel.arena import file_schema

    print(json.dumps(file_schema(arguments.kind), indent=2))


def _add_token(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scope",
        choices=("vote", "read", "own"),
        default="vote",
        help="vote (default): ask and vote; read: board and log; own: everything",
    )
    parser.add_argument("--label", default="", metavar="TEXT", help="label, for --list and --drop")
    parser.add_argument("--list", action="store_true", help="list the tokens instead")
    parser.add_argument(
        "--drop", metavar="LABEL", help="delete tokens by label or by the digits that --list shows"
    )
    _add_json(parser)


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="port (8000; 0: any)")
    parser.add_argument(
        "--votes", type=int, metavar="N", help="number of votes after which to stop (until Ctrl-C)"
    )
    parser.add_argument(
        "--rate", type=float, default=20.0, metavar="N", help="votes per second (20)"
    )
    parser.add_argument("--no-open", action="store_true", help="open no browser")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="fixes the voters (1)")


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    keys = (
        "policy", "mode", "show", "feedback", "order", "ties", "claim", "seed", "grace", "lease",
        "votes_a_day",
    )  # fmt: skip
    given = {key: getattr(arguments, key) for key in keys} | {"origins": arguments.origin}
    given["features"] = arguments.feature
    if arguments.price:
        given["prices"] = owning.parse_prices(arguments.price)
    return {key: value for key, value in given.items() if value is not None}


def _store(arguments: argparse.Namespace, *, create: bool = True) -> "ArenaStore":
    from driftduel.arena import open_store

    return open_store(arguments.store, create=create)


def _new(arguments: argparse.Namespace) -> None:
    from driftduel.arena import (
        ArenaManager,
        ItemsChanged,
        PageSettings,
        in_batches,
        option_names,
        option_texts,
        read_items,
        wait_durable,
    )

    more = [] if arguments.options is None else owning.read_options(arguments.options)
    options = [*arguments.option, *more]
    page = items.page_settings(arguments)
    PageSettings().changed(**page)  # refused before the arena is created
    settings = _settings(arguments)
    for key in ("balance", "evidence"):
        if getattr(arguments, key) is not None:
            settings[key] = getattr(arguments, key)
    path = arguments.items
    if path is not None:  # the whole file is checked before the arena is created
        texts = option_texts(options) if options else None
        named = option_names(read_items(path), texts, arguments.balance)
        options = options or named
    manager = ArenaManager(_store(arguments))
    changed = ItemsChanged()
    try:
        token = manager.create(arguments.name, options, items=path is not None, **settings)
        if page or path is not None:
            live = manager.arena(arguments.name)
            live.set_page(**page)
            for batch in in_batches(read_items(path) if path else ()):
                changed += wait_durable(live.add_items(batch))
    finally:
        manager.close()
    _print_new(arguments, token)
    if path is not None and not arguments.json:
        print(f"{items.describe_change(changed)}; options: {', '.join(map(str, options))[:200]}")


def _print_new(arguments: argparse.Namespace, token: str) -> None:
    if arguments.json:
        print(json.dumps({"arena": arguments.name, "token": token}))
        return
    print(f"arena: {arguments.name}")
    print(f"token: {token}   (the owner's; it is not shown again)")
    store = "" if arguments.store == _STORE else f" --store {arguments.store}"
    print(f"next:  driftduel arena serve{store}")
    print(
        f"       driftduel arena link {arguments.name}{store}   (addresses to vote at and to read)"
    )


def _serve(arguments: argparse.Namespace) -> None:
    from driftduel.arena import ArenaManager, ServerSettings, serve

    settings = ServerSettings(
        private_hooks=arguments.private_hooks, secure_cookies=arguments.behind_proxy
    )
    serve(
        ArenaManager(_store(arguments)),
        host=arguments.host,
        port=arguments.port,
        settings=settings,
        proxies="127.0.0.1" if arguments.behind_proxy else "",
        advertise=arguments.advertise,
    )


def _add_board(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--by",
        metavar="TAG",
        help="compare the values of a tag of votes or items, or 'item': does it matter, and where "
        "does an option lose?",
    )
    which.add_argument(
        "--tag",
        metavar="KEY:VALUE",
        help="limit ranking and pairs to the votes with this tag; such a board makes no claim",
    )
    _add_json(parser)


def _board(arguments: argparse.Namespace) -> None:
    from driftduel.arena import load_board, load_differences

    store = _store(arguments, create=False)
    try:
        if arguments.by is not None:
            about = load_differences(store, arguments.name, arguments.by)
        else:
            board = load_board(store, arguments.name, arguments.tag)
    finally:
        store.close()
    if arguments.by is None:
        print(json.dumps(board.to_json()) if arguments.json else board)
    elif arguments.json:
        print(json.dumps(about))
    else:
        print_subgroups(about)


def _export(arguments: argparse.Namespace) -> None:
    from driftduel._internal import wording
    from driftduel.arena import (
        export_votes,
        formula_like_names,
        preference_pairs,
        write_pairs,
        write_votes,
    )

    store = _store(arguments, create=False)
    try:
        if arguments.kind == "preferences":
            written = write_pairs(preference_pairs(store, arguments.name), arguments.out)
            print(f"{wording.counted(written, 'preference pair')} in {arguments.out}")
            return
        votes = export_votes(store, arguments.name, imported=arguments.imported)
    finally:
        store.close()
    write_votes(votes, arguments.out)
    print(f"{wording.counted(len(votes), 'vote')} in {arguments.out}")
    formulas = formula_like_names(votes)
    if formulas and arguments.out.lower().endswith(".csv"):
        print(
            f"A spreadsheet may evaluate the name {formulas[0]!r} as a formula; import all columns "
            "as text, or export .parquet.",
            file=sys.stderr,
        )


def _import(arguments: argparse.Namespace) -> None:
    from driftduel._internal import wording
    from driftduel.arena import (
        ArenaManager,
        import_log,
        import_votes,
        option_names_of,
        read_votes,
    )
    from driftduel.cli.log import parse_columns
    from driftduel.logs import read_log

    full = None if arguments.columns else read_votes(arguments.file)
    if full is None and arguments.items:
        raise DriftduelError(
            f"{arguments.file!r} has no prompts and answers that can be read; omit --items."
        )
    log = None
    if full is None:
        log = read_log(arguments.file, columns=parse_columns(arguments.columns))
    names = option_names_of(full) if full is not None else log.names if log else []
    manager = ArenaManager(_store(arguments))
    try:
        token = None
        if not manager.store.exists(arguments.name):
            settings = _settings(arguments)
            token = manager.create(arguments.name, names, items=arguments.items, **settings)
        live = manager.arena(arguments.name)
        votes = import_log(live, log) if log is not None else import_votes(live, full or [])
    finally:
        manager.close()
    if token is not None:
        _print_new(arguments, token)
    if not arguments.json:
        print(f"imported: {wording.counted(votes, 'vote')} of {arguments.file}")


def _check(arguments: argparse.Namespace) -> None:
    from driftduel.arena import verify_log

    store = _store(arguments, create=False)
    try:
        checked = verify_log(store, arguments.name)
    finally:
        store.close()
    print(checked)


def _token(arguments: argparse.Namespace) -> None:
    from driftduel._internal import wording
    from driftduel.arena import ArenaManager

    manager = ArenaManager(_store(arguments, create=arguments.name == "*"))
    try:
        if arguments.list:
            _list_tokens(manager, arguments)
        elif arguments.drop:
            dropped = manager.store.drop_token(arguments.name, arguments.drop)
            print(f"{wording.counted(dropped, 'token')} deleted")
        else:
            token = manager.token(arguments.name, arguments.scope, arguments.label)
            fields = {"arena": arguments.name, "scope": arguments.scope, "token": token}
            print(json.dumps(fields) if arguments.json else token)
    finally:
        manager.close()


def _list_tokens(manager: "ArenaManager", arguments: argparse.Namespace) -> None:
    tokens = manager.store.tokens(arguments.name)
    if arguments.json:
        print(json.dumps([token._asdict() for token in tokens]))
        return
    for token in tokens:
        print(f"{token.prefix}  {token.scope:4}  {token.label}")


def _demo(arguments: argparse.Namespace) -> None:
    from driftduel.arena import run_demo

    board = run_demo(
        port=arguments.port,
        votes=arguments.votes,
        rate=arguments.rate,
        browser=not arguments.no_open,
        seed=arguments.seed,
    )
    print(f"\n{board}")


_ADD = {
    "new": _add_new,
    "serve": _add_serve,
    "board": _add_board,
    "export": _add_export,
    "import": _add_import,
    "schema": _add_schema,
    "check": lambda parser: None,
    "token": _add_token,
    "demo": _add_demo,
    **owning.ADD,
    **items.ADD,
}
_RUN = {
    "new": _new,
    "serve": _serve,
    "board": _board,
    "export": _export,
    "import": _import,
    "schema": _schema,
    "check": _check,
    "token": _token,
    "demo": _demo,
    **owning.RUN,
    **items.RUN,
}


def run(arguments: argparse.Namespace) -> None:
    """Raise AssertionError: every command of the arena has a separate function."""
    raise AssertionError
