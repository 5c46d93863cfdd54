"""A page about many games that opens anywhere, and figures for papers.

Needs the extra ``report``.
"""

from driftduel.report.writing import write_report

__all__ = ["write_report"]
