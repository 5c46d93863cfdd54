"""Show a changing world, and ANACONDA in it: numbers and two figures."""

import argparse
from pathlib import Path

__all__ = ["configure", "run"]

_WORLD = "total-order:arms=3,rounds=200000,phases=4,p=0.9,seed=2"
_POLICY = "anaconda:constant=0.5"
_SEED = 0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", default="demo", metavar="DIR", help="where the figures go (demo)")


def run(arguments: argparse.Namespace) -> None:
    """Measure and draw the demo's world; play and draw the demo's game."""
    from driftduel.cli.measure import print_measures
    from driftduel.cli.progress import Progress
    from driftduel.figures import plot_trace, plot_world
    from driftduel.games import play, trace
    from driftduel.measures import measure
    from driftduel.worlds import make_world

    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    print("1. A world whose best option changes three times, at rounds no learner is told.\n")
    world = make_world(_WORLD)
    found = measure(world)
    print_measures(_WORLD, found)
    plot_world(world, found, folder / "world.png", title=_WORLD)

    print(f"\n2. The paper's algorithm in that world: {_POLICY}\n")
    game = play(_POLICY, world, _SEED)
    progress = Progress("trace")
    played = trace(_POLICY, world, _SEED, progress)
    progress.close()
    plot_trace(played, folder / "anaconda.png", title=f"{_POLICY}   {_WORLD}")
    uniform = _uniform_regret(world)
    print(f"dynamic regret   {game.total:,.0f}, {game.total / uniform:.0%} of uniform random play")
    print(f"restarts after   {', '.join(f'{t:,}' for t in game.restarts) or 'none'}")
    print(f"true switches    {', '.join(f'{t:,}' for t in found.condorcet_switch_rounds or [])}")
    print(f"speed            {game.rounds_per_second:,.0f} rounds a second")
    print(f"\nlook at: {folder / 'world.png'}, {folder / 'anaconda.png'}")
    print("try:     .venv/bin/driftduel worlds")
    print(
        f"         .venv/bin/driftduel play --policy {_POLICY} --world seasonal:arms=4,rounds=1e7"
    )


def _uniform_regret(world) -> float:  # type: ignore[no-untyped-def]
    """Return the expected dynamic regret of drawing both arms uniformly."""
    from driftduel.regret import chunk_losses

    total = 0.0
    for chunk in world.chunks():
        lengths = [*(chunk.starts[1:] - chunk.starts[:-1]), chunk.end - chunk.starts[-1]]
        total += float((chunk_losses(chunk)[chunk.rows].mean(axis=1) * lengths).sum())
    return total
