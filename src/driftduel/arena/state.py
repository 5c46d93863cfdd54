"""The state of an arena as a fold of its log: one method per kind of record.

Each event is handled by a method that changes the state and returns the *body* of the record to
write. To replay a log, `apply` calls the same method with the external inputs of a record (voter,
pick, time) and compares all derived values (pair, side, result of the policy) with the stored
ones. A log of other code, another policy or another seed is therefore detected at the first
record that differs.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
import numpy as np

from driftduel.arena import learning
from driftduel.arena.board_counts import BoardCounts
from driftduel.arena.item_pool import MOST_GROUPS, MOST_ITEMS, ItemPool
from driftduel.arena.learning import Learned, initial_policy
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.request_means import RequestMeans
from driftduel.arena.settings import MOST_OPTIONS, Settings, plain_settings
from driftduel.arena.slate_votes import (
    MOST_SHOW,
    RANKED,
    SLATE_PICKS,
    ComparedPair,
    cards_of,
    compared_in,
    compared_pairs,
    half_of_top,
)
from driftduel.arena.tags import JUDGE, check_tags
from driftduel.errors import DriftduelError, LogError
from driftduel.policies import (
    Duel,
    RequestPolicy,
    check_coefficients,
    generator_state,
    policy_from_bytes,
    policy_to_bytes,
    restore_generator,
)
from driftduel.requests import ScaledRequest, TypedFeatures, short_value

__all__ = ["MOST_PRICE", "PICKS", "ArenaState", "OpenDuel", "check_price"]

PICKS = ("left", "right", "tie", "both-bad", "skip")
_EVEN = ("tie", "both-bad")  # picks without a winner
Body = dict[str, Any]
_FORMAT = 4
_READABLE = (3, 4)
_DAY = 86_400_000
# An open duel is given up after this many leases, however often its lease is renewed.
_MOST_LEASES = 10
# Number of proposals examined for a voter that reached the cap on some pairs.
_MOST_PROPOSALS = 32
MOST_PRICE = 100.0
# How far the scaled request in a record may be from the one that its values give.
_SCALING_ERROR = 1e-9


class OpenDuel(NamedTuple):
    """A duel that was shown to a voter; instances are immutable, a vote replaces them."""

    first: int
    second: int
    left: int
    """The arm on the left; of a slate, the one on the first card."""
    voter: str | None
    asked: int
    """Time of the request, in milliseconds."""
    until: int
    """End of its lease, or of the grace of its vote, in milliseconds."""
    pick: str | None = None
    """The pick; None before the vote."""
    counts: bool = True
    """Whether the vote counts; False if it is void or beyond the voter's daily cap."""
    took: int = 0
    """Time to answer, in milliseconds."""
    source: str | None = None
    """The source of a vote without a voter: a pseudonym of token and address."""
    tags: dict[str, str] | None = None
    """Tags of the request for the duel; the record of the vote has further ones."""
    item: int = 0
    """Number of the item; 0 without items."""
    judge: bool = False
    """Whether an automatic judge voted: the vote has the tag ``judge``."""
    request: dict[str, str | float] | None = None
    """The request by the names of its features; None without features."""
    cards: tuple[int, ...] = ()
    """The arms of a slate in the order of its cards; empty for a duel."""
    ranking: tuple[int, ...] = ()
    """The arms of a slate that were ranked or picked, the best first."""

    @property
    def shown(self) -> tuple[int, ...]:
        """The arms as shown: on the left and on the right, or on the cards."""
        return self.cards or (self.left, self.first + self.second - self.left)

    def ranked(self) -> tuple[int, ...]:
        """Return the arms that were picked or ranked, the best first; none for a tie."""
        if self.cards or self.pick in _EVEN:
            return self.ranking
        left, right = self.shown
        return (left if self.pick == "left" else right,)

    def compared(self) -> list[ComparedPair]:
        """Return the pairs that the vote compares: one of a duel, several of a slate."""
        if self.cards:
            return compared_pairs(self.cards, self.ranking)
        return compared_in({"shown": self.shown, "pick": self.pick})


