"""An arena in memory: its state, and every change on its way to the log.

A method updates the state within microseconds, in the caller's thread, and returns a
`DurableReply` object: the reply, and a future that is resolved when the log is on the disk. The
reply must not be sent before that: a server awaits the future, `Arena` blocks on it.

If the log cannot be written, all changes since the last commit are void. Waiting callers get the
error, and the next method call reloads the arena from the store.
"""

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from driftduel.arena.access import DuelName, new_pseudonym, voter_key
from driftduel.arena.item_changes import current_number, plan_items
from driftduel.arena.item_pool import ItemPool
from driftduel.arena.item_texts import AHEAD, ItemTexts, files_url
from driftduel.arena.items import FILE_PREFIX, NewItem
from driftduel.arena.judge_agreement import AgreementCounter
from driftduel.arena.names import find_named, name_key
from driftduel.arena.page_settings import PageSettings, decode_page, encode_page
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.replay import load_state
from driftduel.arena.responses import (
    DurableReply,
    Item,
    ItemsChanged,
    Option,
    ShownDuel,
    Vote,
    option_of,
)
from driftduel.arena.slate_votes import MOST_SHOW, RANKED, card_number, cards_of, write_cards
from driftduel.arena.state import PICKS, ArenaState, check_price
from driftduel.arena.stores import ArenaStore, ItemRow, OptionText, StoreError
from driftduel.arena.tags import check_reason, check_tags, parse_tag
from driftduel.arena.uploads import checked_media
from driftduel.arena.void_request import VoidRequest
from driftduel.arena.webhook_events import events_of, has_events
from driftduel.arena.writer import AppendHandle, Writer
from driftduel.errors import LogError
from driftduel.requests import TypedFeatures

if TYPE_CHECKING:
    from driftduel.arena.board import Board
    from driftduel.arena.request_report import EvidenceReader
    from driftduel.arena.tag_report import ItemShare, TagCounts
    from driftduel.arena.vote_table import VoteTable
    from driftduel.logs import Subgroups

__all__ = ["LiveArena"]

Found = TypeVar("Found")
_COMPARED = 16  # tags with a cached comparison
_SNAPSHOT_EVERY = 10_000
_RECENT = 10_000
# Proposals of the policy without an item for the voter, before the least shown pair is taken.
_MOST_PASSED = 8
_LOCK_SECONDS = 0.001


class _Answered(NamedTuple):
    """A recorded vote, its pick, and the pseudonym of its voter or source."""

    vote: Vote
    pick: str
    voter: str | None
    source: str | None = None
    shown: Sequence[int] | None = None
    """Arms of the options on the left and on the right, or on the cards; None for a late vote."""
    request: dict[str, str | float] | None = None
    """The request of its duel; None without features, and for a late vote."""
    cards: tuple[int, ...] = ()
    """Numbers of the ranked cards of a slate."""


class _VoteArguments(NamedTuple):
    """The checked arguments of a vote."""

    pick: str
    tags: dict[str, str]
    reason: str
    cards: tuple[int, ...] = ()

    @staticmethod
    def of(
        pick: Any,
        ranking: Iterable[Any] | None,
        tags: Mapping[str, str] | None,
        reason: str,
        *,
        slates: bool,
    ) -> "_VoteArguments":
        """Check the arguments; raise ArenaError for the first invalid one."""
        pick, cards = _slate_answer(pick, ranking) if slates else (pick, ())
        if not slates and ranking is not None:
            raise ArenaError(
                "bad-vote", "a duel has no ranking; send pick=left, right, tie, both-bad or skip."
            )
        if not slates and pick not in PICKS:
            raise ArenaError("bad-vote", f"pick={pick!r:.40} must be {', '.join(PICKS)}.")
        return _VoteArguments(pick, check_tags(tags), check_reason(reason), cards)


def _slate_answer(pick: Any, ranking: Iterable[Any] | None) -> tuple[str, tuple[int, ...]]:
    """Return the pick of a vote on a slate, and the ranked cards; raise ArenaError."""
    if (pick is None) == (ranking is None):
        raise ArenaError("bad-vote", "send pick or ranking, not both or neither.")
    if ranking is None:
        if isinstance(pick, str) and pick in ("tie", "both-bad", "skip"):
            return pick, ()
        ranking, allowed = [pick], "the number or the letter of a card, tie, both-bad or skip"
        what = f"pick={pick!r:.40}"
    else:
        what, allowed = (
            f"ranking={ranking!r:.60}",
            "a list of numbers or letters of cards, the best first",
        )
        listed = isinstance(ranking, Iterable) and not isinstance(ranking, str | bytes)
        ranking = list(ranking)[: 2 * MOST_SHOW] if listed else []
    cards = [card_number(each) for each in ranking]
    found = tuple(card for card in cards if card is not None)
    if not cards or len(found) < len(cards):
        raise ArenaError("bad-vote", f"{what} must be {allowed}.")
    return RANKED, found


