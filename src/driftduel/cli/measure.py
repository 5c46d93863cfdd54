"""Tell how much a world changes: the paper's five measures, the switches, the winners."""

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftduel.measures import Measures

__all__ = ["configure", "print_measures", "run"]

_BOUNDS = {
    "phases": "K sum sqrt(phase)",
    "switches": "K sqrt((S^CW + 1) T)",
    "significant_phases": "SST, STI: K sum sqrt(sig. phase)",
    "significant_switches": "SST, STI: K sqrt((S^sig + 1) T)",
    "variation": "SST, STI: by the CW variation",
    "lower": "lower: sqrt(K S^CW T)",
}
_SHOWN = 8
_STRIP = 64


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--world", required=True, metavar="SPEC", help="the world; 'driftduel worlds' lists them"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed, unless the spec gives one")
    parser.add_argument(
        "--significance",
        choices=("main", "appendix"),
        default="main",
        help="significant at sqrt(K n), the paper's main text (default), or at K sqrt(n)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", metavar="FILE", help="draw the world (PNG, SVG or PDF)")
    parser.add_argument("--save", metavar="FILE", help="write the world as an NPZ file")


def run(arguments: argparse.Namespace) -> None:
    """Build the world, measure it, print, draw and save what was asked for."""
    from driftduel.measures import measure
    from driftduel.worlds import make_world, save_world

    if arguments.plot:
        from driftduel.figures.style import check_figure_path

        check_figure_path(arguments.plot)
    world = make_world(arguments.world, arguments.seed)
    found = measure(world, arguments.significance)
    if arguments.plot:
        from driftduel.figures import plot_world

        plot_world(world, found, arguments.plot, title=arguments.world)
    if arguments.save:
        save_world(world, arguments.save)
    if arguments.json:
        print(json.dumps({"world": arguments.world, **found.as_dict()}, indent=2))
    else:
        print_measures(arguments.world, found)


def print_measures(title: str, found: "Measures") -> None:
    """Print measures for a person."""
    from driftduel.cli.text import table

    print(f"{title}\n")
    preference_rounds = found.preference_switch_rounds
    rows = [
        ("arms K", f"{found.arms}", ""),
        ("rounds T", f"{found.rounds:,}", ""),
        (
            "preference switches S^P",
            f"{found.preference_switches:,}",
            "" if preference_rounds is None else _rounds(preference_rounds.tolist()),
        ),
        (
            "Condorcet winner switches S^CW",
            _number(found.condorcet_switches),
            _rounds(found.condorcet_switch_rounds),
        ),
        (
            "significant CW switches",
            _number(found.significant_switches),
            _rounds(found.significant_switch_rounds),
        ),
        ("total variation V", f"{found.total_variation:,.4g}", ""),
        ("CW variation", _number(found.condorcet_variation), ""),
    ]
    if found.first_round_without_winner is not None:
        rows = _with_partial(rows, found)
    if found.ties:
        rows.insert(2, ("ties", f"{found.ties:.0%}", "of the duels of two arms"))
    print(table(rows, right="1"))
    if found.absences:
        print(
            "\nArms come and go: the winner is the best of those there, and variations are of "
            "preferences\nbetween arms that stay; significant switches (-) are not defined."
        )
    if found.first_round_without_winner is not None:
        print(
            f"\nRound {found.first_round_without_winner:,} has no Condorcet winner, so what refers "
            f"to one in every round is undefined (-);\nbelow it stands what can be said instead."
        )
    print(f"\nwinner over time   1 {_strip(found)} {found.rounds:,}")
    phases = found.phases
    for phase in phases[:_SHOWN]:
        name = "nobody" if phase.winner is None else f"arm {phase.winner}"
        print(f"  {phase.first:>13,} - {phase.last:<13,} {name}")
    if len(phases) > _SHOWN:
        print(f"  ... and {len(phases) - _SHOWN:,} more")
    if found.first_round_without_winner is not None:
        print("\nSmith set over time (the fewest arms that all beat everyone outside)")
        lasts = [first - 1 for first, _ in found.smith_sets[1:]] + [found.rounds]
        for (first, arms), last in list(zip(found.smith_sets, lasts, strict=True))[:_SHOWN]:
            names = ", ".join(map(str, arms[:_SHOWN])) + (", ..." if len(arms) > _SHOWN else "")
            print(f"  {first:>13,} - {last:<13,} {'arms' if len(arms) > 1 else 'arm'} {names}")
        if len(found.smith_sets) > _SHOWN:
            print(f"  ... and {len(found.smith_sets) - _SHOWN:,} more")
    if found.first_round_without_winner is None and not found.absences:
        plain, logs = found.bounds(logs=False), found.bounds(logs=True)
        print("\nthe paper's bounds with constant 1       without logs         with logs")
        for name, label in _BOUNDS.items():
            value, with_logs = getattr(plain, name), getattr(logs, name)
            print(f"  {label:<34}{value:>17,.0f}{with_logs:>18,.0f}")


def _with_partial(
    rows: list[tuple[str, str, str]], found: "Measures"
) -> list[tuple[str, str, str]]:
    """Put under each measure that needs winners what there is without one in every round."""
    share = found.rounds_with_winner / found.rounds
    mean, most = found.smith_sizes
    changes = [first for first, _ in found.smith_sets[1:]]
    neumann = found.von_neumann_switch_rounds
    below = {
        "rounds T": [
            ("  with a Condorcet winner", f"{found.rounds_with_winner:,}", f"{share:.1%}"),
            ("  without one", f"{found.rounds - found.rounds_with_winner:,}", f"{1 - share:.1%}"),
        ],
        "Condorcet winner switches S^CW": [
            (
                "  from one winner to another",
                f"{len(found.between_winners):,}",
                _rounds(found.between_winners),
            ),
        ],
        "significant CW switches": [
            (
                "  against the von Neumann winner",
                "-" if neumann is None else f"{len(neumann):,}",
                _rounds(neumann),
            )
        ],
        "CW variation": [
            ("  over rounds with a winner", f"{found.winners_variation:,.4g}", ""),
            ("arms in the Smith set, mean", f"{mean:,.4g}", f"at most {most}"),
            ("Smith set switches", f"{len(changes):,}", _rounds(changes)),
        ],
    }
    return [line for row in rows for line in (row, *below.get(row[0], ()))]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _rounds(rounds: list[int] | None) -> str:
    if not rounds:
        return ""
    text = "rounds " if len(rounds) > 1 else "round "
    text += ", ".join(f"{t:,}" for t in rounds[:_SHOWN])
    return text + (", ..." if len(rounds) > _SHOWN else "")


def _strip(found: "Measures") -> str:
    """Draw who wins when, one character for each 1/64 of the rounds."""
    names = "0123456789abcdefghijklmnopqrstuvwxyz"
    phases = iter(found.phases)
    phase = next(phases)
    strip = ""
    for place in range(_STRIP):
        t = 1 + (2 * place + 1) * found.rounds // (2 * _STRIP)
        while phase.last < min(t, found.rounds):
            phase = next(phases)
        strip += "-" if phase.winner is None else names[phase.winner % len(names)]
    return strip
