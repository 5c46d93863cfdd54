"""An arena to look at: simulated people vote through the real server, and change their taste."""

import itertools
import math
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftduel import wording
from driftduel.arena.board import Board
from driftduel.arena.client import ArenaClient
from driftduel.arena.hall import Hall
from driftduel.arena.said import lasting
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
_VOTERS = 80
_EVERY = 5.0
_AT_ONCE = 4  # people who think at the same time


class Taste(NamedTuple):
    """What people like from some vote on: the higher, the better."""

    since: int
    strengths: tuple[float, ...]

    def left_wins(self, left: int, right: int, luck: float) -> bool:
        """Tell whether the left one is preferred, by Bradley and Terry's model."""
        return luck < 1.0 / (1.0 + math.exp(self.strengths[right] - self.strengths[left]))


TASTES = (
    Taste(0, (1.4, 0.6, 0.3, 0.0, -0.3)),
    Taste(1000, (0.4, 0.5, 0.2, 1.7, 0.0)),
    Taste(2200, (0.2, 0.5, 0.4, 0.4, 1.9)),
)


def demo(
    *,
    port: int = 8000,
    votes: int | None = None,
    rate: float = 40.0,
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
        Votes a second; 0: as fast as they can be taken.
    browser
        Whether to open the board and the page to vote on.
    seed
        Fixes the people's answers and the policy's draws.
    say
        Prints a line.
    """
    with tempfile.TemporaryDirectory(prefix="driftduel-arena-") as folder:
        hall = Hall(open_store(f"sqlite:{Path(folder) / 'arena.db'}"))
        # As answers come: how long these people take has nothing to do with what they prefer, and
        # whoever leaves the vote page open keeps nobody waiting.
        token = hall.create(
            _NAME, _HEADLINES, seed=seed, order="arrival", grace=0.5, lease=60.0, votes_a_day=10_000
        )
        hall.arena(_NAME).warm()
        unlimited = ServerSettings(per_address=Rate(0.0, 1), per_token=Rate(0.0, 1))
        with in_background(hall, port=port, settings=unlimited) as url:
            board, ballot = (f"{url}/{page}/{_NAME}?token={token}" for page in ("board", "vote"))
            say(_opening(board, ballot))
            if browser:
                webbrowser.open(board)
                webbrowser.open(ballot)
            people = _People(url, token, seed, rate, votes)
            people.start()
            try:
                _watch(people, say)
            finally:
                people.stop()
            live = hall.arena(_NAME)
            lasting(live.tick())
            return live.board()


def _opening(board: str, ballot: str) -> str:
    changes = wording.listed([f"{taste.since:,}" for taste in TASTES[1:]])
    return (
        f"{len(_HEADLINES)} headlines, {_VOTERS} simulated people. After votes {changes} they "
        f"change their taste; nobody tells the policy.\n\n"
        f"the board:  {board}\nvote, too:  {ballot}\n\nCtrl-C ends it.\n"
    )


class _People:
    """Simulated people: each thread is asked, thinks, votes, and is asked again."""

    def __init__(self, url: str, token: str, seed: int, rate: float, votes: int | None) -> None:
        self.client = ArenaClient(url, token, arena=_NAME)
        self._numbers = itertools.count()
        self._most = votes
        self._pause = _AT_ONCE / rate if rate else 0.0
        self._seeds = np.random.SeedSequence(seed).spawn(_AT_ONCE)
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
        try:
            while not self.ended.is_set():
                number = next(self._numbers)
                if self._most is not None and number >= self._most:
                    self.ended.set()
                    return
                shown = self.client.ask(f"person {rng.integers(_VOTERS)}")
                if shown.left is None or shown.right is None:
                    continue
                taste = max(taste for taste in TASTES if taste.since <= number)
                left, right = place[shown.left.id], place[shown.right.id]
                won = taste.left_wins(left, right, rng.random())
                self.client.vote(shown.duel, "left" if won else "right")
                self.ended.wait(rng.exponential(self._pause) if self._pause else 0.0)
        except BaseException as error:
            self.trouble = error
            self.ended.set()


def _watch(people: _People, say: Callable[[str], None]) -> None:
    """Say every few seconds who leads, until it ends."""
    seen = 0
    while not people.ended.wait(_EVERY):
        board = people.client.board()
        for change in board["changes"][seen:]:
            say(f"    {_change(change)}")
        seen = len(board["changes"])
        said = board["says"]
        say(f"{board['votes']:>6,} votes. {said['claim']} {said['doubt']}")
    if people.trouble is not None:
        raise people.trouble


def _change(change: dict[str, Any]) -> str:
    before, after = (change[key]["name"] if change[key] else "nobody" for key in ("from", "to"))
    how = "an alarm" if change["alarm"] else "no alarm: it had not led for long"
    return f"after vote {change['votes']:,} {after!r} takes over from {before!r} ({how})"
