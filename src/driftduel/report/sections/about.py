"""Section on the origin of the results: games, versions, seeds, methods, and a command."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftduel import __version__
from driftduel._internal.wording import counted, listed, number
from driftduel.lab import Findings
from driftduel.report.section import Section, game_name

if TYPE_CHECKING:
    from driftduel.lab import Results

__all__ = ["section"]

_MOST_SEEDS = 40
_MOST_MACHINES = 8


def section(results: "Results", findings: Findings, figures: Sequence[str]) -> Section:
    """Return the section: facts, a command that repeats a game, seeds, and links to figures."""
    from driftduel.lab import game_seed

    plan, world = findings.plan, findings.worlds[0]
    best = world.ranked[0]
    games = [(seed, run) for run in range(plan.runs) for seed in plan.seeds]
    shown = games[:_MOST_SEEDS]
    stems = sorted({name.rpartition(".")[0] for name in figures})
    return Section(
        "about.html",
        {
            "entries": _entries(results, findings),
            "run": game_name(world.example, len(plan.seeds)),
            "policy": best.name,
            "command": _command(best.name, world.spec, world.game_seed, plan.benchmark),
            "seeds": [(game_name(game, len(plan.seeds)), game_seed(*game)) for game in shown],
            "seeds_of": f"{'first ' * (len(games) > len(shown))}{counted(len(shown), 'run')}",
            "figures": [
                (stem, [(f, f.rpartition(".")[2]) for f in figures if f.rpartition(".")[0] == stem])
                for stem in stems
            ],
            "figures_count": counted(len(stems), "figure"),
        },
    )


def _entries(results: "Results", findings: Findings) -> dict[str, str]:
    plan = findings.plan
    made = results.store.rows(("version", "machine", "finished_at", "seconds", "rounds"))
    versions = made["version"].unique(maintain_order=True).to_list()
    machines = made["machine"].unique(maintain_order=True).to_list()
    finished = [str(when) for when in made["finished_at"]]
    more = len(machines) - _MOST_MACHINES
    slopes = "least squares through the logs of means; intervals by leaving out one run at a time "
    slopes += "(jackknife) with Student's t"
    return {
        "games": f"{len(made):,} of {len(plan):,}, {int(made['rounds'].sum()):,} rounds in "
        f"{number(float(made['seconds'].sum()))} seconds of play",
        "driftduel": f"{', '.join(versions)}; this page by {__version__}",
        "machines": "; ".join(machines[:_MOST_MACHINES]) + f" and {more} more" * (more > 0),
        "played": " to ".join(dict.fromkeys((min(finished), max(finished)))),
        "seeds": f"{listed([str(seed) for seed in plan.seeds], 20)}, "
        f"{counted(plan.runs, 'run')} of each",
        "regret against": plan.benchmark,
        "means": "over runs, with Student's t intervals at 95%",
        "differences": "paired by run, because policies share the world and the outcome draws of a "
        "run; intervals are those of a paired t test, not adjusted for the number of comparisons",
        **({"slopes": slopes} if findings.trends else {}),
        "false alarms": "restarts without a change of the "
        f"{findings.worlds[0].changes.subject} since the previous restart",
        "policies": listed([policy.spec for policy in plan.policies], 60),
        "worlds": listed([world.spec for world in plan.worlds], 60),
    }


def _command(policy: str, world: str, seed: int, benchmark: str) -> str:
    words = ["driftduel", "play", "--policy", policy, "--world", world, "--seed", str(seed)]
    if benchmark != "condorcet":
        words += ["--benchmark", benchmark]
    return shlex.join(words)
