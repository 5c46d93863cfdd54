"""Identification of a log's columns: the two options, the result, the time.

A column is named by an argument or recognised by its name. If several columns are possible for one
role, the file is refused; the error shows the argument that confirms the default reading.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from driftduel._internal.wording import listed
from driftduel.errors import DriftduelError
from driftduel.logs.slate_columns import SLATE_ROLES, SlateColumns, find_slate

__all__ = ["ARENA_COLUMNS", "ROLES", "LogColumns", "compact", "find_columns", "quote", "side_names"]

ROLES = (
    "winner", "loser", "first", "second", "time", "group", "weight", "tie",
    "first_score", "second_score", "first_won", "second_won", *SLATE_ROLES,
)  # fmt: skip
"""The roles of columns, as keys of the argument `columns` of `read_log`."""

# Names are compared without case, spaces and punctuation; see `compact`.
_SIDES = (
    ("first", "second"), ("a", "b"), ("left", "right"), ("1", "2"), ("white", "black"),
    ("home", "away"), ("home", "visitor"), ("home", "visiting"), ("home", "guest"),
)  # fmt: skip
_NOUNS = ("", "model", "option", "item", "player", "team", "competitor", "candidate", "system",
          "arm", "name", "playername", "teamname", "modelname", "p")  # fmt: skip
_SCORES = ("score", "scores", "goals", "goal", "points", "runs", "teamscore", "teamgoal",
           "teamgoals", "teampoints")  # fmt: skip
_KNOWN_SCORES = (("fthg", "ftag"),)  # full time home and away goals
_WINNERS = ("winner", "won", "preferred", "preference", "choice", "chosen", "chosenmodel", "picked",
            "pick", "winnername", "winningteam", "winnermodel")  # fmt: skip
_LESS_SURE = ("result", "outcome", "ftr")  # scores, if there are any, are taken before these
_LOSERS = {
    "loser": "winner", "lost": "won", "rejected": "chosen", "rejectedmodel": "chosenmodel",
    "losername": "winnername", "losingteam": "winningteam", "losermodel": "winnermodel",
}  # fmt: skip
_TIE_FLAGS = ("tie", "ties", "tied", "draw", "drawn", "bothbad", "tiebothbad", "bothgood",
              "neither")  # fmt: skip
_OTHERS = {
    "time": ("time", "timestamp", "tstamp", "datetime", "date", "created_at", "round"),
    "group": ("group",),
    "weight": ("weight",),
    "tie": ("tie", "tied", "draw"),
}
ARENA_COLUMNS = frozenset({"seq", "time", "first", "second", "winner", "voter", "counted"})
"""The columns of every arena export."""
_TWICE = "_duplicated_0"  # the suffix that polars adds to a duplicate name


def quote(value: object, most: int = 60) -> str:
    """Return a value as a quoted string, shortened to fit into a sentence.

    Examples
    --------
    >>> quote("tea"), quote("x" * 1_000_000, 8)
    ("'tea'", "'xxxxxxxx...'")
    """
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= most else f"{text[:most]}...")


def compact(name: str) -> str:
    """Return a name without case, spaces and punctuation.

    Examples
    --------
    >>> compact("Home Team"), compact("model_a"), compact("winner_tie (bothbad)")
    ('hometeam', 'modela', 'winnertiebothbad')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def side_names() -> Iterator[tuple[str, str, str, str]]:
    """Yield pairs of column names for the two options, and the words for their sides."""
    for x, y in _SIDES:
        for noun in _NOUNS:
            if noun or not x.isdigit():
                yield f"{noun}{x}", f"{noun}{y}", x, y
            if noun and not x.isdigit():
                yield f"{x}{noun}", f"{y}{noun}", x, y


