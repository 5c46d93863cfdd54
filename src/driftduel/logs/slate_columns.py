"""Identification of the columns of a log of slates: rows that show two or more options.

A slate is recorded in one of four forms: a column with the list of options shown and a column with
the pick; a column with a ranked list, best first; several columns with one option each and a column
with the pick; several columns with the place of one option each.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from driftduel._internal.wording import listed
from driftduel.errors import DriftduelError

__all__ = ["SLATE_ROLES", "SlateColumns", "find_slate", "list_columns"]

SLATE_ROLES = ("shown", "ranking", "options", "places")
"""The roles of the columns of slates, as keys of the argument `columns` of `read_log`."""

_DUEL_ROLES = ("loser", "first", "second", "first_score", "second_score", "first_won", "second_won")
_SHOWN = ("shown", "optionsshown", "shownoptions", "slate", "options", "choices", "alternatives",
          "candidates")  # fmt: skip
_RANKINGS = ("ranking", "rankedoptions", "ranked", "rankedlist")
_NOUNS = ("option", "model", "item", "player", "team", "candidate", "system", "arm", "answer",
          "choice", "alternative", "product", "image")  # fmt: skip
_PLACES = ("rank", "place")
_FEWEST = 3  # columns in a row that are recognised by name as one slate


@dataclass(frozen=True)
class SlateColumns:
    """The columns of a log of slates.

    Examples
    --------
    >>> SlateColumns("pick", options=("a", "b", "c")).argument()
    '--columns options=a+b+c,winner=pick'
    """

    winner: str | None = None
    """The pick."""
    shown: str | None = None
    """The list of options shown."""
    ranking: str | None = None
    """The ranked list, best first."""
    options: tuple[str, ...] = ()
    """Columns with one option shown each."""
    places: tuple[str, ...] = ()
    """Columns with the place of one option each."""
    tie: str | None = None

    def used_names(self) -> set[str]:
        """Return the names of all columns with a role."""
        single = (self.winner, self.shown, self.ranking, self.tie)
        return {*self.options, *self.places, *(name for name in single if name is not None)}

    def argument(self) -> str:
        """Return the ``--columns`` argument that names these columns."""
        named = {"shown": self.shown, "ranking": self.ranking, "options": "+".join(self.options),
                 "places": "+".join(self.places), "winner": self.winner}  # fmt: skip
        return "--columns " + ",".join(f"{role}={name}" for role, name in named.items() if name)

    def place_names(self) -> dict[str, str]:
        """Return the option of each column of places: its name without the common prefix."""
        names = {}
        for column in self.places:
            match = re.match(rf"({'|'.join(_PLACES)})(?:ing|ed)?[ _.:]+", column, re.IGNORECASE)
            names[column] = column[match.end() :] if match and match.end() < len(column) else column
        return names


def list_columns(by_name: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the columns that are named like a list of options shown, and like a ranked list.

    Parameters
    ----------
    by_name
        The columns by their compact names.
    """
    shown = next((by_name[name] for name in _SHOWN if name in by_name), None)
    return shown, next((by_name[name] for name in _RANKINGS if name in by_name), None)


