"""From a log to a state: the newest snapshot and what came after it, or all of it."""

import hashlib

from driftduel.arena.problems import ArenaError
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import ArenaStore, DamagedSnapshotError
from driftduel.errors import DriftduelError, LogError

__all__ = ["check", "digest", "load_state", "replay_log"]

_BATCH = 10_000


def replay_log(store: ArenaStore, arena: str, upto: int | None = None) -> ArenaState:
    """Return the state that the whole log makes, without any snapshot."""
    first = store.records(arena, 0, 1, verified=True)
    if not first:
        raise ArenaError("no-such-arena", f"there is no arena {arena!r:.80}.")
    return _replay(store, arena, ArenaState.from_first_record(first[0]), upto)


def load_state(store: ArenaStore, arena: str) -> tuple[ArenaState, int]:
    """Return the state as fast as possible, and the place of the snapshot it was made from.

    A snapshot that cannot be read, such as one of another version or a damaged one, only costs
    time: an older one is taken, or the whole log is replayed.
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


def check(store: ArenaStore, arena: str) -> str:
    """Replay the log and compare it with its hashes and its newest snapshot; return a sentence.

    Votes may arrive meanwhile: the end of the log and the snapshot are chosen once, at the start.

    Raises
    ------
    LogError
        If the hash of a record or the checksum of the snapshot is wrong, if a record is not what
        the policy, the seed and the records before it make of it, or if the snapshot is not what
        the log makes of the records up to it.
    """
    newest = store.newest_snapshot(arena)
    end = store.last_seq(arena)  # after the snapshot, so that a healthy log reaches it
    if newest is None:
        whole, compared = replay_log(store, arena, end), "there is no snapshot to compare it with"
    else:
        seq, data = newest
        whole, state = replay_log(store, arena, seq), _decode_snapshot(data)
        if state is None:
            compared = f"another version wrote the snapshot of record {seq:,}, which is not used"
        else:
            if digest(whole) != digest(state):
                raise LogError(
                    f"the snapshot of record {seq} is not what the log makes of it.", seq
                )
            compared = f"and so does the snapshot of record {seq:,}"
        whole = _replay(store, arena, whole, end)
        if state is not None and digest(_replay(store, arena, state, end)) != digest(whole):
            raise LogError(f"going on from record {seq} leads to another state.", seq)
    return (
        f"{arena}: {whole.seq:,} records, {whole.tally.votes:,} votes; "
        f"{_hashes(store, arena, whole.seq)}the log folds to the state {digest(whole)[:16]}, "
        f"{compared}."
    )


def _hashes(store: ArenaStore, arena: str, upto: int) -> str:
    unhashed, head = store.chain(arena, upto)
    if head is None:
        return "no record carries a hash; " if unhashed else ""
    old = f" (the first {unhashed:,}, of an earlier version, carry none)" if unhashed else ""
    return f"all hashes are right{old}, the last is {head.hex()}; "


def digest(state: ArenaState) -> str:
    """Return a short word for a whole state, policies and random numbers included."""
    return hashlib.sha256(state.to_bytes()).hexdigest()
