"""A live arena: its state in memory, every change on its way to the log.

The work takes microseconds and is done at once, in the caller's thread. What comes back is
`Pending`: the answer, and a future that is resolved when the log has it on the disk. Nobody may
hear the answer before: a server awaits the future, `Arena` waits for it.

If the log cannot be written, what was done since is not true. The arena then makes itself anew
from the store at the next call, and whoever waited is told.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from driftduel.arena.access import DuelName, new_pseudonym, voter_key
from driftduel.arena.names import find_named, name_key
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.replay import load_state
from driftduel.arena.responses import DurableReply, Option, ShownDuel, Vote, option_of
from driftduel.arena.state import PICKS, ArenaState
from driftduel.arena.stores import ArenaStore, OptionText, StoreError
from driftduel.arena.void_request import VoidRequest
from driftduel.arena.webhook_events import events_of, has_events
from driftduel.arena.writer import AppendHandle, Writer
from driftduel.errors import LogError

if TYPE_CHECKING:
    from driftduel.arena.board import Board

__all__ = ["LiveArena"]

_SNAPSHOT_EVERY = 10_000
_RECENT = 10_000


class _Answered(NamedTuple):
    """A vote that was taken, what it says, and the log's name for whose it is."""

    vote: Vote
    pick: str
    voter: str | None
    source: str | None = None


