"""The benchmark suite: worlds of five families in two splits, and the score of a policy."""

import driftduel.lab  # noqa: F401 - first, because it raises MissingExtraError
from driftduel.suite.roster import Roster
from driftduel.suite.scoring import Score, as_markdown, read_score, score, tables
from driftduel.suite.settings import SETTINGS
from driftduel.suite.splits import SPLITS, Split, read_split
from driftduel.suite.tournament import TournamentResults, run_suite

__all__ = [
    "SETTINGS",
    "SPLITS",
    "Roster",
    "Score",
    "Split",
    "TournamentResults",
    "as_markdown",
    "read_score",
    "read_split",
    "run_suite",
    "score",
    "tables",
]
