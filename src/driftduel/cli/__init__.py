"""The command line: parse, call, print. Everything it does, the Python interface does too."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from driftduel import __version__
from driftduel._notice import listen
from driftduel.cli import streams
from driftduel.cli.common import BAD_INPUT, UNREAD
from driftduel.cli.stopping import say_stopped, stoppable
from driftduel.errors import DriftduelError

__all__ = ["main", "parser"]

# Each command is a module with `configure(parser)` and `run(arguments)`. Those modules import
# nothing heavy at the top, so `--help` answers at once.
COMMANDS = {
    "worlds": "list the worlds and their parameters",
    "policies": "list the policies: parameters, what each is told, guarantee, source",
    "measure": "tell how much a world changes",
    "play": "let a policy play a world",
    "trace": "write one game down round by round, and draw it",
    "compare": "compare policies: regret with intervals, restarts, speed",
    "sweep": "play a plan from a TOML file, on one machine or a cluster; resumable",
    "table": "print the summary of a folder of results",
    "suite": "score a policy on the benchmark suite",
    "study": "measure the paper's claims: page, figures, Markdown",
    "report": "write a page about a folder of results, and figures",
    "demo": "eight policies in a changing world: table and report",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        said = streams.sentence(message)
        self.exit(BAD_INPUT, f"driftduel: {said}; see '{self.prog} --help'.\n")


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    top = _Parser(prog="driftduel", description="Dueling bandits on preferences that change.")
    top.add_argument("--version", action="version", version=f"driftduel {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        module = import_module(f"driftduel.cli.{name}")
        command = commands.add_parser(name, help=summary, description=module.__doc__)
        module.configure(command)
        command.set_defaults(run=module.run)
    return top


def _say_compiling() -> None:
    print("driftduel: compiling, which happens once and takes some seconds ...", file=sys.stderr)


def _say_warning(message: Warning | str, *_: object) -> None:
    print(f"driftduel: {streams.sentence(message)}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 for a user's mistake."""
    streams.prepare()
    with stoppable():
        try:
            return _run(argv)
        except KeyboardInterrupt as stop:
            return say_stopped(str(stop))


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    top = parser()
    for word in words:
        if word.startswith("--") and word.endswith("=--"):  # to argparse, a list of nothing
            top.error(f"{word!r} gives no value")
    return top.parse_args(words)


def _run(argv: Sequence[str] | None) -> int:
    try:
        try:
            arguments = _parsed(sys.argv[1:] if argv is None else argv)
            listen(_say_compiling)
            with warnings.catch_warnings():
                warnings.showwarning = _say_warning  # type: ignore[assignment]
                arguments.run(arguments)
        finally:
            sys.stdout.flush()
    except DriftduelError as error:
        streams.say(error)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe has seen enough
        streams.give_up(sys.stdout)
        streams.give_up(sys.stderr)
        return UNREAD
    except OSError as error:
        streams.give_up(sys.stdout)
        where = f"{error.filename!r}: " if error.filename else ""
        streams.say(f"{where}{error.strerror or error}.")
        return BAD_INPUT
    except MemoryError as error:
        streams.say(f"there is not enough memory{f': {error}' if str(error) else ''}.")
        return BAD_INPUT
    return 0
