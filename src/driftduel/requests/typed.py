"""Typed features: a request with names, such as a category and a length, becomes numbers."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from driftduel._internal.wording import counted
from driftduel.errors import DriftduelError
from driftduel.requests.columns import MOST_VALUES
from driftduel.requests.scaling import CLIP, MOST_FEATURES, RequestShape, ScaledRequest

__all__ = ["Feature", "TypedFeatures", "parse_feature", "short_value"]

_LONGEST = 64
_NUMBER = "number"
_LISTED = 8


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of a request: a category, or a number.

    Parameters
    ----------
    name
        Its name.
    values
        The values of a category; empty for a number.
    centre, scale
        A number becomes (number - centre) / scale, and values beyond 3 are clipped. It should be
        near 0, with a deviation of about 1.
    """

    name: str
    values: tuple[str, ...] = ()
    centre: float = 0.0
    scale: float = 1.0

    @property
    def size(self) -> int:
        """The number of numbers that it becomes."""
        return len(self.values) or 1

    def __str__(self) -> str:
        if self.values:
            return f"{self.name}={','.join(self.values)}"
        scaling = "" if (self.centre, self.scale) == (0, 1) else f":{self.centre:g}:{self.scale:g}"
        return f"{self.name}:{_NUMBER}{scaling}"

    def allowed(self) -> str:
        """Return a phrase with the values that a request may have."""
        if not self.values:
            return "a finite number"
        shown = ", ".join(repr(value) for value in self.values[:_LISTED])
        more = len(self.values) - _LISTED
        return f"one of {shown}" + (f" and {more} more" if more > 0 else "")

    def checked(self, value: Any) -> str | float:
        """Return a value of a request, numbers as float, or raise."""
        if self.values:
            if type(value) is str and value in self.values:
                return value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        raise DriftduelError(
            f"the feature {self.name!r} is {short_value(value)}; it must be {self.allowed()}."
        )

    def numbers(self, value: str | float) -> list[float]:
        """Return a checked value as numbers."""
        if self.values:
            return [float(value == each) for each in self.values]
        assert not isinstance(value, str)
        # The difference of two finite numbers may be infinite; it is never NaN.
        return [min(max((value - self.centre) / self.scale, -CLIP), CLIP)]


@dataclass(frozen=True)
class TypedFeatures:
    """The features that a request has, in the order in which they were declared.

    >>> features = TypedFeatures.of(["category=chat,code", "length:number:100:50"])
    >>> features.numbers({"category": "code", "length": 150})
    [0.0, 1.0, 1.0]
    >>> features.shape
    RequestShape(features=3, one_hot=False)
    """

    features: tuple[Feature, ...] = ()

    @classmethod
    def of(cls, given: Any) -> "TypedFeatures":
        """Return the features of a list of texts, mappings or `Feature` instances, or raise."""
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
            raise DriftduelError(
                f"features={short_value(given)} must be a list, such as ['category=chat,code', "
                f"'length:number']."
            )
        features = tuple(parse_feature(each) for each in given)
        names = [feature.name for feature in features]
        for name in names:
            if names.count(name) > 1:
                raise DriftduelError(f"the feature {name!r} is declared twice; declare it once.")
        size = sum(feature.size for feature in features)
        if size > MOST_FEATURES:
            raise DriftduelError(
                f"the features are {size} numbers, one for each value of a category; at most "
                f"{MOST_FEATURES} are possible: declare fewer features, or coarser ones."
            )
        return cls(features)

    def __bool__(self) -> bool:
        return bool(self.features)

    @cached_property
    def shape(self) -> RequestShape:
        """The shape of a request; a single category is one-hot."""
        one_hot = len(self.features) == 1 and bool(self.features[0].values)
        return RequestShape(sum(feature.size for feature in self.features), one_hot)

    def checked(self, request: Any) -> dict[str, str | float]:
        """Return a request as a dict in the order of the features, or raise.

        Raises
        ------
        DriftduelError
            With the name of the first feature that is missing, unknown or wrong, and its values.
        """
        if not isinstance(request, Mapping):
            raise DriftduelError(
                f"the request is {short_value(request)}; it must be an object with "
                f"{self.describe()}."
            )
        for name in request:
            if not any(feature.name == name for feature in self.features):
                raise DriftduelError(
                    f"the request has the unknown feature {short_value(name)}; it must have "
                    f"{self.describe()}."
                )
        for feature in self.features:
            if feature.name not in request:
                raise DriftduelError(
                    f"the request has no feature {feature.name!r}; it must be {feature.allowed()}."
                )
        return {each.name: each.checked(request[each.name]) for each in self.features}

    def describe(self) -> str:
        """Return a phrase with all names and their values."""
        return "; ".join(f"{each.name!r}: {each.allowed()}" for each in self.features[:_LISTED]) + (
            "; ..." if len(self.features) > _LISTED else ""
        )

    def numbers(self, request: Any) -> list[float]:
        """Return a request as the numbers of its shape, or raise."""
        checked = self.checked(request)
        return [number for each in self.features for number in each.numbers(checked[each.name])]

    def scale(self, request: Any) -> ScaledRequest:
        """Return a request as a vector of length 1, or raise."""
        return self.shape.scale(self.numbers(request))

    def parse(self, texts: Mapping[str, Any]) -> dict[str, str | float]:
        """Return the request of a row of a file, where numbers may be text, or raise."""
        request = dict(texts)
        for feature in self.features:
            text = request.get(feature.name)
            if not feature.values and isinstance(text, str):
                with suppress(ValueError):  # `checked` raises the error
                    request[feature.name] = float(text)
        return self.checked(request)


