"""What several commands share."""

import argparse

__all__ = ["BAD_INPUT", "INTERRUPTED", "add_game"]

# Exit codes.
BAD_INPUT = 2
INTERRUPTED = 130


def add_game(parser: argparse.ArgumentParser) -> None:
    """Declare policy, world and seed."""
    parser.add_argument(
        "--policy", required=True, metavar="SPEC", help="the policy, name:key=value,..."
    )
    parser.add_argument(
        "--world", required=True, metavar="SPEC", help="the world; 'driftduel worlds' lists them"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="fixes the game (0)")
