"""A demonstration: simulated voters with drifting preferences vote through the real server."""

import itertools
import math
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftduel.arena.board import Board
from driftduel.arena.board_fields import LeaderChange
from driftduel.arena.client import ArenaClient
from driftduel.arena.demo_items import MODELS, TOPICS, demo_items
from driftduel.arena.items import check_items
from driftduel.arena.manager import ArenaManager
from driftduel.arena.responses import wait_durable
from driftduel.arena.sentences import change_sentence
from driftduel.arena.serving import in_background
from driftduel.arena.stores import open_store
from driftduel.arena.web.settings import Rate, ServerSettings

__all__ = ["Taste", "run_demo"]

_NAME = "models"
_ITEMS = 60
_DEVICES = ("phone", "desktop")  # a tag without an effect
_VOTES_EACH = 2  # votes per simulated voter
_EVERY = 5.0
_THREADS = 4  # voters at the same time
_USUAL_RATE = 20.0


class Taste(NamedTuple):
    """The preferences of all voters from vote number `since` on, by the topic of the prompt.

    The strengths are those of `MODELS`; higher values are preferred.
    """

    since: int
    strengths: Mapping[str, tuple[float, ...]]

    def left_wins(self, topic: str, left: int, right: int, uniform: float) -> bool:
        """Return whether the left answer is preferred, in the Bradley-Terry model."""
        strengths = self.strengths[topic]
        return uniform < 1.0 / (1.0 + math.exp(strengths[right] - strengths[left]))


_MATHS: tuple[float, ...] = (
    -0.3,
    0.4,
    2.4,
    -0.2,
    0.0,
)  # cedar is best at mathematics, before and after the change
TASTES = (
    Taste(0, dict.fromkeys(TOPICS, (2.8, 0.3, -0.4, 0.0, 0.2)) | {"maths": _MATHS}),
    Taste(1500, dict.fromkeys(TOPICS, (0.0, 0.3, -0.4, 2.8, 0.2)) | {"maths": _MATHS}),
)


def run_demo(
    *,
    port: int = 8000,
    votes: int | None = None,
    rate: float = _USUAL_RATE,
    browser: bool = True,
    seed: int = 1,
    echo: Callable[[str], None] = print,
) -> Board:
    """Serve an arena on loopback, simulate voters, and print the progress of the board.

    Parameters
    ----------
    port
        Port to listen on; 0 for any free port.
    votes
        Number of votes after which to stop; None: at Ctrl-C.
    rate
        Votes per second; 0: one after the other without a pause, with a simulated clock.
    browser
        Whether to open the board and the vote page in a browser.
    seed
        Seed of the voters' answers and of the policy.
    echo
        Function that prints a line.
    """
    with tempfile.TemporaryDirectory(prefix="driftduel-arena-") as folder:
        clock = _VoteClock() if rate == 0 else time.time
        manager = ArenaManager(open_store(f"sqlite:{Path(folder) / 'arena.db'}"), clock)
        token = manager.create(
            _NAME, MODELS, items=list(check_items(demo_items(_ITEMS))), seed=seed
        )
        question = "Which answer is more helpful?"
        manager.arena(_NAME).set_page(title="Five models, three topics", question=question)
        manager.arena(_NAME).warm()
        unlimited = ServerSettings(per_address=Rate(0.0, 1), per_token=Rate(0.0, 1), clock=clock)
        with in_background(manager, port=port, settings=unlimited) as url:
            board, ballot, manage = (
                f"{url}/{page}/{_NAME}#token={manager.token(_NAME, scope, 'demo')}"
                for page, scope in (("board", "read"), ("vote", "vote"), ("own", "own"))
            )
            echo(_opening(board, ballot, manage))
            if browser:
                webbrowser.open(board)
                webbrowser.open(ballot)
            people = _People(url, token, seed, rate, votes, clock)
            people.start()
            try:
                _watch(people, echo)
            finally:
                people.stop()
            live = manager.arena(_NAME)
            wait_durable(live.end_graces())
            return live.board()


def _opening(board: str, ballot: str, manage: str) -> str:
    return (
        f"{len(MODELS)} models answer {_ITEMS} prompts; simulated people with {_VOTES_EACH} votes "
        f"each. They prefer another model at maths than elsewhere, and after "
        f"vote {TASTES[1].since:,} their taste changes; the policy is not informed.\n\n"
        f"the board:  {board}\nvote, too:  {ballot}\nmanage:     {manage}\n\nCtrl-C ends it.\n"
    )


class _VoteClock:
    """A simulated clock that advances with each vote, at the default rate."""

    def __init__(self) -> None:
        self._votes, self._began = 0, time.time()

    def __call__(self) -> float:
        return self._began + self._votes / _USUAL_RATE

    def advance(self) -> None:
        """Advance the clock by the time of one vote."""
        self._votes += 1


class _People:
    """Simulated voters: each thread asks, waits, votes, and starts again."""

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
        self._topics = {each["prompt"]: each["tags"]["topic"] for each in demo_items(_ITEMS)}
        self._pause = _THREADS / rate if rate else 0.0
        # With the simulated clock one thread only, so that the result is reproducible. The seed
        # differs from the arena's: otherwise sides and answers would use the same random numbers.
        self._seeds = np.random.SeedSequence((seed, 1)).spawn(_THREADS if rate else 1)
        self.ended = threading.Event()
        self.trouble: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._vote_until_end, args=(seed,), daemon=True)
            for seed in self._seeds
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join()
        self.client.close()

    def _vote_until_end(self, seed: np.random.SeedSequence) -> None:
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
                device = _DEVICES[int(rng.integers(len(_DEVICES)))]
                shown = self.client.ask(person, tags={"device": device})
                if shown.left is None or shown.right is None or shown.prompt is None:
                    continue
                taste = [taste for taste in TASTES if taste.since <= number][-1]
                left, right = place[shown.left.id], place[shown.right.id]
                topic = self._topics[shown.prompt.content]
                won = taste.left_wins(topic, left, right, rng.random())
                self.client.vote(shown.duel, "left" if won else "right")
                if isinstance(self._clock, _VoteClock):
                    self._clock.advance()
                self.ended.wait(rng.exponential(self._pause) if self._pause else 0.0)
        except BaseException as error:
            self.trouble = error
            self.ended.set()


def _watch(people: _People, echo: Callable[[str], None]) -> None:
    """Print the leader every few seconds until the voters stop."""
    seen = certified = 0
    while not people.ended.wait(_EVERY):
        board = people.client.board()
        for change in board.changes[seen:]:
            echo(f"    {_describe_change(change)}")
        for found in board.certified_changes[certified:]:
            echo(f"    {change_sentence(found)}")
        seen, certified = len(board.changes), len(board.certified_changes)
        echo(f"{board.votes:>6,} votes. {board.says.claim} {board.says.doubt}")
    if people.trouble is not None:
        raise people.trouble


def _describe_change(change: LeaderChange) -> str:
    before, after = (each.name if each else "no option" for each in (change.before, change.after))
    how = "an alarm" if change.alarm else "no alarm: too few votes for one"
    return f"after vote {change.vote:,} {after!r} takes over from {before!r} ({how})"
