"""A log from wherever it is: a file, several, a frame of somebody's."""

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from driftduel.errors import DriftduelError
from driftduel.logs.bradley_terry import dispersion
from driftduel.logs.columns import Columns, find_columns
from driftduel.logs.counting import (
    NO_TIME,
    NO_WEIGHT,
    Counted,
    count_rows,
    make_bins,
    prepared,
)
from driftduel.logs.counts import Counts, counts_from_votes, load_counts
from driftduel.logs.rows import Rows, collected
from driftduel.logs.times import Clock, read_clock, time_text
from driftduel.wording import decimals

if TYPE_CHECKING:
    from driftduel.logs.posterior import Fit
    from driftduel.logs.replay import Replay

__all__ = [
    "Log",
    "Problem",
    "clock_of",
    "notes_of",
    "open_rows",
    "problems_of",
    "read_log",
    "schema_of",
]

_SAMPLE = 2000
_NOT_SAID = ("when", "weight", "group")
_MOST_PROBLEMS = 10
_WINDOWS = 8
_CLOSE_LOOK = 20_000  # rows in which to look for a column that votes depend on
_PARQUET = (".parquet", ".pq")
_SEPARATORS = (",", ";", "\t", "|")  # a comma goes first: others may be part of a name
_LONGEST_HEAD = 1 << 20
_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")


@dataclass(frozen=True)
class Problem:
    """A row that makes no sense."""

    line: int
    why: str
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Log:
    """Comparisons that were made: their counts, and what was noticed while counting."""

    counts: Counts
    rows: int
    """All rows, with those that make no sense."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Why rows were left out, and how many."""
    problems: tuple[Problem, ...] = ()
    """The first of them."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Options that were left out, and their votes."""
    notes: tuple[str, ...] = ()
    """What was assumed, and what to look at: whole sentences."""
    columns: Columns | None = None
    """None: the log was counted before."""
    votes: pl.LazyFrame | None = field(default=None, repr=False)
    """The rows, with the columns first, second, winner, tie, when, weight and group."""
    meaning: Callable[[pl.DataFrame], pl.DataFrame] | None = field(default=None, repr=False)
    """Adds to such rows what they say: see `Counted`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The options."""
        return self.counts.names

    def fit(self, kind: str = "auto", bins: int = 256, seed: int = 0) -> "Fit":
        """Fit the log; see `driftduel.logs.fit`."""
        from driftduel.logs.posterior import fit

        return fit(self.counts, kind, bins, seed)

    def replay(
        self, policy: str, seed: int = 0, runs: int = 20, fit: "Fit | None" = None
    ) -> "Replay":
        """Let a policy ask for the duels of the log, and tell it who won in it.

        Where that would mislead, it is refused in one sentence: see `real_outcomes`.

        Parameters
        ----------
        policy
            Its spec.
        seed
            Fixes everything.
        runs
            Games on real outcomes, and as many on the fitted world to compare with.
        fit
            The log's, if there is one already.
        """
        from driftduel.logs.outcomes import real_outcomes
        from driftduel.logs.replay import replay

        fit = self.fit() if fit is None else fit
        return replay(fit, real_outcomes(self, fit), [policy], seed, runs)[0]

    def __repr__(self) -> str:
        counts = self.counts
        span = " to ".join(time_text(t, counts.clock) for t in (counts.first[0], counts.last[-1]))
        return f"<log of {counts.votes:,} votes between {counts.options} options, {span}>"


