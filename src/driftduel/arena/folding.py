"""From a log to a state: the newest snapshot and what came after it, or all of it."""

import hashlib

from driftduel.arena.problems import ArenaError
from driftduel.arena.state import State
from driftduel.arena.stores import Store
from driftduel.errors import DriftduelError, LogError

__all__ = ["check", "digest", "folded", "latest"]

_AT_ONCE = 10_000


def folded(store: Store, arena: str, upto: int | None = None) -> State:
    """Return the state that the whole log makes, without any snapshot."""
    first = store.records(arena, 0, 1)
    if not first:
        raise ArenaError("no-such-arena", f"there is no arena {arena!r:.80}.")
    return _through(store, arena, State.opened(first[0]), upto)


def latest(store: Store, arena: str) -> tuple[State, int]:
    """Return the state as fast as can be, and the place of the snapshot it was made from.

    A snapshot that cannot be read, such as one of another version, is worth nothing and costs
    nothing but time: the log has everything.
    """
    snapshot = store.newest_snapshot(arena)
    if snapshot is not None:
        try:
            seq, data = snapshot
            state = State.from_bytes(data)
            if state.seq == seq:
                return _through(store, arena, state, None), seq
        except LogError:
            raise
        except DriftduelError:
            pass
    return folded(store, arena), 0


def _through(store: Store, arena: str, state: State, upto: int | None) -> State:
    while upto is None or state.seq < upto:
        limit = _AT_ONCE if upto is None else min(_AT_ONCE, upto - state.seq)
        records = store.records(arena, state.seq, limit)
        for record in records:
            state.apply(record)
        if not records:
            break
    return state


def check(store: Store, arena: str) -> str:
    """Fold the whole log, and compare with what the snapshots say; return a sentence.

    Raises
    ------
    LogError
        If a record is not what the policy, the seed and the records before it make of it, or if a
        snapshot is not what the log makes of the records up to it.
    """
    whole = folded(store, arena)
    newest = store.newest_snapshot(arena)
    said = "no snapshot to compare it with"
    if newest is not None:
        seq, data = newest
        try:
            state = State.from_bytes(data)
        except DriftduelError:  # such as one of another version: nobody uses it
            return _said(arena, whole, f"the snapshot of record {seq:,} cannot be read")
        if digest(folded(store, arena, seq)) != digest(state):
            raise LogError(f"the snapshot of record {seq} is not what the log makes of it.", seq)
        if digest(_through(store, arena, state, whole.seq)) != digest(whole):
            raise LogError(f"going on from record {seq} leads to another state.", seq)
        said = f"and so does the snapshot of record {seq:,}"
    return _said(arena, whole, said)


def _said(arena: str, whole: State, said: str) -> str:
    return (
        f"{arena}: {whole.seq:,} records, {whole.tally.votes:,} votes; the log folds to the state "
        f"{digest(whole)[:16]}, {said}."
    )


def digest(state: State) -> str:
    """Return a short word for a whole state, policies and random numbers included."""
    return hashlib.sha256(state.to_bytes()).hexdigest()
