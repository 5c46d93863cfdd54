"""Which votes are to be voided: the log knows who was shown, and when each was learned.

The log may be long, and a disk slow; so it is read while others vote, and read on if one of the
votes was learned meanwhile.
"""

from collections.abc import Iterable
from typing import Any

from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import ArenaStore

__all__ = ["VoidRequest"]

_BATCH = 1000


class _VoteToVoid:
    """A vote that is to be voided, and what the log said so far of how it was learned."""

    def __init__(self, seq: int, body: dict[str, Any]) -> None:
        self.seq, self.ref = seq, int(body["ref"])
        self.shown = body["shown"]
        self.won = {"left": 1, "right": 0, "tie": -1, "skip": -1}[body["pick"]]
        counts = body["pick"] != "skip" and not body.get("uncounted")
        self.learned: int | None = None if counts else -1
        """The record by which it was learned; -1: none will be; None: not known."""
        self.read = seq
        """The last record that was looked at."""

    @property
    def known(self) -> bool:
        """Whether the log has said it."""
        return self.learned is not None

    def see(self, record: Record) -> None:
        """Look at a record that comes after the vote."""
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
    """Votes that are to be voided.

    Parameters
    ----------
    store, arena
        Where they are.
    seqs
        Their places in the log.
    """

    def __init__(self, store: ArenaStore, arena: str, seqs: Iterable[int]) -> None:
        self._store, self._arena = store, arena
        self._votes = [self._vote(seq) for seq in dict.fromkeys(seqs)]

    def _vote(self, seq: int) -> _VoteToVoid:
        records = self._store.records(self._arena, seq - 1, 1) if seq > 0 else []
        if not records or records[0].kind != "voted":
            raise ArenaError("bad-request", f"record {seq} is no vote.")
        if records[0].body.get("late"):
            raise ArenaError("bad-request", f"the vote {seq} came too late to count.")
        return _VoteToVoid(seq, records[0].body)

    def read(self) -> None:
        """Read the log as far as it goes, or until everything is known. This may take long."""
        for vote in self._votes:
            while not vote.known and (
                records := self._store.records(self._arena, vote.read, _BATCH)
            ):
                for record in records:
                    vote.see(record)

    def resolve(self, state: ArenaState) -> tuple[list[list[int]], list[int]] | None:
        """Return the votes as a record of the kind ``voided`` has them, and those not yet told.

        The latter are refs of duels whose votes can still be undone; they are forgotten instead.
        None if one was learned by a record that was not read yet.
        """
        found: list[list[int]] = []
        waiting: list[int] = []
        for vote in self._votes:
            if vote.seq in state.tally.voided_seqs:
                raise ArenaError("bad-request", f"the vote {vote.seq} is void already.")
            if vote.ref in state.voted:
                waiting.append(vote.ref)
                continue
            learned = vote.learned
            if learned is None:
                if vote.ref not in state.held and vote.read < state.seq:
                    return None
                learned = -1
            found.append([vote.seq, vote.ref, *vote.shown, vote.won, learned])
        return found, waiting