def read_log(
    source: Any,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    time: str | None = None,
    group: str | Sequence[str] | None = None,
    weight: str | None = None,
    time_format: str | None = None,
    bins: int = 256,
    most: int = 200,
) -> Log:
    """Read a log of comparisons.

    Parameters
    ----------
    source
        The path of a CSV or Parquet file, of several, or of counts that were saved (``.npz``); a
        frame of polars (lazy ones too), pandas, or whatever exports Arrow.
    columns
        Which column is which, where their names do not say it: ``{"first": "model_a"}``. A log has
        ``winner`` and ``loser``, or ``first``, ``second`` and ``winner`` (a name, or a word such
        as ``first``, ``model_b``, ``tie``; 1 and 0 or 1 and 2), and may have ``time``, ``group``,
        ``weight`` and ``tie``.
    time, group, weight
        The same, shorter. `group` says which votes depend on each other: those of one race,
        session or voter; several columns together make one.
    time_format
        How times are written, as of ``strptime``, where they are not in a usual format.
    bins
        About how many stretches of equal votes to count in.
    most
        At most so many options are counted, those with the most votes; the others are listed.

    Examples
    --------
    >>> import polars as pl
    >>> votes = {"winner": ["tea", "ale", "tea"], "loser": ["ale", "tea", "ale"]}
    >>> log = read_log(pl.DataFrame(votes))
    >>> log.names, log.counts.wins.sum(axis=0).tolist()
    (('ale', 'tea'), [[0.0, 1.0], [2.0, 0.0]])
    """
    if isinstance(source, str | Path) and str(source).lower().endswith(".npz"):
        counts = load_counts(source)
        return Log(counts, counts.votes)
    if _all_counts(source):
        from driftduel.logs.parts import count_files

        return count_files(source)
    if not 2 <= most <= 1000:
        raise DriftduelError(f"most={most} must be between 2 and 1000 options.")
    if bins < 2:
        raise DriftduelError(f"bins={bins} must be at least 2.")
    frame, first_line = open_rows(source)
    given: dict[str, Any] = dict(columns or {})
    given |= {k: v for k, v in (("time", time), ("group", group), ("weight", weight)) if v}
    schema = schema_of(frame)
    named = find_columns(schema.names(), given)
    clock = clock_of(frame, schema, named, time_format)
    votes = prepared(frame, named, clock)
    rows = Rows(votes)
    counted = count_rows(
        rows,
        make_bins(rows, bins, counted_rows=clock is None),
        most=most,
        clock="row" if clock is None else clock.kind,
        placed=named.placed,
    )
    problems = problems_of(frame, votes, counted, first_line) if counted.skipped else ()
    return Log(
        counts=counted.counts,
        rows=counted.rows,
        skipped=counted.skipped,
        problems=_in_files(source, problems, first_line),
        left_out=counted.left_out,
        notes=tuple(notes_of(frame, schema, named, clock, counted)),
        columns=named,
        votes=votes,
        meaning=counted.meaning,
    )


def _all_counts(source: Any) -> bool:
    """Tell whether several files of counts were named."""
    if not isinstance(source, Sequence) or isinstance(source, str) or not source:
        return False
    return all(isinstance(s, str | Path) and str(s).lower().endswith(".npz") for s in source)


def open_rows(source: Any) -> tuple[pl.LazyFrame, int]:
    """Return the rows of a log, unread, and the number of the first one in its file."""
    if isinstance(source, pl.LazyFrame):
        return source, 1
    if isinstance(source, pl.DataFrame):
        return source.lazy(), 1
    if isinstance(source, str | Path):
        return _open_file(source)
    if isinstance(source, Sequence) and source and all(isinstance(s, str | Path) for s in source):
        opened = [_open_file(each) for each in source]
        if len({line for _, line in opened}) > 1:
            raise DriftduelError("files of one log must all be Parquet, or all be text.")
        names = [schema_of(frame).names() for frame, _ in opened]
        different = next((place for place, each in enumerate(names) if each != names[0]), None)
        if different is not None:
            raise DriftduelError(
                f"{str(source[different])!r} has other columns than {str(source[0])!r}."
            )
        return pl.concat([frame for frame, _ in opened]), opened[0][1]
    if hasattr(source, "__arrow_c_stream__"):
        return pl.DataFrame(source).lazy(), 1
    if type(source).__module__.partition(".")[0] == "pandas":
        return pl.from_pandas(source).lazy(), 1
    raise DriftduelError(
        f"a log is a path, several, or a frame of polars, pandas or Arrow, not "
        f"{type(source).__name__}."
    )


