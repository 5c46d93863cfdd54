"""The text that ``driftduel`` prints without arguments: commands by task, and examples."""

from collections.abc import Mapping

from driftduel import __version__
from driftduel.cli.terminal import bold

__all__ = ["guide"]

_GROUPS = {
    "Your votes": ("log", "arena"),
    "Simulations": ("play", "trace", "compare", "sweep"),
    "Results": ("table", "report"),
    "Worlds and policies": ("worlds", "policies", "measure"),
    "Prepared comparisons": ("demo", "suite"),
}
_TRY = (
    "driftduel demo",
    "driftduel arena demo",
    "driftduel compare --world seasonal:rounds=1e4 --policy king --policy dts",
)


def guide(commands: Mapping[str, str]) -> str:
    """Return the guide, from the summaries of all commands by name."""
    grouped = {name for names in _GROUPS.values() for name in names}
    groups = {**_GROUPS, "More": tuple(name for name in commands if name not in grouped)}
    lines = [
        f"{bold('driftduel')} {__version__}: dueling bandits on preferences that change.",
        "",
        "A world defines the probability that one option beats another in every round.",
        "A policy chooses two options per round, learns which one won, and incurs",
        "regret for every option that is worse than the best one.",
    ]
    for title, names in groups.items():
        present = [name for name in names if name in commands]
        lines += ["", bold(title)] if present else []
        lines += [f"  {name:<10}  {commands[name]}" for name in present]
    lines += ["", bold("Examples"), *(f"  {line}" for line in _TRY), ""]
    lines.append("'driftduel COMMAND --help' prints the options of a command, with examples.")
    return "\n".join(lines)