def find_slate(
    given: Mapping[str, Sequence[str]],
    by_name: Mapping[str, str],
    winner: str | None,
    *,
    has_pair: bool,
    is_export: bool,
) -> SlateColumns | None:
    """Return the columns of slates, by arguments or by their names; None if rows are duels.

    Parameters
    ----------
    given
        The columns named by arguments, by role.
    by_name
        All columns by their compact names.
    winner
        The column of winners, None if there is none.
    has_pair
        Whether names of columns form a pair of options, or a winner and a loser.
    is_export
        Whether the log is an arena export.
    """
    explicit = [role for role in SLATE_ROLES if role in given]
    duels = [role for role in _DUEL_ROLES if role in given]
    if explicit and duels:
        raise DriftduelError(
            f"{explicit[0]} names a column of slates and {duels[0]} one of duels; a log has rows "
            f"of one form: leave one of them out."
        )
    if explicit:
        return _explicit(given, by_name, winner)
    if duels:
        return None
    shown, ranking = list_columns(by_name)
    series = _series(by_name)
    if is_export or series or not has_pair:
        if is_export:  # its column of options has those present at the end of the log
            shown = by_name.get("shown")
        shown = shown if winner is not None or ranking is not None else None
        if series and winner is not None and (shown is not None or ranking is not None):
            _ambiguous(shown or ranking, series)
        if shown is not None or ranking is not None:
            return SlateColumns(winner, shown, ranking)
    if series and winner is not None:
        return SlateColumns(winner, options=series)
    places = () if has_pair or winner is not None else _place_columns(by_name)
    return SlateColumns(places=places) if places else None


def _ambiguous(one: str | None, series: Sequence[str]) -> None:
    raise DriftduelError(
        f"{one!r} and {listed([repr(name) for name in series], most=4)} may both hold the options "
        f"shown; name one of them: --columns shown={one} or --columns options={'+'.join(series)}."
    )


def _explicit(
    given: Mapping[str, Sequence[str]], by_name: Mapping[str, str], winner: str | None
) -> SlateColumns:
    """Return the columns of slates that arguments name, or raise."""
    several = [role for role in ("ranking", "options", "places") if role in given]
    if len(several) > 1 or ("shown" in given and {"options", "places"} & set(several)):
        both = [role for role in SLATE_ROLES if role in given]
        raise DriftduelError(
            f"{' and '.join(both)} describe a slate in different ways; name the columns of one: "
            f"shown and winner, ranking (and shown), options and winner, or places."
        )
    for role in ("shown", "ranking"):
        if len(given.get(role, ("",))) != 1:
            raise DriftduelError(f"{role} must be one column with lists; for several columns with "
                                 f"one option each, pass options=A+B+C.")  # fmt: skip
    for role in ("options", "places"):
        if role in given and len(set(given[role])) < max(2, len(given[role])):
            raise DriftduelError(
                f"{role}={'+'.join(given[role])} must be at least two different columns, joined "
                f"by +."
            )
    shown, ranking = (given[r][0] if r in given else None for r in ("shown", "ranking"))
    options, places = (tuple(given.get(role, ())) for role in ("options", "places"))
    if ranking is not None and shown is None:
        shown = list_columns({n: c for n, c in by_name.items() if c != ranking})[0]
        shown = shown if shown in (by_name.get("shown"), by_name.get("optionsshown")) else None
    if winner is None and (options or (shown is not None and ranking is None)):
        raise DriftduelError(
            "a log of slates needs the pick, or a ranked list; name its column: --columns "
            "winner=NAME or --columns ranking=NAME."
        )
    if ranking is not None and "winner" not in given:
        winner = None if winner == ranking else winner
    return SlateColumns(None if places else winner, shown, ranking, options, places)


def _series(by_name: Mapping[str, str]) -> tuple[str, ...]:
    """Return columns such as option_1, option_2, option_3: at least three with one noun."""
    for noun in _NOUNS:
        for marks in ("123456789", "abcdefghi"):
            found = [by_name.get(f"{noun}{mark}") for mark in marks]
            length = found.index(None) if None in found else len(found)
            if length >= _FEWEST:
                return tuple(name for name in found[:length] if name is not None)
    return ()


def _place_columns(by_name: Mapping[str, str]) -> tuple[str, ...]:
    """Return columns such as rank_tea, rank_ale, rank_gin."""
    for prefix in _PLACES:
        pattern = re.compile(rf"{prefix}(?:ing|ed)?[ _.:]+.", re.IGNORECASE)
        found = tuple(name for name in by_name.values() if pattern.match(name))
        if len(found) >= _FEWEST:
            return found
    return ()
