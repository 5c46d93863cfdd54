"""State is a fold of the log: what an arena knows, and what each record does to it.

Whatever happens is done by a method here that changes the state and returns the *body* of the
record to write down. Reading a log back, `apply` does the same again with what came from outside
(who asked, what was picked, when) and compares everything else - the pair, the side, what the
policy made of it - with what is written. So a log that does not belong to this code, to this
policy or to this seed is detected at the first record that differs, and never guessed at.
"""

from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from driftduel.arena import learning
from driftduel.arena.board_counts import BoardCounts
from driftduel.arena.learning import Learned, initial_policy
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.settings import MOST_OPTIONS, Settings
from driftduel.errors import DriftduelError, LogError
from driftduel.policies import policy_from_bytes, policy_to_bytes
from driftduel.policies.base import generator_state, restore_generator

__all__ = ["PICKS", "ArenaState", "OpenDuel"]

PICKS = ("left", "right", "tie", "skip")
Body = dict[str, Any]
_FORMAT = 3
_DAY = 86_400_000
# An open duel is given up after this many leases, however often its lease is renewed.
_MOST_LEASES = 10
# Proposals of the policy that are looked at for a voter who reached the cap on some pairs.
_MOST_PROPOSALS = 32


class OpenDuel(NamedTuple):
    """A duel that somebody was shown."""

    first: int
    second: int
    left: int
    """The arm on the left."""
    voter: str | None
    asked: int
    """When it was asked for, in milliseconds."""
    until: int
    """When its lease ends, or its vote's grace, in milliseconds."""
    pick: str | None = None
    """What was picked, once it was."""
    counts: bool = True
    """Whether the vote counts, or is void, or one too many of its voter's."""
    took: int = 0
    """How long the vote took, in milliseconds."""
    source: str | None = None
    """The source of a vote without a voter: a pseudonym of token and address."""

    def winner(self) -> int | None:
        """Return the arm that was picked; None for a tie."""
        if self.pick == "tie":
            return None
        return self.left if self.pick == "left" else self.first + self.second - self.left


