"""State is a fold of the log: what an arena knows, and what each record does to it.

Whatever happens is done by a method here that changes the state and returns the *body* of the
record to write down. Reading a log back, `apply` does the same again with what came from outside
(who asked, what was picked, when) and compares everything else - the pair, the side, what the
policy made of it - with what is written. So a log that does not belong to this code, to this
policy or to this seed is detected at the first record that differs, and never guessed at.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import numpy as np

from driftduel.arena.lanes import Lane, Learned, first_lanes
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.settings import MOST_OPTIONS, Settings
from driftduel.arena.tally import Tally
from driftduel.errors import DriftduelError, LogError
from driftduel.policies.base import generator_state, restore_generator

__all__ = ["PICKS", "Out", "State", "lane_of", "ref_of", "round_of"]

PICKS = ("left", "right", "tie", "skip")
Body = dict[str, Any]
_FORMAT = 1
_ROUND_BITS = 40
_DAY = 86_400_000


def ref_of(lane: int, t: int) -> int:
    """Return the one number by which records speak of a duel."""
    return lane << _ROUND_BITS | t


def lane_of(ref: int) -> int:
    """Return the lane of a duel."""
    return ref >> _ROUND_BITS


def round_of(ref: int) -> int:
    """Return the round of a duel in its lane."""
    return ref & (1 << _ROUND_BITS) - 1


class Out(NamedTuple):
    """A duel that somebody was shown."""

    first: int
    second: int
    left: int
    """The arm on the left."""
    voter: str | None
    asked: int
    """When it was asked for, in milliseconds."""
    until: int
    """When its lease ends, or its vote's grace."""
    pick: str | None = None
    """What was picked, once it was."""
    counts: bool = True
    """Whether the vote counts, or is void, or one too many of its voter's."""
    took: int = 0
    """How long the vote took, in milliseconds."""

    def winner(self) -> int | None:
        """Return the arm that was picked; None for a tie."""
        if self.pick == "tie":
            return None
        return self.left if self.pick == "left" else self.first + self.second - self.left


