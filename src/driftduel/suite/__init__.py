"""The benchmark suite: worlds of five families in two halves, and a policy's score on them."""

import driftduel.lab  # noqa: F401 - first, because it says which extra is missing
from driftduel.suite.cast import Cast
from driftduel.suite.halves import HALVES, Half, read_half
from driftduel.suite.scoring import Score, as_markdown, read_score, score, tables
from driftduel.suite.settings import SETTINGS
from driftduel.suite.tournament import Played, run_suite

__all__ = [
    "HALVES",
    "SETTINGS",
    "Cast",
    "Half",
    "Played",
    "Score",
    "as_markdown",
    "read_half",
    "read_score",
    "run_suite",
    "score",
    "tables",
]
