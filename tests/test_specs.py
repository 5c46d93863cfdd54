"""Specs: one string, read the same everywhere, with errors that help."""

import math
from typing import Annotated

import pytest
from hypothesis import given, strategies as st

from driftduel.errors import DriftduelError
from driftduel.specs import MOST_NUMBERS, Choice, Range, Registry, Spec, need_room

THINGS: Registry[dict] = Registry("thing")


@THINGS.register("box")
def box(
    size: Annotated[int, Range(2), "how large"] = 3,
    weight: Annotated[float, Range(0, 1, open=True), "how heavy"] = 0.5,
    colour: Annotated[str, Choice(("red", "green")), "which colour"] = "red",
    limit: Annotated[int | None, Range(1), "at most"] = None,
    shut: Annotated[bool, "whether it is shut"] = False,
) -> dict:
    """Make a box."""
    return {"size": size, "weight": weight, "colour": colour, "limit": limit, "shut": shut}


@THINGS.register("path")
def path(path: Annotated[str, "where"]) -> dict:
    """Take a path."""
    return {"path": path}


def test_defaults_and_values():
    assert THINGS.build("box") == {
        "size": 3, "weight": 0.5, "colour": "red", "limit": None, "shut": False,
    }  # fmt: skip
    built = THINGS.build("box:size=1e3,weight=.25,colour=green,limit=7,shut=true")
    assert built == {"size": 1000, "weight": 0.25, "colour": "green", "limit": 7, "shut": True}
    assert THINGS.build("box:limit=none")["limit"] is None


def test_defaults_from_outside_yield_to_the_spec():
    assert THINGS.build("box", size=9, unknown=1)["size"] == 9
    assert THINGS.build("box:size=4", size=9)["size"] == 4


def test_paths_may_hold_commas_and_colons():
    assert THINGS.build("path:path=/a,b/c:d.npz") == {"path": "/a,b/c:d.npz"}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("bax", "no thing named 'bax'; did you mean box"),
        ("zzz", "known: box, path"),
        ("box:sise=3", "no key 'sise'; did you mean size"),
        ("box:size=1", "size=1 must be a whole number at least 2"),
        ("box:size=2.5", "size=2.5 must be a whole number"),
        ("box:size=nan", "size=nan must be a whole number"),
        ("box:size=inf", "size=inf must be a whole number"),
        ("box:weight=1", "weight=1 must be a number strictly between 0 and 1"),
        ("box:weight=nan", "weight=nan must be"),
        ("box:colour=blue", "colour=blue must be one of red, green"),
        ("box:shut=maybe", "shut=maybe must be true or false"),
        ("box:size", "not of the form key=value"),
        ("box:size=3,size=4", "gives size twice"),
        ("path", "needs the key path"),
        ("", "is not a spec"),
        ("3box", "is not a spec"),
    ],
)
def test_errors_name_the_value_and_what_would_be_right(spec, said):
    with pytest.raises(DriftduelError) as error:
        THINGS.build(spec)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@given(
    size=st.integers(2, 10**12),
    weight=st.floats(1e-100, 1, exclude_max=True),
    colour=st.sampled_from(["red", "green"]),
    limit=st.none() | st.integers(1, 10**6),
    shut=st.booleans(),
)
def test_a_resolved_spec_is_written_and_read_back_the_same(size, weight, colour, limit, shut):
    values = {"size": size, "weight": weight, "colour": colour, "limit": limit, "shut": shut}
    resolved = THINGS.resolve(Spec("box", values))
    assert THINGS.resolve(str(resolved)) == resolved
    assert THINGS.build(str(resolved)) == values


def test_a_name_is_registered_once():
    with pytest.raises(DriftduelError, match="already"):
        THINGS.register("box")(box)


def test_range_reads_as_a_sentence():
    assert str(Range(2)) == "at least 2"
    assert str(Range(0, open=True)) == "above 0"
    assert math.inf in Range(0)


