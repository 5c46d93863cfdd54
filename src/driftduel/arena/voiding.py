"""Which votes are to be voided: the log knows who was shown, and when each was learned."""

from collections.abc import Iterable

from driftduel.arena.problems import ArenaError
from driftduel.arena.state import State
from driftduel.arena.stores import Store

__all__ = ["votes_to_void"]

_AT_ONCE = 1000


def votes_to_void(
    store: Store, arena: str, seqs: Iterable[int], state: State
) -> tuple[list[list[int]], list[int]]:
    """Return the votes as a record of the kind ``voided`` has them, and those not yet told.

    The latter are refs of duels whose votes can still be undone; they are forgotten instead.
    """
    found: list[list[int]] = []
    waiting: list[int] = []
    for seq in dict.fromkeys(seqs):
        records = store.records(arena, seq - 1, 1) if seq > 0 else []
        if not records or records[0].kind != "voted":
            raise ArenaError("bad-request", f"record {seq} is no vote.")
        body = records[0].body
        ref = body["ref"]
        if seq in state.tally.voided_seqs:
            raise ArenaError("bad-request", f"the vote {seq} is void already.")
        if body.get("late"):
            raise ArenaError("bad-request", f"the vote {seq} came too late to count.")
        if ref in state.voted:
            waiting.append(ref)
            continue
        left, right = body["shown"]
        won = {"left": 1, "right": 0, "tie": -1, "skip": -1}[body["pick"]]
        counts = body["pick"] != "skip" and not body.get("uncounted")
        learned = _learned_at(store, arena, seq, ref) if counts else -1
        found.append([seq, ref, left, right, won, learned])
    return found, waiting


def _learned_at(store: Store, arena: str, seq: int, ref: int) -> int:
    """Return the record by which a vote was learned; -1 if it waits, or was undone."""
    while records := store.records(arena, seq, _AT_ONCE):
        for record in records:
            body = record.body
            if ref in body.get("learned", ()):
                return record.seq
            if body.get("ref") == ref and record.kind == "told" and not body.get("held"):
                return record.seq
            if body.get("ref") == ref and record.kind in ("undone", "forgot"):
                return -1
        seq = records[-1].seq
    return -1
