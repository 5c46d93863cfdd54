"""The data of figures and reports, computed once from a result store.

`read_findings` reads a store; the other modules define the parts of its result.
"""

from driftduel.lab.findings.categories import CategoryRegrets
from driftduel.lab.findings.changes import Changes, Game
from driftduel.lab.findings.curves import Curve
from driftduel.lab.findings.goals import GoalFindings
from driftduel.lab.findings.naming import short_names
from driftduel.lab.findings.reading import Findings, read_findings
from driftduel.lab.findings.shares import ArmShares
from driftduel.lab.findings.standings import Standing
from driftduel.lab.findings.trends import Trend, TrendLine, fit
from driftduel.lab.findings.world import WorldFindings, ratio_means

__all__ = [
    "ArmShares",
    "CategoryRegrets",
    "Changes",
    "Curve",
    "Findings",
    "Game",
    "GoalFindings",
    "Standing",
    "Trend",
    "TrendLine",
    "WorldFindings",
    "fit",
    "ratio_means",
    "read_findings",
    "short_names",
]
