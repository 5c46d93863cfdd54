"""An arena in your own program: named options, duels, votes, and who leads."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from driftduel.arena.board import Board
from driftduel.arena.manager import ArenaManager, option_text
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.responses import Option, ShownDuel, Vote, wait_durable
from driftduel.arena.stores import open_store
from driftduel.errors import DriftduelError

__all__ = ["Arena"]


class Arena:
    """Options that people compare, and a policy that chooses which two to show next.

    Everything that happens is in a log on the disk before a call returns; whatever kills the
    program, opening the arena again goes on where it was.

    Parameters
    ----------
    store
        A file such as ``headlines.db``, ``postgresql://...``, or None for memory.
    options
        What to compare, if the arena is new: names, or mappings with `name`, `kind` (``text``,
        ``markdown``, ``image``) and `content`.
    name
        A store can have many arenas.
    clock
        Tells the time in seconds since 1970.
    settings
        If the arena is new: `policy`, `mode`, `order`, `ties`, `seed`, `grace`,
        `lease`, `votes_a_day` and so on (`driftduel.arena.Settings`), with the defaults of
        ``driftduel arena new``. A vote can be undone until the arena needs it: the next duel is
        asked for, or the board is read. Pass `grace` to keep every vote undoable for that many
        seconds, as a server does.

    Examples
    --------
    >>> arena = Arena(options=["red", "green", "blue"], seed=7)
    >>> for _ in range(200):
    ...     shown = arena.ask()
    ...     pick = "left" if shown.left.name == "green" else "right"
    ...     _ = arena.vote(shown.duel, pick)
    >>> arena.best().name
    'green'
    >>> arena.close()
    """

    def __init__(
        self,
        store: str | None = None,
        *,
        options: Iterable[str | Mapping[str, Any]] | None = None,
        name: str = "arena",
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> None:
        self._manager = ArenaManager(open_store(store or "memory:"), clock)
        try:
            if not self._manager.store.exists(name):
                if options is None:
                    raise ArenaError(
                        "no-such-arena", f"there is no arena {name!r} yet; say its options."
                    )
                self._manager.create(name, options, **settings)
            self._live = self._manager.arena(name)
        except BaseException:
            self._manager.close()
            raise
        self.name = name
        self._keeps_graces = "grace" in settings

    def ask(self, voter: str | None = None, *, resume: bool = False) -> ShownDuel:
        """Choose what to show; `resume` shows again what this voter has not answered.

        Raises
        ------
        ArenaError
            ``nothing-left``, if the voter reached the cap on every pair that is to be compared.
        """
        self._learn()
        return wait_durable(self._live.ask(voter, resume=resume))

    def renew(self, duel: str) -> float:
        """Renew the lease of a duel; return its end in seconds since 1970, 0 if it is not open."""
        return self._live.renew([duel])[0]

    def release(self, duel: str) -> None:
        """Give a duel back without an answer, so that no vote has to wait for it."""
        wait_durable(self._live.release([duel]))

    def _learn(self) -> None:
        """Let the policy learn from votes that can be undone, unless a grace was asked for."""
        if not self._keeps_graces and self._live.state.voted:
            wait_durable(self._live.end_graces())

    def vote(self, duel: str, pick: str) -> Vote:
        """Take an answer: left, right, tie or skip. Saying the same twice does no harm."""
        return wait_durable(self._live.vote(duel, pick))

    def skip(self, duel: str) -> Vote:
        """Note that somebody does not want to answer."""
        return self.vote(duel, "skip")

    def undo(self, duel: str) -> int:
        """Take a vote back, within the arena's grace; return the place in the log."""
        return wait_durable(self._live.undo(duel))

    def join(self, name: str, kind: str = "text", content: str = "") -> Option:
        """Let an option take part: one that left by its id or name, or a new one by its name."""
        self._learn()
        there = self._live.find(name)
        if there is not None and (there.id == name or not there.present):
            return wait_durable(self._live.come_back(there.id))
        text = option_text("", name, kind, content)
        return wait_durable(self._live.join(text.name, text.kind, text.content))

    def leave(self, option: str) -> Option:
        """Retire an option, given by its id or unique name: it is no longer shown."""
        self._learn()
        return wait_durable(self._live.leave(self._live.need(option).id))

    def options(self) -> list[Option]:
        """Return every option that ever was."""
        return self._live.options()

    def add_past_votes(self, votes: Sequence[tuple[str, str, str | None]]) -> int:
        """Take votes of the past before the first duel: two options, and the winner or None.

        Options are given by their ids or unique names.
        """
        live = self._live
        arms = {
            each: live.state.arm(live.need(each).id)
            for each in {each for vote in votes for each in vote if each is not None}
        }
        said = [
            [arms[first], arms[second], -1 if winner is None else int(winner == first), 1.0]
            for first, second, winner in votes
        ]
        return wait_durable(live.add_past_votes(said))

    def void(self, seqs: Iterable[int], why: str) -> int:
        """Take votes out of all counts; what policies learned from them stays learned."""
        return wait_durable(self._live.void(seqs, why))

    def erase(self, voter: str) -> bool:
        """Forget who a voter is; the votes stay, and nobody can tell whose they are."""
        return self._live.erase(voter)

    def end(self) -> None:
        """Ask for no more duels; open ones may still be answered."""
        self._learn()
        wait_durable(self._live.end())

    def tick(self) -> None:
        """Do what time has made due: votes whose grace is over are learned."""
        wait_durable(self._live.tick())

    def best(self) -> Option | None:
        """Return the option to ship now."""
        self._learn()
        return self._live.best()

    def board(self) -> "Board":
        """Return what there is to say: who leads, how sure that is, what changed."""
        self._learn()
        return self._live.board()

    def records(self, after: int = 0, limit: int = 10_000) -> list[Record]:
        """Return what is in the log."""
        return self._live.records(after, limit)

    def close(self) -> None:
        """Let the store go. The arena is there the next time."""
        with suppress(DriftduelError):  # a store that fails has the votes all the same
            self._learn()
        self._manager.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.board()._repr_html_()
