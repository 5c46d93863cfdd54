"""Let a policy play a world: regret over time, restarts, rounds a second."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from driftduel.cli.common import INTERRUPTED, add_benchmark, add_game, load_imports

if TYPE_CHECKING:
    from driftduel.games import Play

__all__ = ["configure", "run"]

_SHOWN = 12


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_game(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--points", type=int, default=200, metavar="N", help="points of the curve (200)"
    )
    add_benchmark(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play and print."""
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
        "seed": game.seed,
        "mode": game.policy.mode,
        "told": list(game.policy.told),
        "rounds": game.rounds,
        "finished": game.finished,
        "best": game.policy.best(),
        "restarts": game.restarts,
        "rounds_per_second": game.rounds_per_second,
        "at": game.at.tolist(),
        "benchmark": arguments.benchmark,
        "regret": {kind: curve.tolist() for kind, curve in game.regret.items()},
        **({"beside": {k: c.tolist() for k, c in game.beside.items()}} if game.beside else {}),
    }


def _print(arguments: argparse.Namespace, game: "Play") -> None:
    from driftduel.cli.text import table

    told = ", ".join(game.policy.told) or "nothing"
    print(f"{arguments.policy}  on  {arguments.world}  (told: {told})\n")
    shown = game.regret
    if game.beside:
        shown = {"exploitability": game.regret["dynamic"], **game.beside}
    step = max(1, len(game.at) // _SHOWN)
    chosen = sorted({*range(len(game.at) - 1, -1, -step)})
    rows = [(f"{game.at[i]:,}", *(f"{curve[i]:,.1f}" for curve in shown.values())) for i in chosen]
    print(table(rows, ("round", *shown), right="01234"))
    if not game.finished:
        print(f"\nstopped after {game.rounds:,} of {game.world.rounds:,} rounds")
    leader = game.policy.best()
    print(f"\nto ship:  {'nobody in particular' if leader is None else f'arm {leader}'}")
    after = ", ".join(f"{t:,}" for t in game.restarts[:_SHOWN])
    more = ", ..." if len(game.restarts) > _SHOWN else ""
    print(f"restarts: {len(game.restarts)}" + (f" (after rounds {after}{more})" if after else ""))
    print(f"speed:    {game.rounds_per_second:,.0f} rounds a second")
