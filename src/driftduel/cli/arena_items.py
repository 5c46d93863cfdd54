"""Commands for arenas with items: items, settings of the vote page, automatic judges."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftduel._internal import wording
from driftduel.cli.arena_owning import arena_or_client, print_result
from driftduel.errors import DriftduelError

if TYPE_CHECKING:
    from driftduel.arena import Arena, ArenaClient, Item, ItemsChanged

__all__ = [
    "ADD",
    "COMMANDS",
    "RUN",
    "add_item_settings",
    "add_page_settings",
    "describe_change",
    "page_settings",
]

COMMANDS = {
    "items": "add, replace, retire, readmit, erase or list items",
    "page": "print or change the settings of the vote page",
    "judge": "let a program vote; its votes have the tag judge=NAME",
}
_VERBS = ("add", "replace", "retire", "readmit", "erase", "list")
_BUTTONS = "left,right,tie,skip"
_PAGE = 1000


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server", metavar="URL", help="address of the server that owns the arena, if one does"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_item_settings(parser: argparse.ArgumentParser) -> None:
    """Declare the settings of a new arena with items."""
    parser.add_argument(
        "--items",
        metavar="FILE",
        help="JSON lines with id, prompt, answers by option and tags; gives the options, too",
    )
    parser.add_argument(
        "--balance", metavar="TAG", help="show the values of this tag of items equally often"
    )
    parser.add_argument(
        "--evidence",
        choices=("all", "people"),
        help="votes that are evidence: all (default), or people without automatic judges",
    )


def add_page_settings(parser: argparse.ArgumentParser) -> None:
    """Declare the settings of the vote page."""
    page = parser.add_argument_group("vote page")
    page.add_argument("--title", metavar="TEXT", help="heading of the page")
    page.add_argument("--question", metavar="TEXT", help="question above the options")
    page.add_argument("--instructions", metavar="TEXT", help="text for voters")
    page.add_argument("--language", metavar="TAG", help="language of the page (en)")
    page.add_argument(
        "--buttons", metavar="LIST", help=f"some of left,right,tie,both-bad,skip ({_BUTTONS})"
    )
    page.add_argument(
        "--reveal",
        action=argparse.BooleanOptionalAction,
        help="name the options after a vote on an item; the vote is final then (no)",
    )
    page.add_argument(
        "--reasons",
        action=argparse.BooleanOptionalAction,
        help="show a field for the reason of a vote (no)",
    )
    page.add_argument(
        "--words", metavar="FILE", help="JSON object with words of the page in another language"
    )


def page_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the vote page that were passed."""
    keys = ("title", "question", "instructions", "language", "reveal", "reasons")
    given = {key: getattr(arguments, key) for key in keys}
    if arguments.buttons is not None:
        given["buttons"] = [each.strip() for each in arguments.buttons.split(",")]
    if arguments.words is not None:
        given["words"] = _read_words(arguments.words)
    return {key: value for key, value in given.items() if value is not None}


def _read_words(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or f"it is not JSON ({error})"
        raise DriftduelError(f"{path!r} cannot be read: {why}.") from None


def _add_items(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=_VERBS, help="what to do")
    parser.add_argument(
        "what",
        nargs="*",
        metavar="FILE|ID",
        help="a file of JSON lines to add or replace, or ids of items",
    )
    _add_server(parser)


def _add_page(parser: argparse.ArgumentParser) -> None:
    add_page_settings(parser)
    _add_server(parser)


def _add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--command",
        required=True,
        metavar="COMMAND",
        help="program that reads JSON lines with prompt, a and b, and writes lines with a pick",
    )
    parser.add_argument(
        "--as", dest="judge", metavar="NAME", help="name of the judge (the program's file)"
    )
    parser.add_argument(
        "--votes", type=int, metavar="N", help="number of votes (until none is left)"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes at the same time (1)"
    )
    parser.add_argument(
        "--retries", type=int, default=2, metavar="N", help="further tries of a failed duel (2)"
    )
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="S", help="seconds for one answer (120)"
    )
    parser.add_argument(
        "--both-orders",
        action="store_true",
        help="ask in both orders: measures the position bias; a contradiction is a tie",
    )
    _add_server(parser)


