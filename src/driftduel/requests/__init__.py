"""Requests: validation and scaling of their features, for games, policies, logs and arenas."""

from driftduel.requests.columns import (
    MOST_VALUES as MOST_VALUES,
    indicators as indicators,
    standardised as standardised,
)
from driftduel.requests.scaling import (
    CLIP as CLIP,
    MOST_FEATURES,
    NORM_ERROR,
    Features,
    OneHot,
    RequestShape,
    ScaledRequest,
)
from driftduel.requests.typed import (
    Feature,
    TypedFeatures,
    parse_feature,
    short_value as short_value,
)

__all__ = [
    "MOST_FEATURES",
    "NORM_ERROR",
    "Feature",
    "Features",
    "OneHot",
    "RequestShape",
    "ScaledRequest",
    "TypedFeatures",
    "parse_feature",
]
