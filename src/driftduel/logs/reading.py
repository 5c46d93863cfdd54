"""Read a log: find its columns, count its votes, report what was assumed and left out."""

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
    MOST_OPTIONS,
    NO_TIME,
    NO_WEIGHT,
    Counted,
    count_rows,
    make_bins,
    prepared,
)
from driftduel.logs.counts import Counts, counts_from_votes, load_counts
from driftduel.logs.files import open_rows, rows_in, schema_of
from driftduel.logs.presence import is_arena_export, recorded_options, with_presence
from driftduel.logs.results import result_of, says_result
from driftduel.logs.rows import Rows, collected
from driftduel.logs.times import Clock, read_clock, time_text
from driftduel.wording import decimals

if TYPE_CHECKING:
    from driftduel.logs.posterior import Fit
    from driftduel.logs.replay import Replay

__all__ = ["Log", "Problem", "clock_of", "columns_of", "notes_of", "problems_of", "read_log"]

_SAMPLE = 2000
_PLACED = 0.99
_NOT_SAID = ("when", "weight", "group")
_MOST_PROBLEMS = 10
_WINDOWS = 8
_CLOSE_LOOK = 20_000  # rows in which to look for a column that votes depend on


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

    def fit(
        self, kind: str = "auto", bins: int = 256, seed: int = 0, *, first_place: bool = True
    ) -> "Fit":
        """Fit the log; see `driftduel.logs.fit`."""
        from driftduel.logs.posterior import fit

        return fit(self.counts, kind, bins, seed, first_place=first_place)

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
    most: int = MOST_OPTIONS,
    present: Sequence[str] | None = None,
    adaptive: bool = False,
) -> Log:
    """Read a log of comparisons.

    Parameters
    ----------
    source
        The path of a file (CSV, TSV, JSON, JSON lines or Parquet), of several, or of counts that
        were saved (``.npz``); a frame of polars (lazy ones too), pandas, or whatever exports Arrow.
    columns
        Which column is which, where their names do not say it: ``{"first": "model_a"}``. A nested
        key is ``result.winner``. A log has ``winner`` and ``loser``; or ``first``, ``second`` and a
        result: ``winner`` (a name, or a word such as ``first``, ``model_b``, ``tie``; 1 and 0, 1
        and 2, or 1-0 and 1/2-1/2), ``first_score`` and ``second_score``, or ``first_won`` and
        ``second_won`` (of which one is set). It may have ``time``, ``group``, ``weight``, ``tie``.
    time, group, weight
        The same, shorter. `group` says which votes depend on each other: those of one race,
        session or voter; several columns together make one.
    time_format
        How times are written, as of ``strptime``, where they are not in a usual format.
    bins
        About how many stretches of equal votes to count in.
    most
        The largest number of options to count, 2 to 1000: those with the most votes; the others
        are listed. From 100 options on, time is counted in fewer bins.
    present
        The options present at the end of the log; None: as an arena export records them, else it
        is estimated from the votes.
    adaptive
        Whether pairs were chosen by earlier votes; of an arena export this is known.

    Examples
    --------
    >>> import polars as pl
    >>> votes = {"winner": ["tea", "ale", "tea"], "loser": ["ale", "tea", "ale"]}
    >>> log = read_log(pl.DataFrame(votes))
    >>> log.names, log.counts.wins.sum(axis=0).tolist()
    (('ale', 'tea'), [[0.0, 1.0], [2.0, 0.0]])
    """
    if isinstance(source, str | Path) and str(source).lower().endswith(".npz"):
        counts, _ = with_presence(load_counts(source), present, adaptive=adaptive)
        return Log(counts, counts.votes)
    if _all_counts(source):
        from driftduel.logs.parts import count_files

        return count_files(source, present=present, adaptive=adaptive)
    if not 2 <= most <= MOST_OPTIONS:
        raise DriftduelError(f"most={most} must be between 2 and {MOST_OPTIONS} options.")
    if bins < 2:
        raise DriftduelError(f"bins={bins} must be at least 2.")
    frame, first_line = open_rows(source)
    given: dict[str, Any] = dict(columns or {})
    given |= {k: v for k, v in (("time", time), ("group", group), ("weight", weight)) if v}
    schema = schema_of(frame)
    named = columns_of(frame, schema, given)
    clock = clock_of(frame, schema, named, time_format)
    votes = prepared(frame, named, clock)
    rows = Rows(votes)
    counted = count_rows(
        rows,
        make_bins(rows, bins, most=most, counted_rows=clock is None),
        most=most,
        clock="row" if clock is None else clock.kind,
        columns=named,
    )
    problems = problems_of(frame, votes, counted, first_line) if counted.skipped else ()
    adaptive = adaptive or is_arena_export(schema.names())
    recorded = recorded_options(frame)
    counts, notes = with_presence(counted.counts, present, recorded, adaptive=adaptive)
    return Log(
        counts=counts,
        rows=counted.rows,
        skipped=counted.skipped,
        problems=_in_files(source, problems, first_line),
        left_out=counted.left_out,
        notes=(*notes_of(frame, schema, named, clock, counted), *notes),
        columns=named,
        votes=votes,
        meaning=counted.meaning,
    )


def _all_counts(source: Any) -> bool:
    """Tell whether several files of counts were named."""
    if not isinstance(source, Sequence) or isinstance(source, str) or not source:
        return False
    return all(isinstance(s, str | Path) and str(s).lower().endswith(".npz") for s in source)


def columns_of(frame: pl.LazyFrame, schema: pl.Schema, given: Mapping[str, Any]) -> Columns:
    """Find out which column is which.

    Next to the winner and the loser, a column that may name the option shown first is taken only
    if it names one of the two in nearly all of the first rows.
    """
    named = find_columns(schema.names(), given)
    if named.loser is None or named.first is None:
        return named
    rows = collected(frame.head(_SAMPLE).select(**result_of(named)))
    one_of_them = (rows["winner"] == rows["first"]) | (rows["winner"] == rows["second"])
    if "first" in given or one_of_them.sum() >= _PLACED * max(len(rows), 1):
        return named
    return replace(named, first=None)


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
    sizes = [rows_in(path) for path in source]
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
    result = says_result(columns, counted.winners)
    if result is not None:
        notes.append(result)
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
    others = [name for name in schema.names() if name not in columns.used()]
    others = [name for name in others if schema[name].is_integer() or schema[name] == pl.String]
    if columns.time is not None:
        others.append(columns.time)
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
