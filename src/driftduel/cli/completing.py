"""Candidates for shell completion; the shell calls this module at every TAB."""

import argparse
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from driftduel.cli.parsers import commands_of, options_of, places_of
from driftduel.errors import DriftduelError
from driftduel.specs import Choice, Registry

__all__ = ["candidates", "print_candidates"]

_NAMES = {"policies": "policy", "worlds": "world"}


def print_candidates(top: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Print the candidates for the last word, one per line.

    Parameters
    ----------
    top
        The parser of all commands.
    words
        The words up to the cursor, from the program's name to the word to complete. Or
        ``--bash``, the line up to the cursor, and bash's list of word breaks.
    """
    breaks = ""
    if words[:1] == ["--bash"] and len(words) == 3:
        breaks = words[2]
        words = _split(words[1])
    if len(words) < 2:
        return
    current = words[-1]
    # bash replaces only the characters after the last word break.
    kept = max((current.rfind(sign) + 1 for sign in "=:" if sign in breaks), default=0)
    for word in candidates(top, words[1:-1], current):
        print(word[kept:])


def candidates(top: argparse.ArgumentParser, before: Sequence[str], current: str) -> list[str]:
    """Return the words that complete `current`; an empty list makes the shell offer files."""
    commands = commands_of(top)
    name = next((word for word in before if word in commands), None)
    if name is None:
        return _beginning([*commands, *options_of(top)], current)
    command = commands[name]
    if commands_of(command):  # `log summary ...`
        return candidates(command, before[list(before).index(name) + 1 :], current)
    options = options_of(command)
    option, equals, value = current.partition("=")
    if equals and option in options:
        return [f"{option}={word}" for word in _values(options[option], value)]
    last = options.get(before[-1])
    if last is not None and last.nargs != 0:
        return _values(last, current)
    places = places_of(command)
    if places and not current.startswith("-"):
        kind = _NAMES.get(name)
        return _beginning(_registry(kind), current) if kind else _values(places[0], current)
    return _beginning((word for word in options if word.startswith("--")), current)


def _values(action: argparse.Action, current: str) -> list[str]:
    if action.choices is not None:
        return _beginning(action.choices, current)
    if action.metavar == "SPEC":
        return _specs(_registry(action.dest), current)
    return []


def _registry(kind: str) -> Any:
    if kind == "world":
        from driftduel.worlds import WORLDS

        return WORLDS
    from driftduel.policies import POLICIES

    return POLICIES


def _specs(registry: Registry[Any], current: str) -> list[str]:
    """Complete the name of a spec, a key, or a value of a boolean or of a choice."""
    name, colon, keys = current.partition(":")
    if not colon:
        names = _beginning(registry, current)
        return [*names, f"{names[0]}:"] if len(names) == 1 else names
    try:
        parameters = {key.name: key for key in (*registry[name].parameters, *registry.shared)}
    except DriftduelError:
        return []
    done, comma, last = keys.rpartition(",")
    given = {item.partition("=")[0] for item in done.split(",")}
    head = f"{name}:{done}{comma}"
    key, equals, value = last.partition("=")
    if not equals:
        return [f"{head}{word}=" for word in _beginning(parameters, key) if word not in given]
    parameter = parameters.get(key)
    if parameter is not None and isinstance(parameter.allowed, Choice):
        return [f"{head}{key}={word}" for word in _beginning(parameter.allowed.words, value)]
    if parameter is not None and parameter.kind is bool:
        return [f"{head}{key}={word}" for word in _beginning(("true", "false"), value)]
    return []


def _beginning(words: Iterable[Any], current: str) -> list[str]:
    names = (getattr(word, "name", word) for word in words)
    return [name for name in names if name.startswith(current)]


def _split(line: str) -> list[str]:
    """Split a line into words; the last one is to be completed and may be the empty string."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote is open
        return []
    return [*words, ""] if line[-1:].isspace() else words
