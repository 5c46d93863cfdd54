"""Access to the commands and options of a parser.

argparse has no public interface for it, so only this module reads its private attributes.
"""

import argparse

__all__ = ["commands_of", "lists_commands", "options_of", "places_of"]


def lists_commands(action: argparse.Action) -> bool:
    """Return whether an action is a list of commands, each with a separate parser."""
    return isinstance(action, argparse._SubParsersAction)


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command by name; an empty dict if there are no commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the actions of the options by name, with an entry for every alias."""
    return parser._option_string_actions


def places_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the actions of the positional arguments."""
    return [action for action in parser._actions if not action.option_strings]
