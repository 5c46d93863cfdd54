"""Preference matrices from rankings: PrefLib files, and tables with one ranking a row.

A ranking decides every pair of options that it ranks. The share of the rankings in which one option
is above the other is the preference; equal ranks count half for each.
"""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.reading import read_text
from driftduel._internal.wording import counted
from driftduel.errors import DriftduelError
from driftduel.preferences.matrix import Preferences

__all__ = ["PREFLIB", "UNRANKED", "PairCounts", "read_preflib", "read_rankings"]

PREFLIB = ("soc", "soi", "toc", "toi", "pwg")
"""The PrefLib formats that hold comparisons."""
UNRANKED = ("ignore", "last")
_COMPLETE, _STRICT = ("soc", "toc"), ("soc", "soi")
_MOST_OPTIONS = 2000
_METADATA = re.compile(r"#\s*([A-Z ]+?)(?: (\d+))?\s*:(.*)")
_GROUP = r"(?:\d+|\{[\s\d,]*\})"
_ORDER = re.compile(rf"\s*(\d+)\s*[:,]\s*({_GROUP}(?:\s*,\s*{_GROUP})*)\s*,?\s*")
_LARGEST_COUNT = 10**12
_LONGEST_NUMBER = 12
_WEIGHT = ("count", "weight")


class _RankedBallot(NamedTuple):
    """How many gave a ranking: groups of options, best first; those of a group are equal."""

    voters: float
    groups: list[list[int]]


@dataclass(frozen=True)
class PairCounts:
    """How often each option was preferred to each other one."""

    wins: NDArray[np.float64]
    """(K, K) comparisons that the row's option won."""
    ties: NDArray[np.float64]
    """(K, K) comparisons of equal ranks, symmetric."""
    names: tuple[str, ...]
    """The options' names, of length K."""
    title: str = ""
    """The file's own title."""

    @property
    def unseen(self) -> int:
        """Pairs of options that were never compared."""
        seen = self.wins + self.wins.T + self.ties > 0
        return int((~seen[np.triu_indices(len(seen), 1)]).sum())

    def preferences(self, *, unseen: str = "error", prior: float = 0.0) -> Preferences:
        """Return the shares of the comparisons as a preference matrix.

        Parameters
        ----------
        unseen
            For pairs that were never compared: ``error``, or ``even`` for probability 1/2.
        prior
            Comparisons that are added to every pair, half won by each option. Above 0 no
            probability is 0 or 1, and a pair that was never compared is even.

        Examples
        --------
        >>> wins = np.array([[0.0, 7.0], [3.0, 0.0]])
        >>> PairCounts(wins, np.zeros((2, 2)), ("tea", "coffee")).preferences()
        Preferences(arms=2, condorcet_winner=0)
        [[0.5 0.7]
         [0.3 0.5]]
        """
        if self.unseen and unseen == "error" and prior == 0:
            pairs = len(self.names) * (len(self.names) - 1) // 2
            raise DriftduelError(
                f"{self.unseen:,} of {pairs:,} pairs were never compared; give them probability "
                f"1/2 with unseen=even, or rank what voters left out with unranked=last."
            )
        won = self.wins + 0.5 * (self.ties + prior)
        total = won + won.T
        shares = np.divide(won, total, out=np.full(won.shape, 0.5), where=total > 0)
        upper = np.triu(shares, 1)
        return Preferences(upper + np.tril(1 - upper.T, -1) + 0.5 * np.eye(len(shares)))


