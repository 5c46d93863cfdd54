"""A check of the independence of irrelevant alternatives.

For each two options and each third one, the share of wins among the decided votes of the two is
compared between the slates that show the third option and those that do not. For Plackett-Luce
choices both have the same mean, whatever else is shown. This also holds while strengths change, if
slates are chosen at random. The p-value of the largest difference is multiplied by the number of
comparisons (Bonferroni). Votes of one slate are of different pairs, so each comparison has one
vote per slate.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_CHECKED", "Dependence", "find_dependence"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEVEL = 0.01
_FEWEST = 30  # votes of a pair with, and without, the third option
MOST_CHECKED = 60
"""The largest number of options; with more, nothing is compared."""


class Dependence(NamedTuple):
    """Two options of which the odds depend on a third one."""

    one: int
    other: int
    third: int
    shown: tuple[float, int]
    """Share of wins of `one`, and votes, with the third option shown."""
    not_shown: tuple[float, int]
    """The same without it."""


def find_dependence(
    winner: Ints, loser: Ints, shown: Ints, often: Ints, options: int
) -> Dependence | None:
    """Return the clearest dependence on a third option at the level 1%, else None.

    Parameters
    ----------
    winner, loser
        (n,) the options of each decided vote.
    shown
        (n, k) the options shown; -1 fills smaller slates.
    often
        (n,) the number of such votes.
    options
        Number of options; with more than 60 nothing is compared.
    """
    from scipy.stats import norm

    if options > MOST_CHECKED or shown.shape[1] < 3:
        return None
    total = np.zeros((options, options))
    np.add.at(total, (winner, loser), often)
    present = np.zeros((options + 1, options + 1, options + 1))
    for third in shown.T:
        np.add.at(present, (winner, loser, third), often)
    present = present[:-1, :-1, :-1]
    absent = total[:, :, None] - present
    each = np.arange(options)
    present[each, :, each] = present[:, each, each] = 0.0
    with_it, without = present + present.swapaxes(0, 1), absent + absent.swapaxes(0, 1)
    one, other = np.triu_indices(options, 1)
    n, m = with_it[one, other], without[one, other]
    some = (n >= _FEWEST) & (m >= _FEWEST)
    if not some.any():
        return None
    n, m = np.where(some, n, 1.0), np.where(some, m, 1.0)
    p, q = present[one, other] / n, absent[one, other] / m
    mean = (present[one, other] + absent[one, other]) / (n + m)
    variance = np.maximum(mean * (1 - mean) * (1 / n + 1 / m), 1e-12)
    # Half a vote nearer together: the normal approximation of counts (Yates).
    gap = np.maximum(np.abs(p - q) - (1 / n + 1 / m) / 2, 0.0)
    z = np.where(some & (mean > 0) & (mean < 1), gap / np.sqrt(variance), 0.0)
    pair, third = np.unravel_index(int(z.argmax()), z.shape)
    if 2 * norm.sf(z[pair, third]) * some.sum() > _LEVEL:
        return None
    return Dependence(
        int(one[pair]), int(other[pair]), int(third),
        (float(p[pair, third]), int(n[pair, third])),
        (float(q[pair, third]), int(m[pair, third])),
    )  # fmt: skip