def _open_file(path: str | Path) -> tuple[pl.LazyFrame, int]:
    name = str(path)
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DriftduelError(f"cannot read {name!r}: {why}.") from None
    if not stat.S_ISREG(found.st_mode):
        raise DriftduelError(f"cannot read {name!r}: it is no regular file.")
    if found.st_size == 0:
        raise DriftduelError(f"{name!r} is empty.")
    if name.lower().endswith(_PARQUET):
        return pl.scan_parquet(path, glob=False), 1
    if not name.lower().endswith(_TEXT):
        raise DriftduelError(
            f"{name!r} is none of {', '.join((*_TEXT, *_PARQUET, '.npz'))}, which can be read."
        )
    separator = _separator(name)
    # Every column as text: what a number or a date is, is decided with open eyes.
    return pl.scan_csv(path, infer_schema=False, separator=separator, glob=False), 2


def _separator(name: str) -> str:
    """Find out what stands between the fields: half of all spreadsheets write semicolons."""
    if ".tsv" in name.lower():
        return "\t"
    try:
        with gzip.open(name) if name.lower().endswith(".gz") else open(name, "rb") as file:
            head = file.readline(_LONGEST_HEAD)
    except (OSError, EOFError, zlib.error):  # which is said when it is read
        return ","
    if b"\0" in head:
        raise DriftduelError(f"{name!r} is not text in UTF-8; save it as CSV in UTF-8.")
    return next((sign for sign in _SEPARATORS if sign.encode() in head), ",")


def schema_of(frame: pl.LazyFrame) -> pl.Schema:
    """Return the columns of a log and their types; what is wrong with its file is said here."""
    collected(frame.head(1))
    return frame.collect_schema()


def clock_of(
    frame: pl.LazyFrame, schema: pl.Schema, columns: Columns, style: str | None = None
) -> Clock | None:
    """Find out how to read the times of a log; None if it has none."""
    if columns.time is None:
        return None
    kind = schema[columns.time]
    times = pl.col(columns.time).drop_nulls()
    sample = collected(frame.head(_SAMPLE).select(times))
    if len(sample) < _SAMPLE:  # of a short log, or one with gaps
        sample = collected(frame.select(times.head(_SAMPLE)))
    if not len(sample) and not len(collected(frame.head(1))):
        raise DriftduelError("the log has no rows.")
    # Typed times speak for themselves, and may lie outside of Python's years.
    values = [] if kind.is_temporal() else sample.to_series().to_list()
    return read_clock(columns.time, kind, values, style)


def problems_of(
    frame: pl.LazyFrame, votes: pl.LazyFrame, counted: Counted, first_line: int
) -> tuple[Problem, ...]:
    """Look the first rows up that make no sense."""
    assert counted.meaning is not None
    keys = [name for name in votes.collect_schema().names() if name not in _NOT_SAID]
    kinds = counted.meaning(collected(votes.select(keys).unique()))
    wrong = kinds.filter(pl.col("won").is_null()).select(keys)
    rows = votes.with_row_index("row")
    bad = [rows.join(wrong.lazy(), on=keys, how="semi", nulls_equal=True)]
    bad.append(rows.filter(pl.col("when").is_finite().not_()))
    if "weight" in votes.collect_schema():
        bad.append(rows.filter(pl.col("weight").is_null()))
    shown = collected(pl.concat(bad).unique("row").sort("row").head(_MOST_PROBLEMS))
    problems = []
    for row in counted.meaning(shown).iter_rows(named=True):
        why = row["why"] or NO_WEIGHT
        if not np.isfinite(row["when"]):
            why = NO_TIME
        # Typed times as text: they may lie outside of Python's years.
        told = frame.slice(row["row"], 1).with_columns(cs.temporal().cast(pl.String))
        whole = collected(told).row(0, named=True)
        problems.append(Problem(row["row"] + first_line, why, whole))
    return tuple(problems)


def _in_files(source: Any, problems: tuple[Problem, ...], first_line: int) -> tuple[Problem, ...]:
    """Say in which of several files rows are, and where there."""
    if not problems or not isinstance(source, Sequence) or isinstance(source, str):
        return problems
    sizes = [int(collected(_open_file(path)[0].select(pl.len())).item()) for path in source]
    ends = np.cumsum(sizes)
    found = []
    for problem in problems:
        row = problem.line - first_line
        which = int(np.searchsorted(ends, row, side="right"))
        line = row - int(ends[which] - sizes[which]) + first_line
        file = {"file": Path(source[which]).name}
        found.append(replace(problem, line=line, row={**file, **problem.row}))
    return tuple(found)


