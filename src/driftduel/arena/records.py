"""Records: what happened in an arena, one after the other. The log of them is the truth."""

from typing import Any

import msgspec

__all__ = ["Record", "decode_body", "encode_body", "ref_of"]

_VOTES = ("voted", "undone")


class Record(msgspec.Struct, frozen=True, array_like=True):
    """One line of an arena's log.

    Parameters
    ----------
    seq
        Its place in the log, from 1, without gaps.
    at
        When, in milliseconds since 1970.
    kind
        What happened, for example ``voted``.
    body
        All the rest: what JSON can hold. A number that is none becomes null.
    """

    seq: int
    at: int
    kind: str
    body: dict[str, Any]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(dict[str, Any])


def encode_body(body: dict[str, Any]) -> str:
    """Write a record's body as JSON."""
    return _encoder.encode(body).decode()


def decode_body(text: str) -> dict[str, Any]:
    """Read a record's body again."""
    return _decoder.decode(text)


def ref_of(record: Record) -> int | None:
    """Name the duel that a vote answers or that is open again; None for all else."""
    return int(record.body["ref"]) if record.kind in _VOTES else None
