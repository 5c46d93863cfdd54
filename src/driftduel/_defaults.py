"""What is played unless somebody says otherwise: for Python, TOML and the command line."""

__all__ = ["BENCHMARK", "GOAL", "MODE", "POINTS", "RUNS", "SEED"]

RUNS = 20
"""Games of each policy in each world."""
SEED = 0
POINTS = 200
"""About how many rounds of a game's curves are kept."""
BENCHMARK = "condorcet"
"""What regret is against."""
GOAL = "regret"
"""What an experiment measures; others measure more beside it, see `driftduel.lab.goals`."""
MODE = "serve"
"""An arm may be shown alone."""
