"""Measures of the non-stationarity of worlds."""

from driftduel.measures.bounds import Bounds, bounds
from driftduel.measures.non_stationarity import Measures, Phase, measure
from driftduel.measures.significant import SignificantScan, significant_switches

__all__ = [
    "Bounds",
    "Measures",
    "Phase",
    "SignificantScan",
    "bounds",
    "measure",
    "significant_switches",
]
