"""The bookkeeping of duels between choice and learning: pending duels and held answers."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftduel._internal.display import as_html
from driftduel._internal.wording import listed
from driftduel.errors import DriftduelError
from driftduel.policies.slates import code_of

__all__ = ["ORDERS", "TIES", "UNANSWERED", "Duel", "Ledger"]

ORDERS = ("asked", "arrival")
"""Orders of learning: by the round of the duel (``asked``) or by the time of the answer."""
TIES = ("skip", "coin")
"""Handling of ties: ignored, or decided by a fair coin."""
UNANSWERED = -1
"""The value of a duel without a result (a tie or a forgotten duel); 1 is a win, 0 a defeat."""


class Duel(NamedTuple):
    """Two arms to compare, with the numbers that the policy needs when the answer arrives.

    A *slate* is a duel with `others`: three or more arms, of which one is picked, or which are
    ranked. A duel holds plain numbers only, so it can be stored in a database or sent as JSON.

    >>> duel = Duel(0, 3, round=1, notes=(0.25,))
    >>> Duel.from_json(duel.to_json()) == duel
    True
    """

    first: int
    second: int
    round: int
    """The round: the index of this duel among all duels of the policy, from 1."""
    notes: tuple[float, ...] = ()
    """Values as of the choice that `learn` needs later, such as weights or probabilities; those of
    a slate end with its other arms."""
    others: tuple[int, ...] = ()
    """The other arms shown, of a slate."""

    @property
    def alone(self) -> bool:
        """Whether the duel is an arm with itself: show the arm without a vote."""
        return self.first == self.second

    @property
    def shown(self) -> tuple[int, ...]:
        """The arms to show, without repetition."""
        return (self.first,) if self.alone else (self.first, self.second, *self.others)

    def _repr_html_(self) -> str:
        arms = self.shown
        shown = f"arm {self.first} alone" if self.alone else f"arms {listed(arms)}"
        notes = ", ".join(f"{note:.6g}" for note in self.notes) or "-"
        return as_html(f"Duel: {shown}", [("round", f"{self.round:,}"), ("notes", notes)])

    def to_json(self) -> str:
        """Return a JSON list: first arm, second arm, round, list of notes, list of other arms."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> "Duel":
        """Parse the result of `to_json` or ``json.dumps``; raise DriftduelError if invalid."""
        try:
            raw = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise DriftduelError("the text is not JSON, so it is not a duel.") from None
        return cls.of(raw)

    @classmethod
    def of(cls, raw: Any) -> "Duel":
        """Return a `Duel` from an instance or from the list that JSON makes of it.

        A list without the last element, from an earlier version, has no other arms.

        Raises
        ------
        DriftduelError
            If types differ; floats are accepted for notes only.
        """
        if type(raw) is cls and type(raw.notes) is tuple:
            return raw
        try:
            first, second, t, notes, *more = raw
            (others,) = more or [()]
            whole = all(type(number) is int for number in (first, second, t, *others))
            plain = all(type(note) in (int, float) for note in notes)
            if whole and plain:
                return cls(first, second, t, tuple(map(float, notes)), tuple(others))
        except (TypeError, ValueError, OverflowError):
            pass
        raise DriftduelError(
            f"{_short(raw)} is not a duel; pass the object that ask returned: first arm, second "
            f"arm, round and notes, and the other arms of a slate."
        )


