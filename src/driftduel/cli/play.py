"""Play one game with one policy: its regret over time, its restarts, and its speed."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from driftduel._internal.wording import decimals, whole
from driftduel.cli.common import INTERRUPTED, add_benchmark, add_game, arm_name, load_imports

if TYPE_CHECKING:
    from driftduel.games import Play

__all__ = ["configure", "run"]

_SHOWN = 12


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_game(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead")
    parser.add_argument(
        "--points", type=int, default=200, metavar="N", help="number of points of the curve (200)"
    )
    add_benchmark(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play the game and print its result; exit with code 130 if it was interrupted."""
    from driftduel.cli.progress import Progress
    from driftduel.games import play

    load_imports(arguments)
    progress = Progress("play")
    try:
        game = play(
            arguments.policy,
            arguments.world,
            arguments.seed,
            points=arguments.points,
            benchmark=arguments.benchmark,
            mode=arguments.mode,
            progress=progress,
        )
    finally:
        progress.close()
    if arguments.json:
        print(json.dumps(_as_json(arguments, game), indent=2))
    else:
        _print(arguments, game)
    if not game.finished:
        raise SystemExit(INTERRUPTED)


def _as_json(arguments: argparse.Namespace, game: "Play") -> dict[str, Any]:
    return {
        "policy": arguments.policy,
        "world": arguments.world,
        **({"names": game.world.names} if game.world.names else {}),
        "seed": game.seed,
        "mode": game.policy.mode,
        "told": list(game.policy.prior_knowledge),
        "rounds": game.rounds,
        "finished": game.finished,
        "best": game.policy.best(),
        "restarts": game.restarts,
        "rounds_per_second": game.rounds_per_second,
        "at": game.at.tolist(),
        "benchmark": arguments.benchmark,
        "regret": {kind: curve.tolist() for kind, curve in game.regret.items()},
    }


def _print(arguments: argparse.Namespace, game: "Play") -> None:
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import show_table, wrapped
    from driftduel.regret import kinds_of

    known = ", ".join(game.policy.prior_knowledge) or "none"
    title = f"{arguments.policy}  on  {arguments.world}  (prior knowledge: {known})"
    print(bold(wrapped(title, "  ", "")))
    print()
    kinds = kinds_of(game.benchmark)
    if game.benchmark == "exploitability":
        kinds = ("exploitability", "von-neumann", "borda", "copeland")
    shown = {kind: game.regret[kind] for kind in kinds}
    step = max(1, len(game.at) // _SHOWN)
    chosen = sorted({*range(len(game.at) - 1, -1, -step)})
    rows = [
        (f"{game.at[i]:,}", *(decimals(curve[i], 1) for curve in shown.values())) for i in chosen
    ]
    show_table(rows, ("round", *shown), right="01234")
    if not game.finished:
        print(f"\nstopped after {game.rounds:,} of {game.world.rounds:,} rounds")
    leader = game.policy.best()
    best = "undecided" if leader is None else arm_name(leader, game.world.names)
    print(f"\nto ship:  {best}")
    after = ", ".join(f"{t:,}" for t in game.restarts[:_SHOWN])
    more = ", ..." if len(game.restarts) > _SHOWN else ""
    line = f"restarts: {len(game.restarts)}" + (f" (after rounds {after}{more})" if after else "")
    print(wrapped(line, "          ", first=""))
    print(f"speed:    {whole(game.rounds_per_second)} rounds a second")
