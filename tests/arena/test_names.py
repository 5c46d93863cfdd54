"""Names of options: invisible and equal ones are refused, unique ones stand for ids."""

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

from driftduel.arena import Arena, ArenaError
from driftduel.arena.names import name_key
from driftduel.arena.stores import OptionText

INVISIBLE = [
    "\u200b", "re\u200bd", "red\u200d", "\ufeffred", "re\u00add", "\u202ered", "\u2066red",
    "\u3164", "\u2800", "re\x00d", "re\nd", "\u2028", "\U000e0041red",
]  # fmt: skip
LIKE_RED = ["red", " red ", "ｒｅｄ", "red\ufe0f", "re\u034fd", "𝐫𝐞𝐝"]


@pytest.fixture
def arena():
    with Arena(options=["red", "green", "blue"]) as arena:
        yield arena


def refused(problem, verb, *args, **named):
    with pytest.raises(ArenaError) as error:
        verb(*args, **named)
    assert error.value.problem == problem
    said = str(error.value)
    assert said.endswith(".")
    assert said.isprintable()
    return said


@pytest.mark.parametrize("name", INVISIBLE)
def test_an_invisible_character_is_refused(arena, name):
    for verb, args, named in (
        (Arena, (), {"options": ["red", name]}),
        (arena.join, (name,), {}),
    ):
        assert "invisible character (U+" in refused("bad-request", verb, *args, **named)
    assert len(arena.options()) == 3


@pytest.mark.parametrize("name", LIKE_RED)
def test_a_name_that_looks_like_another_is_refused(arena, name):
    assert "two options have the name" in refused("bad-request", Arena, options=["red", name])
    assert "taken by option o1" in refused("name-taken", arena.join, name)
    assert "taken by option o1" in refused("name-taken", arena._live.rewrite, "o2", name, None)
    assert arena._live.rewrite("o1", name, None).name == name
    arena._live.rewrite("o1", "red", None)


@pytest.mark.parametrize("name", ["Red", "red 2", "röd", "❤️", "赤", "e\u0301", "2²", "a\u00a0b"])
def test_other_names_are_fine(arena, name):
    assert arena.join(name).name == name


def test_options_are_given_by_ids_or_names(arena):
    assert arena.leave("green").id == "o2"
    assert not arena.options()[1].present
    assert arena.join("green").present
    assert arena.leave("o2").name == "green"
    assert arena.join("o2").present
    refused("name-taken", arena.join, "green")
    refused("bad-request", arena.join, "o2")
    refused("no-such-option", arena.leave, "mauve")
    refused("no-such-option", arena.leave, "")
    assert arena.add_past_votes([("red", "o2", "red"), ("green", "blue", None)]) == 2


def test_an_option_that_left_comes_back_with_its_past(arena):
    arena.leave("green")
    back = arena.join(" green")
    assert (back.id, back.present) == ("o2", True)
    assert len(arena.options()) == 3


def test_a_name_that_is_anothers_id_is_ambiguous():
    with Arena(options=["o2", "x", "y"]) as arena:
        assert "matches the options o1, o2" in refused("bad-request", arena.leave, "o2")
        assert arena.leave("o1").name == "o2"


def test_equal_names_of_an_earlier_version_need_an_id(arena):
    live = arena._live
    live._texts = {**live._texts, "o3": OptionText("o3", "red", "text", "")}
    assert "o1, o3" in refused("bad-request", arena.leave, "red")
    assert arena.leave("o3").id == "o3"


def test_a_key_says_what_looks_the_same():
    assert len({name_key(name) for name in LIKE_RED}) == 1
