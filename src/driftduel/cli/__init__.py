"""The command line: parse arguments, call the Python interface, print the result."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from driftduel import __version__
from driftduel._internal.notices import listen
from driftduel.cli import streams, terminal
from driftduel.cli.common import BAD_INPUT, UNREAD
from driftduel.cli.completing import print_candidates
from driftduel.cli.completion import ASK
from driftduel.cli.examples import epilog
from driftduel.cli.guide import guide
from driftduel.cli.parsers import lists_commands
from driftduel.cli.signals import handle_signals, print_stopped
from driftduel.cli.suggestions import suggest
from driftduel.errors import DriftduelError
from driftduel.specs import near

__all__ = ["main", "parser"]

# Each command is a module with `configure(parser)` and `run(arguments)`. Those modules import
# no heavy package at the top level, so that `--help` takes a fraction of a second.
COMMANDS = {
    "worlds": "list the worlds: models of preferences over time",
    "policies": "list the policies, with their parameters and guarantees",
    "measure": "measure how much a world changes",
    "play": "play one game with one policy, and print its regret over time",
    "trace": "write one game to a file round by round, or plot it",
    "compare": "compare policies: regret with intervals, restarts, speed",
    "log": "analyse a log of votes: the best option now, changes, forecasts",
    "arena": "collect votes: duels, a live board, a durable log",
    "sweep": "play a plan from a TOML file, locally or on a cluster; resumable",
    "table": "print the summary table of a folder of results",
    "suite": "score a policy on the benchmark suite",
    "report": "write an HTML page and figures from a folder of results",
    "demo": "compare eight policies in a changing world, and write a page",
    "completion": "print a shell script that completes commands, options and names",
}


_REQUIRED = "the following arguments are required: "  # argparse's words


class _Help(argparse.HelpFormatter):
    """A formatter that wraps paragraphs and keeps indented lines, which are examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n  " in text:
            return "\n".join(f"{indent}{line}" for line in text.splitlines())
        paragraphs = text.split("\n\n")
        return "\n\n".join(super(_Help, self)._fill_text(p, width, indent) for p in paragraphs)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if lists_commands(action):  # argparse omits the indent of commands from the column width
            self._action_max_length += self._indent_increment


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with code 2 and one sentence; omit the hint at --help if it ends with a guess."""
        name = self.prog.removeprefix("driftduel ")
        line = streams.sentence(message.replace(_REQUIRED, f"{name} needs "))
        if not line.endswith("?"):
            line = f"{line.removesuffix('.')}; see '{self.prog} --help'."
        self.exit(BAD_INPUT, f"{terminal.red('driftduel:')} {line}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            guess = near(str(value), choices).replace("known:", "valid values:")
            raise argparse.ArgumentError(action, f"{value!r} is not a valid value; {guess}")


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    top = _Parser(
        prog="driftduel",
        description="Dueling bandits on preferences that change.",
        epilog="'driftduel COMMAND --help' prints the options of a command, with examples.",
        formatter_class=_Help,
    )
    top.add_argument("--version", action="version", version=f"driftduel {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        module = import_module(f"driftduel.cli.{name}")
        command = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            epilog=epilog(name),
            formatter_class=_Help,
        )
        module.configure(command)
        command.set_defaults(run=module.run)
    return top


def _print_compiling() -> None:
    print("driftduel: compiling, which takes some seconds, once ...", file=sys.stderr)


def _print_warning(message: Warning | str, *_: object) -> None:
    print(f"driftduel: {streams.sentence(message)}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    argv
        The arguments without the name of the program; default: those of the process.

    Returns
    -------
    int
        0 on success; 1 if some cells failed; 2 for invalid input; 130 if the command was
        interrupted; 141 if the reader of a pipe closed it.
    """
    streams.configure_streams()
    with handle_signals():
        try:
            return _run(argv)
        except KeyboardInterrupt as stop:
            return print_stopped(str(stop))


def _parse(words: Sequence[str]) -> argparse.Namespace:
    top = parser()
    for word in words:
        if word.startswith("--") and word.endswith("=--"):  # argparse parses it as an empty list
            top.error(f"{word!r} gives no value")
    mistake = suggest(top, words)
    if mistake is not None:
        reporting, message = mistake
        reporting.error(message)
    return top.parse_args(words)


def _run(argv: Sequence[str] | None) -> int:
    try:
        try:
            words = sys.argv[1:] if argv is None else argv
            if not words:
                print(guide(COMMANDS))
                return 0
            if words[0] == ASK:
                print_candidates(parser(), list(words[1:]))
                return 0
            arguments = _parse(words)
            terminal.set_wide(getattr(arguments, "wide", False))
            listen(_print_compiling)
            with warnings.catch_warnings():
                warnings.showwarning = _print_warning  # type: ignore[assignment]
                arguments.run(arguments)
        finally:
            sys.stdout.flush()
    except DriftduelError as error:
        streams.print_error(error)
        return BAD_INPUT
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        # The interpreter flushes both streams at exit, which would raise a second error.
        streams.redirect_to_null(sys.stdout)
        streams.redirect_to_null(sys.stderr)
        return UNREAD
    except OSError as error:
        streams.redirect_to_null(sys.stdout)
        where = f"{error.filename!r}: " if error.filename else ""
        streams.print_error(f"{where}{error.strerror or error}.")
        return BAD_INPUT
    except MemoryError as error:
        streams.print_error(f"not enough memory{f': {error}' if str(error) else ''}.")
        return BAD_INPUT
    return 0
