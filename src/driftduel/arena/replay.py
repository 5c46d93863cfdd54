"""Restore the state of an arena: replay its log, from the newest snapshot if possible."""

import hashlib

from driftduel.arena.problems import ArenaError
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import ArenaStore, DamagedSnapshotError
from driftduel.errors import DriftduelError, LogError

__all__ = ["digest", "load_state", "replay_log", "verify_log"]

_BATCH = 10_000


def replay_log(store: ArenaStore, arena: str, upto: int | None = None) -> ArenaState:
    """Return the state after replaying the log from its first record, without a snapshot.

    Parameters
    ----------
    store, arena
        The store, and the name of the arena.
    upto
        Sequence number of the last record to replay; None: the end of the log.

    Raises
    ------
    ArenaError
        ``no-such-arena``, if the log is empty.
    LogError
        If the log is damaged, or was written by another policy or seed.
    """
    first = store.records(arena, 0, 1, verified=True)
    if not first:
        raise ArenaError("no-such-arena", f"arena {arena!r:.80} does not exist.")
    return _replay(store, arena, ArenaState.from_first_record(first[0]), upto)


def load_state(store: ArenaStore, arena: str) -> tuple[ArenaState, int]:
    """Return the current state, and the sequence number of the snapshot it was restored from.

    An unusable snapshot (another version, or a wrong checksum) costs time only: an older one is
    used, or the whole log is replayed.
    """
    upto: int | None = None
    while upto is None or upto > 0:
        try:
            snapshot = store.newest_snapshot(arena, upto)
        except DamagedSnapshotError as damage:
            upto = damage.place - 1
            continue
        if snapshot is None:
            break
        seq, data = snapshot
        state = _decode_snapshot(data)
        if state is not None and state.seq == seq:
            return _replay(store, arena, state, None), seq
        upto = seq - 1
    return replay_log(store, arena), 0


def _decode_snapshot(data: bytes) -> ArenaState | None:
    """Return the state of a snapshot; None if another version wrote it."""
    try:
        return ArenaState.from_bytes(data)
    except DriftduelError:
        return None


def _replay(store: ArenaStore, arena: str, state: ArenaState, upto: int | None) -> ArenaState:
    while upto is None or state.seq < upto:
        limit = _BATCH if upto is None else min(_BATCH, upto - state.seq)
        records = store.records(arena, state.seq, limit, verified=True)
        for record in records:
            state.apply(record)
        if not records:
            break
    return state


def verify_log(store: ArenaStore, arena: str) -> str:
    """Replay the log, verify hashes and the newest snapshot, and return a one-line report.

    Votes may arrive at the same time: the end of the log and the snapshot are chosen once, at the
    start.

    Raises
    ------
    LogError
        If the hash of a record or the checksum of the snapshot is wrong, if a record differs from
        the replayed one (policy, seed and earlier records determine it), or if the snapshot differs
        from the replayed state.
    """
    newest = store.newest_snapshot(arena)
    end = store.last_seq(arena)  # read after the snapshot, so that an intact log includes it
    if newest is None:
        whole, compared = replay_log(store, arena, end), "there is no snapshot to compare with"
    else:
        seq, data = newest
        whole, state = replay_log(store, arena, seq), _decode_snapshot(data)
        if state is None:
            compared = f"another version wrote the snapshot of record {seq:,}, which is not used"
        else:
            if digest(whole) != digest(state):
                raise LogError(
                    f"the snapshot of record {seq} differs from the state replayed from the log; "
                    "restore a backup.",
                    seq,
                )
            compared = f"also from the snapshot of record {seq:,}"
        whole = _replay(store, arena, whole, end)
        if state is not None and digest(_replay(store, arena, state, end)) != digest(whole):
            raise LogError(
                f"replaying the log from the snapshot of record {seq} gives another state than "
                "from the first record; restore a backup.",
                seq,
            )
    return (
        f"{arena}: {whole.seq:,} records, {whole.tally.votes:,} votes; "
        f"{_hashes(store, arena, whole.seq)}the replayed state is {digest(whole)[:16]}, "
        f"{compared}."
    )


def _hashes(store: ArenaStore, arena: str, upto: int) -> str:
    unhashed, head = store.chain(arena, upto)
    if head is None:
        return "no record has a hash; " if unhashed else ""
    old = f" (the first {unhashed:,}, of an earlier version, have none)" if unhashed else ""
    return f"all hashes are correct{old}, the last is {head.hex()}; "


def digest(state: ArenaState) -> str:
    """Return a SHA-256 digest of the whole state, with policy and random generators."""
    return hashlib.sha256(state.to_bytes()).hexdigest()
