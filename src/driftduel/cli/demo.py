"""Show a changing world: who wins when, how much it changes, and a figure."""

import argparse
from pathlib import Path

__all__ = ["configure", "run"]

_WORLD = "geometric-btl:arms=10,rounds=50000,phases=4,change=winner"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", default="demo", metavar="DIR", help="where the figure goes")


def run(arguments: argparse.Namespace) -> None:
    """Measure and draw the demo's world."""
    from driftduel.cli.measure import print_measures
    from driftduel.figures import plot_world
    from driftduel.measures import measure
    from driftduel.worlds import make_world

    print("A world whose best option changes three times, at rounds no learner is told.\n")
    world = make_world(_WORLD)
    found = measure(world)
    print_measures(_WORLD, found)
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    figure = folder / "world.png"
    plot_world(world, found, figure, title=_WORLD)
    print(f"\nfigure: {figure}")
    print("try:    .venv/bin/driftduel worlds")
    print("        .venv/bin/driftduel measure --world seasonal:arms=5,rounds=20000")
