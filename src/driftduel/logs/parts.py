"""Parallel counting of the files of a log: in this process, or on a dask cluster."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError, MissingExtraError
from driftduel.logs.counting import (
    MOST_OPTIONS,
    NO_VOTES,
    Bins,
    bins_of_times,
    count_rows,
    prepare_votes,
    read_kinds,
    some_times,
)
from driftduel.logs.counts import load_counts
from driftduel.logs.files import open_rows, schema_of
from driftduel.logs.presence import is_arena_export, recorded_options, with_presence
from driftduel.logs.reading import Log, clock_of, columns_of, notes_of, problems_of, read_log
from driftduel.logs.rows import LogRows
from driftduel.logs.slates import DUEL_COLUMNS, SlateRows, strengths_of

__all__ = ["count_files"]


def count_files(
    files: Sequence[str | Path],
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
    cluster: str | None = None,
) -> Log:
    """Count the files of one log separately, and return the sum of the counts.

    All files are read twice: first for their times and options, to compute bins that all files
    share, then for their votes.

    Parameters
    ----------
    files
        Files of one format, with the same columns, and times.
    columns, time, group, weight, time_format, bins, most, present, adaptive
        Same arguments as of `read_log`.
    cluster
        Address of a dask scheduler, ``tcp://host:port``; its workers must be able to read the
        files. By default the files are read one after the other in this process.
    """
    given: dict[str, Any] = dict(columns or {})
    given |= {k: v for k, v in (("time", time), ("group", group), ("weight", weight)) if v}
    paths = [str(path) for path in files]
    # The rows were counted by another process.
    if all(path.lower().endswith(".npz") for path in paths):
        counts = reduce(add, (load_counts(path) for path in paths))
        counts, _ = with_presence(counts, present, adaptive=adaptive)
        return Log(counts, counts.votes)
    if len(paths) == 1 and cluster is None:
        return read_log(
            paths[0], columns=given, time_format=time_format, bins=bins, most=most,
            present=present, adaptive=adaptive,
        )  # fmt: skip
    with _Workers(cluster) as workers:
        looks = workers.map(partial(_probe_file, given=given, style=time_format), paths)
        clocks = {look.clock for look in looks}
        if len(clocks) > 1:
            raise DriftduelError(f"the files' times are of different kinds: {sorted(clocks)}.")
        votes = _sum_tables(look.votes for look in looks)
        names = sorted(votes, key=lambda name: (-votes[name], name))[:most]
        # Files may be sampled at different rates, so each time value has its weight.
        weights = np.concatenate([np.full(len(look.when), look.each) for look in looks])
        when = np.concatenate([look.when for look in looks])
        shared = bins_of_times(when, weights, max(2, len(names)), bins)
        strengths = None
        if any(look.wins is not None for look in looks):
            strengths = strengths_of(_sum_tables(look.wins or {} for look in looks))
        count = partial(
            _count_one, given=given, style=time_format, bins=shared, names=names,
            strengths=strengths,
        )  # fmt: skip
        parts = workers.map(count, paths)
    some = [
        part.counts for part in parts if part.counts.votes
    ]  # all other rows are about options that are left out
    if not some:
        raise DriftduelError(NO_VOTES)
    counts, _ = with_presence(reduce(add, some), present, adaptive=adaptive)
    return Log(
        counts=counts,
        rows=sum(part.rows for part in parts),
        skipped=_sum_tables(part.skipped for part in parts),
        problems=tuple(problem for part in parts for problem in part.problems),
        left_out=_sum_tables(part.left_out for part in parts),
        notes=parts[0].notes,  # the notes about the first file hold for all files
    )


def _sum_tables(tables: Iterable[Mapping[Any, Any]]) -> dict[Any, Any]:
    """Return the sums of the values of several tables by key."""
    total: Any = Counter()
    for table in tables:
        total.update(table)
    return dict(total)


class _FileProbe(NamedTuple):
    """Properties of a file that are needed before all files are counted."""

    clock: str
    when: NDArray[np.float64]
    each: float
    """The weight of each value of `when`."""
    votes: Mapping[str, int]
    """The number of votes of each option."""
    wins: Mapping[tuple[str, str], float] | None = None
    """The votes of pairs of a log of slates, for the strengths of the whole log."""


def _probe_file(path: str, given: Mapping[str, Any], style: str | None) -> _FileProbe:
    """Read the times and options of one file."""
    frame, _ = open_rows(path)
    schema = schema_of(frame)
    named = columns_of(frame, schema, given)
    clock = clock_of(frame, schema, named, style)
    if clock is None:
        raise DriftduelError(
            f"{path!r} has no column of times, without which files have no order; name one, or "
            f"make one file of all."
        )
    if named.slate is not None:
        slates = SlateRows(frame, schema, named, clock)
        wins = slates.wins()
        rows = LogRows(slates.votes({}))
        votes = read_kinds(rows, DUEL_COLUMNS).votes
        return _FileProbe(clock.kind, *some_times(rows), votes, wins)
    rows = LogRows(prepare_votes(frame, named, clock))
    return _FileProbe(clock.kind, *some_times(rows), read_kinds(rows, named).votes)


def _count_one(
    path: str,
    given: Mapping[str, Any],
    style: str | None,
    bins: Bins,
    names: Sequence[str],
    strengths: Mapping[str, float] | None = None,
) -> Log:
    """Count one file in bins shared by all files; invalid rows are reported with the file name."""
    frame, first_line = open_rows(path)
    schema = schema_of(frame)
    named = columns_of(frame, schema, given)
    clock = clock_of(frame, schema, named, style)
    assert clock is not None
    slates = None if named.slate is None else SlateRows(frame, schema, named, clock)
    if slates is not None:
        votes = slates.votes(strengths)
        counted = count_rows(
            LogRows(votes), bins, names=names, clock=clock.kind, columns=DUEL_COLUMNS
        )
        counted = slates.finish(counted, votes)
    else:
        votes = prepare_votes(frame, named, clock)
        counted = count_rows(LogRows(votes), bins, names=names, clock=clock.kind, columns=named)
    arena = is_arena_export(schema.names())
    counts, about = with_presence(counted.counts, None, recorded_options(frame), adaptive=arena)
    found = problems_of(frame, slates or votes, counted, first_line) if counted.skipped else ()
    file = Path(path).name
    return Log(
        counts=counts,
        rows=counted.rows,
        skipped=counted.skipped,
        problems=tuple(replace(each, row={"file": file, **each.row}) for each in found),
        left_out=counted.left_out,
        notes=(*notes_of(frame, schema, named, clock, counted, slates), *about),
    )


class _Workers:
    """An executor for the files: this process, or the workers of a cluster."""

    def __init__(self, cluster: str | None) -> None:
        self._client: Any = None
        if cluster is not None:
            try:
                from distributed import Client
            except ImportError:
                raise MissingExtraError("distributed", "cluster", "a cluster") from None
            try:
                self._client = Client(cluster, timeout="10s", set_as_default=False)
            except (OSError, ValueError) as error:
                raise DriftduelError(f"there is no cluster at {cluster!r}: {error}.") from None

    def __enter__(self) -> "_Workers":
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def map(self, work: Callable[[str], Any], paths: Iterable[str]) -> list[Any]:
        """Return the values of a function for all paths, in order."""
        if self._client is None:
            return [work(path) for path in paths]
        results: list[Any] = self._client.gather(self._client.map(work, list(paths), pure=False))
        return results
