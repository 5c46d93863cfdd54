"""Default parameters and limits of games, shared by Python, TOML and the command line."""

__all__ = ["BENCHMARK", "GOAL", "MODE", "MOST_SHOWN", "POINTS", "RUNS", "SEED"]

RUNS = 20
"""The default number of games of each policy in each world."""
SEED = 0
POINTS = 200
"""The approximate number of stored points of a curve."""
BENCHMARK = "condorcet"
"""The default benchmark of regret."""
GOAL = "regret"
"""The default goal of an experiment; for others see `driftduel.lab.goals`."""
MODE = "serve"
"""The default mode: an arm may be shown alone."""
MOST_SHOWN = 8
"""The largest number of arms of a slate."""
