"""Analysis of vote logs: the best option now, changes over time, and their certainty.

Needs the extra ``logs``.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("scipy") is None:
    from driftduel.errors import MissingExtraError

    raise MissingExtraError("scipy", "logs", "reading logs")

from driftduel.logs.bradley_terry import bradley_terry, dispersion
from driftduel.logs.certificate import Certificate, certify
from driftduel.logs.choice import ModelChoice, choose
from driftduel.logs.counts import Counts, Groups, counts_from_votes, load_counts
from driftduel.logs.evaluate import Evaluation, evaluate
from driftduel.logs.forecast import Forecast
from driftduel.logs.paths import LogPaths
from driftduel.logs.position import first_advantage
from driftduel.logs.posterior import Change, Fit, Measured, Now, fit
from driftduel.logs.posterior_worlds import Comparison, compare_on_posterior
from driftduel.logs.reading import Log, RowProblem, read_log
from driftduel.logs.replay import LogReplay
from driftduel.logs.segments import Segmentation, segment
from driftduel.logs.simulate import simulate, votes_of

__all__ = [
    "Certificate",
    "Change",
    "Comparison",
    "Counts",
    "Evaluation",
    "Fit",
    "Forecast",
    "Groups",
    "Log",
    "LogPaths",
    "LogReplay",
    "Measured",
    "ModelChoice",
    "Now",
    "RowProblem",
    "Segmentation",
    "bradley_terry",
    "certify",
    "choose",
    "compare_on_posterior",
    "counts_from_votes",
    "dispersion",
    "evaluate",
    "first_advantage",
    "fit",
    "load_counts",
    "read_log",
    "segment",
    "simulate",
    "votes_of",
]
