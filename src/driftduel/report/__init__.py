"""A self-contained HTML page about many games, and figures for papers.

Needs the extra ``report``.
"""

from driftduel.report.writing import write_report

__all__ = ["write_report"]
