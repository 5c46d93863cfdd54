"""Tags and reasons of votes: their limits, in one place for Python, HTTP and files."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from driftduel.arena.problems import ArenaError
from driftduel.arena.stores import require_storable
from driftduel.errors import DriftduelError

__all__ = [
    "JUDGE",
    "LONGEST_REASON",
    "LONGEST_TAG",
    "MOST_TAGS",
    "check_reason",
    "check_tag_text",
    "check_tags",
    "parse_tag",
]

#: Key of the tag that marks the votes of an automatic judge.
JUDGE = "judge"
MOST_TAGS = 8
LONGEST_TAG = 64
LONGEST_REASON = 1000


def check_tags(tags: Mapping[str, Any] | None, what: str = "a vote") -> dict[str, str]:
    """Return the tags of a vote as a dict sorted by key; None gives an empty dict.

    Raises
    ------
    ArenaError
        ``bad-request``, if there are too many, or one is too long, empty or not a string.

    Examples
    --------
    >>> check_tags({"lang": "de", "channel": "app"})
    {'channel': 'app', 'lang': 'de'}
    """
    if tags is None:
        return {}
    if not isinstance(tags, Mapping):
        raise ArenaError("bad-request", f"the tags of {what} must be an object of strings.")
    if len(tags) > MOST_TAGS:
        raise ArenaError(
            "bad-request", f"{what} has {len(tags)} tags; at most {MOST_TAGS} are allowed."
        )
    for key, value in tags.items():
        check_tag_text(key, "key")
        check_tag_text(value, f"value of tag {key!r:.40}")
    return {key: tags[key] for key in sorted(tags)}


def parse_tag(text: str) -> tuple[str, str]:
    """Return key and value of ``KEY:VALUE``, split at the first colon.

    Examples
    --------
    >>> parse_tag("topic:code")
    ('topic', 'code')
    """
    key, colon, value = text.partition(":")
    if not (key and colon and value):
        raise ArenaError(
            "bad-request", f"tag={text!r:.80} must be KEY:VALUE, for example topic:code."
        )
    return key, value


def check_tag_text(text: Any, what: str) -> None:
    """Raise ArenaError if a key or a value of a tag is not a short line of text."""
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST_TAG:
        raise ArenaError(
            "bad-request",
            f"the {what} is {text!r:.40}; it must be a string of 1 to {LONGEST_TAG} characters.",
        )
    for sign in text:
        if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp"):
            raise ArenaError(
                "bad-request",
                f"the {what} has a control character (U+{ord(sign):04X}); remove it.",
            )


def check_reason(reason: Any) -> str:
    """Return the reason of a vote; raise ArenaError if it is too long or cannot be stored."""
    if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
        raise ArenaError(
            "bad-request", f"reason must be a string of at most {LONGEST_REASON:,} characters."
        )
    try:
        require_storable(reason)
    except DriftduelError as error:
        raise ArenaError("bad-request", f"the reason is not valid: {error}") from None
    return reason
