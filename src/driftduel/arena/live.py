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
from driftduel.arena.folding import latest
from driftduel.arena.names import find_named, name_key
from driftduel.arena.news import has_news, news_of
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.said import Option, Pending, Shown, Vote, option_of
from driftduel.arena.state import PICKS, State
from driftduel.arena.stores import OptionText, Store, StoreError
from driftduel.arena.voiding import Voiding
from driftduel.arena.writer import Handle, Writer
from driftduel.errors import LogError

if TYPE_CHECKING:
    from driftduel.arena.board import Board

__all__ = ["Live"]

_SNAPSHOT_EVERY = 10_000
_RECENT = 10_000


class _Answered(NamedTuple):
    """A vote that was taken, what it says, and the log's name for whose it is."""

    vote: Vote
    pick: str
    voter: str | None
    source: str | None = None


class Live:
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

    def __init__(self, store: Store, writer: Writer, name: str, clock: Callable[[], float]) -> None:
        self.name, self.store = name, store
        self._writer, self._clock = writer, clock
        self._secret = store.secret(name)
        self._lock = threading.RLock()
        self._answered: OrderedDict[int, _Answered] = OrderedDict()
        self._voters: OrderedDict[str, str] = OrderedDict()
        self._new_voters: list[tuple[bytes, str]] = []
        self._draft: list[Record] = []
        self._news: list[tuple[int, int, str]] = []
        self._handle = Handle(name)
        self._lasting: Future[None] = Future()
        self._board: tuple[int, dict[str, OptionText], Board] | None = None
        self._texting = threading.Lock()
        self._behind: tuple[int, int] | None = None
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
            raise self._elsewhere()
        if self.damage is not None:
            raise LogError(str(self.damage), self.damage.place)
        try:
            self.state, snapshot_at = latest(self.store, self.name)
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
        self._handle = Handle(self.name)
        self._note("era", self.state.begin_era(self._now(), secrets.token_hex(8)))
        self._send()

    def _elsewhere(self) -> ArenaError:
        return ArenaError("owned-elsewhere", f"another process owns the arena {self.name!r} now.")

    def _now(self) -> int:
        """Return the time in milliseconds; in a log it never goes back.

        Nor does it stand still: a clock that was set back by an hour would end no grace and no
        lease for an hour. Until it has caught up, time goes on at half its speed.
        """
        clock, last = int(1000 * self._clock()), self.state.at
        if clock >= last:
            self._behind = None
            return clock
        if self._behind is None or clock < self._behind[0]:
            self._behind = clock, last
        began, at = self._behind
        return max(last, at + (clock - began) // 2)

    def _note(self, kind: str, body: dict[str, Any]) -> int:
        """Write down what has just happened to the state; return its place in the log."""
        state = self.state
        self._draft.append(Record(state.seq, state.at, kind, body))
        self._noted = state.seq
        if has_news(kind, body):
            self._note_news(kind, body)
        return state.seq

    def _note_news(self, kind: str, body: dict[str, Any]) -> None:
        """Write down events of the newest record for webhooks, with the facts of this moment."""
        state, tally = self.state, self.state.tally
        events = news_of(
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
        self._lasting = self._writer.append(
            self._handle, records, snapshot, voters=voters, events=news
        )

    @contextmanager
    def _at_work(self) -> Iterator[State]:
        """Let one change the state at a time; whatever was done goes to the log."""
        with self._lock:
            if self._released:  # a request that got hold of it just before
                raise self._elsewhere()
            if self._handle.broken is not None:
                self._load()
            self.used = self._clock()
            try:
                self._settle()
                yield self.state
            except ArenaError:
                assert self.state.seq == self._noted  # it was refused before anything changed
                raise
            except BaseException as error:
                self._draft.clear()  # the state may be half of what it should be
                self._news.clear()
                self._handle.broken = StoreError(f"the arena lost its way: {error!r:.200}")
                raise
            finally:
                self._send()

    def _settle(self) -> None:
        """Tell votes whose grace is over, and give up duels whose lease is."""
        now = self._now()
        while due := self.state.due(now):
            for kind, ref, why in due:
                self._settle_one(now, kind, ref, why)

    def _settle_one(self, now: int, kind: str, ref: int, why: str = "") -> None:
        body = self.state.tell(now, ref) if kind == "told" else self.state.forget(now, ref, why)
        self._note(kind, body)

    def end_graces(self) -> Pending[None]:
        """Let the policy learn from every vote that can still be undone."""
        with self._at_work() as state:
            for kind, ref, why in state.graces(None):
                self._settle_one(self._now(), kind, ref, why)
            self._settle()  # votes that were told may wait for an expired lease
            self._send()
            return self._pending(None)

    def due(self) -> bool:
        """Tell whether time has made anything due."""
        with self._lock:
            return bool(self.state.due(self._now()))

    def tick(self) -> "Pending[None]":
        """Do what time has made due."""
        used = self.used
        with self._at_work():
            self.used = used  # time alone is nobody who needs it
        return self._pending(None)

    def _pending(self, answer: Any) -> Pending[Any]:
        return Pending(answer, self._lasting)

    def rest(self) -> None:
        """Write a snapshot, so that it is here again at once; then let the arena go."""
        with self._lock:
            if self._handle.broken is None and self._since_snapshot:
                self._since_snapshot = 0
                packed, upto = self.state.to_bytes(), self.state.seq
                self._lasting = self._writer.append(self._handle, (), packed, upto)
            # Before others may own it: they must find every record that is acknowledged.
            self._lasting.exception()
            self._released = True
            self.store.disown(self.name)

    # -- duels and votes

    def ask(
        self, voter: str | None = None, *, resume: bool = False, source: str | None = None
    ) -> Pending[Shown]:
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
        with self._at_work() as state:
            name = voter if voter is not None else source
            known, key = (None, None) if name is None else self._known_as(name)
            origin = None
            if voter is None:
                known, origin = None, known
            shown = self._chosen(state, known, resume, origin)
            # After the last refusal: a voter without a duel is neither kept nor written.
            if name is not None:
                self._keep_voter(name, known or origin or "", key)
            self._send()
            return self._pending(shown)

    def _chosen(
        self, state: State, known: str | None, resume: bool, source: str | None = None
    ) -> Shown:
        """Choose a duel for a voter or a source, given by their pseudonyms."""
        now = self._now()
        mine = state.open_each.get(known, ()) if known is not None else ()
        if resume and mine:
            state.renew(now, mine[-1])
            return self._shown(mine[-1])
        state.need_open()
        passed = state.capped_proposals(now, known)
        while (crowded := state.crowded(known)) is not None:
            self._settle_one(now, "forgot", crowded, "evicted")
        refs = [self._asked(state, now, None) for _ in range(passed)]
        refs.append(self._asked(state, now, known, source))
        # Given up only now: while they were open, the policy turned to other pairs.
        for ref in refs[:-1]:
            self._settle_one(now, "forgot", ref, "capped")
        out = state.open.get(refs[-1])
        return self._shown(refs[-1]) if out else Shown(alone=self.option(state.ids[self._alone]))

    def _asked(self, state: State, now: int, voter: str | None, source: str | None = None) -> int:
        """Ask the policy for a duel and note it; return its ref."""
        ref, body = state.ask(now, voter, source)
        self._note("asked", body)
        self._alone = body["pair"][0]
        return ref

    def renew(self, duels: Iterable[str]) -> list[float]:
        """Renew the leases of open duels; return their ends in seconds since 1970.

        0 stands for a duel that is not open any more. Nothing is written to the log.
        """
        with self._at_work() as state:
            now = self._now()
            return [(state.renew(now, self._ref(duel)) or 0) / 1000 for duel in duels]

    def release(self, duels: Iterable[str], after: float = 0.0) -> Pending[None]:
        """Give duels back without an answer.

        Parameters
        ----------
        duels
            Their names; duels that are not open are left as they are.
        after
            Seconds during which a renewal keeps them, such as that of a page which is reloaded.
        """
        with self._at_work() as state:
            at = self._now() + round(1000 * after)
            for duel in duels:
                state.release(self._ref(duel), at)
            self._settle()
            self._send()
            return self._pending(None)

    def _shown(self, ref: int) -> Shown:
        out = self.state.open[ref]
        word = self.state.word_of(ref)
        assert word is not None
        return Shown(
            duel=DuelName(ref, word).written(self._secret, self.name),
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

    def at_once(self, *, voter: str | None = None, duel: str | None = None) -> bool:
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

    def _known_as(self, voter: str) -> tuple[str, bytes | None]:
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

    def vote(self, duel: str, pick: str) -> Pending[Vote]:
        """Take an answer: left, right, tie or skip.

        The same answer again is taken for the same vote; another one is refused.
        """
        if pick not in PICKS:
            raise ArenaError("bad-vote", f"pick={pick!r:.40} must be {', '.join(PICKS)}.")
        with self._at_work() as state:
            vote = self._taken(state, duel, pick)[0].vote
            self._send()
            return self._pending(vote)

    def vote_and_ask(self, duel: str, pick: str) -> Pending[tuple[Vote, Shown | None]]:
        """Take an answer, and ask the same voter at once, if anything can be asked.

        If the answer was taken before, ours was lost on the way: the voter is shown what was asked
        then, not one more.
        """
        with self._at_work() as state:
            answered, again = self._taken(state, duel, pick)
            try:
                shown = self._chosen(state, answered.voter, again, answered.source)
            except ArenaError:
                shown = None  # it is closed, or too much is open: the vote was taken all the same
            self._send()
            return self._pending((answered.vote, shown))

    def _taken(self, state: State, duel: str, pick: str) -> tuple["_Answered", bool]:
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
        seq = self._note("voted", body)
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
        self._settle()  # at once, if there is no grace
        return answered, False

    def _ref(self, duel: str) -> int:
        """Return which duel a name is for, if it is for one."""
        name = DuelName.read(duel, self._secret, self.name)
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

    def undo(self, duel: str) -> Pending[int]:
        """Take a vote back while its grace lasts; return the place in the log."""
        with self._at_work() as state:
            ref = self._ref(duel)
            if ref in state.open and ref not in self._answered:
                return self._pending(state.seq)  # it is undone, or was never given
            seq = self._note("undone", state.undo(self._now(), ref))
            self._answered.pop(ref, None)
            self._send()
            return self._pending(seq)

    # -- options

    def option(self, known_as: str) -> Option:
        """Return an option by its id."""
        return option_of(self.state, self._texts, known_as)

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
        return [self.option(known_as) for known_as in self.state.ids]

    def join(self, name: str, kind: str = "text", content: str = "") -> Pending[Option]:
        """Let a new option take part."""
        with self._texting:  # one at a time; meanwhile others vote
            while True:
                with self._at_work() as state:
                    self._need_free(name)
                    state.need_room()
                    text = OptionText(f"o{len(state.ids) + 1}", name, kind, content)
                # It has a text before the log speaks of it.
                self.store.put_options(self.name, [text])
                with self._at_work() as state:
                    if text.id != f"o{len(state.ids) + 1}":
                        continue  # the arena was read anew, and another join was not written
                    body = state.join(self._now(), text.id)
                    self._texts = {**self._texts, text.id: text}
                    self._note("joined", body)
                    self._send()
                    return self._pending(self.option(text.id))

    def come_back(self, known_as: str) -> Pending[Option]:
        """Let an option take part again."""
        with self._at_work() as state:
            state.arm(known_as)
            self._note("joined", state.join(self._now(), known_as))
            self._send()
            return self._pending(self.option(known_as))

    def leave(self, known_as: str) -> Pending[Option]:
        """Show an option no more."""
        with self._at_work() as state:
            self._note("left", state.leave(self._now(), known_as))
            self._send()
            return self._pending(self.option(known_as))

    def rewrite(self, known_as: str, name: str | None, content: str | None) -> Option:
        """Change what an option is called and what is shown of it; to the log it is the same."""
        with self._texting:
            now = self.option(known_as)
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
            return self.option(known_as)

    # -- what owners do

    def hear(self, votes: list[list[Any]]) -> Pending[int]:
        """Take votes of the past, before the first duel; return how many."""
        with self._at_work() as state:
            self._note("heard", state.hear(self._now(), votes))
            self._send()
            return self._pending(len(votes))

    def void(self, seqs: Iterable[int], why: str) -> Pending[int]:
        """Take votes out of all counts; return how many there were to take."""
        seqs, voiding = list(seqs), None
        while True:
            with self._at_work():
                self._send()
                written = self._lasting
            written.result()  # the log is asked which votes these are, while others vote
            voiding = voiding or Voiding(self.store, self.name, seqs)
            voiding.read()
            with self._at_work() as state:
                meant = voiding.meant(state)
                if meant is None:
                    continue
                found, waiting = meant
                for ref in waiting:
                    self._note("forgot", state.forget(self._now(), ref, "voided"))
                if found:
                    self._note("voided", state.void(self._now(), found, why))
                self._send()
                return self._pending(len(found) + len(waiting))

    def erase(self, voter: str) -> bool:
        """Forget who a voter is; the votes stay under a pseudonym without an owner."""
        with self._lock:
            written = self._lasting
        written.exception()  # a row that is on its way to the store is deleted, too
        known = self.store.drop_voter(self.name, voter_key(self._secret, voter))
        # The row cannot be written again: a pseudonym in the cache is written once, by the append
        # of its first duel. The cache entry goes last, because a concurrent `ask` may renew it.
        with self._lock:
            self._voters.pop(voter, None)
        return known

    def end(self) -> Pending[None]:
        """Ask for no more duels; open ones may still be answered."""
        with self._at_work() as state:
            self._note("closed", state.close(self._now()))
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
        from driftduel.arena.board import noted

        with self._lock:
            seq, texts, known = self.state.seq, self._texts, self._board
            if known is not None and known[0] == seq and known[1] is texts:
                return known[2]
            make = noted(self.name, self.state, self.options())
        made = make()  # while others vote
        with self._lock:
            if texts is self._texts:
                self._board = seq, texts, made
        return made

    def records(self, after: int = 0, limit: int = 10_000) -> list[Record]:
        """Return what is in the log."""
        return self.store.records(self.name, after, limit)
