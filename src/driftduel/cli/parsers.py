"""What a parser consists of. argparse has no public way to ask, so all looks inside are here."""

import argparse

__all__ = ["commands_of", "lists_commands", "options_of", "places_of"]


def lists_commands(action: argparse.Action) -> bool:
    """Tell whether an action stands for commands, each with a parser of its own."""
    return isinstance(action, argparse._SubParsersAction)


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command; none if it takes no commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the options, by all their names."""
    return parser._option_string_actions


def places_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return what stands on the line without a name."""
    return [action for action in parser._actions if not action.option_strings]
