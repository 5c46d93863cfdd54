"""The JSON schema of an item, for the OpenAPI document; `driftduel.arena.items` checks items."""

from typing import Any

from driftduel.arena.items import (
    LONGEST_CONTENT,
    LONGEST_ID,
    MOST_ITEM_TAGS,
    MOST_TAG_VALUES,
)
from driftduel.arena.settings import MOST_OPTIONS
from driftduel.arena.tags import LONGEST_TAG

__all__ = ["ITEM"]

_VISIBLE = r"^(?![\s\S]*[\x00-\x1f\x7f])"
_END = r"(?![\s\S])"
_FILE = r"file:[0-9a-f]{32}"


def _any_case(text: str) -> str:
    """Return a pattern for a text in any case, which JSON schemas have no flag for."""
    return "".join(f"[{each.upper()}{each}]" if each.isalpha() else each for each in text)


def _string(pattern: str) -> dict[str, Any]:
    return {"type": "string", "maxLength": LONGEST_CONTENT, "pattern": pattern}


_HTTPS = _any_case("https://") + r"[^\s/]\S*"
_MEDIA = "|".join(map(_any_case, ("png", "jpeg", "webp", "gif")))
_DATA = f"{_any_case('data:image/')}(?:{_MEDIA});{_any_case('base64')},[A-Za-z0-9+/]+={{0,2}}"
_TEXT = _string(r"^(?![\s\S]*\x00)")
_IMAGE = _string(f"^(?:{_HTTPS}|{_DATA}|{_FILE}){_END}")
_AUDIO = _string(f"^(?:{_HTTPS}|{_FILE}){_END}")
_TAG = {"type": "string", "minLength": 1, "maxLength": LONGEST_TAG, "pattern": _VISIBLE}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_CONTENT = {
    "anyOf": [
        _TEXT,
        _object(text=_TEXT),
        _object(markdown=_TEXT),
        _object(image=_IMAGE),
        _object(audio=_AUDIO),
        _object(kind={"enum": ["text", "markdown"]}, content=_TEXT),
        _object(kind={"const": "image"}, content=_IMAGE),
        _object(kind={"const": "audio"}, content=_AUDIO),
    ]
}
_VALUES = {"anyOf": [_TAG, {"type": "array", "items": _TAG, "maxItems": MOST_TAG_VALUES}]}

ITEM: dict[str, Any] = {
    "properties": {
        "id": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_ID,
            "pattern": _VISIBLE,
        },
        "prompt": {"anyOf": [*_CONTENT["anyOf"], {"type": "null"}]},
        "answers": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": MOST_OPTIONS,
            "propertyNames": {"minLength": 1, "maxLength": LONGEST_ID},
            "additionalProperties": _CONTENT,
        },
        "tags": {
            "type": ["object", "null"],
            "maxProperties": MOST_ITEM_TAGS,
            "propertyNames": _TAG,
            "additionalProperties": _VALUES,
        },
    },
    "required": ["id", "answers"],
    "additionalProperties": False,
}
"""Keywords beside ``"type": "object"``. Not in them: names differ, and signs are visible."""
