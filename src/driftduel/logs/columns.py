"""Which column of a log says what, and what a vote says."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from driftduel.errors import DriftduelError
from driftduel.wording import listed

__all__ = ["Columns", "find_columns", "outcome_of", "quoted", "words_for_numbers"]

# What people call them, in lower case; the first is our own name.
_ALIASES = {
    "first": ("first", "a", "left", "model_a", "option_a", "item_a", "player_a", "team_a"),
    "second": ("second", "b", "right", "model_b", "option_b", "item_b", "player_b", "team_b"),
    "winner": ("winner", "won", "preferred", "choice", "chosen", "result", "outcome"),
    "loser": ("loser", "lost", "rejected"),
    "time": ("time", "timestamp", "tstamp", "datetime", "date", "created_at", "round"),
    "group": ("group",),
    "weight": ("weight",),
    "tie": ("tie", "tied", "draw"),
}
_FIRST = {"first", "a", "left", "model_a", "option_a", "item_a", "player_a", "team_a", "true"}
_SECOND = {"second", "b", "right", "model_b", "option_b", "item_b", "player_b", "team_b", "false"}
_TIE = {"tie", "tied", "draw", "equal", "even", "same", "both", "0.5", "1/2"}
_TIE |= {"tie (bothbad)", "bothbad", "both_bad", "both bad", "neither"}
_YES = {"1", "1.0", "true", "yes", "y", "t"}
_NO = {"0", "0.0", "false", "no", "n", "f", ""}
_TWICE = "_duplicated_0"  # what polars adds to a name that is there already
_LONGEST_NAME = 1000  # letters; whatever is longer is no name


def quoted(value: object, most: int = 60) -> str:
    """Quote a value that may be anything, so that it fits into a sentence.

    Examples
    --------
    >>> quoted("tea"), quoted("x" * 1_000_000, 8)
    ("'tea'", "'xxxxxxxx...'")
    """
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= most else f"{text[:most]}...")


@dataclass(frozen=True)
class Columns:
    """The names of a log's columns; those that it does not have are None."""

    winner: str
    loser: str | None = None
    first: str | None = None
    second: str | None = None
    time: str | None = None
    group: tuple[str, ...] = ()
    """What votes depend on, together: two votes are of one group if they agree in all of these."""
    weight: str | None = None
    tie: str | None = None

    @property
    def placed(self) -> bool:
        """Whether the log says which option was shown first."""
        return self.first is not None

    @property
    def pair(self) -> tuple[str, str]:
        """The columns that name the two options."""
        if self.first is not None and self.second is not None:
            return self.first, self.second
        return self.winner, str(self.loser)

    def used(self) -> set[str]:
        """Return the names of all columns that mean something."""
        single = {getattr(self, field.name) for field in fields(self) if field.name != "group"}
        return {name for name in single | set(self.group) if name is not None}