class ArenaState:
    """The state of an arena after the records so far. Not thread-safe: the caller holds a lock.

    Parameters
    ----------
    settings
        Settings of the arena.
    ids
        Ids of its first options; the index of an id is the policy's arm.
    at
        Time of creation, in milliseconds.
    """

    def __init__(self, settings: Settings, ids: Iterable[str], at: int) -> None:
        self.settings = settings
        self.ids = list(ids)
        """Ids of all options, with those that left; the index of an id is the policy's arm."""
        self.seq, self.at = 1, at
        self.epoch = 0
        self.epochs: list[int] = []
        """For each ownership epoch, the number of duels asked for before it."""
        self.words: list[int] = []
        """For each epoch, its random word, which is part of the ids of its duels."""
        self.closed = False
        self.policy, self.coins = initial_policy(settings, len(self.ids))
        self.features = TypedFeatures.of(settings.features)
        """The features that every request for a duel has."""
        self.means = RequestMeans.of(self.features) if self.features else None
        """Mean requests for the board; None without features."""
        self.pool = ItemPool(settings.seed) if settings.items else None
        """The items without their contents; None for an arena without items."""
        self.foreign: set[int] = set()
        """Open duels whose pair the policy did not choose; it does not learn their answers."""
        self.open: dict[int, OpenDuel] = {}
        """Duels without a vote, by ref (the policy's round), oldest first."""
        self.leaving: dict[int, int] = {}
        """Released duels: ref to the time at which they are given up."""
        self.voted: dict[int, OpenDuel] = {}
        """Votes that can be undone, by ref, ordered by the end of their grace."""
        self.held: dict[int, OpenDuel] = {}
        """Votes after their grace that wait for earlier duels."""
        self.day = at // _DAY
        self.today: dict[tuple[str, tuple[int, ...]], int] = {}
        """Votes of this day by voter and pair, or set of options of a slate."""
        self.capped: dict[str, set[tuple[int, ...]]] = {}
        """Pairs on which a voter reached the cap today; derived from `today`."""
        self.open_each: dict[str, list[int]] = {}
        """Open duels of each voter, oldest first; voters without one have no key."""
        self.tally = BoardCounts(len(self.ids), self.leader, at)
        self.present: tuple[int, ...] = self.policy.present
        """The arms that can be shown."""

    # -- queries

    @property
    def leader(self) -> int | None:
        """The arm that leads: the policy's current best guess."""
        return self.policy.best()

    @property
    def kept(self) -> int:
        """Number of single duels and votes in the state; a snapshot grows with it."""
        single = len(self.open) + len(self.voted) + len(self.held) + len(self.today)
        return single if self.pool is None else single + self.pool.kept

    def arm(self, option: str) -> int:
        """Return the arm of an option; raise ArenaError if there is none."""
        try:
            return self.ids.index(option)
        except ValueError:
            raise ArenaError(
                "no-such-option", f"option {option!r:.80} does not exist; the board lists them."
            ) from None

    def epoch_of(self, ref: int) -> int | None:
        """Return the ownership epoch of a duel; None if the duel does not exist."""
        if not 1 <= ref <= self.policy.ledger.asked:
            return None
        if self.epochs and ref > self.epochs[-1]:  # nearly always
            return self.epoch
        return bisect_left(self.epochs, ref)

    def word_of(self, ref: int) -> int | None:
        """Return the random word of a duel's epoch; None if the duel does not exist."""
        epoch = self.epoch_of(ref)
        return self.words[epoch - 1] if epoch else None

    # -- events: each method returns the body of its record, or raises before the state changes

    def begin_epoch(self, at: int, word: str | None) -> Body:
        """Begin an ownership epoch: a process has opened the arena.

        Parameters
        ----------
        at
            The time, in milliseconds.
        word
            64 random bits in hexadecimal. Ids of duels carry it, so that an id from before a
            restored backup is recognised, even if the log has reached the same duel again. None
            in logs of earlier versions, where the number of the epoch takes its place.
        """
        number = self.epoch + 1 if word is None else int(word, 16)
        self._tick(at)
        # Leases could not be renewed while no process owned the arena.
        for ref, out in self.open.items():
            self.open[ref] = out._replace(until=self._lease_end(out.asked, at))
        self.epoch += 1
        self.epochs.append(self.policy.ledger.asked)
        self.words.append(number)
        return {"era": self.epoch} if word is None else {"era": self.epoch, "word": word}

    def ask(
        self,
        at: int,
        voter: str | None,
        source: str | None = None,
        tags: dict[str, str] | None = None,
        *,
        forced: bool = False,
        request: Any = None,
        scaled: ScaledRequest | None = None,
    ) -> tuple[int, Body]:
        """Choose a duel; return its ref and the body of its record.

        With items the policy chooses the pair, then an item is chosen. If the voter has seen all
        items of the pair, the record has the field ``passed``: give this duel up, and ask again.

        Parameters
        ----------
        at
            The time, in milliseconds.
        voter, source
            Pseudonyms; `source` counts as the voter if there is none.
        tags
            Tags of the vote, as `check_tags` returns them.
        forced
            Whether to take the pair that was shown least, among those with an item that the voter
            has not seen, in place of the policy's.
        request
            The request, if the arena has features.
        scaled
            The scaled request of a record, which a replay does not compute again: the last bit of a
            square root may depend on the machine.

        Raises
        ------
        ArenaError
            ``nothing-left``, if the voter has seen all items with all pairs; ``closed``;
            ``wrong-request`` for a request that does not fit the features.
        """
        self.need_open()
        self.need_items(voter)
        request, scaled = self._scaled(request, scaled)
        self._tick(at)
        item = 0
        if forced:
            duel, item = self._forced_duel(voter)
        else:
            duel = self.policy.ask(scaled if self.takes_requests else None)
        ref = duel.round
        body: Body = {"ref": ref, "pair": [duel.first, duel.second]}
        cards = self._shuffled(duel.shown) if self.settings.has_slates and not duel.alone else ()
        if cards:
            left = cards[0]
            body |= {"others": list(duel.others), "cards": list(cards)}
        else:
            left = duel.first if self.coins.random() < 0.5 else duel.second
            body["left"] = left
        if duel.notes:
            body["notes"] = list(duel.notes)
        if request is not None and self.means is not None:
            body["request"] = request
            if not (self.takes_requests and duel.notes):  # otherwise it is the end of the notes
                body["scaled"] = list(scaled or ())
            self.means.add(request, scaled)
        if voter is not None:
            body["voter"], source = voter, None
        elif source is not None:
            body["source"] = source
        if tags:
            body["tags"] = tags
        if forced:
            body["forced"] = True
        if self.pool is not None:
            if item:
                self.pool.show_item(voter, _ascending(duel.shown), item)
            else:
                item = self.pool.show(voter, _ascending(duel.shown)) or 0
            if item:
                body["item"] = item
            else:
                body["passed"], voter, source = True, None, None
        if duel.alone:
            self.tally.shown_alone += 1
            _, learned = learning.tell(self.policy, duel, [duel.first], self.foreign)
            return ref, body | self._learn(learned)
        until = self._lease_end(at, at)
        out = OpenDuel(
            duel.first, duel.second, left, voter, at, until, source=source, tags=tags, item=item,
            request=request, cards=cards,
        )  # fmt: skip
        self._put_open(ref, out)
        return ref, body

    def _shuffled(self, arms: tuple[int, ...]) -> tuple[int, ...]:
        """Return arms in random order (Fisher and Yates), drawn from the stream of the sides."""
        cards = list(arms)
        for last in range(len(cards) - 1, 0, -1):
            place = min(last, int(self.coins.random() * (last + 1)))
            cards[place], cards[last] = cards[last], cards[place]
        return tuple(cards)

    @property
    def takes_requests(self) -> bool:
        """Whether the policy chooses by the request; others ignore it."""
        return self.policy.request_shape.features > 0

    def check_request(self, request: Any) -> dict[str, str | float] | None:
        """Return a request by the names of the features, or None without features.

        Raises
        ------
        ArenaError
            ``wrong-request``, with the name of the first missing, unknown or wrong feature.
        """
        if not self.features:
            if request is None:
                return None
            raise ArenaError(
                "wrong-request",
                "the arena has no features, so it takes no request; omit it, or create an arena "
                "with features.",
            )
        if request is None:
            raise ArenaError(
                "wrong-request",
                f"the arena has features; pass a request with {self.features.describe()}.",
            )
        try:
            return self.features.checked(request)
        except DriftduelError as error:
            raise ArenaError("wrong-request", str(error)) from None

    def _scaled(
        self, request: Any, scaled: ScaledRequest | None
    ) -> tuple[dict[str, str | float] | None, ScaledRequest | None]:
        """Return a request and its scaled form, both checked."""
        request = self.check_request(request)
        if request is None:
            assert scaled is None
            return None, None
        computed = self.features.scale(request)
        if scaled is None:
            return request, computed
        self.features.shape.scale(scaled)  # raises an error unless its length is 1
        assert np.abs(np.subtract(scaled, computed)).max() <= _SCALING_ERROR
        return request, scaled

    def best(self, request: Any = None) -> int | None:
        """Return the arm to use for a request after prices; without one, for the mean request.

        The state does not change. A policy that takes no requests has one best guess for all.
        """
        if request is None:
            return self.leader
        checked = self.check_request(request)
        if isinstance(self.policy, RequestPolicy) and self.takes_requests:
            return self.policy.best(self.features.scale(checked))
        return self.leader

    @property
    def prices(self) -> list[float] | None:
        """The price of each option in log-odds; None for a policy that takes no prices."""
        if not isinstance(self.policy, RequestPolicy):
            return None
        found: list[float] = self.policy.state.prices.tolist()
        return found

    def set_prices(self, at: int, prices: list[float]) -> Body:
        """Replace the prices of all options, in log-odds; choices subtract them."""
        self.need_open()
        checked = [check_price(each) for each in prices]
        if not isinstance(self.policy, RequestPolicy):
            raise ArenaError(
                "bad-request",
                f"policy {self.settings.policy!r:.80} takes no prices; create an arena with "
                "policy='adaptive-logistic'.",
            )
        if len(checked) != len(self.ids):
            raise ArenaError("bad-request", f"prices must be {len(self.ids)} numbers.")
        self._tick(at)
        self.policy.set_prices(checked)
        return {"prices": checked} | self._update_leader(alarm=False) | self._is_sure()

    def need_items(self, voter: str | None) -> None:
        """Raise ArenaError if there are items, and the voter has seen them all with all pairs."""
        if self.pool is None or not self._has_exhausted_all(voter):
            return
        if not self._has_exhausted_all(None):
            every = "set of options" if self.settings.has_slates else "pair"
            raise ArenaError(
                "nothing-left",
                f"nothing is left to compare: this voter has seen every item with every {every}.",
            )
        raise ArenaError(
            "nothing-left",
            "nothing can be compared: no item has answers of two present options; add items.",
        )

    def _has_exhausted_all(self, voter: str | None) -> bool:
        assert self.pool is not None
        if self.settings.has_slates:
            return self.pool.has_exhausted_slates(voter, self.present, self.settings.show)
        return self.pool.has_exhausted_all(voter, self.present)

    def _forced_duel(self, voter: str | None) -> tuple[Duel, int]:
        """Return a duel of the pair that was shown least, among those left for a voter.

        A slate has the item that was shown least; its number is the second value, else 0.
        """
        assert self.pool is not None
        if self.settings.has_slates:
            found = self.pool.least_shown_slate(voter, self.present, self.settings.show)
            assert found is not None  # otherwise `need_items` has raised an error
            item, (first, second, *others) = found
            rest = [-1.0] * (self.policy.slate - 2 - len(others))
            before = len(getattr(self.policy, "notes", ())) - len(others) - len(rest)
            notes = (*[0.0] * before, *map(float, others), *rest)
            duel = self.policy.ledger.enter(first, second, notes, tuple(others))
            self.foreign.add(duel.round)
            return duel, item
        pair = self.pool.least_shown_pair(voter, self.present)
        assert pair is not None  # otherwise `need_items` has raised an error
        duel = self.policy.ledger.enter(*pair, ())
        self.foreign.add(duel.round)
        return duel, 0

    def duel_to_evict(self, voter: str | None) -> int | None:
        """Return the open duel to evict before this voter's next one; None below the limits.

        The limits are the values `most_open_each` and `most_open` of the settings.
        """
        mine = self.open_each.get(voter, []) if voter is not None else []
        if len(mine) >= self.settings.most_open_each:
            return mine[0]
        return next(iter(self.open)) if len(self.open) >= self.settings.most_open else None

    def capped_proposals(self, at: int, voter: str | None, request: Any = None) -> int:
        """Return how many of the policy's next proposals this voter may not vote on today.

        The proposals are drawn from a copy of the policy, so that the state does not change if the
        voter may vote on none of them. They stay open in the copy while the next ones are drawn: a
        policy that counts open duels then chooses other pairs.

        Raises
        ------
        ArenaError
            ``nothing-left``, if no proposal is below the cap.
        """
        if self.pool is not None:  # no voter sees an item twice with a pair, so there is no cap
            return 0
        capped = set() if voter is None or at // _DAY != self.day else self._capped_pairs(voter)
        if not capped:
            return 0
        trial = policy_from_bytes(policy_to_bytes(self.policy))
        scaled = self.features.scale(request) if self.takes_requests else None
        for passed in range(_MOST_PROPOSALS):
            duel = trial.ask(scaled)
            if duel.alone or _ascending(duel.shown) not in capped:
                return passed
        raise ArenaError(
            "nothing-left",
            "nothing is left to compare today: this voter gave "
            f"{self.settings.votes_a_day} votes on each pair that is to be compared; ask again "
            "after midnight (UTC).",
        )

    def _capped_pairs(self, voter: str) -> set[tuple[int, ...]]:
        """Return the pairs that a voter cannot vote on today; open duels count as votes."""
        capped = self.capped.get(voter, set())
        pending: dict[tuple[int, ...], int] = {}
        for ref in self.open_each.get(voter, ()):
            pair = _ascending(self.open[ref].shown)
            pending[pair] = pending.get(pair, 0) + 1
        return capped | {
            pair
            for pair, count in pending.items()
            if self.today.get((voter, pair), 0) + count >= self.settings.votes_a_day
        }

    def renew(self, at: int, ref: int) -> int | None:
        """Renew the lease of an open duel; return its new end, or None if it is not open.

        Leases are not in the log: a renewal changes no count, and the end of a lease is recorded.
        """
        out = self.open.get(ref)
        if out is None:
            return None
        self.leaving.pop(ref, None)
        out = self.open[ref] = out._replace(until=self._lease_end(out.asked, at))
        return out.until

    def release(self, ref: int, at: int) -> None:
        """Schedule an open duel to be given up, unless it is renewed before; not recorded."""
        if ref in self.open:
            self.leaving.pop(ref, None)
            self.leaving[ref] = at

    def _lease_end(self, asked: int, at: int) -> int:
        """Return the end of a lease from `at` on, for a duel that was asked for at `asked`."""
        return min(at + round(1000 * self.settings.lease), self._latest(asked))

    def _latest(self, asked: int) -> int:
        """Return the time at which a duel is given up, however often its lease was renewed."""
        return asked + _MOST_LEASES * round(1000 * self.settings.lease)

    def vote(
        self,
        at: int,
        ref: int,
        pick: str,
        tags: dict[str, str] | None = None,
        reason: str = "",
        cards: Sequence[int] = (),
    ) -> Body:
        """Record an answer; the policy learns it when its grace is over.

        Parameters
        ----------
        at
            The time, in milliseconds.
        ref
            The duel.
        pick
            One of `PICKS`; of a slate, one of `SLATE_PICKS`.
        tags, reason
            The tags are those of `check_tags`; they are added to those of the request for the duel.
        cards
            Of a slate: numbers of the ranked cards, from 1, the best first.
        """
        ranking = self._ranking(ref, pick, cards)
        tags = self._merged_tags(ref, tags)
        self._tick(at)
        body: Body = {"ref": ref, "pick": pick}
        if tags:
            body["tags"] = tags
        if reason:
            body["reason"] = reason
        out = self._take_open(ref)
        if out is None:  # the duel was given up: the vote is recorded, but not learned
            self.tally.late += 1
            if cards:
                body["cards"] = list(cards)
            return body | {"late": True}
        counts = pick != "skip" and self._counts(out)
        until = at + round(1000 * self.settings.grace)
        out = out._replace(
            until=until, pick=pick, counts=counts, took=at - out.asked, judge=JUDGE in tags,
            ranking=ranking,
        )  # fmt: skip
        self.voted[ref] = out
        self.tally.add_vote(ref, out, at, self.present)
        # The record is self-contained: options as shown and as ranked, item and voter.
        body["shown"] = list(out.shown)
        if ranking:
            body["ranking"] = list(ranking)
        if out.item:
            body["item"] = out.item
        if out.request is not None:
            body["request"] = out.request
        if out.voter is not None:
            body["voter"] = out.voter
        elif out.source is not None:
            body["source"] = out.source
        return body if counts or pick == "skip" else body | {"uncounted": True}

    def _ranking(self, ref: int, pick: str, cards: Sequence[int]) -> tuple[int, ...]:
        """Return the ranked arms of a vote; raise ArenaError if the vote does not fit its duel."""
        slates = self.settings.has_slates
        known = SLATE_PICKS if slates else PICKS
        if pick not in known or bool(cards) != (pick == RANKED):
            raise ArenaError("bad-vote", f"pick={pick!r:.40} must be {', '.join(known)}.")
        if len(cards) > 1 and self.settings.feedback == "pick":
            raise ArenaError(
                "bad-vote",
                "this arena takes the pick of one card; send pick, or create an arena with "
                "feedback='ranking'.",
            )
        if len(set(cards)) < len(cards):
            raise ArenaError("bad-vote", f"ranking={list(cards)!r:.60} has a card twice.")
        shown = self.open[ref].cards if ref in self.open else None
        if not cards or shown is None:
            return ()
        wrong = next((card for card in cards if not 1 <= card <= len(shown)), None)
        if wrong is not None:
            raise ArenaError(
                "bad-vote", f"card {wrong} was not shown; the cards are 1 to {len(shown)}."
            )
        return tuple(shown[card - 1] for card in cards)

    def _merged_tags(self, ref: int, tags: dict[str, str] | None) -> dict[str, str]:
        """Return the tags of a vote and of the request for its duel, sorted by key."""
        asked = self.open[ref].tags if ref in self.open else None
        if asked is None or tags is None:
            return asked or tags or {}
        return check_tags(asked | tags)

    def _counts(self, out: OpenDuel) -> bool:
        """Count a voter's vote on a pair today; return whether it is within the cap."""
        if out.voter is None or self.pool is not None:
            return True
        key = _today_key(out)
        count = self.today[key] = self.today.get(key, 0) + 1
        if count >= self.settings.votes_a_day:
            self.capped.setdefault(out.voter, set()).add(key[1])
        return count <= self.settings.votes_a_day

    def undo(self, at: int, ref: int) -> Body:
        """Undo a vote that the policy has not learned; the duel is open again."""
        if ref not in self.voted:
            raise ArenaError("too-late", "the grace period is over; the vote cannot be undone.")
        self._tick(at)
        out = self._take_back(ref)
        # A new lease, but within the bound on all leases of a duel: otherwise repeated undos would
        # starve the votes that wait for this duel. At the bound, one more grace remains to vote.
        bound = min(at, self._latest(out.asked)) + round(1000 * self.settings.grace)
        until = max(self._lease_end(out.asked, at), bound)
        fresh = out._replace(until=until, pick=None, counts=True, took=0, judge=False, ranking=())
        self._put_open(ref, fresh)
        self.open = dict(sorted(self.open.items()))
        return {"ref": ref}

    def _take_back(self, ref: int) -> OpenDuel:
        """Remove a vote from the state; return its duel."""
        out = self.voted.pop(ref)
        key = _today_key(out)
        if self.today.get(key):
            self.today[key] -= 1
            if self.today[key] < self.settings.votes_a_day:
                self.capped.get(key[0], set()).discard(key[1])
        self.tally.remove_vote(ref, out)
        return out

    def due(self, at: int) -> list[tuple[str, int, str]]:
        """Return the actions that are due: kind of record, ref, and a reason for ``forgot``.

        Call it again after performing them: a vote may then wait for an open duel. A duel with an
        expired lease is given up only if votes wait for it; until then its vote is accepted.
        """
        due = self.graces(at)
        for ref, until in self.leaving.items():
            if until <= at:
                due.append(("forgot", ref, "released"))
        if due:
            return due
        # Answers are learned in the order of asking, so every waiting vote waits for this duel.
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
        """Return the actions for votes with an expired grace; None: for all votes."""
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
        """Return the number of waiting votes, and of the open duels they wait for."""
        last = max(self.held, default=0)
        return len(self.held), sum(ref < last for ref in self.open)

    def tell(self, at: int, ref: int) -> Body:
        """Pass a vote to the policy."""
        self._tick(at)
        out = self.voted.pop(ref)
        won, learned = learning.tell(
            self.policy, self.policy.ledger.open[ref], out.ranked(), self.foreign
        )
        body: Body = {"ref": ref}
        if out.pick in _EVEN and won >= 0:
            body["coin"] = won
        self.held[ref] = out
        return body | self._learn(learned, current=ref)

    def forget(self, at: int, ref: int, why: str) -> Body:
        """Give up a duel."""
        self._tick(at)
        out = self.voted.pop(ref, None)
        if out is None:
            out = self._take_open(ref)
        assert out is not None
        self.tally.give_up(ref, out)
        learned = learning.forget(self.policy, self.policy.ledger.open[ref], self.foreign)
        return {"ref": ref, "why": why} | self._learn(learned)

    def _learn(self, learned: Iterable[Learned], current: int = 0) -> Body:
        """Count the learned answers for the board; return the fields of the record that changed.

        An answer that has to wait for its turn is learned by a later record, which lists its ref.
        """
        news: Body = {}
        others, certified = [], []
        for answer in learned:
            ref = answer.duel.round
            out = self.held.pop(ref, None)
            if out is not None and out.counts:
                voter = self._evidence_voter(ref, out)
                changes = self.tally.add_learned(
                    answer, out, voter, self.seq, self.at, certify=not self.features
                )
                keys = ("before", "after", "from_vote", "to_vote")
                certified += [[change[key] for key in keys] for change in changes]
            if out is not None and ref != current:
                others.append(ref)
            if answer.alarm:
                news["alarm"] = True
            news |= self._update_leader(alarm=answer.alarm)
        news |= self._is_sure()
        if certified:
            news["certified"] = certified
        if current in self.held:
            news["held"] = True
        if others:
            news["learned"] = others
        return news

    def _evidence_voter(self, ref: int, out: OpenDuel) -> int | None:
        """Return the number of a voter in the evidence, or None if the vote is not evidence.

        It is the number of the duel if every vote counts, and one of voter and item with items.
        """
        if out.judge and self.settings.evidence == "people":
            return None
        if self.settings.claim == "judges":
            return ref
        name = (out.voter or out.source or "").encode()
        if out.item:
            name += b"\n%d" % out.item
        return int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1

    def _is_sure(self) -> Body:
        """Return the field ``sure`` if its value has changed."""
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
        """Import past votes: lists of two arms, the value 1, 0 or -1 for a tie, and a weight.

        Of a slate, the first two are lists: the arms as shown and as ranked. A fifth value may have
        further fields of the vote, which are kept for exports. With features, its field ``request``
        is required.
        """
        self.need_open()
        requests = [
            self.check_request(known[0].get("request") if known else None)
            for known in (vote[4:] for vote in votes)
        ]
        if self.policy.ledger.asked:
            raise ArenaError(
                "too-late",
                "past votes can be imported before the first duel only; use a new arena.",
            )
        self._tick(at)
        for (first, second, won, weight, *_), request in zip(votes, requests, strict=True):
            self.tally.heard += 1
            if isinstance(first, list):
                self._add_past_slate(first, second, weight)
                continue
            winner = (second, first, None)[won]
            if isinstance(self.policy, RequestPolicy) and self.takes_requests:
                scaled = self.features.scale(request)
                self.policy.add_past_vote(first, second, winner, weight, scaled)
            else:
                self.policy.add_past_vote(first, second, winner, weight)
        return {"votes": votes} | self._update_leader(alarm=False)

    def _add_past_slate(self, shown: list[int], ranking: list[int], weight: float) -> None:
        """Let the policy learn the pairs that a past vote on a slate compares."""
        for first, second, won, part in compared_pairs(shown, ranking):
            winner = None if won < 0 else first
            self.policy.add_past_vote(first, second, winner, weight * part)

    def join(self, at: int, option: str) -> Body:
        """Add an option, or readmit one that left."""
        if option not in self.ids:
            self.need_room()
        self.need_open()
        arm = self.ids.index(option) if option in self.ids else None
        if arm is not None and arm in self.present:
            raise ArenaError("bad-request", f"option {option!r} is present already.")
        self._tick(at)
        self.policy.admit(arm)
        if arm is None:
            self.ids.append(option)
            self.tally.widen()
        self.present = self.policy.present
        return {"option": option} | self._update_leader(alarm=False) | self._is_sure()

    def need_room(self) -> None:
        """Raise ArenaError if the arena is closed or has the maximum number of options."""
        self.need_open()
        if len(self.ids) >= MOST_OPTIONS:
            raise ArenaError("too-many", f"an arena has at most {MOST_OPTIONS} options.")
        try:
            check_coefficients(len(self.ids) + 1, self.features.shape)
        except DriftduelError as error:
            raise ArenaError("too-many", str(error)) from None

    def leave(self, at: int, option: str) -> Body:
        """Retire an option; its open duels can still be answered."""
        self.need_open()
        arm = self.arm(option)
        if arm not in self.present:
            raise ArenaError("bad-request", f"option {option!r} has left already.")
        if len(self.present) <= 2:
            raise ArenaError(
                "bad-request", "an arena needs at least two options; add another one first."
            )
        self._tick(at)
        self.policy.retire(arm)
        self.present = self.policy.present
        news = self._update_leader(alarm=False)
        if not news:
            self.tally.start_after_departure(self.seq, self.present)
        return {"option": option} | news | self._is_sure()

    def change_items(self, at: int, changes: Body) -> Body:
        """Add, retire, readmit or extend items; return the body of the record.

        Parameters
        ----------
        at
            The time, in milliseconds.
        changes
            Any of the keys ``added`` (for each new item an index of ``sets``), ``sets`` (pairs of
            arms with an answer and a value of the balance tag), ``retired`` and ``readmitted``
            (numbers of items) and ``extended`` (pairs of a number and arms with a new answer).
        """
        self.need_open()
        pool = self.pool
        if pool is None:
            raise ArenaError("bad-request", "the arena has no items; create an arena with items.")
        sets = [(tuple(arms), value) for arms, value in changes.get("sets", ())]
        self._check_items(pool, changes, sets)
        self._tick(at)
        pool.add(sets[kind] for kind in changes.get("added", ()))
        for item in changes.get("retired", ()):
            pool.retire(item)
        for item in changes.get("readmitted", ()):
            pool.readmit(item)
        for item, arms in changes.get("extended", ()):
            pool.extend(item, arms)
        return dict(changes)

    def _check_items(
        self, pool: ItemPool, changes: Body, sets: list[tuple[tuple[int, ...], str]]
    ) -> None:
        """Raise an exception if a change of the items is not possible."""
        arms = {arm for each, _ in sets for arm in each}
        arms |= {arm for _, each in changes.get("extended", ()) for arm in each}
        assert all(0 <= arm < len(self.ids) for arm in arms)
        assert all(0 <= kind < len(sets) for kind in changes.get("added", ()))
        for key, present in (("retired", True), ("readmitted", False)):
            numbers = changes.get(key, ())
            assert len(set(numbers)) == len(numbers)
            assert all(0 < each <= len(pool) for each in numbers)
            assert all(pool.is_present(each) == present for each in numbers)
        assert all(0 < each <= len(pool) for each, _ in changes.get("extended", ()))
        if len(pool) + len(changes.get("added", ())) > MOST_ITEMS:
            raise ArenaError("too-many", f"an arena has at most {MOST_ITEMS:,} items.")
        if len({*pool.groups, *(value for _, value in sets)}) > MOST_GROUPS:
            raise ArenaError(
                "too-many",
                f"the balance tag {self.settings.balance!r} has more than {MOST_GROUPS} values; "
                "use a tag with fewer.",
            )

    def void(self, at: int, votes: list[list[Any]], why: str) -> Body:
        """Remove votes from all counts; the policy, which has learned them, keeps its state.

        Each vote is a list: its seq, the ref of its duel, the first arm, the second, 1, 0 or -1 for
        a tie, and the seq of the record by which it was learned, or -1. Of a slate, the lists of
        the arms as shown and as ranked take the place of the arms and the result.
        """
        self._tick(at)
        for seq, ref, *answer, learned_at in votes:
            if len(answer) == 2:
                shown, ranking = answer
                pairs = compared_pairs(shown, ranking)
                half = half_of_top(shown, ranking[0]) if ranking else -1
            else:
                pairs, half = [ComparedPair(*answer)], answer[2]
            self.tally.void(seq, ref, pairs, half, learned_at)
            if ref in self.held:  # it will be learned later, and must not be counted then
                self.held[ref] = self.held[ref]._replace(counts=False)
        return {"votes": votes, "why": why} | self._is_sure()

    def close(self, at: int) -> Body:
        """Close the arena: no new duels; open duels can still be answered."""
        self.need_open()
        self._tick(at)
        self.closed = True
        return {}

    def need_open(self) -> None:
        """Raise ArenaError if the arena is closed."""
        if self.closed:
            raise ArenaError("closed", "the arena is closed; it accepts no new duels or options.")

    def _tick(self, at: int) -> None:
        """Advance the sequence number and the time, which is monotonic."""
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

    # -- replay and snapshots

    @classmethod
    def from_first_record(cls, record: Record) -> "ArenaState":
        """Return the state after the first record of a log.

        Raises
        ------
        LogError
            If the record has no valid settings, or was written by version 0.2 or older.
        """
        if record.kind != "opened" or record.seq != 1:
            raise LogError(
                "the first record of the log does not hold the arena's settings; restore a backup.",
                record.seq,
            )
        if "lanes" in record.body.get("settings", ()):
            raise LogError(
                "the arena was created by driftduel 0.2 or older, whose logs this version does not "
                "replay; run 'arena export' and 'arena import' its votes into a new arena.",
                record.seq,
            )
        try:
            settings = msgspec.convert(record.body["settings"], Settings)
            return cls(settings, record.body["options"], record.at)
        except (msgspec.ValidationError, KeyError, TypeError, DriftduelError):
            raise LogError(
                "the arena's settings in the first record are not valid; restore a backup.",
                record.seq,
            ) from None

    def apply(self, record: Record) -> None:
        """Replay one record, and compare the derived values with the stored ones.

        This method calls the same method as the original event, with the arguments from the record.

        Raises
        ------
        LogError
            If the record does not follow the last one, or differs from the replayed one.
        """
        seq, at, kind, body = record.seq, record.at, record.kind, record.body
        if seq != self.seq + 1 or at < self.at:
            raise LogError(f"record {seq} does not follow record {self.seq}.", seq)
        try:
            again = self._reapply(kind, at, body)
        except DriftduelError as error:
            raise LogError(f"record {seq} ({kind}) is not possible here: {error}", seq) from None
        except (KeyError, TypeError, ValueError, AssertionError, IndexError) as error:
            raise LogError(f"record {seq} ({kind}) is malformed ({error!r}).", seq) from None
        if again != body:
            key = next(key for key in {**body, **again} if body.get(key) != again.get(key))
            raise LogError(
                f"record {seq} ({kind}) has {key}={_shown(body.get(key))}; replaying the records "
                f"before it gives {_shown(again.get(key))}.",
                seq,
            )

    def _reapply(self, kind: str, at: int, body: Body) -> Body:
        match kind:
            case "asked":
                who = body.get("voter"), body.get("source"), body.get("tags")
                forced, request = body.get("forced", False), body.get("request")
                scaled = self._scaled_of(body)
                return self.ask(at, *who, forced=forced, request=request, scaled=scaled)[1]
            case "voted":
                tags, reason = body.get("tags"), body.get("reason", "")
                return self.vote(at, body["ref"], body["pick"], tags, reason, self._cards_of(body))
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
            case "priced":
                return self.set_prices(at, body["prices"])
            case "joined":
                return self.join(at, body["option"])
            case "left":
                return self.leave(at, body["option"])
            case "items":
                return self.change_items(at, body)
            case "closed":
                return self.close(at)
            case "era":
                return self.begin_epoch(at, body.get("word"))
        raise DriftduelError(f"the kind {kind!r:.40} of a record is unknown.")

    def _cards_of(self, body: Body) -> tuple[int, ...]:
        """Return the ranked cards of a recorded vote; `vote` compares them with its duel."""
        cards = cards_of(body)
        assert all(type(card) is int and 1 <= card <= MOST_SHOW for card in cards)
        return cards

    def _scaled_of(self, body: Body) -> ScaledRequest | None:
        """Return the scaled request of a record; None without features."""
        if not self.features:
            return None
        scaled = body["scaled"] if "scaled" in body else body["notes"][-self.features.shape.size :]
        return ScaledRequest(scaled)

    def to_bytes(self) -> bytes:
        """Return a snapshot as bytes; two states are equal if and only if these values are."""
        return msgspec.msgpack.encode(
            {
                "format": _FORMAT,
                "settings": plain_settings(self.settings),
                "ids": self.ids,
                "seq": self.seq,
                "at": self.at,
                "eras": self.epochs,
                "words": self.words,
                "closed": self.closed,
                "policy": policy_to_bytes(self.policy),
                "coins": generator_state(self.coins),
                # Without the ends of leases: they are not in the log, so a replay lacks them.
                "open": [(ref, self.open[ref]._replace(until=0)) for ref in sorted(self.open)],
                "voted": list(self.voted.items()),
                "held": list(self.held.items()),
                "day": self.day,
                "today": [[voter, *arms, count] for (voter, arms), count in self.today.items()],
                "tally": self.tally.to_plain(),
                "foreign": sorted(self.foreign),
                "pool": None if self.pool is None else self.pool.to_plain(),
                "means": None if self.means is None else self.means.to_plain(),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> "ArenaState":
        """Return the state of a snapshot; raise DriftduelError if it cannot be decoded."""
        try:
            plain = msgspec.msgpack.decode(data)
            if plain["format"] not in _READABLE:
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
                out = _open_duel(plain_out)
                until = state._lease_end(out.asked, state.at)
                state._put_open(ref, out._replace(until=until))
            state.voted = {ref: _open_duel(out) for ref, out in plain["voted"]}
            state.held = {ref: _open_duel(out) for ref, out in plain["held"]}
            state.day = plain["day"]
            state.today = {(voter, tuple(arms)): n for voter, *arms, n in plain["today"]}
            state.capped = {}
            for (voter, arms), count in state.today.items():
                if count >= state.settings.votes_a_day:
                    state.capped.setdefault(voter, set()).add(arms)
            state.tally = BoardCounts.from_plain(plain["tally"])
            state.foreign = set(plain.get("foreign", ()))
            pool = plain.get("pool")
            seed = state.settings.seed
            state.pool = None if pool is None else ItemPool.from_plain(seed, pool)
            state.features = TypedFeatures.of(state.settings.features)
            means = plain.get("means")
            state.means = None if means is None else RequestMeans.from_plain(state.features, means)
            state.present = state.policy.present
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, IndexError):
            raise DriftduelError("the snapshot of the arena cannot be decoded.") from None
        return state


def check_price(price: Any) -> float:
    """Return a price as a float, or raise ArenaError."""
    known = isinstance(price, int | float) and not isinstance(price, bool)
    if not known or not abs(price) <= MOST_PRICE:
        raise ArenaError(
            "bad-request",
            f"a price is {short_value(price)}; it must be log-odds from {-MOST_PRICE:g} to "
            f"{MOST_PRICE:g}.",
        )
    return float(price)


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer of more than 4,300 digits
        return "a huge number"


def _today_key(out: OpenDuel) -> tuple[str, tuple[int, ...]]:
    return out.voter or "", _ascending(out.shown)


def _ascending(arms: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(arms))


def _open_duel(plain: list[Any]) -> OpenDuel:
    """Return a duel of a snapshot."""
    out = OpenDuel(*plain)
    return out._replace(cards=tuple(out.cards), ranking=tuple(out.ranking))
