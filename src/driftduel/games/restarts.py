"""Restarts without a change: false alarms."""

from collections.abc import Sequence

import numpy as np

__all__ = ["count_false_alarms"]


def count_false_alarms(restarts: Sequence[int], switches: Sequence[int]) -> int:
    """Count false alarms: restarts without a true switch since the previous restart.

    A restart after round r resets the policy in round r + 1, and may use switches up to that round:
    an oracle restarts in the round of the switch.

    Examples
    --------
    >>> count_false_alarms([100, 900, 1500], switches=[501, 1001])
    1
    """
    anew = np.asarray(restarts, np.int64) + 1
    seen = np.searchsorted(np.asarray(switches, np.int64), anew, "right")
    return int((np.diff(seen, prepend=0) == 0).sum())
