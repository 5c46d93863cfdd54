"""Specs: one string, read the same everywhere, with errors that help."""

import math
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftduel.errors import DriftduelError
from driftduel.specs import Choice, Range, Registry, Spec

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
    weight=st.floats(0, 1, exclude_min=True, exclude_max=True),
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
