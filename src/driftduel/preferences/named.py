"""Named preference matrices: two classics, two orders, and those of the paper."""

from collections.abc import Callable

from driftduel.preferences._parameters import unknown_name
from driftduel.preferences.matrix import Preferences
from driftduel.preferences.models import linear_order

__all__ = ["NAMED", "named"]


def named(name: str) -> Preferences:
    """Return the preference matrix with the given name.

    Parameters
    ----------
    name
        One of the keys of `NAMED`.

    Examples
    --------
    >>> named("six-rankers")
    Preferences(arms=6, condorcet_winner=0)
    [[0.5  0.55 0.55 0.54 0.61 0.61]
     [0.45 0.5  0.55 0.55 0.58 0.6 ]
     [0.45 0.45 0.5  0.54 0.51 0.56]
     [0.46 0.45 0.46 0.5  0.54 0.5 ]
     [0.39 0.42 0.49 0.46 0.5  0.51]
     [0.39 0.4  0.44 0.5  0.49 0.5 ]]
    """
    if name not in NAMED:
        raise unknown_name("preference matrix", name, NAMED)
    return NAMED[name]()


def _six_rankers() -> Preferences:
    """Six retrieval functions compared on arXiv's search; arm 0 wins narrowly.

    Arms 3 and 5 are tied.
    """
    return Preferences(
        [
            [0.50, 0.55, 0.55, 0.54, 0.61, 0.61],
            [0.45, 0.50, 0.55, 0.55, 0.58, 0.60],
            [0.45, 0.45, 0.50, 0.54, 0.51, 0.56],
            [0.46, 0.45, 0.46, 0.50, 0.54, 0.50],
            [0.39, 0.42, 0.49, 0.46, 0.50, 0.51],
            [0.39, 0.40, 0.44, 0.50, 0.49, 0.50],
        ]
    )


def _cyclic() -> Preferences:
    """Arm 0 narrowly beats all others; the other three form a cycle with large gaps."""
    return Preferences(
        [
            [0.5, 0.6, 0.6, 0.6],
            [0.4, 0.5, 0.9, 0.1],
            [0.4, 0.1, 0.5, 0.9],
            [0.4, 0.9, 0.1, 0.5],
        ]
    )


def _arithmetic() -> Preferences:
    """Eight arms in order, the gap being 0.05 for each rank between them."""
    return linear_order(8, base=0.5, step=0.05, cap=1.0)


def _linear_order() -> Preferences:
    """Ten arms in order, neighbours being 0.12 apart and each further rank adding 0.02."""
    return linear_order(10)


def _two_arm_first() -> Preferences:
    """The first half of the paper's Example 2.1: arm 0 always wins."""
    return Preferences([[0.5, 1.0], [0.0, 0.5]])


def _two_arm_second() -> Preferences:
    """The second half of the paper's Example 2.1: arm 1 always wins."""
    return Preferences([[0.5, 0.0], [1.0, 0.5]])


def _background_odd() -> Preferences:
    """The odd rounds of the paper's remark on S^P and S^CW: arm 1 crushes arm 2."""
    return Preferences([[0.50, 0.55, 0.55], [0.45, 0.50, 1.00], [0.45, 0.00, 0.50]])


def _background_even() -> Preferences:
    """The even rounds of the same remark: arm 2 crushes arm 1; arm 0 wins as before."""
    return Preferences([[0.50, 0.55, 0.55], [0.45, 0.50, 0.00], [0.45, 1.00, 0.50]])


#: Factory functions of the matrices by name, the values of the argument of `named`.
NAMED: dict[str, Callable[[], Preferences]] = {
    "six-rankers": _six_rankers,
    "cyclic": _cyclic,
    "arithmetic": _arithmetic,
    "linear-order": _linear_order,
    "paper-two-arm-first": _two_arm_first,
    "paper-two-arm-second": _two_arm_second,
    "paper-background-odd": _background_odd,
    "paper-background-even": _background_even,
}
