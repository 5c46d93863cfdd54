"""An arena to look at: simulated people vote through the real server, and change their taste."""

import itertools
import math
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftduel import wording
from driftduel.arena.board import Board
from driftduel.arena.board_fields import LeaderChange
from driftduel.arena.client import ArenaClient
from driftduel.arena.hall import Hall
from driftduel.arena.said import lasting
from driftduel.arena.sentences import change_sentence
from driftduel.arena.serving import in_background
from driftduel.arena.stores import open_store
from driftduel.arena.web.settings import Rate, ServerSettings

__all__ = ["Taste", "demo"]

_NAME = "headlines"
_HEADLINES = (
    "Save an hour a day",
    "Nothing to install",
    "Loved by 4,000 teams",
    "Free for ever",
    "Your data stays here",
)
_VOTES_EACH = 2  # of each simulated person
_EVERY = 5.0
_AT_ONCE = 4  # people who think at the same time
_USUAL_RATE = 20.0


class Taste(NamedTuple):
    """What people like from some vote on: the higher, the better."""

    since: int
    strengths: tuple[float, ...]

    def left_wins(self, left: int, right: int, luck: float) -> bool:
        """Tell whether the left one is preferred, by Bradley and Terry's model."""
        return luck < 1.0 / (1.0 + math.exp(self.strengths[right] - self.strengths[left]))


TASTES = (
    Taste(0, (2.2, 0.5, 0.3, 0.0, -0.3)),
    Taste(1000, (0.2, 0.5, 0.2, 2.2, 0.0)),
    Taste(2200, (2.2, 0.5, 0.4, 0.2, 0.0)),  # it changes back: two changes, of one pair
)


def demo(
    *,
    port: int = 8000,
    votes: int | None = None,
    rate: float = _USUAL_RATE,
    browser: bool = True,
    seed: int = 1,
    say: Callable[[str], None] = print,
) -> Board:
    """Serve an arena on loopback, let people vote, and say what the board says.

    Parameters
    ----------
    port
        Where; any free port for 0.
    votes
        After how many votes to stop; None: at Ctrl-C.
    rate
        Votes a second; 0: as fast as they can be taken, one after the other, with a clock that
        goes by the votes.
    browser
        Whether to open the board and the page to vote on.
    seed
        Fixes the people's answers and the policy's draws.
    say
        Prints a line.
    """
    with tempfile.TemporaryDirectory(prefix="driftduel-arena-") as folder:
        clock = _VoteClock() if rate == 0 else time.time
        hall = Hall(open_store(f"sqlite:{Path(folder) / 'arena.db'}"), clock)
        token = hall.create(_NAME, _HEADLINES, seed=seed)
        hall.arena(_NAME).warm()
        unlimited = ServerSettings(per_address=Rate(0.0, 1), per_token=Rate(0.0, 1), clock=clock)
        with in_background(hall, port=port, settings=unlimited) as url:
            board, ballot = (
                f"{url}/{page}/{_NAME}#token={hall.token(_NAME, scope, 'demo')}"
                for page, scope in (("board", "read"), ("vote", "vote"))
            )
            say(_opening(board, ballot))
            if browser:
                webbrowser.open(board)
                webbrowser.open(ballot)
            people = _People(url, token, seed, rate, votes, clock)
            people.start()
            try:
                _watch(people, say)
            finally:
                people.stop()
            live = hall.arena(_NAME)
            lasting(live.end_graces())
            return live.board()


def _opening(board: str, ballot: str) -> str:
    changes = wording.listed([f"{taste.since:,}" for taste in TASTES[1:]])
    return (
        f"{len(_HEADLINES)} headlines, simulated people with {_VOTES_EACH} votes each. After votes "
        f"{changes} their taste changes; the policy is not informed.\n\n"
        f"the board:  {board}\nvote, too:  {ballot}\n\nCtrl-C ends it.\n"
    )


class _VoteClock:
    """A clock that advances with each vote, as if they came at the usual rate."""

    def __init__(self) -> None:
        self._votes, self._began = 0, time.time()

    def __call__(self) -> float:
        return self._began + self._votes / _USUAL_RATE

    def advance(self) -> None:
        """Let the time of one vote pass."""
        self._votes += 1


class _People:
    """Simulated people: each thread is asked, thinks, votes, and is asked again."""

    def __init__(
        self,
        url: str,
        token: str,
        seed: int,
        rate: float,
        votes: int | None,
        clock: Callable[[], float],
    ) -> None:
        self.client = ArenaClient(url, token, arena=_NAME)
        self._numbers, self._persons = itertools.count(), itertools.count(1)
        self._most, self._clock = votes, clock
        self._pause = _AT_ONCE / rate if rate else 0.0
        # One after the other if the clock goes by the votes: then the seed decides everything.
        # Not the arena's own seed: its coins for sides would be the same numbers as the answers.
        self._seeds = np.random.SeedSequence((seed, 1)).spawn(_AT_ONCE if rate else 1)
        self.ended = threading.Event()
        self.trouble: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._live, args=(seed,), daemon=True) for seed in self._seeds
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join()
        self.client.close()

    def _live(self, seed: np.random.SeedSequence) -> None:
        rng = np.random.default_rng(seed)
        place = {option.id: arm for arm, option in enumerate(self.client.options())}
        person, left_votes = "", 0
        try:
            while not self.ended.is_set():
                number = next(self._numbers)
                if self._most is not None and number >= self._most:
                    self.ended.set()
                    return
                if not left_votes:
                    person, left_votes = f"person {next(self._persons)}", _VOTES_EACH
                left_votes -= 1
                shown = self.client.ask(person)
                if shown.left is None or shown.right is None:
                    continue
                taste = max(taste for taste in TASTES if taste.since <= number)
                left, right = place[shown.left.id], place[shown.right.id]
                won = taste.left_wins(left, right, rng.random())
                self.client.vote(shown.duel, "left" if won else "right")
                if isinstance(self._clock, _VoteClock):
                    self._clock.advance()
                self.ended.wait(rng.exponential(self._pause) if self._pause else 0.0)
        except BaseException as error:
            self.trouble = error
            self.ended.set()


def _watch(people: _People, say: Callable[[str], None]) -> None:
    """Say every few seconds who leads, until it ends."""
    seen = certified = 0
    while not people.ended.wait(_EVERY):
        board = people.client.board()
        for change in board.changes[seen:]:
            say(f"    {_change(change)}")
        for found in board.certified_changes[certified:]:
            say(f"    {change_sentence(found)}")
        seen, certified = len(board.changes), len(board.certified_changes)
        say(f"{board.votes:>6,} votes. {board.says.claim} {board.says.doubt}")
    if people.trouble is not None:
        raise people.trouble


def _change(change: LeaderChange) -> str:
    before, after = (each.name if each else "no option" for each in (change.before, change.after))
    how = "an alarm" if change.alarm else "no alarm: too few votes for one"
    return f"after vote {change.vote:,} {after!r} takes over from {before!r} ({how})"
