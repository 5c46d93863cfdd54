"""Interpretation of a column of times: dates, timestamps, or rounds."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import polars as pl

from driftduel.errors import DriftduelError
from driftduel.logs.columns import quote

__all__ = ["Clock", "read_clock", "time_text", "time_value"]

_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
_MOMENTS = tuple(
    f"{day}{between}{clock}"
    for day in ("%Y-%m-%d", "%Y/%m/%d")
    for between in ("T", " ")
    for clock in ("%H:%M:%S%.f", "%H:%M:%S", "%H:%M")
)
_ZONED = tuple(f"{moment}{zone}" for moment in _MOMENTS for zone in ("%#z", "Z", " UTC"))
_AMBIGUOUS = {"%d/%m/%Y", "%m/%d/%Y"}
# Seconds, milliseconds, microseconds, nanoseconds since 1970, all of them after 1979: numbers of
# rounds do not start at such values.
_EPOCHS = ((3e8, 1e11, 1e6), (3e11, 1e14, 1e3), (3e14, 1e17, 1.0), (3e17, 1e20, 1e-3))
# A format is accepted if it parses this share of the times; the others are invalid rows.
_MOST = 0.9
_ZERO = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(NamedTuple):
    """The interpretation of a log's times."""

    number: pl.Expr
    """The time as a number, null if it is missing or invalid; for time since 1970 in another unit,
    the value in that unit."""
    kind: str
    """``number``, ``date`` (days) or ``datetime`` (microseconds), both since 1970."""
    note: str = ""
    """A sentence about an assumption, for the user; by default empty."""
    epoch: tuple[float, float, float] | None = None
    """The range of values of times since 1970, and their unit in microseconds."""

    def when(self, number: pl.Expr) -> pl.Expr:
        """Return the time as a function of `number` or of a column computed from it."""
        if self.epoch is None:
            return number
        low, high, microseconds = self.epoch
        return pl.when(number.is_between(low, high, closed="left")).then(number * microseconds)


def read_clock(
    column: str, kind: pl.DataType, sample: Sequence[object], style: str | None = None
) -> Clock:
    """Return the interpretation of a column of times.

    Parameters
    ----------
    column, kind
        Its name and type.
    sample
        A sample of its values.
    style
        The format of dates or timestamps, as of ``strptime``; by default it is inferred.
    """
    value = pl.col(column)
    if kind == pl.Date:
        return Clock(value.cast(pl.Int32).cast(pl.Float64), "date")
    if isinstance(kind, pl.Datetime):
        if kind.time_zone is not None:
            value = value.dt.convert_time_zone("UTC")
        return Clock(value.dt.timestamp("us").cast(pl.Float64), "datetime")
    if kind.is_numeric():
        return _numbers(column, value.cast(pl.Float64), _finite(sample))
    if kind != pl.String:
        raise DriftduelError(
            f"the times in {quote(column)} are of the type {kind}; dates, moments and numbers can "
            f"be read."
        )
    words = [str(word).strip() for word in sample if word is not None and str(word).strip()]
    value = value.str.strip_chars()
    if style is not None:
        return _clock_of_format(value, words, style, column)
    if not words:
        raise DriftduelError(f"no row has a time: the column {quote(column)} is empty.")
    numbers = _as_numbers(words)
    if len(numbers) >= _MOST * len(words):
        return _numbers(column, value.cast(pl.Float64, strict=False), numbers)
    series = pl.Series(words, dtype=pl.String)
    read = {style: _read(series, style) for style in (*_DATES, *_MOMENTS, *_ZONED)}
    most = max(int(series.sum()) for series in read.values())
    fits = [style for style, series in read.items() if series.sum() == most]
    if most < _MOST * len(words):
        unread = words[read[fits[0]].arg_min() or 0]
        raise DriftduelError(
            f"the times in {quote(column)}, such as {quote(unread)}, are neither dates nor "
            f"numbers that can be read; pass their format, as in --time-format '%d %b %Y'."
        )
    if set(fits) >= _AMBIGUOUS:
        raise DriftduelError(
            f"the times in {quote(column)}, such as {quote(words[0])}, may be day/month/year or "
            f"month/day/year; pass --time-format '%d/%m/%Y' or '%m/%d/%Y'."
        )
    return _clock_of_format(value, words, fits[0], column)


def _finite(values: Sequence[object]) -> list[float]:
    return [float(x) for x in values if isinstance(x, int | float) and math.isfinite(x)]


def _as_numbers(words: Sequence[str]) -> list[float]:
    """Return the values that are numbers."""
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            continue
    return numbers


