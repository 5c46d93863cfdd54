"""Functions that validate option names: allowed characters, and names that look the same."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from driftduel.arena.problems import ArenaError

__all__ = ["check_name", "find_named", "name_key", "require_distinct"]

# Characters with an empty glyph, although their Unicode category is a visible one.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# Marks without a visible effect on the name: variation selectors and the grapheme joiner.
_IGNORED = frozenset(
    [chr(code) for code in range(0xFE00, 0xFE10)]
    + [chr(code) for code in range(0xE0100, 0xE01F0)]
    + ["\u034f"]
)
_REFUSED = ("Cf", "Cc", "Cs", "Zl", "Zp")


class _HasName(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=_HasName)


def check_name(name: str) -> None:
    """Raise ArenaError if a name is empty or has invisible characters."""
    for sign in name:
        if unicodedata.category(sign) in _REFUSED or sign in _BLANK:
            raise ArenaError(
                "bad-request",
                f"the option's name {_escape(name)} has an invisible character "
                f"(U+{ord(sign):04X}); remove it.",
            )
    if not name_key(name):
        raise ArenaError("bad-request", "the name of an option is empty; pass a visible string.")


def name_key(name: str) -> str:
    """Return a key that is equal for two names which look the same (NFKC, spaces, marks).

    Examples
    --------
    >>> name_key("ﬁne  tea ") == name_key("fine tea")
    True
    """
    plain = unicodedata.normalize("NFKC", "".join(sign for sign in name if sign not in _IGNORED))
    return " ".join(plain.split())


def require_distinct(names: Sequence[str]) -> None:
    """Raise ArenaError if two names look the same."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name_key(name))
        if other is not None:
            same = "" if other == name else f", which looks the same as {_escape(other)}"
            raise ArenaError(
                "bad-request", f"two options have the name {_escape(name)}{same}; rename one."
            )
        seen[name_key(name)] = name


def find_named(options: Iterable[Named], wanted: str) -> Named | None:
    """Return the option with this id or unique name; None if there is none.

    Raises
    ------
    ArenaError
        ``bad-request``, if several options match the argument.
    """
    options = list(options)
    by_id = [option for option in options if option.id == wanted]
    key = name_key(wanted)
    by_name = [option for option in options if name_key(option.name) == key]
    found = {option.id: option for option in by_id + by_name}
    if len(found) > 1:
        raise ArenaError(
            "bad-request",
            f"{_escape(wanted)} is ambiguous: it matches the options {', '.join(sorted(found))}; "
            "pass an id that is not the name of another option.",
        )
    return next(iter(found.values()), None)


def _escape(name: str) -> str:
    return f"{name!a:.80}" if any(not sign.isprintable() for sign in name) else f"{name!r:.80}"
