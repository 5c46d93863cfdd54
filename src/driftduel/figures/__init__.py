"""Figures of worlds, games and results, drawn by matplotlib. Needs the extra ``plot``."""

from typing import TYPE_CHECKING

from driftduel._internal.lazy import import_on_use
from driftduel.figures.trace import plot_trace
from driftduel.figures.world import plot_world

if TYPE_CHECKING:
    from driftduel.figures.goals import plot_goal as plot_goal
    from driftduel.figures.lines import (
        LINE_COLOURS as LINE_COLOURS,
        line_style as line_style,
        wrapped as wrapped,
    )
    from driftduel.figures.options import (
        FigureOptions as FigureOptions,
        GoalOptions as GoalOptions,
        HeatOptions as HeatOptions,
        SharesOptions as SharesOptions,
        TotalsOptions as TotalsOptions,
        TrendOptions as TrendOptions,
    )
    from driftduel.figures.results import (
        Legend as Legend,
        Width as Width,
        far_apart as far_apart,
        plot_heat as plot_heat,
        plot_regret as plot_regret,
        plot_restarts as plot_restarts,
        plot_shares as plot_shares,
        plot_totals as plot_totals,
        plot_trend as plot_trend,
    )
    from driftduel.figures.style import (
        arm_colour as arm_colour,
        check_figure_path as check_figure_path,
        figure as figure,
        plain as plain,
        save as save,
    )
    from driftduel.figures.themes import in_page as in_page
    from driftduel.figures.trace import plot_replays as plot_replays
    from driftduel.figures.world import Phase as Phase
else:
    __getattr__ = import_on_use(
        __name__,
        {
            "options": (
                "FigureOptions GoalOptions HeatOptions SharesOptions TotalsOptions TrendOptions"
            ),
            "results": (
                "Legend Width far_apart plot_heat "
                "plot_regret plot_restarts plot_shares plot_totals plot_trend"
            ),
            "goals": "plot_goal",
            "lines": "LINE_COLOURS line_style wrapped",
            "style": "arm_colour check_figure_path figure plain save",
            "themes": "in_page",
            "trace": "plot_replays",
            "world": "Phase",
        },
    )

__all__ = ["plot_trace", "plot_world"]
