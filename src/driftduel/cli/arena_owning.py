"""Commands for owners of arenas: options, closing, voiding, webhooks, links.

An arena is owned by one process at a time. A command takes the ownership if no server has it;
otherwise it sends HTTP requests to that server, with a temporary token.
"""

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftduel._internal import wording
from driftduel.errors import DriftduelError

if TYPE_CHECKING:
    from driftduel.arena import Arena, ArenaClient, ArenaStore, Option

__all__ = [
    "ADD", "COMMANDS", "RUN", "arena_or_client", "parse_prices", "print_result", "read_options",
]  # fmt: skip

COMMANDS = {
    "list": "list the arenas of a store",
    "options": "list the options of an arena, with their ids",
    "join": "add an option, or readmit one that left",
    "leave": "retire an option: it is no longer shown",
    "price": "change the prices of options, in log-odds",
    "close": "close an arena: no more duels are asked for",
    "void": "remove votes from all counts, by their numbers in the log",
    "hook": "register, list or delete webhooks",
    "link": "print the addresses of the vote page and the board, with new tokens",
}
_SERVER = "http://127.0.0.1:8000"
_EVENTS = ("alarm", "certified", "changed", "sure", "closed")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server",
        metavar="URL",
        help=f"address of the server that owns the arena, such as {_SERVER}",
    )
    _add_json(parser)


def _add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("option", metavar="OPTION", help="id or name of the option")


def _add_join(parser: argparse.ArgumentParser) -> None:
    _add_option(parser)
    parser.add_argument(
        "--kind",
        choices=("text", "markdown", "image"),
        default="text",
        help="kind of the content of a new option (text)",
    )
    parser.add_argument(
        "--content", default="", metavar="TEXT", help="content of a new option, shown to voters"
    )
    _add_server(parser)


def _add_leave(parser: argparse.ArgumentParser) -> None:
    _add_option(parser)
    _add_server(parser)


def _add_price(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "price", nargs="+", metavar="OPTION=PRICE", help="new prices; the others stay as they are"
    )
    _add_server(parser)


def _add_void(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "seq", nargs="+", type=int, metavar="N", help="number of a vote: column seq of an export"
    )
    parser.add_argument("--why", default="", metavar="TEXT", help="reason, kept in the log")
    _add_server(parser)


