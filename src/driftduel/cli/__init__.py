"""The command line: parse, call, print. Everything it does, the Python interface does too."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from driftduel import __version__
from driftduel._notice import listen
from driftduel.cli import streams, terminal
from driftduel.cli.common import BAD_INPUT, UNREAD
from driftduel.cli.completing import answer
from driftduel.cli.completion import ASK
from driftduel.cli.examples import epilog
from driftduel.cli.guessing import complaint
from driftduel.cli.guide import guide
from driftduel.cli.parsers import lists_commands
from driftduel.cli.stopping import say_stopped, stoppable
from driftduel.errors import DriftduelError
from driftduel.specs import near

__all__ = ["main", "parser"]

# Each command is a module with `configure(parser)` and `run(arguments)`. Those modules import
# nothing heavy at the top, so `--help` answers at once.
COMMANDS = {
    "worlds": "list the worlds: what preferences can do over time",
    "policies": "list the policies: who can play",
    "measure": "measure how much a world changes",
    "play": "let one policy play one game, and print its regret over time",
    "trace": "write one game down round by round, and draw it",
    "compare": "compare policies: regret with intervals, restarts, speed",
    "log": "read a log of real comparisons: who is best now, what changed",
    "arena": "let people vote: duels, a live board, a log that is never lost",
    "sweep": "play a plan from a TOML file, here or on a cluster; resumable",
    "table": "print the summary of a folder of results",
    "suite": "score a policy on the benchmark suite",
    "study": "measure the paper's claims: page, figures, Markdown",
    "report": "write a page about a folder of results, and figures",
    "demo": "compare eight policies in a changing world, and write the page",
    "completion": "print a script that lets a shell complete all this",
}


_REQUIRED = "the following arguments are required: "  # argparse's words


class _Help(argparse.HelpFormatter):
    """Wrap paragraphs, and leave lines that are indented as they are: they are examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n  " in text:
            return "\n".join(f"{indent}{line}" for line in text.splitlines())
        paragraphs = text.split("\n\n")
        return "\n\n".join(super(_Help, self)._fill_text(p, width, indent) for p in paragraphs)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if lists_commands(action):  # whose indent it forgets
            self._action_max_length += self._indent_increment


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with one sentence; a guess at what was meant is all that somebody needs to read."""
        name = self.prog.removeprefix("driftduel ")
        said = streams.sentence(message.replace(_REQUIRED, f"{name} needs "))
        if not said.endswith("?"):
            said = f"{said.removesuffix('.')}; see '{self.prog} --help'."
        self.exit(BAD_INPUT, f"{terminal.red('driftduel:')} {said}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            guess = near(str(value), choices).replace("known:", "it can be")
            raise argparse.ArgumentError(action, f"{value!r} is not known; {guess}")


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    top = _Parser(
        prog="driftduel",
        description="Dueling bandits on preferences that change.",
        epilog="'driftduel' alone has three commands to try, 'driftduel COMMAND --help' examples.",
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
    wrong = complaint(top, words)
    if wrong is not None:
        said_by, said = wrong
        said_by.error(said)
    return top.parse_args(words)


def _run(argv: Sequence[str] | None) -> int:
    try:
        try:
            words = sys.argv[1:] if argv is None else argv
            if not words:
                print(guide(COMMANDS))
                return 0
            if words[0] == ASK:
                answer(parser(), list(words[1:]))
                return 0
            arguments = _parsed(words)
            terminal.show_everything(getattr(arguments, "wide", False))
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
