"""Measure how much a world changes: the paper's five measures, and the winner over time."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftduel._internal.wording import number, share, whole

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
_WIDE = 1000
_BEFORE_ROUNDS = 50  # columns of a line that the label and the value use
_STRIP = 64


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--world", required=True, metavar="SPEC", help="the world; 'driftduel worlds' lists them"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of the world, unless the spec sets seed="
    )
    parser.add_argument(
        "--significance",
        choices=("main", "appendix"),
        default="main",
        help="regret over n rounds that makes a switch significant: sqrt(K n), as in the paper's "
        "main text (default), or K sqrt(n), as in its appendix",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead")
    parser.add_argument("--plot", metavar="FILE", help="also draw the world (PNG, SVG or PDF)")
    parser.add_argument("--save", metavar="FILE", help="also write the world to an NPZ file")


def run(arguments: argparse.Namespace) -> None:
    """Build the world and measure it; print, plot and save as the arguments request."""
    from driftduel.measures import measure
    from driftduel.worlds import make_world, save_world

    if arguments.plot:
        from driftduel.figures import check_figure_path

        check_figure_path(arguments.plot)
    world = make_world(arguments.world, arguments.seed)
    measures = measure(world, arguments.significance)
    if arguments.plot:
        from driftduel.figures import plot_world

        plot_world(world, measures, arguments.plot, title=arguments.world)
    if arguments.save:
        save_world(world, arguments.save)
    if arguments.json:
        named = {"names": world.names} if world.names else {}
        print(json.dumps({"world": arguments.world, **named, **measures.as_dict()}, indent=2))
    else:
        print_measures(arguments.world, measures, world.names)


def print_measures(title: str, measures: "Measures", names: Sequence[str] = ()) -> None:
    """Print measures as text; arms are labelled by `names` if the world has names."""
    from driftduel.cli.common import arm_name
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import show_table, wrapped

    print(f"{bold(title)}\n")
    preference_rounds = measures.preference_switch_rounds
    rows = [
        ("arms K", f"{measures.arms}", ""),
        ("rounds T", f"{measures.rounds:,}", ""),
        (
            "preference switches S^P",
            f"{measures.preference_switches:,}",
            "" if preference_rounds is None else _rounds(preference_rounds.tolist()),
        ),
        (
            "Condorcet winner switches S^CW",
            number(measures.condorcet_switches),
            _rounds(measures.condorcet_switch_rounds),
        ),
        (
            "significant CW switches",
            number(measures.significant_switches),
            _rounds(measures.significant_switch_rounds),
        ),
        ("total variation V", number(measures.total_variation), ""),
        ("CW variation", number(measures.condorcet_variation), ""),
    ]
    if measures.ties:
        rows.insert(2, ("ties", share(measures.ties), "of the duels of two arms"))
    if measures.first_round_without_winner is not None:
        rows = _with_partial(rows, measures)
    show_table(rows, right="1")
    notes = []
    if measures.absences:
        notes.append(
            "Arms join and leave: the winner is the best present arm, and variations are of "
            "preferences between arms that stay; significant switches (-) are undefined."
        )
    if measures.first_round_without_winner is not None:
        notes.append(
            f"Round {measures.first_round_without_winner:,} has no Condorcet winner, so measures "
            f"that need one in every round are undefined (-); alternatives are indented below."
        )
    for note in notes:
        print(f"\n{wrapped(note)}")
    before, after = "winner over time   1 ", f" {measures.rounds:,}"
    print(f"\n{before}{_strip(measures, len(before) + len(after))}{after}")
    phases = measures.phases
    for phase in phases[:_SHOWN]:
        name = "no winner" if phase.winner is None else arm_name(phase.winner, names)
        print(f"  {phase.first:>13,} - {phase.last:<13,} {name}")
    if len(phases) > _SHOWN:
        print(f"  ... and {len(phases) - _SHOWN:,} more")
    if measures.first_round_without_winner is not None:
        print("\nSmith set over time (the smallest set of arms that beat all others)")
        lasts = [first - 1 for first, _ in measures.smith_sets[1:]] + [measures.rounds]
        for (first, arms), last in list(zip(measures.smith_sets, lasts, strict=True))[:_SHOWN]:
            names = ", ".join(map(str, arms[:_SHOWN])) + (", ..." if len(arms) > _SHOWN else "")
            print(f"  {first:>13,} - {last:<13,} {'arms' if len(arms) > 1 else 'arm'} {names}")
        if len(measures.smith_sets) > _SHOWN:
            print(f"  ... and {len(measures.smith_sets) - _SHOWN:,} more")
    if measures.first_round_without_winner is None and not measures.absences:
        plain, logs = measures.bounds(logs=False), measures.bounds(logs=True)
        print("\nthe paper's bounds with constant 1       without logs         with logs")
        for name, label in _BOUNDS.items():
            value, with_logs = getattr(plain, name), getattr(logs, name)
            print(f"  {label:<34}{whole(value):>17}{whole(with_logs):>18}")


def _with_partial(
    rows: list[tuple[str, str, str]], measures: "Measures"
) -> list[tuple[str, str, str]]:
    """Insert alternatives below each measure that is undefined without a winner."""
    with_winner = measures.rounds_with_winner / measures.rounds
    mean, most = measures.smith_sizes
    changes = [first for first, _ in measures.smith_sets[1:]]
    neumann = measures.von_neumann_switch_rounds
    below = {
        "rounds T": [
            (
                "  with a Condorcet winner",
                f"{measures.rounds_with_winner:,}",
                share(with_winner, 1),
            ),
            (
                "  without one",
                f"{measures.rounds - measures.rounds_with_winner:,}",
                share(1 - with_winner, 1),
            ),
        ],
        "Condorcet winner switches S^CW": [
            (
                "  from one winner to another",
                f"{len(measures.between_winners):,}",
                _rounds(measures.between_winners),
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
            ("  over rounds with a winner", number(measures.winners_variation), ""),
            ("arms in the Smith set, mean", number(mean), f"at most {most}"),
            ("Smith set switches", f"{len(changes):,}", _rounds(changes)),
        ],
    }
    return [line for row in rows for line in (row, *below.get(row[0], ()))]


def _rounds(rounds: list[int] | None) -> str:
    """Return the first rounds as text, as many as fit on the line."""
    from driftduel.cli.terminal import width

    if not rounds:
        return ""
    room = (width() or _WIDE) - _BEFORE_ROUNDS
    text = ""
    for shown in range(_SHOWN, 0, -1):
        text = "rounds " if len(rounds) > 1 else "round "
        text += ", ".join(f"{t:,}" for t in rounds[:shown])
        text += ", ..." if len(rounds) > shown else ""
        if len(text) <= room:
            break
    return text


def _strip(measures: "Measures", beside: int) -> str:
    """Return the winner over time, one character per 1/64 of the rounds, or fewer if narrow.

    Parameters
    ----------
    measures
        Measures of a world, of which the phases are shown.
    beside
        Number of columns that the labels of the line use.
    """
    from driftduel.cli.terminal import width

    columns = min(_STRIP, (width() or _STRIP + beside) - beside)
    names = "0123456789abcdefghijklmnopqrstuvwxyz"
    phases = iter(measures.phases)
    phase = next(phases)
    strip = ""
    for place in range(columns):
        t = 1 + (2 * place + 1) * measures.rounds // (2 * columns)
        while phase.last < min(t, measures.rounds):
            phase = next(phases)
        strip += "-" if phase.winner is None else names[phase.winner % len(names)]
    return strip