class ArenaState:
    """What an arena knows after the records so far.

    Parameters
    ----------
    settings
        What the arena is.
    ids
        Its options at the beginning, by the numbers that policies know them by.
    at
        When it was opened, in milliseconds.
    """

    def __init__(self, settings: Settings, ids: Iterable[str], at: int) -> None:
        self.settings = settings
        self.ids = list(ids)
        """Every option that ever was; its place is the policies' number for it."""
        self.seq, self.at = 1, at
        self.epoch = 0
        self.epochs: list[int] = []
        """For each era, the number of duels asked for before it."""
        self.words: list[int] = []
        """For each era, its random word, which ids of its duels carry."""
        self.closed = False
        self.policy, self.coins = initial_policy(settings, len(self.ids))
        self.open: dict[int, OpenDuel] = {}
        """Duels without a vote, by ref (the policy's round), oldest first."""
        self.leaving: dict[int, int] = {}
        """Open duels that were released: ref to the time at which they are given up."""
        self.voted: dict[int, OpenDuel] = {}
        """Votes that can be undone, by ref, the grace that ends first before the others."""
        self.held: dict[int, OpenDuel] = {}
        """Votes that were told and wait until those before them are known."""
        self.day = at // _DAY
        self.today: dict[tuple[str, int, int], int] = {}
        """Votes of this day by voter and pair."""
        self.capped: dict[str, set[tuple[int, int]]] = {}
        """Pairs on which a voter reached the cap today; derived from `today`."""
        self.open_each: dict[str, list[int]] = {}
        """Open duels of each voter who has any, oldest first."""
        self.tally = BoardCounts(len(self.ids), self.leader, at)
        self.present: tuple[int, ...] = self.policy.present
        """The arms that can be shown."""

    # -- what is

    @property
    def leader(self) -> int | None:
        """The arm that leads: the policy's current best guess."""
        return self.policy.best()

    @property
    def kept(self) -> int:
        """How much it keeps of single duels and voters; a snapshot has it all."""
        return len(self.open) + len(self.voted) + len(self.held) + len(self.today)

    def arm(self, option: str) -> int:
        """Return the number of an option."""
        try:
            return self.ids.index(option)
        except ValueError:
            raise ArenaError("no-such-option", f"there is no option {option!r:.80}.") from None

    def epoch_of(self, ref: int) -> int | None:
        """Return the era in which a duel was asked for; None if it never was."""
        if not 1 <= ref <= self.policy.ledger.asked:
            return None
        if self.epochs and ref > self.epochs[-1]:  # nearly always
            return self.epoch
        return bisect_left(self.epochs, ref)

    def word_of(self, ref: int) -> int | None:
        """Return the random word of the era in which a duel was asked for; None if it never was."""
        epoch = self.epoch_of(ref)
        return self.words[epoch - 1] if epoch else None

    # -- what happens; each returns the body of its record, or refuses before anything changed

    def begin_epoch(self, at: int, word: str | None) -> Body:
        """Note that a process opens the arena.

        Parameters
        ----------
        at
            The time, in milliseconds.
        word
            64 random bits in hexadecimal. Ids of duels carry it, so that an id from before a
            restored backup is recognised, even if the log has reached the same duel again. None
            in logs of earlier versions, where the number of the era takes its place.
        """
        number = self.epoch + 1 if word is None else int(word, 16)
        self._tick(at)
        # Leases could not be renewed while no process had the arena.
        for ref, out in self.open.items():
            self.open[ref] = out._replace(until=self._lease_end(out.asked, at))
        self.epoch += 1
        self.epochs.append(self.policy.ledger.asked)
        self.words.append(number)
        return {"era": self.epoch} if word is None else {"era": self.epoch, "word": word}

    def ask(self, at: int, voter: str | None, source: str | None = None) -> tuple[int, Body]:
        """Choose a duel; return its ref, too. `source` counts as the voter if there is none."""
        self.need_open()
        self._tick(at)
        duel = self.policy.ask()
        ref = duel.round
        left = duel.first if self.coins.random() < 0.5 else duel.second
        body: Body = {"ref": ref, "pair": [duel.first, duel.second], "left": left}
        if duel.notes:
            body["notes"] = list(duel.notes)
        if voter is not None:
            body["voter"], source = voter, None
        elif source is not None:
            body["source"] = source
        if duel.alone:
            self.tally.shown_alone += 1
            _, learned = learning.tell(self.policy, duel, duel.first)
            return ref, body | self._learn(learned)
        until = self._lease_end(at, at)
        out = OpenDuel(duel.first, duel.second, left, voter, at, until, source=source)
        self._put_open(ref, out)
        return ref, body

    def duel_to_evict(self, voter: str | None) -> int | None:
        """Return the open duel to evict before this voter is asked; None if there is room."""
        mine = self.open_each.get(voter, []) if voter is not None else []
        if len(mine) >= self.settings.most_open_each:
            return mine[0]
        return next(iter(self.open)) if len(self.open) >= self.settings.most_open else None

    def capped_proposals(self, at: int, voter: str | None) -> int:
        """Return how many of the policy's next proposals this voter may not vote on today.

        The proposals are drawn from a copy of the policy, so that nothing changes if none of them
        is left for the voter. They stay open in the copy while the next ones are drawn: a policy
        that counts open duels then turns to other pairs.

        Raises
        ------
        ArenaError
            ``nothing-left``, if no proposal is below the cap.
        """
        capped = set() if voter is None or at // _DAY != self.day else self._capped_pairs(voter)
        if not capped:
            return 0
        trial = policy_from_bytes(policy_to_bytes(self.policy))
        for passed in range(_MOST_PROPOSALS):
            duel = trial.ask()
            if duel.alone or _pair(duel.first, duel.second) not in capped:
                return passed
        raise ArenaError(
            "nothing-left",
            "nothing is left to compare today: this voter gave "
            f"{self.settings.votes_a_day} votes on each pair that is to be compared; ask again "
            "after midnight (UTC).",
        )

    def _capped_pairs(self, voter: str) -> set[tuple[int, int]]:
        """Return the pairs on which a voter cannot vote today; open duels count as votes."""
        capped = self.capped.get(voter, set())
        pending: dict[tuple[int, int], int] = {}
        for ref in self.open_each.get(voter, ()):
            pair = _pair(self.open[ref].first, self.open[ref].second)
            pending[pair] = pending.get(pair, 0) + 1
        return capped | {
            pair
            for pair, count in pending.items()
            if self.today.get((voter, *pair), 0) + count >= self.settings.votes_a_day
        }

    def renew(self, at: int, ref: int) -> int | None:
        """Renew the lease of an open duel; return its new end, or None if it is not open.

        Leases are not in the log: a renewal changes no count and no duel, and what ends a lease is
        recorded.
        """
        out = self.open.get(ref)
        if out is None:
            return None
        self.leaving.pop(ref, None)
        out = self.open[ref] = out._replace(until=self._lease_end(out.asked, at))
        return out.until

    def release(self, ref: int, at: int) -> None:
        """Let an open duel be given up at this time, unless it is renewed before; not recorded."""
        if ref in self.open:
            self.leaving.pop(ref, None)
            self.leaving[ref] = at

    def _lease_end(self, asked: int, at: int) -> int:
        """Return when a lease that begins now ends, of a duel that was asked for then."""
        return min(at + round(1000 * self.settings.lease), self._latest(asked))

    def _latest(self, asked: int) -> int:
        """Return when a duel is given up, however often its lease is renewed."""
        return asked + _MOST_LEASES * round(1000 * self.settings.lease)

    def vote(self, at: int, ref: int, pick: str) -> Body:
        """Take an answer; it is told to the policy when its grace is over."""
        if pick not in PICKS:
            raise ArenaError("bad-vote", f"pick={pick!r:.40} must be {', '.join(PICKS)}.")
        self._tick(at)
        body: Body = {"ref": ref, "pick": pick}
        out = self._take_open(ref)
        if out is None:  # its lease is over: it is written down, and nobody learns from it
            self.tally.late += 1
            return body | {"late": True}
        counts = pick != "skip" and self._counts(out)
        until = at + round(1000 * self.settings.grace)
        out = out._replace(until=until, pick=pick, counts=counts, took=at - out.asked)
        self.voted[ref] = out
        self.tally.add_vote(ref, out, at, self.present)
        # A vote can be read by itself: who was left and who right, and whose it is.
        body["shown"] = [out.left, out.first + out.second - out.left]
        if out.voter is not None:
            body["voter"] = out.voter
        elif out.source is not None:
            body["source"] = out.source
        return body if counts or pick == "skip" else body | {"uncounted": True}

    def _counts(self, out: OpenDuel) -> bool:
        """Count a voter's votes on a pair today, and tell whether one more counts."""
        if out.voter is None:
            return True
        key = _today_key(out)
        count = self.today[key] = self.today.get(key, 0) + 1
        if count >= self.settings.votes_a_day:
            self.capped.setdefault(out.voter, set()).add(key[1:])
        return count <= self.settings.votes_a_day

    def undo(self, at: int, ref: int) -> Body:
        """Take a vote back that nobody has learned from; the duel is open again."""
        if ref not in self.voted:
            raise ArenaError("too-late", "the vote cannot be undone any more.")
        self._tick(at)
        out = self._take_back(ref)
        # A new lease, but within the bound of all leases: else a voter who undoes for ever would
        # keep all others' votes from being learned. A vote at that bound leaves a grace to choose
        # again.
        bound = min(at, self._latest(out.asked)) + round(1000 * self.settings.grace)
        until = max(self._lease_end(out.asked, at), bound)
        self._put_open(ref, out._replace(until=until, pick=None, counts=True, took=0))
        self.open = dict(sorted(self.open.items()))
        return {"ref": ref}

    def _take_back(self, ref: int) -> OpenDuel:
        """Let a vote not have been."""
        out = self.voted.pop(ref)
        key = _today_key(out)
        if self.today.get(key):
            self.today[key] -= 1
            if self.today[key] < self.settings.votes_a_day:
                self.capped.get(key[0], set()).discard(key[1:])
        self.tally.remove_vote(ref, out)
        return out

    def due(self, at: int) -> list[tuple[str, int, str]]:
        """Return what time has made due: kind, ref, and why if a duel is to be forgotten.

        Call it again when that is done: a vote that was told may wait for an open duel. An expired
        lease gives a duel up only if votes wait for it; until then its vote is welcome.
        """
        due = self.graces(at)
        for ref, until in self.leaving.items():
            if until <= at:
                due.append(("forgot", ref, "released"))
        if due:
            return due
        # In the order of asking, all votes that wait do so for this duel first.
        ref = self.policy.ledger.due
        head = self.open.get(ref)
        if head is not None and self.held and head.until <= at:
            return [("forgot", ref, "lease")]
        for ref, out in self.open.items():
            if max(out.until, self._latest(out.asked)) > at:
                break
            due.append(("forgot", ref, "lease"))
        return due

    def graces(self, at: int | None) -> list[tuple[str, int, str]]:
        """Return the votes whose grace is over by now, or all for None, as `due` does."""
        due = []
        for ref, out in self.voted.items():
            if at is not None and out.until > at:
                break
            if out.pick == "skip" or not out.counts:
                due.append(("forgot", ref, "skipped" if out.pick == "skip" else "uncounted"))
            else:
                due.append(("told", ref, ""))
        return due

    def waiting(self) -> tuple[int, int]:
        """Return how many votes wait, and for how many open duels."""
        last = max(self.held, default=0)
        return len(self.held), sum(ref < last for ref in self.open)

    def tell(self, at: int, ref: int) -> Body:
        """Tell a vote to the policy."""
        self._tick(at)
        out = self.voted.pop(ref)
        won, learned = learning.tell(self.policy, self.policy.ledger.open[ref], out.winner())
        body: Body = {"ref": ref}
        if out.pick == "tie" and won >= 0:
            body["coin"] = won
        self.held[ref] = out
        return body | self._learn(learned, told=ref)

    def forget(self, at: int, ref: int, why: str) -> Body:
        """Give up on a duel."""
        self._tick(at)
        out = self.voted.pop(ref, None)
        if out is None:
            out = self._take_open(ref)
        assert out is not None
        self.tally.give_up(ref, out)
        learned = learning.forget(self.policy, self.policy.ledger.open[ref])
        return {"ref": ref, "why": why} | self._learn(learned)

    def _learn(self, learned: Iterable[Learned], told: int = 0) -> Body:
        """Let the board hear of every answer that was learned; return what changed by it.

        An answer that has to wait for its turn is learned by a later record, which says so.
        """
        news: Body = {}
        others, certified = [], []
        for answer in learned:
            ref = answer.duel.round
            out = self.held.pop(ref, None)
            if out is not None and out.counts:
                voter = self._evidence_voter(ref, out)
                change = self.tally.add_learned(answer, out, voter, self.seq, self.at)
                if change is not None:
                    keys = ("before", "after", "from_vote", "to_vote")
                    certified.append([change[key] for key in keys])
            if out is not None and ref != told:
                others.append(ref)
            if answer.alarm:
                news["alarm"] = True
            news |= self._update_leader(alarm=answer.alarm)
        news |= self._is_sure()
        if certified:
            news["certified"] = certified
        if told in self.held:
            news["held"] = True
        if others:
            news["learned"] = others
        return news

    def _evidence_voter(self, ref: int, out: OpenDuel) -> int:
        """Return the number by which the evidence knows a voter; of a judge, every vote counts."""
        if self.settings.claim == "judges":
            return ref
        name = (out.voter or out.source or "").encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1

    def _is_sure(self) -> Body:
        """Return whether the board is sure, if that has changed."""
        sure = self.tally.sure(self.present)
        if sure == self.tally.was_sure:
            return {}
        self.tally.was_sure = sure
        return {"sure": sure}

    def _update_leader(self, *, alarm: bool) -> Body:
        leader = self.leader
        if leader == self.tally.leader:
            if alarm:
                self.tally.alarms += 1
            return {}
        self.tally.change_leader(leader, self.seq, self.at, self.present, alarm=alarm)
        return {"leads": leader}

    def add_past_votes(self, at: int, votes: list[list[Any]]) -> Body:
        """Take votes of the past: two arms, 1, 0 or -1 for a tie, and a weight each."""
        self.need_open()
        if self.policy.ledger.asked:
            raise ArenaError("too-late", "votes of the past are taken before the first duel.")
        self._tick(at)
        for first, second, won, weight in votes:
            winner = (second, first, None)[won]
            self.policy.hear(first, second, winner, weight)
            self.tally.heard += 1
        return {"votes": votes} | self._update_leader(alarm=False)

    def join(self, at: int, option: str) -> Body:
        """Let an option take part, again or for the first time."""
        if option not in self.ids:
            self.need_room()
        self.need_open()
        arm = self.ids.index(option) if option in self.ids else None
        if arm is not None and arm in self.present:
            raise ArenaError("bad-request", f"option {option!r} takes part already.")
        self._tick(at)
        self.policy.admit(arm)
        if arm is None:
            self.ids.append(option)
            self.tally.widen()
        self.present = self.policy.present
        return {"option": option} | self._update_leader(alarm=False) | self._is_sure()

    def need_room(self) -> None:
        """Refuse if no new option can take part."""
        self.need_open()
        if len(self.ids) >= MOST_OPTIONS:
            raise ArenaError("too-many", f"an arena has at most {MOST_OPTIONS} options.")

    def leave(self, at: int, option: str) -> Body:
        """Show an option no more; its open duels may still be answered."""
        self.need_open()
        arm = self.arm(option)
        if arm not in self.present:
            raise ArenaError("bad-request", f"option {option!r} takes no part already.")
        if len(self.present) <= 2:
            raise ArenaError("bad-request", "an arena needs two options; let another join first.")
        self._tick(at)
        self.policy.retire(arm)
        self.present = self.policy.present
        news = self._update_leader(alarm=False)
        if not news:
            self.tally.start_after_departure(self.seq, self.present)
        return {"option": option} | news | self._is_sure()

    def void(self, at: int, votes: list[list[int]], why: str) -> Body:
        """Take votes out of all counts; policies that learned from them stay as they are.

        Each vote is its seq, the ref of its duel, the first arm, the second, 1, 0 or -1 for a tie,
        and the seq of the record by which it was learned; -1 for one that was not.
        """
        self._tick(at)
        for seq, ref, first, second, won, learned_at in votes:
            self.tally.void(seq, ref, first, second, won, learned_at)
            if ref in self.held:  # its turn comes later, and then it is not to be counted
                self.held[ref] = self.held[ref]._replace(counts=False)
        return {"votes": votes, "why": why} | self._is_sure()

    def close(self, at: int) -> Body:
        """End it: nothing is asked for any more, open duels may still be answered."""
        self.need_open()
        self._tick(at)
        self.closed = True
        return {}

    def need_open(self) -> None:
        """Raise if the arena is closed."""
        if self.closed:
            raise ArenaError("closed", "the arena is closed.")

    def _tick(self, at: int) -> None:
        """Note one more record, and what time it is; times never go back."""
        assert at >= self.at
        self.seq, self.at = self.seq + 1, at
        if at // _DAY != self.day:
            self.day = at // _DAY
            self.today.clear()
            self.capped.clear()

    def _put_open(self, ref: int, out: OpenDuel) -> None:
        self.open[ref] = out
        if out.voter is not None:
            self.open_each.setdefault(out.voter, []).append(ref)

    def _take_open(self, ref: int) -> OpenDuel | None:
        out = self.open.pop(ref, None)
        self.leaving.pop(ref, None)
        if out is not None and out.voter is not None:
            mine = self.open_each[out.voter]
            mine.remove(ref)
            if not mine:
                del self.open_each[out.voter]
        return out

    # -- from a log, from a snapshot

    @classmethod
    def from_first_record(cls, record: Record) -> "ArenaState":
        """Make the state of an arena of which the first record is all there is."""
        if record.kind != "opened" or record.seq != 1:
            raise LogError("the log does not begin with the arena's settings.", record.seq)
        if "lanes" in record.body.get("settings", ()):
            raise LogError(
                "the arena was created by driftduel 0.2 or older, whose logs this version does not "
                "replay; run 'arena export' and 'arena import' its votes into a new arena.",
                record.seq,
            )
        try:
            settings = msgspec.convert(record.body["settings"], Settings)
            return cls(settings, record.body["options"], record.at)
        except (msgspec.ValidationError, KeyError, TypeError):
            raise LogError("the arena's settings cannot be read.", record.seq) from None

    def apply(self, record: Record) -> None:
        """Live through one more record, and compare what comes of it with what is written."""
        seq, at, kind, body = record.seq, record.at, record.kind, record.body
        if seq != self.seq + 1 or at < self.at:
            raise LogError(f"record {seq} does not follow record {self.seq}.", seq)
        try:
            again = self._reapply(kind, at, body)
        except DriftduelError as error:
            raise LogError(f"record {seq} ({kind}) cannot have happened: {error}", seq) from None
        except (KeyError, TypeError, ValueError, AssertionError, IndexError) as error:
            raise LogError(f"record {seq} ({kind}) makes no sense ({error!r}).", seq) from None
        if again != body:
            key = next(key for key in {**body, **again} if body.get(key) != again.get(key))
            raise LogError(
                f"record {seq} ({kind}) says {key}={body.get(key)!r}; by the records before it, it "
                f"is {again.get(key)!r}.",
                seq,
            )

    def _reapply(self, kind: str, at: int, body: Body) -> Body:
        match kind:
            case "asked":
                return self.ask(at, body.get("voter"), body.get("source"))[1]
            case "voted":
                return self.vote(at, body["ref"], body["pick"])
            case "told":
                return self.tell(at, body["ref"])
            case "forgot":
                return self.forget(at, body["ref"], body["why"])
            case "undone":
                return self.undo(at, body["ref"])
            case "voided":
                return self.void(at, body["votes"], body["why"])
            case "heard":
                return self.add_past_votes(at, body["votes"])
            case "joined":
                return self.join(at, body["option"])
            case "left":
                return self.leave(at, body["option"])
            case "closed":
                return self.close(at)
            case "era":
                return self.begin_epoch(at, body.get("word"))
        raise DriftduelError(f"there is no kind {kind!r:.40} of record.")

    def to_bytes(self) -> bytes:
        """Return a snapshot; two states are the same if and only if their snapshots are."""
        return msgspec.msgpack.encode(
            {
                "format": _FORMAT,
                "settings": self.settings,
                "ids": self.ids,
                "seq": self.seq,
                "at": self.at,
                "eras": self.epochs,
                "words": self.words,
                "closed": self.closed,
                "policy": policy_to_bytes(self.policy),
                "coins": generator_state(self.coins),
                # Without the ends of leases, which are not in the log.
                "open": [(ref, self.open[ref]._replace(until=0)) for ref in sorted(self.open)],
                "voted": list(self.voted.items()),
                "held": list(self.held.items()),
                "day": self.day,
                "today": [[*key, count] for key, count in self.today.items()],
                "tally": self.tally.to_plain(),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> "ArenaState":
        """Make the state whose snapshot this is."""
        try:
            plain = msgspec.msgpack.decode(data)
            if plain["format"] != _FORMAT:
                raise ValueError
            state = cls.__new__(cls)
            state.settings = msgspec.convert(plain["settings"], Settings)
            state.ids, state.seq, state.at = plain["ids"], plain["seq"], plain["at"]
            state.epochs, state.closed = plain["eras"], plain["closed"]
            state.epoch, state.words = len(state.epochs), plain["words"]
            state.policy = policy_from_bytes(plain["policy"])
            state.coins = restore_generator(plain["coins"])
            state.open, state.open_each, state.leaving = {}, {}, {}
            for ref, plain_out in plain["open"]:
                out = OpenDuel(*plain_out)
                until = state._lease_end(out.asked, state.at)
                state._put_open(ref, out._replace(until=until))
            state.voted = {ref: OpenDuel(*out) for ref, out in plain["voted"]}
            state.held = {ref: OpenDuel(*out) for ref, out in plain["held"]}
            state.day = plain["day"]
            state.today = {(voter, a, b): n for voter, a, b, n in plain["today"]}
            state.capped = {}
            for (voter, *pair), count in state.today.items():
                if count >= state.settings.votes_a_day:
                    state.capped.setdefault(voter, set()).add((pair[0], pair[1]))
            state.tally = BoardCounts.from_plain(plain["tally"])
            state.present = state.policy.present
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, IndexError):
            raise DriftduelError("the arena's snapshot cannot be read.") from None
        return state


def _today_key(out: OpenDuel) -> tuple[str, int, int]:
    return (out.voter or "", *_pair(out.first, out.second))


def _pair(first: int, second: int) -> tuple[int, int]:
    return (first, second) if first < second else (second, first)
