"""Formatting of numbers, intervals and lists for people.

Terminal output, pages, figures and the study use these functions, so that equal values look equal
everywhere. The functions do not depend on the meaning of a value.
"""

import math
from collections.abc import Callable, Sequence

__all__ = [
    "code",
    "counted",
    "decimals",
    "duration",
    "interval",
    "listed",
    "margin",
    "number",
    "often",
    "plain",
    "ratio",
    "rough",
    "share",
    "short",
    "times",
    "whole",
]

NOTHING = "-"
"""The text of a missing value in a table."""


def number(value: float | None) -> str:
    """Return a number with three digits, or with all digits before the point.

    Examples
    --------
    >>> [number(x) for x in (0, 0.01234, 1.5, 3.0, 41.26, 412.3, 1234567.8, -0.5, None)]
    ['0', '0.0123', '1.50', '3', '41.3', '412', '1,234,568', '-0.500', '-']
    """
    if value is None or math.isnan(value):
        return NOTHING
    size = abs(value)
    if size >= 99.95 or value == int(value):
        return whole(value)
    if size < 0.001:
        return f"{value:.2e}"
    digits = 2 - math.floor(math.log10(float(f"{size:.3g}")))
    return f"{value:.{max(0, digits)}f}"


def whole(value: float | None) -> str:
    """Return a value rounded to a whole number.

    Examples
    --------
    >>> whole(1234567), whole(-0.2), whole(None)
    ('1,234,567', '0', '-')
    """
    return NOTHING if value is None else f"{round(value) + 0:,}"


def rough(value: float | None) -> str:
    """Return a number rounded to three significant digits.

    Examples
    --------
    >>> rough(1234567.0), rough(0.12345), rough(12.0), rough(-0.0), rough(None)
    ('1,230,000', '0.123', '12', '0', '-')
    """
    if value is None or math.isnan(value):
        return NOTHING
    text = f"{float(f'{value:.3g}'):,.10f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def short(value: float | None, digits: int = 3) -> str:
    """Return a large value with a letter for its magnitude: ticks of axes, speeds.

    Examples
    --------
    >>> short(20_000), short(1_500_000), short(2.75), short(300), short(12_345_678, 2)
    ('20k', '1.5M', '2.75', '300', '12M')
    >>> short(999_999), short(184_321, 2), short(-0.0), short(None)
    ('1M', '180k', '0', '-')
    """
    if value is None:
        return NOTHING
    kept = float(f"{value:.{digits}g}") + 0.0  # first, so that 999,999 is a million
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(kept) >= size:
            return f"{kept / size:g}{letter}"
    return f"{kept:g}"


def decimals(value: float | None, digits: int = 2, *, sign: bool = False) -> str:
    """Return a value with a fixed number of decimals: exponents, scores.

    Examples
    --------
    >>> decimals(0.5), decimals(-0.001), decimals(0.237, 1, sign=True), decimals(None)
    ('0.50', '0.00', '+0.2', '-')
    """
    if value is None:
        return NOTHING
    return f"{round(value, digits) + 0.0:{'+' if sign else ''},.{digits}f}"


def share(value: float | None, digits: int = 0) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> share(0.25), share(0.0312, 1), share(-0.001), share(None)
    ('25%', '3.1%', '0%', '-')
    """
    if value is None:
        return NOTHING
    text = f"{value:.{digits}%}"
    return text if text.strip("-0.%") else text.lstrip("-")


def ratio(value: float | None) -> str:
    """Return a ratio for a table.

    Examples
    --------
    >>> ratio(1.0), ratio(1.256), ratio(12.69), ratio(1234.5), ratio(None)
    ('1.00', '1.26', '12.7', '1,234', '-')
    """
    if value is None:
        return NOTHING
    return (
        decimals(value) if value < 9.995 else decimals(value, 1) if value < 99.95 else whole(value)
    )


def times(value: float) -> str:
    """Return a ratio for a sentence; values near 1 have three decimals.

    Examples
    --------
    >>> times(1.0004), times(1.256), times(12.69)
    ('1.000 times', '1.26 times', '12.7 times')
    """
    return f"{decimals(value, 3) if value < 1.05 else ratio(value)} times"


def interval(low: float | None, high: float | None, write: Callable[[float], str] = number) -> str:
    """Return an interval as text.

    Parameters
    ----------
    low, high
        The values of its ends; None if there is no interval.
    write
        The function that formats the ends.

    Examples
    --------
    >>> interval(1.5, 20.0), interval(0.012, 0.3, share), interval(None, None)
    ('1.50 to 20', '1% to 30%', '-')
    """
    return NOTHING if low is None or high is None else f"{write(low)} to {write(high)}"


def margin(mean: float | None, half: float | None) -> tuple[str, str]:
    """Write a mean and half of its interval with the same digits: two of the half, or all of both.

    Examples
    --------
    >>> margin(471.26, 23.4), margin(8.127, 0.4449), margin(1234567.8, 4321.0)
    (('471', '23'), ('8.13', '0.44'), ('1,234,568', '4,321'))
    >>> margin(99.97, 0.96), margin(3.0, 0.0), margin(412.3, None), margin(None, None)
    (('99.97', '0.96'), ('3', '0'), ('412', '-'), ('-', '-'))
    """
    if mean is None or half is None or not 0 < half < math.inf:
        return number(mean), number(half)
    digits = max(0, 1 - math.floor(math.log10(float(f"{half:.2g}"))))
    return decimals(mean, digits), decimals(half, digits)


def duration(seconds: float | None) -> str:
    """Return a duration with its unit.

    Examples
    --------
    >>> [duration(s) for s in (0.25, 9.96, 75, 200, 7000, 200_000, None)]
    ['0.2 s', '10 s', '75 s', '3 min', '117 min', '56 h', '-']
    """
    if seconds is None:
        return NOTHING
    for size, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= 2 * size or unit == "s":
            count = seconds / size
            return (
                f"{decimals(count, 1) if unit != 'min' and count < 9.95 else whole(count)} {unit}"
            )
    raise AssertionError


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a count with the singular or plural of a noun.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "switch", "switches"), counted(0, "restart")
    ('1 run', '2,000 switches', '0 restarts')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def often(times: float, at_most: float | None = None) -> str:
    """Return a frequency, or a range of frequencies, in words.

    Examples
    --------
    >>> often(1), often(2), often(1500), often(2.8), often(1, 1), often(1, 3)
    ('once', 'twice', '1,500 times', '2.80 times', 'once', '1 to 3 times')
    """
    if at_most is not None and at_most != times:
        return f"{interval(times, at_most)} times"
    return "once" if times == 1 else "twice" if times == 2 else f"{number(times)} times"


def listed(things: Sequence[object], most: int = 8, last: str = "and") -> str:
    """Return a list as text, shortened if it is long.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2), listed(["a"]), listed([])
    ('a, b and c', 'a, b and 2 more', 'a', '')
    """
    words = [str(thing) for thing in things]
    if len(words) > most + 1:
        return f"{', '.join(words[:most])} {last} {len(words) - most:,} more"
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def code(name: str) -> str:
    """Mark a name in a sentence; a page turns the marks into code.

    Examples
    --------
    >>> code("king")
    '`king`'
    """
    return f"`{name}`"


def plain(text: str) -> str:
    """Drop the marks around names, for a terminal.

    Examples
    --------
    >>> plain("`king` has the lowest regret.")
    'king has the lowest regret.'
    """
    return text.replace("`", "")