def _read(words: pl.Series, style: str) -> pl.Series:
    """Parse the values as dates or timestamps of one format."""
    try:
        kind = pl.Date if style in _DATES else pl.Datetime("us")
        if "%#z" in style:
            kind = pl.Datetime("us", "UTC")
        return words.str.strptime(kind, style, strict=False).is_not_null()
    except pl.exceptions.PolarsError:
        return pl.Series([False] * len(words))


def _clock_of_format(value: pl.Expr, words: Sequence[str], style: str, column: str) -> Clock:
    """Return the interpretation of times with a given format, or raise if the format is invalid."""
    zoned = "%z" in style or "%#z" in style
    is_moment = zoned or any(mark in style for mark in ("%H", "%I", "%M", "%S", "%T", "%s"))
    kind = pl.Datetime("us", "UTC" if zoned else None) if is_moment else pl.Date()
    try:
        pl.Series(words[:1], dtype=pl.String).str.strptime(kind, style, strict=False)
    except (pl.exceptions.PolarsError, UnicodeError) as error:
        raise DriftduelError(
            f"the format {quote(style)} of the times in {quote(column)} cannot be used: "
            f"{str(error).splitlines()[0]}."
        ) from None
    parsed = value.str.strptime(kind, style, strict=False)
    if is_moment:
        return Clock(parsed.dt.timestamp("us").cast(pl.Float64), "datetime")
    return Clock(parsed.cast(pl.Int32).cast(pl.Float64), "date")


def _numbers(column: str, value: pl.Expr, sample: Sequence[float]) -> Clock:
    """Interpret numbers: 19010424 is a date, 1700000000 a timestamp, any other value a round."""
    finite = _finite(sample)
    most = max(_MOST * len(finite), 1)
    whole = [int(x) for x in finite if x == int(x) and 15000101 <= x <= 22001231]
    if len(whole) >= most:
        is_day = _read(pl.Series([str(x) for x in whole], dtype=pl.String), "%Y%m%d")
        whole = [x for x, right in zip(whole, is_day, strict=True) if right]
        if len(whole) >= most:
            text = value.cast(pl.Int64, strict=False).cast(pl.String)
            parsed = text.str.strptime(pl.Date, "%Y%m%d", strict=False)
            day = time_text(_day(whole[0]), "date")
            note = f"{quote(column)} is read as dates: {whole[0]} is {day}"
            return Clock(parsed.cast(pl.Int32).cast(pl.Float64), "date", note)
    for epoch in _EPOCHS:
        low, high, microseconds = epoch
        inside = [x for x in finite if low <= x < high]
        if len(inside) >= most:
            moment = time_text(inside[0] * microseconds, "datetime")
            note = f"{quote(column)} is read as time since 1970: {inside[0]:.0f} is {moment}"
            return Clock(value, "datetime", note, epoch)
    return Clock(value, "number")


def _day(number: int) -> float:
    moment = datetime.strptime(str(number), "%Y%m%d").replace(tzinfo=UTC)
    return (moment - _ZERO).days


def time_value(when: float, clock: str) -> int | float | str:
    """Return a time as a value for programs: a number, or a date or timestamp (UTC) in ISO 8601.

    A timestamp outside the range of Python's datetime class is the number in `Counts`.

    Examples
    --------
    >>> time_value(0, "date"), time_value(1.5e6, "datetime"), time_value(12, "row")
    ('1970-01-01', '1970-01-01T00:00:01.500000Z', 13)
    """
    if clock == "row":
        return int(when) + 1
    if clock == "number":
        return int(when) if when == int(when) else float(when)
    try:
        moment = _moment(when, clock)
    except OverflowError:
        return float(when)
    return f"{moment.date()}" if clock == "date" else f"{moment.replace(tzinfo=None).isoformat()}Z"


def _moment(when: float, clock: str) -> datetime:
    return _ZERO + (timedelta(days=when) if clock == "date" else timedelta(microseconds=when))


def time_text(when: float, clock: str) -> str:
    """Return a time as text for people.

    Examples
    --------
    >>> time_text(0, "date"), time_text(1.5e6, "datetime"), time_text(12, "row")
    ('1970-01-01', '1970-01-01 00:00:01', 'row 13')
    """
    if clock == "row":
        return f"row {int(when) + 1:,}"
    if clock == "number":
        return f"{when:,.0f}" if when == int(when) else f"{when:,.6g}"
    try:
        moment = _moment(when, clock)
    except OverflowError:
        return f"{when:.6g}"
    return f"{moment:%Y-%m-%d}" if clock == "date" else f"{moment:%Y-%m-%d %H:%M:%S}"
