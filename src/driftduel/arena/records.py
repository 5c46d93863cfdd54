"""Records of an arena's log. The log is the source of truth; the state is derived from it."""

from typing import Any

import msgspec

__all__ = ["Record", "decode_body", "encode_body", "ref_of"]

_VOTES = ("voted", "undone")


class Record(msgspec.Struct, frozen=True, array_like=True):
    """One record of an arena's log.

    Parameters
    ----------
    seq
        Sequence number, from 1, without gaps.
    at
        Time in milliseconds since 1970.
    kind
        Kind of event, for example ``voted``.
    body
        Fields of the event: values that JSON can represent. NaN becomes null.
    """

    seq: int
    at: int
    kind: str
    body: dict[str, Any]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(dict[str, Any])


def encode_body(body: dict[str, Any]) -> str:
    """Return a record's body as a JSON string; the function accepts plain values only."""
    return _encoder.encode(body).decode()


def decode_body(text: str) -> dict[str, Any]:
    """Return a record's body from a JSON string."""
    return _decoder.decode(text)


def ref_of(record: Record) -> int | None:
    """Return the duel of a record ``voted`` or ``undone``; None for other kinds."""
    return int(record.body["ref"]) if record.kind in _VOTES else None
