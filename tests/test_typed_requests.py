"""Typed features: declarations and requests, in the form of the command line and of JSON."""

import random

import numpy as np
import pytest

from driftduel import DriftduelError
from driftduel.requests import Feature, RequestShape, TypedFeatures, parse_feature
from tests.requests_of import FEATURES, broken, valid


def test_declarations_as_text_and_as_objects_agree():
    texts = TypedFeatures.of(["category=chat,code", "length:number", "age:number:40:10"])
    objects = TypedFeatures.of(
        [
            {"name": "category", "values": ["chat", "code"]},
            {"name": "length"},
            {"name": "age", "centre": 40, "scale": 10},
        ]
    )
    assert texts == objects
    assert texts == TypedFeatures.of(texts.features)
    assert [str(each) for each in texts.features] == [
        "category=chat,code", "length:number", "age:number:40:10",
    ]  # fmt: skip
    assert texts.shape == RequestShape(4)


def test_a_single_category_is_one_hot_and_has_no_constant():
    features = TypedFeatures.of(["category=chat,code,math"])
    assert features.shape == RequestShape(3, one_hot=True)
    assert features.scale({"category": "math"}) == (0.0, 0.0, 1.0)


def test_numbers_are_centred_scaled_and_clipped_like_plain_requests():
    features = TypedFeatures.of(FEATURES)
    rng = np.random.default_rng(1)
    for _ in range(1000):
        length = float(rng.normal(100, 200))
        place = int(rng.integers(3))
        request = {"length": length, "category": ("chat", "code", "Übung")[place]}
        plain = [float(place == each) for each in range(3)] + [(length - 100) / 50]
        assert features.scale(request) == RequestShape(4).scale(plain)
    for far in (1e308, -1e308, 10**300):
        request = {"category": "chat", "length": far}
        assert features.numbers(request)[-1] == (3.0 if far > 0 else -3.0)
    wide = TypedFeatures((Feature("x", (), -1e308, 1.0),))
    assert wide.numbers({"x": 1e308}) == [3.0]  # the difference is infinite


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ("category=chat", "the feature 'category' has 1 value; a category has 2 to 32."),
        ("category=chat,chat", "has a value twice"),
        ("category=", "value of the feature 'category' is ''"),
        ("=a,b", "name of a feature is ''"),
        ("length:integer", "must be NAME=VALUE,VALUE, NAME:number or"),
        ("length:number:1", "must be NAME=VALUE,VALUE, NAME:number or"),
        ("length:number:1:0", "the scale 0 of the feature 'length' must be above 0"),
        ("length:number:nan:1", "the centre 'nan' of the feature 'length' must be a finite number"),
        ("length", "must be NAME=VALUE,VALUE"),
        ({"name": "a", "values": ["x", "y"], "scale": 2}, "has no centre and scale"),
        ({"name": "a", "values": "xy"}, "must be a list of strings"),
        ({"name": "a", "valeus": []}, "an object with name and values"),
        ({"name": "a\x1b"}, "control character"),
        ({"name": "a", "values": ["x", 1]}, "value of the feature 'a' is 1"),
        ({"name": "a", "values": [str(each) for each in range(33)]}, "has 33 values"),
        ({"name": "a", "scale": 10**400}, "must be a finite number"),
        (7, "the feature 7 must be"),
    ],
)
def test_wrong_declarations(declared, fault):
    with pytest.raises(DriftduelError) as error:
        parse_feature(declared)
    assert fault in str(error.value)


def test_lists_of_declarations():
    for given, fault in [
        ("category=a,b", "must be a list"),
        (["a:number", "a:number"], "declared twice"),
        ([f"f{each}:number" for each in range(64)], "are 64 numbers"),
        (None, "must be a list"),
    ]:
        with pytest.raises(DriftduelError, match=fault):
            TypedFeatures.of(given)
    assert not TypedFeatures.of([])


def test_faults_name_the_feature_and_its_values():
    features = TypedFeatures.of(FEATURES)
    values = "one of 'chat', 'code', 'Übung'"
    for request, sentence in [
        ({"category": "x", "length": 1}, f"the feature 'category' is 'x'; it must be {values}."),
        ({"category": "chat"}, "the request has no feature 'length'; it must be a finite number."),
        (
            {"category": "chat", "length": "1"},
            "the feature 'length' is '1'; it must be a finite number.",
        ),
        (
            {"category": "chat", "length": True},
            "the feature 'length' is True; it must be a finite number.",
        ),
        (
            {"category": "chat", "length": 1, "__proto__": 2},
            f"the request has the unknown feature '__proto__'; it must have 'category': {values}; "
            "'length': a finite number.",
        ),
    ]:
        with pytest.raises(DriftduelError) as error:
            features.checked(request)
        assert str(error.value) == sentence


def test_ten_thousand_broken_requests_give_one_short_sentence_each():
    features, rng = TypedFeatures.of(FEATURES), random.Random(5)
    seen = set()
    for _ in range(10_000):
        with pytest.raises(DriftduelError) as error:
            features.scale(broken(rng))
        sentence = str(error.value)
        assert sentence.isprintable()
        assert sentence.endswith(".")
        assert len(sentence) < 400
        seen.add(sentence)
    assert len(seen) > 100


def test_two_thousand_valid_requests_are_scaled():
    features, rng = TypedFeatures.of(FEATURES), random.Random(6)
    for _ in range(2000):
        request = valid(rng)
        x = features.scale(request)
        assert sum(each * each for each in x) == pytest.approx(1, abs=1e-12)
        assert features.checked(features.checked(request)) == features.checked(request)


def test_rows_of_files_may_hold_numbers_as_text():
    features = TypedFeatures.of(["category=1,2", "length:number"])
    assert features.parse({"category": "2", "length": "1.5"}) == {"category": "2", "length": 1.5}
    for wrong in ("", "nan", "one"):
        with pytest.raises(DriftduelError, match="the feature 'length' is"):
            features.parse({"category": "2", "length": wrong})