class State:
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
        self.era = 0
        self.eras: list[list[int]] = []
        """For each era, how many duels each lane had asked for before it."""
        self.closed = False
        self.lanes, self.coins = first_lanes(settings, len(self.ids))
        self.open: dict[int, Out] = {}
        """Duels without a vote, by ref, the lease that ends first before the others."""
        self.voted: dict[int, Out] = {}
        """Votes that can be undone, likewise."""
        self.held: dict[int, Out] = {}
        """Votes that were told and wait until those before them are known."""
        self.day = at // _DAY
        self.today: dict[tuple[str, int, int], int] = {}
        """Votes of this day by voter and pair."""
        self.open_each: dict[str, list[int]] = {}
        """Open duels of each voter who has any, oldest first."""
        self.tally = Tally(len(self.ids), self.leader, at, len(self.lanes))
        self.present: tuple[int, ...] = ()
        """The arms that can be shown."""
        self._look_who_is_there()

    # -- what is

    @property
    def leader(self) -> int | None:
        """The arm that leads: what the first lane's policy would ship."""
        return self.lanes[0].policy.best()

    @property
    def kept(self) -> int:
        """How much it keeps of single duels and voters; a snapshot has it all."""
        return len(self.open) + len(self.voted) + len(self.held) + len(self.today)

    def _look_who_is_there(self) -> None:
        self.present = self.lanes[0].policy.present

    def arm(self, option: str) -> int:
        """Return the number of an option."""
        try:
            return self.ids.index(option)
        except ValueError:
            raise ArenaError("no-such-option", f"there is no option {option!r:.80}.") from None

    def era_of(self, ref: int) -> int | None:
        """Return the era in which a duel was asked for; None if it never was."""
        lane, t = lane_of(ref), round_of(ref)
        if not (0 <= lane < len(self.lanes) and 1 <= t <= self.lanes[lane].policy.ledger.asked):
            return None
        if self.eras and t > self.eras[-1][lane]:  # nearly always
            return self.era
        return bisect_left(self.eras, t, key=lambda asked: asked[lane])

    # -- what happens; each returns the body of its record, or refuses before anything changed

    def begin_era(self, at: int) -> Body:
        """Note that a process takes the arena into its hands."""
        self._tick(at)
        self.era += 1
        self.eras.append([lane.policy.ledger.asked for lane in self.lanes])
        return {"era": self.era}

    def ask(self, at: int, voter: str | None) -> tuple[int, Body]:
        """Choose a duel; return its ref, too."""
        self._need_open()
        mine = self.open_each.get(voter, []) if voter is not None else []
        if len(self.open) >= self.settings.most_open or len(mine) >= self.settings.most_open_each:
            raise ArenaError(
                "too-many",
                f"{len(mine) or len(self.open)} duels are open; answer some first.",
            )
        self._tick(at)
        number, side = self._lane_for(voter), self.coins.random()
        lane = self.lanes[number]
        duel = lane.ask()
        ref = ref_of(number, duel.round)
        left = duel.first if side < 0.5 else duel.second
        body: Body = {"ref": ref, "pair": [duel.first, duel.second], "left": left}
        if duel.notes:
            body["notes"] = list(duel.notes)
        if voter is not None:
            body["voter"] = voter
        if duel.alone:
            self.tally.alone(number, duel.first)
            _, learned = lane.tell(duel, duel.first)
            return ref, body | self._learn(number, learned)
        until = at + round(1000 * self.settings.lease)
        self._put_open(ref, Out(duel.first, duel.second, left, voter, at, until))
        return ref, body

    def _lane_for(self, voter: str | None) -> int:
        """Give a voter always the same lane, and one without a name any."""
        coin = self.coins.random()  # drawn whether needed or not: one stream, whoever asks
        if len(self.lanes) == 1:
            return 0
        if voter is not None:
            coin = int(voter[:8], 16) / 2**32
        weights = np.cumsum([lane.weight for lane in self.lanes])
        return int(np.searchsorted(weights, coin * weights[-1], side="right"))

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
        self.tally.voted(out)
        # A vote can be read by itself: who was left and who right, and whose it is.
        body["shown"] = [out.left, out.first + out.second - out.left]
        if out.voter is not None:
            body["voter"] = out.voter
        return body if counts or pick == "skip" else body | {"uncounted": True}

    def _counts(self, out: Out) -> bool:
        """Count a voter's votes on a pair today, and tell whether one more counts."""
        if out.voter is None:
            return True
        key = _today_key(out)
        self.today[key] = self.today.get(key, 0) + 1
        return self.today[key] <= self.settings.votes_a_day

    def undo(self, at: int, ref: int) -> Body:
        """Take a vote back that nobody has learned from; the duel is open again."""
        if ref not in self.voted:
            raise ArenaError("too-late", "the vote cannot be undone any more.")
        self._tick(at)
        out = self._take_back(ref)
        # The lease that it had, and who voted at its very end has a grace to choose again: with a
        # new lease each time, one who undoes for ever would keep all others' votes from being
        # learned.
        end = out.asked + round(1000 * self.settings.lease)
        until = max(end, min(at, end) + round(1000 * self.settings.grace))
        self._put_open(ref, out._replace(until=until, pick=None, counts=True, took=0))
        self.open = dict(sorted(self.open.items(), key=lambda item: item[1].until))
        return {"ref": ref}

    def _take_back(self, ref: int) -> Out:
        """Let a vote not have been."""
        out = self.voted.pop(ref)
        key = _today_key(out)
        if self.today.get(key):
            self.today[key] -= 1
        self.tally.voted(out, times=-1)
        return out

    def due(self, at: int) -> list[tuple[str, int, str]]:
        """Return what time has made due: kind, ref, and why if a duel is to be forgotten."""
        due = []
        for ref, out in self.voted.items():
            if out.until > at:
                break
            if out.pick == "skip" or not out.counts:
                due.append(("forgot", ref, "skipped" if out.pick == "skip" else "uncounted"))
            else:
                due.append(("told", ref, ""))
        for ref, out in self.open.items():
            if out.until > at:
                break
            due.append(("forgot", ref, "lease"))
        return due

    def tell(self, at: int, ref: int) -> Body:
        """Tell a vote to the policy."""
        self._tick(at)
        out = self.voted.pop(ref)
        lane = self.lanes[lane_of(ref)]
        won, learned = lane.tell(lane.open(round_of(ref)), out.winner())
        body: Body = {"ref": ref}
        if out.pick == "tie" and won >= 0:
            body["coin"] = won
        self.held[ref] = out
        return body | self._learn(lane_of(ref), learned, told=ref)

    def forget(self, at: int, ref: int, why: str) -> Body:
        """Give up on a duel."""
        self._tick(at)
        out = self.voted.pop(ref, None)
        if out is None:
            out = self._take_open(ref)
        assert out is not None
        self.tally.forgot(out)
        lane = self.lanes[lane_of(ref)]
        learned = lane.forget(lane.open(round_of(ref)))
        return {"ref": ref, "why": why} | self._learn(lane_of(ref), learned)

    def _learn(self, number: int, learned: Iterable[Learned], told: int = 0) -> Body:
        """Let the board hear of every answer that was learned; return what changed by it.

        An answer that has to wait for its turn is learned by a later record, which says so.
        """
        news: Body = {}
        was_sure = self.tally.was_sure
        others = []
        for answer in learned:
            ref = ref_of(number, answer.duel.round)
            out = self.held.pop(ref, None)
            if out is not None and out.counts:
                self.tally.learned(number, answer, out, self.seq, self.at, self.present)
            if out is not None and ref != told:
                others.append(ref)
            # The first lane alone decides who leads; its alarms are the arena's.
            if number == 0:
                if answer.alarm:
                    news["alarm"] = True
                news |= self._crown(alarm=answer.alarm)
        sure = self.tally.sure(self.present)
        if sure != was_sure:
            news["sure"] = self.tally.was_sure = sure
        if told in self.held:
            news["held"] = True
        if others:
            news["learned"] = others
        return news

    def _crown(self, *, alarm: bool) -> Body:
        leader = self.leader
        if leader == self.tally.leader:
            if alarm:
                self.tally.alarms += 1
            return {}
        self.tally.crown(leader, self.seq, self.at, alarm=alarm)
        return {"leads": leader}

    def hear(self, at: int, votes: list[list[Any]]) -> Body:
        """Take votes of the past: two arms, 1, 0 or -1 for a tie, and a weight each."""
        self._need_open()
        if any(lane.policy.ledger.asked for lane in self.lanes):
            raise ArenaError("too-late", "votes of the past are taken before the first duel.")
        self._tick(at)
        for first, second, won, weight in votes:
            winner = (second, first, None)[won]
            for lane in self.lanes:
                lane.policy.hear(first, second, winner, weight)
            self.tally.heard += 1
        return {"votes": votes} | self._crown(alarm=False)

    def join(self, at: int, option: str) -> Body:
        """Let an option take part, again or for the first time."""
        if option not in self.ids:
            self.need_room()
        self._need_open()
        arm = self.ids.index(option) if option in self.ids else None
        if arm is not None and arm in self.present:
            raise ArenaError("bad-request", f"option {option!r} takes part already.")
        self._tick(at)
        for lane in self.lanes:
            lane.policy.admit(arm)
        if arm is None:
            self.ids.append(option)
            self.tally.widen()
        self._look_who_is_there()
        return {"option": option} | self._crown(alarm=False)

    def need_room(self) -> None:
        """Refuse if no new option can take part."""
        self._need_open()
        if len(self.ids) >= MOST_OPTIONS:
            raise ArenaError("too-many", f"an arena has at most {MOST_OPTIONS} options.")

    def leave(self, at: int, option: str) -> Body:
        """Show an option no more; its open duels may still be answered."""
        self._need_open()
        arm = self.arm(option)
        if arm not in self.present:
            raise ArenaError("bad-request", f"option {option!r} takes no part already.")
        if len(self.present) <= 2:
            raise ArenaError("bad-request", "an arena needs two options; let another join first.")
        self._tick(at)
        for lane in self.lanes:
            lane.policy.retire(arm)
        self._look_who_is_there()
        return {"option": option} | self._crown(alarm=False)

    def void(self, at: int, votes: list[list[int]], why: str) -> Body:
        """Take votes out of all counts; policies that learned from them stay as they are.

        Each vote is its seq, the ref of its duel, the first arm, the second, 1, 0 or -1 for a tie,
        and the seq of the record by which it was learned; -1 for one that was not.
        """
        self._tick(at)
        for seq, ref, first, second, won, learned_at in votes:
            self.tally.void(seq, first, second, won, learned_at)
            if ref in self.held:  # its turn comes later, and then it is not to be counted
                self.held[ref] = self.held[ref]._replace(counts=False)
        return {"votes": votes, "why": why}

    def close(self, at: int) -> Body:
        """End it: nothing is asked for any more, open duels may still be answered."""
        self._need_open()
        self._tick(at)
        self.closed = True
        return {}

    def _need_open(self) -> None:
        if self.closed:
            raise ArenaError("closed", "the arena is closed.")

    def _tick(self, at: int) -> None:
        """Note one more record, and what time it is; times never go back."""
        assert at >= self.at
        self.seq, self.at = self.seq + 1, at
        if at // _DAY != self.day:
            self.day = at // _DAY
            self.today.clear()

    def _put_open(self, ref: int, out: Out) -> None:
        self.open[ref] = out
        if out.voter is not None:
            self.open_each.setdefault(out.voter, []).append(ref)

    def _take_open(self, ref: int) -> Out | None:
        out = self.open.pop(ref, None)
        if out is not None and out.voter is not None:
            mine = self.open_each[out.voter]
            mine.remove(ref)
            if not mine:
                del self.open_each[out.voter]
        return out

    # -- from a log, from a snapshot

    @classmethod
    def opened(cls, record: Record) -> "State":
        """Make the state of an arena of which the first record is all there is."""
        if record.kind != "opened" or record.seq != 1:
            raise LogError("the log does not begin with the arena's settings.", record.seq)
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
            again = self._again(kind, at, body)
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

    def _again(self, kind: str, at: int, body: Body) -> Body:
        match kind:
            case "asked":
                return self.ask(at, body.get("voter"))[1]
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
                return self.hear(at, body["votes"])
            case "joined":
                return self.join(at, body["option"])
            case "left":
                return self.leave(at, body["option"])
            case "closed":
                return self.close(at)
            case "era":
                return self.begin_era(at)
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
                "eras": self.eras,
                "closed": self.closed,
                "lanes": [lane.to_bytes() for lane in self.lanes],
                "coins": generator_state(self.coins),
                "open": list(self.open.items()),
                "voted": list(self.voted.items()),
                "held": list(self.held.items()),
                "day": self.day,
                "today": [[*key, count] for key, count in self.today.items()],
                "tally": self.tally.to_plain(),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> "State":
        """Make the state whose snapshot this is."""
        try:
            plain = msgspec.msgpack.decode(data)
            if plain["format"] != _FORMAT:
                raise ValueError
            state = cls.__new__(cls)
            state.settings = msgspec.convert(plain["settings"], Settings)
            state.ids, state.seq, state.at = plain["ids"], plain["seq"], plain["at"]
            state.eras, state.closed = plain["eras"], plain["closed"]
            state.era = len(state.eras)
            state.lanes = [
                Lane.from_bytes(packed, lane.weight)
                for packed, lane in zip(plain["lanes"], state.settings.lanes, strict=True)
            ]
            state.coins = restore_generator(plain["coins"])
            state.open, state.open_each = {}, {}
            for ref, out in plain["open"]:
                state._put_open(ref, Out(*out))
            state.voted = {ref: Out(*out) for ref, out in plain["voted"]}
            state.held = {ref: Out(*out) for ref, out in plain["held"]}
            state.day = plain["day"]
            state.today = {(voter, a, b): n for voter, a, b, n in plain["today"]}
            state.tally = Tally.from_plain(plain["tally"])
            state._look_who_is_there()
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, IndexError):
            raise DriftduelError("the arena's snapshot cannot be read.") from None
        return state


def _today_key(out: Out) -> tuple[str, int, int]:
    pair = sorted((out.first, out.second))
    return (out.voter or "", pair[0], pair[1])