def parse_feature(given: Any) -> Feature:
    """Return a feature, or raise if the declaration is not valid.

    Parameters
    ----------
    given
        A text, ``NAME=VALUE,VALUE,...`` for a category, ``NAME:number`` or
        ``NAME:number:CENTRE:SCALE`` for a number; or a mapping with the fields of `Feature`.

    Examples
    --------
    >>> parse_feature("category=chat,code,math").values
    ('chat', 'code', 'math')
    >>> parse_feature({"name": "length", "centre": 100, "scale": 50})
    Feature(name='length', values=(), centre=100.0, scale=50.0)
    """
    if isinstance(given, Feature):
        given = {
            "name": given.name, "values": given.values,
            "centre": given.centre, "scale": given.scale,
        }  # fmt: skip
    if isinstance(given, str):
        given = _from_text(given)
    if not isinstance(given, Mapping) or not given.keys() <= {"name", "values", "centre", "scale"}:
        raise DriftduelError(
            f"the feature {short_value(given)} must be NAME=VALUE,VALUE, NAME:number, or an "
            f"object with name and values, or with name, centre and scale."
        )
    values = given.get("values") or ()
    name = _checked_text(given.get("name"), "name of a feature")
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise DriftduelError(f"the values of the feature {name!r} must be a list of strings.")
    for value in values:
        _checked_text(value, f"value of the feature {name!r}")
    if len(set(values)) < len(values):
        raise DriftduelError(f"the feature {name!r} has a value twice; name each value once.")
    if len(values) == 1 or len(values) > MOST_VALUES:
        raise DriftduelError(
            f"the feature {name!r} has {counted(len(values), 'value')}; a category has 2 to "
            f"{MOST_VALUES}."
        )
    centre = _number(name, "centre", given.get("centre", 0.0))
    scale = _number(name, "scale", given.get("scale", 1.0))
    if scale <= 0:
        raise DriftduelError(f"the scale {scale:g} of the feature {name!r} must be above 0.")
    if values and (centre, scale) != (0.0, 1.0):
        raise DriftduelError(f"the category {name!r} has no centre and scale; leave them out.")
    return Feature(name, tuple(values), centre, scale)


def _from_text(text: str) -> dict[str, Any]:
    """Return the fields of a declaration on the command line."""
    name, equals, values = text.partition("=")
    if equals:
        return {"name": name.strip(), "values": [value.strip() for value in values.split(",")]}
    name, *kind = (part.strip() for part in text.split(":"))
    if kind[:1] != [_NUMBER] or len(kind) not in (1, 3):
        raise DriftduelError(
            f"the feature {short_value(text)} must be NAME=VALUE,VALUE, NAME:number or "
            f"NAME:number:CENTRE:SCALE."
        )
    return {"name": name, **dict(zip(("centre", "scale"), kind[1:], strict=False))}


def _number(name: str, what: str, given: Any) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DriftduelError(
            f"the {what} {short_value(given)} of the feature {name!r} must be a finite number."
        )
    return number


def _checked_text(text: Any, what: str) -> str:
    """Return a name or a value; raise DriftduelError if it is not a short line of text."""
    if type(text) is not str or not 0 < len(text) <= _LONGEST:
        raise DriftduelError(
            f"the {what} is {short_value(text)}; it must be a string of 1 to {_LONGEST} characters."
        )
    for sign in text:
        if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp"):
            raise DriftduelError(
                f"the {what} has a control character (U+{ord(sign):04X}); remove it."
            )
    return text


def short_value(value: Any) -> str:
    """Return a value as text of bounded length, without building a longer one."""
    if isinstance(value, str | bytes):
        text = repr(value[:60])
    elif isinstance(value, Mapping):
        text = "an object"
    elif isinstance(value, list | tuple | set):
        text = "a list"
    elif isinstance(value, int) and abs(value) >= 10**60:
        text = "a huge number"
    else:
        text = repr(value)
    text = "".join(sign if sign.isprintable() else " " for sign in text)
    return text if len(text) <= 60 else f"{text[:57]}..."
