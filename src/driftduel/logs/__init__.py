"""Logs of real comparisons: who is best now, did it change, and how sure is that.

Needs the extra ``logs``.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("scipy") is None:
    from driftduel.errors import MissingExtraError

    raise MissingExtraError("scipy", "logs", "reading logs")

from driftduel.logs.bradley_terry import bradley_terry, dispersion
from driftduel.logs.certificate import Certificate, certify
from driftduel.logs.choice import Choice, choose
from driftduel.logs.counts import Counts, Groups, counts_from_votes, load_counts
from driftduel.logs.evaluate import Evaluation, evaluate
from driftduel.logs.forecast import Forecast
from driftduel.logs.knots import Knots
from driftduel.logs.position import first_advantage
from driftduel.logs.posterior import Change, Fit, Measured, Now, fit
from driftduel.logs.reading import Log, Problem, read_log
from driftduel.logs.replay import Replay
from driftduel.logs.segments import Cuttings, segment
from driftduel.logs.simulate import simulate, votes_of
from driftduel.logs.sisters import Comparison, compare_on_sisters

__all__ = [
    "Certificate",
    "Change",
    "Choice",
    "Comparison",
    "Counts",
    "Cuttings",
    "Evaluation",
    "Fit",
    "Forecast",
    "Groups",
    "Knots",
    "Log",
    "Measured",
    "Now",
    "Problem",
    "Replay",
    "bradley_terry",
    "certify",
    "choose",
    "compare_on_sisters",
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