def _add_hook(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", metavar="URL", help="address to send events to")
    parser.add_argument(
        "--event",
        action="append",
        choices=_EVENTS,
        help="event to send; repeat for several (all)",
    )
    parser.add_argument("--list", action="store_true", help="list the webhooks instead")
    parser.add_argument("--drop", metavar="ID", help="delete a webhook instead")
    parser.add_argument(
        "--private-hooks", action="store_true", help="allow an address of a private network"
    )
    _add_json(parser)


def _add_link(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server", default=_SERVER, metavar="URL", help=f"public address of the server ({_SERVER})"
    )
    parser.add_argument(
        "--label", default="link", metavar="TEXT", help="label of the tokens (link)"
    )
    parser.add_argument(
        "--own", action="store_true", help="print the address of the owner's page, too"
    )
    _add_json(parser)


@contextmanager
def _store(arguments: argparse.Namespace) -> Iterator["ArenaStore"]:
    from driftduel.arena import open_store

    store = open_store(arguments.store, create=False)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _existing(arguments: argparse.Namespace) -> Iterator["ArenaStore"]:
    from driftduel.arena import ArenaError

    with _store(arguments) as store:
        if not store.exists(arguments.name):
            raise ArenaError(
                "no-such-arena",
                f"arena {arguments.name!r:.80} does not exist; 'driftduel arena list' lists them.",
            )
        yield store


@contextmanager
def arena_or_client(arguments: argparse.Namespace) -> Iterator["Arena | ArenaClient"]:
    """Yield the arena object, or a client of the server that owns the arena."""
    from driftduel.arena import Arena, ArenaError

    with _existing(arguments) as store:
        name = arguments.name
        try:
            arena = Arena(arguments.store, name=name)
        except ArenaError as error:
            if error.problem != "owned-elsewhere":
                raise
            address = arguments.server or store.owner_address(name)
            if address is None:
                owner = store.owner(name) or "another process"
                raise DriftduelError(
                    f"arena {name!r} is owned by {owner}; pass --server with the address of that "
                    f"server, such as {_SERVER}."
                ) from None
            with _client(store, address, name) as client:
                yield client
            return
        with arena:
            yield arena


@contextmanager
def _client(store: "ArenaStore", address: str, name: str) -> Iterator["ArenaClient"]:
    """Yield a client with an owner's token, which is deleted afterwards."""
    from driftduel.arena import ArenaClient, hash_token, make_token

    token, label = make_token("own"), f"command of process {os.getpid()}"
    store.put_token(hash_token(token), name, "own", label)
    try:
        with ArenaClient(address, token, arena=name) as client:
            yield client
    finally:
        store.drop_token(name, label)


def print_result(arguments: argparse.Namespace, plain: dict[str, Any], text: str) -> None:
    """Print a result as JSON or as text, as the arguments demand."""
    print(json.dumps(plain) if arguments.json else text)


def _list(arguments: argparse.Namespace) -> None:
    with _store(arguments) as store:
        names = sorted(store.arenas())
        rows = [(name, len(store.options(name)), store.last_seq(name)) for name in names]
    if arguments.json:
        keys = ("arena", "options", "records")
        print(json.dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return
    for row in rows:
        options, records = wording.counted(row[1], "option"), wording.counted(row[2], "record")
        print(f"{row[0]}  ({options}, {records})")
    if not rows:
        print("no arenas; 'driftduel arena new NAME --option ... --option ...' creates one")


def _plain(option: "Option") -> dict[str, Any]:
    return {"id": option.id, "name": option.name, "present": option.present}


def _line(option: "Option") -> str:
    from driftduel.arena import clean

    return f"{option.id:5} {clean(option.name)}{'' if option.present else '  (left)'}"


def _options(arguments: argparse.Namespace) -> None:
    from driftduel.arena import load_state, option_of

    with _existing(arguments) as store:
        state, _ = load_state(store, arguments.name)
        texts = {text.id: text for text in store.options(arguments.name)}
    options = [option_of(state, texts, option_id) for option_id in state.ids]
    if arguments.json:
        print(json.dumps([_plain(option) for option in options]))
        return
    for option in options:
        print(_line(option))


def _join(arguments: argparse.Namespace) -> None:
    with arena_or_client(arguments) as arena:
        option = arena.join(arguments.option, arguments.kind, arguments.content)
    print_result(arguments, _plain(option), f"joined: {_line(option)}")


def _leave(arguments: argparse.Namespace) -> None:
    with arena_or_client(arguments) as arena:
        option = arena.leave(arguments.option)
    print_result(arguments, _plain(option), f"left: {_line(option)}")


def parse_prices(texts: list[str]) -> dict[str, float]:
    """Return prices by option, from texts such as ``small=0.1``."""
    prices = {}
    for text in texts:
        name, _, price = text.rpartition("=")
        try:
            prices[name] = float(price)
        except ValueError:
            name = ""
        if not name:
            raise DriftduelError(f"{text!r:.80} is no price such as small=0.1.")
    return prices


def _price(arguments: argparse.Namespace) -> None:
    from driftduel.arena import clean

    with arena_or_client(arguments) as arena:
        prices = arena.set_prices(parse_prices(arguments.price))
        names = {option.id: option.name for option in arena.options()}
    lines = [f"{price:g}  {clean(names[key])}" for key, price in prices.items()]
    print_result(arguments, prices, "\n".join(lines))


def _close(arguments: argparse.Namespace) -> None:
    with arena_or_client(arguments) as arena:
        arena.end()
    print_result(
        arguments,
        {"arena": arguments.name, "closed": True},
        f"closed: {arguments.name}; open duels may still be answered",
    )


def _void(arguments: argparse.Namespace) -> None:
    with arena_or_client(arguments) as arena:
        voided = arena.void(arguments.seq, arguments.why)
    print_result(
        arguments,
        {"arena": arguments.name, "voided": voided},
        f"voided: {wording.counted(voided, 'vote')}",
    )


def _hook(arguments: argparse.Namespace) -> None:
    if (arguments.url is not None) + arguments.list + (arguments.drop is not None) != 1:
        raise DriftduelError("pass one of a URL to register, --list, or --drop ID.")
    with _existing(arguments) as store:
        if arguments.list:
            _list_hooks(arguments, store)
        elif arguments.drop is not None:
            if not store.drop_hook(arguments.name, arguments.drop):
                raise DriftduelError(f"webhook {arguments.drop!r:.40} does not exist; see --list.")
            print_result(arguments, {"dropped": arguments.drop}, f"deleted: {arguments.drop}")
        else:
            _put_hook(arguments, store)


def _list_hooks(arguments: argparse.Namespace, store: "ArenaStore") -> None:
    hooks = store.hooks(arguments.name)
    if arguments.json:
        print(json.dumps([{"id": h.id, "url": h.url, "events": list(h.events)} for h in hooks]))
        return
    for hook in hooks:
        print(f"{hook.id}  {hook.url}  {', '.join(hook.events)}")
    if not hooks:
        print("no webhooks")


def _put_hook(arguments: argparse.Namespace, store: "ArenaStore") -> None:
    import asyncio
    import secrets

    from driftduel.arena import format_secret, parse_url, resolve_address

    asyncio.run(resolve_address(parse_url(arguments.url), arguments.private_hooks))
    secret, events = secrets.token_bytes(32), tuple(dict.fromkeys(arguments.event or _EVENTS))
    # Events before the registration are not sent.
    seq = store.last_seq(arguments.name)
    made = store.put_hook(arguments.name, arguments.url, secret, events, seq)
    shown = format_secret(secret)
    print_result(
        arguments,
        {"id": made, "secret": shown},
        f"webhook: {made}\nsecret:  {shown}   (signs the messages; it is not shown again)",
    )


def _link(arguments: argparse.Namespace) -> None:
    from driftduel.arena import hash_token, make_token

    server = arguments.server.rstrip("/")
    if not server.startswith(("http://", "https://")):
        raise DriftduelError(f"--server {server[:80]!r} must begin with http:// or https://.")
    links = {}
    pages = [("vote", "vote"), ("board", "read"), *([("own", "own")] if arguments.own else [])]
    with _existing(arguments) as store:
        for page, scope in pages:
            token = make_token(scope)
            store.put_token(hash_token(token), arguments.name, scope, arguments.label)
            links[page] = f"{server}/{page}/{arguments.name}#token={token}"
    print_result(
        arguments,
        {"arena": arguments.name, **links},
        "".join(f"{page + ':':6} {links[page]}\n" for page, _ in pages)
        + f"end {'all' if arguments.own else 'both'}: driftduel arena token {arguments.name} "
        f"--drop {arguments.label!r}",
    )


def read_options(path: str) -> list[Any]:
    """Read options from a file: JSON, JSON lines, or one name per line."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise DriftduelError(f"{path!r} cannot be read: {why}.") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    try:
        if path.lower().endswith(".json"):
            found = json.loads(text)
        elif path.lower().endswith((".jsonl", ".ndjson")):
            found = [json.loads(line) for line in lines]
        else:
            return lines
    except ValueError as error:
        raise DriftduelError(f"{path!r} is not JSON: {error}.") from None
    if not isinstance(found, list) or not all(isinstance(each, str | dict) for each in found):
        raise DriftduelError(
            f"{path!r} must be a list of names, or of objects with name, kind and content."
        )
    return found


ADD = {
    "list": _add_json,
    "options": _add_json,
    "join": _add_join,
    "leave": _add_leave,
    "price": _add_price,
    "close": _add_server,
    "void": _add_void,
    "hook": _add_hook,
    "link": _add_link,
}
RUN = {
    "list": _list,
    "options": _options,
    "join": _join,
    "leave": _leave,
    "price": _price,
    "close": _close,
    "void": _void,
    "hook": _hook,
    "link": _link,
}
