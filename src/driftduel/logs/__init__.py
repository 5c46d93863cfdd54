"""Analysis of vote logs: the best option now, changes over time, and their certainty.

Needs the extra ``logs``.
"""

from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from driftduel._internal.lazy import import_on_use

if _find_spec("scipy") is None:
    from driftduel.errors import MissingExtraError

    raise MissingExtraError("scipy", "logs", "reading logs")

from driftduel.logs.bradley_terry_fit import (
    bradley_terry,
    dispersion,
    preferences_of as preferences_of,
)
from driftduel.logs.certificate import Certificate, certify
from driftduel.logs.choice import ModelChoice, choose
from driftduel.logs.counts import Counts, Groups, counts_from_votes, load_counts
from driftduel.logs.evaluation import Evaluation, evaluate
from driftduel.logs.feature_votes import (
    FeatureColumn as FeatureColumn,
    FeatureVotes as FeatureVotes,
)
from driftduel.logs.features import feature_evidence as feature_evidence
from driftduel.logs.forecast import Forecast
from driftduel.logs.log_replay import LogReplay, replay as replay
from driftduel.logs.paths import LogPaths
from driftduel.logs.position import first_advantage
from driftduel.logs.posterior import Change, Fit, Measured, Now, fit
from driftduel.logs.posterior_worlds import (
    Comparison,
    compare_on_posterior,
    draw_worlds as draw_worlds,
)
from driftduel.logs.presence import OPTIONS as OPTIONS
from driftduel.logs.reading import Log, RowProblem, read_log
from driftduel.logs.segments import Segmentation, segment
from driftduel.logs.simulate import simulate, votes_of
from driftduel.logs.subgroup_report import describe_subgroups
from driftduel.logs.subgroups import SEVERAL as SEVERAL, TaggedVotes, option_shares, tag_evidence
from driftduel.logs.tagged import (
    MOST_VALUES as MOST_VALUES,
    check_values as check_values,
    draw_pairs as draw_pairs,
    tagged_votes,
)

if TYPE_CHECKING:
    from driftduel.logs.columns import quote as quote
    from driftduel.logs.demo import DEMO_CHANGES as DEMO_CHANGES, write_demo as write_demo
    from driftduel.logs.descriptions import (
        describe_changes as describe_changes,
        describe_estimate as describe_estimate,
        describe_log as describe_log,
        describe_measures as describe_measures,
        describe_winner as describe_winner,
        list_changes as list_changes,
    )
    from driftduel.logs.feature_report import describe_features as describe_features
    from driftduel.logs.figure import plot_winners as plot_winners
    from driftduel.logs.outcomes import real_outcomes as real_outcomes
    from driftduel.logs.page import write_page as write_page
    from driftduel.logs.parts import count_files as count_files
    from driftduel.logs.schemas import Subgroups as Subgroups, json_schema as json_schema
    from driftduel.logs.times import time_text as time_text
else:
    __getattr__ = import_on_use(
        __name__,
        {
            "columns": "quote",
            "demo": "DEMO_CHANGES write_demo",
            "descriptions": (
                "describe_changes describe_estimate describe_log "
                "describe_measures describe_winner list_changes"
            ),
            "feature_report": "describe_features",
            "figure": "plot_winners",
            "outcomes": "real_outcomes",
            "page": "write_page",
            "parts": "count_files",
            "schemas": "Subgroups json_schema",
            "times": "time_text",
        },
    )

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
    "TaggedVotes",
    "bradley_terry",
    "certify",
    "choose",
    "compare_on_posterior",
    "counts_from_votes",
    "describe_subgroups",
    "dispersion",
    "evaluate",
    "first_advantage",
    "fit",
    "load_counts",
    "option_shares",
    "read_log",
    "segment",
    "simulate",
    "tag_evidence",
    "tagged_votes",
    "votes_of",
]