@THINGS.register("scale")
def scale(
    factor: Annotated[float, Range(0), "how much"] = 1.0,
    below: Annotated[float, Range(0, 1e200), "how little"] = 1.0,
    count: Annotated[int, Range(0), "how often"] = 1,
    few: Annotated[int, Range(0, 2**70), "how seldom"] = 1,
    free: int = 0,
    limit: Annotated[float, Range(0, infinite=True), "at most"] = math.inf,
) -> tuple:
    """Weigh something."""
    return factor, below, count, few, free, limit


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("factor", "inf", "scale: factor=inf must be a number at least 0, and finite."),
        ("factor", "1e400", "factor=1e400 must be a number at least 0, and finite."),
        ("factor", "-inf", "factor=-inf must be a number at least 0."),
        ("factor", "1e101", "in size between 1e-100 and 1e100"),
        ("factor", "1e-101", "in size between 1e-100 and 1e100"),
        ("factor", "5e-324", "in size between 1e-100 and 1e100"),
        ("below", "1e-200", "in size between"),
        ("count", "1000000000000000001", "in size at most 1,000,000,000,000,000,000."),
        ("count", "1e300", "in size at most"),
        ("free", "-1e19", "in size at most"),
        ("count", "inf", "must be a whole number at least 0."),
        ("count", "9" * 5000, "must be a whole number at least 0."),
    ],
)
def test_numbers_that_cannot_be_computed_with(key, value, said):
    with pytest.raises(DriftduelError) as error:
        THINGS.build(f"scale:{key}={value}")
    assert said in str(error.value)
    assert len(str(error.value)) < 200


def test_numbers_at_the_ends_of_what_can_be_computed_with():
    spec = "scale:factor=1e100,below=1e200,count=1e18,few=1180591620717411303424,limit=inf"
    assert THINGS.build(spec) == (1e100, 1e200, 10**18, 2**70, 0, math.inf)
    assert THINGS.build("scale:factor=0,below=1e-100,limit=1e50")[:2] == (0.0, 1e-100)
    assert THINGS.build(f"scale:factor={0.1 + 0.2!r}")[0] == 0.1 + 0.2
    assert math.copysign(1, THINGS.build("scale:factor=-0.0")[0]) == 1


@pytest.mark.parametrize(
    ("allowed", "written"),
    [
        (Range(0, 2**128 - 1), "between 0 and 2^128 - 1"),
        (Range(1, 10**15), "between 1 and 1e15"),
        (Range(1, 10**6), "between 1 and 1e6"),
        (Range(0, 255), "between 0 and 255"),
        (Range(1e-5, 0.5, open_high=True), "at least 1e-05 and below 0.5"),
    ],
)
def test_ranges_are_written_as_one_would_type_them(allowed, written):
    assert str(allowed) == written


def test_what_takes_too_much_room_is_refused_before_it_is_made():
    need_room("a box", MOST_NUMBERS)
    said = r"a box would take 100,000,001 numbers \(0.8 GB\); at most 100,000,000 \(0.8 GB\)"
    with pytest.raises(DriftduelError, match=said):
        need_room("a box", MOST_NUMBERS + 1)


def test_a_machine_without_enough_memory():
    said = "'hoard' needs more memory than there is: Unable to"
    with THINGS.temporarily():

        @THINGS.register("hoard")
        def hoard() -> dict:
            raise MemoryError("Unable to allocate 9 TiB")

        with pytest.raises(DriftduelError, match=said):
            THINGS.build("hoard")


def test_what_is_registered_for_a_while_is_forgotten_even_after_an_error():
    def register_twice() -> None:
        with THINGS.temporarily() as things:
            things.register("guest")(box)
            assert "guest" in THINGS
            things.register("guest")(box)

    before = [entry.name for entry in THINGS]
    with pytest.raises(DriftduelError, match="already"):
        register_twice()
    assert [entry.name for entry in THINGS] == before
