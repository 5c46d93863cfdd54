"""Write one game to a file, one row per round, or plot it."""

import argparse

from driftduel.cli.common import add_game, load_imports

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_game(parser)
    parser.add_argument("--out", metavar="FILE", help="file for all rounds (.csv or .parquet)")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="plot of a policy with replays, such as anaconda (PNG, SVG, PDF)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Play the game, write its trace and plot it."""
    from driftduel.cli.progress import Progress
    from driftduel.errors import DriftduelError
    from driftduel.figures import check_figure_path
    from driftduel.games import check_trace_path, trace, write_trace

    if not arguments.out and not arguments.plot:
        raise DriftduelError("--out FILE or --plot FILE is required.")
    if arguments.out:
        check_trace_path(arguments.out)
    if arguments.plot:
        check_figure_path(arguments.plot)
    load_imports(arguments)
    progress = Progress("trace")
    try:
        played = trace(
            arguments.policy,
            arguments.world,
            arguments.seed,
            mode=arguments.mode,
            progress=progress,
        )
    finally:
        progress.close()
    if arguments.out:
        write_trace(played, arguments.out)
        print(f"{arguments.out}: {len(played):,} rounds")
    if arguments.plot:
        from driftduel.figures import plot_trace

        plot_trace(played, arguments.plot, title=f"{arguments.policy}   {arguments.world}")
        print(f"{arguments.plot}: {len(played.policy.restarts)} restarts")
