"""Words of the vote page in other languages than English, from the file ``translations.json``."""

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import msgspec

__all__ = ["languages", "word_keys", "words_of"]


@lru_cache(maxsize=1)
def _load() -> dict[str, dict[str, str]]:
    content = (files("driftduel.arena") / "translations.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, dict[str, str]])


def words_of(language: str, own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the words of the vote page that differ from the English ones in its script.

    Parameters
    ----------
    language
        Language tag of the page; the part before a hyphen selects the words. For a language that
        the file does not contain, all words stay English.
    own
        Words of the arena's owner, which take precedence.

    Examples
    --------
    >>> words_of("de-AT")["question"], words_of("de", {"question": "Was?"})["question"]
    ('Welche ist besser?', 'Was?')
    >>> words_of("en")
    {}
    """
    return {**_load().get(language.partition("-")[0].lower(), {}), **(own or {})}


def languages() -> tuple[str, ...]:
    """Return the languages of the file, and English."""
    return ("en", *_load())


def word_keys() -> tuple[str, ...]:
    """Return the keys of all words of the vote page."""
    return tuple(_load()["de"])
