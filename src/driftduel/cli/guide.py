"""What ``driftduel`` alone prints: what one can do, and three commands to try."""

from collections.abc import Mapping

from driftduel import __version__
from driftduel.cli.terminal import bold

__all__ = ["guide"]

_GROUPS = {
    "Look around": ("worlds", "policies", "measure"),
    "Play": ("play", "trace", "compare", "sweep"),
    "Votes of your own": ("log", "arena"),
    "Read results": ("table", "report"),
    "Ready made": ("demo", "suite", "study"),
}
_TRY = (
    "driftduel demo",
    "driftduel arena demo",
    "driftduel compare --world seasonal:rounds=1e4 --policy king --policy dts",
)


def guide(commands: Mapping[str, str]) -> str:
    """Write the guide to all commands, given with what each does."""
    grouped = {name for names in _GROUPS.values() for name in names}
    groups = {**_GROUPS, "More": tuple(name for name in commands if name not in grouped)}
    lines = [
        f"{bold('driftduel')} {__version__}: dueling bandits on preferences that change.",
        "",
        "A world says who beats whom in every round; a policy picks two options a",
        "round, is told which one won, and loses regret where the best was not shown.",
    ]
    for title, names in groups.items():
        there = [name for name in names if name in commands]
        lines += ["", bold(title)] if there else []
        lines += [f"  {name:<10}  {commands[name]}" for name in there]
    lines += ["", bold("Three to try"), *(f"  {line}" for line in _TRY), ""]
    lines.append("'driftduel COMMAND --help' has the options of a command, and examples.")
    return "\n".join(lines)
