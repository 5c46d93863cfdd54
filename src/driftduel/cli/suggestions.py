"""Suggestions for unknown commands, options and arguments."""

import argparse
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from driftduel.cli.parsers import commands_of, options_of, places_of
from driftduel.specs import near, path_as_spec

__all__ = ["suggest"]

_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")


def suggest(
    top: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[argparse.ArgumentParser, str] | None:
    """Return the first mistake of a command line and the parser that should report it.

    argparse reports missing arguments first, which hides the cause: for ``--worlds x`` it reports
    that ``--world`` is missing. This function runs first and reports the unknown option.

    Returns
    -------
    tuple or None
        A parser and a message, or None if every command and option exists.
    """
    commands = commands_of(top)
    known = options_of(top)
    first = next(
        (word for word in words if not _is_option(word) or not _matching_actions(word, known)), None
    )
    if first is None:
        return None
    if _is_option(first):
        name = first.partition("=")[0]
        if any(_matching_actions(first, options_of(command)) for command in commands.values()):
            return top, f"the command comes before its options: {top.prog} COMMAND {name}"
        return top, f"there is no option {name!r}; {near(name, known)}"
    if first not in commands:
        what = " ".join((*top.prog.split()[1:], first))
        return top, f"there is no command {what!r}; {near(first, (*commands, *_long(known)))}"
    command, rest = commands[first], words[words.index(first) + 1 :]
    if commands_of(command):
        return suggest(command, rest)
    return next(((command, message) for message in _mistakes(command, rest)), None)


def _mistakes(command: argparse.ArgumentParser, words: Sequence[str]) -> Iterator[str]:
    """Yield a message for each unknown option and each superfluous argument."""
    known = options_of(command)
    places = places_of(command)
    wanted = len(places) if all(place.nargs not in ("*", "+") for place in places) else math.inf
    rest = deque(words)
    while rest:
        word = rest.popleft()
        if word == "--":
            return
        if not _is_option(word):
            wanted -= 1
            if wanted < 0:
                guess = _as_option(word, known)
                yield f"{_command_name(command)} does not take {word!r} here{guess}"
            continue
        actions = _matching_actions(word, known)
        if not actions:
            name = word.partition("=")[0]
            yield f"{_command_name(command)} has no option {name!r}; {near(name, _long(known))}"
        elif len(actions) > 1 or actions[0].nargs == 0 or "=" in word:
            continue
        elif rest and not (actions[0].nargs == "?" and _is_option(rest[0])):
            rest.popleft()  # its value


def _command_name(command: argparse.ArgumentParser) -> str:
    return command.prog.rpartition(" ")[2]


def _is_option(word: str) -> bool:
    """Return whether argparse parses a word as an option."""
    return len(word) > 1 and word[0] == "-" and " " not in word and not _NUMBER.match(word)


def _matching_actions(word: str, known: dict[str, argparse.Action]) -> list[argparse.Action]:
    """Return the actions that match an option or a prefix of an option."""
    name = word.partition("=")[0]
    if name in known:
        return [known[name]]
    if not name.startswith("--"):
        return [known[name[:2]]] if name[:2] in known else []
    return [action for option, action in known.items() if option.startswith(name)]


def _long(known: Iterable[str]) -> list[str]:
    return [name for name in known if name.startswith("--")]


def _as_option(word: str, known: dict[str, argparse.Action]) -> str:
    """Return a suggestion of the option that is missing before a word, or an empty string."""
    if "--world" in known and (spec := path_as_spec(word)):
        return f"; did you mean --world {spec}?"
    name = word.partition(":")[0]
    if "--world" in known:
        from driftduel.worlds import WORLDS

        if name in WORLDS:
            return f"; did you mean --world {word}?"
    if "--policy" in known:
        from driftduel.policies import POLICIES

        if name in POLICIES:
            return f"; did you mean --policy {word}?"
    return ""