@dataclass(frozen=True)
class LogColumns:
    """The names of a log's columns; the value of a missing column is None."""

    winner: str | None = None
    loser: str | None = None
    first: str | None = None
    second: str | None = None
    """None if the log has the columns winner, loser and the option shown first."""
    time: str | None = None
    group: tuple[str, ...] = ()
    """Columns that define groups: votes with equal values in all of them are dependent."""
    weight: str | None = None
    tie: str | None = None
    scores: tuple[str, ...] = ()
    """Columns of the scores of the first and the second option; the higher value wins."""
    flags: tuple[str, ...] = ()
    """Boolean columns: the first option won, the second option won; further columns are ties."""
    beside: tuple[str, ...] = ()
    """Columns with the same prefix as the winner's, as in a one-hot set of all options."""
    slate: SlateColumns | None = None
    """The columns of slates of several options; None: rows are duels."""

    @property
    def placed(self) -> bool:
        """Whether the log records which option was shown first."""
        return self.first is not None

    @property
    def pair(self) -> tuple[str, str]:
        """The columns that name the two options."""
        if self.first is not None and self.second is not None:
            return self.first, self.second
        return str(self.winner), str(self.loser)

    def used_names(self) -> set[str]:
        """Return the names of all columns with a role."""
        several = {*self.group, *self.scores, *self.flags}
        several |= set() if self.slate is None else self.slate.used_names()
        single = (getattr(self, field.name) for field in fields(self))
        return several | {name for name in single if isinstance(name, str)}

    def argument(self) -> str:
        """Return the ``--columns`` argument that names the options and the result.

        Examples
        --------
        >>> LogColumns(first="home", second="away", scores=("hg", "ag")).argument()
        '--columns first=home,second=away,first_score=hg,second_score=ag'
        """
        named = {role: getattr(self, role) for role in ("first", "second", "winner", "loser")}
        named |= zip(("first_score", "second_score"), self.scores, strict=False)
        named |= zip(("first_won", "second_won", "tie"), self.flags, strict=False)
        pairs = ",".join(f"{role}={name}" for role, name in named.items() if name is not None)
        return f"--columns {pairs}"


def find_columns(
    there: Sequence[str], given: Mapping[str, str | Sequence[str] | None]
) -> LogColumns:
    """Assign columns to roles, by the arguments of the user or by their names.

    Parameters
    ----------
    there
        The columns of the log.
    given
        Columns by their role: ``{"winner": "model_a", "group": ["race", "day"]}``.
    """
    named, group, lists = _check_named_columns(there, given)
    by_name: dict[str, str] = {}
    for name in there:
        if compact(name) and name not in named.values():
            by_name.setdefault(compact(name), name)
    slate = _slate(there, given, named, lists)
    if slate is not None:
        columns = LogColumns(
            time=_other("time", by_name, named, given),
            group=group or _tuple(_other("group", by_name, named, given)),
            weight=_other("weight", by_name, named, given),
            slate=slate,
        )
        _check_slate(columns, there)
        return columns
    first, second = _pair(by_name, named)
    scores = _of_pair(by_name, named, "score", _score_names(first, second))
    flags = _flags(by_name, named)
    winner, loser = _winner(by_name, named, has_scores=bool(scores), has_flags=bool(flags))
    if winner is not None and winner in _one_hot_set(there):
        others = [name for name in _one_hot_set(there) if name != winner]
        raise DriftduelError(
            f"{quote(winner)} is one of several columns of which one is set in each row, with "
            f"{_join_names(others)}; name them all: {_flags_argument(there)}."
        )
    if winner is not None and "first_score" not in named:
        scores = ()
    if (winner is not None or scores) and "first_won" not in named:
        flags = ()
    if loser is not None and (first is None or second is None or "first" not in given):
        second = None  # the winner and the loser name the pair
    columns = LogColumns(
        winner=winner,
        loser=None if second is not None else loser,
        first=first,
        second=second,
        time=_other("time", by_name, named, given),
        group=group or _tuple(_other("group", by_name, named, given)),
        weight=_other("weight", by_name, named, given),
        tie=None if len(flags) > 2 else _other("tie", by_name, named, given),
        scores=scores,
        flags=flags,
        beside=_beside(winner, there),
    )
    _check(columns, there, first is not None and second is not None)
    return columns


