"""Reader of logs: identify columns, count votes, report assumptions and invalid rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from driftduel._internal.wording import decimals
from driftduel.errors import DriftduelError
from driftduel.logs.bradley_terry_fit import dispersion
from driftduel.logs.columns import LogColumns, compact, find_columns, quote
from driftduel.logs.counting import (
    MOST_OPTIONS,
    NO_TIME,
    NO_WEIGHT,
    Counted,
    count_rows,
    make_bins,
    prepare_votes,
)
from driftduel.logs.counts import Counts, counts_from_votes, load_counts
from driftduel.logs.feature_votes import FEATURE, feature_column
from driftduel.logs.files import open_rows, rows_in, schema_of
from driftduel.logs.presence import (
    Joining,
    is_arena_export,
    recorded_joining,
    recorded_options,
    with_presence,
)
from driftduel.logs.results import describe_result, result_of
from driftduel.logs.rows import LogRows, collect
from driftduel.logs.slate_cells import ListReader
from driftduel.logs.slate_columns import list_columns
from driftduel.logs.slates import DUEL_COLUMNS, SlateRows
from driftduel.logs.tagged import tag_column
from driftduel.logs.times import Clock, read_clock, time_text

if TYPE_CHECKING:
    from driftduel.logs.log_replay import LogReplay
    from driftduel.logs.posterior import Fit

__all__ = ["Log", "RowProblem", "clock_of", "columns_of", "notes_of", "problems_of", "read_log"]

_SAMPLE = 2000
_PLACED = 0.99
_DUEL_ROLES = ("first", "second", "loser", "first_score", "first_won")
_NOT_SAID = ("when", "weight", "group")
_MOST_PROBLEMS = 10
_WINDOWS = 8
_CLOSE_LOOK = 20_000  # rows that are searched for a column of groups


@dataclass(frozen=True)
class RowProblem:
    """An invalid row."""

    line: int
    why: str
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Log:
    """A log of comparisons: its counts, and the notes of the reader."""

    counts: Counts
    rows: int
    """The number of all rows, invalid ones included."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """The number of invalid rows by reason."""
    problems: tuple[RowProblem, ...] = ()
    """The first invalid rows."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Options that were left out, and their votes."""
    notes: tuple[str, ...] = ()
    """Assumptions and warnings, as sentences."""
    columns: LogColumns | None = None
    """The columns of the log; by default None, for counts read from a file."""
    votes: pl.LazyFrame | None = field(default=None, repr=False)
    """The rows, with the columns first, second, winner, tie, when, weight, group, by, features."""
    meaning: Callable[[pl.DataFrame], pl.DataFrame] | None = field(default=None, repr=False)
    """The function that interprets such rows, see `Counted`."""
    joining: Joining | None = field(default=None, repr=False)
    """The order in which options joined, for an arena export that was read with `by`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The options."""
        return self.counts.names

    def fit(
        self, kind: str = "auto", bins: int = 256, seed: int = 0, *, first_place: bool = True
    ) -> "Fit":
        """Fit a model to the log; see `driftduel.logs.fit` for the arguments."""
        from driftduel.logs.posterior import fit

        return fit(self.counts, kind, bins, seed, first_place=first_place)

    def replay(
        self, policy: str, seed: int = 0, runs: int = 20, fit: "Fit | None" = None
    ) -> "LogReplay":
        """Let a policy choose duels, and answer them with the real outcomes of the log.

        Parameters
        ----------
        policy
            The spec of the policy.
        seed
            Seed of all random numbers.
        runs
            The number of games on real outcomes, and on the fitted world for comparison.
        fit
            The fitted log; by default the log is fitted first.

        Raises
        ------
        DriftduelError
            If a replay would be misleading, see `real_outcomes`.
        """
        from driftduel.logs.log_replay import replay
        from driftduel.logs.outcomes import real_outcomes

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
    by: str | None = None,
    features: Sequence[str] = (),
) -> Log:
    """Read a log of comparisons, and return it as a `Log` object.

    Parameters
    ----------
    source
        The path of a file (CSV, TSV, JSON, JSON lines or Parquet), of several, or of saved counts
        (``.npz``); a frame of polars (also lazy), pandas, or any object that exports Arrow.
    columns
        The role of each column that is not recognised by its name: ``{"first": "model_a"}``. A
        nested key is ``result.winner``. A log has ``winner`` and ``loser``; or ``first``,
        ``second`` and a result: ``winner`` (a name, or a word such as ``first``, ``model_b``,
        ``tie``; the values 1 and 0, 1 and 2, or 1-0 and 1/2-1/2), ``first_score`` and
        ``second_score``, or ``first_won`` and ``second_won`` (one of which is set). It may have
        ``time``, ``group``, ``weight``, ``tie``.
    time, group, weight
        Shortcuts for these keys of the argument `columns`. Votes with equal values of `group`
        depend on each other: those of one race, session or voter; several columns form one group.
    time_format
        The format of times, as of ``strptime``; by default the usual formats are recognised.
    bins
        The approximate number of coarse bins of equal votes.
    most
        The largest number of options to count, 2 to 1000: those with the most votes; the others are
        listed. From 100 options on, time has fewer bins.
    present
        The options present at the end of the log; by default as recorded by an arena export, else
        estimated from the votes.
    adaptive
        Whether pairs were chosen by earlier votes; set by default for an arena export.
    by
        The column of subgroups, such as a language or a topic, for `tagged_votes`.
    features
        Columns of the request, numbers or categories, for `feature_votes`.

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
    also = {} if by is None else {"by": tag_column(schema, by)}
    also |= {FEATURE + name: feature_column(schema, name) for name in features}
    slates = None if named.slate is None else SlateRows(frame, schema, named, clock, also)
    votes = prepare_votes(frame, named, clock, also) if slates is None else slates.votes()
    rows = LogRows(votes)
    counted = count_rows(
        rows,
        # The votes of one slate have the same time, the number of its row.
        make_bins(rows, bins, most=most, counted_rows=clock is None and slates is None),
        most=most,
        clock="row" if clock is None else clock.kind,
        columns=named if slates is None else DUEL_COLUMNS,
    )
    if slates is not None:
        counted = slates.finish(counted, votes)
    problems = problems_of(frame, slates or votes, counted, first_line) if counted.skipped else ()
    adaptive = adaptive or is_arena_export(schema.names())
    recorded = recorded_options(frame)
    counts, notes = with_presence(counted.counts, present, recorded, adaptive=adaptive)
    if slates is not None and not counts.adaptive:
        notes += slates.dependence()
    if slates is not None and (by is not None or features):
        notes.append(
            "Of each slate, one vote is compared, drawn at random among its decided pairs: votes "
            "of one slate depend on each other."
        )
    return Log(
        counts=counts,
        rows=counted.rows,
        skipped=counted.skipped,
        problems=_in_files(source, problems, first_line),
        left_out=counted.left_out,
        notes=(*notes_of(frame, schema, named, clock, counted, slates), *notes),
        columns=named,
        votes=votes,
        meaning=counted.meaning,
        joining=None if by is None else recorded_joining(frame),
    )


def _all_counts(source: Any) -> bool:
    """Return whether the argument is a list of several files of counts."""
    if not isinstance(source, Sequence) or isinstance(source, str) or not source:
        return False
    return all(isinstance(s, str | Path) and str(s).lower().endswith(".npz") for s in source)


def columns_of(frame: pl.LazyFrame, schema: pl.Schema, given: Mapping[str, Any]) -> LogColumns:
    """Return the columns of a log by their role.

    Beside the winner and the loser, a column of the option shown first is used only if its values
    name one of the two in nearly all of the first rows.
    """
    named = find_columns(schema.names(), given)
    _refuse_ambiguous(frame, schema, named, given)
    if named.loser is None or named.first is None:
        return named
    rows = collect(frame.head(_SAMPLE).select(**result_of(named)))
    one_of_them = (rows["winner"] == rows["first"]) | (rows["winner"] == rows["second"])
    if "first" in given or one_of_them.sum() >= _PLACED * max(len(rows), 1):
        return named
    return replace(named, first=None)


def _refuse_ambiguous(
    frame: pl.LazyFrame, schema: pl.Schema, columns: LogColumns, given: Mapping[str, Any]
) -> None:
    """Raise if rows were understood as duels, but a column holds lists of three or more options."""
    if columns.slate is not None or any(given.get(role) for role in _DUEL_ROLES):
        return
    if is_arena_export(schema.names()):
        return
    unused = {compact(n): n for n in schema.names() if n not in columns.used_names()}
    for role, name in zip(("shown", "ranking"), list_columns(unused), strict=True):
        if name is None:
            continue
        cells: list[str] = []
        if schema[name] == pl.String:
            cells = collect(frame.head(_SAMPLE).select(name)).to_series().drop_nulls().to_list()
        if isinstance(schema[name], pl.List) or _are_lists(name, cells):
            one, other = columns.pair
            raise DriftduelError(
                f"the rows may be duels of {quote(one)} and {quote(other)}, or slates with the "
                f"lists in {quote(name)}; choose with {columns.argument()} or --columns "
                f"{role}={name}."
            )


def _are_lists(column: str, cells: Sequence[str]) -> bool:
    """Return whether most values are lists of three or more options."""
    reader = ListReader(column, cells)
    found = [reader.read(cell) for cell in cells]
    return sum(len(x) >= 3 for x in found if not isinstance(x, str)) > len(cells) / 2


def clock_of(
    frame: pl.LazyFrame, schema: pl.Schema, columns: LogColumns, style: str | None = None
) -> Clock | None:
    """Return the interpretation of the times of a log, or None without times."""
    if columns.time is None:
        return None
    kind = schema[columns.time]
    times = pl.col(columns.time).drop_nulls()
    sample = collect(frame.head(_SAMPLE).select(times))
    if len(sample) < _SAMPLE:  # a short log, or one with gaps
        sample = collect(frame.select(times.head(_SAMPLE)))
    if not len(sample) and not len(collect(frame.head(1))):
        raise DriftduelError("the log has no rows.")
    # Typed times need no inference, and may lie outside the range of Python's datetime class.
    values = [] if kind.is_temporal() else sample.to_series().to_list()
    return read_clock(columns.time, kind, values, style)


def problems_of(
    frame: pl.LazyFrame, votes: pl.LazyFrame | SlateRows, counted: Counted, first_line: int
) -> tuple[RowProblem, ...]:
    """Return the first invalid rows with their content."""
    if isinstance(votes, SlateRows):
        return tuple(
            RowProblem(row + first_line, why, _whole_row(frame, row))
            for row, why in votes.problems(_MOST_PROBLEMS)
        )
    assert counted.meaning is not None
    keys = [
        name
        for name in votes.collect_schema().names()
        if name not in _NOT_SAID and not name.startswith(FEATURE)
    ]
    kinds = counted.meaning(collect(votes.select(keys).unique()))
    wrong = kinds.filter(pl.col("won").is_null()).select(keys)
    rows = votes.with_row_index("row")
    bad = [rows.join(wrong.lazy(), on=keys, how="semi", nulls_equal=True)]
    bad.append(rows.filter(pl.col("when").is_finite().not_()))
    if "weight" in votes.collect_schema():
        bad.append(rows.filter(pl.col("weight").is_null()))
    shown = collect(pl.concat(bad).unique("row").sort("row").head(_MOST_PROBLEMS))
    problems = []
    for row in counted.meaning(shown).iter_rows(named=True):
        why = row["why"] or NO_WEIGHT
        if not np.isfinite(row["when"]):
            why = NO_TIME
        problems.append(RowProblem(row["row"] + first_line, why, _whole_row(frame, row["row"])))
    return tuple(problems)


def _whole_row(frame: pl.LazyFrame, row: int) -> dict[str, Any]:
    """Return the content of a row, counted from 0."""
    # Typed times as text: they may lie outside the range of Python's datetime class.
    return collect(frame.slice(row, 1).with_columns(cs.temporal().cast(pl.String))).row(
        0, named=True
    )


def _in_files(
    source: Any, problems: tuple[RowProblem, ...], first_line: int
) -> tuple[RowProblem, ...]:
    """Return the problems with the file name and the line number within that file."""
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
    columns: LogColumns,
    clock: Clock | None,
    counted: Counted,
    slates: SlateRows | None = None,
) -> list[str]:
    """Return sentences about assumptions, options left out, and a column that may define groups."""
    notes = [] if slates is None else slates.notes()
    result = describe_result(columns, counted.winners) if slates is None else None
    if result is not None:
        notes.append(result)
    if clock is None:
        notes.append("There is no column of times, so rows are taken to be in the order of time.")
    elif clock.note:
        notes.append(f"{clock.note}.")
    if counted.left_out:
        names = ", ".join(list(counted.left_out)[:3])
        more = ", ..." if len(counted.left_out) > 3 else ""
        notes.append(
            f"{len(counted.left_out):,} options with the fewest votes are left out: {names}{more}."
        )
    if not columns.group:
        best_guess = _looks_like_a_group(frame, schema, columns, clock, counted)
        if best_guess is not None:
            name, phi = best_guess
            notes.append(
                f"Votes with the same {name!r} agree more than independent votes would (they vary "
                f"{decimals(phi, 1)} times as much); if they depend on each other, pass --group "
                f"{name}; otherwise the intervals are too narrow."
            )
    return notes


def _looks_like_a_group(
    frame: pl.LazyFrame,
    schema: pl.Schema,
    columns: LogColumns,
    clock: Clock | None,
    counted: Counted,
) -> tuple[str, float] | None:
    """Return a column that seems to define groups, with the dispersion of its votes, or None.

    A few thousand rows in the middle of the log are examined, a few hundred at a time: most of
    these windows are stationary, and a change would resemble dependence.
    """
    assert counted.meaning is not None
    others = [name for name in schema.names() if name not in columns.used_names()]
    others = [name for name in others if schema[name].is_integer() or schema[name] == pl.String]
    if columns.time is not None:
        others.append(columns.time)
    if not others:
        return None
    begin = max(0, counted.rows // 2 - _CLOSE_LOOK // 2)
    near = collect(frame.slice(begin, _CLOSE_LOOK)).lazy()
    kept = {f"is {name}": pl.col(name).cast(pl.String) for name in others}
    if columns.slate is None:
        rows = collect(prepare_votes(near, columns, clock, kept))
    else:
        rows = collect(SlateRows(near, schema, columns, clock, kept).votes())
    place = {name: at for at, name in enumerate(counted.counts.names)}
    known = list(place)
    rows = counted.meaning(rows).filter(
        pl.col("won").is_not_null() & pl.col("first").is_in(known) & pl.col("second").is_in(known)
    )
    if len(rows) < 100:
        return None
    a, b = (rows[name].replace_strict(place).to_numpy() for name in ("first", "second"))
    won = rows["won"].to_numpy()
    weight = rows["vote weight"].to_numpy() if columns.slate is not None else np.ones(len(rows))
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
                            a[at],
                            b[at],
                            won[at],
                            group=group[at],
                            weight=weight[at],
                            bins=2,
                            names=list(place),
                        )
                    )
                    for at in (slice(w * window, (w + 1) * window) for w in range(_WINDOWS))
                ]
            )
        )
        chance = 5.0 * np.sqrt(2.0 / (groups * max(1, len(place) - 1)))
        if phi > 1.1 + chance:
            suspects.append((groups, name, phi))
    # The finest column explains the coarser ones, which also capture changes over time; except if
    # one of them has a much larger value, as with a voter's sessions on several days.
    best: tuple[str, float] | None = None
    for _, name, phi in sorted(suspects, reverse=True):
        if best is None or phi > 1.5 * best[1]:
            best = name, phi
    return best