def find_columns(there: Sequence[str], given: Mapping[str, str | Sequence[str] | None]) -> Columns:
    """Find out which column is which: as it was said, or by its name.

    Parameters
    ----------
    there
        The columns of the log.
    given
        What was said of them, by our names: ``{"winner": "model_a", "group": ["race", "day"]}``.
    """
    roles: dict[str, str | None] = dict.fromkeys(_ALIASES)
    group: tuple[str, ...] = ()
    for role, names in given.items():
        if role not in _ALIASES:
            raise DriftduelError(
                f"there is no column {quoted(role)} to name; there are {', '.join(_ALIASES)}."
            )
        if names is None:
            continue
        several = (names,) if isinstance(names, str) else tuple(names)
        for name in several:
            if name not in there:
                raise DriftduelError(
                    f"the log has no column {quoted(name)}; {_nearest(name, there)}"
                )
        if role == "group":
            group = several
        elif len(several) != 1:
            raise DriftduelError(f"{role} must be one column, not {_listed(several)}.")
        else:
            roles[role] = several[0]
    by_name = {name.strip().lower().replace(" ", "_"): name for name in reversed(there)}
    taken = {name for name in roles.values() if name is not None}
    for role, aliases in _ALIASES.items():
        if roles[role] is None and role not in given:
            known = (by_name[alias] for alias in aliases if alias in by_name)
            roles[role] = next((name for name in known if name not in taken), None)
            taken.add(roles[role] or "")
    if not group and roles["group"] is not None:
        group = (roles["group"],)
    winner, loser, first, second = (roles[r] for r in ("winner", "loser", "first", "second"))
    if loser is not None and "first" not in given:  # who won and who lost says it all
        first = second = None
    if winner is None or (loser is None and (first is None or second is None)):
        raise DriftduelError(
            f"a log needs the columns winner and loser, or first, second and winner; this one has "
            f"{_listed(there)}. Say which is which, as in --columns winner=NAME,loser=NAME."
        )
    if first is not None and second is not None:
        loser = None
    named = [name for name in (winner, loser, first, second) if name is not None]
    if len(set(named)) < len(named):
        raise DriftduelError(f"one column cannot be two things: {_listed(named)}.")
    columns = Columns(
        winner, loser, first, second, roles["time"], group, roles["weight"], roles["tie"]
    )
    for name in sorted(columns.used()):
        if f"{name}{_TWICE}" in there:
            raise DriftduelError(
                f"the log has two columns {quoted(name)}; leave one of them out, or rename it."
            )
    return columns


def _nearest(name: str, there: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, there, n=1)
    return f"did you mean {quoted(close[0])}?" if close else f"it has {_listed(there)}."


def _listed(names: Sequence[str]) -> str:
    return listed([quoted(name) for name in names], most=12) or "no column at all"


def words_for_numbers(winners: Sequence[str | None]) -> dict[str, float]:
    """Tell what numbers in the column of winners mean, if all of them are numbers.

    1 and 0 are the first and the second, and so are 1 and 2; 0.5 is a tie.
    """
    words = {word.strip() for word in winners if word is not None and word.strip()}
    if words <= {"0", "1", "0.5", "0.0", "1.0"}:
        return {"1": 1.0, "1.0": 1.0, "0": 0.0, "0.0": 0.0, "0.5": 0.5}
    if words <= {"1", "2", "0.5", "1.0", "2.0"}:
        return {"1": 1.0, "1.0": 1.0, "2": 0.0, "2.0": 0.0, "0.5": 0.5}
    return {}


def outcome_of(
    first: str | None,
    second: str | None,
    winner: str | None,
    tie: str | None,
    numbers: Mapping[str, float],
) -> float | str:
    """Return 1 if the first won, 0 if the second did, 1/2 for a tie; or what is wrong.

    An option's name goes before every other meaning of a word.

    Examples
    --------
    >>> outcome_of("tea", "milk", "milk", None, {}), outcome_of("tea", "milk", "model_a", None, {})
    (0.0, 1.0)
    >>> outcome_of("tea", "milk", "ale", None, {})
    "the winner 'ale' is neither of the two"
    """
    if first is None or second is None:
        return "an option is missing"
    if max(len(first), len(second)) > _LONGEST_NAME:
        return f"the name of an option has more than {_LONGEST_NAME:,} letters"
    if first == second:
        return "an option is compared with itself"
    if tie is not None:
        if tie.strip().lower() in _YES:
            return 0.5
        if tie.strip().lower() not in _NO:
            return f"{quoted(tie)} does not say whether it is a tie"
    if winner is None:
        return "the winner is missing"
    for names, value in (({first}, 1.0), ({second}, 0.0)):
        if winner in names:
            return value
    word = winner.strip()
    if word in numbers:
        return numbers[word]
    for words, value in ((_FIRST, 1.0), (_SECOND, 0.0), (_TIE, 0.5)):
        if word.lower() in words:
            return value
    return f"the winner {quoted(winner)} is neither of the two"
