"""Words of the vote page: every language has all of them, and the same placeholders."""

import json
import re
from importlib.resources import files

import pytest

pytest.importorskip("msgspec")

from driftduel.arena import ArenaError
from driftduel.arena.page_settings import PageSettings
from driftduel.arena.translations import languages, word_keys, words_of

STATIC = files("driftduel.arena.web") / "static"
SCRIPTS = [(STATIC / name).read_text("utf-8") for name in ("drift-duel.js", "drift-slate.js")]
WORD = re.compile(r'"?([a-z-]+)"?: ("(?:[^"\\]|\\.)*")')


def english():
    found = {}
    for script in SCRIPTS:
        start = script.index("const WORDS = {")
        words = WORD.findall(script[start : script.index("};", start)])
        found |= {key: json.loads(text) for key, text in words}
    return found


def test_every_language_has_every_word_with_its_placeholders():
    words = english()
    assert len(words) > 40
    assert languages() == ("en", "de", "fr", "es")
    assert {*word_keys()} == words.keys()
    for language in languages()[1:]:
        found = words_of(language)
        assert found.keys() == words.keys(), language
        for key, text in found.items():
            assert text
            assert re.findall(r"\{\w+\}", text) == re.findall(r"\{\w+\}", words[key]), (
                language,
                key,
            )


def test_the_script_uses_every_word():
    rest = ""
    for script in SCRIPTS:
        start = script.index("const WORDS = {")
        rest += script[:start] + script[script.index("};", start) :]
    made = {"of-left", "of-right", "left-option", "right-option"}  # from the name of a side
    made |= {f"saved-{pick}" for pick in ("left", "right", "tie", "both-bad", "skip")}
    made |= {key for key in english() if key.removeprefix("slate-") in english().keys() - {key}}
    for key in english().keys() - made:
        assert re.search(rf'words\.{key}\b|"{key}"|\b{key}: "|word="{key}"', rest), key


def test_unknown_languages_are_english_and_own_words_win():
    assert words_of("tlh") == words_of("") == {}
    assert words_of("DE-ch") == words_of("de")
    assert words_of("fr", {"tie": "Égal"}) == words_of("fr") | {"tie": "Égal"}
    assert words_of("en", {"tie": "Same"}) == {"tie": "Same"}


def test_only_words_of_the_page_can_be_replaced():
    page = PageSettings().changed(words={"tie": "Same"})
    assert page.words == {"tie": "Same"}
    with pytest.raises(ArenaError, match=r"key 'undoo' \(did you mean 'undo'\?\); the keys are"):
        page.changed(words={"undoo": "Back"})
    with pytest.raises(
        ArenaError, match="unknown key 'xyzzy'; the keys are question, prompt, left"
    ):
        page.changed(words={"xyzzy": "Back"})
