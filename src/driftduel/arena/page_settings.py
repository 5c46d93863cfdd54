"""Settings of the vote page: texts and buttons. They may change, and are not part of the log."""

import re
from difflib import get_close_matches
from typing import Any

import msgspec

from driftduel.arena.problems import ArenaError
from driftduel.arena.stores import require_storable
from driftduel.arena.translations import word_keys
from driftduel.errors import DriftduelError

__all__ = ["BUTTONS", "LANGUAGE", "PageSettings", "decode_page", "encode_page"]

BUTTONS = ("left", "right", "tie", "both-bad", "skip")
"""The buttons that a vote page can have, in their order."""
LANGUAGE = r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}"
"""Regular expression of a language tag."""
_LONGEST = {"title": 200, "question": 500, "instructions": 5000}
_LONGEST_WORD = 500


class PageSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the vote page of an arena."""

    title: str = ""
    """Heading of the page; empty: none."""
    question: str = ""
    """The question above the options; empty: a default in the language of the page."""
    instructions: str = ""
    """Text for voters, without markup."""
    language: str = "en"
    """Language tag of the page, such as ``de`` or ``pt-BR``."""
    buttons: tuple[str, ...] = ("left", "right", "tie", "skip")
    """Some of `BUTTONS`, always with ``left`` and ``right``."""
    reveal: bool = False
    """Whether voters learn the names of the options after a vote on an item."""
    reasons: bool = False
    """Whether the page has a field for the reason of a vote."""
    words: dict[str, str] = {}
    """Words of the page, in place of those of its language; keys are those of `word_keys`."""

    def changed(self, **changes: Any) -> "PageSettings":
        """Return a copy with other values.

        Raises
        ------
        ArenaError
            ``bad-request``, if a value is not valid.
        """
        try:
            page = msgspec.convert({**msgspec.to_builtins(self), **changes}, PageSettings)
        except msgspec.ValidationError as error:
            raise ArenaError(
                "bad-request", f"a setting of the page is not valid: {error}."
            ) from None
        for key, longest in _LONGEST.items():
            _check_text(key, getattr(page, key), longest)
        if not re.fullmatch(LANGUAGE, page.language):
            raise ArenaError(
                "bad-request",
                f"language={page.language!r:.40} is not a language tag; use one such as 'de'.",
            )
        unknown = next((each for each in page.buttons if each not in BUTTONS), None)
        if unknown is not None or not {"left", "right"} <= set(page.buttons):
            raise ArenaError(
                "bad-request",
                f"buttons={', '.join(page.buttons)!r:.80} must have left and right, and may have "
                "tie, both-bad and skip.",
            )
        for key, word in page.words.items():
            if key not in word_keys():
                raise _unknown_word(key)
            _check_text(f"the word {key!r:.40}", word, _LONGEST_WORD)
        ordered = tuple(each for each in BUTTONS if each in page.buttons)
        return msgspec.structs.replace(page, buttons=ordered)


def _unknown_word(key: str) -> ArenaError:
    close = get_close_matches(key, word_keys(), 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return ArenaError(
        "bad-request",
        f"words has the unknown key {key!r:.40}{hint}; the keys are {', '.join(word_keys())}.",
    )


def _check_text(name: str, text: str, longest: int) -> None:
    if len(text) > longest:
        raise ArenaError("bad-request", f"{name} is longer than {longest:,} characters.")
    try:
        require_storable(text)
    except DriftduelError as error:
        raise ArenaError("bad-request", f"{name} is not valid: {error}") from None


def encode_page(page: PageSettings) -> str:
    """Return the settings as the store keeps them."""
    return msgspec.json.encode(page).decode()


def decode_page(stored: str | None) -> PageSettings:
    """Return stored settings; the defaults if there are none."""
    if stored is None:
        return PageSettings()
    plain = msgspec.json.decode(stored, type=dict[str, Any])
    known = PageSettings.__struct_fields__  # a newer version may have stored further ones
    return msgspec.convert({key: plain[key] for key in known if key in plain}, PageSettings)
