"""Duels between asking and learning: who was asked, what is open, what waits for its turn."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from driftduel._showing import as_html
from driftduel.errors import DriftduelError

__all__ = ["ORDERS", "TIES", "UNANSWERED", "Duel", "Ledger"]

ORDERS = ("asked", "arrival")
"""Orders in which answers are learned: that of asking, or that in which they come."""
TIES = ("skip", "coin")
"""What a tie teaches: nothing, or what a fair coin says."""
UNANSWERED = -1
"""What is learned of a duel that nobody won or will ever answer; a win is 1, a defeat 0."""


class Duel(NamedTuple):
    """Two arms to compare, and all that the policy needs to use the answer later.

    It holds plain numbers only, so it may travel: into a database, through JSON, and back.

    >>> duel = Duel(0, 3, round=1, notes=(0.25,))
    >>> Duel.from_json(duel.to_json()) == duel
    True
    """

    first: int
    second: int
    round: int
    """The policy's own count of duels asked for, from 1."""
    notes: tuple[float, ...] = ()
    """What the policy will want to know when the answer comes (weights, probabilities)."""

    @property
    def alone(self) -> bool:
        """Whether one arm is to be shown alone: its duel with itself, a question to nobody."""
        return self.first == self.second

    def _repr_html_(self) -> str:
        shown = f"arm {self.first} alone" if self.alone else f"arms {self.first} and {self.second}"
        notes = ", ".join(f"{note:.6g}" for note in self.notes) or "-"
        return as_html(f"Duel: {shown}", [("round", f"{self.round:,}"), ("notes", notes)])

    def to_json(self) -> str:
        """Write it as JSON: a list of the first arm, the second, the round and the notes."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> "Duel":
        """Read what `to_json`, or ``json.dumps(duel)``, wrote."""
        try:
            raw = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise DriftduelError("this is not JSON, or nothing that was a duel.") from None
        return cls.of(raw)

    @classmethod
    def of(cls, raw: Any) -> "Duel":
        """Take a duel, or the list that JSON makes of one."""
        if type(raw) is cls and type(raw.notes) is tuple:
            return raw
        try:
            first, second, t, notes = raw
            whole = all(type(number) is int for number in (first, second, t))
            plain = all(type(note) in (int, float) for note in notes)
            if whole and plain:
                return cls(first, second, t, tuple(map(float, notes)))
        except (TypeError, ValueError, OverflowError):
            pass
        raise DriftduelError(
            f"{_short(raw)} is not a duel; tell what ask returned: the first arm, the second, "
            f"the round and the notes."
        )


class Ledger:
    """Remember what a policy asked for and has not learned yet.

    A policy chooses and learns, and that is all it does; what happens in between is kept here. An
    answer is *settled* when it came, and learned at once (``order="arrival"``) or when its turn
    has come (``order="asked"``): an answer that comes early is held back until all duels before it
    are answered or given up. Whoever keeps its duels elsewhere, in a database, needs no ledger: it
    calls `choose` and `learn`.

    Parameters
    ----------
    order
        One of `ORDERS`.
    ties
        One of `TIES`.
    coins
        Decides what has no answer that means anything: an arm's duel with itself, a tie. A stream
        apart, so that it does not shift the policy's own.
    """

    def __init__(self, order: str, ties: str, coins: np.random.Generator) -> None:
        self.order = order
        self.ties = ties
        self.coins = coins
        self.asked = 0
        """Duels asked for so far."""
        self.open: dict[int, Duel] = {}
        """Duels without an answer, by round."""
        self.held: dict[int, tuple[Duel, int]] = {}
        """Answers that wait for their turn, by round."""
        self.due = 1
        """The round whose answer comes next in the order of asking."""
        self.restarts: list[int] = []
        """Rounds after whose answer the policy forgot everything and started anew."""

    def enter(self, first: int, second: int, notes: tuple[float, ...]) -> Duel:
        """Write down the next duel."""
        self.asked = t = self.asked + 1
        self.open[t] = duel = Duel(first, second, t, notes)
        return duel

    def take(self, duel: Duel) -> Duel:
        """Take a duel from the open ones, or say why it is not among them."""
        t = duel.round
        if self.open.get(t) == duel:
            return self.open.pop(t)
        if t in self.open or not 1 <= t <= self.asked:
            raise DriftduelError(
                f"the duel of {duel.first} and {duel.second} in round {t} was never asked for."
            )
        raise DriftduelError(f"the duel of round {t} was already answered.")

    def settle(self, duel: Duel, won: int) -> Iterable[tuple[Duel, int]]:
        """Return what is to be learned now that a duel is settled, in the order of learning."""
        if self.order == "arrival":
            return ((duel, won),)
        self.held[duel.round] = (duel, won)
        return self._in_turn()

    def _in_turn(self) -> Iterator[tuple[Duel, int]]:
        while self.due in self.held:
            yield self.held.pop(self.due)
            self.due += 1

    def answer(self, duel: Duel, winner: int | None) -> int:
        """Take a duel; return what the answer teaches of the first arm: 1, 0 or `UNANSWERED`."""
        first, second, t, _ = duel
        tie = winner is None
        if not tie and (isinstance(winner, bool | np.bool_) or winner not in (first, second)):
            raise DriftduelError(
                f"winner={winner!r} cannot have won the duel of {first} and {second} (round {t}); "
                f"tell the arm that did, or None for a tie."
            )
        self.take(duel)
        if first == second or (tie and self.ties == "coin"):
            return int(self.coins.random() < 0.5)
        return UNANSWERED if tie else int(winner == first)

    def advance_to(self, t: int) -> None:
        """Note that everything up to round `t` was asked for and answered elsewhere."""
        self.asked = t
        self.due = t + 1

    def reopen(self, duels: Iterable[Duel]) -> None:
        """Note that these duels, the last ones asked for, are not answered yet after all."""
        for duel in duels:
            self.open[duel.round] = duel
        self.due = min(self.open, default=self.due)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