class LiveArena:
    """An arena that this process owns. Thread-safe.

    Parameters
    ----------
    store, writer
        The store of its log, and the writer that appends to it.
    name
        Name of the arena.
    clock
        Function that returns the time in seconds since 1970.
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
        self._text_lock = threading.RLock()
        self._agreement, self._agreement_lock = AgreementCounter(), threading.Lock()
        self._evidence: EvidenceReader | None = None
        self._table_lock = threading.Lock()
        self._table: VoteTable | None = None
        self._compared: dict[str, tuple[int, Subgroups]] = {}
        self._clock_behind: tuple[int, int] | None = None
        self.used = 0.0
        """Time of the last request, in seconds since 1970."""
        self._released = False
        self.damage: LogError | None = None
        """The error of a damaged log, set when a reload failed; None otherwise."""
        self._load()

    # -- loading and storing

    def _load(self) -> None:
        """Take ownership of the arena, load its state, and begin an ownership epoch."""
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
        self._item_texts = ItemTexts(self.store, self.name)
        self._page = decode_page(self.store.page(self.name))
        self._agreement = AgreementCounter()  # a record of the last state may have been lost
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
        return ArenaError("owned-elsewhere", f"another process owns arena {self.name!r} now.")

    def _now(self) -> int:
        """Return the time in milliseconds; it is monotonic within a log.

        While the system clock is behind the last record, because it was set back, time advances at
        half speed. If it stopped instead, no grace and no lease would end until the clock has
        caught up.
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
        """Add a record of the last state change to the draft; return its sequence number."""
        state = self.state
        self._draft.append(Record(state.seq, state.at, kind, body))
        self._drafted = state.seq
        if has_events(kind, body):
            self._draft_events(kind, body)
        return state.seq

    def _draft_events(self, kind: str, body: dict[str, Any]) -> None:
        """Add the webhook events of the newest record to the draft, with the current facts."""
        state, tally = self.state, self.state.tally
        events = events_of(
            kind, body, seq=state.seq, at=state.at, leader=tally.leader,
            previous=tally.changes[-1]["before"] if tally.changes else None,
            sure=tally.was_sure, votes=tally.votes,
        )  # fmt: skip
        encoded = [msgspec.json.encode(event).decode() for event in events]
        self._news += [(state.seq, place, content) for place, content in enumerate(encoded)]

    def _send(self) -> None:
        """Pass the draft to the writer."""
        if not self._draft:
            return
        records, voters, news = tuple(self._draft), tuple(self._new_voters), tuple(self._news)
        self._draft.clear()
        self._new_voters.clear()
        self._news.clear()
        self._since_snapshot += len(records)
        snapshot = None
        # Encoding a snapshot blocks this arena for a time proportional to `state.kept`. Where
        # thousands of votes wait for an earlier answer, snapshots are therefore less frequent.
        if self._since_snapshot >= _SNAPSHOT_EVERY and self._since_snapshot >= self.state.kept:
            self._since_snapshot, snapshot = 0, self.state.to_bytes()
        self._durable = self._writer.append(
            self._handle, records, snapshot, voters=voters, events=news
        )

    @contextmanager
    def _transaction(self) -> Iterator[ArenaState]:
        """Hold the lock, yield the state, and send the drafted records to the writer."""
        with self._lock:
            if self._released:  # race: the caller fetched this object before it was released
                raise self._owned_elsewhere()
            if self._handle.broken is not None:
                self._load()
            self.used = self._clock()
            try:
                self._settle_due()
                yield self.state
            except ArenaError:
                assert self.state.seq == self._drafted  # refused before the state changed
                raise
            except BaseException as error:
                self._draft.clear()  # the state may be inconsistent: reload it at the next call
                self._news.clear()
                self._handle.broken = StoreError(
                    f"a request to the arena failed in between: {error!r:.200}"
                )
                raise
            finally:
                self._send()

    def _settle_due(self) -> None:
        """Pass votes with an expired grace to the policy; give up duels with an expired lease."""
        now = self._now()
        while due := self.state.due(now):
            for kind, ref, why in due:
                self._settle_one(now, kind, ref, why)

    def _settle_one(self, now: int, kind: str, ref: int, why: str = "") -> None:
        body = self.state.tell(now, ref) if kind == "told" else self.state.forget(now, ref, why)
        self._draft_record(kind, body)

    def end_graces(self) -> DurableReply[None]:
        """Let the policy learn every vote that can still be undone. `Arena` calls this method."""
        with self._transaction() as state:
            for kind, ref, why in state.graces(None):
                self._settle_one(self._now(), kind, ref, why)
            self._settle_due()  # the votes may now wait for a duel with an expired lease
            self._send()
            return self._pending(None)

    def due(self) -> bool:
        """Return whether a grace or a lease has expired."""
        with self._lock:
            return bool(self.state.due(self._now()))

    def tick(self) -> "DurableReply[None]":
        """Process expired graces and leases."""
        used = self.used
        with self._transaction():
            self.used = used  # a tick is not a use: an idle arena stays idle
        return self._pending(None)

    def _pending(self, answer: Any) -> DurableReply[Any]:
        return DurableReply(answer, self._durable)

    def suspend(self) -> None:
        """Write a snapshot for a fast reload, then release ownership."""
        with self._lock:
            if self._handle.broken is None and self._since_snapshot:
                self._since_snapshot = 0
                packed, upto = self.state.to_bytes(), self.state.seq
                self._durable = self._writer.append(self._handle, (), packed, upto)
            # Wait before disowning: the next owner must find every acknowledged record.
            self._durable.exception()
            self._released = True
            self.store.disown(self.name)

    # -- duels and votes

    def ask(
        self,
        voter: str | None = None,
        *,
        resume: bool = False,
        source: str | None = None,
        tags: Mapping[str, str] | None = None,
        request: Mapping[str, Any] | None = None,
    ) -> DurableReply[ShownDuel]:
        """Choose the next duel.

        Parameters
        ----------
        voter
            Name of the voter; the log contains a pseudonym instead.
        resume
            Return the voter's open duel, if there is one for an equal request.
        source
            Name of the source (token and address) if there is no voter. The evidence counts all
            votes of a source like those of one voter.
        tags
            Tags of the vote on this duel.
        request
            The request, if the arena has features.

        Raises
        ------
        ArenaError
            ``nothing-left``, ``closed``, ``bad-request`` or ``owned-elsewhere``.
        """
        checked = check_tags(tags)
        with self._transaction() as state:
            about = state.check_request(request)
            name = voter if voter is not None else source
            known, key = (None, None) if name is None else self._pseudonym_of(name)
            origin = None
            if voter is None:
                known, origin = None, known
            shown, item = self._choose(state, known, resume, origin, checked, about)
            # After the last possible error: a voter without a duel is not stored.
            if name is not None:
                self._keep_voter(name, known or origin or "", key)
            self._send()
            pending = self._pending(None)
        return pending._replace(answer=self._with_contents(shown, item))

    def _choose(
        self,
        state: ArenaState,
        known: str | None,
        resume: bool,
        source: str | None,
        tags: dict[str, str],
        request: dict[str, str | float] | None,
    ) -> tuple[ShownDuel, int]:
        """Choose a duel for a voter or a source, given by their pseudonyms; see `_show`."""
        now = self._now()
        mine = state.open_each.get(known, ()) if known is not None else ()
        mine = [ref for ref in mine if state.open[ref].request == request] if resume else ()
        if resume and mine:
            state.renew(now, mine[-1])
            return self._show(mine[-1])
        state.need_open()
        state.need_items(known)
        passed = state.capped_proposals(now, known, request)
        while (crowded := state.duel_to_evict(known)) is not None:
            self._settle_one(now, "forgot", crowded, "evicted")
        refs = [self._ask_policy(state, now, request, None) for _ in range(passed)]
        refs.append(self._ask_policy(state, now, request, known, source, tags))
        while self._passed:  # no item of this pair is left for the voter
            forced = len(refs) >= _MOST_PASSED
            refs.append(self._ask_policy(state, now, request, known, source, tags, forced=forced))
        # Give up the other proposals last: while they are open, the policy chooses other pairs.
        for ref in refs[:-1]:
            self._settle_one(now, "forgot", ref, "capped" if state.pool is None else "no item")
        out = state.open.get(refs[-1])
        if out is None:
            return ShownDuel(alone=self.option(state.ids[self._alone])), 0
        return self._show(refs[-1])

    def _ask_policy(
        self,
        state: ArenaState,
        now: int,
        request: dict[str, str | float] | None,
        voter: str | None,
        source: str | None = None,
        tags: dict[str, str] | None = None,
        *,
        forced: bool = False,
    ) -> int:
        """Ask the policy for a duel and draft its record; return its ref."""
        ref, body = state.ask(now, voter, source, tags or None, forced=forced, request=request)
        self._draft_record("asked", body)
        self._alone, self._passed = body["pair"][0], "passed" in body
        return ref

    def renew(self, duels: Iterable[str]) -> list[float]:
        """Renew the leases of open duels; return their ends in seconds since 1970.

        The value is 0 for a duel that is not open. Nothing is written to the log.
        """
        with self._transaction() as state:
            now = self._now()
            return [(state.renew(now, self._ref(duel)) or 0) / 1000 for duel in duels]

    def release(self, duels: Iterable[str], after: float = 0.0) -> DurableReply[None]:
        """Release duels without an answer.

        Parameters
        ----------
        duels
            Ids of the duels; those that are not open are ignored.
        after
            Seconds during which a renewal cancels the release, for example after a page reload.
        """
        with self._transaction() as state:
            at = self._now() + round(1000 * after)
            for duel in duels:
                state.release(self._ref(duel), at)
            self._settle_due()
            self._send()
            return self._pending(None)

    def _show(self, ref: int) -> tuple[ShownDuel, int]:
        """Return an open duel without the contents of its item, and the number of the item."""
        out = self.state.open[ref]
        word = self.state.word_of(ref)
        assert word is not None
        if out.item and out.item not in self._item_texts:
            self._read_ahead(out.item, out.shown)
        duel = DuelName(ref, word).encode(self._secret, self.name)
        options = tuple(self.option(self.state.ids[arm]) for arm in out.shown)
        if out.cards:
            return ShownDuel(duel, expires=out.until / 1000, options=options), out.item
        left, right = options
        return ShownDuel(duel, left, right, out.until / 1000), out.item

    def _read_ahead(self, item: int, shown: Sequence[int]) -> None:
        """Name the items to read from the store together with this one."""
        assert self.state.pool is not None
        following = self.state.pool.likely_next(item, tuple(sorted(shown)), AHEAD)
        self._item_texts.read_ahead(following)

    def _with_contents(self, shown: ShownDuel, item: int) -> ShownDuel:
        """Return a duel with prompt and answers; call without the lock.

        The contents are read from the store. If the lock were held meanwhile, an event loop would
        find it taken, and run each further request in a worker thread (`can_run_inline`).
        """
        if not item:
            return shown
        sides = shown.options or [each for each in (shown.left, shown.right) if each is not None]
        prompt, answers = self._item_texts.shown(item, *(side.id for side in sides))
        filled = tuple(
            Option(side.id, side.name, each.kind, each.content, side.present, each.html)
            for side, each in zip(sides, answers, strict=True)
        )
        if shown.options:
            return msgspec.structs.replace(shown, options=filled, prompt=prompt)
        left, right = filled
        return ShownDuel(shown.duel, left, right, shown.expires, prompt=prompt)

    def is_open(self, duel: str) -> bool:
        """Return whether a duel has no answer yet."""
        try:
            return self._ref(duel) in self.state.open
        except ArenaError:
            return False

    def can_run_inline(self, *, voter: str | None = None, duel: str | None = None) -> bool:
        """Return whether `ask` or `vote` would run without blocking on the store.

        An event loop must not block; it runs other calls in a worker thread. It waits a
        millisecond for the lock: a thread that computes releases it sooner, and without the wait
        one call in a thread would send the following ones to threads, too (a convoy).
        """
        if self._handle.broken is not None or not (voter is None or voter in self._voters):
            return False
        if not self._lock.acquire(timeout=_LOCK_SECONDS):
            return False  # the holder of the lock may be blocked on the store
        self._lock.release()
        if self.state.pool is not None and not self.store.is_local:
            return False  # contents of the next item are read from the store
        if duel is None:
            return True
        try:
            ref = self._ref(duel)
        except ArenaError:
            return True  # `vote` raises the same error without blocking
        return ref in self.state.open or ref in self._answered

    def _pseudonym_of(self, voter: str) -> tuple[str, bytes | None]:
        """Return the pseudonym of a voter, and for a new voter the key to store it under."""
        known = self._voters.get(voter)
        if known is not None:
            return known, None
        key = voter_key(self._secret, voter)
        known = self.store.voter(self.name, key)
        return (new_pseudonym(), key) if known is None else (known, None)

    def _keep_voter(self, voter: str, known: str, key: bytes | None) -> None:
        """Cache the pseudonym of a voter; with the argument `key`, store it, too."""
        if key is not None:
            self._new_voters.append((key, known))
        self._voters[voter] = known
        self._voters.move_to_end(voter)
        if len(self._voters) > _RECENT:
            self._voters.popitem(last=False)

    def vote(
        self,
        duel: str,
        pick: str | int | None = None,
        *,
        ranking: Iterable[str | int] | None = None,
        tags: Mapping[str, str] | None = None,
        reason: str = "",
    ) -> DurableReply[Vote]:
        """Record an answer: left, right, tie, both-bad or skip, with tags and a reason.

        Of a slate, the pick is the number or the letter of a card, or `ranking` has some of them,
        the best first. Idempotent: the same answer again returns the same vote.

        Raises
        ------
        ArenaError
            ``already-answered`` for another pick, ``no-such-duel``, ``duel-lost``, ``bad-vote``,
            or ``bad-request`` for tags or reason.
        """
        answer = self._vote_arguments(pick, ranking, tags, reason)
        with self._transaction() as state:
            vote = self._record_vote(state, duel, answer)[0].vote
            self._send()
            return self._pending(vote)

    def _vote_arguments(self, pick: Any, ranking: Any, tags: Any, reason: str) -> _VoteArguments:
        slates = self.state.settings.has_slates
        return _VoteArguments.of(pick, ranking, tags, reason, slates=slates)

    def vote_and_ask(
        self,
        duel: str,
        pick: str | int | None = None,
        *,
        ranking: Iterable[str | int] | None = None,
        tags: Mapping[str, str] | None = None,
        reason: str = "",
    ) -> DurableReply[tuple[Vote, ShownDuel | None]]:
        """Record an answer and choose the voter's next duel, in one transaction.

        If the answer was recorded before, the first response was lost: the reply has the duel of
        that response, not a further one. The next duel has the request and the tags of this one.
        """
        answer = self._vote_arguments(pick, ranking, tags, reason)
        with self._transaction() as state:
            asked = state.open.get(self._ref(duel))
            answered, again = self._record_vote(state, duel, answer)
            shown: ShownDuel | None
            try:
                kept = {} if asked is None else asked.tags or {}
                about = answered.request if asked is None else asked.request
                shown, item = self._choose(
                    state, answered.voter, again, answered.source, kept, state.check_request(about)
                )
            except ArenaError:
                shown, item = None, 0  # closed, or nothing left: the vote is recorded anyway
            self._send()
            pending = self._pending(None)
        if shown is not None:
            shown = self._with_contents(shown, item)
        return pending._replace(answer=(answered.vote, shown))

    def _record_vote(
        self, state: ArenaState, duel: str, answer: "_VoteArguments"
    ) -> tuple["_Answered", bool]:
        """Record an answer; return it, and whether it had been recorded before."""
        ref, pick = self._ref(duel), answer.pick
        if ref not in state.open:
            before = self._vote_before(ref)
            if before is not None:
                if (before.pick, before.cards) != (pick, answer.cards):
                    said = write_cards(before.cards) or before.pick
                    raise ArenaError(
                        "already-answered",
                        f"the duel was answered with {said!r} before; undo that vote first, "
                        "within its grace period.",
                    )
                return before, True
        body = state.vote(self._now(), ref, *answer)
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
            vote, pick, body.get("voter"), body.get("source"), body.get("shown"),
            body.get("request"), answer.cards,
        )  # fmt: skip
        if len(self._answered) > _RECENT:
            self._answered.popitem(last=False)
        self._settle_due()  # with a grace of 0 the policy learns the vote now
        return answered, False

    def _ref(self, duel: str) -> int:
        """Return the ref of a duel, given by its public id.

        Raises
        ------
        ArenaError
            ``no-such-duel`` for a wrong signature, ``duel-lost`` for a duel of another epoch.
        """
        name = DuelName.decode(duel, self._secret, self.name)
        if self.state.word_of(name.ref) != name.word:
            raise ArenaError(
                "duel-lost",
                "the duel is not in this log: it was shown before the store was restored from a "
                "backup, or its record was never committed; ask for another.",
            )
        return name.ref

    def _vote_before(self, ref: int) -> "_Answered | None":
        """Return the recorded vote on a duel, from the cache or the log; None without one."""
        recent = self._answered.get(ref)
        if recent is not None:
            return recent
        record = self.store.vote_of(self.name, ref)
        if record is None or record.kind != "voted":  # the newest record may be an undo
            return None
        body = record.body
        out = self.state.voted.get(ref)
        vote = Vote(
            record.seq,
            undo_until=(record.at if out is None else out.until) / 1000,
            counted=not (body.get("uncounted") or body.get("late") or body["pick"] == "skip"),
            late=body.get("late", False),
        )
        shown = body.get("shown")
        about = body.get("request")
        return _Answered(
            vote, body["pick"], body.get("voter"), body.get("source"), shown, about, cards_of(body)
        )

    def undo(self, duel: str) -> DurableReply[int]:
        """Undo a vote within its grace period; return the sequence number of the record.

        Idempotent: a duel without a vote stays open.
        """
        with self._transaction() as state:
            ref = self._ref(duel)
            if ref in state.open and ref not in self._answered:
                return self._pending(state.seq)  # undone before, or never voted on
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
        """Return the option with this id or unique name; raise ArenaError if there is none."""
        found = self.find(wanted)
        if found is None:
            raise ArenaError(
                "no-such-option", f"option {wanted!r:.80} does not exist; the board lists them."
            )
        return found

    def _need_free(self, name: str, but: str = "") -> None:
        """Raise ArenaError if another option has this name, or one that looks the same."""
        for option in self.options():
            if option.id != but and name_key(option.name) == name_key(name):
                gone = "" if option.present else ", which left; readmit it by its id"
                raise ArenaError(
                    "name-taken", f"the name {name!r:.80} is taken by option {option.id}{gone}."
                )

    def options(self) -> list[Option]:
        """Return all options, with those that left."""
        return [self.option(option_id) for option_id in self.state.ids]

    def join(self, name: str, kind: str = "text", content: str = "") -> DurableReply[Option]:
        """Add a new option."""
        with self._text_lock:  # serialises changes of texts; votes do not need this lock
            while True:
                with self._transaction() as state:
                    self._need_free(name)
                    state.need_room()
                    text = OptionText(f"o{len(state.ids) + 1}", name, kind, content)
                # The text is stored before the record, so that no record refers to a missing one.
                self.store.put_options(self.name, [text])
                with self._transaction() as state:
                    if text.id != f"o{len(state.ids) + 1}":
                        continue  # the arena was reloaded, and an earlier join was lost
                    body = state.join(self._now(), text.id)
                    self._texts = {**self._texts, text.id: text}
                    self._draft_record("joined", body)
                    self._send()
                    return self._pending(self.option(text.id))

    def come_back(self, option_id: str) -> DurableReply[Option]:
        """Readmit an option that left; the argument is its id."""
        with self._transaction() as state:
            state.arm(option_id)
            self._draft_record("joined", state.join(self._now(), option_id))
            self._send()
            return self._pending(self.option(option_id))

    def leave(self, option_id: str) -> DurableReply[Option]:
        """Retire an option: it is no longer shown. The argument is its id."""
        with self._transaction() as state:
            self._draft_record("left", state.leave(self._now(), option_id))
            self._send()
            return self._pending(self.option(option_id))

    def rewrite(self, option_id: str, name: str | None, content: str | None) -> Option:
        """Change name and content of an option; None keeps the present value.

        The log is not affected.
        """
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

    # -- items

    @property
    def has_items(self) -> bool:
        """Whether options are compared on items."""
        return self.state.pool is not None

    def add_items(
        self, items: Sequence[NewItem], *, replace: bool = False
    ) -> DurableReply[ItemsChanged]:
        """Add checked items with distinct ids.

        Parameters
        ----------
        items
            At most some thousands; the caller splits longer lists.
        replace
            Whether items may have an existing id. With the same contents, new answers and tags are
            added; otherwise the new version takes the place of the old one.

        Raises
        ------
        ArenaError
            ``name-taken``, ``no-such-option``, ``too-many``, ``closed`` or ``bad-request``.
        """
        with self._text_lock:
            while True:
                with self._transaction() as state:
                    pool, options = self._need_pool(state), self.options()
                    known, balance = len(pool), state.settings.balance
                    self._send()

                    def option_id(name: str, options: list[Option] = options) -> str:
                        found = find_named(options, name)
                        if found is None:
                            raise ArenaError(
                                "no-such-option",
                                f"option {name!r:.80} of an answer does not exist; add it first.",
                            )
                        return found.id

                    plan = plan_items(
                        self.store, self.name, pool, balance, items,
                        replace=replace, option_id=option_id, arm=state.arm,
                    )  # fmt: skip
                # Contents are stored before the record, so that no record refers to missing ones.
                self.store.put_items(self.name, plan.rows)
                with self._transaction() as state:
                    if len(self._need_pool(state)) != known:
                        continue  # the arena was reloaded, and an earlier change was lost
                    for row in plan.rows:
                        self._item_texts.drop(row.number)
                    if plan.changes:
                        self._draft_record("items", state.change_items(self._now(), plan.changes))
                    self._send()
                    return self._pending(plan.changed)

    def _need_pool(self, state: ArenaState) -> ItemPool:
        state.need_open()
        if state.pool is None:
            raise ArenaError(
                "bad-request",
                f"arena {self.name!r} has no items; create a new arena with items.",
            )
        return state.pool

    def set_item_present(self, item_id: str, present: bool) -> DurableReply[Item]:
        """Retire an item, or readmit it; idempotent."""
        with self._text_lock, self._transaction() as state:
            pool = self._need_pool(state)
            number = current_number(self.store, self.name, pool, item_id)
            if pool.is_present(number) != present:
                key = "readmitted" if present else "retired"
                self._draft_record("items", state.change_items(self._now(), {key: [number]}))
            self._send()
            return self._pending(self._item(state, item_id, number))

    def erase_item(self, item_id: str) -> DurableReply[None]:
        """Retire an item, and delete the contents of all its versions; votes on it stay."""
        with self._text_lock:
            self.set_item_present(item_id, False)
            numbers = [number for _, number in self.store.item_numbers(self.name, [item_id])]
            # An erased id cannot be readmitted: it is no longer known.
            self.store.put_items(self.name, [ItemRow(each, "", "") for each in numbers])
            with self._transaction():
                for number in numbers:
                    self._item_texts.drop(number)
                return self._pending(None)

    def item(self, item_id: str) -> Item:
        """Return the newest version of an item."""
        with self._transaction() as state:
            pool = self._need_pool_of_reader(state)
            return self._item(state, item_id, current_number(self.store, self.name, pool, item_id))

    def items(self, after: int = 0, limit: int = 1000) -> list[Item]:
        """Return at most `limit` items with a number above `after`, in order, with old versions."""
        rows = self.store.items(self.name, after, limit)
        with self._transaction() as state:
            pool = self._need_pool_of_reader(state)
            return [
                self._item(state, row.id, row.number) for row in rows if row.number <= len(pool)
            ]

    def _need_pool_of_reader(self, state: ArenaState) -> ItemPool:
        """Return the pool; an arena without items has an empty one for readers."""
        return ItemPool(0) if state.pool is None else state.pool

    def _item(self, state: ArenaState, item_id: str, number: int) -> Item:
        assert state.pool is not None
        texts = self._item_texts
        return Item(
            number,
            item_id,
            texts.shown(number)[0],
            {
                self.option(option_id).name: content
                for option_id, content in texts.answers(number).items()
            },
            texts.item(number).tags,
            state.pool.is_present(number),
            state.pool.shown(number),
        )

    def put_file(self, data: bytes, media: str = "") -> str:
        """Store an image or audio file; return its reference ``file:ID`` for items.

        The id is a keyed hash, so that it cannot be guessed, and equal files are stored once.
        """
        media = checked_media(data, media)
        name = hmac.digest(self._secret, b"file\0" + data, "sha256").hex()[:32]
        self.store.put_file(self.name, name, media, data)
        return FILE_PREFIX + name

    def file_url(self, reference: str) -> str:
        """Return the path of an uploaded file on the server, from its reference."""
        return files_url(self.name) + reference.removeprefix(FILE_PREFIX)

    # -- the vote page

    @property
    def page(self) -> PageSettings:
        """Settings of the vote page."""
        return self._page

    def set_page(self, **changes: Any) -> PageSettings:
        """Change settings of the vote page; they are not part of the log."""
        with self._text_lock:
            page = self._page.changed(**changes)
            self.store.put_page(self.name, encode_page(page))
            self._page = page
            return page

    def revealed(self, duel: str) -> list[Option] | None:
        """Return the options on the left and on the right, or on the cards, after a vote.

        The value is None if the names stay hidden: by the settings of the page, after a skip, and
        for a late vote.
        """
        if not self._page.reveal:
            return None
        with self._lock:
            before = self._vote_before(self._ref(duel))
            if before is None or before.shown is None or before.pick == "skip":
                return None
            return [self.option(self.state.ids[arm]) for arm in before.shown]

    # -- for owners

    def add_past_votes(self, votes: list[list[Any]]) -> DurableReply[int]:
        """Import past votes before the first duel; return their number."""
        with self._transaction() as state:
            self._draft_record("heard", state.add_past_votes(self._now(), votes))
            self._send()
            return self._pending(len(votes))

    def pseudonym(self, voter: str) -> str:
        """Return a pseudonym of a voter in imported votes; it depends on the arena's secret."""
        return voter_key(self._secret, voter).hex()[:16]

    def void(self, seqs: Iterable[int], why: str) -> DurableReply[int]:
        """Remove votes from all counts; return their number."""
        seqs, voiding = list(seqs), None
        while True:
            with self._transaction():
                self._send()
                written = self._durable
            written.result()  # wait outside the lock; then the log can be read, too
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
        """Delete the link from a voter to its pseudonym; the votes stay.

        Returns
        -------
        Whether the voter was known.
        """
        with self._lock:
            written = self._durable
        written.exception()  # a row that is still queued must be deleted, too
        known = self.store.drop_voter(self.name, voter_key(self._secret, voter))
        # The row cannot be written again: a pseudonym in the cache is written once, by the append
        # of its first duel. The cache entry goes last, because a concurrent `ask` may renew it.
        with self._lock:
            self._voters.pop(voter, None)
        return known

    def end(self) -> DurableReply[None]:
        """Close the arena: no new duels; open duels can still be answered."""
        with self._transaction() as state:
            self._draft_record("closed", state.close(self._now()))
            self._send()
            return self._pending(None)

    # -- for readers

    @property
    def seq(self) -> int:
        """Sequence number of the last record."""
        return self.state.seq

    def check_features(self, features: Any) -> None:
        """Raise ArenaError unless these are the features of the arena, which never change."""
        mine = self.state.features
        if TypedFeatures.of(features) != mine:
            known = ", ".join(str(each) for each in mine.features) or "none"
            raise ArenaError(
                "bad-request",
                f"the features of arena {self.name!r} are {known:.300} and cannot change; create a "
                "new arena.",
            )

    def best(self, request: Mapping[str, Any] | None = None) -> Option | None:
        """Return the option to use for a request after prices, or None; nothing is written.

        Parameters
        ----------
        request
            The request, if the arena has features; None: the leader, the best option for the mean
            of the last requests.
        """
        with self._lock:
            best = self.state.best(request)
            return None if best is None else self.option(self.state.ids[best])

    def prices(self) -> dict[str, float]:
        """Return the price of each option by its id; an empty dict if the policy takes none."""
        with self._lock:
            prices = self.state.prices
            return {} if prices is None else dict(zip(self.state.ids, prices, strict=True))

    def set_prices(self, prices: Mapping[str, Any]) -> DurableReply[dict[str, float]]:
        """Change the prices of some options, given by id or name; return all prices by id.

        A price is in log-odds: with 0.2 an option is worth it if it is preferred to a free one in
        55% of the votes.
        """
        with self._transaction() as state:
            new = list(state.prices or [0.0] * len(state.ids))
            for name, price in prices.items():
                new[state.arm(self.need(name).id)] = check_price(price)
            if new != state.prices:
                self._draft_record("priced", state.set_prices(self._now(), new))
            self._send()
            return self._pending(self.prices())

    def warm(self) -> None:
        """Compile the functions that duels, votes and the board need, before the first request."""
        self.state.policy.warm()
        self.board()

    def board(self, tag: str | None = None) -> "Board":
        """Return the board, from the cache if nothing has changed.

        With `tag`, the text ``KEY:VALUE``, ranking and pairs describe the votes with this tag, and
        the board makes no claim.
        """
        from driftduel.arena.board import add_evidence, snapshot_board
        from driftduel.arena.request_report import EvidenceReader

        if tag is not None:
            key, value = parse_tag(tag)
            subset = self._read_votes(lambda table: table.subset(key, value))
            with self._lock:
                make = snapshot_board(self.name, self.state, self.options(), subset)
            return make()
        with self._lock:
            seq, texts, known = self.state.seq, self._texts, self._board
            if known is not None and known[0] == seq and known[1] is texts:
                return known[2]
            make = snapshot_board(self.name, self.state, self.options())
            judged = self.state.tally.judged > 0
        made = make()  # without the lock, so that votes are not blocked
        if made.requests is not None:
            reader = self._evidence = self._evidence or EvidenceReader()
            made = self._read_votes(lambda table: add_evidence(made, reader, table))
        if judged:
            with self._agreement_lock:
                self._agreement.read(self.store, self.name)
                made = msgspec.structs.replace(made, judges=self._agreement.agreements())
        with self._lock:
            if texts is self._texts:
                self._board = seq, texts, made
        return made

    def tags(self) -> "list[TagCounts]":
        """Return the tags of votes and of their items, with the numbers of votes."""
        from driftduel.arena.tag_report import list_tags

        return self._read_votes(list_tags)

    def differences(self, by: str) -> "Subgroups":
        """Return the differences between the values of a tag, with the evidence for them.

        Votes are read from the log, so that the first call takes about a second for 100,000 votes;
        later calls read new votes only.

        Raises
        ------
        ArenaError
            ``not-comparable``, if the tag has fewer than two values, or too many.
        """
        from driftduel.arena.tag_report import compare_tag

        seq, known = self.seq, self._compared.get(by)
        if known is not None and known[0] == seq:
            return known[1]
        board = self.board()
        made = self._read_votes(lambda table: compare_tag(table, board, by))
        if len(self._compared) >= _COMPARED:
            self._compared.clear()
        self._compared[by] = seq, made
        return made

    def lost_items(self, option: str, limit: int = 20) -> "list[ItemShare]":
        """Return the items on which an option, given by its id, wins least; for owners.

        The shares are compared with the option's overall share.
        """
        from driftduel.arena.tag_report import lost_items

        with self._lock:
            arm, options = self.state.arm(option), self.options()
        return self._read_votes(lambda table: lost_items(table, options, arm, limit))

    def _read_votes(self, read: "Callable[[VoteTable], Found]") -> "Found":
        """Call a function with the votes of the log; votes are not blocked meanwhile."""
        from driftduel.arena.vote_table import VoteTable

        with self._table_lock:
            table = self._table = self._table or VoteTable(self.store, self.name)
            return read(table.update())

    def records(self, after: int = 0, limit: int = 10_000) -> list[Record]:
        """Return records of the log after sequence number `after`; by default from the first."""
        return self.store.records(self.name, after, limit)