def notes_of(
    frame: pl.LazyFrame,
    schema: pl.Schema,
    columns: Columns,
    clock: Clock | None,
    counted: Counted,
) -> list[str]:
    """Say what was assumed, who is left out, and which column looks like a group."""
    notes = []
    if clock is None:
        notes.append("There is no column of times, so rows are taken to be in the order of time.")
    elif clock.said:
        notes.append(f"{clock.said}.")
    if counted.left_out:
        names = ", ".join(list(counted.left_out)[:3])
        more = ", ..." if len(counted.left_out) > 3 else ""
        notes.append(
            f"{len(counted.left_out):,} options with the fewest votes are left out: {names}{more}."
        )
    if not columns.group:
        suspect = _looks_like_a_group(frame, schema, columns, clock, counted)
        if suspect is not None:
            name, phi = suspect
            notes.append(
                f"Votes with the same {name!r} agree more than independent votes would (they vary "
                f"{decimals(phi, 1)} times as much); if they depend on each other, say --group "
                f"{name}, or what follows is too sure of itself."
            )
    return notes


def _looks_like_a_group(
    frame: pl.LazyFrame,
    schema: pl.Schema,
    columns: Columns,
    clock: Clock | None,
    counted: Counted,
) -> tuple[str, float] | None:
    """Find a column whose equal values go with votes that are not independent.

    A few thousand rows in the middle of the log are looked at, some hundred at a time: in most of
    these nothing changes, which would look like dependence too.
    """
    assert counted.meaning is not None
    others = [name for name in schema.names() if name not in columns.used() - {columns.time}]
    others = [name for name in others if schema[name].is_integer() or schema[name] == pl.String]
    if columns.time is not None and columns.time not in others:
        others.append(columns.time)
    others = [name for name in others if name not in (*columns.pair, columns.winner)]
    if not others:
        return None
    begin = max(0, counted.rows // 2 - _CLOSE_LOOK // 2)
    near = collected(frame.slice(begin, _CLOSE_LOOK)).lazy()
    kept = [pl.col(name).cast(pl.String).alias(f"is {name}") for name in others]
    told = prepared(near, columns, clock), near.select(kept)
    rows = collected(pl.concat(told, how="horizontal"))
    place = {name: at for at, name in enumerate(counted.counts.names)}
    known = list(place)
    rows = counted.meaning(rows).filter(
        pl.col("won").is_not_null() & pl.col("first").is_in(known) & pl.col("second").is_in(known)
    )
    if len(rows) < 100:
        return None
    a, b = (rows[name].replace_strict(place).to_numpy() for name in ("first", "second"))
    won = rows["won"].to_numpy()
    suspects = []
    for name in others:
        group = rows[f"is {name}"].rank("dense").fill_null(0).to_numpy().astype(np.int64)
        groups = len(np.unique(group))
        if groups < 5 * _WINDOWS or len(rows) < 2 * groups:
            continue
        window = len(rows) // _WINDOWS
        phi = float(
            np.median(
                [
                    dispersion(
                        counts_from_votes(
                            a[at], b[at], won[at], group=group[at], bins=2, names=list(place)
                        )
                    )
                    for at in (slice(w * window, (w + 1) * window) for w in range(_WINDOWS))
                ]
            )
        )
        chance = 5.0 * np.sqrt(2.0 / (groups * max(1, len(place) - 1)))
        if phi > 1.1 + chance:
            suspects.append((groups, name, phi))
    # The finest explains the coarser ones, which besides see what changes over time; unless one of
    # them sees far more, as a voter's sessions on several days would.
    best: tuple[str, float] | None = None
    for _, name, phi in sorted(suspects, reverse=True):
        if best is None or phi > 1.5 * best[1]:
            best = name, phi
    return best
