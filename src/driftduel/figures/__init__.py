"""Figures: what people look at. Needs the extra ``plot``."""

from driftduel.figures.trace import plot_trace
from driftduel.figures.world import plot_world

__all__ = ["plot_trace", "plot_world"]
