"""Tick marks of a time axis, at round values."""

import math
from datetime import UTC, datetime, timedelta

from driftduel.logs.times import time_text

__all__ = ["time_ticks"]

_ZERO = datetime(1970, 1, 1, tzinfo=UTC)
_UNIT = {"date": 86_400.0, "datetime": 1e-6}  # seconds
_YEAR = 365.25 * 86_400
_DAY = 86_400
_HOUR = 3600
_STEPS = (
    *(1, 5, 15, 30, 60, 300, 900, 1800),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY),
)


def time_ticks(low: float, high: float, clock: str, most: int = 8) -> list[tuple[float, str]]:
    """Return a few round times between two values, with their labels.

    Examples
    --------
    >>> [text for _, text in time_ticks(0, 3 * 365, "date")]
    ['1970-01', '1970-07', '1971-01', '1971-07', '1972-01', '1972-07']
    >>> [text for _, text in time_ticks(0, 1000, "number", most=5)]
    ['0', '200', '400', '600', '800', '1,000']
    """
    if not high > low:
        return [(low, time_text(low, clock))]
    if clock in _UNIT:
        try:
            return _of_calendar(low, high, _UNIT[clock], most)
        except (OverflowError, ValueError):  # before the year 1, or after 9999
            pass
    step = _nice((high - low) / most)
    shift = 0
    if clock == "row":  # rows are displayed from 1
        step, shift = max(step, 1.0), 1
    first = math.ceil((low + shift) / step - 1e-9)
    values = [step * k for k in range(first, math.floor((high + shift) / step + 1e-9) + 1)]
    return [(value - shift, time_text(value, "number")) for value in values]


def _nice(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below a value."""
    size = 10.0 ** math.floor(math.log10(least))
    return next(k * size for k in (1, 2, 5, 10) if k * size >= least * (1 - 1e-9))


def _of_calendar(low: float, high: float, unit: float, most: int) -> list[tuple[float, str]]:
    """Return the tick marks at calendar units."""
    begin, end = (_ZERO + timedelta(seconds=value * unit) for value in (low, high))
    least = (end - begin).total_seconds() / most
    for step in _STEPS:
        if step >= max(least, unit):  # dates have no hours
            style = "%H:%M:%S" if step < 60 else "%H:%M" if step < _DAY else "%m-%d"
            first = math.ceil(low * unit / step)
            places = [k * step for k in range(first, math.floor(high * unit / step) + 1)]
            return [(x / unit, f"{_ZERO + timedelta(seconds=x):{style}}") for x in places]
    months = next((m for m in (1, 2, 3, 6) if m * _YEAR / 12 >= least), None)
    if months is None:
        months = 12 * max(1, int(_nice(least / _YEAR)))
    style = "%Y" if months >= 12 else "%Y-%m"
    ticks: list[tuple[float, str]] = []
    month = begin.year * 12 + begin.month - 1
    month -= month % months
    while True:
        month_begins = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) if month >= 12 else None
        if month_begins is not None and month_begins > end:
            return ticks
        if month_begins is not None and month_begins >= begin:
            value = (month_begins - _ZERO).total_seconds() / unit
            ticks.append((value, month_begins.strftime(style)))
        month += months