class LiveArena:
    """An arena in the hands of this process.

    Parameters
    ----------
    store, writer
        Where its log is, and who writes it.
    name
        The arena's.
    clock
        Tells the time in seconds since 1970.
    """

    def __init__(
        self, store: ArenaStore, writer: Writer, name: str, clock: Callable[[], float]
    ) -> None:
        self.name, self.store = name, store
        self._writer, self._clock = writer, clock
        self._secret = store.secret(name)
        self._lock = threading.RLock()
        self._answered: OrderedDict[int, _Answered] = OrderedDict()
        self._voters: OrderedDict[str, str] = OrderedDict()
        self._new_voters: list[tuple[bytes, str]] = []
        self._draft: list[Record] = []
        self._news: list[tuple[int, int, str]] = []
        self._handle = AppendHandle(name)
        self._durable: Future[None] = Future()
        self._board: tuple[int, dict[str, OptionText], Board] | None = None
        self._text_lock = threading.Lock()
        self._clock_behind: tuple[int, int] | None = None
        self.used = 0.0
        """When it was last asked for anything."""
        self._released = False
        self.damage: LogError | None = None
        """Why its log cannot be read; set when it had to be read again."""
        self._load()

    # -- from the store and to it

    def _load(self) -> None:
        """Take the arena into our hands: what the log says, and a new era."""
        if not self.store.own(self.name):
            raise self._owned_elsewhere()
        if self.damage is not None:
            raise LogError(str(self.damage), self.damage.place)
        try:
            self.state, snapshot_at = load_state(self.store, self.name)
        except LogError as error:
            self.damage = error
            raise
        self._since_snapshot = self.state.seq - snapshot_at
        self._texts = {text.id: text for text in self.store.options(self.name)}
        self._answered.clear()
        self._voters.clear()
        self._new_voters.clear()
        self._draft.clear()
        self._news.clear()
        self._board = None
        self._handle = AppendHandle(self.name)
        self._draft_record("era", self.state.begin_epoch(self._now(), secrets.token_hex(8)))
        self._send()

    def _owned_elsewhere(self) -> ArenaError:
        return ArenaError("owned-elsewhere", f"another process owns the arena {self.name!r} now.")

    def _now(self) -> int:
        """Return the time in milliseconds; in a log it never goes back.

        Nor does it stand still: a clock that was set back by an hour would end no grace and no
        lease for an hour. Until it has caught up, time goes on at half its speed.
        """
        clock, last = int(1000 * self._clock()), self.state.at
        if clock >= last:
            self._clock_behind = None
            return clock
        if self._clock_behind is None or clock < self._clock_behind[0]:
            self._clock_behind = clock, last
        began, at = self._clock_behind
        return max(last, at + (clock - began) // 2)

    def _draft_record(self, kind: str, body: dict[str, Any]) -> int:
        """Write down what has just happened to the state; return its place in the log."""
        state = self.state
        self._draft.append(Record(state.seq, state.at, kind, body))
        self._drafted = state.seq
        if has_events(kind, body):
            self._draft_events(kind, body)
        return state.seq

    def _draft_events(self, kind: str, body: dict[str, Any]) -> None:
        """Write down events of the newest record for webhooks, with the facts of this moment."""
        state, tally = self.state, self.state.tally
        events = events_of(
            kind, body, seq=state.seq, at=state.at, leader=tally.leader,
            previous=tally.changes[-1]["before"] if tally.changes else None,
            sure=tally.was_sure, votes=tally.votes,
        )  # fmt: skip
        encoded = [msgspec.json.encode(event).decode() for event in events]
        self._news += [(state.seq, place, content) for place, content in enumerate(encoded)]

    def _send(self) -> None:
        """Give everything noted to the writer."""
        if not self._draft:
            return
        records, voters, news = tuple(self._draft), tuple(self._new_voters), tuple(self._news)
        self._draft.clear()
        self._new_voters.clear()
        self._news.clear()
        self._since_snapshot += len(records)
        snapshot = None
        # A snapshot takes time for everything that is kept, in which nobody else is answered. So
        # where votes wait by the thousand for an answer that is late, it comes less often.
        if self._since_snapshot >= _SNAPSHOT_EVERY and self._since_snapshot >= self.state.kept:
            self._since_snapshot, snapshot = 0, self.state.to_bytes()
        self._durable = self._writer.append(
            self._handle, records, snapshot, voters=voters, events=news
        )

    @contextmanager
    def _transaction(self) -> Iterator[ArenaState]:
        """Let one change the state at a time; whatever was done goes to the log."""
        with self._lock:
            if self._released:  # a request that got hold of it just before
                raise self._owned_elsewhere()
            if self._handle.broken is not None:
                self._load()
            self.used = self._clock()
            try:
                self._settle_due()
                yield self.state
            except ArenaError:
                assert self.state.seq == self._drafted  # it was refused before anything changed
                raise
            except BaseException as error:
                self._draft.clear()  # the state may be half of what it should be
                self._news.clear()
                self._handle.broken = StoreError(f"the arena lost its way: {error!r:.200}")
                raise
            finally:
                self._send()

    def _settle_due(self) -> None:
        """Tell votes whose grace is over, and give up duels whose lease is."""
        now = self._now()
        while due := self.state.due(now):
            for kind, ref, why in due:
                self._settle_one(now, kind, ref, why)

    def _settle_one(self, now: int, kind: str, ref: int, why: str = "") -> None:
        body = self.state.tell(now, ref) if kind == "told" else self.state.forget(now, ref, why)
        self._draft_record(kind, body)

    def end_graces(self) -> DurableReply[None]:
        """Let the policy learn from every vote that can still be undone."""
        with self._transaction() as state:
            for kind, ref, why in state.graces(None):
                self._settle_one(self._now(), kind, ref, why)
            self._settle_due()  # votes that were told may wait for an expired lease
            self._send()
            return self._pending(None)

    def due(self) -> bool:
        """Tell whether time has made anything due."""
        with self._lock:
            return bool(self.state.due(self._now()))

    def tick(self) -> "DurableReply[None]":
        """Do what time has made due."""
        used = self.used
        with self._transaction():
            self.used = used  # time alone is nobody who needs it
        return self._pending(None)

    def _pending(self, answer: Any) -> DurableReply[Any]:
        return DurableReply(answer, self._durable)

    def suspend(self) -> None:
        """Write a snapshot, so that it is here again at once; then let the arena go."""
        with self._lock:
            if self._handle.broken is None and self._since_snapshot:
                self._since_snapshot = 0
                packed, upto = self.state.to_bytes(), self.state.seq
                self._durable = self._writer.append(self._handle, (), packed, upto)
            # Before others may own it: they must find every record that is acknowledged.
            self._durable.exception()
            self._released = True
            self.store.disown(self.name)

    # -- duels and votes

    def ask(
        self, voter: str | None = None, *, resume: bool = False, source: str | None = None
    ) -> DurableReply[ShownDuel]:
        """Choose what to show.

        Parameters
        ----------
        voter
            Whoever is asked, by any name; the log has another one for it.
        resume
            Show a duel again that this voter was shown and has not answered, if there is one.
        source
            Name of the source (token and address) if there is no voter. The evidence counts all
            votes of a source like those of one voter.
        """
        with self._transaction() as state:
            name = voter if voter is not None else source
            known, key = (None, None) if name is None else self._pseudonym_of(name)
            origin = None
            if voter is None:
                known, origin = None, known
            shown = self._choose(state, known, resume, origin)
            # After the last refusal: a voter without a duel is neither kept nor written.
            if name is not None:
                self._keep_voter(name, known or origin or "", key)
            self._send()
            return self._pending(shown)

    def _choose(
        self, state: ArenaState, known: str | None, resume: bool, source: str | None = None
    ) -> ShownDuel:
        """Choose a duel for a voter or a source, given by their pseudonyms."""
        now = self._now()
        mine = state.open_each.get(known, ()) if known is not None else ()
        if resume and mine:
            state.renew(now, mine[-1])
            return self._show(mine[-1])
        state.need_open()
        passed = state.capped_proposals(now, known)
        while (crowded := state.duel_to_evict(known)) is not None:
            self._settle_one(now, "forgot", crowded, "evicted")
        refs = [self._ask_policy(state, now, None) for _ in range(passed)]
        refs.append(self._ask_policy(state, now, known, source))
        # Given up only now: while they were open, the policy turned to other pairs.
        for ref in refs[:-1]:
            self._settle_one(now, "forgot", ref, "capped")
        out = state.open.get(refs[-1])
        return self._show(refs[-1]) if out else ShownDuel(alone=self.option(state.ids[self._alone]))

    def _ask_policy(
        self, state: ArenaState, now: int, voter: str | None, source: str | None = None
    ) -> int:
        """Ask the policy for a duel and note it; return its ref."""
        ref, body = state.ask(now, voter, source)
        self._draft_record("asked", body)
        self._alone = body["pair"][0]
        return ref

    def renew(self, duels: Iterable[str]) -> list[float]:
        """Renew the leases of open duels; return their ends in seconds since 1970.

        0 stands for a duel that is not open any more. Nothing is written to the log.
        """
        with self._transaction() as state:
            now = self._now()
            return [(state.renew(now, self._ref(duel)) or 0) / 1000 for duel in duels]

    def release(self, duels: Iterable[str], after: float = 0.0) -> DurableReply[None]:
        """Give duels back without an answer.

        Parameters
        ----------
        duels
            Their names; duels that are not open are left as they are.
        after
            Seconds during which a renewal keeps them, such as that of a page which is reloaded.
        """
        with self._transaction() as state:
            at = self._now() + round(1000 * after)
            for duel in duels:
                state.release(self._ref(duel), at)
            self._settle_due()
            self._send()
            return self._pending(None)

    def _show(self, ref: int) -> ShownDuel:
        out = self.state.open[ref]
        word = self.state.word_of(ref)
        assert word is not None
        return ShownDuel(
            duel=DuelName(ref, word).encode(self._secret, self.name),
            left=self.option(self.state.ids[out.left]),
            right=self.option(self.state.ids[out.first + out.second - out.left]),
            expires=out.until / 1000,
        )

    def is_open(self, duel: str) -> bool:
        """Return whether a duel waits for an answer."""
        try:
            return self._ref(duel) in self.state.open
        except ArenaError:
            return False

    def can_run_inline(self, *, voter: str | None = None, duel: str | None = None) -> bool:
        """Tell whether a voter can be asked, a duel answered, without a look into the store.

        A server, which must not wait while others do, has another thread do the rest.
        """
        if self._handle.broken is not None or not (voter is None or voter in self._voters):
            return False
        if not self._lock.acquire(blocking=False):
            return False  # who has it may be waiting for the store
        self._lock.release()
        if duel is None:
            return True
        try:
            ref = self._ref(duel)
        except ArenaError:
            return True  # it is refused at once
        return ref in self.state.open or ref in self._answered

    def _pseudonym_of(self, voter: str) -> tuple[str, bytes | None]:
        """Return a voter's pseudonym in the log, and if it is new the key to store it under."""
        known = self._voters.get(voter)
        if known is not None:
            return known, None
        key = voter_key(self._secret, voter)
        known = self.store.voter(self.name, key)
        return (new_pseudonym(), key) if known is None else (known, None)

    def _keep_voter(self, voter: str, known: str, key: bytes | None) -> None:
        """Cache a voter's pseudonym; write it with the next records if it has a key."""
        if key is not None:
            self._new_voters.append((key, known))
        self._voters[voter] = known
        self._voters.move_to_end(voter)
        if len(self._voters) > _RECENT:
            self._voters.popitem(last=False)

    def vote(self, duel: str, pick: str) -> DurableReply[Vote]:
        """Take an answer: left, right, tie or skip.

        The same answer again is taken for the same vote; another one is refused.
        """
        if pick not in PICKS:
            raise ArenaError("bad-vote", f"pick={pick!r:.40} must be {', '.join(PICKS)}.")
        with self._transaction() as state:
            vote = self._record_vote(state, duel, pick)[0].vote
            self._send()
            return self._pending(vote)

    def vote_and_ask(self, duel: str, pick: str) -> DurableReply[tuple[Vote, ShownDuel | None]]:
        """Take an answer, and ask the same voter at once, if anything can be asked.

        If the answer was taken before, ours was lost on the way: the voter is shown what was asked
        then, not one more.
        """
        with self._transaction() as state:
            answered, again = self._record_vote(state, duel, pick)
            try:
                shown = self._choose(state, answered.voter, again, answered.source)
            except ArenaError:
                shown = None  # it is closed, or too much is open: the vote was taken all the same
            self._send()
            return self._pending((answered.vote, shown))

    def _record_vote(self, state: ArenaState, duel: str, pick: str) -> tuple["_Answered", bool]:
        """Take an answer; tell whether it had been taken before."""
        ref = self._ref(duel)
        if ref not in state.open:
            before = self._vote_before(ref)
            if before is not None:
                if before.pick != pick:
                    raise ArenaError(
                        "already-answered",
                        f"the duel was answered with {before.pick!r} before; undo that first, "
                        f"while it can be undone.",
                    )
                return before, True
        body = state.vote(self._now(), ref, pick)
        seq = self._draft_record("voted", body)
        late = body.get("late", False)
        out = None if late else state.voted[ref]
        vote = Vote(
            seq,
            undo_until=(state.at if out is None else out.until) / 1000,
            counted=out is not None and out.counts,
            late=late,
        )
        answered = self._answered[ref] = _Answered(
            vote, pick, body.get("voter"), body.get("source")
        )
        if len(self._answered) > _RECENT:
            self._answered.popitem(last=False)
        self._settle_due()  # at once, if there is no grace
        return answered, False

    def _ref(self, duel: str) -> int:
        """Return which duel a name is for, if it is for one."""
        name = DuelName.decode(duel, self._secret, self.name)
        if self.state.word_of(name.ref) != name.word:
            raise ArenaError(
                "duel-lost",
                "the duel is not in this log: it was shown before the store was restored from a "
                "backup, or its record was never committed; ask for another.",
            )
        return name.ref

    def _vote_before(self, ref: int) -> "_Answered | None":
        """Return the vote on a duel, however long ago."""
        recent = self._answered.get(ref)
        if recent is not None:
            return recent
        record = self.store.vote_of(self.name, ref)
        if record is None or record.kind != "voted":  # or it was undone
            return None
        body = record.body
        out = self.state.voted.get(ref)
        vote = Vote(
            record.seq,
            undo_until=(record.at if out is None else out.until) / 1000,
            counted=not (body.get("uncounted") or body.get("late") or body["pick"] == "skip"),
            late=body.get("late", False),
        )
        return _Answered(vote, body["pick"], body.get("voter"), body.get("source"))

    def undo(self, duel: str) -> DurableReply[int]:
        """Take a vote back while its grace lasts; return the place in the log."""
        with self._transaction() as state:
            ref = self._ref(duel)
            if ref in state.open and ref not in self._answered:
                return self._pending(state.seq)  # it is undone, or was never given
            seq = self._draft_record("undone", state.undo(self._now(), ref))
            self._answered.pop(ref, None)
            self._send()
            return self._pending(seq)

    # -- options

    def option(self, option_id: str) -> Option:
        """Return an option by its id."""
        return option_of(self.state, self._texts, option_id)

    def find(self, wanted: str) -> Option | None:
        """Return the option with this id or unique name; None if there is none."""
        return find_named(self.options(), wanted)

    def need(self, wanted: str) -> Option:
        """Return the option with this id or unique name."""
        found = self.find(wanted)
        if found is None:
            raise ArenaError("no-such-option", f"there is no option {wanted!r:.80}.")
        return found

    def _need_free(self, name: str, but: str = "") -> None:
        """Raise if another option has this name, or one that looks the same."""
        for option in self.options():
            if option.id != but and name_key(option.name) == name_key(name):
                gone = "" if option.present else ", which left; let it join again by its id"
                raise ArenaError(
                    "name-taken", f"the name {name!r:.80} is taken by option {option.id}{gone}."
                )

    def options(self) -> list[Option]:
        """Return every option that ever was."""
        return [self.option(option_id) for option_id in self.state.ids]

    def join(self, name: str, kind: str = "text", content: str = "") -> DurableReply[Option]:
        """Let a new option take part."""
        with self._text_lock:  # one at a time; meanwhile others vote
            while True:
                with self._transaction() as state:
                    self._need_free(name)
                    state.need_room()
                    text = OptionText(f"o{len(state.ids) + 1}", name, kind, content)
                # It has a text before the log speaks of it.
                self.store.put_options(self.name, [text])
                with self._transaction() as state:
                    if text.id != f"o{len(state.ids) + 1}":
                        continue  # the arena was read anew, and another join was not written
                    body = state.join(self._now(), text.id)
                    self._texts = {**self._texts, text.id: text}
                    self._draft_record("joined", body)
                    self._send()
                    return self._pending(self.option(text.id))

    def come_back(self, option_id: str) -> DurableReply[Option]:
        """Let an option take part again."""
        with self._transaction() as state:
            state.arm(option_id)
            self._draft_record("joined", state.join(self._now(), option_id))
            self._send()
            return self._pending(self.option(option_id))

    def leave(self, option_id: str) -> DurableReply[Option]:
        """Show an option no more."""
        with self._transaction() as state:
            self._draft_record("left", state.leave(self._now(), option_id))
            self._send()
            return self._pending(self.option(option_id))

    def rewrite(self, option_id: str, name: str | None, content: str | None) -> Option:
        """Change what an option is called and what is shown of it; to the log it is the same."""
        with self._text_lock:
            now = self.option(option_id)
            if name is not None and name != now.name:
                self._need_free(name, but=now.id)
            text = OptionText(
                now.id,
                now.name if name is None else name,
                now.kind,
                now.content if content is None else content,
            )
            self.store.put_options(self.name, [text])
            with self._lock:
                self._texts = {**self._texts, now.id: text}
            return self.option(option_id)

    # -- what owners do

    def add_past_votes(self, votes: list[list[Any]]) -> DurableReply[int]:
        """Take votes of the past, before the first duel; return how many."""
        with self._transaction() as state:
            self._draft_record("heard", state.add_past_votes(self._now(), votes))
            self._send()
            return self._pending(len(votes))

    def void(self, seqs: Iterable[int], why: str) -> DurableReply[int]:
        """Take votes out of all counts; return how many there were to take."""
        seqs, voiding = list(seqs), None
        while True:
            with self._transaction():
                self._send()
                written = self._durable
            written.result()  # the log is asked which votes these are, while others vote
            voiding = voiding or VoidRequest(self.store, self.name, seqs)
            voiding.read()
            with self._transaction() as state:
                resolve = voiding.resolve(state)
                if resolve is None:
                    continue
                found, waiting = resolve
                for ref in waiting:
                    self._draft_record("forgot", state.forget(self._now(), ref, "voided"))
                if found:
                    self._draft_record("voided", state.void(self._now(), found, why))
                self._send()
                return self._pending(len(found) + len(waiting))

    def erase(self, voter: str) -> bool:
        """Forget who a voter is; the votes stay under a pseudonym without an owner."""
        with self._lock:
            written = self._durable
        written.exception()  # a row that is on its way to the store is deleted, too
        known = self.store.drop_voter(self.name, voter_key(self._secret, voter))
        # The row cannot be written again: a pseudonym in the cache is written once, by the append
        # of its first duel. The cache entry goes last, because a concurrent `ask` may renew it.
        with self._lock:
            self._voters.pop(voter, None)
        return known

    def end(self) -> DurableReply[None]:
        """Ask for no more duels; open ones may still be answered."""
        with self._transaction() as state:
            self._draft_record("closed", state.close(self._now()))
            self._send()
            return self._pending(None)

    # -- what people look at

    @property
    def seq(self) -> int:
        """The last record's place in the log."""
        return self.state.seq

    def best(self) -> Option | None:
        """Return the option to ship now."""
        with self._lock:
            leader = self.state.leader
            return None if leader is None else self.option(self.state.ids[leader])

    def warm(self) -> None:
        """Compile what duels, votes and the board need, before anybody waits for it."""
        self.state.policy.warm()
        self.board()

    def board(self) -> "Board":
        """Return what there is to say now."""
        from driftduel.arena.board import snapshot_board

        with self._lock:
            seq, texts, known = self.state.seq, self._texts, self._board
            if known is not None and known[0] == seq and known[1] is texts:
                return known[2]
            make = snapshot_board(self.name, self.state, self.options())
        made = make()  # while others vote
        with self._lock:
            if texts is self._texts:
                self._board = seq, texts, made
        return made

    def records(self, after: int = 0, limit: int = 10_000) -> list[Record]:
        """Return what is in the log."""
        return self.store.records(self.name, after, limit)