def read_preflib(path: str | Path, *, unranked: str = "ignore") -> PairCounts:
    """Read a PrefLib file of orders (soc, soi, toc, toi) or of pairs (pwg), old or new format.

    Parameters
    ----------
    path
        The file.
    unranked
        The meaning of an incomplete order for options that it leaves out: ``ignore``, nothing; or
        ``last``, they are equal below all others, as in the toc files that PrefLib derives.

    Raises
    ------
    DriftduelError
        If the file is not what its format requires; the sentence names the line.
    """
    text = read_text(path)
    kind = Path(path).suffix.lower().removeprefix(".")
    try:
        lines = [(i, line) for i, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if not lines:
            raise DriftduelError("is empty.")
        has_metadata = lines[0][1].lstrip().startswith("#")
        names, title, voters, kind, rows = _new(lines, kind) if has_metadata else _old(lines, kind)
        rankings = [_order(line, row, kind, len(names)) for line, row in rows]
        if not rankings:
            raise DriftduelError("has no orders after its header.")
        found = sum(ranking.voters for ranking in rankings)
        if voters is not None and found != voters:
            raise DriftduelError(
                f"has {found:,.0f} votes, and its header announces {voters:,}; the file is not "
                f"complete."
            )
        return _count(rankings, names, title, "ignore" if kind == "pwg" else unranked)
    except DriftduelError as error:
        raise DriftduelError(f"{path}: {error}") from None


def _new(
    lines: list[tuple[int, str]], kind: str
) -> tuple[list[str], str, int | None, str, list[tuple[int, str]]]:
    """Read the header of the format since 2022: lines of metadata that begin with #."""
    single: dict[str, str] = {}
    named: dict[int, str] = {}
    end = next((i for i, (_, text) in enumerate(lines) if text.lstrip()[0] != "#"), len(lines))
    for line, text in lines[:end]:
        found = _METADATA.fullmatch(text.strip())
        if found is None:
            raise DriftduelError(f"line {line} must have the form '# KEY: value'.")
        key, number, value = found[1], found[2], found[3].strip()
        if key != "ALTERNATIVE NAME" or number is None:
            single[key] = value
        elif len(number) > 9 or int(number) in named:
            raise DriftduelError(f"line {line} names alternative {number[:9]} a second time.")
        else:
            named[int(number)] = value
    kind = single.get("DATA TYPE", "").lower() or kind
    arms = _number(single.get("NUMBER ALTERNATIVES"), "NUMBER ALTERNATIVES")
    voters = single.get("NUMBER VOTERS") if kind != "pwg" else None
    many = None if voters is None else _number(voters, "NUMBER VOTERS")
    return _names(named, arms), single.get("TITLE", ""), many, _known(kind), lines[end:]


def _old(
    lines: list[tuple[int, str]], kind: str
) -> tuple[list[str], str, int | None, str, list[tuple[int, str]]]:
    """Read the header of the format before 2022: the number of options, their names, totals."""
    kind = _known(kind)
    arms = _number(lines[0][1], "the number of alternatives in line 1")
    named: dict[int, str] = {}
    for line, text in lines[1 : arms + 1]:
        number, comma, name = text.partition(",")
        if not comma or not number.strip().isdecimal() or len(number) > 9:
            raise DriftduelError(f"line {line} must have the form 'number,name'.")
        named[int(number)] = name.strip()
    totals = lines[arms + 1 : arms + 2]
    parts = totals[0][1].split(",") if totals else []
    if len(parts) != 3:
        raise DriftduelError(
            "has no line 'voters,votes,orders' after the names of its alternatives."
        )
    votes = _number(parts[1], f"the sum of votes in line {totals[0][0]}")
    return _names(named, arms), "", votes, kind, lines[arms + 2 :]


def _known(kind: str) -> str:
    if kind not in PREFLIB:
        raise DriftduelError(
            f"is of the type {kind!r}; comparisons are in files of the types {', '.join(PREFLIB)}."
        )
    return kind


def _number(text: str | None, what: str) -> int:
    if text is None:
        raise DriftduelError(f"has no line '# {what}: ...' in its header.")
    text = text.strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST_NUMBER:
        raise DriftduelError(f"{what} must be a whole number, not {text[:40]!r}.")
    return int(text)


def _names(named: dict[int, str], arms: int) -> list[str]:
    """Return the names in the order of their numbers; there is one for each of 1, ..., K."""
    if not 2 <= arms <= _MOST_OPTIONS:
        raise DriftduelError(
            f"has {arms:,} alternatives; there must be between 2 and {_MOST_OPTIONS:,}."
        )
    missing = next((i for i in range(1, arms + 1) if not named.get(i)), None)
    if missing is not None:
        raise DriftduelError(f"has no name for alternative {missing} of {arms}.")
    if len(named) > arms:
        raise DriftduelError(f"names {len(named)} alternatives, and its header announces {arms}.")
    return _need_different([named[i] for i in range(1, arms + 1)])


def _need_different(names: list[str]) -> list[str]:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DriftduelError(f"has two alternatives with the name {twice!r}.")
    return names


def _order(line: int, text: str, kind: str, arms: int) -> _RankedBallot:
    """Read 'count: a, {b, c}, d', or 'count,a,{b,c},d' of the old format."""
    found = _ORDER.fullmatch(text)
    if found is None:
        raise DriftduelError(
            f"line {line} must be a count and an order, such as '12: 3,1,{{2,4}}', not "
            f"{text.strip()[:40]!r}."
        )
    groups = [
        [_option(line, number, arms) for number in re.findall(r"\d+", group)]
        for group in re.findall(_GROUP, found[2])
    ]
    groups = [group for group in groups if group]
    ranked = [option for group in groups for option in group]
    if len(found[1]) > _LONGEST_NUMBER or int(found[1]) == 0:
        raise DriftduelError(
            f"line {line} has the count {found[1][:40]}; it must be above 0 and have at most "
            f"{_LONGEST_NUMBER} digits."
        )
    if len({*ranked}) < len(ranked):
        raise DriftduelError(f"line {line} ranks an alternative twice.")
    if kind in _STRICT and len(groups) < len(ranked):
        raise DriftduelError(f"line {line} has a tie, which a {kind} file cannot have.")
    if kind in _COMPLETE and len(ranked) < arms:
        raise DriftduelError(
            f"line {line} ranks {len(ranked)} of {arms} alternatives; in a {kind} file orders are "
            f"complete."
        )
    if kind == "pwg" and (len(groups), len(ranked)) != (2, 2):
        raise DriftduelError(
            f"line {line} must have a count and two alternatives, the preferred one first."
        )
    return _RankedBallot(int(found[1]), groups)


def _option(line: int, number: str, arms: int) -> int:
    if len(number) > 9 or not 1 <= int(number) <= arms:
        raise DriftduelError(
            f"line {line} has alternative {number[:40]}; alternatives are 1 to {arms}."
        )
    return int(number) - 1


def _count(
    rankings: list[_RankedBallot], names: list[str], title: str, unranked: str
) -> PairCounts:
    """Count for every pair how often one option is above the other, and how often equal."""
    if unranked not in UNRANKED:
        raise DriftduelError(f"unranked={unranked!r} must be {' or '.join(UNRANKED)}.")
    arms = len(names)
    wins, ties = np.zeros((arms, arms)), np.zeros((arms, arms))
    for voters, groups in rankings:
        options = [option for group in groups for option in group]
        rank = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        if unranked == "last":
            rest = [option for option in range(arms) if option not in {*options}]
            options, rank = options + rest, np.append(rank, np.full(len(rest), len(groups)))
        pairs = np.ix_(options, options)
        wins[pairs] += voters * (rank[:, None] < rank)
        ties[pairs] += voters * (rank[:, None] == rank)
    np.fill_diagonal(ties, 0.0)
    return PairCounts(wins, ties, tuple(names), title)


def read_rankings(path: str | Path, *, unranked: str = "ignore") -> PairCounts:
    """Read a CSV table with a header and one ranking in each row.

    There are two forms. *Ranks*: a column for each option, named after it; cells are ranks, 1 is
    best, equal ranks are ties, an empty cell is not ranked. *Orders*: the columns are named 1, 2,
    3, ...; cells are the names of options, best first. A column ``count`` or ``weight`` has the
    number of voters with a ranking.

    Parameters
    ----------
    path
        The file.
    unranked
        As of `read_preflib`.
    """
    text = read_text(path)
    try:
        rows = [(i, row) for i, row in enumerate(_cells(text), start=1) if any(map(str.strip, row))]
        if len(rows) < 2:
            raise DriftduelError("must have a header and at least one row with a ranking.")
        header = [cell.strip() for cell in rows[0][1]]
        weight = next((i for i, name in enumerate(header) if name.lower() in _WEIGHT), None)
        columns = [i for i in range(len(header)) if i != weight]
        for line, row in rows[1:]:
            if len(row) != len(header):
                raise DriftduelError(
                    f"line {line} has {counted(len(row), 'cell')}; its header has {len(header)}."
                )
        counts = [1.0 if weight is None else _weight(line, row[weight]) for line, row in rows[1:]]
        table = [(line, [row[i].strip() for i in columns]) for line, row in rows[1:]]
        head = [header[i] for i in columns]
        is_order = head == [str(i) for i in range(1, len(head) + 1)]
        names, ranked = _from_orders(table) if is_order else _from_ranks(head, table)
        rankings = list(map(_RankedBallot, counts, ranked))
        return _count(rankings, names, "", unranked)
    except DriftduelError as error:
        raise DriftduelError(f"{path}: {error}") from None


def _cells(text: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise DriftduelError(f"is not a CSV table ({error}).") from None


def _weight(line: int, text: str) -> float:
    count = _finite(text)
    if count is None or not 0 < count <= _LARGEST_COUNT:
        raise DriftduelError(f"line {line} has the count {text.strip()[:40]!r}, not one above 0.")
    return count


def _finite(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _need_options(names: list[str]) -> list[str]:
    if not 2 <= len(names) <= _MOST_OPTIONS:
        raise DriftduelError(
            f"has {counted(len(names), 'option')}; there must be between 2 and {_MOST_OPTIONS:,}."
        )
    return _need_different(names)


def _from_orders(table: list[tuple[int, list[str]]]) -> tuple[list[str], list[list[list[int]]]]:
    """Read names, best first, in each row."""
    names = _need_options(sorted({cell for _, row in table for cell in row if cell}))
    place = {name: i for i, name in enumerate(names)}
    ranked = []
    for line, row in table:
        cells = [cell for cell in row if cell]
        if len({*cells}) < len(cells):
            raise DriftduelError(f"line {line} ranks an option twice.")
        ranked.append([[place[cell]] for cell in cells])
    return names, ranked


def _from_ranks(
    head: list[str], table: list[tuple[int, list[str]]]
) -> tuple[list[str], list[list[list[int]]]]:
    """Read a rank for each option in each row."""
    names = _need_options(head)
    if not all(names):
        raise DriftduelError("has a column without a name; columns are named after options.")
    ranked = []
    for line, row in table:
        ranks: dict[float, list[int]] = {}
        for i, cell in enumerate(row):
            rank = _finite(cell) if cell else None
            if cell and rank is None:
                raise DriftduelError(
                    f"line {line} has {cell[:40]!r} where a rank is needed; 1 is best, and a table "
                    f"of names has the columns 1, 2, 3, ..."
                )
            if rank is not None:
                ranks.setdefault(rank, []).append(i)
        ranked.append([ranks[rank] for rank in sorted(ranks)])
    return names, ranked
