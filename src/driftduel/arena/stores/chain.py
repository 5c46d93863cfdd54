"""Running hashes of logs, so that a changed or missing record is detected.

The hash of a record covers the row as it is stored and the hash of the record before it. It
detects faults of disks, restores and manual edits. It does not stop an attacker with write access
to the database, who can recompute all hashes; compare the last hash with a copy for that.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from driftduel.errors import LogError

__all__ = ["checksum", "genesis", "link", "missing", "verify"]

_SIZE = 16


def genesis(arena: str) -> bytes:
    """Return the hash that precedes the first hashed record of an arena."""
    return hashlib.blake2b(f"driftduel log\0{arena}".encode(), digest_size=_SIZE).digest()


def link(before: bytes, seq: int, at: int, kind: str, ref: int | None, body: str) -> bytes:
    """Return the hash of a record, given the hash of the record before it."""
    row = f"{seq}\0{at}\0{kind}\0{ref}\0{body}".encode()
    return hashlib.blake2b(before + row, digest_size=_SIZE).digest()


def checksum(head: bytes | None, state: bytes) -> bytes:
    """Return the checksum of a snapshot; `head` is the hash of the record it belongs to."""
    return hashlib.blake2b(state, key=head or b"", digest_size=_SIZE).digest()


def missing(arena: str, seq: int) -> LogError:
    """Return the error for a record that is missing from a log."""
    return LogError(f"record {seq} of arena {arena!r} is missing.", seq)


def verify(arena: str, rows: Iterable[tuple[Any, ...]], after: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows after record `after`, and raise LogError at the first wrong hash.

    Parameters
    ----------
    arena
        Name of the arena.
    rows
        Tuples (seq, at, kind, ref, body, hash) in order, beginning with record `after` itself if
        that is not 0: its hash is trusted, as the start of the chain.
    after
        Sequence number of the record before the first one to yield.

    Notes
    -----
    Records that an earlier version wrote have no hash; they are accepted up to the first record
    that has one.
    """
    head: bytes | None = None
    expected = max(after, 1)
    for seq, at, kind, ref, body, stored in rows:
        if seq != expected:
            raise missing(arena, expected)
        expected += 1
        if seq > after:
            if stored is None and head is not None:
                raise LogError(f"record {seq} of arena {arena!r} has no hash.", seq)
            if stored is not None:
                want = link(head or genesis(arena), seq, at, kind, ref, body)
                if want != bytes(stored):
                    raise LogError(
                        f"record {seq} ({kind}) of arena {arena!r} was changed after it was "
                        "written: its hash differs.",
                        seq,
                    )
            yield seq, at, kind, ref, body, stored
        head = None if stored is None else bytes(stored)
    if after > 0 and expected == after:  # no row: the log ends before record `after`
        raise missing(arena, after)