def _check_named_columns(
    there: Sequence[str], given: Mapping[str, str | Sequence[str] | None]
) -> tuple[dict[str, str], tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Check the columns given as arguments; return them by role, the groups, and the slates."""
    named: dict[str, str] = {}
    group: tuple[str, ...] = ()
    lists: dict[str, tuple[str, ...]] = {}
    for role, names in given.items():
        if role not in ROLES:
            raise DriftduelError(
                f"there is no column {quote(role)} to name; there are {', '.join(ROLES)}."
            )
        if names is None:
            continue
        several = (names,) if isinstance(names, str) else tuple(names)
        for name in several:
            if name not in there:
                raise DriftduelError(
                    f"the log has no column {quote(name)}; {_nearest(name, there)}"
                )
        if role == "group":
            group = several
        elif role in SLATE_ROLES:
            lists[role] = several
        elif len(several) != 1:
            raise DriftduelError(f"{role} must be one column, not {_join_names(several)}.")
        else:
            named[role] = several[0]
    for one, other in (("first_score", "second_score"), ("first_won", "second_won")):
        if (one in named) != (other in named):
            missing = other if one in named else one
            raise DriftduelError(f"{one} and {other} belong together; name {missing} too.")
    return named, group, lists


def _slate(
    there: Sequence[str],
    given: Mapping[str, object],
    named: Mapping[str, str],
    lists: Mapping[str, tuple[str, ...]],
) -> SlateColumns | None:
    """Return the columns of slates; None if rows are duels."""
    used = {*named.values(), *(name for names in lists.values() for name in names)}
    by_name: dict[str, str] = {}
    for name in there:
        if compact(name) and name not in used:
            by_name.setdefault(compact(name), name)
    has_pair = any(x in by_name and y in by_name for x, y, *_ in side_names())
    has_pair |= any(x in by_name and y in by_name for x, y in _LOSERS.items())
    winners = (by_name[name] for name in (*_WINNERS, *_LESS_SURE) if name in by_name)
    winner = named.get("winner", next(winners, None))
    slate = find_slate(
        {**lists, **{role: (name,) for role, name in named.items()}},
        by_name,
        winner,
        has_pair=has_pair,
        is_export=set(there) >= ARENA_COLUMNS,
    )
    if slate is None or slate.places:
        return slate
    tie = named.get("tie", by_name.get("tie")) if slate.winner is not None else None
    return replace(slate, tie=tie if "tie" not in given else named.get("tie"))


def _check_slate(columns: LogColumns, there: Sequence[str]) -> None:
    """Raise if one column has two roles, or if a name is not unique."""
    assert columns.slate is not None
    slate = columns.slate
    single = (slate.winner, slate.shown, slate.ranking, slate.tie)
    named = [*(n for n in single if n is not None), *slate.options, *slate.places]
    named += [*(n for n in (columns.time, columns.weight) if n is not None)]
    _check_unique(columns, named, there)


def _check_unique(columns: LogColumns, named: Sequence[str], there: Sequence[str]) -> None:
    """Raise if a name has two roles, or if the log has two columns of a used name."""
    if len(set(named)) < len(named):
        raise DriftduelError(f"one column cannot be two things: {_join_names(named)}.")
    for name in sorted(columns.used_names()):
        if f"{name}{_TWICE}" in there:
            raise DriftduelError(
                f"the log has two columns {quote(name)}; leave one of them out, or rename it."
            )


def _pair(by_name: Mapping[str, str], named: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the columns of the two options, or of the first one only."""
    if "first" in named or "second" in named:
        first, second = named.get("first"), named.get("second")
        for x, y, *_ in side_names():
            if first is None and compact(str(second)) == y:
                first = by_name.get(x)
            if second is None and compact(str(first)) == x:
                second = by_name.get(y)
        return first, second
    pairs = dict.fromkeys(
        (by_name[x], by_name[y]) for x, y, *_ in side_names() if x in by_name and y in by_name
    )
    if not pairs:
        return next((by_name[x] for x, *_ in side_names() if x in by_name), None), None
    found = list(pairs)
    if len(found) > 1 and [compact(name) for name in found[0]] != ["first", "second"]:
        if "loser" in named or any(name in by_name for name in _LOSERS):
            return None, None  # the winner and the loser name the pair
        taken, other = found[:2]
        raise DriftduelError(
            f"{quote(taken[0])} and {quote(taken[1])} were understood as the two options, but "
            f"{quote(other[0])} and {quote(other[1])} may be meant; confirm with --columns "
            f"first={taken[0]},second={taken[1]}."
        )
    return found[0]


def _score_names(first: str | None, second: str | None) -> list[tuple[str, str]]:
    """Return pairs of column names of scores: home_goals and away_goals, score_1 and score_2."""
    sides = [(x, y) for x, y in _SIDES]
    if first is not None and second is not None:
        sides.append((compact(first), compact(second)))
    names = [
        names
        for x, y in sides
        for word in _SCORES
        for names in ((f"{x}{word}", f"{y}{word}"), (f"{word}{x}", f"{word}{y}"))
        if not names[0][0].isdigit()
    ]
    return [*names, *_KNOWN_SCORES]


def _of_pair(
    by_name: Mapping[str, str],
    named: Mapping[str, str],
    role: str,
    names: Sequence[tuple[str, str]],
) -> tuple[str, ...]:
    """Return the first pair of `names` among the columns, or the columns given as arguments."""
    if f"first_{role}" in named:
        return named[f"first_{role}"], named[f"second_{role}"]
    return next(((by_name[x], by_name[y]) for x, y in names if x in by_name and y in by_name), ())


def _flag_names() -> Iterator[tuple[str, str]]:
    for x, y, *_ in side_names():
        yield f"winner{x}", f"winner{y}"
        for word in ("won", "win", "wins", "iswinner"):
            yield f"{x}{word}", f"{y}{word}"


def _tie_flags(by_name: Mapping[str, str]) -> tuple[str, ...]:
    """Return the boolean columns of ties."""
    names = (name for word in _TIE_FLAGS for name in (f"winner{word}", word))
    return tuple(dict.fromkeys(by_name[name] for name in names if name in by_name))


def _flags(by_name: Mapping[str, str], named: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of a one-hot result: the first option won, the second option won, ties."""
    flags = _of_pair(by_name, named, "won", list(_flag_names()))
    if not flags or "tie" in named:
        return flags
    return (*flags, *(name for name in _tie_flags(by_name) if name not in flags))


def _one_hot_set(there: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that form a one-hot result by their names, independent of arguments."""
    return _flags({compact(name): name for name in reversed(there)}, {})


def _beside(winner: str | None, there: Sequence[str]) -> tuple[str, ...]:
    """Return the other columns with the prefix of the winner's column."""
    begin = re.match(r"winner[_ .]", winner or "", re.IGNORECASE)
    if begin is None:
        return ()
    return tuple(name for name in there if name.startswith(begin[0]) and name != winner)


def _flags_argument(there: Sequence[str]) -> str:
    return LogColumns(flags=_one_hot_set(there)).argument()


def _winner(
    by_name: Mapping[str, str], named: Mapping[str, str], *, has_scores: bool, has_flags: bool
) -> tuple[str | None, str | None]:
    """Return the columns of the winner and the loser."""
    if "first_score" in named or "first_won" in named:
        return named.get("winner"), None
    winner, loser = named.get("winner"), named.get("loser")
    if winner is None:
        found = [by_name[name] for name in _WINNERS if name in by_name]
        paired = [by_name[w] for x, w in _LOSERS.items() if x in by_name and w in by_name]
        if len(found) > 1 and not paired and compact(found[0]) != "winner":
            raise DriftduelError(
                f"{quote(found[0])} was understood as the winner, but {quote(found[1])} may be "
                f"meant; confirm with --columns winner={found[0]}."
            )
        plain = [name for name in found if compact(name) == "winner"]
        winner = next(iter([*plain, *paired, *found]), None)
        if winner is None and not has_scores and not has_flags:
            winner = next((by_name[name] for name in _LESS_SURE if name in by_name), None)
    if loser is None and winner is not None:
        of_it = [x for x, w in _LOSERS.items() if w == compact(winner)]
        known = (by_name[name] for name in (*of_it, *_LOSERS) if name in by_name)
        loser = next((name for name in known if name != winner), None)
    return winner, loser


def _other(
    role: str, by_name: Mapping[str, str], named: Mapping[str, str], given: Mapping[str, object]
) -> str | None:
    if role in given:
        return named.get(role)
    return next((by_name[compact(n)] for n in _OTHERS[role] if compact(n) in by_name), None)


def _tuple(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _check(columns: LogColumns, there: Sequence[str], has_pair: bool) -> None:
    """Raise if the columns do not define a vote; the error names the missing role."""
    has_result = columns.winner is not None or columns.scores or columns.flags
    if not has_result or not (has_pair or columns.loser is not None):
        if has_result:
            found = columns.winner or (*columns.scores, *columns.flags)[0]
            what = f"has a result, {quote(found)}, but not the two options"
            roles = ["loser"] if columns.winner is not None else []
            remedy = " or ".join([f"--columns {role}=NAME" for role in roles]
                                 + ["--columns first=NAME,second=NAME"])  # fmt: skip
        elif has_pair:
            pair = f"{quote(columns.first)} and {quote(columns.second)}"
            what = f"has two options, {pair}, but no result"
            remedy = "--columns winner=NAME or --columns first_score=NAME,second_score=NAME"
            remedy = _nested_argument(there, "winner", remedy)
        else:
            what = "has neither"
            remedy = (
                "--columns winner=NAME,loser=NAME or --columns first=NAME,second=NAME,winner=NAME"
            )
        raise DriftduelError(
            f"a log needs the columns winner and loser, or two options and a result; this one "
            f"{what}: its columns are {_join_names(there)}. Name them, as in {remedy}."
        )
    result = [name for name in (columns.winner, columns.loser) if name is not None]
    named = [*(name for name in (columns.first, columns.second) if name is not None), *result]
    named += [*columns.scores, *columns.flags]
    _check_unique(columns, named, there)


def _nested_argument(there: Sequence[str], role: str, otherwise: str) -> str:
    """Return the argument for a nested key that ends with a role, or `otherwise`."""
    found = (name for name in there if "." in name and compact(name.rpartition(".")[2]) == role)
    nested = next(found, None)
    return otherwise if nested is None else f"--columns {role}={nested}"


def _nearest(name: str, there: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, there, n=1)
    return f"did you mean {quote(close[0])}?" if close else f"it has {_join_names(there)}."


def _join_names(names: Sequence[str]) -> str:
    return listed([quote(name) for name in names], most=12) or "no column at all"
