"""Experiments of many games: compare policies, sweep over worlds, resume, on one machine or many.

Needs the extra ``lab``; a dask cluster needs ``cluster``.
"""

from typing import TYPE_CHECKING

from driftduel._internal.lazy import import_on_use

try:
    import polars as _polars  # noqa: F401 - required by every function here
except ImportError:
    from driftduel.errors import MissingExtraError

    raise MissingExtraError("polars", "lab", "the lab") from None

from driftduel.lab.duration import estimate as estimate
from driftduel.lab.experiment import (
    compare,
    open_results as open_results,
    play_cells as play_cells,
    sweep,
)
from driftduel.lab.plan import Cell, Plan, make_plan
from driftduel.lab.progress import ProgressListener
from driftduel.lab.result import Results, load_results
from driftduel.lab.store import Store
from driftduel.lab.toml import read_plan
from driftduel.lab.weak_spot_notes import weak_spots as weak_spots

if TYPE_CHECKING:
    from driftduel.lab.engines.base import cores as cores
    from driftduel.lab.export import (
        as_csv as as_csv,
        as_latex as as_latex,
        method_of as method_of,
        results_as_json as results_as_json,
    )
    from driftduel.lab.findings import (
        ArmShares as ArmShares,
        Changes as Changes,
        Curve as Curve,
        Findings as Findings,
        Game as Game,
        GoalFindings as GoalFindings,
        Standing as Standing,
        Trend as Trend,
        WorldFindings as WorldFindings,
        ratio_means as ratio_means,
        read_findings as read_findings,
    )
    from driftduel.lab.findings.replays import (
        kept_games as kept_games,
        read_replays as read_replays,
    )
    from driftduel.lab.plan import game_seed as game_seed, matches as matches
    from driftduel.lab.progress import Display as Display
    from driftduel.lab.statistics import (
        paired_difference as paired_difference,
        t_half_width as t_half_width,
        t_interval as t_interval,
    )
    from driftduel.lab.tables import (
        ResultTable as ResultTable,
        missing_report as missing_report,
        over_worlds as over_worlds,
        world_table as world_table,
    )
    from driftduel.lab.verdicts import (
        about_totals as about_totals,
        overall_verdict as overall_verdict,
        prior_knowledge_remark as prior_knowledge_remark,
        verdict as verdict,
    )
else:
    __getattr__ = import_on_use(
        __name__,
        {
            "engines.base": "cores",
            "export": "as_csv as_latex method_of results_as_json",
            "findings": (
                "ArmShares Changes Curve Findings Game "
                "GoalFindings Standing Trend WorldFindings ratio_means read_findings"
            ),
            "findings.replays": "kept_games read_replays",
            "progress": "Display",
            "plan": "game_seed matches",
            "statistics": "paired_difference t_half_width t_interval",
            "tables": "ResultTable missing_report over_worlds world_table",
            "verdicts": "about_totals overall_verdict prior_knowledge_remark verdict",
        },
    )

__all__ = [
    "Cell",
    "Plan",
    "ProgressListener",
    "Results",
    "Store",
    "compare",
    "load_results",
    "make_plan",
    "read_plan",
    "sweep",
]