class Ledger:
    """Pending duels and held answers of a policy.

    A policy only chooses and learns; this object tracks the duels between these two steps. A duel
    is *settled* when its answer arrives. The answer is learned immediately (``order="arrival"``),
    or held until all duels of earlier rounds are answered or forgotten (``order="asked"``). A
    caller that stores its duels elsewhere, for example in a database, calls `choose` and `learn`
    directly and needs no ledger. Instances are not thread-safe.

    Parameters
    ----------
    order
        One of `ORDERS`.
    ties
        One of `TIES`.
    coins
        Generator for results without information: self-duels and ties. It is a separate stream,
        so that coin flips do not shift the random numbers of the policy.
    """

    def __init__(self, order: str, ties: str, coins: np.random.Generator) -> None:
        self.order = order
        self.ties = ties
        self.coins = coins
        self.asked = 0
        """Number of duels chosen so far."""
        self.open: dict[int, Duel] = {}
        """Pending duels by round."""
        self.held: dict[int, tuple[Duel, int]] = {}
        """Held answers by round: the duel and its result."""
        self.due = 1
        """The next round to learn with ``order="asked"``."""
        self.restarts: list[int] = []
        """Ascending list of rounds after which the learned state was reset."""

    def enter(
        self, first: int, second: int, notes: tuple[float, ...], others: tuple[int, ...] = ()
    ) -> Duel:
        """Add the duel of the next round to the pending duels and return it."""
        self.asked = t = self.asked + 1
        self.open[t] = duel = Duel(first, second, t, notes, others)
        return duel

    def take(self, duel: Duel) -> Duel:
        """Remove a duel from the pending duels and return it; raise DriftduelError if absent."""
        t = duel.round
        if self.open.get(t) == duel:
            return self.open.pop(t)
        if t in self.open or not 1 <= t <= self.asked:
            raise DriftduelError(
                f"the duel of {duel.first} and {duel.second} in round {t} was never asked for."
            )
        raise DriftduelError(f"the duel of round {t} was already answered.")

    def settle(self, duel: Duel, won: int) -> Iterable[tuple[Duel, int]]:
        """Return the duels to learn after the answer to `duel`, with results, in learning order."""
        if self.order == "arrival":
            return ((duel, won),)
        self.held[duel.round] = (duel, won)
        return self._in_turn()

    def _in_turn(self) -> Iterator[tuple[Duel, int]]:
        while self.due in self.held:
            yield self.held.pop(self.due)
            self.due += 1

    def answer(self, duel: Duel, winner: int | None) -> int:
        """Remove a pending duel and return its result: 1 (first arm won), 0 or `UNANSWERED`.

        The result of a slate is the code of the pick, see `driftduel.policies.slates`.

        Raises
        ------
        DriftduelError
            If the duel is not pending or `winner` is not one of its arms.
        """
        shown = duel.shown
        if winner is not None:
            remedy = "pass the arm that won, or None for a tie"
            self._check_arm(duel, winner, f"winner={winner!r}", remedy)
        self.take(duel)
        if duel.alone:
            return int(self.coins.random() < 0.5)
        if winner is None and self.ties == "coin":
            return code_of([min(len(shown) - 1, int(self.coins.random() * len(shown)))])
        return UNANSWERED if winner is None else code_of([shown.index(winner)])

    def answer_ranking(self, duel: Duel, ranking: Sequence[int]) -> int:
        """Remove a pending duel and return the code of a ranking of its arms, the best first.

        Raises
        ------
        DriftduelError
            If the duel is not pending, or `ranking` is empty, repeats an arm, or has an arm that
            was not shown.
        """
        try:
            arms = list(ranking)
        except TypeError:
            arms = []
        if not arms or len(set(arms)) != len(arms):
            raise DriftduelError(
                f"ranking={_short(ranking)} must list arms of the slate, the best first, each once."
            )
        for arm in arms:
            self._check_arm(duel, arm, f"arm {arm!r} of the ranking", "rank arms that were shown")
        if len(arms) == 1 or not duel.others:  # the order of two arms is a pick
            return self.answer(duel, arms[0])
        self.take(duel)
        return code_of([duel.shown.index(arm) for arm in arms])

    def _check_arm(self, duel: Duel, arm: Any, what: str, remedy: str) -> None:
        if isinstance(arm, bool | np.bool_) or arm not in duel.shown:
            arms = " and ".join(map(str, (duel.first, duel.second, *duel.others)))
            raise DriftduelError(
                f"{what} cannot have won the duel of {arms} (round {duel.round}); {remedy}."
            )

    def advance_to(self, t: int) -> None:
        """Set the counters as if all duels up to round `t` had been chosen and answered."""
        self.asked = t
        self.due = t + 1

    def reopen(self, duels: Iterable[Duel]) -> None:
        """Mark duels as pending again; the argument has the last duels that were chosen."""
        for duel in duels:
            self.open[duel.round] = duel
        self.due = min(self.open, default=self.due)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
