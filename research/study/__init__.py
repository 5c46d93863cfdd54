"""The study: the paper's claims, measured. One experiment a file; `run_study` runs them all.

Needs the extra ``report``.
"""

import driftduel.lab  # noqa: F401 - first, because it names the missing extra
from research.study.opening import claims_table, opening
from research.study.page import Rerun, Study, as_html, as_markdown, merged, read_study
from research.study.running import (
    EXPERIMENTS,
    budget,
    record_in,
    run_study,
    write_calibration,
    write_docs,
    write_study,
)

__all__ = [
    "EXPERIMENTS",
    "Rerun",
    "Study",
    "as_html",
    "as_markdown",
    "budget",
    "claims_table",
    "merged",
    "opening",
    "read_study",
    "record_in",
    "run_study",
    "write_calibration",
    "write_docs",
    "write_study",
]