def _judge(arguments: argparse.Namespace) -> None:
    from driftduel.arena import judge

    words = arguments.command.split()
    name = arguments.judge or Path(words[-1] if words else "judge").stem[:64]
    with arena_or_client(arguments) as arena:
        judged = judge(
            arena,
            name,
            arguments.command,
            votes=arguments.votes,
            jobs=arguments.jobs,
            retries=arguments.retries,
            seconds=arguments.timeout,
            both_orders=arguments.both_orders,
        )
    failed = f", {wording.counted(judged.failed, 'duel')} failed" if judged.failed else ""
    print_result(
        arguments,
        {"judge": name, **judged._asdict()},
        f"judge {name}: {wording.counted(judged.votes, 'vote')}{failed}; ended: {judged.ended}",
    )
    if judged.ended == "failures":
        raise DriftduelError(f"the judge was stopped: {judged.failure}.")


def _items(arguments: argparse.Namespace) -> None:
    verb, what = arguments.verb, arguments.what
    if verb in ("add", "replace") and len(what) != 1:
        raise DriftduelError(f"'arena items NAME {verb}' takes one file of JSON lines.")
    if (verb == "list") == bool(what):
        raise DriftduelError(f"'arena items NAME {verb}' takes {_taken(verb)}.")
    if verb in ("add", "replace"):
        _put(arguments, what[0], replace=verb == "replace")
        return
    with arena_or_client(arguments) as arena:
        if verb == "list":
            _list(arguments, arena)
            return
        for item in what:
            {
                "retire": arena.retire_item,
                "readmit": arena.readmit_item,
                "erase": arena.erase_item,
            }[verb](item)
    done = {"retire": "retired", "readmit": "readmitted", "erase": "erased"}[verb]
    print_result(arguments, {done: what}, f"{done}: {wording.counted(len(what), 'item')}")


def _taken(verb: str) -> str:
    return "no further arguments" if verb == "list" else "ids of items"


def _put(arguments: argparse.Namespace, path: str, *, replace: bool) -> None:
    from driftduel.arena import ItemsChanged, plain_items, read_items

    for _ in read_items(path):  # the whole file is checked before the first item is added
        pass
    changed: ItemsChanged = ItemsChanged()
    with arena_or_client(arguments) as arena:
        changed = arena.add_items(plain_items(read_items(path)), replace=replace)
    fields = {key: getattr(changed, key) for key in changed.__struct_fields__}
    print_result(arguments, fields, describe_change(changed))


def describe_change(changed: "ItemsChanged") -> str:
    """Return a line about changed items."""
    others = ("replaced", "extended", "unchanged")
    parts = [f"{getattr(changed, key):,} {key}" for key in others if getattr(changed, key)]
    return f"items: {', '.join([f'{changed.added:,} added', *parts])}"


def _list(arguments: argparse.Namespace, arena: "Arena | ArenaClient") -> None:
    after, some = 0, False
    while found := arena.items(after, _PAGE):
        for item in found:
            print(json.dumps(_plain(item)) if arguments.json else _line(item))
        after, some = found[-1].number, True
    if not some and not arguments.json:
        print("no items")


def _plain(item: "Item") -> dict[str, Any]:
    """Return an item as a line of a file of items, with its number, state and count."""
    answers = {name: {"kind": c.kind, "content": c.content} for name, c in item.answers.items()}
    prompt = item.prompt
    return {
        "id": item.id,
        "prompt": prompt and {"kind": prompt.kind, "content": prompt.content},
        "answers": answers,
        "tags": item.tags,
        "number": item.number,
        "present": item.present,
        "shown": item.shown,
    }


def _line(item: "Item") -> str:
    from driftduel.arena import clean

    words = clean(item.prompt.content) if item.prompt else ""
    shown = f"{item.shown:,} duels, {wording.counted(len(item.answers), 'answer')}"
    return f"{clean(item.id) or '(erased)'}  {shown}{'' if item.present else ', retired'}  {words}"


def _page(arguments: argparse.Namespace) -> None:
    changes = page_settings(arguments)
    with arena_or_client(arguments) as arena:
        page = arena.set_page(**changes) if changes else arena.page()
    fields = {key: getattr(page, key) for key in page.__struct_fields__}
    lines = [
        f"{key}: {', '.join(value) if key == 'buttons' else value}"
        for key, value in fields.items()
        if key != "words"
    ]
    lines.append(f"words: {wording.counted(len(page.words), 'word')}")
    print_result(arguments, fields, "\n".join(lines))


ADD = {"items": _add_items, "page": _add_page, "judge": _add_judge}
RUN = {"items": _items, "page": _page, "judge": _judge}
