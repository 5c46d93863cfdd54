"""Resolve votes to void: the log has the pair, and the record by which each vote was learned.

Reading a long log is slow, so it is read without the arena's lock, and read on if one of the votes
was learned in the meantime.
"""

from collections.abc import Iterable
from typing import Any

from driftduel.arena.board_counts import PICKED
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.slate_votes import RANKED
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import ArenaStore

__all__ = ["VoidRequest"]

_BATCH = 1000


class _VoteToVoid:
    """A vote to void, and the search in the log for the record by which it was learned."""

    def __init__(self, seq: int, body: dict[str, Any]) -> None:
        self.seq, self.ref = seq, int(body["ref"])
        self.shown = body["shown"]
        self.ranking = body.get("ranking", [])
        self.is_slate = len(self.shown) > 2 or body["pick"] == RANKED
        self.won = -1 if self.is_slate else PICKED.get(body["pick"], -1)  # a skip is not counted
        counts = body["pick"] != "skip" and not body.get("uncounted")
        self.learned: int | None = None if counts else -1
        """Record by which the vote was learned; -1: it is not learned; None: not found yet."""
        self.read = seq
        """Sequence number of the last record that was read."""

    @property
    def known(self) -> bool:
        """Whether the search has ended."""
        return self.learned is not None

    def see(self, record: Record) -> None:
        """Examine a record that comes after the vote."""
        if self.known:
            return
        self.read, body = record.seq, record.body
        if self.ref in body.get("learned", ()):
            self.learned = record.seq
        elif body.get("ref") == self.ref:
            if record.kind == "told" and not body.get("held"):
                self.learned = record.seq
            elif record.kind in ("undone", "forgot"):
                self.learned = -1


class VoidRequest:
    """A request to void votes; an instance serves one call of the method `LiveArena.void`.

    Parameters
    ----------
    store, arena
        The store, and the name of the arena.
    seqs
        Sequence numbers of the votes.

    Raises
    ------
    ArenaError
        ``bad-request``, if a record is not a vote, or a late one.
    """

    def __init__(self, store: ArenaStore, arena: str, seqs: Iterable[int]) -> None:
        self._store, self._arena = store, arena
        self._votes = [self._vote(seq) for seq in dict.fromkeys(seqs)]

    def _vote(self, seq: int) -> _VoteToVoid:
        records = self._store.records(self._arena, seq - 1, 1) if seq > 0 else []
        if not records or records[0].kind != "voted":
            raise ArenaError(
                "bad-request", f"record {seq} is not a vote; an export lists the votes by seq."
            )
        if records[0].body.get("late"):
            raise ArenaError("bad-request", f"vote {seq} was late and is not counted anyway.")
        return _VoteToVoid(seq, records[0].body)

    def read(self) -> None:
        """Read the log up to its end, or until every vote is resolved. Slow; needs no lock."""
        for vote in self._votes:
            while not vote.known and (
                records := self._store.records(self._arena, vote.read, _BATCH)
            ):
                for record in records:
                    vote.see(record)

    def resolve(self, state: ArenaState) -> tuple[list[list[Any]], list[int]] | None:
        """Return the votes for the record ``voided``, and the refs of votes to give up instead.

        Votes that can still be undone are given up. The value is None if a vote was learned by a
        record that was not read yet. Call this method with the arena's lock held.
        """
        found: list[list[Any]] = []
        waiting: list[int] = []
        for vote in self._votes:
            if vote.seq in state.tally.voided_seqs:
                raise ArenaError("bad-request", f"vote {vote.seq} is void already.")
            if vote.ref in state.voted:
                waiting.append(vote.ref)
                continue
            learned = vote.learned
            if learned is None:
                if vote.ref not in state.held and vote.read < state.seq:
                    return None
                learned = -1
            answer = [vote.shown, vote.ranking] if vote.is_slate else [*vote.shown, vote.won]
            found.append([vote.seq, vote.ref, *answer, learned])
        return found, waiting
